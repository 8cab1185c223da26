package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/httpapi"
)

// document is the part of an OpenAPI document that the tests read.
type document struct {
	Paths      map[string]map[string]documentedOperation
	Components struct{ Schemas map[string]schema }
}

type documentedOperation struct {
	OperationID string
	Description string
	RequestBody struct {
		Content map[string]struct{ Schema schema }
	}
	Responses map[string]struct {
		Content map[string]struct{ Schema schema }
	}
}

type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Enum       []any
	Items      *schema
	OneOf      []schema
	Properties map[string]schema
	Required   []string
}

func (s *site) document() (d document) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.call("GET", "/openapi.json", nil).raw), &d); err != nil {
		s.t.Fatal(err)
	}
	return d
}

func TestOpenAPI_ErrorsShareOneSchemaByDefault(t *testing.T) {
	t.Parallel()
	for path, operations := range open(t).document().Paths {
		for method, o := range operations {
			t.Run(method+" "+path, func(t *testing.T) {
				if ref := o.Responses["default"].Content["application/problem+json"].Schema.Ref; ref != "#/components/schemas/Problem" {
					t.Errorf("the default response is %q", ref)
				}
				for status := range o.Responses {
					if status >= "300" && status != "default" {
						t.Errorf("a response of its own for %s", status)
					}
				}
			})
		}
	}
}

func TestOpenAPI_CodeIsAnEnumeration(t *testing.T) {
	t.Parallel()
	listed := open(t).document().Components.Schemas["Problem"].Properties["code"].Enum
	var want []any
	for _, code := range httpapi.Codes() {
		want = append(want, string(code))
	}
	if len(want) == 0 || !slices.Equal(listed, want) {
		t.Errorf("the document lists %v, want %v", listed, want)
	}
}

func TestOpenAPI_NamesOfSchemasAreWords(t *testing.T) {
	t.Parallel()
	schemas := open(t).document().Components.Schemas
	names := slices.Sorted(maps.Keys(schemas))
	for _, want := range []string{
		"Availability", "Booking", "BookingList", "BookingPayment", "EventList", "JobList", "LockList", "NewLock", "RunList",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("no schema %s in %v", want, names)
		}
	}
	for _, name := range names {
		if regexp.MustCompile(`^List|Body|[0-9]|^[a-z]`).MatchString(name) {
			t.Errorf("%s is a name of the program's, not of the domain's", name)
		}
	}
}

func TestOpenAPI_DescribesStreamsAsStreams(t *testing.T) {
	t.Parallel()
	operation := open(t).document().Paths["/api/events/{id}/stream"]["get"]
	stream := operation.Responses["200"].Content["text/event-stream"].Schema
	if stream.Type != "array" || stream.Items == nil || len(stream.Items.OneOf) != 2 {
		t.Fatalf("%+v", stream)
	}
	availability, reset := stream.Items.OneOf[0], stream.Items.OneOf[1]
	if !slices.Equal(availability.Properties["event"].Enum, []any{"availability"}) ||
		!slices.Equal(availability.Required, []string{"data", "id", "event"}) ||
		availability.Properties["data"].Ref != "#/components/schemas/Availability" {
		t.Errorf("%+v", availability)
	}
	if !slices.Equal(reset.Properties["event"].Enum, []any{"reset"}) {
		t.Errorf("%+v", reset)
	}
}

// A cancelled event is not the end of a confirmation that began before. Operators have to know it
// where they cancel.
func TestOpenAPI_PatchTellsOfConfirmationsInFlight(t *testing.T) {
	t.Parallel()
	operation := open(t).document().Paths["/api/events/{id}"]["patch"]
	for _, part := range []string{
		"CANCELLED is final, but a confirmation in flight may still commit shortly after the answer",
		"list the event's CONFIRMED bookings a minute later, and cancel and refund them",
	} {
		if !strings.Contains(operation.Description, part) {
			t.Errorf("%q lacks %q", operation.Description, part)
		}
	}
}

