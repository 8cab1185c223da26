package planfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

// vectorsFile has plans with their problems. The plan editor has the same rules in JavaScript: its tests read this file too.
const vectorsFile = "../../editor/test/vectors/check.json"

// vector is a line of the file.
type vector struct {
	Name     string          `json:"name"`
	Plan     json.RawMessage `json:"plan"`
	Problems []vectorProblem `json:"problems"`
}

type vectorProblem struct {
	Where string `json:"where"`
	What  string `json:"what"`
}

func TestVectors_AreWhatTheRulesAnswer(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	text.WriteString("[\n")
	valid, invalid := 0, 0
	for i, v := range vectors(t) {
		if len(v.Problems) == 0 {
			valid++
		} else {
			invalid++
		}
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			text.WriteString(",\n")
		}
		text.Write(line)
	}
	text.WriteString("\n]\n")
	if valid < 20 || invalid < 100 {
		t.Fatalf("%d valid and %d invalid plans", valid, invalid)
	}
	compareGolden(t, vectorsFile, text.String())
}

func vectors(t *testing.T) (all []vector) {
	for _, c := range vectorCases() {
		plan := smallForm()
		c.change(&plan)
		all = append(all, vectorOf(t, c.name, plan))
	}
	const drawn = 150
	random := rand.New(rand.NewPCG(1, 2)) // the same plans each time
	for i := range drawn {
		all = append(all, vectorOf(t, fmt.Sprintf("drawn %d", i), drawForm(random)))
	}
	return all
}

func vectorOf(t *testing.T, name string, form Plan) vector {
	t.Helper()
	text, err := json.Marshal(form)
	if err != nil {
		t.Fatal(err)
	}
	_, problems, err := ReadJSON(text)
	if err != nil {
		t.Fatal(name, err)
	}
	v := vector{Name: name, Plan: text, Problems: []vectorProblem{}}
	for _, p := range problems {
		v.Problems = append(v.Problems, vectorProblem{p.Where, p.What})
	}
	return v
}

// smallForm is a valid plan, which has each part.
func smallForm() Plan {
	return Plan{
		Name: "Hall", Categories: []Category{{Key: "a", Name: "A", Color: "#0b5d66"}, {Key: "b", Name: "B"}}, FocalPoint: &Point{X: 1, Y: -2.5},
		Sections: []Section{
			{Key: "S", Name: "Stalls", Category: "a", Floor: "0", Entrance: "West", Rows: []Row{
				{Key: "A", Label: "Row A", Seats: Seats{List: []*Seat{
					{ID: "S-A-1", X: new(1.5), Y: new(2.25), Note: "near"}, nil, {ID: "S-A-3", Category: "b"},
				}}},
				{Key: "B", Category: "b", Adjacency: "ALL", Seats: Seats{Count: 3}},
			}},
			{Key: "pit", Name: "Pit", Category: "b", Capacity: 50, Outline: [][2]float64{{0, 0}, {4, 0}, {4, 2}}},
		},
	}
}

type vectorCase struct {
	name   string
	change func(*Plan)
}

func vectorCases() []vectorCase {
	all := []vectorCase{{"small", func(*Plan) {}}}
	all = append(all, textCases()...)
	all = append(all, keyCases()...)
	all = append(all, numberCases()...)
	all = append(all, decorationCases()...)
	return append(all, sectionCases()...)
}

