package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/seats"
)

type venueMapBody struct {
	Sections []venueSectionBody `json:"sections" nullable:"false"`
}

type venueSectionBody struct {
	Key       string `json:"key"`
	Total     int64  `json:"total"`
	Available int64  `json:"available"`
	Locked    int64  `json:"locked"`
	Sold      int64  `json:"sold"`
	Blocked   int64  `json:"blocked"`
	States    string `json:"states,omitempty" doc:"One letter for each seat in plan order: Available, Locked, Sold, Blocked."`
}

func newVenueSectionBody(s seats.SectionStates) venueSectionBody {
	states := make([]byte, len(s.Seats))
	for i, state := range s.Seats {
		states[i] = letterOf(state)
	}
	return venueSectionBody{
		Key: s.Key, Total: s.Total, Available: s.Available(), Locked: s.Held, Sold: s.Sold, Blocked: s.Blocked, States: string(states),
	}
}

// letterOf is the first letter of a state: they all differ.
func letterOf(state holdfast.SeatState) byte { return state[0] }

func (a *api) registerVenueMapRoute() {
	route(a, huma.Operation{
		OperationID: "get-seat-states", Method: http.MethodGet, Path: "/api/admin/events/{id}/seats", Tags: []string{"Operators"},
		Summary:     "Get the state of each seat",
		Description: "Of an event with a seating plan, at one snapshot. It reads all locks of the event: for operators, not for customers.",
		Errors:      []int{http.StatusNotFound},
	}, config.ScopeAdmin, func(ctx context.Context, in *PathID) (*found[venueMapBody], error) {
		if err := a.seatStatesSemaphore.acquire(ctx, "The map of seats"); err != nil {
			return nil, err
		}
		defer a.seatStatesSemaphore.release()
		states, err := a.Seats.SeatStates(ctx, parseID(in.ID))
		body := venueMapBody{Sections: make([]venueSectionBody, 0, len(states))}
		for _, s := range states {
			body.Sections = append(body.Sections, newVenueSectionBody(s))
		}
		return &found[venueMapBody]{Body: body}, err
	})
}
