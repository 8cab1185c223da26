package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const plansPath = "/api/seating-plans"

// smallPlan has two seats.
func smallPlan(name string) fields {
	return fields{
		"name": name, "categories": []fields{{"key": "c", "name": "C"}},
		"sections": []fields{{"key": "A", "name": "A", "category": "c", "rows": []fields{{"key": "1", "seats": 2}}}},
	}
}

// givenPlan has all that a plan may have, and writtenPlan is the same plan written out.
const givenPlan = `{"name":" Main \"hall\" ",
 "categories":[{"key":"stalls","name":"Stalls","color":"#0b5d66"},{"key":"standing","name":"Standing"}],
 "focalPoint":{"x":50,"y":0},
 "decorations":[{"kind":"stage","points":[[35,-10],[65,-10],[50,-2.5]],"text":"\"sections\":[]"},{"kind":"wall","points":[[0,30],[100,30]]},
  {"kind":"area","points":[[0,1],[2,3],[4,5]],"floor":"0"},{"kind":"text","at":[2,32],"text":"<b>&amp;"},
  {"kind":"icon","at":[8,32],"icon":"toilet"}],
 "sections":[
  {"key":"A","name":"Stalls left","category":"stalls","floor":"0","entrance":"West","rows":[
    {"key":"1","label":"Row 1","seats":[{"id":"A-1-1","label":"1","x":10,"y":20.5,"accessible":true},{"id":"A-1-2","companion":true},null,
     {"id":"A-1-3","restrictedView":true,"note":"behind the desk",
      "viewUrl":"https://a.example/b?c=d&e"}]},
    {"key":"2","seats":2,"category":"standing","adjacency":"ALL"}]},
  {"key":"pit","name":"Standing","category":"standing","capacity":500,"outline":[[0,0],[40,0],[40,20.25]],
   "viewUrl":"https://a.example/pit"},
  {"key":"B","name":"\"sections\":[]","category":"stalls","rows":[{"key":"1","seats":1}]}]}`

const writtenPlan = `{"name":"Main \"hall\"",
 "categories":[{"key":"stalls","name":"Stalls","color":"#0b5d66"},{"key":"standing","name":"Standing"}],
 "focalPoint":{"x":50,"y":0},
 "decorations":[{"kind":"stage","points":[[35,-10],[65,-10],[50,-2.5]],"text":"\"sections\":[]"},{"kind":"wall","points":[[0,30],[100,30]]},
  {"kind":"area","points":[[0,1],[2,3],[4,5]],"floor":"0"},{"kind":"text","at":[2,32],"text":"<b>&amp;"},
  {"kind":"icon","at":[8,32],"icon":"toilet"}],
 "sections":[
  {"key":"A","name":"Stalls left","category":"stalls","floor":"0","entrance":"West","rows":[
    {"key":"1","label":"Row 1","category":"stalls","adjacency":"LINE","seats":[
     {"id":"A-1-1","label":"1","category":"stalls","x":10,"y":20.5,"accessible":true},
     {"id":"A-1-2","label":"2","category":"stalls","x":2,"y":0,"companion":true},null,
     {"id":"A-1-3","label":"4","category":"stalls","x":4,"y":0,"restrictedView":true,"note":"behind the desk",
      "viewUrl":"https://a.example/b?c=d&e"}]},
    {"key":"2","label":"2","category":"standing","adjacency":"ALL","seats":[
     {"id":"A-2-1","label":"1","category":"standing","x":1,"y":1},{"id":"A-2-2","label":"2","category":"standing","x":2,"y":1}]}]},
  {"key":"pit","name":"Standing","category":"standing","capacity":500,"outline":[[0,0],[40,0],[40,20.25]],
   "viewUrl":"https://a.example/pit"},
  {"key":"B","name":"\"sections\":[]","category":"stalls","rows":[{"key":"1","label":"1","category":"stalls","adjacency":"LINE","seats":[
     {"id":"B-1-1","label":"1","category":"stalls","x":1,"y":0}]}]}]}`

func object(t testing.TB, text string) (v fields) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err, text)
	}
	return v
}

