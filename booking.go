package holdfast

import "time"

// BookingStatus is the state of a booking.
type BookingStatus string

// A booking begins INITIATED, or PAYMENT_PENDING if its payment window is known.
// A CONFIRMED booking can still be cancelled.
const (
	BookingInitiated BookingStatus = "INITIATED"
	BookingPending   BookingStatus = "PAYMENT_PENDING"
	BookingConfirmed BookingStatus = "CONFIRMED"
	BookingExpired   BookingStatus = "EXPIRED"
	BookingCancelled BookingStatus = "CANCELLED"
)

// BookingStatuses returns all statuses, in a new slice.
func BookingStatuses() []BookingStatus {
	return []BookingStatus{BookingInitiated, BookingPending, BookingConfirmed, BookingExpired, BookingCancelled}
}

// LiveStatuses returns the statuses of open and confirmed bookings, in a new slice.
func LiveStatuses() []BookingStatus {
	return []BookingStatus{BookingInitiated, BookingPending, BookingConfirmed}
}

// BookingAction changes the status of a booking.
type BookingAction string

// The actions on a booking.
const (
	PayBooking     BookingAction = "pay" // opens its payment window
	ConfirmBooking BookingAction = "confirm"
	CancelBooking  BookingAction = "cancel"
	ExpireBooking  BookingAction = "expire"
	AcceptBooking  BookingAction = "accept" // a late payment
)

// nextBooking has all transitions of a booking; every other pair is refused.
var nextBooking = map[BookingStatus]map[BookingAction]BookingStatus{
	BookingInitiated: {PayBooking: BookingPending, CancelBooking: BookingCancelled, ExpireBooking: BookingExpired},
	BookingPending: {
		ConfirmBooking: BookingConfirmed, CancelBooking: BookingCancelled, ExpireBooking: BookingExpired, AcceptBooking: BookingConfirmed,
	},
	BookingConfirmed: {CancelBooking: BookingCancelled},
	BookingExpired:   {AcceptBooking: BookingConfirmed},
}

// Next is the status after the action; ok is false if the action is refused.
func (s BookingStatus) Next(a BookingAction) (to BookingStatus, ok bool) {
	to, ok = nextBooking[s][a]
	return to, ok
}

// IsOpen reports whether a booking in this status waits for its payment.
func (s BookingStatus) IsOpen() bool { return s == BookingInitiated || s == BookingPending }

// HasEnded reports whether a booking in this status is over.
func (s BookingStatus) HasEnded() bool { return s == BookingExpired || s == BookingCancelled }

// Booking is a customer's purchase of a lock's seats.
type Booking struct {
	ID               ID
	UserID           ID
	EventID          ID
	LockID           ID
	Seats            int64
	Status           BookingStatus
	PaymentExpiresAt time.Time // end of the payment window; zero while INITIATED
	WindowUnreadable bool      // other software left an end that is no date: the window counts as passed
	PaymentReference string
	PaymentID        ID   // of the payment it is confirmed with; zero: none, or an earlier version confirmed it
	Late             bool // a late payment was accepted
	CreatedAt        time.Time
	UpdatedAt        time.Time
	SeatIDs          []string // of its lock, see Lock
	Section          string   // of its lock
	Revision         int64    // raised by every change; 0: as it was made
}

// WindowPassed reports whether the payment window has ended at now, by the
// database's clock.
func (b Booking) WindowPassed(now time.Time) bool {
	return b.WindowUnreadable || !b.PaymentExpiresAt.IsZero() && !b.PaymentExpiresAt.After(now)
}

// Due reports whether the booking's payment window or its lock has passed at now.
func (b Booking) Due(l Lock, now time.Time) bool { return b.WindowPassed(now) || l.Due(now) }

// Refusal says why the booking's status does not allow an action.
func (b Booking) Refusal() error {
	switch b.Status {
	case BookingConfirmed:
		return Refuse(CodeBookingConfirmed, "The booking is confirmed.")
	case BookingCancelled:
		return Refuse(CodeBookingCancelled, "The booking is cancelled.")
	case BookingExpired:
		return Refuse(CodeBookingExpired, "The booking has expired.")
	default:
		return Refuse(CodeBookingNotPayable, "The booking's payment window is not open: pay first.")
	}
}

// BookingRequest asks for a booking on a lock. A zero Window makes it INITIATED.
type BookingRequest struct {
	UserID, EventID, LockID ID
	Window                  Until
}

// BookingFilter selects bookings of a list; a nil ID and the status "" match all.
type BookingFilter struct {
	EventID, UserID *ID // the zero ID is refused: it may be an ID that was never set
	Status          BookingStatus
}

// Check refuses a filter that no booking can match.
func (f BookingFilter) Check() error {
	return checkFilter(f.EventID, f.UserID, f.Status, BookingStatuses())
}
