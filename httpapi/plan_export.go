package httpapi

import (
	"context"
	"errors"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/seats/plandrawing"
	"github.com/holdfast-dev/holdfast/seats/planfile"
)

type planExport struct {
	Format string `query:"format" enum:"csv,pretix,svg" required:"true" doc:"svg is a picture of the plan."`
	PlanBody
}

type exportedPlanBody struct {
	Format      string           `json:"format" enum:"csv,pretix,svg"`
	File        string           `json:"file" doc:"The text of the file."`
	Differences []differenceBody `json:"differences" nullable:"false" doc:"The parts of the plan that are not in the file, or differ."`
}

func (a *api) registerPlanExport() {
	const path = "/api/admin/seating-plans/export"
	route(a, huma.Operation{
		OperationID: "export-seating-plan", Method: http.MethodPost, Path: path, Tags: []string{"Operators"},
		Summary: "Write a seating plan as a file of another format",
		Description: "Answers the text of a file, and what of the plan is not in it. /api/admin/seating-plans/convert reads CSV and " +
			"pretix's format. It stores nothing. The body has at most 20,000,000 bytes.",
		Metadata: map[string]any{metadataMaxBody: maxPlanBytes, metadataTimeout: createPlanTimeout, metadataStoresNothing: true},
	}, config.ScopeAdmin, a.exportPlan)
	a.describePlanBody(path, reflect.TypeFor[planfile.Plan]())
}

// describePlanBody gives a route its request body in the OpenAPI document. It is called after the route was registered, or huma would
// read the body too.
func (a *api) describePlanBody(path string, body reflect.Type) {
	document := a.huma.OpenAPI()
	document.Paths[path].Post.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/json": {Schema: document.Components.Schemas.Schema(body, true, "")},
	}}
}

func (a *api) exportPlan(_ context.Context, in *planExport) (*found[exportedPlanBody], error) {
	plan, _, err := in.read(a.huma)
	if err != nil {
		return nil, err
	}
	var file []byte
	var report planfile.Report
	switch in.Format {
	case "svg":
		file = plandrawing.SVG(plan, nil)
	case string(planfile.CSV):
		file, report = planfile.WriteCSV(plan)
	default:
		file, report, err = planfile.WritePretix(plan)
	}
	if errors.Is(err, planfile.ErrNoNumberedSeats) {
		return nil, holdfast.RefuseInput("query.format", "The format of pretix has numbered seats only, and the plan has none.")
	}
	if err != nil {
		return nil, err
	}
	return &found[exportedPlanBody]{Body: exportedPlanBody{
		Format: in.Format, File: string(file), Differences: newBodies(report, newDifferenceBody),
	}}, nil
}
