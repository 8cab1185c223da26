package planfile

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

const jsonExample = `{"name":"Main hall",
 "categories":[{"key":"stalls","name":"Stalls","color":"#0b5d66"},{"key":"standing","name":"Standing"}],
 "focalPoint":{"x":50,"y":0},
 "decorations":[{"kind":"stage","points":[[35,-10],[65,-10],[50,-2.5]],"text":"Stage <b>&amp;"},
  {"kind":"area","points":[[0,1],[2,3],[4,5]],"floor":"0"},
  {"kind":"wall","points":[[0,30],[100,30]]},{"kind":"text","at":[2,32],"text":"Foyer"},{"kind":"icon","at":[8,32.125],"icon":"toilet"}],
 "sections":[
  {"key":"A","name":"Stalls left","category":"stalls","floor":"0","entrance":"West","rows":[
    {"key":"1","label":"Row 1","seats":[{"id":"A-1-1","label":"1","x":10,"y":20.5,"accessible":true},{"id":"A-1-2","companion":true},
      null,{"id":"A-1-3","restrictedView":true,"note":"behind the desk","viewUrl":"https://a.example/3.jpg?a=b&c"}]},
    {"key":"2","seats":40}]},
  {"key":"pit","name":"Standing","category":"standing","capacity":500,"outline":[[0,0],[40,0],[40,20]],"viewUrl":"https://a.example/pit"}]}`

func TestReadJSON_AnExample(t *testing.T) {
	t.Parallel()
	const unit = holdfast.Unit
	want := holdfast.SeatingPlan{
		Name:       "Main hall",
		Categories: []holdfast.Category{{Key: "stalls", Name: "Stalls", Color: "#0b5d66"}, {Key: "standing", Name: "Standing"}},
		FocalPoint: &holdfast.Point{X: 50 * unit},
		Decorations: []holdfast.Decoration{
			{
				Kind: holdfast.DecorationStage, Text: "Stage <b>&amp;",
				Points: []holdfast.Point{{X: 35 * unit, Y: -10 * unit}, {X: 65 * unit, Y: -10 * unit}, {X: 50 * unit, Y: -2500}},
			},
			{Kind: holdfast.DecorationArea, Points: []holdfast.Point{{Y: unit}, {X: 2 * unit, Y: 3 * unit}, {X: 4 * unit, Y: 5 * unit}}, Floor: "0"},
			{Kind: holdfast.DecorationWall, Points: []holdfast.Point{{Y: 30 * unit}, {X: 100 * unit, Y: 30 * unit}}},
			{Kind: holdfast.DecorationText, At: &holdfast.Point{X: 2 * unit, Y: 32 * unit}, Text: "Foyer"},
			{Kind: holdfast.DecorationIcon, At: &holdfast.Point{X: 8 * unit, Y: 32_125}, Icon: "toilet"},
		},
		Sections: []holdfast.Section{
			{Key: "A", Name: "Stalls left", Category: "stalls", Floor: "0", Entrance: "West", Rows: []holdfast.Row{
				{Key: "1", Label: "Row 1", Seats: []*holdfast.Seat{
					{ID: "A-1-1", Label: "1", X: new(10 * unit), Y: new(20*unit + 500), Accessible: true}, {ID: "A-1-2", Companion: true},
					nil, {ID: "A-1-3", RestrictedView: true, Note: "behind the desk", ViewURL: "https://a.example/3.jpg?a=b&c"},
				}},
				{Key: "2", Count: 40},
			}},
			{
				Key: "pit", Name: "Standing", Category: "standing", Capacity: 500,
				Outline: []holdfast.Point{{}, {X: 40 * unit}, {X: 40 * unit, Y: 20 * unit}}, ViewURL: "https://a.example/pit",
			},
		},
	}
	got, problems, err := ReadJSON([]byte(jsonExample))
	if err != nil || len(problems) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, %v", got, problems, err)
	}
}

