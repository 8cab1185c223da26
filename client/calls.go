package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// User is a customer.
type User struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Email     string    `json:"email"`
	CreatedAt time.Time `json:"createdAt"`
}

// Event has seats for sale.
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
	// LatePayments is whether a payment may confirm a booking that has expired, until LatePaymentSeconds after its end.
	LatePayments       string `json:"latePayments"`
	LatePaymentSeconds int64  `json:"latePaymentSeconds"`
	// Seats are locked from SaleStartsAt on and before SaleEndsAt; the zero time means no bound.
	SaleStartsAt time.Time `json:"saleStartsAt"`
	SaleEndsAt   time.Time `json:"saleEndsAt"`

	// The following fields are set for an event with a seating plan.
	SeatingPlanID    string `json:"seatingPlanId"` // "" if the event has none
	BlockedSeats     int64  `json:"blockedSeats"`  // taken out of sale by the venue
	OrphanRule       string `json:"orphanRule"`
	AccessiblePolicy string `json:"accessiblePolicy"`
	// Sections are its areas of general admission, in the plan's order, with their capacities in this event.
	Sections []SectionCapacity `json:"sections"`
	ShopData
}

// ShopData is what a shop keeps with an event, a lock or a booking. Only keys may set and read it; lists filter by the
// reference.
type ShopData struct {
	Reference string            `json:"reference,omitempty"` // the shop's own name for it
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// SectionCapacity is the number of seats of an area of general admission.
type SectionCapacity struct {
	Key      string `json:"key"`
	Capacity int64  `json:"capacity"`
}

// Values of LatePayments, OrphanRule and AccessiblePolicy of an event.
const (
	LatePaymentsRefused  = "REFUSE" // the default
	LatePaymentsAccepted = "ACCEPT"

	OrphansAllowed     = "ALLOW"    // named seats may leave single seats: the default
	OrphansRefused     = "REFUSE"   // SeatOrphaned, if the same number of seats could leave fewer
	AccessibleReserved = "RESERVED" // accessible seats are locked only when they are asked for: the default
	AccessibleOpen     = "OPEN"     // they are seats like any other
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
	CreatedAt      time.Time `json:"createdAt"`
	// Places are the places of the seats, in plan order; nil if the event has no seating plan.
	Places []Place `json:"places"`
	ShopData
	// Replayed is true if an earlier request with the same key acquired the lock.
	Replayed bool `json:"-"`
}

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
	// Payments are those that reached the booking, oldest first; nil for a customer's token.
	Payments []BookingPayment `json:"payments"`
	// Places are as in the booking's lock.
	Places []Place `json:"places"`
	ShopData
	// Replayed is true if an earlier request with the same idempotency key was carried out: see ChangeBookingSeats.
	Replayed bool `json:"-"`
}

// CreateUser creates a user. Its retries create one user. After an error without a code, and
// after OutcomeUnknown, the user may exist: FindUser finds it.
func (c *Client) CreateUser(ctx context.Context, name, email string) (User, error) {
	return c.CreateUserOnce(ctx, NewUser{Name: name, Email: email})
}

// NewUser describes a user for CreateUserOnce.
type NewUser struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	// IdempotencyKey makes repeated requests create one user, for 24 h. If it is "", the
	// client generates a key for the call.
	IdempotencyKey string `json:"idempotencyKey"`
}

// CreateUserOnce is CreateUser with a key of the caller: after an unknown outcome, the same call
// returns the user.
func (c *Client) CreateUserOnce(ctx context.Context, n NewUser) (u User, err error) {
	n.IdempotencyKey = cmp.Or(n.IdempotencyKey, rand.Text())
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/api/users", body: n}, &u)
	return u, err
}

// FindUser returns the user with an email address, in any case. found is false if there is
// none.
func (c *Client) FindUser(ctx context.Context, email string) (u User, found bool, err error) {
	var page struct {
		Items []User `json:"items"`
	}
	_, err = c.call(ctx, request{method: http.MethodGet, path: "/api/users", query: url.Values{"email": {email}}}, &page)
	if len(page.Items) > 0 {
		u, found = page.Items[0], true
	}
	return u, found, err
}

// GetUser returns a user.
func (c *Client) GetUser(ctx context.Context, id string) (User, error) {
	return get[User](ctx, c, "/api/users/", id)
}

