package plandrawing

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/planfile"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

const examples = "../planfile/examples/"

func readPlan(t *testing.T, name string) holdfast.SeatingPlan {
	t.Helper()
	text, err := os.ReadFile(examples + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	plan, problems, err := planfile.ReadJSON(text)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	return plan
}

// hall is a plan of one category.
func hall(sections ...holdfast.Section) holdfast.SeatingPlan {
	for i := range sections {
		sections[i].Category = "c"
		if sections[i].Name == "" {
			sections[i].Name = "Section " + sections[i].Key
		}
	}
	return holdfast.SeatingPlan{Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "First"}}, Sections: sections}
}

// block is a section of rows without positions.
func block(key string, rows int, seats int64) holdfast.Section {
	s := holdfast.Section{Key: key}
	for n := range rows {
		s.Rows = append(s.Rows, holdfast.Row{Key: fmt.Sprint(n + 1), Count: seats})
	}
	return s
}

func units(n float64) holdfast.Thousandths { return holdfast.Thousandths(n * float64(holdfast.Unit)) }

// at moves the seats of a block, which are a unit apart.
func at(x, y float64, s holdfast.Section) holdfast.Section {
	s = seating.Expand(hall(s)).Sections[0]
	for _, row := range s.Rows {
		for _, seat := range row.Seats {
			left, top := *seat.X+units(x), *seat.Y+units(y)
			seat.X, seat.Y = &left, &top
		}
	}
	return s
}

// The pictures of the examples are those of the plans next to them.
func TestSVG_ThePicturesOfTheExamplesAreUpToDate(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"theatre", "arena", "cinema"} {
		want := SVG(readPlan(t, name), nil)
		if got, err := os.ReadFile(examples + name + ".svg"); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v; run: go run ./cmd/seatctl plans check seats/planfile/examples/%s.json -o seats/planfile/examples/%s.svg", err, name, name)
		}
	}
}

// Each seat is in the picture once, with what it is, and no two are on top of each other.
func TestSVG_DrawsEverySeat(t *testing.T) {
	t.Parallel()
	plans := map[string]holdfast.SeatingPlan{
		"no positions": hall(block("A", 4, 10), block("B", 5, 12), holdfast.Section{Key: "pit", Capacity: 5}),
		"a few":        hall(at(0, 0, block("A", 4, 10)), block("B", 5, 12), at(100, 0, block("C", 2, 2))),
		"one seat":     hall(block("A", 1, 1)),
	}
	for _, name := range []string{"theatre", "arena", "cinema"} {
		plans[name] = readPlan(t, name)
	}
	for name, plan := range plans {
		p := draw(t, plan)
		written := seating.Expand(plan)
		var want []string
		for _, s := range written.Sections {
			for _, row := range s.Rows {
				for _, seat := range row.Seats {
					if seat != nil {
						want = append(want, fmt.Sprint(s.Name, " ", row.Label, " ", seat.Label))
					}
				}
			}
		}
		if len(p.seats) != len(want) {
			t.Fatalf("%s: %d seats, want %d", name, len(p.seats), len(want))
		}
		places := map[[2]float64]string{}
		for i, seat := range p.seats {
			short := strings.NewReplacer(", row ", " ", ", seat ", " ", ", ", " ").Replace(seat.title)
			if !strings.HasPrefix(short, strings.ReplaceAll(want[i], ", ", " ")+" ") {
				t.Errorf("%s: %q is not %q", name, seat.title, want[i])
			}
			if other := places[[2]float64{seat.x, seat.y}]; other != "" {
				t.Errorf("%s: %q is on %q", name, seat.title, other)
			}
			places[[2]float64{seat.x, seat.y}] = seat.title
			if seat.x < 10 || seat.y < 10 || seat.x > p.width-10 || seat.y > p.height-10 {
				t.Errorf("%s: %q is outside of the picture", name, seat.title)
			}
		}
	}
}

