package client

import (
	"context"
	"crypto/rand"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// User buys.
type User struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Email     string    `json:"email"`
	CreatedAt time.Time `json:"createdAt"`
}

// Event has seats to sell.
type Event struct {
	ID              string    `json:"id"`
	Name            string    `json:"name"`
	TotalSeats      int64     `json:"totalSeats"`
	AvailableSeats  int64     `json:"availableSeats"`
	Oversold        int64     `json:"oversold"`
	EventDate       time.Time `json:"eventDate"`
	Status          string    `json:"status"` // ON_SALE, CLOSED, CANCELLED
	MaxSeatsPerUser int64     `json:"maxSeatsPerUser"`
	CreatedAt       time.Time `json:"createdAt"`
	UpdatedAt       time.Time `json:"updatedAt"`
}

// Lock is a timed claim on seats.
type Lock struct {
	ID             string    `json:"id"`
	EventID        string    `json:"eventId"`
	UserID         string    `json:"userId"`
	Seats          int64     `json:"seats"`
	Status         string    `json:"status"` // ACTIVE, CONSUMED, EXPIRED, RELEASED
	ExpiresAt      time.Time `json:"expiresAt"`
	IdempotencyKey string    `json:"idempotencyKey"`
	BookingID      string    `json:"bookingId"`
	CreatedAt      time.Time `json:"createdAt"`
	// Replayed: an earlier request with the same key made it.
	Replayed bool `json:"-"`
}

// Booking is a purchase of a lock's seats.
type Booking struct {
	ID               string    `json:"id"`
	UserID           string    `json:"userId"`
	EventID          string    `json:"eventId"`
	LockID           string    `json:"lockId"`
	Seats            int64     `json:"seats"`
	Status           string    `json:"status"` // INITIATED, PAYMENT_PENDING, CONFIRMED, EXPIRED, CANCELLED
	PaymentExpiresAt time.Time `json:"paymentExpiresAt"`
	PaymentReference string    `json:"paymentReference"`
	CreatedAt        time.Time `json:"createdAt"`
	UpdatedAt        time.Time `json:"updatedAt"`
}

// CreateUser adds a user. EMAIL_TAKEN may be the answer to a second asking.
func (c *Client) CreateUser(ctx context.Context, name, email string) (u User, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/api/users", body: map[string]any{"name": name, "email": email}, once: true}, &u)
	return u, err
}

// User reads a user.
func (c *Client) User(ctx context.Context, id string) (User, error) {
	return get[User](ctx, c, "/api/users/", id)
}

// NewEvent is an event to be made; MaxSeatsPerUser 0 is no limit.
type NewEvent struct {
	Name            string    `json:"name"`
	TotalSeats      int64     `json:"totalSeats"`
	EventDate       time.Time `json:"eventDate"`
	MaxSeatsPerUser int64     `json:"maxSeatsPerUser,omitempty"`
}

// CreateEvent puts an event on sale.
func (c *Client) CreateEvent(ctx context.Context, n NewEvent) (e Event, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/api/events", body: n, once: true}, &e)
	return e, err
}

// Event reads an event.
func (c *Client) Event(ctx context.Context, id string) (Event, error) {
	return get[Event](ctx, c, "/api/events/", id)
}

// EventChange changes what is not nil.
type EventChange struct {
	Name            *string    `json:"name,omitempty"`
	TotalSeats      *int64     `json:"totalSeats,omitempty"`
	EventDate       *time.Time `json:"eventDate,omitempty"`
	Status          *string    `json:"status,omitempty"`
	MaxSeatsPerUser *int64     `json:"maxSeatsPerUser,omitempty"`
}

// UpdateEvent changes an event.
func (c *Client) UpdateEvent(ctx context.Context, id string, change EventChange) (e Event, err error) {
	_, err = c.call(ctx, request{method: http.MethodPatch, path: "/api/events/" + url.PathEscape(id), body: change}, &e)
	return e, err
}

// LockRequest asks for seats, until a time or for a duration of whole seconds;
// with neither, for as long as the server's default.
type LockRequest struct {
	EventID, UserID string
	Seats           int64
	ExpiresAt       time.Time
	TTL             time.Duration
	// IdempotencyKey makes the request the same one however often it is asked; ""
	// means a new one, which the lock then tells.
	IdempotencyKey string
}

// Lock locks seats.
func (c *Client) Lock(ctx context.Context, r LockRequest) (l Lock, err error) {
	if r.IdempotencyKey == "" {
		r.IdempotencyKey = rand.Text()
	}
	body := map[string]any{"eventId": r.EventID, "userId": r.UserID, "seats": r.Seats, "idempotencyKey": r.IdempotencyKey}
	times(body, r.ExpiresAt, r.TTL, "expiresAt", "ttlSeconds")
	header, err := c.call(ctx, request{method: http.MethodPost, path: "/api/locks", body: body}, &l)
	l.Replayed = header.Get("Idempotent-Replayed") == "true"
	return l, err
}