// UserChange has the fields that UpdateUser changes; nil fields stay as they are.
type UserChange struct {
	Name  *string `json:"name,omitempty"`
	Email *string `json:"email,omitempty"`
}

// UpdateUser changes a user and returns it. It fails with EmailTaken if another user has the address. After an error
// without a code, and after OutcomeUnknown, the user may be changed. The client does not retry then, because another caller
// may have changed the user since.
func (c *Client) UpdateUser(ctx context.Context, id string, change UserChange) (u User, err error) {
	_, err = c.call(ctx, request{method: http.MethodPatch, path: "/api/users/" + url.PathEscape(id), body: change, notIdempotent: true}, &u)
	return u, err
}

// Erased counts the documents that an erasure has changed.
type Erased struct {
	Locks    int64 `json:"locks"`
	Bookings int64 `json:"bookings"`
	Entries  int64 `json:"entries"`
}

// EraseUser erases what is known about a user, for good. It fails with HoldsSeats while the user has a lock or an open booking
// that is not due. After an error without a code, and after OutcomeUnknown, a part is erased: the same call continues.
func (c *Client) EraseUser(ctx context.Context, id string) (Erased, error) {
	return post[Erased](ctx, c, "/api/users/", id, "/erase", nil)
}

// EraseHolder is EraseUser for a holder.
func (c *Client) EraseHolder(ctx context.Context, holder string) (erased Erased, err error) {
	body := map[string]string{"holder": holder}
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/api/holders/erase", body: body}, &erased)
	return erased, err
}

// NewEvent describes an event for CreateEvent: one with a seating plan, or with TotalSeats.
// MaxSeatsPerUser 0 means no limit.
type NewEvent struct {
	Name            string    `json:"name"`
	TotalSeats      int64     `json:"totalSeats,omitempty"`
	SeatingPlanID   string    `json:"seatingPlanId,omitempty"`
	EventDate       time.Time `json:"eventDate"`
	MaxSeatsPerUser int64     `json:"maxSeatsPerUser,omitempty"`
	// "" and nil mean the defaults, LatePaymentsRefused and a day.
	LatePayments       string `json:"latePayments,omitempty"`
	LatePaymentSeconds *int64 `json:"latePaymentSeconds,omitempty"`
	// The zero time means no bound.
	SaleStartsAt time.Time `json:"saleStartsAt,omitzero"`
	SaleEndsAt   time.Time `json:"saleEndsAt,omitzero"`
	// Of an event with a seating plan; "" means the default.
	OrphanRule       string `json:"orphanRule,omitempty"`
	AccessiblePolicy string `json:"accessiblePolicy,omitempty"`
	ShopData
	// IdempotencyKey makes repeated requests create one event, for 24 h. If it is "", the
	// client generates a key for the call.
	IdempotencyKey string `json:"idempotencyKey"`
}

// CreateEvent creates an event, which is on sale at once.
func (c *Client) CreateEvent(ctx context.Context, n NewEvent) (e Event, err error) {
	n.IdempotencyKey = cmp.Or(n.IdempotencyKey, rand.Text())
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/api/events", body: n}, &e)
	return e, err
}

// GetEvent returns an event.
func (c *Client) GetEvent(ctx context.Context, id string) (Event, error) {
	return get[Event](ctx, c, "/api/events/", id)
}

// EventReport counts the seats of an event by their state, at one moment. A lock that is past its expiry holds nothing.
type EventReport struct {
	EventID    string `json:"eventId"`
	TotalSeats int64  `json:"totalSeats"`
	SeatCounts
	Offered int64 `json:"offered"` // seats that are offered to the waiting list
	Waiting int64 `json:"waiting"` // entries of the waiting list
	// Sections and Categories are those of the seating plan, in its order; nil if the event has none.
	Sections   []SectionCounts  `json:"sections"`
	Categories []CategoryCounts `json:"categories"`
}

// SeatCounts are numbers of seats.
type SeatCounts struct {
	Available int64 `json:"available"`
	Held      int64 `json:"held"`
	Sold      int64 `json:"sold"`
	Blocked   int64 `json:"blocked"`
	Oversold  int64 `json:"oversold"` // seats taken beyond the total
}

// SectionCounts counts the seats of a section, whatever their categories are.
type SectionCounts struct {
	Key      string `json:"key"`
	Category string `json:"category"` // the section's own
	Total    int64  `json:"total"`
	SeatCounts
}