// The theatre as a whole: what it has, and how it is called.
func TestSVG_TheTheatre(t *testing.T) {
	t.Parallel()
	p := draw(t, readPlan(t, "theatre"))
	for _, want := range []string{
		"City theatre", "788 seats", "Stage", "Stalls", "Dress circle", "Balcony", "Boxes, left", "Boxes, right", "A", "S",
		"Premium (196)", "First (184)", "Boxes (32)", "Fourth (66)", "accessible", "companion", "restricted view",
	} {
		if !p.has(want) {
			t.Errorf("no text %q in %q", want, p.texts)
		}
	}
	if p.has("focal point") || strings.Contains(p.text, "Floor ") {
		t.Error("no floors overlap, and the focal point is the stage")
	}
	first := p.seats[0]
	if first.title != "Stalls, Row A, seat 17, First" || first.color != "#0b5d66" || first.shape != "circle" {
		t.Errorf("%+v", first)
	}
	if n := len(slices.DeleteFunc(slices.Clone(p.texts), func(text string) bool { return text != "S" })); n != 2 {
		t.Errorf("the row S has %d labels, want one at each end", n)
	}
}

func TestSVG_MarksSeatsNotByColorAlone(t *testing.T) {
	t.Parallel()
	plan := hall(holdfast.Section{Key: "A", Rows: []holdfast.Row{{Key: "1", Seats: []*holdfast.Seat{
		{ID: "a", Accessible: true}, {ID: "b", Companion: true}, nil, {ID: "c", RestrictedView: true}, {ID: "d"},
		{ID: "e", Accessible: true, RestrictedView: true},
	}}}})
	p := draw(t, plan)
	for i, want := range []drawnSeat{
		{shape: "rect", signs: []string{"#accessible"}, title: "Section A, row 1, seat 1, First, accessible"},
		{shape: "circle", signs: []string{"#companion"}, title: "Section A, row 1, seat 2, First, companion"},
		{shape: "circle", signs: []string{"#restricted"}, title: "Section A, row 1, seat 4, First, restricted view"},
		{shape: "circle", title: "Section A, row 1, seat 5, First"},
		{shape: "rect", signs: []string{"#accessible", "#restricted"}, title: "Section A, row 1, seat 6, First, accessible, restricted view"},
	} {
		got := p.seats[i]
		if got.shape != want.shape || got.title != want.title || !slices.Equal(got.signs, want.signs) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	plain := draw(t, hall(block("A", 1, 2)))
	if plain.has("accessible") || plain.has("companion") || plain.has("restricted view") {
		t.Error("the legend has signs that the picture has not")
	}
}

// What a plan says is text, whatever characters it has.
func TestSVG_NamesAreText(t *testing.T) {
	t.Parallel()
	const rightToLeft = "אולם"
	for name, want := range map[string]string{
		`<script>alert("1")</script>&amp;'`: `<script>alert("1")</script>&amp;'`,
		"]]><!--":                           "]]><!--",
		"a\x00b\x1bc\u2028d":                "a\ufffdb\ufffdc\ufffdd",
		"no UTF-8 \xff":                     "no UTF-8 \ufffd",
		"a\u202eb\u2066c":                   "abc",
		rightToLeft:                         rightToLeft,
		"\ufffe\uffff":                      "\ufffd\ufffd",
	} {
		plan := hall(block("A", 2, 20), holdfast.Section{Key: "pit", Capacity: 20})
		plan.Name, plan.Categories[0].Name = name, name
		plan.Sections[0].Name, plan.Sections[1].Name, plan.Sections[0].Rows[0].Label = name, name, name
		plan.Decorations = []holdfast.Decoration{textAt(1, 5, name), iconAt(4, 5, "bar", name), stageAt(1, -9, name)}
		p := read(t, SVG(plan, nil))
		isolated := want
		if name == rightToLeft {
			isolated = "\u2068" + want + "\u2069"
		}
		if !p.has(want) || !p.has(isolated+" (60)") {
			t.Errorf("%q is not in %q", want, p.texts)
		}
		label := "row " + name
		if strings.Contains(name, " ") {
			label = name
		}
		label = strings.Replace(isolated, want, strings.Replace(label, name, want, 1), 1)
		if title := isolated + ", " + label + ", seat 1, " + isolated; p.seats[0].title != title {
			t.Errorf("%q, want %q", p.seats[0].title, title)
		}
		titles := []string{isolated, isolated + ", 20 places, " + isolated, "bar, " + isolated}
		if !slices.Equal(p.titles, titles) {
			t.Errorf("%q, want %q", p.titles, titles)
		}
		const shown = 10 // characters, of a text that is cut
		begin := string([]rune(want)[:min(shown, len([]rune(want)))])
		drawn := slices.DeleteFunc(slices.Clone(p.texts), func(text string) bool { return !strings.HasPrefix(text, begin) })
		if len(drawn) < len([]string{"the plan", "a section", "an area", "a text", "an icon", "a stage"}) {
			t.Errorf("%q is %d times in %q", want, len(drawn), p.texts)
		}
	}
}

// There is space for the labels of all rows at both ends, in a hall and in adjacent sections.
func TestSVG_LabelsOfRows(t *testing.T) {
	t.Parallel()
	wide, other := block("A", 3, 40), block("B", 3, 40)
	for i := range wide.Rows {
		wide.Rows[i].Label = fmt.Sprintf("Orchestra, row %d", i)
		other.Rows[i].Label = fmt.Sprintf("Mezzanine, row %d", i)
	}
	for name, plan := range map[string]holdfast.SeatingPlan{"a hall": hall(wide), "sections": hall(wide, other)} {
		p := draw(t, plan)
		for _, s := range plan.Sections {
			for _, row := range s.Rows {
				if n := strings.Count(p.text, ">"+row.Label+"<"); n != 2 {
					t.Errorf("%s: %q is there %d times", name, row.Label, n)
				}
			}
		}
	}
}

// Names are cut to the space that they have; a title has the whole name.
func TestSVG_LongNames(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("endless ", holdfast.MaxNameLength/8))
	plan := hall(block("A", 3, 5), holdfast.Section{Key: "pit", Capacity: 10})
	plan.Name, plan.Categories[0].Name, plan.Sections[0].Name, plan.Sections[1].Name = long, long, long, long
	plan.Sections[0].Rows[0].Label = long[:holdfast.MaxLabelLength]
	p := draw(t, plan)
	for _, text := range p.texts {
		if len([]rune(text)) > 60 {
			t.Errorf("%q is too long for a picture that is %v wide", text, p.width)
		}
	}
	if !p.has("endless endless endless endless…") {
		t.Errorf("%q", p.texts)
	}
	if title := p.seats[0].title; !strings.HasPrefix(title, long+", ") || !strings.HasSuffix(title, ", "+long) ||
		!strings.HasPrefix(p.titles[0], long) {
		t.Errorf("%q %q", title, p.titles)
	}
}

