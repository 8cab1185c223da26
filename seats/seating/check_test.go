package seating_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// hall is a valid plan of two sections: 1 of listed seats, 1 of general admission.
func hall() holdfast.SeatingPlan {
	return holdfast.SeatingPlan{
		Name:       "Hall",
		Categories: []holdfast.Category{{Key: "stalls", Name: "Stalls", Color: "#0b5d66"}, {Key: "standing", Name: "Standing"}},
		FocalPoint: &holdfast.Point{X: 50 * holdfast.Unit},
		Sections: []holdfast.Section{
			{Key: "A", Name: "Left", Category: "stalls", Rows: []holdfast.Row{
				{Key: "1", Seats: []*holdfast.Seat{{ID: "A-1-1"}, nil, {ID: "A-1-2", Accessible: true}}},
				{Key: "2", Count: 40},
			}},
			{Key: "pit", Name: "Standing", Category: "standing", Capacity: 500, Outline: []holdfast.Point{{}, {X: 40 * holdfast.Unit}}},
		},
	}
}

func many[T any](n int, item func(i int) T) []T {
	items := make([]T, n)
	for i := range items {
		items[i] = item(i)
	}
	return items
}

func seatsNamed(prefix string, n int) []*holdfast.Seat {
	return many(n, func(i int) *holdfast.Seat { return &holdfast.Seat{ID: fmt.Sprint(prefix, i)} })
}

func rowsOf(n int, count int64) []holdfast.Row {
	return many(n, func(i int) holdfast.Row { return holdfast.Row{Key: fmt.Sprint(i), Count: count} })
}

func sectionsOf(n, rows int, count int64) []holdfast.Section {
	return many(n, func(i int) holdfast.Section {
		return holdfast.Section{Key: fmt.Sprint("S", i), Name: "S", Category: "stalls", Rows: rowsOf(rows, count)}
	})
}

// decorations has one of each kind, the stage first.
func decorations() []holdfast.Decoration {
	triangle := func() []holdfast.Point { return []holdfast.Point{{}, {X: 10 * holdfast.Unit}, {Y: -5 * holdfast.Unit}} }
	return []holdfast.Decoration{
		{Kind: holdfast.DecorationStage, Points: triangle(), Text: "Bühne"},
		{Kind: holdfast.DecorationArea, Points: triangle(), Floor: "1"},
		{Kind: holdfast.DecorationWall, Points: triangle()[:2]},
		{Kind: holdfast.DecorationText, At: &holdfast.Point{X: 1}, Text: "<b>&amp;"},
		{Kind: holdfast.DecorationIcon, At: &holdfast.Point{Y: 1}, Icon: "lift", Text: "to the balcony"},
	}
}

func walls(n, points int) []holdfast.Decoration {
	return many(n, func(int) holdfast.Decoration {
		return holdfast.Decoration{Kind: holdfast.DecorationWall, Points: make([]holdfast.Point, points)}
	})
}

func TestCheck_AcceptsWhatFits(t *testing.T) {
	t.Parallel()
	const long = holdfast.MaxPlanKeyLength
	for name, change := range map[string]func(p *holdfast.SeatingPlan){
		"as it is":          func(*holdfast.SeatingPlan) {},
		"no focal point":    func(p *holdfast.SeatingPlan) { p.FocalPoint = nil },
		"the longest row":   func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[1].Count = holdfast.MaxRowSeats },
		"the longest keys":  func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Key = strings.Repeat("k", long) },
		"the largest area":  func(p *holdfast.SeatingPlan) { p.Sections[1].Capacity = holdfast.MaxSeats - 42 },
		"the most sections": func(p *holdfast.SeatingPlan) { p.Sections = sectionsOf(holdfast.MaxPlanSections, 1, 1) },
		"the most seats":    func(p *holdfast.SeatingPlan) { p.Sections = sectionsOf(10, 40, 500) },
		"the name in 200 é": func(p *holdfast.SeatingPlan) { p.Name = strings.Repeat("é", holdfast.MaxNameLength) },
		"a seat with gaps": func(p *holdfast.SeatingPlan) {
			p.Sections[0].Rows[0].Seats = []*holdfast.Seat{nil, {ID: "x"}, nil, nil}
		},
		"streaming":          func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Seats[0].ID = "streaming" },
		"a row key twice":    func(p *holdfast.SeatingPlan) { p.Sections = sectionsOf(2, 1, 1) },
		"the farthest point": func(p *holdfast.SeatingPlan) { p.FocalPoint.X = -holdfast.MaxPlanCoordinate },
		"each decoration":    func(p *holdfast.SeatingPlan) { p.Decorations = decorations() },
		"each icon": func(p *holdfast.SeatingPlan) {
			for _, icon := range holdfast.DecorationIcons() {
				p.Decorations = append(p.Decorations, holdfast.Decoration{Kind: holdfast.DecorationIcon, At: &holdfast.Point{}, Icon: icon})
			}
		},
		"the most decorations": func(p *holdfast.SeatingPlan) { p.Decorations = walls(2000, 10) },
		"the longest wall":     func(p *holdfast.SeatingPlan) { p.Decorations = walls(100, 200) },
		"a wall of two points": func(p *holdfast.SeatingPlan) { p.Decorations = walls(1, 2) },
		"the view of a section": func(p *holdfast.SeatingPlan) {
			p.Sections[0].ViewURL = "https://pictures.example:8443/a%20b/c.jpg?w=9&h=(7)#x"
			p.Sections[1].ViewURL = "https://A"
		},
		"the longest view": func(p *holdfast.SeatingPlan) {
			p.Sections[0].Rows[0].Seats[0].ViewURL = "https://a/" + strings.Repeat("b", 490)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := hall()
			change(&p)
			if problems := seating.Check(p); len(problems) > 0 {
				t.Error(problems)
			}
			if _, err := seating.NewHall(p); err != nil {
				t.Error(err)
			}
		})
	}
}

