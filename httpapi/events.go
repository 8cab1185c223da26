package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
)

type eventBody struct {
	ID              string `json:"id"`
	Name            string `json:"name"`
	TotalSeats      int64  `json:"totalSeats"`
	AvailableSeats  int64  `json:"availableSeats"`
	Oversold        int64  `json:"oversold,omitempty" doc:"Seats taken beyond the total, or a section's, by other software."`
	EventDate       string `json:"eventDate,omitempty" format:"date-time"`
	Status          string `json:"status" doc:"ON_SALE, CLOSED (no new locks) or CANCELLED (final)."`
	MaxSeatsPerUser int64  `json:"maxSeatsPerUser,omitempty"`
	CreatedAt       string `json:"createdAt" format:"date-time"`
	UpdatedAt       string `json:"updatedAt,omitempty" format:"date-time"`

	SeatingPlanID    string `json:"seatingPlanId,omitempty"`
	BlockedSeats     *int64 `json:"blockedSeats,omitempty" doc:"Seats that the venue has taken out of sale, if the event has a seating plan."`
	OrphanRule       string `json:"orphanRule" enum:"ALLOW,REFUSE" doc:"It applies to numbered seats alone."`
	AccessiblePolicy string `json:"accessiblePolicy" enum:"RESERVED,OPEN" doc:"It applies to numbered seats alone."`

	LatePayments       string `json:"latePayments" enum:"REFUSE,ACCEPT" doc:"Whether a payment of an expired booking may still confirm it."`
	LatePaymentSeconds int64  `json:"latePaymentSeconds" doc:"How many seconds after the end of a booking a late payment may confirm it."`

	SaleStartsAt string `json:"saleStartsAt,omitempty" format:"date-time" doc:"Seats are locked from this time on."`
	SaleEndsAt   string `json:"saleEndsAt,omitempty" format:"date-time" doc:"Seats are locked before this time."`

	Waitlist             string `json:"waitlist" enum:"CLOSED,OPEN,PAUSED" doc:"PAUSED takes entries and makes no offers."`
	WaitlistOfferSeconds int64  `json:"waitlistOfferSeconds" doc:"How many seconds an offer lasts."`
	WaitlistFit          string `json:"waitlistFit" enum:"SKIP,STRICT" doc:"Whether an offer may pass over entries that it does not fit."`
	Waiting              *int64 `json:"waiting,omitempty" doc:"WAITING entries, if the waiting list was ever open."`

	Sections []sectionCapacity `json:"sections,omitempty" nullable:"false" doc:"Areas of general admission, with this event's capacities."`
	ShopBody
}

type sectionCapacity struct {
	Key      string `json:"key" minLength:"1" maxLength:"32" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" doc:"The key of the section in the plan."`
	Capacity int64  `json:"capacity" minimum:"1" maximum:"10000000" doc:"Must not be less than the number of taken seats."`
}

// eventBodyIn returns newEventBody for the caller: a customer's token gets no reference and no metadata.
func eventBodyIn(ctx context.Context) func(holdfast.Event) eventBody {
	return func(e holdfast.Event) eventBody {
		e.ShopData = shopDataFor(ctx, e.ShopData)
		return newEventBody(e)
	}
}

