package booking

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/seats"
)

// ID names a booking.
type ID = ids.ID

// Status of a booking.
type Status string

// A booking begins INITIATED, or PAYMENT_PENDING where its payment window is
// known; a CONFIRMED one can still be cancelled.
const (
	Initiated Status = "INITIATED"
	Pending   Status = "PAYMENT_PENDING"
	Confirmed Status = "CONFIRMED"
	Expired   Status = "EXPIRED"
	Cancelled Status = "CANCELLED"
)

// Action moves a booking.
type Action string

// The actions on a booking.
const (
	Pay     Action = "pay" // open its payment window
	Confirm Action = "confirm"
	Cancel  Action = "cancel"
	Expire  Action = "expire"
)

// next is the whole life of a booking; a pair that is absent is refused.
var next = map[Status]map[Action]Status{
	Initiated: {Pay: Pending, Cancel: Cancelled, Expire: Expired},
	Pending:   {Confirm: Confirmed, Cancel: Cancelled, Expire: Expired},
	Confirmed: {Cancel: Cancelled},
}

// Next is the status that the action leads to; ok is false where it is refused.
func (s Status) Next(a Action) (to Status, ok bool) {
	to, ok = next[s][a]
	return to, ok
}

// Statuses lists a booking's statuses.
var Statuses = []Status{Initiated, Pending, Confirmed, Expired, Cancelled}

// open bookings wait for their payment; live ones are open or confirmed; ended
// ones are over.
var (
	open  = []Status{Initiated, Pending}
	live  = []Status{Initiated, Pending, Confirmed}
	ended = []Status{Expired, Cancelled}
)

// Codes of the refusals of this package.
const (
	CodeNotFound   fault.Code = "BOOKING_NOT_FOUND"
	CodeConfirmed  fault.Code = "BOOKING_CONFIRMED"
	CodeCancelled  fault.Code = "BOOKING_CANCELLED"
	CodeNotPayable fault.Code = "BOOKING_NOT_PAYABLE"
	CodeExpired    fault.Code = "BOOKING_EXPIRED"
)

// Codes lists them.
var Codes = []fault.Code{CodeNotFound, CodeConfirmed, CodeCancelled, CodeNotPayable, CodeExpired}

// Booking is a customer's purchase of a lock's seats.
type Booking struct {
	ID               ID
	UserID           ID
	EventID          ID
	LockID           ID
	Seats            int64
	Status           Status
	PaymentExpiresAt time.Time // zero while INITIATED
	PaymentReference string
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

// due reports whether the booking's payment window or its lock has passed at
// now, which must come from the database's clock.
func (b Booking) due(lock seats.Claim) bool {
	return b.windowPassed(lock.Now) || lock.Due(lock.Now)
}

func (b Booking) windowPassed(now time.Time) bool {
	return !b.PaymentExpiresAt.IsZero() && !b.PaymentExpiresAt.After(now)
}

func (b Booking) isOpen() bool { return b.Status == Initiated || b.Status == Pending }

// check is the refusal of the action, nil where it is allowed, by the booking
// and then by its lock. Repeats are answered before.
func (b Booking) check(a Action, lock seats.Claim) error {
	if _, allowed := b.Status.Next(a); !allowed {
		return b.refusal()
	}
	if !b.isOpen() {
		return nil
	}
	if b.due(lock) {
		return fault.New(CodeExpired, "The booking's time has passed.")
	}
	return lock.Ended(lock.Now)
}

// refusal says why a booking in this status takes no part in an action.
func (b Booking) refusal() error {
	switch b.Status {
	case Confirmed:
		return fault.New(CodeConfirmed, "The booking is confirmed.")
	case Cancelled:
		return fault.New(CodeCancelled, "The booking is cancelled.")
	case Expired:
		return fault.New(CodeExpired, "The booking's time has passed.")
	default:
		return fault.New(CodeNotPayable, "The booking's payment window has not been opened: pay first.")
	}
}

// Limits bound the payment window.
type Limits struct {
	MaxPaymentTTL time.Duration // from a booking's creation
}

// window is the end of the payment window that is asked for.
func (l Limits) window(until seats.Until, created, now time.Time) (time.Time, error) {
	ends := until.From(now)
	if ends.After(created.Add(l.MaxPaymentTTL)) {
		field := "body.paymentExpiresAt"
		if until.At.IsZero() {
			field = "body.paymentTtlSeconds"
		}
		return time.Time{}, fault.Invalid(field, "A payment window lasts %v at most.", l.MaxPaymentTTL)
	}
	return ends, nil
}
