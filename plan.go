package holdfast

import (
	"time"
)

// Limits of a seating plan. A seat that stands in a row counts as one, a gap as none.
const (
	MaxPlanSections   = 500
	MaxPlanCategories = 64
	MaxPlanSeats      = 200_000 // seats in rows; with the capacities, a plan has at most MaxSeats
	MaxSectionSeats   = 20_000
	MaxRowSeats       = 500
	MaxRowPlaces      = 1_000 // seats and gaps
	MaxOutlinePoints  = 200
	MaxPlanKeyLength  = 32 // of a category, a section and a row
	MaxSeatIDLength   = 64
	MaxLabelLength    = 32 // in characters, of a row and a seat
	MaxPlanNoteLength = 200
	MaxPlanCoordinate = 100_000 * Unit // either side of 0, so that the squared distances of a pick fit an int64
	MaxNamedSeats     = 50             // of one request, or asked for as best available
	MaxViewURLLength  = 500
	MaxMissingSeats   = 100 // that the refusal of a change of an event's plan names

	MaxDecorations          = 2_000 // of a plan
	MaxDecorationPoints     = 200   // of one decoration
	MaxDecorationTextLength = 200
	MaxPlanDecorationPoints = 20_000 // of all decorations together
)

// Thousandths is a coordinate, or a length, of a seating plan. Its unit is the plan's own: only
// distances within one plan are compared.
type Thousandths int64

// Unit is one unit of a plan's coordinates.
const Unit Thousandths = 1000

// Point is a position in a seating plan.
type Point struct{ X, Y Thousandths }

// Adjacency says which seats of a row are together.
type Adjacency string

// In a LINE, a seat is next to the one before it and the one after it, unless a gap is between
// them. In a row of NONE, no seat is next to another. In a row of ALL, as at a table, all seats
// are together.
const (
	AdjacencyLine Adjacency = "LINE"
	AdjacencyNone Adjacency = "NONE"
	AdjacencyAll  Adjacency = "ALL"
)

// Adjacencies returns all of them, in a new slice.
func Adjacencies() []Adjacency { return []Adjacency{AdjacencyLine, AdjacencyNone, AdjacencyAll} }

// SeatingPlan is the plan of a hall. It never changes; events use it by its ID.
type SeatingPlan struct {
	ID          ID
	Name        string
	Categories  []Category
	FocalPoint  *Point       // what the hall looks at; nil if there is none
	Decorations []Decoration // in the order in which they are drawn
	Sections    []Section
	CreatedAt   time.Time
}

// TotalSeats is the number of seats in rows, and the capacities.
func (p SeatingPlan) TotalSeats() (n int64) {
	for _, s := range p.Sections {
		n += s.TotalSeats()
	}
	return n
}

// DecorationKind is the kind of a decoration.
type DecorationKind string

// Stages and areas are polygons, and walls are lines. Texts and icons have one position.
const (
	DecorationStage DecorationKind = "stage" // what the hall looks at, in place of a mark of the focal point
	DecorationArea  DecorationKind = "area"  // such as a bar, or the floor of a dance hall
	DecorationWall  DecorationKind = "wall"
	DecorationText  DecorationKind = "text"
	DecorationIcon  DecorationKind = "icon"
)

// DecorationKinds returns all of them, in a new slice.
func DecorationKinds() []DecorationKind {
	return []DecorationKind{DecorationStage, DecorationArea, DecorationWall, DecorationText, DecorationIcon}
}

// DecorationIcons returns the names of all icons, in a new slice.
func DecorationIcons() []string {
	return []string{"bar", "entrance", "exit", "lift", "stairs", "toilet", "cloakroom", "food", "first-aid", "information"}
}

// Decoration is a part of the drawing of a hall. No seat depends on it.
type Decoration struct {
	Kind   DecorationKind
	Points []Point // of a stage, an area or a wall
	At     *Point  // of a text or an icon
	Text   string  // "" means none; a text has one, a wall none
	Icon   string  // one of DecorationIcons for an icon, "" for the others
	Floor  string  // of the sections that it is drawn with; "" means all
}

// Category is a price class of seats.
type Category struct {
	Key   string // unique in the plan
	Name  string
	Color string // #rrggbb, or ""
}

// Section is a part of a hall: rows of numbered seats, or an area with a capacity (general
// admission). It has either Rows or a Capacity.
type Section struct {
	Key      string // unique in the plan
	Name     string
	Category string // key; of all rows and seats that have none of their own
	Floor    string // "" means not given
	Entrance string // "" means not given
	Rows     []Row
	Capacity int64   // ≥ 1 for general admission, 0 for rows
	Outline  []Point // for drawing; nil means not given
	ViewURL  string  // https URL of a picture of the view; "" means not given
}

// TotalSeats is the number of seats in rows, or the capacity.
func (s Section) TotalSeats() int64 {
	n := s.Capacity
	for _, row := range s.Rows {
		if row.Seats == nil {
			n += row.Count
		}
		for _, seat := range row.Seats {
			if seat != nil {
				n++
			}
		}
	}
	return n
}

// Row is a row of a section. The order of its seats is the physical order.
type Row struct {
	Key       string // unique in the section
	Label     string // "" means the key
	Category  string // "" means the section's
	Adjacency Adjacency
	// Seats has nil for each gap, such as an aisle or a pillar.
	Seats []*Seat
	// Count stands for as many seats without gaps, whose IDs are <section>-<row>-1 and so on, if
	// Seats is nil. A plan that is written out has no counts.
	Count int64
}

// Seat is a numbered seat.
type Seat struct {
	ID       string // unique in the plan
	Label    string // "" means its position in the row
	Category string // "" means the row's
	X, Y     *Thousandths
	// Accessible seats are for wheelchairs, and Companion seats for the people with them.
	Accessible, Companion, RestrictedView bool
	Note                                  string
	ViewURL                               string // https URL of a picture of the view; "" means not given
}

// Place is where a seat of a lock or a booking is. Of general admission it has the section and the
// category alone.
type Place struct{ SeatID, Section, Row, Label, Category string }

// SeatState is the state of a seat in an event.
type SeatState string

// A seat under a due lock is AVAILABLE, before a sweep ends that lock too.
const (
	SeatAvailable SeatState = "AVAILABLE"
	SeatLocked    SeatState = "LOCKED"
	SeatSold      SeatState = "SOLD"
	SeatBlocked   SeatState = "BLOCKED"
)

// SeatHolder is a seat with the lock that has it. A block of the venue has no LockID here.
type SeatHolder struct {
	Place
	State     SeatState
	LockID    ID // zero if there is none
	BookingID ID // the lock's open or confirmed booking; zero if there is none
}

// Outranks reports which of two states counts for a seat that is in several locks, which only other software can make: a
// sold one first, then a block, then a live lock.
func (s SeatState) Outranks(other SeatState) bool { return seatRanks[s] > seatRanks[other] }

var seatRanks = map[SeatState]int{SeatLocked: 1, SeatBlocked: 2, SeatSold: 3} //nolint:mnd // an order
