package seating

import (
	"cmp"
	"errors"
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// Hall is a plan compiled for decisions. It is never changed after NewHall, and what its
// methods return must not be changed either.
type Hall struct {
	categories []string // keys, in the plan's order
	sections   []Section
	parts      []Part
	places     map[string]Place // by seat ID
	numbers    map[string]int   // of sections, by key
	words      int              // of all sections' maps
	seats      int              // in rows
	total      int64            // with the capacities
	focal      bool
	companions bool // there are companion seats

	// For best available.
	pools      []pool      // by category
	unitsOfRow [][]unitRef // by the row's number in the hall
	rows       int
}

// ErrDamaged means that a stored plan is not as Holdfast stored it: other software has changed it.
var ErrDamaged = errors.New("the seating plan is damaged")

// Place is where a seat is: its section's number in the plan, and its number in the section.
type Place struct{ Section, Seat int }

// Compare orders places as the plan does.
func (p Place) Compare(o Place) int {
	return cmp.Or(p.Section-o.Section, p.Seat-o.Seat)
}

// Section is a section of a hall.
type Section struct {
	Key      string
	Category int   // category of general admission, or the default of the seats
	Capacity int64 // capacity of general admission by the plan; 0 if the section has rows
	Seats    []Seat
	Rows     []Row
	Segments []Segment
	Parts    []int // the hall's parts that are in the section, in the order of their first seat

	firstWord, endWord int // range of its map in an occupancy

	// For best available.
	firstRow       int      // number in the hall
	masks          []*mask  // one for each category that the section has
	accessible     []uint64 // the accessible seats; nil if there are none
	companions     []uint64 // the companion seats; nil if there are none
	inLine, starts []uint64 // seats that are not at a table; seats without a neighbour before them
	tables         []int    // rows
	near           []int    // the seats of each table, the nearest first; nil if no row is a table
	sums           []int64  // of the ranks of the seats before each seat
}

// GeneralAdmission reports whether the section has a capacity in place of rows.
func (s *Section) GeneralAdmission() bool { return s.Capacity > 0 }

// Part is the seats of a section that are of one category, either the accessible ones or the
// others. General admission is one part.
type Part struct {
	Section, Category int
	Accessible        bool
	Seats             int64 // of general admission by the plan
}

// Row is a row of a section, with its seats and segments as ranges of the section's.
type Row struct {
	Key, Label               string
	Adjacency                holdfast.Adjacency
	First, End               int // seats, End excluded
	FirstSegment, EndSegment int
	Places                   int // seats and gaps
}

// Segment is a run of seats without a gap.
type Segment struct {
	Row        int
	First, End int // seats, End excluded
}

// Seat is a seat of a hall.
type Seat struct {
	ID, Label string
	// Distance is the squared distance to the focal point, in millionths of a plan's unit
	// squared. Without a focal point it is the distance from the middle of the row, in halves of
	// a position. The sum over the seats of any one request fits.
	Distance int64
	Row      int
	Position int // in the row, from 1; gaps count
	Part     int
	Category int
	// Companion is not set for an accessible seat.
	Accessible, Companion bool
}

// Together reports whether seats are adjacent: one after the other in a row without a gap between them, or at one
// table. A row whose seats are not adjacent has single seats alone.
func (h *Hall) Together(places []Place) bool {
	first := slices.MinFunc(places, Place.Compare)
	last := slices.MaxFunc(places, Place.Compare)
	if first.Section != last.Section {
		return false
	}
	s := &h.sections[first.Section]
	row := &s.Rows[s.Seats[first.Seat].Row]
	switch {
	case last.Seat >= row.End:
		return false
	case row.Adjacency == holdfast.AdjacencyAll:
		return true
	case row.Adjacency == holdfast.AdjacencyNone:
		return len(places) == 1
	default:
		seats := slices.Compact(slices.SortedFunc(slices.Values(places), Place.Compare))
		return len(seats) == last.Seat-first.Seat+1 && s.Seats[last.Seat].Position-s.Seats[first.Seat].Position == last.Seat-first.Seat
	}
}

// HasFocalPoint reports whether distances are to a focal point. If not, the section and the row
// come before the distance.
func (h *Hall) HasFocalPoint() bool { return h.focal }

// TotalSeats returns the number of seats, with the capacities of the plan.
func (h *Hall) TotalSeats() int64 { return h.total }

// NumberedSeats returns the number of seats in rows.
func (h *Hall) NumberedSeats() int { return h.seats }

// Sections returns the sections, in the plan's order.
func (h *Hall) Sections() []Section { return h.sections }

// Categories returns the keys of the categories, in the plan's order.
func (h *Hall) Categories() []string { return h.categories }

// Parts returns the parts of all sections.
func (h *Hall) Parts() []Part { return h.parts }

// Find returns the place of a seat.
func (h *Hall) Find(seatID string) (Place, bool) {
	p, ok := h.places[seatID]
	return p, ok
}

// FindAfter is Find for the bytes of an ID, which are not kept. If the seat follows another place, it
// is found without a lookup, because many locks have neighbours.
func (h *Hall) FindAfter(before Place, seatID []byte) (Place, bool) {
	next := before.Seat + 1
	if seats := h.sections[before.Section].Seats; next < len(seats) && seats[next].ID == string(seatID) {
		return Place{before.Section, next}, true
	}
	p, ok := h.places[string(seatID)]
	return p, ok
}

// FindSection returns the number of a section.
func (h *Hall) FindSection(key string) (int, bool) {
	n, ok := h.numbers[key]
	return n, ok
}

// FindCategory returns the number of a category.
func (h *Hall) FindCategory(key string) (int, bool) {
	for n, category := range h.categories {
		if category == key {
			return n, true
		}
	}
	return 0, false
}

// Seat returns the seat at a place that Find returned.
func (h *Hall) Seat(p Place) *Seat { return &h.sections[p.Section].Seats[p.Seat] }

// Row returns the row of the seat at a place.
func (h *Hall) Row(p Place) *Row {
	s := &h.sections[p.Section]
	return &s.Rows[s.Seats[p.Seat].Row]
}
