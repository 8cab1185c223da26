package holdfast

import (
	"fmt"
	"slices"
	"time"
)

// EventStatus is whether an event is on sale.
type EventStatus string

// A closed event refuses only new locks. A cancelled event also refuses to extend,
// book, pay and confirm; it stays cancelled, and its locks and bookings stay as
// they are.
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
//
// In a seated event the last holds for each section, and the event's two numbers are the sums over its sections.
type Event struct {
	ID              ID
	Name            string
	TotalSeats      int64
	AvailableSeats  int64
	Oversold        int64 // seats taken beyond the total, or beyond the capacity of a section
	EventDate       time.Time
	Status          EventStatus
	MaxSeatsPerUser int64 // 0 means no limit
	CreatedAt       time.Time
	UpdatedAt       time.Time
	Seating         Seating
	LatePayments    LatePayments
	Waitlist        Waitlist
	// Seats are locked from SaleStartsAt on and before SaleEndsAt, by the database's clock. The zero time means no bound.
	SaleStartsAt, SaleEndsAt time.Time
	// Sections are the areas of general admission of a seated event, with the capacities that they have in
	// this event, in the plan's order; nil if there are none. The list is never changed, only replaced.
	Sections []SectionCapacity
	ShopData
}

// SectionCapacity is the number of seats of an area of general admission.
type SectionCapacity struct {
	Key      string // key of the section
	Capacity int64  // ≥ 1
}

// Seating has the fields that only a seated event uses, and the rules for its seats. An unseated event may have
// rules too, which have no effect; an empty rule is the default.
type Seating struct {
	PlanID           ID    // zero if the event is unseated
	BlockedSeats     int64 // seats that the venue has taken out of sale
	OrphanRule       OrphanRule
	AccessiblePolicy AccessiblePolicy
}

// OrphanRule is whether a lock of named seats may leave new single seats.
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

// AccessiblePolicy is whether accessible seats are taken only when they are asked for.
type AccessiblePolicy string

// Any other value, such as of other software, counts as RESERVED.
const (
	AccessibleReserved AccessiblePolicy = "RESERVED"
	AccessibleOpen     AccessiblePolicy = "OPEN"
)

// Answer is the event as clients see it. If other software has left a counter out of its bounds, no seat is
// shown as available until the counter is repaired, so that no answer promises a seat that may be taken.
func (e Event) Answer() Event {
	hasBoth := e.AvailableSeats > 0 && e.Oversold > 0 && e.Seating.PlanID.IsZero()
	if e.AvailableSeats < 0 || e.AvailableSeats > e.TotalSeats || e.Oversold < 0 || hasBoth {
		e.AvailableSeats = 0
	}
	return e
}

// NeverSells reports whether the end of the sale is not later than its start, which only other software can store.
func (e Event) NeverSells() bool {
	return !e.SaleStartsAt.IsZero() && !e.SaleEndsAt.IsZero() && !e.SaleEndsAt.After(e.SaleStartsAt)
}

// EventFilter selects events; a zero field selects all.
type EventFilter struct {
	Status    EventStatus
	Reference string // of ShopData
	// From and To select by the date: not before From, and before To. With either the list is ordered by date, then ID, and
	// leaves out events without a date.
	From, To time.Time
}

// Check refuses a filter that nothing can match, because it is a mistake of the caller.
func (f EventFilter) Check() error {
	if f.Status != "" && !slices.Contains(EventStatuses(), f.Status) {
		return RefuseInput("query.status", "The status is not valid. Use one of %v.", EventStatuses())
	}
	if err := checkShopReference("query.reference", f.Reference); err != nil {
		return err
	}
	if err := CheckTime("query.from", f.From); err != nil {
		return err
	}
	return CheckTime("query.to", f.To)
}

// NewEvent asks for an event. A zero ID means a new one.
type NewEvent struct {
	ID              ID
	Name            string
	TotalSeats      int64
	EventDate       time.Time // the zero value means none: the event is never archived
	MaxSeatsPerUser int64     // 0 means no limit
	// Seating has the plan and the rules of a seated event, whose TotalSeats follows from the plan and Sections. The
	// zero value means an unseated event with the default rules.
	Seating      Seating
	LatePayments *LatePayments // nil means DefaultLatePayments
	Waitlist     *Waitlist     // its settings; nil means DefaultWaitlist
	// SaleStartsAt and SaleEndsAt are as in Event.
	SaleStartsAt, SaleEndsAt time.Time
	// Sections are areas of general admission that have another capacity in this event than in its plan.
	Sections []SectionCapacity
	ShopData
}

// LatePayments is whether a payment that arrives after the end of its booking may still confirm it, and for how
// long after that end.
type LatePayments struct {
	Policy  LatePaymentPolicy
	Seconds int64 // 0 to MaxLatePaymentSeconds
}

