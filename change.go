package holdfast

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// ChangeType names the resource and its transition.
type ChangeType string

// The types of changes.
const (
	ChangeLockCreated  ChangeType = "holdfast.lock.created"
	ChangeLockChanged  ChangeType = "holdfast.lock.changed" // other seats, another booking, reference, metadata or an erased customer
	ChangeLockExtended ChangeType = "holdfast.lock.extended"
	ChangeLockConsumed ChangeType = "holdfast.lock.consumed"
	ChangeLockReleased ChangeType = "holdfast.lock.released"
	ChangeLockExpired  ChangeType = "holdfast.lock.expired"

	ChangeBookingCreated     ChangeType = "holdfast.booking.created"
	ChangeBookingChanged     ChangeType = "holdfast.booking.changed" // other seats, reference, metadata or an erased customer
	ChangeBookingTransferred ChangeType = "holdfast.booking.transferred"
	ChangeBookingPending     ChangeType = "holdfast.booking.payment_pending"
	ChangeBookingConfirmed   ChangeType = "holdfast.booking.confirmed"
	ChangeBookingCancelled   ChangeType = "holdfast.booking.cancelled"
	ChangeBookingExpired     ChangeType = "holdfast.booking.expired"

	ChangePaymentAccepted  ChangeType = "holdfast.payment.accepted"
	ChangePaymentRefundDue ChangeType = "holdfast.payment.refund_due"
	ChangePaymentRefunded  ChangeType = "holdfast.payment.refunded"

	ChangeEventCreated   ChangeType = "holdfast.event.created"
	ChangeEventChanged   ChangeType = "holdfast.event.changed" // not for its counters alone
	ChangeEventCancelled ChangeType = "holdfast.event.cancelled"
	ChangeEventDeleted   ChangeType = "holdfast.event.deleted"   // the event is what it was last
	ChangeEventSoldOut   ChangeType = "holdfast.event.sold_out"  // no seat is available any more
	ChangeEventAvailable ChangeType = "holdfast.event.available" // of a sold-out event, seats are available again
	ChangeSeatsBlocked   ChangeType = "holdfast.event.seats_blocked"

	ChangeEntryJoined   ChangeType = "holdfast.waitlist.joined"
	ChangeEntryOffered  ChangeType = "holdfast.waitlist.offered"
	ChangeEntryAccepted ChangeType = "holdfast.waitlist.accepted"
	ChangeEntryDeclined ChangeType = "holdfast.waitlist.declined"
	ChangeEntryExpired  ChangeType = "holdfast.waitlist.expired"
	ChangeEntryLeft     ChangeType = "holdfast.waitlist.left"
	ChangeEntryClosed   ChangeType = "holdfast.waitlist.closed"

	ChangePlanCreated ChangeType = "holdfast.seating_plan.created"
)

// ChangeTypes returns all of them, in a new slice.
func ChangeTypes() []ChangeType {
	return []ChangeType{
		ChangeLockCreated, ChangeLockChanged, ChangeLockExtended, ChangeLockConsumed, ChangeLockReleased, ChangeLockExpired,
		ChangeBookingCreated, ChangeBookingChanged, ChangeBookingTransferred, ChangeBookingPending, ChangeBookingConfirmed,
		ChangeBookingCancelled, ChangeBookingExpired,
		ChangePaymentAccepted, ChangePaymentRefundDue, ChangePaymentRefunded,
		ChangeEventCreated, ChangeEventChanged, ChangeEventCancelled, ChangeEventDeleted, ChangeEventSoldOut,
		ChangeEventAvailable, ChangeSeatsBlocked,
		ChangeEntryJoined, ChangeEntryOffered, ChangeEntryAccepted, ChangeEntryDeclined, ChangeEntryExpired, ChangeEntryLeft,
		ChangeEntryClosed,
		ChangePlanCreated,
	}
}

// Name is the type without the name of this project, such as lock.created.
func (t ChangeType) Name() string { return strings.TrimPrefix(string(t), "holdfast.") }

// Change is one committed change of a lock, a booking, a payment, an event, an entry of a waiting list or a seating plan. At most
// one of Lock, Booking, Payment, Event and Entry is set: the resource as it was right after the change. If none is set, the change is
// the creation of the seating plan PlanID; plans never change.
type Change struct {
	Type     ChangeType
	Revision int64 // of the resource: a later change has no lower one
	At       time.Time
	Origin

	EventID  ID // zero for the creation of a seating plan
	PlanID   ID // the seating plan of a seated event at that time
	Lock     *Lock
	Booking  *Booking
	Previous *PreviousBooking // of a booking whose seats or customer changed; nil otherwise
	Payment  *Payment
	Event    *Event
	Entry    *WaitlistEntry // without its position
	// Repairs distinguishes changes of an event with the same revision: a repair of a counter does not raise the revision.
	Repairs int64
}

// Subject names the resource, such as locks/<id>.
func (c Change) Subject() string {
	kind, id := c.subject()
	return kind + "/" + id.String()
}

func (c Change) subject() (kind string, id ID) {
	switch {
	case c.Lock != nil:
		return "locks", c.Lock.ID
	case c.Booking != nil:
		return "bookings", c.Booking.ID
	case c.Payment != nil:
		return "payments", c.Payment.ID
	case c.Event != nil:
		return "events", c.Event.ID
	case c.Entry != nil:
		return "waitlist", c.Entry.ID
	default:
		return "seating-plans", c.PlanID
	}
}

// ID identifies the change. Every list and every delivery of the change has the same ID.
func (c Change) ID() string {
	kind, of := c.subject()
	id := kind + "-" + of.String() + "-" + strconv.FormatInt(c.Revision, 10) + "-" + strings.ReplaceAll(c.Type.Name(), "/", "-")
	if c.Repairs > 0 {
		id += "-" + strconv.FormatInt(c.Repairs, 10)
	}
	return id
}

// Origin is the request or the run that caused a change, as the change's record has it.
type Origin struct {
	Actor     string // the name of the key, the holder or the sub of a customer's token, or the job
	RequestID string // the ID of the HTTP request
	RunID     string // the correlation ID of the job's run
}

// Originator returns the origin of the changes that are made in a context.
type Originator interface{ Origin() Origin }

// Origin implements Originator.
func (o Origin) Origin() Origin { return o }

type originKey struct{}

// WithOrigin returns a context whose changes have an origin. It replaces an earlier one.
func WithOrigin(ctx context.Context, o Originator) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf returns the origin of changes that are made in a context.
func OriginOf(ctx context.Context) Origin {
	if o, ok := ctx.Value(originKey{}).(Originator); ok {
		return o.Origin()
	}
	return Origin{}
}
