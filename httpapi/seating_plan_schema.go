package httpapi

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/planfile"
)

// seatsOfRow describes planfile.Seats in the OpenAPI document.
type seatsOfRow struct{}

// Schema implements huma.SchemaProvider.
func (seatsOfRow) Schema(schemas huma.Registry) *huma.Schema {
	seat := schemas.Schema(reflect.TypeFor[planfile.Seat](), true, "")
	return &huma.Schema{
		Description: "Seats in their physical order, where null is a gap; or how many seats there are without gaps, " +
			"whose IDs are <section>-<row>-1 and so on.",
		OneOf: []*huma.Schema{
			{Type: huma.TypeArray, Items: &huma.Schema{OneOf: []*huma.Schema{seat, {Type: "null"}}}, MaxItems: new(holdfast.MaxRowPlaces)},
			{Type: huma.TypeInteger, Minimum: new(1.0), Maximum: new(float64(holdfast.MaxRowSeats))},
		},
	}
}

// pointAsList describes a point of an outline or a decoration in the OpenAPI document.
type pointAsList struct{}

// Schema implements huma.SchemaProvider.
func (pointAsList) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeNumber}, MinItems: new(2), MaxItems: new(2)}
}

// examplePlan shows each kind of section, seat and position.
const examplePlan = `{
  "name": "Main hall",
  "categories": [{"key": "stalls", "name": "Stalls", "color": "#0b5d66"}, {"key": "standing", "name": "Standing"}],
  "focalPoint": {"x": 50, "y": 0},
  "decorations": [
    {"kind": "stage", "points": [[35, -10], [65, -10], [65, -2], [35, -2]], "text": "Stage"},
    {"kind": "wall", "points": [[0, 30], [100, 30]]}, {"kind": "text", "at": [2, 32], "text": "Foyer"},
    {"kind": "icon", "at": [8, 32], "icon": "toilet", "floor": "0"}],
  "sections": [
    {"key": "A", "name": "Stalls left", "category": "stalls", "floor": "0", "entrance": "West", "rows": [
      {"key": "1", "label": "Row 1", "seats": [
        {"id": "A-1-1", "label": "1", "x": 10, "y": 20, "accessible": true}, {"id": "A-1-2", "companion": true}, null,
        {"id": "A-1-3", "restrictedView": true, "note": "behind the desk", "viewUrl": "https://pictures.example.com/A-1-3.jpg"}]},
      {"key": "2", "seats": 40}]},
    {"key": "pit", "name": "Standing", "category": "standing", "capacity": 500, "outline": [[0, 0], [40, 0], [40, 20]]}
  ]
}`

// newSeatingPlanRequest describes the body of a request that huma does not read.
func newSeatingPlanRequest(schemas huma.Registry) *huma.RequestBody {
	var example any
	if err := json.Unmarshal([]byte(examplePlan), &example); err != nil {
		panic(err) // a programming error
	}
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {
		Schema: schemas.Schema(reflect.TypeFor[newSeatingPlanBody](), true, ""), Example: example,
	}}}
}