func newEventBody(e holdfast.Event) eventBody {
	body := eventBody{
		ID:              e.ID.String(),
		Name:            e.Name,
		TotalSeats:      e.TotalSeats,
		AvailableSeats:  e.AvailableSeats,
		Oversold:        e.Oversold,
		EventDate:       formatTime(e.EventDate),
		Status:          string(e.Status),
		MaxSeatsPerUser: e.MaxSeatsPerUser,
		CreatedAt:       formatTime(e.CreatedAt),
		UpdatedAt:       formatTime(e.UpdatedAt),

		OrphanRule:       string(cmp.Or(e.Seating.OrphanRule, holdfast.OrphansAllowed)),
		AccessiblePolicy: string(cmp.Or(e.Seating.AccessiblePolicy, holdfast.AccessibleReserved)),

		LatePayments: string(cmp.Or(e.LatePayments.Policy, holdfast.LatePaymentsRefused)), LatePaymentSeconds: e.LatePayments.Seconds,

		SaleStartsAt: formatTime(e.SaleStartsAt), SaleEndsAt: formatTime(e.SaleEndsAt),
		ShopBody: ShopBody(e.ShopData),
	}
	list := e.Waitlist
	body.Waitlist = string(cmp.Or(list.Status, holdfast.WaitlistClosed))
	body.WaitlistOfferSeconds = cmp.Or(list.OfferSeconds, holdfast.DefaultOfferSeconds)
	body.WaitlistFit = string(cmp.Or(list.Fit, holdfast.WaitlistSkips))
	body.Waiting = waitingIn(e)
	if s := e.Seating; !s.PlanID.IsZero() {
		body.SeatingPlanID, body.BlockedSeats = s.PlanID.String(), &s.BlockedSeats
	}
	for _, s := range e.Sections {
		body.Sections = append(body.Sections, sectionCapacity(s))
	}
	return body
}

// waitingIn returns how many entries wait for an event; nil if its waiting list was never open.
func waitingIn(e holdfast.Event) *int64 {
	if !e.Waitlist.HasBegun {
		return nil
	}
	return &e.Waitlist.Waiting
}

type newEvent struct {
	IdempotencyHeader
	Body struct {
		Name            displayName `json:"name"`
		TotalSeats      int64       `json:"totalSeats,omitempty" nullable:"true" minimum:"1" maximum:"10000000" doc:"Or give seatingPlanId."`
		SeatingPlanID   string      `json:"seatingPlanId,omitempty" nullable:"true" pattern:"^[0-9a-fA-F]{24}$" doc:"Or give totalSeats."`
		EventDate       timestamp   `json:"eventDate" doc:"For information only."`
		MaxSeatsPerUser int64       `json:"maxSeatsPerUser,omitempty" nullable:"true" minimum:"1" maximum:"10000000" doc:"A limit for each user."`
		IdempotencyKey  string      `json:"idempotencyKey,omitempty" nullable:"true" minLength:"1" maxLength:"200" doc:"Per API key, for 24 h."`

		OrphanRule       string `json:"orphanRule,omitempty" nullable:"true" enum:"ALLOW,REFUSE" doc:"ALLOW if absent. For numbered seats only."`
		AccessiblePolicy string `json:"accessiblePolicy,omitempty" nullable:"true" enum:"RESERVED,OPEN" doc:"RESERVED if absent."`

		LatePayments       string `json:"latePayments,omitempty" nullable:"true" enum:"REFUSE,ACCEPT" doc:"REFUSE if absent."`
		LatePaymentSeconds *int64 `json:"latePaymentSeconds,omitempty" nullable:"true" minimum:"0" maximum:"2592000" doc:"86400 if absent."`

		SaleStartsAt *timestamp `json:"saleStartsAt,omitempty" nullable:"true" doc:"Seats are locked from this time on."`
		SaleEndsAt   *timestamp `json:"saleEndsAt,omitempty" nullable:"true" doc:"Seats are locked before this time."`

		Waitlist     string `json:"waitlist,omitempty" nullable:"true" enum:"CLOSED,OPEN,PAUSED" doc:"CLOSED if absent."`
		OfferSeconds *int64 `json:"waitlistOfferSeconds,omitempty" nullable:"true" minimum:"60" maximum:"604800" doc:"3600 if absent."`
		WaitlistFit  string `json:"waitlistFit,omitempty" nullable:"true" enum:"SKIP,STRICT" doc:"SKIP if absent."`
		ShopTerms
	}
}