// jsonWrong are changes of the example: old becomes new, and is then refused.
var jsonWrong = []struct{ old, new, where, what string }{
	{`"name":"Main hall"`, `"name":"Main hall","NAME":"x"`, "NAME", "unexpected property"},
	{`"name":"Main hall",`, ``, "name", "expected required property name to be present"},
	{`"name":"Main hall"`, `"name":null`, "name", "expected string"},
	{`"name":"Main hall"`, `"name":""`, "name", "blank"},
	{`"name":"Main hall"`, `"name":"Main hall","idempotencyKey":"k"`, "idempotencyKey", "unexpected property"},
	{`"name":"Main hall"`, `"name":"Main hall","` + strings.Repeat("é", 40) + `":["]}\""]`, strings.Repeat("é", 32) + "...", "unexpected"},
	{`"color":"#0b5d66"`, `"color":""`, "categories[0].color", "length"},
	{`"color":"#0b5d66"`, `"color":"red"`, "categories[0].color", "#rrggbb"},
	{`"focalPoint":{"x":50,"y":0}`, `"focalPoint":{"x":50}`, "focalPoint.y", "required"},
	{`"focalPoint":{"x":50,"y":0}`, `"focalPoint":{"x":"50","y":0}`, "focalPoint.x", "expected number"},
	{`"focalPoint":{"x":50,"y":0}`, `"focalPoint":{"x":50,"y":1e999}`, "focalPoint.y", "100000"},
	{`"focalPoint":{"x":50,"y":0}`, `"focalPoint":[50,0]`, "focalPoint", "expected object"},
	{`"id":"A-1-3"`, `"id":7`, "sections[0].rows[0].seats[3].id", "expected string"},
	{`"id":"A-1-3",`, ``, "sections[0].rows[0].seats[3].id", "required"},
	{`"id":"A-1-3"`, `"id":"A-1-1"`, "sections[0].rows[0].seats[3].id", "sections[0].rows[0].seats[0]"},
	{`"id":"A-1-3"`, `"id":"A-1-3","seat":[1,{"a":"}"}]`, "sections[0].rows[0].seats[3].seat", "unexpected property"},
	{`"note":"behind the desk"`, `"note":["behind the desk"]`, "sections[0].rows[0].seats[3].note", "expected string"},
	{`"restrictedView":true`, `"restrictedView":"true"`, "sections[0].rows[0].seats[3].restrictedView", "expected boolean"},
	{`"x":10`, `"x":false`, "sections[0].rows[0].seats[0].x", "expected number"},
	{`"seats":40`, `"seats":40.5`, "sections[0].rows[1].seats", "expected integer"},
	{`"seats":40`, `"seats":"40"`, "sections[0].rows[1].seats", "expected integer or array"},
	{`"seats":40`, `"seats":null`, "sections[0].rows[1].seats", "expected integer or array"},
	{`"seats":40`, `"seats":0`, "sections[0].rows[1].seats", "not 0"},
	{`"seats":40`, `"seats":-9e99`, "sections[0].rows[1].seats", "1 to 500"},
	{`"seats":40`, `"seats":[]`, "sections[0].rows[1].seats", "1 to 500"},
	{`"seats":40`, `"seats":[7]`, "sections[0].rows[1].seats[0]", "expected object"},
	{`"capacity":500`, `"capacity":0`, "sections[1].capacity", "The number must be from 1 to 10000000, not 0."},
	{`"capacity":500`, `"capacity":-1`, "sections[1].capacity", "not -1"},
	{`"capacity":500`, `"capacity":"500"`, "sections[1].capacity", "expected number"},
	{`"capacity":500`, `"capacity":10000001`, "sections[1].capacity", "not 10000001"},
	{`"capacity":500`, `"capacity":null`, "sections[1].rows", "capacity"},
	{`"capacity":500`, `"capacity":500,"rows":[{"key":"1","seats":1}]`, "sections[1].capacity", "either"},
	{`[40,20]`, `[40]`, "sections[1].outline[2]", "2 numbers"},
	{`[40,20]`, `[40,20,0]`, "sections[1].outline[2]", "2 numbers"},
	{`[40,20]`, `[40,null]`, "sections[1].outline[2][1]", "expected number"},
	{`[40,20]`, `40`, "sections[1].outline[2]", "expected array"},
	{`[[0,0],[40,0],[40,20]]`, `{}`, "sections[1].outline", "expected array"},
	{`"viewUrl":"https://a.example/pit"`, `"viewUrl":7`, "sections[1].viewUrl", "expected string"},
	{`"viewUrl":"https://a.example/pit"`, `"viewUrl":"http://a.example/pit"`, "sections[1].viewUrl", "https://"},
	{`"viewUrl":"https://a.example/3.jpg?a=b&c"`, `"viewURL":""`, "sections[0].rows[0].seats[3].viewURL", "unexpected property"},
	{`"viewUrl":"https://a.example/3.jpg?a=b&c"`, `"viewUrl":""`, "sections[0].rows[0].seats[3].viewUrl", "length"},
	{`{"kind":"wall",`, `{`, "decorations[2].kind", "required"},
	{`"kind":"wall"`, `"kind":"door"`, "decorations[2].kind", "stage, area, wall"},
	{`"kind":"wall"`, `"kind":"area"`, "decorations[2].points", "3 to 200"},
	{`[[0,30],[100,30]]`, `{}`, "decorations[2].points", "expected array"},
	{`[[0,30],[100,30]]`, `[[0,30],[100]]`, "decorations[2].points[1]", "2 numbers"},
	{`[[0,30],[100,30]]`, `[[0,30],{"x":100,"y":30}]`, "decorations[2].points[1]", "expected array"},
	{`[[0,30],[100,30]]`, `[[0,30],[100,1e999]]`, "decorations[2].points[1]", "100000"},
	{`[[0,30],[100,30]]`, `null`, "decorations[2].points", "2 to 200"},
	{`"at":[2,32]`, `"at":{"x":2,"y":32}`, "decorations[3].at", "expected array"},
	{`"at":[2,32]`, `"at":[2]`, "decorations[3].at", "2 numbers"},
	{`"at":[2,32]`, `"at":null`, "decorations[3].at", "must have a position"},
	{`"text":"Foyer"`, `"text":"\u0007"`, "decorations[3].text", ""},
	{`"icon":"toilet"`, `"icon":"WC"`, "decorations[4].icon", "toilet"},
	{`"icon":"toilet"`, `"icon":"toilet","color":"red"`, "decorations[4].color", "unexpected property"},
}