// A client that knows only the document must know each status of success.
func TestOpenAPI_DescribesEachStatusOfSuccess(t *testing.T) {
	t.Parallel()
	d := open(t).document()
	for route, want := range map[[2]string][]string{
		{"/api/bookings", "post"}:             {"200", "201", "default"},
		{"/api/admin/jobs/{job}/run", "post"}: {"200", "202", "default"},
		{"/api/locks", "post"}:                {"201", "default"},
		{"/api/events/{id}/waitlist", "post"}: {"200", "201", "default"},
	} {
		if got := slices.Sorted(maps.Keys(d.Paths[route[0]][route[1]].Responses)); !slices.Equal(got, want) {
			t.Errorf("%v has the responses %v, want %v", route, got, want)
		}
	}
}

// The page of the document shows the parts in the order of the tags: what customers may do comes first.
func TestOpenAPI_CustomersPartsComeFirst(t *testing.T) {
	t.Parallel()
	var d struct {
		Tags  []struct{ Name string }
		Paths map[string]map[string]struct {
			Tags        []string
			Description string
		}
	}
	if err := json.Unmarshal([]byte(open(t).call("GET", "/openapi.json", nil).raw), &d); err != nil {
		t.Fatal(err)
	}
	var tags []string
	for _, tag := range d.Tags {
		tags = append(tags, tag.Name)
	}
	forCustomers := map[string]bool{}
	for path, operations := range d.Paths {
		for method, o := range operations {
			if len(o.Tags) != 1 || !slices.Contains(tags, o.Tags[0]) {
				t.Errorf("%s %s has the tags %v, which are not among %v", method, path, o.Tags, tags)
				continue
			}
			forCustomers[o.Tags[0]] = forCustomers[o.Tags[0]] || strings.Contains(o.Description, "the customer's own token")
		}
	}
	if len(tags) == 0 || tags[0] != "Events" || !slices.IsSortedFunc(tags, func(a, b string) int {
		return strings.Compare(fmt.Sprint(!forCustomers[a]), fmt.Sprint(!forCustomers[b]))
	}) {
		t.Errorf("the order is %v; customers may call %v", tags, forCustomers)
	}
}

// A type that embeds another one is described with the fields of both.
func TestOpenAPI_DescribesEmbeddedFields(t *testing.T) {
	t.Parallel()
	schemas := open(t).document().Components.Schemas
	for name, fields := range map[string][]string{
		"CreatedWebhook": {"id", "url", "types", "state", "secret"},
		"Report":         {"eventId", "available", "held", "sold", "blocked", "oversold"},
		"SectionCounts":  {"key", "available", "held", "sold", "blocked", "oversold"},
		"CategoryCounts": {"key", "available", "held", "sold", "blocked", "oversold"},
	} {
		for _, field := range fields {
			if _, isDescribed := schemas[name].Properties[field]; !isDescribed {
				t.Errorf("%s has no field %s", name, field)
			}
		}
	}
}

func TestDocument_IsWhatTheAPIServes(t *testing.T) {
	t.Parallel()
	got, err := httpapi.Document()
	if want := open(t).call("GET", "/openapi.json", nil).raw; err != nil || string(got) != want {
		t.Errorf("%v: %d bytes, want %d", err, len(got), len(want))
	}
}

// An answer leaves out what it does not have, so that a client checks for one kind of absence.
func TestOpenAPI_AnswersHaveNoNull(t *testing.T) {
	t.Parallel()
	d := open(t).document()
	seen := map[string]bool{}
	var walk func(path string, s schema)
	walk = func(path string, s schema) {
		if types, isList := s.Type.([]any); isList && slices.Contains(types, any("null")) {
			t.Errorf("%s may be null", path)
		}
		if name := strings.TrimPrefix(s.Ref, "#/components/schemas/"); s.Ref != "" && !seen[name] {
			seen[name] = true
			walk(name, d.Components.Schemas[name])
		}
		if s.Items != nil {
			walk(path+"[]", *s.Items)
		}
		for _, one := range s.OneOf {
			if one.Type != "null" { // a gap in a row of seats
				walk(path, one)
			}
		}
		for field, of := range s.Properties {
			walk(path+"."+field, of)
		}
	}
	for path, operations := range d.Paths {
		for method, operation := range operations {
			for _, response := range operation.Responses {
				for _, content := range response.Content {
					walk(method+" "+path, content.Schema)
				}
			}
		}
	}
}