type eventUpdate struct {
	PathID
	Body struct {
		Name            changeOf[displayName] `json:"name,omitempty"`
		TotalSeats      changeOf[int64]       `json:"totalSeats,omitempty" minimum:"1" maximum:"10000000" doc:"At least the taken seats."`
		EventDate       changeOf[timestamp]   `json:"eventDate,omitempty"`
		Status          changeOf[string]      `json:"status,omitempty" enum:"ON_SALE,CLOSED,CANCELLED" doc:"CANCELLED is final."`
		MaxSeatsPerUser changeOf[int64]       `json:"maxSeatsPerUser,omitempty" minimum:"0" maximum:"10000000" doc:"0 removes the limit."`

		OrphanRule       changeOf[string] `json:"orphanRule,omitempty" enum:"ALLOW,REFUSE" doc:"It applies to numbered seats alone."`
		AccessiblePolicy changeOf[string] `json:"accessiblePolicy,omitempty" enum:"RESERVED,OPEN" doc:"It applies to numbered seats alone."`

		LatePayments       changeOf[string] `json:"latePayments,omitempty" enum:"REFUSE,ACCEPT"`
		LatePaymentSeconds changeOf[int64]  `json:"latePaymentSeconds,omitempty" minimum:"0" maximum:"2592000"`

		SaleStartsAt removable[timestamp] `json:"saleStartsAt,omitempty" doc:"null removes it."`
		SaleEndsAt   removable[timestamp] `json:"saleEndsAt,omitempty" doc:"Later than saleStartsAt; null removes it."`

		Waitlist     changeOf[string] `json:"waitlist,omitempty" enum:"CLOSED,OPEN,PAUSED" doc:"CLOSED ends all entries that wait."`
		OfferSeconds changeOf[int64]  `json:"waitlistOfferSeconds,omitempty" minimum:"60" maximum:"604800" doc:"Of offers to come."`
		WaitlistFit  changeOf[string] `json:"waitlistFit,omitempty" enum:"SKIP,STRICT"`

		SeatingPlanID changeOf[string]            `json:"seatingPlanId,omitempty" pattern:"^[0-9a-fA-F]{24}$" doc:"It must have all taken seats."`
		Sections      changeOf[[]sectionCapacity] `json:"sections,omitempty" maxItems:"500" doc:"New capacities of areas of general admission."`
		ShopChange
	}
}

type eventFilter struct {
	PageQuery
	FilterQuery
	ReferenceQuery
	Status string `query:"status" enum:"ON_SALE,CLOSED,CANCELLED"`
	From   string `query:"from" maxLength:"40" doc:"A time of RFC 3339. Only events whose eventDate is not before it, ordered by eventDate."`
	To     string `query:"to" maxLength:"40" doc:"A time of RFC 3339. Only events whose eventDate is before it, ordered by eventDate."`
}

func (in *eventFilter) filter() (f holdfast.EventFilter, err error) {
	f = holdfast.EventFilter{Status: holdfast.EventStatus(in.Status), Reference: in.Reference}
	if f.From, err = parseTime("query.from", in.From); err == nil {
		f.To, err = parseTime("query.to", in.To)
	}
	return f, err
}

