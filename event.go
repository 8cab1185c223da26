package holdfast

import (
	"fmt"
	"slices"
	"time"
)

// EventStatus says whether an event sells.
type EventStatus string

// A closed event refuses only new locks. A cancelled event also refuses to extend,
// book, pay and confirm; it stays cancelled, and its locks and bookings stay as
// they are. Other software may write other values; they count as not on sale.
const (
	OnSale    EventStatus = "ON_SALE"
	Closed    EventStatus = "CLOSED"
	Cancelled EventStatus = "CANCELLED"
)

// EventStatuses returns the statuses that an event can be given, in a new slice.
func EventStatuses() []EventStatus { return []EventStatus{OnSale, Closed, Cancelled} }

// MaxSeats is the largest capacity of an event.
const MaxSeats = 10_000_000

// Event is an inventory of seats. In every committed state
//
//	AvailableSeats − Oversold = TotalSeats − Σ seats of ACTIVE, CONSUMED and BLOCKED locks,
//	0 ≤ AvailableSeats ≤ TotalSeats, and at most one of AvailableSeats and Oversold is above 0.
type Event struct {
	ID              ID
	Name            string
	TotalSeats      int64
	AvailableSeats  int64
	Oversold        int64 // seats taken beyond the total; must be 0 before a seat can be available
	EventDate       time.Time
	Status          EventStatus
	MaxSeatsPerUser int64 // 0: no limit
	CreatedAt       time.Time
	UpdatedAt       time.Time
	Seating         Seating
	LatePayments    LatePayments
	// Sections are the areas of general admission of a seated event, with the capacities that they have in
	// this event, in the plan's order; nil: there are none. The list is never changed, only replaced.
	Sections []SectionCapacity
}

// SectionCapacity is how many seats an area of general admission has.
type SectionCapacity struct {
	Key      string // of the section
	Capacity int64  // ≥ 1
}

// Seating is what a seated event has beside an unseated one, and the rules for its seats. An unseated event may have
// rules too, which apply to nothing; an empty one is the default.
type Seating struct {
	PlanID           ID    // zero: the event is unseated
	BlockedSeats     int64 // that the venue has taken out of sale
	OrphanRule       OrphanRule
	AccessiblePolicy AccessiblePolicy
}

// OrphanRule says whether named seats may leave new single seats.
type OrphanRule string

// Any other value, such as of other software, counts as ALLOW.
const (
	OrphansAllowed OrphanRule = "ALLOW"
	OrphansRefused OrphanRule = "REFUSE"
)

// OrphanRules returns all of them, in a new slice.
func OrphanRules() []OrphanRule { return []OrphanRule{OrphansAllowed, OrphansRefused} }

// AccessiblePolicies returns all of them, in a new slice.
func AccessiblePolicies() []AccessiblePolicy {
	return []AccessiblePolicy{AccessibleReserved, AccessibleOpen}
}

// AccessiblePolicy says whether accessible seats are taken only as asked for.
type AccessiblePolicy string

// Any other value, such as of other software, counts as RESERVED.
const (
	AccessibleReserved AccessiblePolicy = "RESERVED"
	AccessibleOpen     AccessiblePolicy = "OPEN"
)

// Answer is the event as it is answered. If other software has left a counter that can't be right, it
// shows no seat available until the counter is repaired: no answer promises a seat that may be taken.
func (e Event) Answer() Event {
	if e.AvailableSeats < 0 || e.AvailableSeats > e.TotalSeats || e.Oversold < 0 || e.AvailableSeats > 0 && e.Oversold > 0 {
		e.AvailableSeats = 0
	}
	return e
}

// NewEvent asks for an event. A zero ID means a new one.
type NewEvent struct {
	ID              ID
	Name            string
	TotalSeats      int64
	EventDate       time.Time
	MaxSeatsPerUser int64 // 0: no limit
	// Seating has the plan of a seated event, whose TotalSeats is that of the plan and of Sections, and its rules;
	// zero: of an unseated event, or the defaults.
	Seating      Seating
	LatePayments *LatePayments // nil: DefaultLatePayments
	// Sections are areas of general admission that have another capacity in this event than in its plan.
	Sections []SectionCapacity
}

// LatePayments says whether a payment that arrives after the end of its booking may still confirm it, and until
// how long after.
type LatePayments struct {
	Policy  LatePaymentPolicy
	Seconds int64 // 0 to MaxLatePaymentSeconds
}

// DefaultLatePayments refuses late payments.
func DefaultLatePayments() LatePayments {
	return LatePayments{Policy: LatePaymentsRefused, Seconds: DefaultLatePaymentSeconds}
}

// LatePaymentPolicy says what becomes of a late payment.
type LatePaymentPolicy string

// Any other value, such as of other software, counts as REFUSE.
const (
	LatePaymentsRefused  LatePaymentPolicy = "REFUSE"
	LatePaymentsAccepted LatePaymentPolicy = "ACCEPT"
)

// LatePaymentPolicies returns all of them, in a new slice.
func LatePaymentPolicies() []LatePaymentPolicy {
	return []LatePaymentPolicy{LatePaymentsRefused, LatePaymentsAccepted}
}

// The time for late payments, in seconds.
const (
	DefaultLatePaymentSeconds = 86_400
	MaxLatePaymentSeconds     = 2_592_000
)

// Window is how long after the end of a booking a late payment may be accepted.
func (p LatePayments) Window() time.Duration { return time.Duration(p.Seconds) * time.Second }

// EventChange changes the fields that are not nil.
type EventChange struct {
	Name            *string
	TotalSeats      *int64
	EventDate       *time.Time
	Status          *EventStatus
	MaxSeatsPerUser *int64 // 0 removes the limit
	LatePayments    *LatePaymentPolicy
	LateSeconds     *int64
	// Of seated events.
	OrphanRule       *OrphanRule
	AccessiblePolicy *AccessiblePolicy
	SeatingPlanID    *ID               // a plan that has every seat that is taken
	Sections         []SectionCapacity // new capacities of areas of general admission; the others stay
}

// SectionField is the path of a field of the i-th of EventChange.Sections in a request.
func SectionField(i int, name string) string { return fmt.Sprintf("body.sections[%d].%s", i, name) }

// Clone returns the change with copies of the values that its pointers refer to.
func (c EventChange) Clone() EventChange {
	return EventChange{
		Name: clone(c.Name), TotalSeats: clone(c.TotalSeats), EventDate: clone(c.EventDate), Status: clone(c.Status),
		MaxSeatsPerUser: clone(c.MaxSeatsPerUser), OrphanRule: clone(c.OrphanRule), AccessiblePolicy: clone(c.AccessiblePolicy),
		LatePayments: clone(c.LatePayments), LateSeconds: clone(c.LateSeconds),
		SeatingPlanID: clone(c.SeatingPlanID), Sections: slices.Clone(c.Sections),
	}
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	value := *p
	return &value
}
