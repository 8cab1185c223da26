package client

import (
	"context"
	"crypto/rand"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Lock is a timed claim on seats.
type Lock struct {
	ID             string    `json:"id"`
	EventID        string    `json:"eventId"`
	UserID         string    `json:"userId"` // "" if a holder has the lock
	Holder         string    `json:"holder"`
	Seats          int64     `json:"seats"`
	Status         string    `json:"status"` // ACTIVE, CONSUMED, EXPIRED, RELEASED
	ExpiresAt      time.Time `json:"expiresAt"`
	IdempotencyKey string    `json:"idempotencyKey"`
	BookingID      string    `json:"bookingId"`
	// WaitlistEntryID is the entry of the waiting list that got the lock as an offer; "" for none.
	WaitlistEntryID string `json:"waitlistEntryId"`

	CreatedAt time.Time `json:"createdAt"`
	// Places are the places of the seats, in plan order; nil if the event has no seating plan.
	Places []Place `json:"places"`
	ShopData
	// Replayed is true if an earlier request with the same key acquired the lock.
	Replayed bool `json:"-"`
}

// LockRequest describes a lock for AcquireLock. The lock ends at ExpiresAt, or after
// TTL (whole seconds), or after the server's default TTL if both are zero. The seats are
// asked for in exactly one of the forms that Wish describes.
type LockRequest struct {
	EventID, UserID string
	// Holder is a customer without a user, in place of UserID: an opaque text, such as the ID of a cart.
	Holder          string
	Seats           int64
	SeatIDs         []string
	AccessibleSeats int64
	BestAvailable   *BestAvailable
	Section         string
	ExpiresAt       time.Time
	TTL             time.Duration
	ShopData
	// IdempotencyKey makes repeated requests acquire one lock. If it is "", the client
	// generates a key, which is in Lock.IdempotencyKey.
	IdempotencyKey string
}

// AcquireLock acquires a lock on seats. It fails with SeatsUnavailable if too few seats
// are available, or a named one is taken; with SeatsNotAdjacent if they can't be together
// as required; and with SeatOrphaned if the event refuses the single seats that they leave.
func (c *Client) AcquireLock(ctx context.Context, r LockRequest) (l Lock, err error) {
	if r.IdempotencyKey == "" {
		r.IdempotencyKey = rand.Text()
	}
	body := map[string]any{"eventId": r.EventID, "idempotencyKey": r.IdempotencyKey}
	setCustomer(body, r.UserID, r.Holder)
	wish := Wish{
		Seats: r.Seats, SeatIDs: r.SeatIDs, AccessibleSeats: r.AccessibleSeats, BestAvailable: r.BestAvailable, Section: r.Section,
	}
	wish.addTo(body)
	setTime(body, "expiresAt", r.ExpiresAt)
	setSeconds(body, "ttlSeconds", r.TTL)
	r.addTo(body)
	header, err := c.call(ctx, request{method: http.MethodPost, path: inEvent(r.EventID, "/locks"), body: body}, &l)
	l.Replayed = header.Get("Idempotent-Replayed") == "true"
	return l, err
}

// setCustomer names the user, unless only the holder is given. The server refuses both together.
func setCustomer(body map[string]any, user, holder string) {
	if user != "" || holder == "" {
		body["userId"] = user
	}
	if holder != "" {
		body["holder"] = holder
	}
}

func setTime(body map[string]any, field string, at time.Time) {
	if !at.IsZero() {
		body[field] = at.UTC()
	}
}

func setSeconds(body map[string]any, field string, d time.Duration) {
	if d != 0 {
		body[field] = int64(d / time.Second)
	}
}

// GetLock returns a lock.
func (c *Client) GetLock(ctx context.Context, id string) (Lock, error) {
	return get[Lock](ctx, c, "/api/locks/", id)
}

// ExtendLock moves the expiry of a lock to a later time. It never shortens the lock.
func (c *Client) ExtendLock(ctx context.Context, id string, until time.Time) (Lock, error) {
	return post[Lock](ctx, c, inEvent(c.event, "/locks/"), id, "/extend", map[string]any{"expiresAt": until.UTC()})
}

// ReleaseLock releases a lock, and cancels its open booking. The seats are available
// again.
func (c *Client) ReleaseLock(ctx context.Context, id string) (l Lock, err error) {
	_, err = c.call(ctx, request{method: http.MethodDelete, path: inEvent(c.event, "/locks/") + url.PathEscape(id)}, &l)
	return l, err
}

// ListLocks iterates over the locks that match the filter, as ListEvents does.
func (c *Client) ListLocks(ctx context.Context, f Filter) iter.Seq2[Lock, error] {
	return list[Lock](ctx, c, "/api/locks", f)
}
