package httpapi

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/seats"
	"github.com/holdfast-dev/holdfast/seats/planfile"
)

// nameOfFile is the name of a plan whose file has none.
const nameOfFile = "Seating plan"

type planConversion struct {
	Format   string `query:"format" enum:"auto,json,csv,pretix" default:"auto" doc:"With auto the content decides."`
	Name     string `query:"name" maxLength:"200" doc:"The name of the plan. By default the name in the file."`
	AsListed bool   `query:"asListed" doc:"Take rows as they are listed: guess neither the order of the seats nor gaps nor tables."`

	Adjacency  []string `query:"adjacency,explode" maxItems:"200" doc:"SECTION/ROW=ALL (a table), LINE or NONE; or SECTION=ALL."`
	Category   string   `query:"category" maxLength:"200" doc:"The category of seats that have none, in CSV or pretix's format."`
	Accessible string   `query:"accessible" maxLength:"200" doc:"The property of a pretix plan, or the column of CSV, that says it."`
	PlanBody
}

type convertedPlanBody struct {
	Format      string           `json:"format" enum:"json,csv,pretix"`
	TotalSeats  int64            `json:"totalSeats" doc:"Number of seats in rows, plus the capacities."`
	Plan        planfile.Plan    `json:"plan" doc:"The plan in the form of POST /api/seating-plans."`
	Differences []differenceBody `json:"differences" nullable:"false" doc:"The parts of the file that are not in the plan, or differ."`
}

type differenceBody struct {
	Kind     string   `json:"kind" enum:"dropped,renamed,guessed"`
	What     string   `json:"what"`
	Count    int      `json:"count"`
	Examples []string `json:"examples" nullable:"false" doc:"At most five."`
	Option   string   `json:"option,omitempty" enum:"accessible" doc:"The query parameter that would use the part, if it is named there."`
}

func newDifferenceBody(n planfile.Note) differenceBody {
	return differenceBody{Kind: string(n.Kind), What: n.What, Count: n.Count, Examples: append([]string{}, n.Examples...), Option: n.Option}
}

func (a *api) registerPlanConversion() {
	const path = "/api/admin/seating-plans/convert"
	schemas := a.huma.OpenAPI().Components.Schemas
	route(a, huma.Operation{
		OperationID: "convert-seating-plan", Method: http.MethodPost, Path: path, Tags: []string{"Operators"},
		Summary: "Read a file with a seating plan",
		Description: "Answers the plan of a file, and what of the file is not in it. It stores nothing: POST /api/seating-plans does. " +
			"If the file has no valid plan, the answer is 422, and errors names the places: paths in the file, or lines of CSV. " +
			"The body is the file, of at most 20,000,000 bytes; its Content-Type does not matter.",
		Metadata: map[string]any{
			metadataMaxBody: maxPlanBytes, metadataTimeout: createPlanTimeout, metadataStoresNothing: true, metadataRepeats: "adjacency",
		},
	}, config.ScopeAdmin, convertPlan)
	file := &huma.Schema{Type: huma.TypeString, Description: "With the columns section, row, seat and category, and perhaps others."}
	// Described after it was registered, or huma would read the body too.
	a.huma.OpenAPI().Paths[path].Post.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/json": {Schema: schemas.Schema(reflect.TypeFor[planfile.Plan](), true, "")}, "text/csv": {Schema: file},
	}}
}

func convertPlan(_ context.Context, in *planConversion) (*found[convertedPlanBody], error) {
	if len(in.text) == 0 {
		return nil, newProblem(http.StatusBadRequest, codeMalformed, "request body is required")
	}
	name := strings.TrimSpace(in.Name)
	o := planfile.Options{
		Format: planfile.Format(in.Format), Name: name, AsListed: in.AsListed,
		Adjacency: in.Adjacency, Category: strings.TrimSpace(in.Category), Accessible: in.Accessible,
	}
	if in.Format == "auto" {
		o.Format = planfile.Auto
	}
	if name == "" {
		o.Name = nameOfFile
	} else if err := holdfast.CheckName("query.name", name); err != nil {
		return nil, err
	}
	content, err := planfile.Read(in.text, o)
	option := (*planfile.OptionError)(nil)
	switch {
	case errors.As(err, &option):
		return nil, holdfast.Refuse(holdfast.CodeInvalid, "The file needs another value of a parameter.").
			With(holdfast.Invalid{{Where: "query." + option.Option, What: option.What}})
	case err != nil:
		return nil, invalidBody(http.StatusBadRequest, codeMalformed, err)
	case len(content.Problems) > 0 && content.Format == planfile.CSV: // their places are lines
		return nil, holdfast.Refuse(holdfast.CodeInvalid, "The file has no valid seating plan. Correct the lines listed in errors.").
			With(holdfast.Invalid(content.Problems))
	case len(content.Problems) > 0:
		return nil, seats.InvalidPlan(content.Problems)
	}
	if name != "" {
		content.Plan.Name = name
	}
	return &found[convertedPlanBody]{Body: convertedPlanBody{
		Format: string(content.Format), TotalSeats: content.Plan.TotalSeats(), Plan: planfile.PlanOf(content.Plan),
		Differences: newBodies(content.Report, newDifferenceBody),
	}}, nil
}
