package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
)

const waitlistTag = "Waiting lists"

type waitlistEntryBody struct {
	ID              string   `json:"id"`
	EventID         string   `json:"eventId"`
	UserID          string   `json:"userId,omitempty" doc:"Absent if a holder has the entry."`
	Holder          string   `json:"holder,omitempty"`
	Seats           int64    `json:"seats"`
	Categories      []string `json:"categories,omitempty" nullable:"false"`
	Section         string   `json:"section,omitempty"`
	AccessibleSeats int64    `json:"accessibleSeats,omitempty"`
	Adjacent        string   `json:"adjacent,omitempty" enum:"REQUIRED,PREFERRED" doc:"As it was given."`
	Status          string   `json:"status" enum:"WAITING,OFFERED,ACCEPTED,DECLINED,EXPIRED,LEFT,CLOSED"`
	Position        int64    `json:"position,omitempty" doc:"1 for the first that is WAITING; absent otherwise."`
	LockID          string   `json:"lockId,omitempty" doc:"The offer: a lock, which has the seats and the end of the offer."`
	CreatedAt       string   `json:"createdAt" format:"date-time"`
	UpdatedAt       string   `json:"updatedAt" format:"date-time"`
	ShopBody
}

// entryBodyIn returns newEntryBody for the caller: a customer's token gets no reference and no metadata.
func entryBodyIn(ctx context.Context) func(holdfast.WaitlistEntry) waitlistEntryBody {
	return func(e holdfast.WaitlistEntry) waitlistEntryBody {
		e.ShopData = shopDataFor(ctx, e.ShopData)
		return newEntryBody(e)
	}
}

func newEntryBody(e holdfast.WaitlistEntry) waitlistEntryBody {
	return waitlistEntryBody{
		ID:              e.ID.String(),
		EventID:         formatID(e.EventID),
		UserID:          Customer{e.UserID, e.Holder}.userID(),
		Holder:          e.Holder,
		Seats:           e.Seats,
		Categories:      e.Categories,
		Section:         e.Section,
		AccessibleSeats: e.Accessible,
		Adjacent:        string(e.Adjacent),
		Status:          string(e.Status),
		Position:        e.Position,
		LockID:          formatID(e.LockID),
		CreatedAt:       formatTime(e.CreatedAt),
		UpdatedAt:       formatTime(e.UpdatedAt),
		ShopBody:        ShopBody(e.ShopData),
	}
}

type newWaitlistEntry struct {
	PathID
	Body struct {
		CustomerBody
		Seats      int64    `json:"seats" minimum:"1" maximum:"50"`
		Categories []string `json:"categories,omitempty" nullable:"true" minItems:"1" maxItems:"64" doc:"Category keys, the preferred one first."`
		Section    string   `json:"section,omitempty" nullable:"true" minLength:"1" maxLength:"32" doc:"Key of the only section."`
		Accessible int64    `json:"accessibleSeats,omitempty" nullable:"true" minimum:"0" maximum:"50" doc:"Exact number of accessible seats."`
		Adjacent   string   `json:"adjacent,omitempty" nullable:"true" enum:"REQUIRED,PREFERRED" doc:"PREFERRED if absent."`
		ShopTerms
	}
}

func (in *newWaitlistEntry) wish() holdfast.EntryWish {
	b := in.Body
	return holdfast.EntryWish{
		Seats: b.Seats, Categories: b.Categories, Section: b.Section, Accessible: b.Accessible, Adjacent: holdfast.AdjacentRule(b.Adjacent),
	}
}

// joinedEntry has the status 201, or 200 with the entry that the customer already has.
type joinedEntry struct {
	Status   int
	Location string `header:"Location"`
	Body     waitlistEntryBody
}

type entryFilter struct {
	PathID
	PageQuery
	FilterQuery
	CustomerQuery
	Status string `query:"status" enum:"WAITING,OFFERED,ACCEPTED,DECLINED,EXPIRED,LEFT,CLOSED"`
}