func textCases() (all []vectorCase) {
	texts := map[string]func(*Plan, string){
		"name of the plan":   func(p *Plan, s string) { p.Name = s },
		"name of a category": func(p *Plan, s string) { p.Categories[1].Name = s },
		"name of a section":  func(p *Plan, s string) { p.Sections[0].Name = s },
		"floor":              func(p *Plan, s string) { p.Sections[0].Floor = s },
		"entrance":           func(p *Plan, s string) { p.Sections[1].Entrance = s },
		"label of a row":     func(p *Plan, s string) { p.Sections[0].Rows[1].Label = s },
		"label of a seat":    func(p *Plan, s string) { p.Sections[0].Rows[0].Seats.List[2].Label = s },
		"note of a seat":     func(p *Plan, s string) { p.Sections[0].Rows[0].Seats.List[0].Note = s },
	}
	values := []string{
		"", " ", "\u00a0\u2003", "\ufeff", "\u0085", "tab\t", "line\n", "\u202eback", "\u2066x", "Ä €", "😀",
		strings.Repeat("ä", 32), strings.Repeat("ä", 33), strings.Repeat("😀", 32), strings.Repeat("😀", 200), strings.Repeat("x", 201), "\u0000",
	}
	words := map[string]func(*Plan, string){
		"color of a category":  func(p *Plan, s string) { p.Categories[0].Color = s },
		"category of a seat":   func(p *Plan, s string) { p.Sections[0].Rows[0].Seats.List[0].Category = s },
		"category of a row":    func(p *Plan, s string) { p.Sections[0].Rows[0].Category = s },
		"category of an area":  func(p *Plan, s string) { p.Sections[1].Category = s },
		"adjacency of a row":   func(p *Plan, s string) { p.Sections[0].Rows[0].Adjacency = s },
		"category of sections": func(p *Plan, s string) { p.Sections[0].Category = s },
	}
	for _, name := range slices.Sorted(maps.Keys(words)) {
		for _, value := range []string{"", " ", "b", "c", "Ä €", "#12345g", "#ABCDEF", "LINE", "line"} {
			all = append(all, vectorCase{fmt.Sprintf("%s: %q", name, value), func(p *Plan) { words[name](p, value) }})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		for _, value := range values {
			all = append(all, vectorCase{fmt.Sprintf("%s: %.12q", name, value), func(p *Plan) { texts[name](p, value) }})
		}
	}
	return all
}

func keyCases() (all []vectorCase) {
	keys := map[string]func(*Plan, string){
		"key of a category": func(p *Plan, s string) { p.Categories[1].Key = s },
		"key of a section":  func(p *Plan, s string) { p.Sections[1].Key = s },
		"key of a row":      func(p *Plan, s string) { p.Sections[0].Rows[1].Key = s },
		"ID of a seat":      func(p *Plan, s string) { p.Sections[0].Rows[0].Seats.List[2].ID = s },
	}
	values := []string{
		"", "a", "A", "S", "S-A-1", "S-B-2", "stream", "block", "unblock", "é", ".a", "a b", "-", "a.", "9_-.", "a\n", "a/b",
		strings.Repeat("k", 32), strings.Repeat("k", 33), strings.Repeat("k", 60), strings.Repeat("k", 64), strings.Repeat("k", 65),
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		for _, value := range values {
			all = append(all, vectorCase{fmt.Sprintf("%s: %.12q", name, value), func(p *Plan) { keys[name](p, value) }})
		}
	}
	return append(all, vectorCase{"IDs of a number of seats that are as long as can be", func(p *Plan) {
		p.Sections[0].Key, p.Sections[0].Rows[1].Key = strings.Repeat("s", 32), strings.Repeat("r", 29)
	}}, vectorCase{"IDs of a number of seats that are too long", func(p *Plan) {
		p.Sections[0].Key, p.Sections[0].Rows[1].Key = strings.Repeat("s", 32), strings.Repeat("r", 30)
	}}, vectorCase{"IDs of a number of seats that occur twice", func(p *Plan) {
		p.Sections = append(p.Sections, Section{Key: "S-B", Name: "B", Category: "a", Rows: []Row{{Key: "1", Seats: Seats{Count: 2}}}},
			Section{Key: "S-B-1", Name: "C", Category: "a", Rows: []Row{{Key: "x", Seats: Seats{List: []*Seat{{ID: "S-B-3"}, {ID: "S-B-1-2"}}}}}})
	}})
}

func numberCases() (all []vectorCase) {
	for _, v := range []float64{0, 100_000, -100_000, 100_000.0004, 100_000.0006, -100_000.001, 1e300, -1e18} {
		all = append(all,
			vectorCase{fmt.Sprint("focal point ", v), func(p *Plan) { p.FocalPoint = &Point{X: v, Y: v} }},
			vectorCase{fmt.Sprint("seat at ", v), func(p *Plan) {
				p.Sections[0].Rows[0].Seats.List[0].X, p.Sections[0].Rows[0].Seats.List[2].Y = new(v), new(v)
			}},
			vectorCase{fmt.Sprint("outline to ", v), func(p *Plan) { p.Sections[1].Outline[1] = [2]float64{0, v} }})
	}
	for _, n := range []int64{-5, 1, 500, 501, 1_000_000} {
		all = append(all, vectorCase{fmt.Sprint("seats in a row: ", n), func(p *Plan) { p.Sections[0].Rows[1].Seats.Count = n }})
	}
	for _, n := range []int64{-1, 1, 9_999_994, 9_999_995, 9_999_996, 10_000_001} {
		all = append(all, vectorCase{fmt.Sprint("capacity ", n), func(p *Plan) { p.Sections[1].Capacity = n }})
	}
	for _, n := range []int{0, 200, 201} {
		all = append(all, vectorCase{fmt.Sprint("points of an outline: ", n), func(p *Plan) { p.Sections[1].Outline = make([][2]float64, n) }})
	}
	for _, n := range []int{0, 1, 500, 501, 999, 1001} {
		all = append(all, vectorCase{fmt.Sprint("places in a row: ", n), func(p *Plan) {
			list := make([]*Seat, n)
			for i := range list {
				if i%2 == 0 {
					list[i] = &Seat{ID: fmt.Sprint("x", i)}
				}
			}
			p.Sections[0].Rows[0].Seats.List = list
		}})
	}
	return all
}

func decorationCases() (all []vectorCase) {
	changes := map[string]func(*Decoration){
		"as it is": func(*Decoration) {}, "no points": func(d *Decoration) { d.Points = nil },
		"a point":    func(d *Decoration) { d.Points = [][2]float64{{1, 2}} },
		"two points": func(d *Decoration) { d.Points = [][2]float64{{1, 2}, {3, 4}} },
		"200 points": func(d *Decoration) { d.Points = make([][2]float64, 200) },
		"201 points": func(d *Decoration) { d.Points = make([][2]float64, 201) },
		"far":        func(d *Decoration) { d.Points, d.At = [][2]float64{{0, 1e6}, {}, {-1e6, 0}}, new([2]float64{1e6, 0}) },
		"at":         func(d *Decoration) { d.At = new([2]float64{1, 2}) }, "no at": func(d *Decoration) { d.At = nil },
		"no text": func(d *Decoration) { d.Text = "" }, "blank": func(d *Decoration) { d.Text, d.Floor = " ", " " },
		"long text": func(d *Decoration) { d.Text = strings.Repeat("é", 201) }, "a control character": func(d *Decoration) { d.Text = "a\nb" },
		"no icon": func(d *Decoration) { d.Icon = "" }, "lift": func(d *Decoration) { d.Icon = "lift" },
		"Lift": func(d *Decoration) { d.Icon = "Lift" },
		"kind": func(d *Decoration) { d.Kind = "STAGE" }, "floor": func(d *Decoration) { d.Floor = "1" },
	}
	triangle := [][2]float64{{}, {10, 0}, {0, -5}}
	for _, kind := range []Decoration{
		{Kind: "stage", Points: triangle, Text: "Stage"}, {Kind: "area", Points: triangle}, {Kind: "wall", Points: triangle},
		{Kind: "text", At: &[2]float64{1, 2}, Text: "Text"}, {Kind: "icon", At: &[2]float64{1, 2}, Icon: "first-aid"},
	} {
		for _, name := range slices.Sorted(maps.Keys(changes)) {
			all = append(all, vectorCase{kind.Kind + ", " + name, func(p *Plan) {
				d := kind
				changes[name](&d)
				p.Decorations = []Decoration{d}
			}})
		}
	}
	for _, url := range viewURLs() {
		all = append(all, vectorCase{fmt.Sprintf("view %.40q", url), func(p *Plan) {
			p.Sections[0].ViewURL, p.Sections[0].Rows[0].Seats.List[2].ViewURL = url, url
		}})
	}
	return all
}

func viewURLs() []string {
	urls := []string{
		"https://", "https:///a", "https://:80/a", "https://a:/b", "https://a:80x/b", "https://a:123456/b",
		"https://a:65535", "https://a:65536/b", "https://a:99999", "HTTPS://a", "https:/a",
		"//a/b", "javascript:alert(1)", "https://user@a/b", "https://user:password@a/b", "https://a b/", "https://-a/",
		"https://a_b/", "https://a.-/",
		"https://a?b", "https://a#b", "https://a/b c", "https://a/b\n", "https://a\n", "https://é/a", "https://a/é",
		"https://[::1]/a", " https://a/b",
		"https://pictures.example:8443/a%20b/c.jpg?w=9&h=(7)#x", "https://A", "https://a/" + strings.Repeat("b", 490),
		"https://a/" + strings.Repeat("b", 491), "https://a/😀",
	}
	for c := byte(1); c <= 0x7f; c++ {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			urls = append(urls, "https://a/"+string(rune(c)))
		}
	}
	return urls
}

