package planfile

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

var update = flag.Bool("update", false, "write the golden files")

// The plan in testdata has what a plan of the format may have: see its golden files, which a
// person has read.
func TestReadPretix_APlanWithEverything(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/chamber.json")
	if err != nil {
		t.Fatal(err)
	}
	for file, options := range map[string]Options{"chamber.golden": {}, "chamber-as-listed.golden": {AsListed: true}} {
		plan, report := readAll(t, text, options)
		var got strings.Builder
		for _, note := range report {
			fmt.Fprintln(&got, note)
		}
		form := PlanOf(plan)
		for _, c := range form.Categories {
			fmt.Fprintln(&got, line(t, c))
		}
		for _, s := range form.Sections {
			fmt.Fprintln(&got, "section", s.Key, s.Name, s.Category)
			for _, row := range s.Rows {
				fmt.Fprintln(&got, " row", row.Key, row.Label, row.Category)
				for _, seat := range row.Seats.List {
					fmt.Fprintln(&got, "  "+line(t, seat))
				}
			}
		}
		compareGolden(t, "testdata/"+file, got.String())
	}
}

func line(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readZone reads a plan of one zone with these rows, and checks that it is valid.
func readZone(t *testing.T, rows string, o Options) (holdfast.SeatingPlan, Report) {
	t.Helper()
	text := `{"name":"Hall","categories":[{"name":"c"}],"zones":[{"name":"Z","position":{"x":0,"y":0},"rows":[` + rows + `]}]}`
	return readAll(t, []byte(text), o)
}

// readAll reads a text that is a valid plan.
func readAll(t *testing.T, text []byte, o Options) (holdfast.SeatingPlan, Report) {
	t.Helper()
	c, err := Read(text, o)
	if err != nil || len(c.Problems) > 0 {
		t.Fatal(c.Problems, err)
	}
	return c.Plan, c.Report
}

// rowOf writes a row with seats at these positions, whose IDs are 0, 1 and so on.
func rowOf(number string, at ...[2]float64) string {
	var seats []string
	for i, p := range at {
		seats = append(seats, fmt.Sprintf(`{"seat_guid":"%s%d","seat_number":"%d","category":"c","position":{"x":%g,"y":%g}}`,
			number, i, i, p[0], p[1]))
	}
	return `{"row_number":"` + number + `","seats":[` + strings.Join(seats, ",") + `]}`
}

// orders writes the rows of a section, with a slash between them.
func orders(rows []holdfast.Row) string {
	var all []string
	for _, row := range rows {
		text := order(row)
		if row.Adjacency != "" {
			text += "=" + string(row.Adjacency)
		}
		all = append(all, text)
	}
	return strings.Join(all, "/")
}

// order writes the labels of a row's seats, and | for a gap.
func order(row holdfast.Row) string {
	var b strings.Builder
	for _, seat := range row.Seats {
		if seat == nil {
			b.WriteByte('|')
			continue
		}
		if n := len(seat.Label); n > 1 && b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(seat.Label)
	}
	return b.String()
}

func xs(values ...float64) (at [][2]float64) {
	for _, x := range values {
		at = append(at, [2]float64{x, 0})
	}
	return at
}

func TestReadPretix_GuessesGapsAndTheOrderOfSeats(t *testing.T) {
	t.Parallel()
	const d = 25
	for name, c := range map[string]struct {
		at         [][2]float64
		want       string
		notGuessed bool
	}{
		"one seat":                {at: xs(0), want: "0"},
		"two seats, far apart":    {at: xs(0, 900), want: "01"},
		"an aisle":                {at: xs(0, d, 2*d, 4*d, 5*d), want: "012|34"},
		"two aisles":              {at: xs(0, d, 3*d, 4*d, 6*d, 7*d), want: "01|23|45"},
		"one of three":            {at: xs(0, d, 3*d), want: "01|2"},
		"a little wider":          {at: xs(0, d, 2.5*d, 3.5*d, 4.5*d), want: "01234"},
		"just wide enough":        {at: xs(0, d, 2.65*d, 3.65*d), want: "01|23"},
		"from right to left":      {at: xs(5*d, 4*d, 2*d, d, 0), want: "01|234"},
		"upright":                 {at: [][2]float64{{0, 0}, {0, d}, {0, 2 * d}, {0, 4 * d}}, want: "012|3"},
		"all in one place":        {at: xs(7, 7, 7, 7), want: "0123"},
		"odd and even":            {at: xs(-d, d, -2*d, 2*d, -3*d, 3*d), want: "420|135"},
		"odd, then even":          {at: xs(-d, -2*d, -3*d, d, 2*d, 3*d), want: "210|345"},
		"odd and even, upright":   {at: [][2]float64{{0, -d}, {0, d}, {0, -2 * d}, {0, 2 * d}}, want: "20|13"},
		"odd and even, diagonal":  {at: [][2]float64{{-d, -d}, {d, d}, {-2 * d, -2 * d}, {2 * d, 2 * d}, {3 * d, 3 * d}}, want: "20|134"},
		"a table, in zigzag":      {at: [][2]float64{{0, 0}, {60, 0}, {0, d}, {60, d}, {0, 2 * d}, {60, 2 * d}}, want: "024/135"},
		"a table, side by side":   {at: [][2]float64{{0, 0}, {0, d}, {0, 2 * d}, {60, 2 * d}, {60, d}, {60, 0}}, want: "012/345"},
		"a round table":           {at: [][2]float64{{0, -30}, {26, -15}, {26, 15}, {0, 30}, {-26, 15}, {-26, -15}}, want: "012345=ALL"},
		"a half circle":           {at: [][2]float64{{-50, 0}, {-35, 35}, {0, 50}, {35, 35}, {50, 0}}, want: "01234"},
		"drawn a little unevenly": {at: [][2]float64{{0, 0}, {24, 3}, {51, -2}, {74, 1}, {101, 0}}, want: "01234"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, report := readZone(t, rowOf("A", c.at...), Options{})
			if got := orders(plan.Sections[0].Rows); got != c.want {
				t.Errorf("%s, want %s; %v", got, c.want, report)
			}
			if guessed := len(report) > 0; guessed != (c.want != "0123456789"[:len(c.at)]) {
				t.Errorf("the report: %v", report)
			}
			plan, report = readZone(t, rowOf("A", c.at...), Options{AsListed: true})
			if got := order(plan.Sections[0].Rows[0]); got != "0123456789"[:len(c.at)] || len(report) > 0 {
				t.Errorf("as listed: %s, %v", got, report)
			}
		})
	}
}