func TestReadJSON_NamesThePathOfEveryProblem(t *testing.T) {
	t.Parallel()
	for _, row := range jsonWrong {
		t.Run(row.new, func(t *testing.T) {
			t.Parallel()
			if strings.Count(jsonExample, row.old) != 1 {
				t.Fatal("the example has changed: ", row.old)
			}
			_, problems, err := ReadJSON([]byte(strings.Replace(jsonExample, row.old, row.new, 1)))
			if err != nil || len(problems) != 1 || problems[0].Where != row.where || !strings.Contains(problems[0].What, row.what) {
				t.Errorf("want %q at %s, got %v, %v", row.what, row.where, problems, err)
			}
		})
	}
}

func TestReadJSON_AcceptsOtherWaysToWriteTheSame(t *testing.T) {
	t.Parallel()
	want, _, _ := ReadJSON([]byte(jsonExample))
	for _, row := range [][2]string{
		{`"seats":40`, `"seats":4.0e1`}, {`"seats":40`, " \"seats\" :\t40 \r\n"}, {`"x":10`, `"x":10.0004`},
		{`"x":10`, `"x":9.9996`}, {`"x":10`, `"x":1e1`},
		{`"restrictedView":true`, `"restrictedView":true,"x":null,"label":null,"companion":null,"accessible":false`},
		{`"id":"A-1-3"`, `"\u0069d":"A\u002d1-3"`}, {`"capacity":500`, `"capacity":500,"rows":null`}, {`"key":"pit"`, `"rows":null,"key":"pit"`},
		{`"at":[2,32]`, `"points":null,"icon":null,"floor":null,"at":[2.0,32]`}, {`"at":[2,32]`, `"points":[],"at":[2,32]`},
	} {
		got, problems, err := ReadJSON([]byte(strings.Replace(jsonExample, row[0], row[1], 1)))
		if err != nil || len(problems) > 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", row[1], problems, err)
		}
	}
}