const far = holdfast.MaxPlanCoordinate + 1

// wrongPlans are changes that make a valid plan wrong in one place.
var wrongPlans = []struct {
	where  string
	change func(p *holdfast.SeatingPlan)
}{
	{"name", func(p *holdfast.SeatingPlan) { p.Name = " " }},
	{"name", func(p *holdfast.SeatingPlan) { p.Name = strings.Repeat("é", 201) }},
	{"name", func(p *holdfast.SeatingPlan) { p.Name = "a\nb" }},
	{"name", func(p *holdfast.SeatingPlan) { p.Name = "\xff" }},
	{"focalPoint.x", func(p *holdfast.SeatingPlan) { p.FocalPoint.X = -far }},
	{"focalPoint.y", func(p *holdfast.SeatingPlan) { p.FocalPoint.Y = far }},
	{"categories[1].key", func(p *holdfast.SeatingPlan) { p.Categories[1].Key = "stalls"; p.Sections[1].Category = "stalls" }},
	{"categories[0].name", func(p *holdfast.SeatingPlan) { p.Categories[0].Name = "" }},
	{"categories[0].color", func(p *holdfast.SeatingPlan) { p.Categories[0].Color = "00b5d66" }},
	{"categories[0].color", func(p *holdfast.SeatingPlan) { p.Categories[0].Color = "#0b5d6" }},
	{"categories[0].color", func(p *holdfast.SeatingPlan) { p.Categories[0].Color = "#0b5d6g" }},
	{"categories", func(p *holdfast.SeatingPlan) {
		more := many(63, func(i int) holdfast.Category { return holdfast.Category{Key: fmt.Sprint(i), Name: "N"} })
		p.Categories = append(p.Categories, more...)
	}},
	{"sections", func(p *holdfast.SeatingPlan) { p.Sections = nil }},
	{"sections", func(p *holdfast.SeatingPlan) { p.Sections = sectionsOf(501, 1, 1) }},
	{"sections", func(p *holdfast.SeatingPlan) { p.Sections = sectionsOf(11, 40, 500) }},
	{"sections", func(p *holdfast.SeatingPlan) { p.Sections[1].Capacity = holdfast.MaxSeats - 41 }},
	{"sections[1].key", func(p *holdfast.SeatingPlan) { p.Sections[1].Key = "A" }},
	{"sections[1].key", func(p *holdfast.SeatingPlan) { p.Sections[1].Key = "-A" }},
	{"sections[1].key", func(p *holdfast.SeatingPlan) { p.Sections[1].Key = strings.Repeat("k", 33) }},
	{"sections[1].name", func(p *holdfast.SeatingPlan) { p.Sections[1].Name = "" }},
	{"sections[1].category", func(p *holdfast.SeatingPlan) { p.Sections[1].Category = "" }},
	{"sections[1].category", func(p *holdfast.SeatingPlan) { p.Sections[1].Category = "Stalls" }},
	{"sections[1].floor", func(p *holdfast.SeatingPlan) { p.Sections[1].Floor = strings.Repeat("f", 201) }},
	{"sections[1].entrance", func(p *holdfast.SeatingPlan) { p.Sections[1].Entrance = "\x00" }},
	{"sections[1].capacity", func(p *holdfast.SeatingPlan) { p.Sections[1].Capacity = -1 }},
	{"sections[1].capacity", func(p *holdfast.SeatingPlan) { p.Sections[1].Capacity = holdfast.MaxSeats + 1 }},
	{"sections[1].rows", func(p *holdfast.SeatingPlan) { p.Sections[1].Capacity = 0 }},
	{"sections[0].capacity", func(p *holdfast.SeatingPlan) { p.Sections[0].Capacity = 5 }},
	{"sections[1].outline[1]", func(p *holdfast.SeatingPlan) { p.Sections[1].Outline[1].X = far }},
	{"sections[1].outline", func(p *holdfast.SeatingPlan) { p.Sections[1].Outline = make([]holdfast.Point, 201) }},
	{"sections[0].rows", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows = rowsOf(41, 500) }},
	{"sections[0].rows[1].key", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Key = "2" }},
	{"sections[0].rows[1].label", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[1].Label = strings.Repeat("l", 33) }},
	{"sections[0].rows[1].category", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[1].Category = "x" }},
	{"sections[0].rows[1].adjacency", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[1].Adjacency = "line" }},
	{"sections[0].rows[1].seats", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[1].Count = 0 }},
	{"sections[0].rows[1].seats", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[1].Count = 501 }},
	{"sections[0].rows[0].seats", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Count = 1 }},
	{"sections[0].rows[0].seats", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Seats = []*holdfast.Seat{nil, nil} }},
	{"sections[0].rows[0].seats", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Seats = seatsNamed("s", 501) }},
	{"sections[0].rows[0].seats", func(p *holdfast.SeatingPlan) {
		p.Sections[0].Rows[0].Seats = append(seatsNamed("s", 1), make([]*holdfast.Seat, 1000)...)
	}},
	{"sections[0].rows[1].seats", func(p *holdfast.SeatingPlan) {
		long := strings.Repeat("k", 32)
		p.Sections[0].Key, p.Sections[0].Rows[1].Key = long, long
	}},
	{"sections[0].rows[1].seats", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Seats[0].ID = "A-2-40" }},
	{"sections[1].rows[0].seats", func(p *holdfast.SeatingPlan) { // A-2-1-1 of two rows
		p.Sections[0].Rows[0].Key, p.Sections[0].Rows[1] = "0", holdfast.Row{Key: "2-1", Count: 1}
		p.Sections[1] = holdfast.Section{Key: "A-2", Name: "N", Category: "stalls", Rows: []holdfast.Row{{Key: "1", Count: 1}}}
	}},
	{"sections[0].rows[0].seats[2].id", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Seats[2].ID = "A-1-1" }},
	{"sections[0].rows[0].seats[2].id", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Seats[2].ID = "" }},
	{"sections[0].rows[0].seats[2].id", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Seats[2].ID = "é" }},
	{"sections[0].rows[0].seats[2].id", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Seats[2].ID = "unblock" }},
	{"sections[0].rows[0].seats[2].id", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Seats[2].ID = strings.Repeat("i", 65) }},
	{"sections[0].rows[0].seats[2].label", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Seats[2].Label = " " }},
	{"sections[0].rows[0].seats[2].note", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Seats[2].Note = strings.Repeat("n", 201) }},
	{"sections[0].rows[0].seats[2].category", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Seats[2].Category = "x" }},
	{"sections[0].rows[0].seats[2].x", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Seats[2].X = new(far) }},
	{"sections[0].rows[0].seats[2].y", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Seats[2].Y = new(far) }},
	{"decorations", func(p *holdfast.SeatingPlan) { p.Decorations = walls(2001, 2) }},
	{"decorations", func(p *holdfast.SeatingPlan) { p.Decorations = walls(101, 199) }},
	{"decorations[0].kind", func(p *holdfast.SeatingPlan) { p.Decorations = decorations(); p.Decorations[0].Kind = "STAGE" }},
	{"decorations[0].points", func(p *holdfast.SeatingPlan) {
		p.Decorations = decorations()
		p.Decorations[0].Points = p.Decorations[0].Points[:2]
	}},
	{"decorations[2].points", func(p *holdfast.SeatingPlan) {
		p.Decorations = decorations()
		p.Decorations[2].Points = p.Decorations[2].Points[:1]
	}},
	{"decorations[1].points", func(p *holdfast.SeatingPlan) {
		p.Decorations = decorations()
		p.Decorations[1].Points = make([]holdfast.Point, 201)
	}},
	{"decorations[1].points[1]", func(p *holdfast.SeatingPlan) { p.Decorations = decorations(); p.Decorations[1].Points[1].Y = far }},
	{"decorations[1].at", func(p *holdfast.SeatingPlan) { p.Decorations = decorations(); p.Decorations[1].At = &holdfast.Point{} }},
	{"decorations[3].at", func(p *holdfast.SeatingPlan) { p.Decorations = decorations(); p.Decorations[3].At = nil }},
	{"decorations[4].at", func(p *holdfast.SeatingPlan) { p.Decorations = decorations(); p.Decorations[4].At.X = -far }},
	{"decorations[4].points", func(p *holdfast.SeatingPlan) {
		p.Decorations = decorations()
		p.Decorations[4].Points = make([]holdfast.Point, 1)
	}},
	{"decorations[2].text", func(p *holdfast.SeatingPlan) { p.Decorations = decorations(); p.Decorations[2].Text = "x" }},
	{"decorations[3].text", func(p *holdfast.SeatingPlan) { p.Decorations = decorations(); p.Decorations[3].Text = "" }},
	{"decorations[3].text", func(p *holdfast.SeatingPlan) {
		p.Decorations = decorations()
		p.Decorations[3].Text = strings.Repeat("é", 201)
	}},
	{"decorations[0].text", func(p *holdfast.SeatingPlan) { p.Decorations = decorations(); p.Decorations[0].Text = "a\nb" }},
	{"decorations[4].icon", func(p *holdfast.SeatingPlan) { p.Decorations = decorations(); p.Decorations[4].Icon = "" }},
	{"decorations[4].icon", func(p *holdfast.SeatingPlan) { p.Decorations = decorations(); p.Decorations[4].Icon = "Lift" }},
	{"decorations[3].icon", func(p *holdfast.SeatingPlan) { p.Decorations = decorations(); p.Decorations[3].Icon = "lift" }},
	{"decorations[2].floor", func(p *holdfast.SeatingPlan) { p.Decorations = decorations(); p.Decorations[2].Floor = " " }},
	{"sections[1].viewUrl", func(p *holdfast.SeatingPlan) { p.Sections[1].ViewURL = "http://a/b" }},
	{"sections[0].rows[0].seats[2].viewUrl", func(p *holdfast.SeatingPlan) { p.Sections[0].Rows[0].Seats[2].ViewURL = "/b.jpg" }},
}

