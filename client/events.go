package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"iter"
	"net/http"
	"net/url"
	"time"
)

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
	// Waitlist is WaitlistIsClosed, WaitlistIsOpen or WaitlistIsPaused. An offer lasts WaitlistOfferSeconds. Waiting is the number of
	// entries that wait; nil if the list was never open.
	Waitlist             string `json:"waitlist"`
	WaitlistOfferSeconds int64  `json:"waitlistOfferSeconds"`
	WaitlistFit          string `json:"waitlistFit"` // WaitlistSkips or WaitlistIsStrict
	Waiting              *int64 `json:"waiting"`

	// The following fields are set for an event with a seating plan.
	SeatingPlanID    string `json:"seatingPlanId"` // "" if the event has none
	BlockedSeats     int64  `json:"blockedSeats"`  // taken out of sale by the venue
	OrphanRule       string `json:"orphanRule"`
	AccessiblePolicy string `json:"accessiblePolicy"`
	// Sections are its areas of general admission, in the plan's order, with their capacities in this event.
	Sections []SectionCapacity `json:"sections"`
	ShopData
}

// SectionCapacity is the number of seats of an area of general admission.
type SectionCapacity struct {
	Key      string `json:"key"`
	Capacity int64  `json:"capacity"`
}

// Values of LatePayments, Waitlist, WaitlistFit, OrphanRule and AccessiblePolicy of an event.
const (
	LatePaymentsRefused  = "REFUSE" // the default
	LatePaymentsAccepted = "ACCEPT"

	WaitlistIsClosed = "CLOSED" // the default; closing it ends the entries that wait, and offers stay
	WaitlistIsOpen   = "OPEN"
	WaitlistIsPaused = "PAUSED" // it takes entries and makes no offers; free seats are for everybody
	WaitlistSkips    = "SKIP"   // an offer goes to the first entry that the free seats fit: the default
	WaitlistIsStrict = "STRICT" // to the first entry alone, and while it waits no other customer gets seats

	OrphansAllowed     = "ALLOW"    // named seats may leave single seats: the default
	OrphansRefused     = "REFUSE"   // SeatOrphaned, if the same number of seats could leave fewer
	AccessibleReserved = "RESERVED" // accessible seats are locked only when they are asked for: the default
	AccessibleOpen     = "OPEN"     // they are seats like any other
)

// NewEvent describes an event for CreateEvent: one with a seating plan, or with TotalSeats.
// MaxSeatsPerUser 0 means no limit.
type NewEvent struct {
	Name            string    `json:"name"`
	TotalSeats      int64     `json:"totalSeats,omitempty"`
	SeatingPlanID   string    `json:"seatingPlanId,omitempty"`
	EventDate       time.Time `json:"eventDate,omitzero"` // required
	MaxSeatsPerUser int64     `json:"maxSeatsPerUser,omitempty"`
	// "" and nil mean the defaults, LatePaymentsRefused and a day.
	LatePayments       string `json:"latePayments,omitempty"`
	LatePaymentSeconds *int64 `json:"latePaymentSeconds,omitempty"`
	// The zero time means no bound.
	SaleStartsAt time.Time `json:"saleStartsAt,omitzero"`
	SaleEndsAt   time.Time `json:"saleEndsAt,omitzero"`
	// Of the waiting list; "" and 0 mean the defaults, closed, an hour and WaitlistSkips.
	Waitlist             string `json:"waitlist,omitempty"`
	WaitlistOfferSeconds int64  `json:"waitlistOfferSeconds,omitempty"`
	WaitlistFit          string `json:"waitlistFit,omitempty"`
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
	// Of the waiting list.
	Waitlist             *string `json:"waitlist,omitempty"`
	WaitlistOfferSeconds *int64  `json:"waitlistOfferSeconds,omitempty"`
	WaitlistFit          *string `json:"waitlistFit,omitempty"`
	// Of an event with a seating plan.
	OrphanRule       *string `json:"orphanRule,omitempty"`
	AccessiblePolicy *string `json:"accessiblePolicy,omitempty"`
	// SeatingPlanID is a plan that has every seat that is taken or blocked.
	SeatingPlanID *string `json:"seatingPlanId,omitempty"`
	// Sections are new capacities of areas of general admission, by their keys; the others stay.
	Sections []SectionCapacity `json:"sections,omitempty"`

	ShopDataChange `json:"-"`
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
	fields, err := change.fields()
	if err != nil {
		return e, err
	}
	_, err = c.call(ctx, request{method: http.MethodPatch, path: "/api/events/" + url.PathEscape(id), body: struct {
		EventChange
		shopFields
	}{change, fields}, notIdempotent: true}, &e)
	return e, err
}

// DeleteEvent removes an event. It fails with EventHasLocks if the event has locks, in any status, blocked seats or bookings, and
// with EventNotFound if there is none, even if an earlier attempt without an answer has removed it.
func (c *Client) DeleteEvent(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: "/api/events/" + url.PathEscape(id)}, nil)
	return err
}

// CancelEvent cancels an event for good, and returns the ID of the run of the job event-cancel that releases its locks,
// cancels its bookings and makes their payments REFUND_DUE. While the run lasts, a repeat returns the same ID.
func (c *Client) CancelEvent(ctx context.Context, id string) (runID string, err error) {
	run, err := post[struct {
		ID string `json:"id"`
	}](ctx, c, "/api/admin/events/", id, "/cancel", nil)
	return run.ID, err
}

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
