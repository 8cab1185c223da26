package client

import (
	"context"
	"iter"
	"time"
)

// Charge is the charge of a shop for a booking, for ConfirmBookingWith, ChangeBookingSeats and SellSeats.
type Charge struct {
	Reference string `json:"paymentReference,omitempty"` // the payment's ID at the provider; "" means none
	Provider  string `json:"provider,omitempty"`         // "" means the provider "default"
	Part      string `json:"paymentPart,omitempty"`      // distinguishes the bookings that one charge pays for
	Amount    *int64 `json:"amount,omitempty"`           // in whole minor units; nil if it is not known
	Currency  string `json:"currency,omitempty"`         // of ISO 4217; "" if it is not known
}

// Payment is a charge that the shop has reported to Holdfast.
type Payment struct {
	ID              string    `json:"id"`
	Provider        string    `json:"provider"`
	Reference       string    `json:"reference"`
	Part            string    `json:"paymentPart"`
	BookingID       string    `json:"bookingId"`
	EventID         string    `json:"eventId"`
	UserID          string    `json:"userId"` // "" if a holder paid
	Holder          string    `json:"holder"`
	Amount          *int64    `json:"amount"`
	Currency        string    `json:"currency"`
	Status          string    `json:"status"` // ACCEPTED, REFUND_DUE, REFUNDED
	Reason          string    `json:"reason"` // why it must be refunded
	RefundReference string    `json:"refundReference"`
	Refunds         []Refund  `json:"refunds"`   // the parts of it that have to be refunded, or were, oldest first
	AmountDue       *int64    `json:"amountDue"` // what has to be refunded now; nil if the amount is not known
	CreatedAt       time.Time `json:"createdAt"`
	UpdatedAt       time.Time `json:"updatedAt"`
}

// RefusedPayment is the payment of a refused confirmation.
type RefusedPayment struct {
	ID     string `json:"id"`
	Status string `json:"status"` // REFUND_DUE: void or refund the charge; or REFUNDED
	Reason string `json:"reason"`
}

// ConfirmBookingWith asserts that the charge was taken, or authorised; the seats are sold. If the confirmation is refused,
// the Error's Payment says that the charge must be refunded. It is nil after BookingNotFound, BookingNotPayable,
// ValidationFailed and PaymentReferenceUsed: these record nothing.
func (c *Client) ConfirmBookingWith(ctx context.Context, id string, charge Charge) (Booking, error) {
	return post[Booking](ctx, c, inEvent(c.event, "/bookings/"), id, "/confirm", charge)
}

// GetPayment returns a payment.
func (c *Client) GetPayment(ctx context.Context, id string) (Payment, error) {
	return get[Payment](ctx, c, "/api/payments/", id)
}

// PaymentFilter selects payments of ListPayments. A nil field does not filter.
type PaymentFilter struct {
	EventID, BookingID, Status, Reference, Provider *string
	// RefundDue selects those that are REFUND_DUE, or have a part that is DUE.
	RefundDue bool
}

// ListPayments iterates over the payments that match the filter, as ListEvents does.
func (c *Client) ListPayments(ctx context.Context, f PaymentFilter) iter.Seq2[Payment, error] {
	filters := map[string]*string{
		"eventId": f.EventID, "bookingId": f.BookingID, "status": f.Status, "reference": f.Reference, "provider": f.Provider,
	}
	if f.RefundDue {
		filters["refundDue"] = new("true")
	}
	return listBy[Payment](ctx, c, "/api/payments", filters)
}

// RefundPayment records that a payment that is REFUND_DUE was refunded or voided, with its parts that are DUE. refundReference
// is the provider's ID of the refund. It fails with PaymentAccepted, or with PaymentRefunded if it was recorded with another
// reference.
func (c *Client) RefundPayment(ctx context.Context, id, refundReference string) (Payment, error) {
	return post[Payment](ctx, c, "/api/payments/", id, "/refunded", map[string]string{"refundReference": refundReference})
}