// CategoryCounts counts the seats of a category in all sections.
type CategoryCounts struct {
	Key   string `json:"key"`
	Total int64  `json:"total"`
	SeatCounts
}

// GetEventReport counts the seats of an event. The server reads all locks of the event for it.
func (c *Client) GetEventReport(ctx context.Context, id string) (r EventReport, err error) {
	_, err = c.call(ctx, request{method: http.MethodGet, path: "/api/events/" + url.PathEscape(id) + "/report", isLong: true}, &r)
	return r, err
}

// EventChange has the fields that UpdateEvent changes; nil fields stay as they are.
type EventChange struct {
	Name            *string    `json:"name,omitempty"`
	TotalSeats      *int64     `json:"totalSeats,omitempty"`
	EventDate       *time.Time `json:"eventDate,omitempty"`
	Status          *string    `json:"status,omitempty"`
	MaxSeatsPerUser *int64     `json:"maxSeatsPerUser,omitempty"`

	LatePayments       *string `json:"latePayments,omitempty"`
	LatePaymentSeconds *int64  `json:"latePaymentSeconds,omitempty"`
	// The zero time removes the bound.
	SaleStartsAt *SaleTime `json:"saleStartsAt,omitempty"`
	SaleEndsAt   *SaleTime `json:"saleEndsAt,omitempty"`
	// Of an event with a seating plan.
	OrphanRule       *string `json:"orphanRule,omitempty"`
	AccessiblePolicy *string `json:"accessiblePolicy,omitempty"`
	// SeatingPlanID is a plan that has every seat that is taken or blocked.
	SeatingPlanID *string `json:"seatingPlanId,omitempty"`
	// Sections are new capacities of areas of general admission, by their keys; the others stay.
	Sections []SectionCapacity `json:"sections,omitempty"`

	ShopDataChange `json:"-"`
}

// ShopDataChange changes a reference and metadata; what is nil stays.
type ShopDataChange struct {
	Reference *string // "" removes it
	// Metadata is merged key by key; a nil value removes its key.
	Metadata map[string]*string
	// WithoutMetadata removes all metadata. Metadata has to be nil.
	WithoutMetadata bool
}

// shopFields are the fields of a ShopDataChange in a request. A nil pointer is null there.
type shopFields struct {
	Reference any `json:"reference,omitempty"`
	Metadata  any `json:"metadata,omitempty"`
}

func (c ShopDataChange) fields() (f shopFields) {
	switch {
	case c.Reference == nil:
	case *c.Reference == "":
		f.Reference = (*string)(nil)
	default:
		f.Reference = c.Reference
	}
	if c.WithoutMetadata || c.Metadata != nil {
		f.Metadata = c.Metadata
	}
	return f
}

// SaleTime is a time in EventChange; the zero time removes what the event has.
type SaleTime struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (t SaleTime) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return t.Time.MarshalJSON()
}

// UpdateEvent changes an event and returns it. After an error without a code, and after
// OutcomeUnknown, it may be changed. The client does not retry then, because another caller may have changed
// the event since.
func (c *Client) UpdateEvent(ctx context.Context, id string, change EventChange) (e Event, err error) {
	_, err = c.call(ctx, request{method: http.MethodPatch, path: "/api/events/" + url.PathEscape(id), body: struct {
		EventChange
		shopFields
	}{change, change.fields()}, notIdempotent: true}, &e)
	return e, err
}

// DeleteEvent removes an event. It fails with EventHasLocks if the event has locks, in any status, blocked seats or bookings, and
// with EventNotFound if there is none, even if an earlier attempt without an answer has removed it.
func (c *Client) DeleteEvent(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: "/api/events/" + url.PathEscape(id)}, nil)
	return err
}

// UpdateLock changes the reference and the metadata of a lock, in any status. After an error it is as with UpdateEvent.
func (c *Client) UpdateLock(ctx context.Context, id string, change ShopDataChange) (l Lock, err error) {
	path := inEvent(c.event, "/locks/") + url.PathEscape(id)
	_, err = c.call(ctx, request{method: http.MethodPatch, path: path, body: change.fields(), notIdempotent: true}, &l)
	return l, err
}

