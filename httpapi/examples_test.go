package httpapi_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// exampleBodies are the examples of a media type in the OpenAPI document.
type exampleBodies struct {
	Example  json.RawMessage
	Examples map[string]struct{ Value json.RawMessage }
}

type exampleDocument struct {
	Paths map[string]map[string]struct {
		RequestBody struct{ Content map[string]exampleBodies }
		Responses   map[string]struct{ Content map[string]exampleBodies }
	}
}

// form is a value without what differs between two resources: of a list it has the first item.
func form(value any) any {
	switch v := value.(type) {
	case map[string]any:
		names := map[string]any{}
		for name, item := range v {
			names[name] = form(item)
		}
		return names
	case []any:
		if len(v) > 0 {
			return []any{form(v[0])}
		}
		return v
	default:
		return reflect.TypeOf(value)
	}
}

// The examples of requests for seats can be sent as they are, with the IDs of an event and a user, and the answers
// look like the examples of answers.
func TestExamples_OfSeatsCanBeSent(t *testing.T) {
	t.Parallel()
	s := open(t)
	var d exampleDocument
	if err := json.Unmarshal([]byte(s.call("GET", "/openapi.json", nil).raw), &d); err != nil {
		t.Fatal(err)
	}
	plan := d.Paths["/api/seating-plans"]["post"].RequestBody.Content["application/json"].Example
	planID := s.want(s.call("POST", "/api/seating-plans", string(plan)), 201, "").text("id")
	seated := s.want(s.call("POST", "/api/events", fields{"name": "E", "seatingPlanId": planID, "eventDate": "2030-06-15T20:00:00Z"}), 201, "")
	unseated := s.want(s.call("POST", "/api/events", fields{"name": "F", "totalSeats": 5, "eventDate": "2030-06-15T20:00:00Z"}), 201, "")
	user := s.user()
	of := func(path, method, status string) map[string]struct{ Value json.RawMessage } {
		operation := d.Paths[path][method]
		if status == "" {
			return operation.RequestBody.Content["application/json"].Examples
		}
		return operation.Responses[status].Content["application/json"].Examples
	}
	sameForm := func(name, answer string, want json.RawMessage) {
		t.Helper()
		var shown any
		if err := json.Unmarshal(want, &shown); err != nil || !reflect.DeepEqual(form(map[string]any(object(t, answer))), form(shown)) {
			t.Errorf("%s: the answer %s\nis not of the form of %s", name, answer, want)
		}
	}
	forms := []string{"accessible", "bestAvailable", "seatIds", "seats", "section"}
	locks, changes := of("/api/locks", "post", ""), of("/api/locks/{id}/seats", "put", "")
	for _, list := range []map[string]struct{ Value json.RawMessage }{locks, changes} {
		if names := slices.Sorted(maps.Keys(list)); !slices.Equal(names, forms) {
			t.Fatalf("the examples are %q", names)
		}
	}
	for _, name := range forms {
		event, other := seated.text("id"), map[string]any{"seatIds": []string{"A-2-11"}}
		if name == "seats" {
			event, other = unseated.text("id"), map[string]any{"seats": 1}
		}
		asShown := strings.NewReplacer("6b0166d19f73b711049e40f1", event, "6b0166d19f73b711049e40f2", user, "cart-1", name).
			Replace(string(locks[name].Value))
		made := s.want(s.call("POST", "/api/locks", asShown), 201, "")
		if shown, has := of("/api/locks", "post", "201")[name]; has {
			sameForm(name, made.raw, shown.Value)
		}
		path := "/api/locks/" + made.text("id") + "/seats"
		s.want(s.call("PUT", path, other), 200, "")
		changed := s.want(s.call("PUT", path, string(changes[name].Value)), 200, "")
		if shown, has := of("/api/locks/{id}/seats", "put", "200")[name]; has {
			sameForm(name, changed.raw, shown.Value)
		}
		if name != "seatIds" && name != "section" { // the example of the map has these
			s.want(s.call("DELETE", "/api/locks/"+made.text("id"), nil), 200, "")
		}
	}
	seatMaps := of("/api/events/{id}/seats", "get", "200")
	for _, format := range []string{"bitmap", "ids"} {
		answer := s.want(s.call("GET", "/api/events/"+seated.text("id")+"/seats?format="+format, nil), 200, "")
		sameForm(format, answer.raw, seatMaps[format].Value)
		if want := object(t, string(seatMaps[format].Value)); !reflect.DeepEqual(answer.body["sections"], want["sections"]) ||
			!reflect.DeepEqual(answer.body["categories"], want["categories"]) {
			t.Errorf("%s: the answer is %s, not %s", format, answer.raw, seatMaps[format].Value)
		}
	}
	for _, action := range []string{"block", "unblock"} {
		shown := of("/api/events/{id}/seats/"+action, "post", "")["seats"].Value
		s.want(s.call("POST", "/api/events/"+seated.text("id")+"/seats/"+action, string(shown)), 200, "")
	}
}