// Sections that overlap are drawn side by side; sections that don't stay where they are.
func TestSVG_SectionsThatOverlap(t *testing.T) {
	t.Parallel()
	p := draw(t, hall(at(0, 0, block("A", 3, 5)), at(0, 3, block("B", 3, 5)), block("C", 2, 4), holdfast.Section{Key: "pit", Capacity: 1}))
	a, b, c := p.seats[0], p.seats[15], p.seats[30]
	if b.x != a.x || b.y != a.y+3*24 {
		t.Errorf("B is not where the plan has it: %+v, %+v", a, b)
	}
	if c.x < a.x+5*24 && c.y < b.y+3*24 {
		t.Errorf("C is neither next to them nor below: %+v, %+v", a, c)
	}
	if !p.has("1 place") || !p.has("Section pit") {
		t.Errorf("no area: %q", p.texts)
	}
	// The seats of a section in other units are as close as others are.
	small := block("D", 2, 4)
	small = at(0, 0, small)
	for _, row := range small.Rows {
		for _, seat := range row.Seats {
			*seat.X /= 2
			*seat.Y /= 2
		}
	}
	p = draw(t, hall(block("A", 9, 9), small))
	if first := p.seats[81]; p.seats[82].x-first.x != 24 {
		t.Errorf("%+v, %+v", first, p.seats[82])
	}
}

func TestSVG_FloorsThatOverlap(t *testing.T) {
	t.Parallel()
	stalls, circle := at(0, 0, block("A", 3, 5)), at(0, 1, block("B", 3, 5))
	stalls.Floor, circle.Floor = "0", "1 <up>"
	plan := hall(stalls, circle)
	plan.FocalPoint = &holdfast.Point{X: units(3), Y: units(-3)}
	p := draw(t, plan)
	if !p.has("Floor 0") || !p.has("Floor 1 <up>") || strings.Count(p.text, ">Stage<") != 2 {
		t.Errorf("%q", p.texts)
	}
	next := at(10, 0, block("B", 3, 5))
	next.Floor = "1"
	plan.Sections[1] = hall(next).Sections[0]
	if p = draw(t, plan); p.has("Floor 0") || strings.Count(p.text, ">Stage<") != 1 {
		t.Errorf("%q", p.texts)
	}
}

