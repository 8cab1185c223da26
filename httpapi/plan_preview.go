package httpapi

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/seats"
	"github.com/holdfast-dev/holdfast/seats/planfile"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// newPlanPreviewBody describes a request; planfile reads it.
type newPlanPreviewBody struct {
	Plan  planfile.Plan `json:"plan"`
	Seats []int         `json:"seats" nullable:"false" maxItems:"50" doc:"Numbers of seats, each from 1 to 50."`
}

type planPreviewBody struct {
	TotalSeats int64             `json:"totalSeats" doc:"Number of seats in rows, plus the capacities; 0 if the plan has problems."`
	Problems   []planProblemBody `json:"problems" nullable:"false" doc:"The first 100. If there are none, the plan can be created."`
	Picks      []planPickBody    `json:"picks" nullable:"false" doc:"In the order of seats; none if the plan has problems."`
}

type planProblemBody struct {
	Where string `json:"where" doc:"A path in the plan, such as sections[3].rows[2].seats[7].id; empty for the plan as a whole."`
	What  string `json:"what"`
}

type planPickBody struct {
	Seats    int      `json:"seats"`
	SeatIDs  []string `json:"seatIds" nullable:"false" doc:"Empty if no section has so many seats of one category."`
	Adjacent bool     `json:"adjacent" doc:"Whether all the seats are together."`
}

func (a *api) registerPlanPreview() {
	const path = "/api/admin/seating-plans/preview"
	route(a, huma.Operation{
		OperationID: "preview-seating-plan", Method: http.MethodPost, Path: path, Tags: []string{"Operators"},
		Summary: "Check a seating plan, and see what it would sell first",
		Description: "Answers what is wrong with a plan, or else which seats the best available ones would be, of the empty hall, for each " +
			"number in seats. No accessible seats are picked. It stores nothing. The body has at most 20,000,000 bytes.",
		Metadata: map[string]any{metadataMaxBody: maxPlanBytes, metadataTimeout: createPlanTimeout, metadataStoresNothing: true},
	}, config.ScopeAdmin, a.previewPlan)
	a.describePlanBody(path, reflect.TypeFor[newPlanPreviewBody]())
}

func (a *api) previewPlan(_ context.Context, in *PlanBody) (*found[planPreviewBody], error) {
	if err := in.expectJSON(a.huma); err != nil {
		return nil, err
	}
	preview, problems, err := planfile.ReadPreview(in.text)
	switch {
	case err != nil:
		return nil, invalidBody(http.StatusBadRequest, codeMalformed, err)
	case len(problems) > 0:
		return nil, seats.InvalidPlan(problems)
	}
	body := planPreviewBody{
		Problems: newBodies(preview.Problems, func(p holdfast.FieldError) planProblemBody { return planProblemBody(p) }), Picks: []planPickBody{},
	}
	if len(preview.Problems) == 0 {
		hall, err := seating.NewHall(preview.Plan)
		if err != nil {
			return nil, err // a programming error, because the plan has no problems
		}
		body.TotalSeats, body.Picks = hall.TotalSeats(), bestOf(hall, preview.Seats)
	}
	return &found[planPreviewBody]{Body: body}, nil
}

// bestOf returns the best available seats of an empty hall, for each number of seats.
func bestOf(hall *seating.Hall, numbers []int) []planPickBody {
	empty, picks := seating.NewOccupancy(hall), make([]planPickBody, 0, len(numbers))
	for _, n := range numbers {
		answer := empty.Best(seating.Wish{Seats: n, Section: seating.AnySection, Settled: true}, nil)
		picks = append(picks, planPickBody{
			Seats: n, Adjacent: answer.Outcome == seating.Together || answer.Outcome == seating.LeavesSingle,
			SeatIDs: newBodies(answer.Places, func(p seating.Place) string { return hall.Seat(p).ID }),
		})
	}
	return picks
}
