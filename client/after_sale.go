package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
)

// BookingPayment is a payment in the list of its booking.
type BookingPayment struct {
	ID     string `json:"id"`
	Status string `json:"status"` // ACCEPTED, REFUND_DUE, REFUNDED
	Amount *int64 `json:"amount"` // in whole minor units; nil if it is not known
}

// BookingChange is the request of ChangeBookingSeats: the whole new wish, and the money that moves with it.
type BookingChange struct {
	Wish
	// Payment is an additional one, of a CONFIRMED booking; nil if there is none. It is ACCEPTED if the booking changes.
	Payment *Charge
	// Refund is a part of a payment that is due for refund if a CONFIRMED booking changes; nil if there is none.
	Refund *PartialRefund
	// IdempotencyKey makes repeated requests change the booking once, for 24 h. If it is "", the client generates a key for
	// the call.
	IdempotencyKey string
}

// PartialRefund asks for the refund of a part of a payment.
type PartialRefund struct {
	Amount    int64  `json:"amount"`              // in whole minor units, at least 1
	PaymentID string `json:"paymentId,omitempty"` // "" means the booking's first ACCEPTED payment
}

// ChangeBookingSeats replaces the seats of an open or CONFIRMED booking, and returns the booking: it gives a part of them
// back, exchanges them, or adds seats. The booking gets the whole wish, or stays as it is; its old seats count as free. A
// booking that has the seats already is not changed.
//
// It fails as AcquireLock does, and with BookingExpired, BookingCancelled, BookingNotPayable (a payment of an open booking),
// PaymentReferenceUsed, and ValidationFailed for a refund that the payment does not allow. Then nothing is changed, and no
// payment is recorded. A repeat with the same idempotency key returns the booking as it is now, with Replayed.
// It needs a key: a customer's token is Forbidden.
func (c *Client) ChangeBookingSeats(ctx context.Context, id string, change BookingChange) (Booking, error) {
	body := map[string]any{"idempotencyKey": cmp.Or(change.IdempotencyKey, rand.Text())}
	change.addTo(body)
	if change.Payment != nil {
		body["payment"] = change.Payment
	}
	if change.Refund != nil {
		body["refund"] = change.Refund
	}
	return c.bookingByKey(ctx, request{method: http.MethodPut, path: bookingPath(c.event, id) + "/seats", body: body})
}

// BookingTransfer is the request of TransferBooking.
type BookingTransfer struct {
	UserID string
	Holder string // in place of UserID
	// IdempotencyKey makes repeated requests transfer the booking once, for 24 h. If it is "", the client generates a key
	// for the call.
	IdempotencyKey string
}

// TransferBooking gives a CONFIRMED booking to another customer, under the limits of that customer, and returns the
// booking. It has a new lock; the previous one is RELEASED. Payments keep the customer that paid. A booking that is theirs
// already is not changed.
//
// It fails with BookingNotPayable for an open booking, BookingExpired, BookingCancelled, UserNotFound, SeatLimitReached, and
// EventNotOnSale for a cancelled event. For repeats and keys see ChangeBookingSeats.
func (c *Client) TransferBooking(ctx context.Context, id string, t BookingTransfer) (Booking, error) {
	body := map[string]any{"idempotencyKey": cmp.Or(t.IdempotencyKey, rand.Text())}
	setCustomer(body, t.UserID, t.Holder)
	return c.bookingByKey(ctx, request{method: http.MethodPost, path: bookingPath(c.event, id) + "/transfer", body: body})
}

// SaleRequest describes a sale for SellSeats. The seats are asked for in exactly one of the forms of Wish.
type SaleRequest struct {
	EventID, UserID string
	Holder          string // in place of UserID
	Wish
	Charge Charge // its payment; without a Reference there is none
	ShopData
	// IdempotencyKey makes repeated requests sell once. It is one of the event's and the customer's locks. If it is "", the
	// client generates a key for the call.
	IdempotencyKey string
}

// SellSeats sells seats at once, also while the event is CLOSED and outside the times of its sale: it returns a CONFIRMED
// booking, whose lock is CONSUMED. It fails as AcquireLock does, but not with SaleNotOpen, and with PaymentReferenceUsed if
// the charge was reported before. A refused sale leaves nothing, no payment either. A repeat with the same
// idempotency key returns the booking as it is now, with Replayed. It needs a key: a customer's token is Forbidden.
func (c *Client) SellSeats(ctx context.Context, r SaleRequest) (Booking, error) {
	body := map[string]any{"idempotencyKey": cmp.Or(r.IdempotencyKey, rand.Text())}
	setCustomer(body, r.UserID, r.Holder)
	r.Wish.addTo(body)
	r.ShopData.addTo(body)
	r.Charge.addTo(body)
	return c.bookingByKey(ctx, request{method: http.MethodPost, path: "/api/events/" + url.PathEscape(r.EventID) + "/sales", body: body})
}

// bookingByKey sends a request with an idempotency key that returns a booking.
func (c *Client) bookingByKey(ctx context.Context, r request) (b Booking, err error) {
	header, err := c.call(ctx, r, &b)
	b.Replayed = isReplayed(header)
	return b, err
}

func bookingPath(event, id string) string { return inEvent(event, "/bookings/") + url.PathEscape(id) }

func isReplayed(header http.Header) bool { return header.Get("Idempotent-Replayed") == "true" }

func (c Charge) addTo(body map[string]any) {
	for field, text := range map[string]string{
		"paymentReference": c.Reference, "provider": c.Provider, "paymentPart": c.Part, "currency": c.Currency,
	} {
		if text != "" {
			body[field] = text
		}
	}
	if c.Amount != nil {
		body["amount"] = *c.Amount
	}
}