func TestSVG_Areas(t *testing.T) {
	t.Parallel()
	corners := func(x, y float64) []holdfast.Point {
		return []holdfast.Point{{X: units(x), Y: units(y)}, {X: units(x + 10), Y: units(y)}, {X: units(x + 10), Y: units(y + 5)}}
	}
	plan := hall(at(0, 0, block("A", 3, 5)), holdfast.Section{Key: "in", Capacity: 700, Outline: corners(20, 0)})
	p := draw(t, plan)
	if !slices.Equal(p.titles, []string{"Section in, 700 places, First"}) || !p.has("700 places") || !p.has("First (715)") {
		t.Errorf("%q %q", p.titles, p.texts)
	}
	path := regexp.MustCompile(` d="M ([^"]+) Z"`).FindStringSubmatch(p.text)
	left, top := p.seats[0].x+19*24, p.seats[0].y
	want := fmt.Sprintf("%v %v %v %v %v %v", left, top, left+240, top, left+240, top+120)
	if len(path) < 2 || path[1] != want {
		t.Errorf("%q, want %s", path, want)
	}
	// An area on top of seats is drawn next to them.
	plan = hall(block("A", 8, 12), holdfast.Section{Key: "over", Capacity: 700, Outline: corners(0, 0)})
	p = draw(t, plan)
	path = regexp.MustCompile(` d="M (\d+) (\d+) `).FindStringSubmatch(p.text)
	x, _ := strconv.ParseFloat(path[1], 64)
	y, _ := strconv.ParseFloat(path[2], 64)
	if last := p.seats[len(p.seats)-1]; x < last.x && y < last.y {
		t.Errorf("the area begins at %v %v, before the seat %+v", x, y, last)
	}
}

func TestSVG_FocalPoint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		y    float64
		want string
	}{
		"before the rows": {-5, "Stage"}, "amidst": {1, "focal point"}, "far away": {-500.5, "focal point outside of the picture: 3, -500.5"},
	} {
		plan := hall(block("A", 3, 5))
		plan.FocalPoint = &holdfast.Point{X: units(3), Y: units(c.y)}
		if p := draw(t, plan); !p.has(c.want) {
			t.Errorf("%s: %q", name, p.texts)
		}
	}
	if p := draw(t, hall(block("A", 3, 5))); strings.Contains(p.text, "Stage") || strings.Contains(p.text, "focal") {
		t.Error("a focal point that the plan has not")
	}
}

// A large plan has few bytes for each seat.
func TestSVG_TheLargestPlan(t *testing.T) {
	t.Parallel()
	var sections []holdfast.Section
	for n := range 20 {
		sections = append(sections, block(fmt.Sprint(n), 20, holdfast.MaxRowSeats))
	}
	plan := hall(sections...)
	svg := SVG(plan, nil)
	const bytesPerSeat = 100
	if seats := bytes.Count(svg, []byte("<circle cx=")); seats != holdfast.MaxPlanSeats || len(svg) > seats*bytesPerSeat {
		t.Errorf("%d seats, %d bytes", seats, len(svg))
	}
}

// Positions that make no sense are drawn all the same.
func TestSVG_OddPositions(t *testing.T) {
	t.Parallel()
	point, far := units(7), holdfast.MaxPlanCoordinate
	near := point + 1
	one := at(0, 0, block("A", 200, 1))
	for _, row := range one.Rows {
		row.Seats[0].X, row.Seats[0].Y = &point, &point
	}
	apart := at(0, 0, block("A", 1, 5))
	for i, x := range []*holdfast.Thousandths{&point, &near, &far} {
		apart.Rows[0].Seats[i].X, apart.Rows[0].Seats[i].Y = x, x
	}
	line := holdfast.Section{Key: "l", Capacity: 5, Outline: []holdfast.Point{{}, {}, {X: point}}}
	for name, plan := range map[string]holdfast.SeatingPlan{"one point": hall(one), "far apart": hall(apart), "no area": hall(line)} {
		p := draw(t, plan)
		if p.width > 1e8 || p.height > 1e8 || strings.Contains(p.text, "NaN") || strings.Contains(p.text, "-9223372036854775808") {
			t.Errorf("%s: %v %v", name, p.width, p.height)
		}
	}
}
