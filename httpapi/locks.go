package httpapi

import (
	"cmp"
	"context"
	"math"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
)

type lockBody struct {
	ID             string `json:"id"`
	EventID        string `json:"eventId"`
	UserID         string `json:"userId,omitempty" doc:"Absent if a holder has the lock."`
	Holder         string `json:"holder,omitempty"`
	Seats          int64  `json:"seats"`
	Status         string `json:"status" enum:"ACTIVE,CONSUMED,EXPIRED,RELEASED"`
	ExpiresAt      string `json:"expiresAt" format:"date-time"`
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
	BookingID      string `json:"bookingId,omitempty" doc:"The booking that the lock last had; open while the lock is ACTIVE."`
	EntryID        string `json:"waitlistEntryId,omitempty" doc:"The entry of the waiting list that got the lock as an offer."`
	CreatedAt      string `json:"createdAt" format:"date-time"`

	Places []placeBody `json:"places,omitempty" nullable:"false" doc:"In plan order. General admission has one, for all of its seats."`
	ShopBody
}

func (a *api) lockBody(ctx context.Context, l holdfast.Lock) lockBody {
	l.ShopData = shopDataFor(ctx, l.ShopData)
	return newLockBody(l, a.places(ctx, l.EventID, l.SeatIDs, l.Section))
}

func newLockBody(l holdfast.Lock, places []placeBody) lockBody {
	return lockBody{
		Places:         places,
		ID:             l.ID.String(),
		EventID:        formatID(l.EventID),
		UserID:         Customer{l.UserID, l.Holder}.userID(),
		Holder:         l.Holder,
		Seats:          l.Seats,
		Status:         string(l.Status),
		ExpiresAt:      formatTime(l.ExpiresAt),
		IdempotencyKey: l.Key,
		BookingID:      formatID(l.BookingID),
		EntryID:        formatID(l.EntryID),
		CreatedAt:      formatTime(l.CreatedAt),
		ShopBody:       ShopBody(l.ShopData),
	}
}

type newLock struct {
	IdempotencyHeader
	Body struct {
		EventID string `json:"eventId" pattern:"^[0-9a-fA-F]{24}$"`
		LockTerms
	}
}

type newLockInEvent struct {
	IdempotencyHeader
	PathEvent
	Body struct {
		EventID string `json:"eventId,omitempty" nullable:"true" pattern:"^[0-9a-fA-F]{24}$" doc:"The event of the path, or absent."`
		LockTerms
	}
}

// LockTerms has the fields of a request for a lock, except its event.
type LockTerms struct {
	CustomerBody
	ExpiresAt      *timestamp `json:"expiresAt,omitempty" nullable:"true" doc:"A past time makes the lock due at once."`
	TTLSeconds     *int64     `json:"ttlSeconds,omitempty" nullable:"true" minimum:"1" maximum:"31536000" doc:"By the database's clock."`
	IdempotencyKey string     `json:"idempotencyKey,omitempty" nullable:"true" minLength:"1" maxLength:"200" doc:"Per event and customer."`
	WishBody
	ShopTerms
}

// lockBodyIn is lockBody for a list.
func (a *api) lockBodyIn(ctx context.Context) func(holdfast.Lock) lockBody {
	return func(l holdfast.Lock) lockBody { return a.lockBody(ctx, l) }
}

type lockFilter struct {
	PageQuery
	FilterQuery
	EventID string `query:"eventId" pattern:"^[0-9a-fA-F]{24}$"`
	CustomerQuery
	Status string `query:"status" enum:"ACTIVE,CONSUMED,EXPIRED,RELEASED"`
	ReferenceQuery
}

type lockExtensionBody struct {
	ExpiresAt  *timestamp `json:"expiresAt,omitempty" nullable:"true"`
	TTLSeconds *int64     `json:"ttlSeconds,omitempty" nullable:"true" minimum:"1" maximum:"31536000"`
}

func (a *api) registerLockRoutes() {
	tags := []string{"Locks"}
	acquire := huma.Operation{
		OperationID: "acquire-lock", Method: http.MethodPost, Path: "/api/locks", Tags: tags, Summary: "Acquire a lock on seats",
		Description: "Without a time, the lock has the default TTL. If too few seats are available, the event's due locks are expired first. " +
			"The same request with the same idempotency key returns the lock that the first one acquired.",
		DefaultStatus: http.StatusCreated, Errors: []int{http.StatusNotFound, http.StatusConflict},
	}
	route(a, acquire, scopeCustomer, func(ctx context.Context, in *newLock) (*created[lockBody], error) {
		return a.acquireLock(ctx, parseID(in.Body.EventID), in.IdempotencyHeader, in.Body.LockTerms)
	})
	route(a, inEvent(acquire), scopeCustomer, func(ctx context.Context, in *newLockInEvent) (*created[lockBody], error) {
		event, err := in.with(in.Body.EventID)
		if err != nil {
			return nil, err
		}
		return a.acquireLock(ctx, event, in.IdempotencyHeader, in.Body.LockTerms)
	})
	route(a, huma.Operation{
		OperationID: "list-locks", Method: http.MethodGet, Path: "/api/locks", Tags: tags, Summary: "List locks",
		Description: "With the filter status alone, a page may have fewer items than pageSize although more pages follow.",
	}, scopeCustomer, func(ctx context.Context, in *lockFilter) (*list[lockBody], error) {
		user, holder, err := in.filter(ctx)
		if err = cmp.Or(err, requireKey(ctx, in.Reference != "")); err != nil {
			return nil, err
		}
		locks, next, err := a.Seats.ListLocks(ctx, holdfast.LockFilter{
			EventID: parseFilter(in.EventID), UserID: user, Holder: holder, Status: holdfast.LockStatus(in.Status),
			Reference: in.Reference,
		}, in.page())
		return newList(locks, next, a.lockBodyIn(ctx)), err
	})
	route(a, huma.Operation{
		OperationID: "get-lock", Method: http.MethodGet, Path: "/api/locks/{id}", Tags: tags, Summary: "Get a lock",
		Errors: []int{http.StatusNotFound},
	}, scopeCustomer, func(ctx context.Context, in *PathID) (*found[lockBody], error) {
		if err := a.requireLock(ctx, in.target()); err != nil {
			return nil, err
		}
		l, err := a.Seats.GetLock(ctx, parseID(in.ID))
		return &found[lockBody]{Body: a.lockBody(ctx, l)}, err
	})
	a.registerLockChanges()
}

