package planfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

func TestWriteCSV_IsReadBack(t *testing.T) {
	t.Parallel()
	for _, table := range []string{csvExample, csvMore} {
		plan, _ := readTable(t, table)
		text, report := WriteCSV(plan)
		again, _ := readTable(t, string(text))
		if describe(again) != describe(plan) || len(report) > 0 {
			t.Errorf("%s\n%v", text, report)
		}
	}
	plan, _ := readTable(t, csvExample)
	text, _ := WriteCSV(plan)
	const want = `section,row,seat,category,x,y,accessible
Stalls,A,1,first,10,20,
Stalls,A,2,first,10.5,20.25,true
Stalls,A,3,second,,,
Stalls,B,1,second,,,
Stalls,B,,,,,
Stalls,B,12,second,,,
Balcony,A,1,second,,,
`
	if string(text) != want {
		t.Errorf("%s", text)
	}
}

// The examples lose nothing of their seats, and the report says what else they lose.
func TestWriteCSV_TheExamplePlans(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("examples/*.json")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		plan, problems, err := ReadJSON(source)
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		text, report := WriteCSV(plan)
		again, _ := readTable(t, string(text))
		if describe(again) != describe(plan) {
			t.Errorf("%s: another plan", file)
		}
		wantCategories(t, again, plan, report)
		if !strings.Contains(fmt.Sprint(report), "focal points") {
			t.Errorf("%s: %v", file, report)
		}
	}
}

// draw draws a valid plan, with texts that are easily read as something else.
func draw(t *rapid.T) holdfast.SeatingPlan {
	text := func(name string) string {
		return rapid.StringMatching(`[a-zé1=@][ a-z,;"'=é.0-9-]{0,9}[a-z"é]`).Draw(t, name)
	}
	plan := holdfast.SeatingPlan{Name: "file"}
	for i := range rapid.IntRange(1, 3).Draw(t, "categories") {
		plan.Categories = append(plan.Categories, holdfast.Category{Key: fmt.Sprint("c", i), Name: text("category")})
	}
	category := func() string { return fmt.Sprint("c", rapid.IntRange(0, len(plan.Categories)-1).Draw(t, "c")) }
	for i := range rapid.IntRange(1, 3).Draw(t, "sections") {
		s := holdfast.Section{Key: fmt.Sprint("S-", i), Name: text("section"), Category: category()}
		if rapid.Bool().Draw(t, "standing") {
			s.Capacity = rapid.Int64Range(1, 1000).Draw(t, "capacity")
			plan.Sections = append(plan.Sections, s)
			continue
		}
		for n := range rapid.IntRange(1, 3).Draw(t, "rows") {
			row := holdfast.Row{Key: fmt.Sprint(n), Adjacency: rapid.SampledFrom(holdfast.Adjacencies()).Draw(t, "adjacency")}
			if rapid.Bool().Draw(t, "label") {
				row.Label = text("row label")
			}
			for k := range rapid.IntRange(1, 4).Draw(t, "seats") {
				if rapid.Bool().Draw(t, "gap") {
					row.Seats = append(row.Seats, nil)
				}
				seat := &holdfast.Seat{
					ID:    rapid.SampledFrom([]string{fmt.Sprintf("S-%d-%d-%d", i, n, k), fmt.Sprintf("x.%d.%d.%d", i, n, k)}).Draw(t, "id"),
					Label: rapid.SampledFrom([]string{"", fmt.Sprint(k), fmt.Sprintf("S-%d-%d-%d", i, n, k), "7", text("label")}).Draw(t, "label"),
					Note:  rapid.SampledFrom([]string{"", text("note")}).Draw(t, "note"), Category: category(),
					ViewURL:    rapid.SampledFrom([]string{"", "https://a.example/b,c;d?e='f'&g"}).Draw(t, "view URL"),
					Accessible: rapid.Bool().Draw(t, "accessible"), Companion: rapid.Bool().Draw(t, "companion"),
				}
				if rapid.Bool().Draw(t, "x") {
					seat.X = new(holdfast.Thousandths(rapid.Int64Range(-5000, 5000).Draw(t, "x")))
				}
				if rapid.Bool().Draw(t, "y") {
					seat.Y = new(holdfast.Thousandths(rapid.Int64Range(-100_000_000, 100_000_000).Draw(t, "y")))
				}
				row.Seats = append(row.Seats, seat)
			}
			s.Rows = append(s.Rows, row)
		}
		plan.Sections = append(plan.Sections, s)
	}
	return plan
}

