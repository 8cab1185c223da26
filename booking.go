package holdfast

import (
	"slices"
	"strconv"
	"time"
)

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
	ID               ID     `bson:"_id"`
	UserID           ID     `bson:"userId"` // of a holder: HolderID
	Holder           string // "" if a user has the booking
	EventID          ID     `bson:"eventId"`
	LockID           ID     `bson:"seatLockId"`
	Seats            int64
	Status           BookingStatus
	PaymentExpiresAt time.Time `bson:"paymentExpiresAt"` // end of the payment window; zero while INITIATED
	PaymentReference string    `bson:"paymentReference"`
	Late             bool      // a late payment was accepted
	CreatedAt        time.Time `bson:"createdAt"`
	UpdatedAt        time.Time `bson:"updatedAt"`
	SeatIDs          []string  `bson:"seatIds"` // the SeatIDs of its lock
	Section          string    // the Section of its lock
	Revision         int64     `bson:"-"` // raised by every change; 0 until the first one
	// Payments are those that reached the booking, oldest first; see MaxListedPayments.
	Payments []ListedPayment `bson:"payments"`
	// Done are the requests that have changed the booking, or found it as they wished, oldest first: a repeat finds its own.
	Done     []DoneRequest `bson:"-"`
	ShopData `bson:",inline"`
}

// ListedPayment is a payment in the list of its booking.
type ListedPayment struct {
	ID     ID            `bson:"id"`
	Status PaymentStatus `bson:"status"`
	Amount *int64        `bson:"amount,omitempty"` // of its charge
}

// MaxListedPayments bounds the payments with which a booking is CONFIRMED. A refused payment that comes when the list has as
// many is recorded, and not listed.
const MaxListedPayments = 1000

