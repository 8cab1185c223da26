package client

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// Booking is a purchase of the seats of a lock.
type Booking struct {
	ID               string    `json:"id"`
	UserID           string    `json:"userId"` // "" if a holder has the booking
	Holder           string    `json:"holder"`
	EventID          string    `json:"eventId"`
	LockID           string    `json:"lockId"`
	Seats            int64     `json:"seats"`
	Status           string    `json:"status"` // INITIATED, PAYMENT_PENDING, CONFIRMED, EXPIRED, CANCELLED
	PaymentExpiresAt time.Time `json:"paymentExpiresAt"`
	PaymentReference string    `json:"paymentReference"`
	Late             bool      `json:"late"` // a payment confirmed it after it had expired; its seats are in a new lock
	CreatedAt        time.Time `json:"createdAt"`
	UpdatedAt        time.Time `json:"updatedAt"`
	// Places are as in the booking's lock.
	Places []Place `json:"places"`
	// Payments are those that reached the booking, oldest first; nil for a customer's token.
	Payments []BookingPayment `json:"payments"`
	ShopData
	// Replayed is true if an earlier request with the same idempotency key was carried out: see ChangeBookingSeats.
	Replayed bool `json:"-"`
}

// BookingRequest describes a booking for CreateBooking. The payment window ends at
// PaymentExpiresAt, or after PaymentTTL (whole seconds). If both are zero, the
// booking is INITIATED, and PayBooking opens the window.
type BookingRequest struct {
	LockID, EventID, UserID string
	Holder                  string // in place of UserID
	PaymentExpiresAt        time.Time
	PaymentTTL              time.Duration
	ShopData                // what is none is the lock's
}

// CreateBooking books the seats of a lock. If the lock already has a booking, it
// returns that one.
func (c *Client) CreateBooking(ctx context.Context, r BookingRequest) (b Booking, err error) {
	body := map[string]any{"lockId": r.LockID, "eventId": r.EventID}
	setCustomer(body, r.UserID, r.Holder)
	setTime(body, "paymentExpiresAt", r.PaymentExpiresAt)
	setSeconds(body, "paymentTtlSeconds", r.PaymentTTL)
	r.addTo(body)
	_, err = c.call(ctx, request{method: http.MethodPost, path: inEvent(r.EventID, "/bookings"), body: body}, &b)
	return b, err
}

// GetBooking returns a booking.
func (c *Client) GetBooking(ctx context.Context, id string) (Booking, error) {
	return get[Booking](ctx, c, inEvent(c.event, "/bookings/"), id)
}

// PayBooking opens the payment window of an INITIATED booking.
func (c *Client) PayBooking(ctx context.Context, id string, until time.Time) (Booking, error) {
	return post[Booking](ctx, c, inEvent(c.event, "/bookings/"), id, "/pay", map[string]any{"paymentExpiresAt": until.UTC()})
}

// ConfirmBooking asserts that the payment was received; the seats are sold.
// paymentReference is the payment's ID at the payment provider, "" for none. See ConfirmBookingWith.
func (c *Client) ConfirmBooking(ctx context.Context, id, paymentReference string) (Booking, error) {
	return c.ConfirmBookingWith(ctx, id, Charge{Reference: paymentReference})
}

// CancelBooking cancels a booking. The seats are available again.
func (c *Client) CancelBooking(ctx context.Context, id string) (Booking, error) {
	return post[Booking](ctx, c, inEvent(c.event, "/bookings/"), id, "/cancel", nil)
}

// ListBookings iterates over the bookings that match the filter, as ListEvents does.
func (c *Client) ListBookings(ctx context.Context, f Filter) iter.Seq2[Booking, error] {
	return list[Booking](ctx, c, "/api/bookings", f)
}