// registerLockChanges adds the routes that change a lock.
func (a *api) registerLockChanges() {
	tags := []string{"Locks"}
	refusals := []int{http.StatusNotFound, http.StatusConflict, http.StatusGone}
	routeCommandTwice(a, huma.Operation{
		OperationID: "extend-lock", Method: http.MethodPost, Path: "/api/locks/{id}/extend", Tags: tags, Summary: "Extend a lock",
		Description: "Never shortens the lock. The maximum TTL counts from its creation.",
		Errors:      refusals,
	}, scopeCustomer, func(ctx context.Context, t target, body lockExtensionBody) (*found[lockBody], error) {
		if err := a.requireLock(ctx, t); err != nil {
			return nil, err
		}
		l, err := a.Seats.ExtendLock(ctx, t.id, parseUntil(ctx, body.ExpiresAt, body.TTLSeconds))
		return &found[lockBody]{Body: a.lockBody(ctx, l)}, err
	})
	routeCommandTwice(a, huma.Operation{
		OperationID: "change-seats", Method: http.MethodPut, Path: "/api/locks/{id}/seats", Tags: tags, Summary: "Change the seats of a lock",
		Description: "The lock gets all of the new seats, or stays as it is. Its expiry does not change. Its old seats count as free.",
		Errors:      refusals,
	}, scopeCustomer, func(ctx context.Context, t target, body WishBody) (*found[lockBody], error) {
		seats, wish, err := body.wish()
		if err != nil {
			return nil, err
		}
		if err := a.requireLock(ctx, t); err != nil {
			return nil, err
		}
		l, err := a.Seats.ChangeSeats(ctx, t.id, seats, wish)
		return &found[lockBody]{Body: a.lockBody(ctx, l)}, err
	})
	routeCommandTwice(a, huma.Operation{
		OperationID: "update-lock", Method: http.MethodPatch, Path: "/api/locks/{id}", Tags: tags,
		Summary: "Update the reference and metadata of a lock", Description: "In any status.", Errors: []int{http.StatusNotFound},
		Metadata: map[string]any{metadataScopeLate: true},
	}, config.ScopeBooking, func(ctx context.Context, t target, body ShopChange) (*found[lockBody], error) {
		change, err := body.shopDataOfKey(ctx)
		if err != nil {
			return nil, err
		}
		if err := a.requireLock(ctx, t); err != nil {
			return nil, err
		}
		l, err := a.Seats.UpdateLock(ctx, t.id, change)
		return &found[lockBody]{Body: a.lockBody(ctx, l)}, err
	})
	routeTwice(a, huma.Operation{
		OperationID: "release-lock", Method: http.MethodDelete, Path: "/api/locks/{id}", Tags: tags, Summary: "Release a lock",
		Description: "Cancels the lock's open booking in the same transaction. A repeat gets the same answer.",
		Errors:      refusals,
	}, scopeCustomer, func(ctx context.Context, t target) (*found[lockBody], error) {
		if err := a.requireLock(ctx, t); err != nil {
			return nil, err
		}
		l, err := a.Seats.ReleaseLock(ctx, t.id)
		return &found[lockBody]{Body: a.lockBody(ctx, l)}, err
	})
}

func (a *api) acquireLock(ctx context.Context, event holdfast.ID, header IdempotencyHeader, terms LockTerms) (*created[lockBody], error) {
	key, err := header.keyOf(terms.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	seats, wish, err := terms.wish()
	if err != nil {
		return nil, err
	}
	c, err := terms.customer()
	if err != nil {
		return nil, err
	}
	until := parseUntil(ctx, terms.ExpiresAt, terms.TTLSeconds)
	if err := until.Check(holdfast.LockFields, math.MaxInt64); err != nil {
		return nil, err
	}
	shopData, err := terms.shopData(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.admitCustomer(ctx, c); err != nil {
		return nil, err
	}
	l, replayed, err := a.Seats.AcquireLock(ctx, holdfast.LockRequest{
		EventID: event, UserID: c.UserID, Holder: c.Holder, Seats: seats, Wish: wish,
		Until: until, Key: key, ShopData: shopData,
	})
	if err != nil {
		return nil, err
	}
	return newCreated("/api/locks/", l.ID, replayed, a.lockBody(ctx, l)), nil
}
