package planfile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

// accessibleSeats returns the IDs of a plan's accessible seats.
func accessibleSeats(plan holdfast.SeatingPlan) (ids []string) {
	for _, s := range plan.Sections {
		for _, row := range s.Rows {
			for _, seat := range row.Seats {
				if seat != nil && seat.Accessible {
					ids = append(ids, seat.ID)
				}
			}
		}
	}
	return ids
}

func wantOptionError(t *testing.T, text string, o Options, option, says string) {
	t.Helper()
	c, err := Read([]byte(text), o)
	wrong := (*OptionError)(nil)
	if !errors.As(err, &wrong) || wrong.Option != option || !strings.Contains(wrong.What, says) {
		t.Errorf("%s of %s: %v, %v", option, text, err, c.Problems)
	}
	for _, word := range []string{"--", "query", "field"} { // each surface has its own words
		if wrong != nil && strings.Contains(wrong.What, word) {
			t.Errorf("%q has %s", wrong.What, word)
		}
	}
}

const (
	bench        = `{"name":"Bench","categories":[{"name":"c"}],"zones":[{"name":"Main Hall","zone_id":"Main","rows":[%s,%s]}]}`
	wheelchairs  = `{"name":"Hall","categories":[],"zones":[{"name":"Z","rows":[{"row_number":"1","seats":[%s]}]}]}`
	wheelchairOf = `{"seat_guid":"%d","seat_number":"%d","category":%s,"position":{"x":%d,"y":0},"x_units":1,"is_accessible":%s}`
)