func TestReadJSON_RefusesWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"": "byte 0", "{": "byte 1", "{}x": "byte 3",
		"{\"name\":\"\xff\"}": "UTF-8", `{"name":"\ud800"}`: "surrogate", `{"name":1,"name":2}`: "twice",
	} {
		if _, _, err := ReadJSON([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"[]", "null", "7", `"x"`, " true "} {
		if _, problems, err := ReadJSON([]byte(text)); err != nil || len(problems) != 1 || problems[0].Where != "" {
			t.Errorf("%q: %v, %v", text, problems, err)
		}
	}
}

// A key that is not known hides no other problem.
func TestReadJSON_SaysWhatIsWrongBesideTheForm(t *testing.T) {
	t.Parallel()
	_, problems, err := ReadJSON([]byte(strings.NewReplacer(`{"name"`, `{"sec":1,"name"`, `"id":"A-1-3"`, `"id":"-"`).Replace(jsonExample)))
	if err != nil || len(problems) != 2 || problems[0].Where != "sec" || problems[1].Where != "sections[0].rows[0].seats[3].id" {
		t.Error(problems, err)
	}
}

func TestReadRequest_HasAKey(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"k"`: "k", `null`: "", `""`: "length", `5`: "string", `"` + strings.Repeat("k", 201) + `"`: "200",
	} {
		_, key, problems, err := ReadRequest([]byte(strings.Replace(jsonExample, `{"name"`, `{"idempotencyKey":`+value+`,"name"`, 1)))
		refused := len(problems) == 1 && problems[0].Where == "idempotencyKey" && strings.Contains(problems[0].What, want)
		if err != nil || !refused && (key != want || len(problems) > 0) {
			t.Errorf("%s: %q, %v, %v", value, key, problems, err)
		}
	}
}

func TestReadJSON_StopsAfterAHundredProblems(t *testing.T) {
	t.Parallel()
	_, problems, err := ReadJSON([]byte(`{"sections":[` + strings.Repeat(`{"x":1},`, 1000) + `{}]}`))
	if err != nil || len(problems) != seating.MaxProblems || problems[0].Where != "sections[0].x" {
		t.Error(err, problems)
	}
}

func TestReadJSON_NamesTheFirstPartBeyondALimit(t *testing.T) {
	t.Parallel()
	var categories []string
	for i := range holdfast.MaxPlanCategories + 1 {
		categories = append(categories, fmt.Sprintf(`{"key":"c%d","name":"C"}`, i))
	}
	text := `{"name":"Hall","sections":[],"categories":[` + strings.Join(categories, ",") + `]}`
	_, problems, err := ReadJSON([]byte(text))
	if err != nil || len(problems) != 1 || problems[0].Where != "categories[64]" || !strings.Contains(problems[0].What, "at most 64") {
		t.Error(problems, err)
	}
}

// Parts beyond the limits are refused without being kept: {} takes far more memory than text.
func TestReadJSON_KeepsNothingBeyondTheLimits(t *testing.T) { // alone, because it measures what the process allocates
	many := func(part string, n int) string { return strings.Repeat(part+",", n) + part }
	for where, text := range map[string]string{
		"categories[64]":                  `{"categories":[` + many("{}", 1_000_000) + `]}`,
		"sections[500]":                   `{"sections":[` + many(`{}`, 1_000_000) + `]}`,
		"sections[0].rows[200000]":        `{"sections":[{"rows":[` + many(`{}`, 1_000_000) + `]}]}`,
		"sections[0].rows[0].seats[1000]": `{"sections":[{"rows":[{"seats":[` + many(`{}`, 1_000_000) + `]}]}]}`,
		"decorations[2000]":               `{"decorations":[` + many(`{}`, 1_000_000) + `]}`,
		"decorations[0].points[200]":      `{"decorations":[{"points":[` + many(`[1,1]`, 1_000_000) + `]}]}`,
		"sections[0].outline[200]":        `{"sections":[{"outline":[` + many(`[1,1]`, 1_000_000) + `]}]}`,
	} {
		t.Run(where, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			plan, problems, err := ReadJSON([]byte(text))
			runtime.ReadMemStats(&after)
			if err != nil || len(problems) == 0 || after.TotalAlloc-before.TotalAlloc > 200<<20 {
				t.Errorf("%v, %v, %d bytes", problems, err, after.TotalAlloc-before.TotalAlloc)
			}
			runtime.KeepAlive(plan)
		})
	}
}

func TestWriteJSON_ALineForEachRow(t *testing.T) {
	t.Parallel()
	plan, _, _ := ReadJSON([]byte(jsonExample))
	text, err := WriteJSON(plan)
	if err != nil || strings.Count(string(text), "\n") != 18 || !strings.Contains(string(text), "\n   {\"key\":\"2\",\"seats\":40}]}") {
		t.Errorf("%s %v", text, err)
	}
}

// What is written is read back, and says nothing more than the plan.
func TestPlanOf_IsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		coordinate := rapid.Int64Range(-int64(holdfast.MaxPlanCoordinate), int64(holdfast.MaxPlanCoordinate))
		plan, _, _ := ReadJSON([]byte(jsonExample))
		seat := plan.Sections[0].Rows[0].Seats[3]
		seat.X = new(holdfast.Thousandths(coordinate.Draw(t, "x")))
		seat.Note = rapid.StringMatching(`[a-zé"\\<>{}\x{1F600}]{1,200}`).Draw(t, "note")
		plan.FocalPoint.Y = holdfast.Thousandths(coordinate.Draw(t, "y"))
		plan.Decorations[3].At.Y = holdfast.Thousandths(coordinate.Draw(t, "at"))
		plan.Decorations[0].Points[2].X = holdfast.Thousandths(coordinate.Draw(t, "point"))
		plan.Decorations[4].Text = rapid.StringMatching(`[a-zé"\\<>{}]{0,200}`).Draw(t, "text")
		if rapid.Bool().Draw(t, "no decorations") {
			plan.Decorations = nil
		}
		if rapid.Bool().Draw(t, "written out") {
			plan = seating.Expand(plan)
		}
		text, err := json.Marshal(PlanOf(plan))
		if err != nil {
			t.Fatal(err)
		}
		if got, problems, err := ReadJSON(text); err != nil || len(problems) > 0 || !reflect.DeepEqual(got, plan) {
			t.Fatalf("%s: %v, %v", text, problems, err)
		}
		if text, err = WriteJSON(plan); err != nil {
			t.Fatal(err)
		}
		if got, problems, err := ReadJSON(text); err != nil || len(problems) > 0 || !reflect.DeepEqual(got, plan) {
			t.Fatalf("%s: %v, %v", text, problems, err)
		}
	})
}

// large is the text of a plan of 100,000 seats, each with a position.
func large(t testing.TB) []byte {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"name":"Stadium","categories":[{"key":"a","name":"A"}],"focalPoint":{"x":0,"y":0},"sections":[`)
	for s := range 100 {
		fmt.Fprintf(&b, `%s{"key":"%d","name":"S","category":"a","rows":[`, strings.Repeat(",", min(s, 1)), s)
		for r := range 25 {
			fmt.Fprintf(&b, `%s{"key":"%d","seats":[`, strings.Repeat(",", min(r, 1)), r)
			for n := range 40 {
				fmt.Fprintf(&b, `%s{"id":"%d-%d-%d","x":%d.5,"y":%d.25}`, strings.Repeat(",", min(n, 1)), s, r, n, n, r)
			}
			b.WriteString("]}")
		}
		b.WriteString("]}")
	}
	b.WriteString("]}")
	return []byte(b.String())
}

func TestReadJSON_ALargePlan(t *testing.T) {
	t.Parallel()
	plan, problems, err := ReadJSON(large(t))
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	if h, err := seating.NewHall(plan); err != nil || h.TotalSeats() != 100_000 {
		t.Error(h, err)
	}
}

func BenchmarkReadJSON_100000Seats(b *testing.B) {
	text := large(b)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, problems, err := ReadJSON(text); err != nil || len(problems) > 0 {
			b.Fatal(problems, err)
		}
	}
}

func BenchmarkWriteJSON_100000Seats(b *testing.B) {
	plan, _, _ := ReadJSON(large(b))
	plan = seating.Expand(plan)
	for b.Loop() {
		if _, err := json.Marshal(PlanOf(plan)); err != nil {
			b.Fatal(err)
		}
	}
}