func (a *api) registerWaitlistRoutes() {
	tags := []string{waitlistTag}
	route(a, huma.Operation{
		OperationID: "join-waitlist", Method: http.MethodPost, Path: "/api/events/{id}/waitlist", Tags: tags, Summary: "Join a waiting list",
		Description: "When seats come back that fit the entry, it gets an offer: a lock, told as holdfast.waitlist.offered. " +
			"Without a seating plan, and in a section of general admission, give the number of seats alone. " +
			"If the customer has an open entry with the same wish, the answer is 200 with that entry.",
		DefaultStatus: http.StatusCreated, Errors: []int{http.StatusNotFound, http.StatusConflict},
		Responses: otherSuccess[waitlistEntryBody](a.huma.OpenAPI().Components.Schemas, http.StatusOK, "The customer had this entry already."),
	}, scopeCustomer, a.joinWaitlist)
	route(a, huma.Operation{
		OperationID: "list-waitlist", Method: http.MethodGet, Path: "/api/events/{id}/waitlist", Tags: tags, Summary: "List a waiting list",
		Description: "In the order in which the entries were made. A customer's token gets its own entries.",
		Errors:      []int{http.StatusNotFound},
	}, scopeCustomer, func(ctx context.Context, in *entryFilter) (*list[waitlistEntryBody], error) {
		user, holder, err := in.filter(ctx)
		if err != nil {
			return nil, err
		}
		entries, next, err := a.Seats.Entries(ctx, parseID(in.ID), holdfast.EntryFilter{
			UserID: user, Holder: holder, Status: holdfast.EntryStatus(in.Status),
		}, in.page())
		return newList(entries, next, entryBodyIn(ctx)), err
	})
	route(a, huma.Operation{
		OperationID: "get-waitlist-entry", Method: http.MethodGet, Path: "/api/waitlist/{id}", Tags: tags,
		Summary: "Get an entry of a waiting list", Errors: []int{http.StatusNotFound},
	}, scopeCustomer, func(ctx context.Context, in *PathID) (*found[waitlistEntryBody], error) {
		e, err := a.entry(ctx, parseID(in.ID))
		return &found[waitlistEntryBody]{Body: entryBodyIn(ctx)(e)}, err
	})
	a.registerEntryEnds()
}

// registerEntryEnds adds the routes that end an entry.
func (a *api) registerEntryEnds() {
	tags := []string{waitlistTag}
	refusals := []int{http.StatusNotFound, http.StatusConflict, http.StatusGone}
	route(a, huma.Operation{
		OperationID: "decline-offer", Method: http.MethodPost, Path: "/api/waitlist/{id}/decline", Tags: tags, Summary: "Decline an offer",
		Description: "Releases its lock, and cancels the lock's open booking in the same transaction. A repeat gets the same answer.",
		Errors:      refusals,
	}, scopeCustomer, func(ctx context.Context, in *PathID) (*found[waitlistEntryBody], error) {
		if err := a.requireEntry(ctx, parseID(in.ID)); err != nil {
			return nil, err
		}
		e, err := a.Seats.Decline(ctx, parseID(in.ID))
		return &found[waitlistEntryBody]{Body: entryBodyIn(ctx)(e)}, err
	})
	route(a, huma.Operation{
		OperationID: "leave-waitlist", Method: http.MethodDelete, Path: "/api/waitlist/{id}", Tags: tags, Summary: "Leave a waiting list",
		Description: "Also with an offer, which ends as if it was declined. A repeat gets the same answer.", Errors: refusals,
	}, scopeCustomer, func(ctx context.Context, in *PathID) (*found[waitlistEntryBody], error) {
		if err := a.requireEntry(ctx, parseID(in.ID)); err != nil {
			return nil, err
		}
		e, err := a.Seats.Leave(ctx, parseID(in.ID))
		return &found[waitlistEntryBody]{Body: entryBodyIn(ctx)(e)}, err
	})
}

// requireEntry answers that an entry does not exist if the token is of another customer. An entry's customer never changes, so the
// check needs no transaction.
func (a *api) requireEntry(ctx context.Context, id holdfast.ID) error {
	if requestInfoOf(ctx).scope != scopeCustomer {
		return nil
	}
	_, err := a.entry(ctx, id)
	return err
}

// entry reads an entry. To a customer's token those of other customers do not exist.
func (a *api) entry(ctx context.Context, id holdfast.ID) (holdfast.WaitlistEntry, error) {
	e, err := a.Seats.Entry(ctx, id)
	info := requestInfoOf(ctx)
	if err == nil && info.scope == scopeCustomer && info.Customer != (Customer{e.UserID, e.Holder}) {
		return holdfast.WaitlistEntry{}, holdfast.NotFound(holdfast.CodeEntryNotFound)
	}
	return e, err
}

func (a *api) joinWaitlist(ctx context.Context, in *newWaitlistEntry) (*joinedEntry, error) {
	wish := in.wish()
	if err := wish.Check(); err != nil {
		return nil, err
	}
	c, err := in.Body.customer()
	if err != nil {
		return nil, err
	}
	shopData, err := in.Body.shopData(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.admitCustomer(ctx, c); err != nil {
		return nil, err
	}
	e, isNew, err := a.Seats.Join(ctx, holdfast.JoinRequest{
		EventID: parseID(in.ID), UserID: c.UserID, Holder: c.Holder, EntryWish: wish, ShopData: shopData,
	})
	if err != nil {
		return nil, err
	}
	answer := &joinedEntry{Status: http.StatusCreated, Location: "/api/waitlist/" + e.ID.String(), Body: entryBodyIn(ctx)(e)}
	if !isNew {
		answer.Status = http.StatusOK
	}
	return answer, nil
}