func sectionCases() []vectorCase {
	rows := func(n int) (rows []Row) {
		for i := range n {
			rows = append(rows, Row{Key: fmt.Sprint(i), Seats: Seats{Count: holdfast.MaxRowSeats}})
		}
		return rows
	}
	halls := func(sections, rowsOfEach int) func(*Plan) {
		return func(p *Plan) {
			p.Sections = nil
			for i := range sections {
				p.Sections = append(p.Sections, Section{Key: fmt.Sprint("s", i), Name: "S", Category: "a", Rows: rows(rowsOfEach)})
			}
		}
	}
	return []vectorCase{
		{"no sections", func(p *Plan) { p.Sections = []Section{} }},
		{"no categories", func(p *Plan) { p.Categories = []Category{} }},
		{"no focal point", func(p *Plan) { p.FocalPoint = nil }},
		{"64 categories", func(p *Plan) {
			for i := len(p.Categories); i < holdfast.MaxPlanCategories; i++ {
				p.Categories = append(p.Categories, Category{Key: fmt.Sprint("c", i), Name: "C"})
			}
		}},
		{"neither rows nor capacity", func(p *Plan) { p.Sections[0].Rows = nil }},
		{"rows and a capacity", func(p *Plan) { p.Sections[0].Capacity = 5 }},
		{"gaps alone", func(p *Plan) { p.Sections[0].Rows[0].Seats.List = []*Seat{nil, nil} }},
		{"gaps at both ends", func(p *Plan) { p.Sections[0].Rows[0].Seats.List = []*Seat{nil, {ID: "x"}, nil, nil, {ID: "y"}, nil} }},
		{"20,000 seats in a section", halls(1, 40)},
		{"20,500 seats in a section", halls(1, 41)},
		{"200,000 seats", halls(10, 40)},
		{"200,500 seats", halls(11, 37)},
		{"500 sections", func(p *Plan) {
			for i := len(p.Sections); i < holdfast.MaxPlanSections; i++ {
				p.Sections = append(p.Sections, Section{Key: fmt.Sprint("s", i), Name: "S", Category: "a", Capacity: 1})
			}
		}},
		{"65 categories", func(p *Plan) {
			for i := len(p.Categories); i <= holdfast.MaxPlanCategories; i++ {
				p.Categories = append(p.Categories, Category{Key: fmt.Sprint("c", i), Name: " "})
			}
		}},
		{"501 sections", func(p *Plan) {
			for i := len(p.Sections); i <= holdfast.MaxPlanSections; i++ {
				p.Sections = append(p.Sections, Section{Key: fmt.Sprint("s", i), Name: "S", Category: "a", Capacity: 1})
			}
		}},
		{"more than 100 problems", func(p *Plan) {
			for i := range 60 {
				rows := []Row{{Key: "", Seats: Seats{List: []*Seat{{}}}}}
				p.Sections = append(p.Sections, Section{Key: "S", Name: " ", Category: fmt.Sprint(i), Rows: rows})
			}
		}},
	}
}

