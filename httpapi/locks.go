package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/seats"
)

type lockBody struct {
	ID             string `json:"id"`
	EventID        string `json:"eventId"`
	UserID         string `json:"userId"`
	Seats          int64  `json:"seats"`
	Status         string `json:"status" enum:"ACTIVE,CONSUMED,EXPIRED,RELEASED"`
	ExpiresAt      string `json:"expiresAt" format:"date-time"`
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
	BookingID      string `json:"bookingId,omitempty" doc:"Its live or confirmed booking."`
	CreatedAt      string `json:"createdAt" format:"date-time"`
}

func shapeLock(l seats.Lock) lockBody {
	return lockBody{
		l.ID.String(), orEmpty(l.EventID), orEmpty(l.UserID), l.Seats, string(l.Status), stamp(l.ExpiresAt), l.Key,
		orEmpty(l.BookingID), stamp(l.CreatedAt),
	}
}

type newLock struct {
	HeaderKey string `header:"Idempotency-Key" maxLength:"200" doc:"In place of idempotencyKey in the body."`
	Body      struct {
		EventID        string     `json:"eventId" pattern:"^[0-9a-fA-F]{24}$"`
		UserID         string     `json:"userId" pattern:"^[0-9a-fA-F]{24}$"`
		Seats          int64      `json:"seats" minimum:"1" maximum:"10000000"`
		ExpiresAt      *time.Time `json:"expiresAt,omitempty" nullable:"true" doc:"A time in the past makes a lock that is due at once."`
		TTLSeconds     *int64     `json:"ttlSeconds,omitempty" nullable:"true" minimum:"1" maximum:"31536000" doc:"From now, by the database's clock."`
		IdempotencyKey string     `json:"idempotencyKey,omitempty" nullable:"true" minLength:"1" maxLength:"200" doc:"Unique per event and user. The same request again gives the lock it made."`
	}
}

// key is the idempotency key, of the header or the body.
func (n newLock) key() (string, error) {
	inBody, inHeader := n.Body.IdempotencyKey, n.HeaderKey
	if inBody != "" && inHeader != "" && inBody != inHeader {
		return "", fault.Invalid("header.Idempotency-Key", "The header and the body name different keys.")
	}
	return cmp.Or(inBody, inHeader), nil
}

// lockMade says by a header whether an earlier request made the lock.
type lockMade struct {
	Location string `header:"Location"`
	Replayed string `header:"Idempotent-Replayed"`
	Body     lockBody
}

type lockFilter struct {
	PageQuery
	FilterQuery
	EventID string `query:"eventId" pattern:"^[0-9a-fA-F]{24}$"`
	UserID  string `query:"userId" pattern:"^[0-9a-fA-F]{24}$"`
	Status  string `query:"status" enum:"ACTIVE,CONSUMED,EXPIRED,RELEASED"`
}

type lockExtension struct {
	PathID
	Body struct {
		ExpiresAt  *time.Time `json:"expiresAt,omitempty" nullable:"true"`
		TTLSeconds *int64     `json:"ttlSeconds,omitempty" nullable:"true" minimum:"1" maximum:"31536000"`
	}
}

func (a *api) lockRoutes() {
	tags := []string{"Locks"}
	route(a, huma.Operation{
		OperationID: "create-lock", Method: http.MethodPost, Path: "/api/locks", Tags: tags, Summary: "Lock seats",
		Description:   "With neither time, the lock lasts the default. Due locks are reclaimed where seats are short.",
		DefaultStatus: http.StatusCreated, Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, scopeCustomer, a.createLock)
	route(a, huma.Operation{
		OperationID: "list-locks", Method: http.MethodGet, Path: "/api/locks", Tags: tags, Summary: "List locks",
		Description: "By status alone, a page may hold fewer items than asked for and still have a next one.",
	}, scopeCustomer, func(ctx context.Context, in *lockFilter) (*list[lockBody], error) {
		user, err := filterUser(ctx, parseID(in.UserID))
		if err != nil {
			return nil, err
		}
		locks, next, err := a.Seats.Locks(ctx, seats.LockFilter{
			EventID: parseID(in.EventID), UserID: user, Status: seats.Status(in.Status),
		}, in.page())
		return listOf(locks, next, shapeLock), err
	})
	route(a, huma.Operation{
		OperationID: "get-lock", Method: http.MethodGet, Path: "/api/locks/{id}", Tags: tags, Summary: "Get a lock",
		Errors: []int{http.StatusNotFound},
	}, scopeCustomer, func(ctx context.Context, in *PathID) (*found[lockBody], error) {
		if err := a.ownLock(ctx, parseID(in.ID)); err != nil {
			return nil, err
		}
		l, err := a.Seats.Lock(ctx, parseID(in.ID))
		return &found[lockBody]{shapeLock(l)}, err
	})
	route(a, huma.Operation{
		OperationID: "extend-lock", Method: http.MethodPost, Path: "/api/locks/{id}/extend", Tags: tags, Summary: "Extend a lock",
		Description: "Never shortens it, and reaches at most to the cap from its creation.",
		Errors:      []int{http.StatusNotFound, http.StatusConflict, http.StatusGone},
	}, scopeCustomer, func(ctx context.Context, in *lockExtension) (*found[lockBody], error) {
		if err := a.ownLock(ctx, parseID(in.ID)); err != nil {
			return nil, err
		}
		l, err := a.Seats.Extend(ctx, parseID(in.ID), until(in.Body.ExpiresAt, in.Body.TTLSeconds))
		return &found[lockBody]{shapeLock(l)}, err
	})
	route(a, huma.Operation{
		OperationID: "release-lock", Method: http.MethodDelete, Path: "/api/locks/{id}", Tags: tags, Summary: "Release a lock",
		Description: "Its open booking is cancelled with it. Again: the same answer.",
		Errors:      []int{http.StatusNotFound, http.StatusConflict, http.StatusGone},
	}, scopeCustomer, func(ctx context.Context, in *PathID) (*found[lockBody], error) {
		if err := a.ownLock(ctx, parseID(in.ID)); err != nil {
			return nil, err
		}
		l, err := a.Bookings.ReleaseLock(ctx, parseID(in.ID))
		return &found[lockBody]{shapeLock(l)}, err
	})
}

func (a *api) createLock(ctx context.Context, in *newLock) (*lockMade, error) {
	key, err := in.key()
	if err != nil {
		return nil, err
	}
	user := parseID(in.Body.UserID)
	if err := asUser(ctx, user); err != nil {
		return nil, err
	}
	if err := a.limitNamed(ctx, user); err != nil {
		return nil, err
	}
	l, replayed, err := a.Seats.Take(ctx, seats.LockRequest{
		EventID: parseID(in.Body.EventID), UserID: user, Seats: in.Body.Seats,
		Until: until(in.Body.ExpiresAt, in.Body.TTLSeconds), Key: key,
	})
	if err != nil {
		return nil, err
	}
	made := &lockMade{Location: "/api/locks/" + l.ID.String(), Body: shapeLock(l)}
	if replayed {
		made.Replayed = "true"
	}
	return made, nil
}