func (u eventUpdate) change() holdfast.EventChange {
	b := u.Body
	change := holdfast.EventChange{TotalSeats: b.TotalSeats.to, MaxSeatsPerUser: b.MaxSeatsPerUser.to, LateSeconds: b.LatePaymentSeconds.to,
		OfferSeconds: b.OfferSeconds.to, SaleStartsAt: timeOf(b.SaleStartsAt), SaleEndsAt: timeOf(b.SaleEndsAt), ShopData: b.shopData()}
	if b.Name.to != nil {
		change.Name = new(string(*b.Name.to))
	}
	if b.EventDate.to != nil {
		change.EventDate = new(b.EventDate.to.utc())
	}
	if b.Status.to != nil {
		change.Status = new(holdfast.EventStatus(*b.Status.to))
	}
	if b.OrphanRule.to != nil {
		change.OrphanRule = new(holdfast.OrphanRule(*b.OrphanRule.to))
	}
	if b.AccessiblePolicy.to != nil {
		change.AccessiblePolicy = new(holdfast.AccessiblePolicy(*b.AccessiblePolicy.to))
	}
	if b.LatePayments.to != nil {
		change.LatePayments = new(holdfast.LatePaymentPolicy(*b.LatePayments.to))
	}
	if b.Waitlist.to != nil {
		change.Waitlist = new(holdfast.WaitlistStatus(*b.Waitlist.to))
	}
	if b.WaitlistFit.to != nil {
		change.WaitlistFit = new(holdfast.WaitlistFit(*b.WaitlistFit.to))
	}
	if b.SeatingPlanID.to != nil {
		change.SeatingPlanID = new(parseID(*b.SeatingPlanID.to))
	}
	if b.Sections.to != nil {
		change.Sections = make([]holdfast.SectionCapacity, 0, len(*b.Sections.to))
		for _, s := range *b.Sections.to {
			change.Sections = append(change.Sections, holdfast.SectionCapacity(s))
		}
	}
	return change
}

// timeOf returns nil if a field is absent, and the zero time if it is removed.
func timeOf(f removable[timestamp]) *time.Time {
	switch {
	case f.removed:
		return &time.Time{}
	case f.to != nil:
		return new(f.to.utc())
	default:
		return nil
	}
}