func TestWriteCSV_AnyPlanIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plan := draw(t)
		if problems := seating.Check(plan); len(problems) > 0 {
			t.Fatal(problems)
		}
		text, dropped := WriteCSV(plan)
		c, _ := Read(text, Options{Format: CSV, Name: "file"})
		if len(c.Problems) > 0 || len(c.Report) > 0 || describe(c.Plan) != describe(plan) {
			t.Fatalf("%s\n%v %v\n%s\n%s", text, c.Problems, c.Report, describe(plan), describe(c.Plan))
		}
		wantCategories(t, c.Plan, plan, dropped)
	})
}

// wantCategories checks that a plan that was read back has the categories of the other one in their order, and its
// sections theirs, but for what was dropped.
func wantCategories(t interface{ Errorf(string, ...any) }, again, plan holdfast.SeatingPlan, dropped Report) {
	order, sections := categoriesOf(plan)
	orderAgain, sectionsAgain := categoriesOf(again)
	isDropped := strings.Contains(fmt.Sprint(dropped), "categories of sections")
	if orderAgain != order || sectionsAgain != sections && !isDropped {
		t.Errorf("the categories are %s, of the sections %s, want %s and %s", orderAgain, sectionsAgain, order, sections)
	}
}

// categoriesOf writes the categories that seats have, in their order, and the category of each section.
func categoriesOf(plan holdfast.SeatingPlan) (order, sections string) {
	used := map[string]bool{}
	for _, s := range seating.Expand(plan).Sections {
		used[s.Category] = used[s.Category] || s.Capacity > 0
		for _, row := range s.Rows {
			for _, seat := range row.Seats {
				if seat != nil {
					used[seat.Category] = true
				}
			}
		}
	}
	for _, c := range plan.Categories {
		if used[c.Key] {
			order += c.Key + " "
		}
	}
	for _, s := range plan.Sections {
		sections += s.Key + "=" + s.Category + " "
	}
	return order, sections
}

// A section keeps its category, although its first seat has another one, and the categories keep their order.
func TestWriteCSV_KeepsTheCategoriesOfSectionsAndTheirOrder(t *testing.T) {
	t.Parallel()
	plan := holdfast.SeatingPlan{
		Name: "file", Categories: []holdfast.Category{{Key: "best", Name: "best"}, {Key: "usual", Name: "usual"}},
		Sections: []holdfast.Section{{Key: "A", Name: "A", Category: "best", Rows: []holdfast.Row{
			{Key: "1", Seats: []*holdfast.Seat{{ID: "A-1-1", Category: "usual"}, nil, {ID: "A-1-3", Label: "3"}}},
		}}},
	}
	const want = `section,row,seat,category,x,y,accessible,section_category,category_number
A,1,1,usual,,,,best,2
A,1,,,,,,best,
A,1,3,best,,,,best,1
`
	text, report := WriteCSV(plan)
	if string(text) != want || len(report) > 0 {
		t.Errorf("%s%v", text, report)
	}
	again, _ := readTable(t, want)
	if describe(again) != describe(plan) {
		t.Error(describe(again))
	}
	wantCategories(t, again, plan, nil)
}

func TestWriteCSV_SaysWhatATableDoesNotHave(t *testing.T) {
	t.Parallel()
	plan, _ := readTable(t, csvMore)
	plan.FocalPoint = &holdfast.Point{}
	c := plan.Categories
	plan.Categories = []holdfast.Category{c[1], c[0], {Key: "e", Name: "E", Color: "#000000"}}
	plan.Sections[0].Category, plan.Sections[0].Rows[0].Category = "e", "c"
	plan.Sections[0].Floor, plan.Sections[1].Entrance, plan.Sections[1].Outline = "1", "West", []holdfast.Point{{}}
	plan.Sections[0].ViewURL = "https://a"
	plan.Decorations = make([]holdfast.Decoration, 3)
	const want = "[dropped: colors of categories: 1 dropped: focal points: 1 dropped: decorations: 3 dropped: floors of sections: 1 " +
		"dropped: views of sections: 1 dropped: entrances of sections: 1 dropped: outlines of sections: 1 " +
		"dropped: categories of sections that no seat has: 1 dropped: categories without seats: 1]"
	if _, report := WriteCSV(plan); fmt.Sprint(report) != want {
		t.Error(report)
	}
}