// Accepted returns the payments with which the booking is CONFIRMED, oldest first.
func (b Booking) Accepted() (ids []ID) {
	for _, p := range b.Payments {
		if p.Status == PaymentAccepted {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// WithPayment returns the list of the booking's payments with one of them as it is now. The list of the booking stays.
func (b Booking) WithPayment(p Payment) []ListedPayment {
	list, listed := slices.Clone(b.Payments), ListedPayment{ID: p.ID, Status: p.Status, Amount: p.Amount}
	i := slices.IndexFunc(list, func(l ListedPayment) bool { return l.ID == p.ID })
	switch {
	case i >= 0:
		list[i] = listed
	case len(list) < MaxListedPayments || p.Status == PaymentAccepted:
		list = append(list, listed)
	}
	return list
}

// DoneRequest is a request that has changed a booking, or found it as it wished. If the request had an idempotency key, its
// repeat is answered for KeyRetention.
type DoneRequest struct {
	ID      ID     `bson:"id"`            // of the command
	KeyHash string `bson:"key,omitempty"` // of the request's idempotency key; "" if it had none
	Hash    string `bson:"hash"`          // of the request
	At      time.Time
}

// KeyHash is the hash by which a DoneRequest keeps an idempotency key.
func KeyHash(key string) string { return requestHash("%s", key) }

// Bounds of Booking.Done. One without a key is only needed until the outcome of its transaction is known.
const (
	KeyRetention   = 24 * time.Hour
	MaxDone        = 2000 // with a key, within KeyRetention; a further one is refused
	maxDoneKeyless = 20
)

// WithDone returns the requests after a further one, without those that are no longer needed. The list of the booking stays.
func (b Booking) WithDone(r DoneRequest) []DoneRequest {
	keep, keyless := make([]DoneRequest, 0, len(b.Done)+1), 0
	for _, d := range slices.Backward(b.Done) {
		isNeeded := d.HasKeyAt(r.At)
		if d.KeyHash == "" { // those of the same batch have the same time, and the same outcome
			keyless++
			isNeeded = keyless < maxDoneKeyless || d.At.Equal(r.At)
		}
		if isNeeded {
			keep = append(keep, d)
		}
	}
	slices.Reverse(keep)
	return append(keep, r)
}

// HasKeyAt reports whether the request had a key that is kept at now.
func (r DoneRequest) HasKeyAt(now time.Time) bool {
	return r.KeyHash != "" && now.Sub(r.At) < KeyRetention
}

// BookingChange replaces the seats of a booking: all of the new ones, or it keeps the old ones.
type BookingChange struct {
	// EventID is the booking's event, if the caller knows it, which saves a read; otherwise zero. A booking of another event
	// is not found.
	EventID ID
	Seats   int64
	Wish    Wish
	// Payment is an additional one, ACCEPTED if the booking changes. The zero value means none.
	Payment Charge
	Refund  *PartRequest // a part of a payment that has to be refunded if the booking changes
	Key     string       // idempotency key; "" for none
}

// PartRequest asks for the refund of a part of a payment.
type PartRequest struct {
	Amount    int64 // in whole minor units, at least 1
	PaymentID ID    // zero: the booking's first ACCEPTED payment
}

// Hash differs between different changes of a booking with one idempotency key.
func (c BookingChange) Hash() string {
	text := c.Wish.appendCanonical(strconv.AppendInt([]byte("change|"), c.Seats, 10))
	text = c.Payment.appendCanonical(text)
	if c.Refund != nil {
		text = strconv.AppendInt(append(text, "|refund "...), c.Refund.Amount, 10)
		text = append(text, c.Refund.PaymentID.String()...)
	}
	return hashOf(text)
}

// Check refuses a change that no booking can have.
func (c BookingChange) Check() error {
	if err := CheckText("body.idempotencyKey", c.Key, MaxKeyLength); err != nil {
		return err
	}
	if err := c.Payment.check("body.payment."); err != nil {
		return err
	}
	if c.Refund != nil && (c.Refund.Amount < 1 || c.Refund.Amount > MaxAmount) {
		return RefuseInput("body.refund.amount", "amount must be a whole number from 1 to %d.", MaxAmount)
	}
	return nil
}

// BookingTransfer gives a booking to another customer.
type BookingTransfer struct {
	EventID ID // see BookingChange
	UserID  ID
	Holder  string // in place of UserID; see CustomerID
	Key     string // idempotency key; "" for none
}

// Hash differs between different transfers of a booking with one idempotency key, and from every change of its seats.
func (t BookingTransfer) Hash() string { return requestHash("transfer|%s|%q", t.UserID, t.Holder) }

// PreviousBooking is what a change of a booking's seats or of its customer has replaced.
type PreviousBooking struct {
	Seats   int64
	SeatIDs []string `bson:"seatIds"`
	Section string
	UserID  ID `bson:"userId"`
	Holder  string
}

// SaleRequest sells seats at once: a lock, its booking and its payment. The time of the lock request is not used.
type SaleRequest struct {
	LockRequest
	Charge Charge
}

// Hash differs between different sales with one idempotency key, and from every request for a lock.
func (r SaleRequest) Hash() string {
	return hashOf(r.Charge.appendCanonical(append([]byte("sale|"), r.LockRequest.Hash()...)))
}

// WindowPassed reports whether the payment window has ended at now, by the
// database's clock.
func (b Booking) WindowPassed(now time.Time) bool {
	return !b.PaymentExpiresAt.IsZero() && !b.PaymentExpiresAt.After(now)
}

// Due reports whether the booking's payment window or its lock has passed at now.
func (b Booking) Due(l Lock, now time.Time) bool { return b.WindowPassed(now) || l.Due(now) }

// Refusal returns the error for an action that the booking's status does not allow.
func (b Booking) Refusal() error {
	switch b.Status {
	case BookingConfirmed:
		return Refuse(CodeBookingConfirmed, "The booking is confirmed.")
	case BookingCancelled:
		return Refuse(CodeBookingCancelled, "The booking is cancelled.")
	case BookingExpired:
		return Refuse(CodeBookingExpired, "The booking has expired.")
	default:
		return Refuse(CodeBookingNotPayable, "The booking's payment window is not open. Open it with pay first.")
	}
}

// BookingRequest asks for a booking on a lock. A zero Window makes it INITIATED. A reference or metadata that the request
// lacks are those of the lock.
type BookingRequest struct {
	UserID, EventID, LockID ID
	Holder                  string // in place of UserID; see CustomerID
	Window                  Until
	ShopData
}

// BookingFilter selects bookings of a list; a nil ID and an empty text match all.
type BookingFilter struct {
	EventID, UserID *ID    // the zero ID is refused: it may be an ID that was never set
	Holder          string // in place of UserID; "" matches all
	Status          BookingStatus
	Reference       string // of ShopData
}

// Check refuses a filter that no booking can match.
func (f BookingFilter) Check() error {
	if err := checkShopReference("query.reference", f.Reference); err != nil {
		return err
	}
	return checkFilter(f.EventID, f.UserID, f.Holder, f.Status, BookingStatuses())
}

// User is a customer. The email address is unique without regard to case.
type User struct {
	ID        ID
	Name      string
	Email     string
	CreatedAt time.Time
}

// NewUser asks for a user.
type NewUser struct{ Name, Email string }

// Hash differs between different requests with one idempotency key.
func (n NewUser) Hash() string { return requestHash("%q|%q", n.Name, n.Email) }

// UserChange changes the fields that are not nil.
type UserChange struct{ Name, Email *string }

// Check refuses values that are not valid.
func (c UserChange) Check() error {
	if c.Name != nil {
		if err := CheckName("body.name", *c.Name); err != nil {
			return err
		}
	}
	if c.Email != nil {
		return CheckEmail("body.email", *c.Email)
	}
	return nil
}