func TestRead_AdjacencyOverridesWhatIsFound(t *testing.T) {
	t.Parallel()
	at := zigzag(straight(3, 0, 0, 0, 25), straight(3, 60, 0, 0, 25))
	text := fmt.Sprintf(bench, rowOf("1", at...), rowOf("2, left", at...))
	for name, c := range map[string]struct {
		adjacency []string
		want      string
	}{
		"none":                   {nil, "024/135/024/135"},
		"a row":                  {[]string{"Main/1=ALL"}, "012345=ALL/024/135"},
		"a row, as a line":       {[]string{"Main/1=line"}, "012345=LINE/024/135"},
		"a row by its label":     {[]string{"Main/2, left=NONE"}, "024/135/012345=NONE"},
		"a row by its key":       {[]string{"Main Hall/2-left=NONE"}, "024/135/012345=NONE"},
		"a section by its name":  {[]string{"Main Hall=ALL"}, "012345=ALL/012345=ALL"},
		"a section, but one row": {[]string{"Main=ALL", "Main/1=NONE"}, "012345=NONE/012345=ALL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, _ := readAll(t, []byte(text), Options{Adjacency: c.adjacency})
			if got := orders(plan.Sections[0].Rows); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	for value, says := range map[string]string{
		"Main/3=ALL": "No section", "main=ALL": "No section", "Main/=ALL": "No section",
		"Main": "such as", "Main=SOME": "such as", "": "such as", "ALL": "such as", "=ALL": "such as",
	} {
		wantOptionError(t, text, Options{Adjacency: []string{"Main=ALL", value}}, OptionAdjacency, says)
		if _, err := Read([]byte(text), Options{Adjacency: []string{"Main=ALL", value}}); err == nil || !strings.Contains(err.Error(), "alue 2") {
			t.Errorf("%s: %v does not say which value", value, err)
		}
	}
	plan, _ := readAll(t, []byte(jsonExample), Options{Adjacency: []string{"A/2=ALL"}})
	if rows := plan.Sections[0].Rows; rows[0].Adjacency != "" || rows[1].Adjacency != holdfast.AdjacencyAll {
		t.Error(rows)
	}
}

func wheelchairPlan(category string, flags ...string) string {
	var seats []string
	for i, flag := range flags {
		seats = append(seats, fmt.Sprintf(wheelchairOf, i, i, category, i, flag))
	}
	return fmt.Sprintf(wheelchairs, strings.Join(seats, ","))
}

func TestRead_MapsAPropertyToAccessible(t *testing.T) {
	t.Parallel()
	text := strings.Replace(wheelchairPlan(`"c"`, "true", "false", "null", "1", "0", `"yes"`, `"No"`, `""`), "[]", `[{"name":"c"}]`, 1)
	plan, report := readAll(t, []byte(text), Options{})
	const want = `[dropped: unknown property of seats "x_units": 8 dropped: unknown property of seats "is_accessible": 8]`
	if fmt.Sprint(report) != want || report[0].Option != "" || report[1].Option != OptionAccessible || accessibleSeats(plan) != nil {
		t.Error(report)
	}
	plan, report = readAll(t, []byte(text), Options{Accessible: "is_accessible"})
	if ids := accessibleSeats(plan); fmt.Sprint(ids, len(report)) != "[0 3 5] 1" {
		t.Error(ids, report)
	}
	for _, name := range []string{"is_accesible", "seat_guid", "Is_accessible"} {
		wantOptionError(t, text, Options{Accessible: name}, OptionAccessible, "No seat")
	}
	c, err := Read([]byte(strings.Replace(text, `"yes"`, `"maybe"`, 1)), Options{Accessible: "is_accessible"})
	if err != nil || len(c.Problems) != 1 || c.Problems[0].Where != "zones[0].rows[0].seats[5].is_accessible" {
		t.Error(c.Problems, err)
	}
	wantOptionError(t, jsonExample, Options{Accessible: "wheelchair"}, OptionAccessible, "JSON")

	const table = "section,row,seat,category,Wheelchair place,mood\nA,1,1,c,x,\nA,1,2,c,no,\n"
	if _, report = readAll(t, []byte(table), Options{Name: "file"}); report[0].Option != OptionAccessible || report[1].Option != "" {
		t.Error(report)
	}
	plan, report = readAll(t, []byte(table), Options{Name: "file", Accessible: "wheelchair_place"})
	if ids := accessibleSeats(plan); fmt.Sprint(ids, len(report)) != "[A-1-1] 1" {
		t.Error(ids, report)
	}
	wantOptionError(t, table, Options{Accessible: "weelchair"}, OptionAccessible, "No column")
	wantOptionError(t, table, Options{Accessible: "row"}, OptionAccessible, "No column")
}

// Names of properties may differ in every seat: the report stays short.
func TestRead_ManyUnknownProperties(t *testing.T) {
	t.Parallel()
	text := wheelchairPlan(`"c"`, make([]string, 200)...)
	for i := range 200 {
		text = strings.Replace(text, `"is_accessible":`, fmt.Sprintf(`"p%d":0`, i), 1)
	}
	_, report := readAll(t, []byte(strings.Replace(text, "[]", `[{"name":"c"}]`, 1)), Options{})
	if last := report[len(report)-1]; len(report) != 31 || last.Count != 171 || report[0].Count != 200 {
		t.Error(len(report), last)
	}
	// Other notes don't count, and neither do those that may say which seats are accessible.
	var r Report
	for i := range 200 {
		r.count(Dropped, fmt.Sprint("other ", i), 1, "")
		r.unknown("unknown property of seats", fmt.Sprint("p", i), true)
	}
	r.unknown("unknown property of seats", "wheelchair", true)
	if last := r[len(r)-1]; last.Option != OptionAccessible || last.What != `unknown property of seats "wheelchair"` || len(r) != 232 {
		t.Error(len(r), last)
	}
	for i := range 200 {
		r.unknown("unknown property of seats", fmt.Sprint("wheelchair", i), true)
	}
	if len(r) != 261 {
		t.Error(len(r))
	}
}

func TestRead_GivesSeatsACategory(t *testing.T) {
	t.Parallel()
	for _, category := range []string{`""`, "null"} {
		text := wheelchairPlan(category, "true", "true")
		wantOptionError(t, text, Options{}, OptionCategory, "no categories")
		plan, _ := readAll(t, []byte(text), Options{Category: "Floor seats"})
		if c := plan.Categories; len(c) != 1 || c[0].Key != "Floor-seats" || c[0].Name != "Floor seats" || plan.Sections[0].Category != c[0].Key {
			t.Error(plan.Categories, plan.Sections)
		}
		c, err := Read([]byte(strings.Replace(text, "[]", `[{"name":"c"}]`, 1)), Options{})
		want := holdfast.FieldError{Where: "zones[0].rows[0].seats[1].category", What: "The seat has no category."}
		if err != nil || len(c.Problems) != 2 || c.Problems[1] != want {
			t.Error(c.Problems, err)
		}
		plan, _ = readAll(t, []byte(strings.Replace(text, "[]", `[{"name":"c"}]`, 1)), Options{Category: "c"})
		if len(plan.Categories) != 1 {
			t.Error(plan.Categories)
		}
	}
	wantOptionError(t, wheelchairPlan(`""`, "true"), Options{Category: "a\nb"}, OptionCategory, "characters")
	wantOptionError(t, "section,row,seat\nA,1,1\n", Options{}, OptionCategory, "no column category")
	for _, table := range []string{"section,row,seat\nA,1,1\nA,1,\nA,1,2\n", "section,row,seat,category\nA,1,1,\nA,1,,\nA,1,2,c\n"} {
		plan, _ := readAll(t, []byte(table), Options{Name: "file", Category: "c"})
		if len(plan.Categories) != 1 || order(plan.Sections[0].Rows[0]) != "1|2" {
			t.Error(plan.Categories, plan.Sections)
		}
	}
}

func TestRead_RangesOfSeats(t *testing.T) {
	t.Parallel()
	const table = "zone,row,start,end,category\nHall,1,1,25,c\nHall,2,9,9,c\nHall,2,,,\nHall,2,11,12,c\n"
	plan, report := readAll(t, []byte(table), Options{Name: "file"})
	row := plan.Sections[0].Rows
	if plan.TotalSeats() != 28 || len(report) > 0 || row[0].Seats[24].ID != "Hall-1-25" || order(row[1]) != "9| 11 12" {
		t.Error(plan.TotalSeats(), report, order(row[1]))
	}
	for ends, want := range map[string]string{"01,03": "01 02 03", "09,11": "09 10 11", "008,010": "008 009 010", "10,12": "10 11 12"} {
		plan, _ := readAll(t, []byte("zone,row,start,end,category\nHall,1,"+ends+",c\n"), Options{Name: "file"})
		first := plan.Sections[0].Rows[0].Seats[0]
		if got := order(plan.Sections[0].Rows[0]); got != want || first.ID != "Hall-1-"+strings.Fields(want)[0] {
			t.Errorf("%s: %s, and the ID %s", ends, got, first.ID)
		}
	}
	for _, lines := range []string{
		"1,0", "a,2", "1,", ",1", "-1,1", "1,501", "1,9999999999999999999", "9223372036854775800,9223372036854775807",
		"1000000000,1000000001", "0000000001,2",
	} {
		c, err := Read([]byte("zone,row,start,end,category\nA,1,"+lines+",c\n"), Options{Name: "file"})
		if err != nil || len(c.Problems) != 1 || c.Problems[0].Where != "line 2" || !strings.Contains(c.Problems[0].What, "start and the end") {
			t.Errorf("%s: %v, %v", lines, c.Problems, err)
		}
	}
	c, err := Read([]byte("section,row,start,end,category,x\nA,1,1,9,c,7\n"), Options{Name: "file"})
	if err != nil || len(c.Problems) != 1 || !strings.Contains(c.Problems[0].What, "no id, x and y") {
		t.Error(c.Problems, err)
	}
	// A table of seats has no ranges, and its zone is not its section.
	_, report = readAll(t, []byte("section,row,seat,category,start,zone\nA,1,1,c,7,N\n"), Options{Name: "file"})
	if got := fmt.Sprint(report); got != `[dropped: unknown column "start": 1 dropped: unknown column "zone": 1]` {
		t.Error(got)
	}
}

func TestRead_NamesAllMissingColumns(t *testing.T) {
	t.Parallel()
	wantOptionError(t, "zone,row,start,end\nHall,1,1,25\n", Options{}, OptionCategory, "no column category")
	for header, says := range map[string]string{
		"block,row,start,end": "but section and category are missing", "row": "but section, seat and category are missing",
		"section,row,start,category": "but seat is missing",
	} {
		c, err := Read([]byte(header+"\n"), Options{Format: CSV})
		if err != nil || len(c.Problems) != 1 || !strings.Contains(c.Problems[0].What, says) {
			t.Errorf("%s: %v, %v", header, c.Problems, err)
		}
	}
}

func TestRead_LinesThatEndWithCR(t *testing.T) {
	t.Parallel()
	plan, report := readTable(t, strings.ReplaceAll(csvExample, "\n", "\r"))
	if got := describe(plan); got != exampleSeats || report != "[]" {
		t.Error(got, report)
	}
	readTable(t, "sep=;\rsection;row;seat;category\rA;1;1;c\r")
}

func TestRead_ReportsSectionsThatDifferInCaseAlone(t *testing.T) {
	t.Parallel()
	_, report := readTable(t, "section,row,seat,category\nStalls,1,1,c\nSTALLS,1,2,c\nOther,1,1,c\nstalls,1,3,c\n")
	const want = `[guessed: sections whose names differ in case alone, which stay different sections: 2 ` +
		`("Stalls" and "STALLS"; "Stalls" and "stalls")]`
	if report != want {
		t.Error(report)
	}
}
