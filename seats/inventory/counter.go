package inventory

// counter is an event's counter while a decision moves it. left is how many seats are left, below 0 if more are taken than
// the event has.
type counter struct{ total, left int64 }

// restore returns n seats. A negative n takes seats.
func (c *counter) restore(n int64) { c.left += n }

// counterOf returns the only right counter for a capacity and the seats taken.
func counterOf(total, taken int64) counter { return counter{total: total, left: total - taken} }

// taken is how many seats the counter says are taken.
func (c counter) taken() int64 { return c.total - c.left }

func (e Event) counter() counter {
	return counter{total: e.TotalSeats, left: e.AvailableSeats - e.Oversold}
}

// split returns the available and the oversold seats of an event that has left seats left. beyond is what its sections of
// general admission have taken beyond their capacities, all together: these seats are not taken from other sections.
func split(left, beyond int64) (available, oversold int64) {
	available = max(0, left+beyond)
	return available, available - left
}

// Valid reports whether the event's counter may be right: its seats are available or oversold, or both if it is seated.
func (e Event) Valid() bool {
	return 0 <= e.AvailableSeats && e.AvailableSeats <= e.TotalSeats && 0 <= e.Oversold &&
		(e.AvailableSeats == 0 || e.Oversold == 0 || !e.Seating.PlanID.IsZero())
}

// Drift returns by how many seats the counter is too high, if the locks take the given number of seats.
func (e Event) Drift(taken int64) int64 {
	return (e.AvailableSeats - e.Oversold) - (e.TotalSeats - taken)
}