const pretixExample = `{"name":"Hall","size":{"width":9,"height":9},"categories":[{"name":"c","color":"#012345"},{"name":"d"}],"zones":[
 {"name":"empty","position":{"x":0,"y":0},"rows":[]},
 {"name":"Z","position":{"x":1,"y":2},"areas":[],"rows":[
  {"row_number":"0","seats":[]},
  {"row_number":"A","position":{"x":10,"y":20},"seats":[
   {"seat_guid":"g1","seat_number":"1","category":"c","position":{"x":0,"y":0}},
   {"seat_guid":"g2","seat_number":"2","category":"c","position":{"x":30,"y":0}},
   {"seat_guid":"g3","seat_number":"3","category":"d","position":{"x":100,"y":0.5}}]}]}]}`

// pretixWrong are changes of the example: old becomes new, and is then refused.
var pretixWrong = []struct{ old, new, where, what string }{
	{`"name":"Hall",`, ``, "name", "blank"},
	{`"name":"Hall"`, `"name":7`, "name", "expected string"},
	{`{"name":"c","color":"#012345"},{"name":"d"}`, ``, "categories", "1 to 64"},
	{`{"name":"c","color":"#012345"}`, `{"color":"#012345"}`, "categories[0].name", "required"},
	{`"seat_guid":"g2",`, ``, "zones[1].rows[1].seats[1].seat_guid", "required"},
	{`"seat_guid":"g2"`, `"seat_guid":2`, "zones[1].rows[1].seats[1].seat_guid", "expected string"},
	{`"seat_number":"2",`, ``, "zones[1].rows[1].seats[1].seat_number", "required"},
	{`"category":"d"`, `"category":"D"`, "zones[1].rows[1].seats[2].category", `no category "D"`},
	{`"category":"d"`, `"category":""`, "zones[1].rows[1].seats[2].category", `The seat has no category.`},
	{`"position":{"x":30,"y":0}`, `"position":{"x":30}`, "zones[1].rows[1].seats[1].position.y", "required"},
	{`"position":{"x":30,"y":0}`, `"position":[30,0]`, "zones[1].rows[1].seats[1].position", "expected object"},
	{`"x":100,"y":0.5`, `"x":1e999,"y":0.5`, "zones[1].rows[1].seats[2].position.x", "100000"},
	{`"x":1,"y":2`, `"x":"1","y":2`, "zones[1].position.x", "expected number"},
	{`"row_number":"A",`, ``, "zones[1].rows[1].row_number", "required"},
	{`"rows":[]`, `"rows":{}`, "zones[0].rows", "expected array"},
}