func times(body map[string]any, at time.Time, ttl time.Duration, until, lasts string) {
	if !at.IsZero() {
		body[until] = at.UTC()
	}
	if ttl != 0 {
		body[lasts] = int64(ttl / time.Second)
	}
}

// ReadLock reads a lock.
func (c *Client) ReadLock(ctx context.Context, id string) (Lock, error) {
	return get[Lock](ctx, c, "/api/locks/", id)
}

// Extend makes a lock last until a time, never shorter than before.
func (c *Client) Extend(ctx context.Context, id string, until time.Time) (l Lock, err error) {
	return act[Lock](ctx, c, "/api/locks/", id, "/extend", map[string]any{"expiresAt": until.UTC()})
}

// Release gives a lock's seats back, and cancels its open booking.
func (c *Client) Release(ctx context.Context, id string) (l Lock, err error) {
	_, err = c.call(ctx, request{method: http.MethodDelete, path: "/api/locks/" + url.PathEscape(id)}, &l)
	return l, err
}

// BookingRequest books a lock's seats, to be paid for until a time or within a
// duration of whole seconds; with neither it is INITIATED, and Pay comes later.
type BookingRequest struct {
	LockID, EventID, UserID string
	PaymentExpiresAt        time.Time
	PaymentTTL              time.Duration
}

// Book makes the booking of a lock, or returns the one that it has.
func (c *Client) Book(ctx context.Context, r BookingRequest) (b Booking, err error) {
	body := map[string]any{"lockId": r.LockID, "eventId": r.EventID, "userId": r.UserID}
	times(body, r.PaymentExpiresAt, r.PaymentTTL, "paymentExpiresAt", "paymentTtlSeconds")
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/api/bookings", body: body}, &b)
	return b, err
}

// ReadBooking reads a booking.
func (c *Client) ReadBooking(ctx context.Context, id string) (Booking, error) {
	return get[Booking](ctx, c, "/api/bookings/", id)
}

// Pay opens an INITIATED booking's payment window.
func (c *Client) Pay(ctx context.Context, id string, until time.Time) (Booking, error) {
	return act[Booking](ctx, c, "/api/bookings/", id, "/pay", map[string]any{"paymentExpiresAt": until.UTC()})
}

// Confirm sells the seats; reference is what the payment is known by, "" for none.
func (c *Client) Confirm(ctx context.Context, id, reference string) (Booking, error) {
	body := map[string]any{}
	if reference != "" {
		body["paymentReference"] = reference
	}
	return act[Booking](ctx, c, "/api/bookings/", id, "/confirm", body)
}

// Cancel ends a booking, and gives its seats back.
func (c *Client) Cancel(ctx context.Context, id string) (Booking, error) {
	return act[Booking](ctx, c, "/api/bookings/", id, "/cancel", nil)
}

// Filter narrows a list; empty fields don't.
type Filter struct{ EventID, UserID, Status string }

// Events walks all events, page after page. It ends with the first error.
func (c *Client) Events(ctx context.Context) iter.Seq2[Event, error] {
	return list[Event](ctx, c, "/api/events", Filter{})
}

// Locks walks the locks that match.
func (c *Client) Locks(ctx context.Context, f Filter) iter.Seq2[Lock, error] {
	return list[Lock](ctx, c, "/api/locks", f)
}

// Bookings walks the bookings that match.
func (c *Client) Bookings(ctx context.Context, f Filter) iter.Seq2[Booking, error] {
	return list[Booking](ctx, c, "/api/bookings", f)
}

func get[T any](ctx context.Context, c *Client, path, id string) (v T, err error) {
	_, err = c.call(ctx, request{method: http.MethodGet, path: path + url.PathEscape(id)}, &v)
	return v, err
}

func act[T any](ctx context.Context, c *Client, path, id, what string, body any) (v T, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: path + url.PathEscape(id) + what, body: body}, &v)
	return v, err
}

func list[T any](ctx context.Context, c *Client, path string, f Filter) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		const size = 500
		query := url.Values{"pageSize": {strconv.Itoa(size)}}
		for name, value := range map[string]string{"eventId": f.EventID, "userId": f.UserID, "status": f.Status} {
			if value != "" {
				query.Set(name, value)
			}
		}
		for {
			var page struct {
				Items []T    `json:"items"`
				Next  string `json:"nextPageToken"`
			}
			if _, err := c.call(ctx, request{method: http.MethodGet, path: path, query: query}, &page); err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			query.Set("pageToken", page.Next)
		}
	}
}