func TestSeatingPlans_AreAnsweredInBriefAndWhole(t *testing.T) {
	t.Parallel()
	s := open(t)
	made := s.want(s.call("POST", plansPath, givenPlan), 201, "")
	id, at := made.text("id"), made.text("createdAt")
	brief := fmt.Sprintf(`{"id":%q,"name":"Main \"hall\"","totalSeats":506,
		"categories":[{"key":"stalls","name":"Stalls","color":"#0b5d66"},{"key":"standing","name":"Standing"}],
		"sections":[{"key":"A","name":"Stalls left","category":"stalls","seats":5},
			{"key":"pit","name":"Standing","category":"standing","seats":500},
			{"key":"B","name":"\"sections\":[]","category":"stalls","seats":1}],"createdAt":%q}`, id, at)
	if !reflect.DeepEqual(object(t, made.raw), object(t, brief)) || made.header.Get("Location") != plansPath+"/"+id {
		t.Errorf("created %v %s, want %s", made.header, made.raw, brief)
	}
	listed := s.want(s.call("GET", plansPath, nil), 200, "")
	if !reflect.DeepEqual(listed.body["items"], []any{map[string]any(object(t, brief))}) {
		t.Errorf("the list is %s", listed.raw)
	}
	whole := s.want(s.call("GET", plansPath+"/"+id, nil), 200, "")
	want := object(t, writtenPlan)
	want["id"], want["createdAt"] = id, at
	if !reflect.DeepEqual(object(t, whole.raw), want) {
		t.Errorf("read %s, want %v", whole.raw, want)
	}
	if got := whole.header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
		t.Errorf("Cache-Control is %q", got)
	}
	sections := want["sections"].([]any)
	for query, numbers := range map[string][]int{
		"?section=A": {0}, "?section=B&section=A": {0, 2}, "?section=pit&section=pit": {1}, "?section=A&section=pit&section=B": {0, 1, 2},
	} {
		some := []any{}
		for _, n := range numbers {
			some = append(some, sections[n])
		}
		a := s.want(s.call("GET", plansPath+"/"+id+query, nil), 200, "")
		if want["sections"] = some; !reflect.DeepEqual(object(t, a.raw), want) {
			t.Errorf("%s: %s", query, a.raw)
		}
	}
	// A plan that was written out is the same plan.
	delete(want, "id")
	delete(want, "createdAt")
	want["sections"] = sections
	again := s.want(s.call("POST", plansPath, want), 201, "")
	a := s.want(s.call("GET", plansPath+"/"+again.text("id"), nil), 200, "")
	if !reflect.DeepEqual(a.body["sections"], want["sections"]) {
		t.Errorf("of the plan written out: %s", a.raw)
	}
}

// The example of the OpenAPI document can be sent as it is, and each key of a plan is described.
func TestSeatingPlans_AreDescribed(t *testing.T) {
	t.Parallel()
	s := open(t)
	var document struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct {
					Schema  schema
					Example json.RawMessage
				}
			}
		}
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal([]byte(s.call("GET", "/openapi.json", nil).raw), &document); err != nil {
		t.Fatal(err)
	}
	body := document.Paths[plansPath]["post"].RequestBody.Content["application/json"]
	s.want(s.call("POST", plansPath, string(body.Example)), 201, "")
	for name, keys := range map[string][]string{
		"SeatingPlanSection":    {"capacity", "category", "entrance", "floor", "key", "name", "outline", "rows", "viewUrl"},
		"SeatingPlanRow":        {"adjacency", "category", "key", "label", "seats"},
		"SeatingPlanSeat":       {"accessible", "category", "companion", "id", "label", "note", "restrictedView", "viewUrl", "x", "y"},
		"SeatingPlanDecoration": {"at", "floor", "icon", "kind", "points", "text"},
		strings.TrimPrefix(body.Schema.Ref, "#/components/schemas/"): {
			"categories", "decorations", "focalPoint", "idempotencyKey", "name", "sections",
		},
	} {
		if got := slices.Sorted(maps.Keys(document.Components.Schemas[name].Properties)); !slices.Equal(got, keys) {
			t.Errorf("%s has %v, want %v", name, got, keys)
		}
	}
	if seats := document.Components.Schemas["SeatingPlanRow"].Properties["seats"]; len(seats.OneOf) != 2 {
		t.Errorf("seats are %+v", seats)
	}
}