// DefaultLatePayments refuses late payments.
func DefaultLatePayments() LatePayments {
	return LatePayments{Policy: LatePaymentsRefused, Seconds: DefaultLatePaymentSeconds}
}

// LatePaymentPolicy is whether a late payment is accepted.
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
	Waitlist        *WaitlistStatus
	OfferSeconds    *int64
	WaitlistFit     *WaitlistFit
	// The zero time removes the bound.
	SaleStartsAt, SaleEndsAt *time.Time
	// Of seated events.
	OrphanRule       *OrphanRule
	AccessiblePolicy *AccessiblePolicy
	SeatingPlanID    *ID               // a plan that has every seat that is taken
	Sections         []SectionCapacity // new capacities of areas of general admission; the others stay

	ShopData ShopDataChange
}

// SectionField is the path of a field of the i-th of EventChange.Sections in a request.
func SectionField(i int, name string) string { return fmt.Sprintf("body.sections[%d].%s", i, name) }

// Clone returns the change with copies of the values that its pointers refer to.
func (c EventChange) Clone() EventChange {
	return EventChange{
		Name: clone(c.Name), TotalSeats: clone(c.TotalSeats), EventDate: clone(c.EventDate), Status: clone(c.Status),
		MaxSeatsPerUser: clone(c.MaxSeatsPerUser), OrphanRule: clone(c.OrphanRule), AccessiblePolicy: clone(c.AccessiblePolicy),
		LatePayments: clone(c.LatePayments), LateSeconds: clone(c.LateSeconds),
		Waitlist: clone(c.Waitlist), OfferSeconds: clone(c.OfferSeconds), WaitlistFit: clone(c.WaitlistFit),
		SaleStartsAt: clone(c.SaleStartsAt), SaleEndsAt: clone(c.SaleEndsAt),
		SeatingPlanID: clone(c.SeatingPlanID), Sections: slices.Clone(c.Sections), ShopData: c.ShopData.Clone(),
	}
}

// CheckSale refuses a change of an event after which the sale would not end later than it starts.
func (c EventChange) CheckSale(e Event) *Error {
	where := "body.saleEndsAt"
	switch {
	case c.SaleStartsAt == nil && c.SaleEndsAt == nil:
		return nil
	case c.SaleEndsAt == nil:
		where = "body.saleStartsAt"
	default:
		e.SaleEndsAt = *c.SaleEndsAt
	}
	if c.SaleStartsAt != nil {
		e.SaleStartsAt = *c.SaleStartsAt
	}
	if e.NeverSells() {
		return RefuseInput(where, "saleEndsAt must be later than saleStartsAt.")
	}
	return nil
}

// NamesShopDataAlone reports whether the change names no other field than a reference and metadata.
func (c EventChange) NamesShopDataAlone() bool {
	return c.Name == nil && c.TotalSeats == nil && c.EventDate == nil && c.Status == nil && c.MaxSeatsPerUser == nil &&
		c.LatePayments == nil && c.LateSeconds == nil && c.Waitlist == nil && c.OfferSeconds == nil && c.WaitlistFit == nil &&
		c.SaleStartsAt == nil && c.SaleEndsAt == nil &&
		c.OrphanRule == nil && c.AccessiblePolicy == nil && c.SeatingPlanID == nil && len(c.Sections) == 0
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	value := *p
	return &value
}

// Hash differs between different requests with one idempotency key.
func (n NewEvent) Hash() string {
	hash := requestHash("%q|%d|%d|%d|%s", n.Name, n.TotalSeats, n.EventDate.UnixMilli(), n.MaxSeatsPerUser, n.ID)
	if s := n.Seating; s != (Seating{}) {
		hash = requestHash("%s|%s|%s|%s", hash, s.PlanID, s.OrphanRule, s.AccessiblePolicy)
	}
	if l := n.LatePayments; l != nil {
		hash = requestHash("%s|late|%s|%d", hash, l.Policy, l.Seconds)
	}
	if w := n.Waitlist; w != nil {
		hash = requestHash("%s|waitlist|%s|%d|%s", hash, w.Status, w.OfferSeconds, w.Fit)
	}
	if starts, ends := n.SaleStartsAt, n.SaleEndsAt; !starts.IsZero() || !ends.IsZero() {
		hash = requestHash("%s|sale|%d|%d", hash, starts.UnixMilli(), ends.UnixMilli())
	}
	if len(n.Sections) > 0 {
		hash = requestHash("%s|sections|%q", hash, fmt.Sprint(n.Sections))
	}
	if !n.HasNoShopData() {
		hash = hashOf(n.appendShopData([]byte(hash)))
	}
	return hash
}
