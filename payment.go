package holdfast

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// PaymentStatus is the state of a payment.
type PaymentStatus string

// A payment begins ACCEPTED or REFUND_DUE. An accepted one becomes REFUND_DUE when its booking is cancelled.
const (
	PaymentAccepted  PaymentStatus = "ACCEPTED" // its booking is CONFIRMED with it
	PaymentRefundDue PaymentStatus = "REFUND_DUE"
	PaymentRefunded  PaymentStatus = "REFUNDED" // the shop has given it back, or voided it
)

// PaymentStatuses returns all statuses, in a new slice.
func PaymentStatuses() []PaymentStatus {
	return []PaymentStatus{PaymentAccepted, PaymentRefundDue, PaymentRefunded}
}

// PaymentReason says why a payment has to go back.
type PaymentReason string

// The reasons of a refund.
const (
	ReasonLate             PaymentReason = "late"       // the booking had expired
	ReasonSeatsGone        PaymentReason = "seats_gone" // it was late, and others have its seats
	ReasonLimit            PaymentReason = "limit"      // it was late, and the customer holds as much as is allowed
	ReasonNotOnSale        PaymentReason = "not_on_sale"
	ReasonLockEnded        PaymentReason = "lock_ended" // other software ended the lock of the booking
	ReasonBookingCancelled PaymentReason = "booking_cancelled"
	ReasonEventCancelled   PaymentReason = "event_cancelled"
	ReasonDuplicate        PaymentReason = "duplicate" // the booking was confirmed without it
)

// PaymentReasons returns all reasons, in a new slice.
func PaymentReasons() []PaymentReason {
	return []PaymentReason{
		ReasonLate, ReasonSeatsGone, ReasonLimit, ReasonNotOnSale, ReasonLockEnded, ReasonBookingCancelled, ReasonEventCancelled, ReasonDuplicate,
	}
}

// PaymentAction changes the status of a payment.
type PaymentAction string

// The actions on a payment.
const (
	ReturnPayment PaymentAction = "return" // its booking is cancelled
	RefundPayment PaymentAction = "refund" // the shop has given it back
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

// Charge is what a shop says that it took for a booking. The zero value: it says nothing.
type Charge struct {
	Provider  string // "" is DefaultProvider
	Reference string // the provider's
	Part      string // tells the bookings apart that one charge pays for
	Amount    *int64 // in whole minor units; nil: not said
	Currency  string // of ISO 4217; "": not said
}

// DefaultProvider is the provider of a charge that names none.
const DefaultProvider = "default"

// MaxAmount is the largest amount of a charge: every whole number up to it is exact in JSON.
const MaxAmount = 1<<53 - 1

// IsZero reports whether nothing was said.
func (c Charge) IsZero() bool { return c == Charge{} }

// Check refuses a charge that no payment can have.
func (c Charge) Check() error {
	const field = "body."
	switch {
	case c.IsZero():
		return nil
	case c.Reference == "":
		return RefuseInput(field+"paymentReference", "Give the reference of the payment.")
	case c.Amount != nil && (*c.Amount < 0 || *c.Amount > MaxAmount):
		return RefuseInput(field+"amount", "An amount is a whole number from 0 to %d.", MaxAmount)
	case c.Currency != "" && !isCurrency(c.Currency):
		return RefuseInput(field+"currency", "A currency has three capital letters, as in ISO 4217.")
	}
	for _, text := range []struct {
		field, value string
		most         int
	}{
		{"paymentReference", c.Reference, MaxReferenceLength},
		{"paymentPart", c.Part, MaxPartLength},
		{"provider", c.Provider, MaxProviderLength},
	} {
		if err := CheckText(field+text.field, text.value, text.most); err != nil {
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
// its length in four bytes, highest first, before it. So a payment is one everywhere.
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
	ID ID
	Charge

	BookingID, EventID, UserID ID

	Status          PaymentStatus
	Reason          PaymentReason // of a refund
	Code            Code          // of the refusal that made it REFUND_DUE; a repeat is refused with it
	RefundReference string        // the shop's, once REFUNDED
	CreatedAt       time.Time
	UpdatedAt       time.Time
	Revision        int64 // raised by every change
}

// Agrees reports whether a charge with the payment's reference and part is the same charge. What it does not say
// does not differ.
func (p Payment) Agrees(c Charge) bool {
	return p.ID == c.PaymentID() && (c.Amount == nil || p.Amount != nil && *p.Amount == *c.Amount) &&
		(c.Currency == "" || p.Currency == c.Currency)
}

// Refused is what a refused confirmation says of its payment.
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
	return checkFilter(f.EventID, nil, f.Status, PaymentStatuses())
}