func TestSeatingPlans_AreReadOnceByACache(t *testing.T) {
	t.Parallel()
	s := open(t)
	path := plansPath + "/" + s.want(s.call("POST", plansPath, smallPlan("P")), 201, "").text("id")
	etag := s.want(s.call("GET", path, nil), 200, "").header.Get("ETag")
	if len(etag) < 26 || etag[0] != '"' {
		t.Fatalf("the ETag %q is not strong", etag)
	}
	for match, status := range map[string]int{
		etag: 304, `"x", ` + etag: 304, "W/" + etag: 304, "*": 304, `"x"`: 200, strings.Trim(etag, `"`): 200,
	} {
		a := s.call("GET", path+"?section=A", nil, "If-None-Match", match)
		if a.status != status || a.header.Get("ETag") != etag || a.header.Get("Cache-Control") == "" || (a.raw == "") != (status == 304) {
			t.Errorf("%s: %d %v %q, want %d", match, a.status, a.header, a.raw, status)
		}
	}
	if status := s.statusOf(path, http.Header{"If-None-Match": {`"x"`, etag}}); status != 304 {
		t.Errorf("with the ETag in a second line: %d", status)
	}
	s.want(s.call("GET", path+"?section=X", nil, "If-None-Match", etag), 422, "VALIDATION_FAILED")
	none := s.want(s.call("GET", plansPath+"/"+mongodb.NewID().String(), nil, "If-None-Match", "*"), 404, "SEATING_PLAN_NOT_FOUND")
	if none.header.Get("ETag")+none.header.Get("Cache-Control") != "" {
		t.Errorf("a refusal may be cached: %v", none.header)
	}
	if head := s.call("HEAD", path, nil); head.status != 200 || head.header.Get("ETag") != etag || head.raw != "" {
		t.Errorf("HEAD: %d %v %q", head.status, head.header, head.raw)
	}
}

func TestSeatingPlans_RefusalsSayWhereAndWhat(t *testing.T) {
	t.Parallel()
	s := open(t)
	const invalid, malformed = "VALIDATION_FAILED", "MALFORMED_REQUEST"
	s.checkShapes(t, "POST", plansPath, []shapeOf{
		{"a seat's ID", strings.Replace(givenPlan, `"A-1-3"`, `"-"`, 1), 422, invalid, `"body.sections[0].rows[0].seats[3].id"`},
		{"a doubled section", strings.Replace(givenPlan, `"key":"pit"`, `"key":"A"`, 1), 422, invalid, `"body.sections[1].key"`},
		{"no plan", `{}`, 422, invalid, `"body.sections"`},
		{"an unknown key", strings.Replace(givenPlan, `"label":"1"`, `"Label":"1"`, 1), 422, invalid,
			`"body.sections[0].rows[0].seats[0].Label"`},
		{"a repeated key", strings.Replace(givenPlan, `"label":"1"`, `"x":1`, 1), 400, malformed, "same key"},
		{"a list", `[]`, 422, invalid, `"body"`},
		{"null", `null`, 422, invalid, `"body"`},
		{"cut off", givenPlan[:100], 400, malformed, "not JSON"},
		{"nothing", ``, 400, malformed, "required"},
		{"not UTF-8", "{\"name\":\"\xff\"}", 400, malformed, "UTF-8"},
		{"an empty key", strings.Replace(givenPlan, `{`, `{"idempotencyKey":"",`, 1), 422, invalid, `"body.idempotencyKey"`},
	})
	wrong := strings.Replace(givenPlan, `"seats":2`, `"seats":[`+strings.TrimSuffix(strings.Repeat(`{"id":"-"},`, 400), ",")+`]`, 1)
	if a := s.want(s.call("POST", plansPath, wrong), 422, invalid); len(a.body["errors"].([]any)) != 100 {
		t.Errorf("%d problems, want the first 100", len(a.body["errors"].([]any)))
	}
	s.want(s.call("POST", plansPath, givenPlan, "Content-Type", "text/plain"), 415, "UNSUPPORTED_MEDIA_TYPE")
	s.want(s.call("POST", plansPath, givenPlan, "Content-Type", "application/json; charset=utf-8"), 201, "")
	s.want(s.call("POST", plansPath, givenPlan, "Content-Encoding", "gzip"), 415, "UNSUPPORTED_MEDIA_TYPE")
	s.want(s.call("POST", plansPath+"?section=A", givenPlan), 422, invalid)

	path := plansPath + "/" + s.want(s.call("POST", plansPath, smallPlan("P")), 201, "").text("id")
	for query, status := range map[string]int{
		"?section=": 422, "?section=a": 422, "?section=A&section=B": 422, "?x=1": 422, "?section=A&x=1": 422, "?pageSize=1&section=A": 422,
	} {
		s.want(s.call("GET", path+query, nil), status, invalid)
	}
	s.want(s.call("GET", plansPath+"/x", nil), 422, invalid)
	s.want(s.call("GET", plansPath+"?pageSize=1&pageSize=2", nil), 422, invalid)
	for _, method := range []string{"PUT", "PATCH", "DELETE"} {
		s.want(s.call(method, path, nil), 405, "METHOD_NOT_ALLOWED")
	}
	if n, err := s.w.DB.Collection("seatingplans").CountDocuments(s.w.Ctx(), bson.D{}); err != nil || n != 2 {
		t.Errorf("%d plans, %v", n, err)
	}
}