func TestReadPretix_NamesThePathOfEachProblem(t *testing.T) {
	t.Parallel()
	if plan, _, problems, err := readPretix([]byte(pretixExample), Options{}); err != nil || len(problems) > 0 || plan.TotalSeats() != 3 {
		t.Fatal(plan, problems, err)
	}
	for _, row := range pretixWrong {
		t.Run(row.new, func(t *testing.T) {
			t.Parallel()
			if strings.Count(pretixExample, row.old) != 1 {
				t.Fatal("the example has changed: ", row.old)
			}
			_, _, problems, err := readPretix([]byte(strings.Replace(pretixExample, row.old, row.new, 1)), Options{})
			if err != nil || len(problems) != 1 || problems[0].Where != row.where || !strings.Contains(problems[0].What, row.what) {
				t.Errorf("want %q at %s, got %v, %v", row.what, row.where, problems, err)
			}
		})
	}
}

func TestReadPretix_RefusesWhatIsNoPlan(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", `{"a":1,"a":2}`} {
		if _, _, _, err := readPretix([]byte(text), Options{}); err == nil {
			t.Errorf("%q", text)
		}
	}
	for text, where := range map[string]string{
		"[]": "", "null": "", `{"categories":[]}`: "zones", `{"name":"Hall","categories":[{"name":"c"}],"zones":[]}`: "zones",
	} {
		if _, _, problems, err := readPretix([]byte(text), Options{}); err != nil || len(problems) != 1 || problems[0].Where != where {
			t.Errorf("%q: %v, %v", text, problems, err)
		}
	}
}

func TestReadPretix_TakesTheNameOfTheFileIfThePlanHasNone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`"name":"Hall"`: "Hall", `"name":" "`: "file", `"size":null`: "file"} {
		plan, _, problems, err := readPretix([]byte(strings.Replace(pretixExample, `"name":"Hall"`, text, 1)), Options{Name: "file"})
		if text == `"size":null` {
			plan, _, problems, err = readPretix([]byte(strings.Replace(pretixExample, `"name":"Hall",`, "", 1)), Options{Name: "file"})
		}
		if err != nil || len(problems) > 0 || plan.Name != want {
			t.Errorf("%q: %v, %v", plan.Name, problems, err)
		}
	}
}

// All problems of a long plan are the first hundred, and what is beyond a limit is not kept.
func TestReadPretix_IsBounded(t *testing.T) { // alone, because it measures what the process allocates
	many := func(part string, n int) string { return strings.Repeat(part+",", n) + part }
	for name, text := range map[string]string{
		"zones":      `{"zones":[` + many(`{"rows":[]}`, 1_000_000) + `]}`,
		"rows":       `{"zones":[{"rows":[` + many(`{"seats":[]}`, 1_000_000) + `]}]}`,
		"seats":      `{"zones":[{"rows":[{"seats":[` + many(`{}`, 2_000_000) + `]}]}]}`,
		"areas":      `{"zones":[{"rows":[],"areas":[` + many(`{}`, 2_000_000) + `]}]}`,
		"categories": `{"categories":[` + many(`{}`, 2_000_000) + `]}`,
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, problems, err := readPretix([]byte(text), Options{})
			runtime.ReadMemStats(&after)
			if err != nil || len(problems) == 0 || len(problems) > seating.MaxProblems || after.TotalAlloc-before.TotalAlloc > 150<<20 {
				t.Errorf("%d problems, %v, %d bytes", len(problems), err, after.TotalAlloc-before.TotalAlloc)
			}
		})
	}
}
