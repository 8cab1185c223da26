package holdfast

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"time"
)

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
func (c Charge) Check() error { return c.check("body.") }

// check is Check for a charge whose fields are in another object of the request, such as body.payment.
func (c Charge) check(field string) error {
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
	var text []byte
	for _, s := range []string{cmp.Or(c.Provider, DefaultProvider), c.Reference, c.Part} {
		text = append(binary.BigEndian.AppendUint32(text, uint32(len(s))), s...) //nolint:gosec // texts are short
	}
	sum := sha256.Sum256(text)
	return ID(sum[:len(ID{})])
}

// appendCanonical appends what is different for different charges, and nothing if there is none.
func (c Charge) appendCanonical(text []byte) []byte {
	if c.IsZero() {
		return text
	}
	text = strconv.AppendQuote(append(text, "|charge "...), cmp.Or(c.Provider, DefaultProvider))
	for _, s := range []string{c.Reference, c.Part, c.Currency} {
		text = strconv.AppendQuote(append(text, '|'), s)
	}
	if c.Amount != nil {
		text = strconv.AppendInt(append(text, '|'), *c.Amount, 10)
	}
	return text
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
	Refunds         []Refund      // the parts of it that have to go back, or went, oldest first. A stored list is only replaced
	CreatedAt       time.Time     `bson:"createdAt"`
	UpdatedAt       time.Time     `bson:"updatedAt"`
	Revision        int64         `bson:"-"` // raised by every change
}

// RefundStatus is the state of a part of a payment.
type RefundStatus string

// A part begins DUE.
const (
	RefundDue  RefundStatus = "DUE"
	RefundDone RefundStatus = "REFUNDED"
)

// RefundStatuses returns all statuses, in a new slice.
func RefundStatuses() []RefundStatus { return []RefundStatus{RefundDue, RefundDone} }

// RefundReason is why a part of a payment has to be refunded.
type RefundReason string

// The reasons of a part.
const (
	RefundSeatsChanged RefundReason = "seats_changed"
	RefundOther        RefundReason = "other"
)

// Refund is a part of a payment that has to be refunded, or was.
type Refund struct {
	ID        ID           `bson:"id"`
	Amount    int64        `bson:"amount"` // in whole minor units, at least 1
	Reason    RefundReason `bson:"reason"`
	Status    RefundStatus `bson:"status"`
	Reference string       `bson:"refundReference,omitempty"` // the shop's ID of the refund, once REFUNDED
	CreatedAt time.Time    `bson:"createdAt"`
	Key       string       `bson:"key,omitempty"` // idempotency key of the request that made it
}

// MaxRefunds bounds the parts of a payment.
const MaxRefunds = 1000

// Left returns how much of the payment no part claims. known is false if the payment has no amount.
func (p Payment) Left() (left int64, known bool) {
	if p.Amount == nil {
		return 0, false
	}
	left = *p.Amount
	for _, r := range p.Refunds {
		left -= r.Amount
	}
	return left, true
}

// AmountDue returns how much has to be refunded now. known is false if the payment has no amount.
func (p Payment) AmountDue() (due int64, known bool) {
	if p.Amount == nil {
		return 0, false
	}
	switch p.Status {
	case PaymentRefundDue:
		due = *p.Amount
		for _, r := range p.Refunds {
			if r.Status == RefundDone {
				due -= r.Amount
			}
		}
	case PaymentAccepted:
		for _, r := range p.Refunds {
			if r.Status == RefundDue {
				due += r.Amount
			}
		}
	default:
	}
	return due, true
}

// HasDuePart reports whether a part of the payment has to be refunded.
func (p Payment) HasDuePart() bool {
	return slices.ContainsFunc(p.Refunds, func(r Refund) bool { return r.Status == RefundDue })
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
	RefundDue          bool // only those that are REFUND_DUE, or have a part that is DUE
}

// Check refuses a filter that no payment can match.
func (f PaymentFilter) Check() error {
	if err := checkFilterID("query.bookingId", f.BookingID); err != nil {
		return err
	}
	return checkFilter(f.EventID, nil, "", f.Status, PaymentStatuses())
}
