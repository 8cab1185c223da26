package holdfast

import (
	"crypto/sha256"
	"encoding/binary"
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
	PaymentID        ID        `bson:"-"` // the payment that confirmed it; zero if none did
	Late             bool      // a late payment was accepted
	CreatedAt        time.Time `bson:"createdAt"`
	UpdatedAt        time.Time `bson:"updatedAt"`
	SeatIDs          []string  `bson:"seatIds"` // the SeatIDs of its lock
	Section          string    // the Section of its lock
	Revision         int64     `bson:"-"` // raised by every change; 0 until the first one
	ShopData         `bson:",inline"`
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

// PaymentStatus is the state of a payment.
type PaymentStatus string

// A payment begins ACCEPTED or REFUND_DUE. An accepted one becomes REFUND_DUE when its booking is cancelled.
const (
	PaymentAccepted  PaymentStatus = "ACCEPTED" // its booking is CONFIRMED with it
	PaymentRefundDue PaymentStatus = "REFUND_DUE"
	PaymentRefunded  PaymentStatus = "REFUNDED" // the shop has refunded it, or voided it
)

// PaymentStatuses returns all statuses, in a new slice.
func PaymentStatuses() []PaymentStatus {
	return []PaymentStatus{PaymentAccepted, PaymentRefundDue, PaymentRefunded}
}

// PaymentReason is why a payment must be refunded.
type PaymentReason string

// The reasons of a refund.
const (
	ReasonLate             PaymentReason = "late"       // the booking had expired
	ReasonSeatsGone        PaymentReason = "seats_gone" // it was late, and its seats are taken
	ReasonLimit            PaymentReason = "limit"      // it was late, and the customer has reached the limit of seats or locks
	ReasonNotOnSale        PaymentReason = "not_on_sale"
	ReasonLockEnded        PaymentReason = "lock_ended" // other software ended the lock of the booking
	ReasonBookingCancelled PaymentReason = "booking_cancelled"
	ReasonEventCancelled   PaymentReason = "event_cancelled"
	ReasonDuplicate        PaymentReason = "duplicate" // the booking was confirmed without it
)

// PaymentAction changes the status of a payment.
type PaymentAction string

// The actions on a payment.
const (
	ReturnPayment PaymentAction = "return" // its booking is cancelled
	RefundPayment PaymentAction = "refund" // the shop has refunded it
)

// nextPayment has all transitions of a payment; every other pair is refused.
var nextPayment = map[PaymentStatus]map[PaymentAction]PaymentStatus{
	PaymentAccepted:  {ReturnPayment: PaymentRefundDue},
	PaymentRefundDue: {RefundPayment: PaymentRefunded},
}

// Next is the status after the action; ok is false if the action is refused.
func (s PaymentStatus) Next(a PaymentAction) (to PaymentStatus, ok bool) {
	to, ok = nextPayment[s][a]
	return to, ok
}

// Charge is what a shop reports that it charged for a booking. The zero value means that it reports nothing.
type Charge struct {
	Provider  string // "" is DefaultProvider
	Reference string // the provider's ID of the payment
	Part      string // distinguishes the bookings that one charge pays for
	Amount    *int64 // in whole minor units; nil if it is not known
	Currency  string // of ISO 4217; "" if it is not known
}

// DefaultProvider is the provider of a charge that names none.
const DefaultProvider = "default"

// MaxAmount is the largest amount of a charge: every whole number up to it is exact in JSON.
const MaxAmount = 1<<53 - 1

// IsZero reports whether the shop reported nothing.
func (c Charge) IsZero() bool { return c == Charge{} }

// Check refuses a charge that no payment can have.
func (c Charge) Check() error {
	const field = "body."
	switch {
	case c.IsZero():
		return nil
	case c.Reference == "":
		return RefuseInput(field+"paymentReference", "paymentReference must not be empty. Give the provider's ID of the payment.")
	case c.Amount != nil && (*c.Amount < 0 || *c.Amount > MaxAmount):
		return RefuseInput(field+"amount", "amount must be a whole number from 0 to %d.", MaxAmount)
	case c.Currency != "" && !isCurrency(c.Currency):
		return RefuseInput(field+"currency", "currency must have three capital letters, as in ISO 4217.")
	}
	for _, text := range []struct {
		field, value string
		most         int
	}{
		{"paymentReference", c.Reference, MaxReferenceLength},
		{"paymentPart", c.Part, MaxPartLength},
		{"provider", c.Provider, MaxProviderLength},
	} {
		if err := CheckReference(field+text.field, text.value, text.most); err != nil {
			return err
		}
	}
	return nil
}

func isCurrency(code string) bool {
	const letters = 3
	for i := range len(code) {
		if code[i] < 'A' || code[i] > 'Z' {
			return false
		}
	}
	return len(code) == letters
}

// PaymentID is the ID of a charge's payment: the beginning of the SHA-256 of provider, reference and part, each with
// its length in four big-endian bytes before it. So every process computes the same ID.
func (c Charge) PaymentID() ID {
	provider := c.Provider
	if provider == "" {
		provider = DefaultProvider
	}
	var text []byte
	for _, s := range []string{provider, c.Reference, c.Part} {
		text = append(binary.BigEndian.AppendUint32(text, uint32(len(s))), s...) //nolint:gosec // texts are short
	}
	sum := sha256.Sum256(text)
	return ID(sum[:len(ID{})])
}

// Payment is money that a shop has reported for a booking. There is one for each reference with its part.
type Payment struct {
	ID     ID `bson:"_id"`
	Charge `bson:",inline"`

	BookingID ID     `bson:"bookingId"`
	EventID   ID     `bson:"eventId"`
	UserID    ID     `bson:"userId"` // of a holder: HolderID
	Holder    string // "" if a user paid

	Status          PaymentStatus
	Reason          PaymentReason // of a refund
	Code            Code          `bson:"-"`               // the code of the refusal that made it REFUND_DUE; a repeat gets it again
	RefundReference string        `bson:"refundReference"` // the shop's ID of the refund, once REFUNDED
	CreatedAt       time.Time     `bson:"createdAt"`
	UpdatedAt       time.Time     `bson:"updatedAt"`
	Revision        int64         `bson:"-"` // raised by every change
}

// Agrees reports whether a charge is that of the payment: the provider, reference and part are the same, and so are the
// amount and the currency where the charge has them.
func (p Payment) Agrees(c Charge) bool {
	return p.ID == c.PaymentID() && (c.Amount == nil || p.Amount != nil && *p.Amount == *c.Amount) &&
		(c.Currency == "" || p.Currency == c.Currency)
}

// Refused returns the details of a refused confirmation about its payment.
func (p Payment) Refused() RefusedPayment { return RefusedPayment{p.ID, p.Status, p.Reason} }

// PaymentFilter selects payments of a list; a nil ID and an empty text match all.
type PaymentFilter struct {
	EventID, BookingID *ID // the zero ID is refused: it may be an ID that was never set
	Status             PaymentStatus
	Reference          string
	Provider           string
}

// Check refuses a filter that no payment can match.
func (f PaymentFilter) Check() error {
	if err := checkFilterID("query.bookingId", f.BookingID); err != nil {
		return err
	}
	return checkFilter(f.EventID, nil, "", f.Status, PaymentStatuses())
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
