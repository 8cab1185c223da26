package holdfast

// EventReport counts the seats of an event, its sections and its categories by their state at one moment. A lock that is
// past its expiry holds nothing.
type EventReport struct {
	EventID ID
	SeatCounts
	Waiting int64 // the WAITING entries of the waiting list
	// Sections and Categories are those of the seating plan, in its order; nil if the event has none. A lock counts in them
	// only with the seats whose places in the plan it names.
	Sections   []SectionCounts
	Categories []CategoryCounts
}

// SectionCounts counts the seats of a section, whatever their categories are.
type SectionCounts struct {
	Key, Category string // Category is the section's own
	SeatCounts
}

// CategoryCounts counts the seats of a category in all sections.
type CategoryCounts struct {
	Key string
	SeatCounts
}

// SeatCounts are numbers of seats. Offered are those of offers of the waiting list, which are not among those held.
type SeatCounts struct{ Total, Held, Sold, Blocked, Offered int64 }

// Add counts n seats that have a state.
func (c *SeatCounts) Add(state SeatState, n int64) {
	switch state {
	case SeatLocked:
		c.Held += n
	case SeatSold:
		c.Sold += n
	case SeatBlocked:
		c.Blocked += n
	case SeatAvailable: // all other seats
	}
}

func (c SeatCounts) left() int64 { return c.Total - c.Held - c.Sold - c.Blocked - c.Offered }

// Available returns how many seats are left, at least 0.
func (c SeatCounts) Available() int64 { return max(0, c.left()) }

// Oversold returns how many seats are taken beyond the total.
func (c SeatCounts) Oversold() int64 { return max(0, -c.left()) }

// Oversold returns how many seats are taken beyond the total of the event, or beyond those of its sections.
func (r EventReport) Oversold() int64 {
	beyond := int64(0)
	for _, s := range r.Sections {
		beyond += s.Oversold()
	}
	return max(beyond, r.SeatCounts.Oversold())
}