// No text of a URL is markup, and no URL hides a name or a password.
func TestCheck_RefusesURLsOfViews(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"https://", "https:///a", "https://:80/a", "https://a:/b", "https://a:80x/b", "https://a:65536/b", "https://a:123456/b",
		"HTTPS://a", "https:/a", "//a/b",
		"javascript:alert(1)", "data:image/png;base64,AA", "https://user@a/b", "https://user:password@a/b", "https://a b/", "https://-a/",
		"https://a/b c", "https://a/b\n", "https://a/\"onload=x", "https://a/<b>", "https://é/a", "https://a/é", "https://a/\x7f", `https://a\b`,
		"https://[::1]/a", " https://a/b", "https://a/" + strings.Repeat("b", 491),
	} {
		p := hall()
		p.Sections[0].ViewURL = url
		if problems := seating.Check(p); len(problems) != 1 || problems[0].Where != "sections[0].viewUrl" {
			t.Errorf("%q: %v", url, problems)
		}
	}
}

func TestCheck_NamesThePathOfEveryProblem(t *testing.T) {
	t.Parallel()
	for i, row := range wrongPlans {
		t.Run(fmt.Sprint(i, " ", row.where), func(t *testing.T) {
			t.Parallel()
			p := hall()
			row.change(&p)
			if problems := seating.Check(p); len(problems) != 1 || problems[0].Where != row.where || problems[0].What == "" {
				t.Errorf("want one problem at %s, got %v", row.where, problems)
			}
			if _, err := seating.NewHall(p); err == nil {
				t.Error("NewHall accepts the plan")
			}
		})
	}
}

func TestCheck_StopsAfterAHundredProblems(t *testing.T) {
	t.Parallel()
	p := hall()
	p.Sections = many(300, func(int) holdfast.Section { return holdfast.Section{Rows: []holdfast.Row{{}}} })
	problems := seating.Check(p)
	if len(problems) != 100 || problems[0].Where != "sections[0].key" {
		t.Errorf("%d problems, the first: %v", len(problems), problems[0])
	}
}

// The path has the position of the seat in the list, in which gaps count.
func TestCheck_PathsCountGaps(t *testing.T) {
	t.Parallel()
	p := hall()
	p.Sections[0].Rows[0].Seats[2].ID = "/"
	want := []holdfast.FieldError{{Where: "sections[0].rows[0].seats[2].id",
		What: "It must have 1 to 64 letters, digits, dots, underscores and hyphens, and begin with a letter or a digit."}}
	if got := seating.Check(p); !reflect.DeepEqual(got, want) {
		t.Error(got)
	}
}
