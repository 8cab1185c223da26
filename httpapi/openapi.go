package httpapi

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/live"
	"github.com/holdfast-dev/holdfast/seats/planfile"
)

// Document returns the OpenAPI document of the API, without services.
func Document() ([]byte, error) {
	_, a := newAPI(Services{Metrics: telemetry.NewMetrics()})
	return a.huma.OpenAPI().MarshalJSON()
}

// newSchemas returns the registry of the document's schemas. Generators of clients
// make types of the schemas' names, so the names are words of the domain.
func newSchemas() huma.Registry {
	schemas := huma.NewMapRegistry("#/components/schemas/", schemaName)
	schemas.RegisterTypeAlias(reflect.TypeFor[planfile.Seats](), reflect.TypeFor[seatsOfRow]())
	schemas.RegisterTypeAlias(reflect.TypeFor[[2]float64](), reflect.TypeFor[pointAsList]())
	return schemas
}

// schemaName names a schema after its Go type: lockBody is Lock, and a list of
// lockBody is LockList.
func schemaName(t reflect.Type, hint string) string {
	if t == reflect.TypeFor[live.State]() {
		return "Availability"
	}
	if t.PkgPath() == reflect.TypeFor[planfile.Plan]().PkgPath() {
		return "SeatingPlan" + t.Name()
	}
	name := strings.TrimSuffix(huma.DefaultSchemaNamer(t, hint), "Body")
	if item, isList := strings.CutPrefix(name, "List"); isList {
		return strings.TrimSuffix(item, "Body") + "List"
	}
	return name
}

// TransformSchema implements huma.SchemaTransformer: it lists the codes.
func (Problem) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	for _, code := range Codes() {
		s.Properties["code"].Enum = append(s.Properties["code"].Enum, string(code))
	}
	return s
}

// describeErrors replaces the statuses of an operation's errors by one default
// response, so that a generated client has one type for all errors.
func describeErrors(schemas huma.Registry, op *huma.Operation) {
	statuses := slices.Compact(slices.Sorted(slices.Values(op.Errors)))
	texts := make([]string, len(statuses))
	for i, status := range statuses {
		texts[i] = strconv.Itoa(status)
	}
	last := len(texts) - 1
	responses := map[string]*huma.Response{"default": {
		Description: fmt.Sprintf("A refusal: %s or %s. Clients decide by its code.", strings.Join(texts[:last], ", "), texts[last]),
		Headers: map[string]*huma.Param{"Retry-After": {
			Description: "With 429, 503 and SALE_NOT_OPEN: seconds to wait.", Schema: &huma.Schema{Type: huma.TypeInteger},
		}},
		Content: map[string]*huma.MediaType{"application/problem+json": {Schema: schemas.Schema(reflect.TypeFor[Problem](), true, "")}},
	}}
	maps.Copy(responses, op.Responses)
	op.Errors, op.Responses = nil, responses
}

// otherSuccess describes a second status of success with the same body.
func otherSuccess[T any](schemas huma.Registry, status int, description string) map[string]*huma.Response {
	return map[string]*huma.Response{strconv.Itoa(status): {
		Description: description,
		Content:     map[string]*huma.MediaType{"application/json": {Schema: schemas.Schema(reflect.TypeFor[T](), true, "")}},
	}}
}

// availabilityStream describes the stream of an event's availability.
func availabilityStream(schemas huma.Registry) map[string]*huma.Response {
	return streamResponse(
		numberedMessage("availability", "The whole state, after a change.", schemas.Schema(reflect.TypeFor[live.State](), true, "")),
	)
}

// seatStream describes the stream of an event's seats.
func seatStream(schemas huma.Registry) map[string]*huma.Response {
	section := reflect.TypeFor[live.SectionAvailability]()
	bitmap, changes := reflect.TypeFor[live.SectionBitmap](), reflect.TypeFor[live.SectionChanges]()
	return streamResponse(
		numberedMessage("sections", "The sections whose availability has changed; all of them at first and after a reset.",
			&huma.Schema{Type: huma.TypeArray, Items: schemas.Schema(section, true, "")}),
		numberedMessage("seats", "A section that was asked for: whole at first and after a reset, then what has changed.",
			&huma.Schema{OneOf: []*huma.Schema{schemas.Schema(bitmap, true, ""), schemas.Schema(changes, true, "")}}),
	)
}

// streamResponse describes server-sent events as the sequence of their messages.
func streamResponse(messages ...*huma.Schema) map[string]*huma.Response {
	messages = append(messages,
		streamMessage("reset", "Messages were missed; the state follows.", map[string]*huma.Schema{"data": {Type: huma.TypeObject}}))
	return map[string]*huma.Response{strconv.Itoa(http.StatusOK): {
		Description: "A stream of server-sent events, until the client leaves. Each item of the array is one message.",
		Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{
			Title: "Server-sent events", Type: huma.TypeArray, Items: &huma.Schema{OneOf: messages},
		}}},
	}}
}

func numberedMessage(event, description string, data *huma.Schema) *huma.Schema {
	id := &huma.Schema{Type: huma.TypeString, Description: "Rises. A client that reconnects sends the last one as Last-Event-ID."}
	return streamMessage(event, description, map[string]*huma.Schema{"id": id, "data": data})
}

func streamMessage(event, description string, properties map[string]*huma.Schema) *huma.Schema {
	required := slices.Sorted(maps.Keys(properties))
	properties["event"] = &huma.Schema{Type: huma.TypeString, Enum: []any{event}}
	return &huma.Schema{
		Type: huma.TypeObject, Title: event, Description: description, Properties: properties, Required: append(required, "event"),
	}
}