// drawForm draws a plan in which about every other value may be wrong.
func drawForm(r *rand.Rand) Plan {
	odd := r.IntN(2) == 0
	pick := func(usual string, others ...string) string {
		if !odd || r.IntN(6) > 0 {
			return usual
		}
		return others[r.IntN(len(others))]
	}
	plan := Plan{Name: pick("Hall", "", "a\x01")}
	plan.Categories = []Category{{Key: "a", Name: pick("A", " ")}, {Key: pick("b", "a", "é"), Name: "B"}}
	for n := range 1 + r.IntN(3) {
		s := Section{Key: pick(fmt.Sprint("S", n), "S0", "é", ""), Name: pick("S", ""), Category: pick("a", "", "c")}
		if r.IntN(3) == 0 {
			s.Capacity = 1 + r.Int64N(100)
		}
		if s.Capacity == 0 || odd && r.IntN(4) == 0 {
			for m := range 1 + r.IntN(3) {
				row := Row{
					Key: pick(fmt.Sprint(m), "0", " "), Label: pick("", "R\xc2\x85"), Category: pick("", "b", "z"),
					Adjacency: []string{"", "LINE", "NONE", pick("ALL", "X")}[r.IntN(4)],
				}
				if r.IntN(2) == 0 {
					row.Seats.Count = 1 + r.Int64N(5)
				} else {
					row.Seats.List = drawSeats(r, pick, fmt.Sprintf("S%d-%d", n, m))
				}
				s.Rows = append(s.Rows, row)
			}
		}
		plan.Sections = append(plan.Sections, s)
	}
	return plan
}

func drawSeats(r *rand.Rand, pick func(string, ...string) string, row string) []*Seat {
	seats := []*Seat{{ID: pick(row+"-1", "", "block", "S0-0-1", "S1-0-2")}}
	for i := range r.IntN(6) {
		if r.IntN(4) == 0 {
			seats = append(seats, nil)
			continue
		}
		seat := &Seat{ID: pick(fmt.Sprintf("%s-%d", row, i+2), "S0-0-1", "S0-1-2", "a b"), Label: pick("", "\t"), Accessible: r.IntN(5) == 0}
		if r.IntN(2) == 0 {
			seat.X = new(float64(r.IntN(200_200) - 100_100))
		}
		seats = append(seats, seat)
	}
	return seats
}
