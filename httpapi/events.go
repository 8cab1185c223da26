package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/seats"
)

type eventBody struct {
	ID              string `json:"id"`
	Name            string `json:"name"`
	TotalSeats      int64  `json:"totalSeats"`
	AvailableSeats  int64  `json:"availableSeats"`
	Oversold        int64  `json:"oversold,omitempty" doc:"Seats taken beyond the total by outside hands."`
	EventDate       string `json:"eventDate,omitempty" format:"date-time"`
	Status          string `json:"status" doc:"ON_SALE, CLOSED (no new locks) or CANCELLED (final)."`
	MaxSeatsPerUser int64  `json:"maxSeatsPerUser,omitempty"`
	CreatedAt       string `json:"createdAt" format:"date-time"`
	UpdatedAt       string `json:"updatedAt,omitempty" format:"date-time"`
}

func shapeEvent(e seats.Event) eventBody {
	return eventBody{
		e.ID.String(), e.Name, e.TotalSeats, e.AvailableSeats, e.Oversold, stamp(e.EventDate), string(e.Status),
		e.MaxSeatsPerUser, stamp(e.CreatedAt), stamp(e.UpdatedAt),
	}
}

type newEvent struct {
	Body struct {
		Name            string    `json:"name" minLength:"1" maxLength:"200" pattern:"^[^\\x00-\\x1f\\x7f]*[^\\s\\x00-\\x1f\\x7f][^\\x00-\\x1f\\x7f]*$" doc:"Not blank, no control characters."`
		TotalSeats      int64     `json:"totalSeats" minimum:"1" maximum:"10000000"`
		EventDate       time.Time `json:"eventDate" doc:"For information only."`
		MaxSeatsPerUser int64     `json:"maxSeatsPerUser,omitempty" nullable:"true" minimum:"1" maximum:"10000000" doc:"Seats that a customer may hold: sold, and in live locks."`
	}
}

type eventChange struct {
	PathID
	Body struct {
		Name            *string    `json:"name,omitempty" nullable:"true" minLength:"1" maxLength:"200" pattern:"^[^\\x00-\\x1f\\x7f]*[^\\s\\x00-\\x1f\\x7f][^\\x00-\\x1f\\x7f]*$"`
		TotalSeats      *int64     `json:"totalSeats,omitempty" nullable:"true" minimum:"1" maximum:"10000000" doc:"Not below the seats taken."`
		EventDate       *time.Time `json:"eventDate,omitempty" nullable:"true"`
		Status          *string    `json:"status,omitempty" nullable:"true" enum:"ON_SALE,CLOSED,CANCELLED" doc:"CANCELLED is final."`
		MaxSeatsPerUser *int64     `json:"maxSeatsPerUser,omitempty" nullable:"true" minimum:"0" maximum:"10000000" doc:"0 takes the limit away."`
	}
}

func (a *api) eventRoutes() {
	tags := []string{"Events"}
	route(a, huma.Operation{
		OperationID: "create-event", Method: http.MethodPost, Path: "/api/events", Tags: tags,
		Summary: "Create an event", DefaultStatus: http.StatusCreated,
	}, config.ScopeAdmin, func(ctx context.Context, in *newEvent) (*created[eventBody], error) {
		e, err := a.Seats.CreateEvent(ctx, seats.NewEvent{
			Name: strings.TrimSpace(in.Body.Name), TotalSeats: in.Body.TotalSeats,
			EventDate: in.Body.EventDate.UTC(), MaxSeatsPerUser: in.Body.MaxSeatsPerUser,
		})
		return &created[eventBody]{"/api/events/" + e.ID.String(), shapeEvent(e)}, err
	})
	route(a, huma.Operation{
		OperationID: "list-events", Method: http.MethodGet, Path: "/api/events", Tags: tags, Summary: "List events",
	}, scopeCustomer, func(ctx context.Context, in *PageQuery) (*list[eventBody], error) {
		events, next, err := a.Seats.Events(ctx, in.page())
		return listOf(events, next, shapeEvent), err
	})
	route(a, huma.Operation{
		OperationID: "get-event", Method: http.MethodGet, Path: "/api/events/{id}", Tags: tags,
		Summary: "Get an event", Errors: []int{http.StatusNotFound},
	}, scopeCustomer, func(ctx context.Context, in *PathID) (*found[eventBody], error) {
		e, err := a.Seats.Event(ctx, parseID(in.ID))
		return &found[eventBody]{shapeEvent(e)}, err
	})
	route(a, huma.Operation{
		OperationID: "change-event", Method: http.MethodPatch, Path: "/api/events/{id}", Tags: tags,
		Summary: "Change an event", Description: "Its capacity too, in mid-sale: the seats taken stay taken.",
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, config.ScopeAdmin, func(ctx context.Context, in *eventChange) (*found[eventBody], error) {
		b := in.Body
		change := seats.EventChange{Name: b.Name, TotalSeats: b.TotalSeats, EventDate: b.EventDate, MaxSeatsPerUser: b.MaxSeatsPerUser}
		if b.Status != nil {
			status := seats.SaleStatus(*b.Status)
			change.Status = &status
		}
		e, err := a.Seats.UpdateEvent(ctx, parseID(in.ID), change)
		return &found[eventBody]{shapeEvent(e)}, err
	})
}