func TestSeatingPlans_ListHasPages(t *testing.T) {
	t.Parallel()
	s := open(t)
	var names []string
	for n := range 5 {
		names = append(names, fmt.Sprintf("P%d", n))
		s.want(s.call("POST", plansPath, smallPlan(names[n])), 201, "")
	}
	s.w.Insert("seatingplans", bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "name", Value: "of other software"}})
	s.w.Insert("seatingplans", bson.D{{Key: "_id", Value: "x"}, {Key: "sections", Value: 5}})
	var got []string
	for token := ""; ; {
		page := s.want(s.call("GET", plansPath+"?pageSize=2"+token, nil), 200, "")
		for _, item := range page.body["items"].([]any) {
			got = append(got, item.(map[string]any)["name"].(string))
		}
		if token = "&pageToken=" + page.text("nextPageToken"); page.text("nextPageToken") == "" {
			break
		}
	}
	if !slices.Equal(got, names) {
		t.Errorf("listed %v, want %v", got, names)
	}
}

// A plan with a missing part is an error, not a plan with fewer seats, and no cache keeps it.
func TestSeatingPlans_DamageIsNotCached(t *testing.T) {
	t.Parallel()
	s := open(t)
	sections := []fields{}
	for n := range 4 {
		rows := []fields{}
		for r := range 40 {
			rows = append(rows, fields{"key": fmt.Sprint(r), "seats": holdfast.MaxRowSeats})
		}
		sections = append(sections, fields{"key": fmt.Sprint("S", n), "name": "S", "category": "c", "rows": rows})
	}
	plan := smallPlan("P")
	plan["sections"] = sections
	path := plansPath + "/" + s.want(s.call("POST", plansPath, plan), 201, "").text("id")
	if _, err := s.w.DB.Collection("seatingsections").DeleteOne(s.w.Ctx(), bson.D{{Key: "key", Value: "S3"}}); err != nil {
		t.Fatal(err)
	}
	if a := s.want(s.call("GET", path+"?section=S3", nil), 503, "UNAVAILABLE"); a.header.Get("Cache-Control")+a.header.Get("ETag") != "" {
		t.Errorf("the failure may be cached: %v", a.header)
	}
	s.want(s.call("GET", path+"?section=S0", nil), 200, "")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil {
		t.Errorf("the response of %d bytes ended as if it were whole", len(text))
	}
	if len(s.w.Log.Lines("Request failed")) < 2 {
		t.Error("the log does not have both failures")
	}
}