// UpdateBooking is UpdateLock for a booking.
func (c *Client) UpdateBooking(ctx context.Context, id string, change ShopDataChange) (b Booking, err error) {
	path := inEvent(c.event, "/bookings/") + url.PathEscape(id)
	_, err = c.call(ctx, request{method: http.MethodPatch, path: path, body: change.fields(), notIdempotent: true}, &b)
	return b, err
}

// CancelEvent cancels an event for good, and returns the ID of the run of the job event-cancel that releases its locks,
// cancels its bookings and makes their payments REFUND_DUE. While the run lasts, a repeat returns the same ID.
func (c *Client) CancelEvent(ctx context.Context, id string) (runID string, err error) {
	run, err := post[struct {
		ID string `json:"id"`
	}](ctx, c, "/api/admin/events/", id, "/cancel", nil)
	return run.ID, err
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

func (d ShopData) addTo(body map[string]any) {
	if d.Reference != "" {
		body["reference"] = d.Reference
	}
	if len(d.Metadata) > 0 {
		body["metadata"] = d.Metadata
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

// Filter selects items of a list. A nil field does not filter; an empty one is refused,
// because it may be an ID that was never set.
type Filter struct{ EventID, UserID, Holder, Status, Reference *string }

// EventFilter selects events. With From or To they are ordered by their date, without them by their creation.
type EventFilter struct {
	Status, Reference *string
	From, To          *time.Time // the date is not before From, and before To
}

// ListEvents iterates over the events that match the filter, and reads page after page. The iteration ends
// at the first error.
func (c *Client) ListEvents(ctx context.Context, f EventFilter) iter.Seq2[Event, error] {
	filters := map[string]*string{"status": f.Status, "reference": f.Reference}
	for name, t := range map[string]*time.Time{"from": f.From, "to": f.To} {
		if t != nil {
			text := t.UTC().Format(time.RFC3339Nano)
			filters[name] = &text
		}
	}
	return listBy[Event](ctx, c, "/api/events", filters)
}

// ListLocks iterates over the locks that match the filter, as ListEvents does.
func (c *Client) ListLocks(ctx context.Context, f Filter) iter.Seq2[Lock, error] {
	return list[Lock](ctx, c, "/api/locks", f)
}

// ListBookings iterates over the bookings that match the filter, as ListEvents does.
func (c *Client) ListBookings(ctx context.Context, f Filter) iter.Seq2[Booking, error] {
	return list[Booking](ctx, c, "/api/bookings", f)
}

// MaxPageSize is the largest number of items that the API returns at once.
const MaxPageSize = 500

// ListItems iterates over a list of the API by its path, such as /api/locks, as ListEvents does. The items are JSON as the API
// has sent it, with the fields that this version of the client does not know. query has the filters of the list, and may have
// a pageSize.
func (c *Client) ListItems(ctx context.Context, path string, query url.Values) iter.Seq2[json.RawMessage, error] {
	return listPages[json.RawMessage](ctx, c, path, query)
}

func get[T any](ctx context.Context, c *Client, path, id string) (v T, err error) {
	_, err = c.call(ctx, request{method: http.MethodGet, path: path + url.PathEscape(id)}, &v)
	return v, err
}

func post[T any](ctx context.Context, c *Client, path, id, action string, body any) (v T, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: path + url.PathEscape(id) + action, body: body}, &v)
	return v, err
}

func list[T any](ctx context.Context, c *Client, path string, f Filter) iter.Seq2[T, error] {
	return listBy[T](ctx, c, path, map[string]*string{
		"eventId": f.EventID, "userId": f.UserID, "holder": f.Holder, "status": f.Status, "reference": f.Reference,
	})
}

func listBy[T any](ctx context.Context, c *Client, path string, filters map[string]*string) iter.Seq2[T, error] {
	query := url.Values{}
	for name, value := range filters {
		if value != nil {
			query.Set(name, *value)
		}
	}
	return listPages[T](ctx, c, path, query)
}

func listPages[T any](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		page := url.Values{"pageSize": {strconv.Itoa(MaxPageSize)}}
		maps.Copy(page, query)
		for {
			var found struct {
				Items []T    `json:"items"`
				Next  string `json:"nextPageToken"`
			}
			if _, err := c.call(ctx, request{method: http.MethodGet, path: path, query: page}, &found); err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, item := range found.Items {
				if !yield(item, nil) {
					return
				}
			}
			if found.Next == "" {
				return
			}
			page.Set("pageToken", found.Next)
		}
	}
}