func (a *api) registerEventRoutes() {
	tags := []string{"Events"}
	route(a, huma.Operation{
		OperationID: "create-event", Method: http.MethodPost, Path: "/api/events", Tags: tags,
		Summary:       "Create an event",
		Description:   "The same request with the same idempotency key returns the event that the first one created.",
		DefaultStatus: http.StatusCreated,
	}, config.ScopeAdmin, a.createEvent)
	route(a, huma.Operation{
		OperationID: "list-events", Method: http.MethodGet, Path: "/api/events", Tags: tags, Summary: "List events",
		Description: "By creation or, with from or to, by eventDate; events without a date are then left out.",
	}, scopeCustomer, func(ctx context.Context, in *eventFilter) (*list[eventBody], error) {
		filter, err := in.filter()
		if err != nil {
			return nil, err
		}
		if err := requireKey(ctx, in.Reference != ""); err != nil {
			return nil, err
		}
		events, next, err := a.Seats.ListEvents(ctx, filter, in.page())
		return newList(events, next, eventBodyIn(ctx)), err
	})
	route(a, huma.Operation{
		OperationID: "get-event", Method: http.MethodGet, Path: "/api/events/{id}", Tags: tags,
		Summary: "Get an event", Errors: []int{http.StatusNotFound},
	}, scopeCustomer, func(ctx context.Context, in *PathID) (*found[eventBody], error) {
		e, err := a.Seats.GetEvent(ctx, parseID(in.ID))
		return &found[eventBody]{Body: eventBodyIn(ctx)(e)}, err
	})
	route(a, huma.Operation{
		OperationID: "update-event", Method: http.MethodPatch, Path: "/api/events/{id}", Tags: tags,
		Summary: "Update an event",
		Description: "Changes the fields that are given. The capacity may change during the sale; seats that are taken stay taken. " +
			"Of an event with a seating plan, the capacities of general admission may change, and the plan, to one that has every seat " +
			"that is taken or blocked, and the general admission with taken seats. " +
			"The status CANCELLED is final, but a confirmation in flight may still commit shortly after the answer, and it ends no lock and " +
			"no booking by itself: use cancel-event, or list the event's CONFIRMED bookings a minute later, and cancel and refund them.",
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, config.ScopeAdmin, func(ctx context.Context, in *eventUpdate) (*found[eventBody], error) {
		e, err := a.Seats.UpdateEvent(ctx, parseID(in.ID), in.change())
		return &found[eventBody]{Body: newEventBody(e)}, err
	})
	route(a, huma.Operation{
		OperationID: "delete-event", Method: http.MethodDelete, Path: "/api/events/{id}", Tags: tags, Summary: "Delete an event",
		Description: "Only an event without locks, in any status, without blocked seats and without bookings. Streams of the event end. " +
			"The idempotency key of its creation may be used again.",
		DefaultStatus: http.StatusNoContent, Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, config.ScopeAdmin, func(ctx context.Context, in *PathID) (*struct{}, error) {
		return nil, a.Seats.DeleteEvent(ctx, parseID(in.ID))
	})
	route(a, huma.Operation{
		OperationID: "cancel-event", Method: http.MethodPost, Path: "/api/admin/events/{id}/cancel", Tags: tags,
		Summary: "Cancel an event and all that it has sold",
		Description: "The event is CANCELLED at once. A run of the job event-cancel, which the answer names, ends its locks and its bookings, " +
			"and makes their payments REFUND_DUE. Asked again, the answer is the same run while it lasts.",
		DefaultStatus: http.StatusAccepted, Errors: []int{http.StatusNotFound},
	}, config.ScopeAdmin, func(ctx context.Context, in *PathID) (*found[runBody], error) {
		run, err := a.CancelEvent(ctx, parseID(in.ID))
		return &found[runBody]{Body: newRunBody(run)}, err
	})
}

// waitlist returns the settings of the waiting list; nil if the request gives none.
func (in *newEvent) waitlist() *holdfast.Waitlist {
	b := in.Body
	if b.Waitlist == "" && b.OfferSeconds == nil && b.WaitlistFit == "" {
		return nil
	}
	list := holdfast.DefaultWaitlist()
	list.Status = cmp.Or(holdfast.WaitlistStatus(b.Waitlist), list.Status)
	list.Fit = cmp.Or(holdfast.WaitlistFit(b.WaitlistFit), list.Fit)
	if b.OfferSeconds != nil {
		list.OfferSeconds = *b.OfferSeconds
	}
	return &list
}

func (a *api) createEvent(ctx context.Context, in *newEvent) (*created[eventBody], error) {
	key, err := in.creationKey(ctx, in.Body.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	shopData, err := in.Body.shopData(ctx)
	if err != nil {
		return nil, err
	}
	if in.Body.SeatingPlanID == zeroID {
		return nil, holdfast.RefuseInput("body.seatingPlanId", "The ID must not be all zeros. Give the ID of a seating plan.")
	}
	var late *holdfast.LatePayments
	if in.Body.LatePayments != "" || in.Body.LatePaymentSeconds != nil {
		late = new(holdfast.DefaultLatePayments())
		late.Policy = cmp.Or(holdfast.LatePaymentPolicy(in.Body.LatePayments), late.Policy)
		if seconds := in.Body.LatePaymentSeconds; seconds != nil {
			late.Seconds = *seconds
		}
	}
	n := holdfast.NewEvent{
		Name: strings.TrimSpace(string(in.Body.Name)), TotalSeats: in.Body.TotalSeats,
		EventDate: in.Body.EventDate.utc(), MaxSeatsPerUser: in.Body.MaxSeatsPerUser,
		Seating: holdfast.Seating{
			PlanID: parseID(in.Body.SeatingPlanID), OrphanRule: holdfast.OrphanRule(in.Body.OrphanRule),
			AccessiblePolicy: holdfast.AccessiblePolicy(in.Body.AccessiblePolicy),
		},
		LatePayments: late, Waitlist: in.waitlist(), ShopData: shopData,
	}
	if at := in.Body.SaleStartsAt; at != nil {
		n.SaleStartsAt = at.utc()
	}
	if at := in.Body.SaleEndsAt; at != nil {
		n.SaleEndsAt = at.utc()
	}
	e, replayed, err := a.Seats.CreateEventOnce(ctx, n, key)
	return newCreated("/api/events/", e.ID, replayed, newEventBody(e)), err
}
