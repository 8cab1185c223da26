package plandrawing

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

func spot(x, y float64) *holdfast.Point { return &holdfast.Point{X: units(x), Y: units(y)} }

func textAt(x, y float64, text string) holdfast.Decoration {
	return holdfast.Decoration{Kind: holdfast.DecorationText, At: spot(x, y), Text: text}
}

func iconAt(x, y float64, icon, text string) holdfast.Decoration {
	return holdfast.Decoration{Kind: holdfast.DecorationIcon, At: spot(x, y), Icon: icon, Text: text}
}

// stageAt is a stage of 8 to 3 units.
func stageAt(x, y float64, text string) holdfast.Decoration {
	return holdfast.Decoration{
		Kind: holdfast.DecorationStage, Text: text, Points: []holdfast.Point{*spot(x, y), *spot(x+8, y), *spot(x+8, y+3), *spot(x, y+3)},
	}
}

func wallOf(points ...*holdfast.Point) holdfast.Decoration {
	d := holdfast.Decoration{Kind: holdfast.DecorationWall}
	for _, p := range points {
		d.Points = append(d.Points, *p)
	}
	return d
}

// furnished is a hall with a decoration of each kind, and each icon.
func furnished() holdfast.SeatingPlan {
	plan := hall(at(0, 0, block("A", 8, 12)), at(15, 0, block("B", 8, 12)))
	area := stageAt(1, 10, "Bar & terrace")
	area.Kind = holdfast.DecorationArea
	plan.FocalPoint = spot(14, -3)
	plan.Decorations = []holdfast.Decoration{
		area, stageAt(10, -5, "Main stage"), wallOf(spot(-2, -7), spot(30, -7), spot(30, 14)), textAt(12, 11, "Foyer"),
	}
	for i, name := range holdfast.DecorationIcons() {
		plan.Decorations = append(plan.Decorations, iconAt(float64(3*i)-1, 16, name, strings.Repeat("Door ", i%2)))
		plan.Decorations[len(plan.Decorations)-1].Text = strings.TrimSpace(plan.Decorations[len(plan.Decorations)-1].Text)
	}
	return plan
}

// A decoration is drawn where the plan has it, relative to the seats, and a stage replaces that of the focal point.
func TestSVG_Decorations(t *testing.T) {
	t.Parallel()
	plan := furnished()
	p := draw(t, plan)
	first := p.seats[0] // at 1, 0
	path := func(points ...holdfast.Point) string {
		text := "M"
		for _, p := range points {
			text += fmt.Sprint(" ", first.x+24*float64(p.X-holdfast.Unit)/1000, " ", first.y+24*float64(p.Y)/1000)
		}
		return text
	}
	for _, d := range plan.Decorations[:3] {
		if !strings.Contains(p.text, `d="`+path(d.Points...)) {
			t.Errorf("no %s at %v", d.Kind, path(d.Points...))
		}
	}
	for _, want := range []string{"Main stage", "Bar & terrace", "Foyer", "Door", "WC", "first aid", "toilet", "information"} {
		if !p.has(want) {
			t.Errorf("no text %q in %q", want, p.texts)
		}
	}
	if p.has("Stage") || p.has("focal point") || strings.Contains(p.text, "#focal") || strings.Contains(p.text, "outside of the picture") {
		t.Error("the focal point is drawn although the plan has a stage")
	}
	if wants := []string{"Bar & terrace", "Main stage"}; !slices.Equal(p.titles[:2], wants) {
		t.Errorf("the titles are %q", p.titles)
	}
	if uses := strings.Count(p.text, `<use href="#icon-`); uses != 2*len(holdfast.DecorationIcons()) { // one in the legend
		t.Errorf("%d icons", uses)
	}
	shapes, seats := strings.Index(p.text, `d="`+path(plan.Decorations[1].Points...)), strings.Index(p.text, "<circle cx")
	if shapes > seats || strings.Index(p.text, ">Foyer<") < seats {
		t.Error("shapes are not below the seats, or texts not above")
	}
}

// Decorations around the hall are in the picture as a whole; those that are far away are counted.
func TestSVG_DecorationsAroundTheHall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decoration holdfast.Decoration
		isShown    bool
	}{
		"in the hall": {textAt(3, 5, "Foyer"), true}, "above": {textAt(3, -15, "Foyer"), true}, "to the left": {textAt(-18, 1, "Foyer"), true},
		"far to the right": {textAt(500, 1, "Foyer"), false}, "far below": {iconAt(3, 500, "exit", "Foyer"), false},
		"partly far": {wallOf(spot(0, 0), spot(500, 0)), false},
	} {
		plan := hall(block("A", 3, 5))
		plan.Decorations = []holdfast.Decoration{c.decoration}
		p := draw(t, plan)
		if isShown := p.has("Foyer"); isShown != c.isShown || p.has("decorations outside of the picture: 1") == c.isShown {
			t.Errorf("%s: %q", name, p.texts)
		}
		at := regexp.MustCompile(`<text x="(-?\d+)" y="(-?\d+)"[^>]*>Foyer<`).FindStringSubmatch(p.text)
		var x, y, width float64 = 0, 0, 3 * 14
		if c.isShown {
			_, _ = fmt.Sscan(at[1], &x)
			_, _ = fmt.Sscan(at[2], &y)
			if x < width || y < 14 || x > p.width-width || y > p.height {
				t.Errorf("%s: the text at %v %v is not in the picture of %v to %v", name, x, y, p.width, p.height)
			}
		}
	}
}

// A decoration of a floor is drawn with its sections, and one without a floor on each.
func TestSVG_DecorationsOfFloors(t *testing.T) {
	t.Parallel()
	stalls, circle := at(0, 0, block("A", 3, 5)), at(0, 1, block("B", 3, 5))
	stalls.Floor, circle.Floor = "0", "1"
	plan := hall(stalls, circle)
	up, gone := textAt(3, -2, "Up"), textAt(3, -3, "Nowhere")
	up.Floor, gone.Floor = "1", "2"
	plan.Decorations = []holdfast.Decoration{up, gone, textAt(3, -4, "Both")}
	p := draw(t, plan)
	count := func(text string) int { return strings.Count(p.text, ">"+text+"<") }
	if count("Up") != 1 || count("Both") != 2 || count("Nowhere") != 0 || !p.has("decorations outside of the picture: 1") {
		t.Errorf("%q", p.texts)
	}
	if one := draw(t, hall(at(0, 0, block("A", 1, 1)))); one.has("decorations outside of the picture: 0") {
		t.Errorf("%q", one.texts)
	}
	plan.Sections = plan.Sections[:1]
	if p = draw(t, plan); count("Up") != 1 || count("Nowhere") != 1 {
		t.Errorf("one floor: %q", p.texts)
	}
}

// Where no section is where the plan has it, decorations have no place; where no section has a position, they have theirs.
func TestSVG_DecorationsWithoutAHall(t *testing.T) {
	t.Parallel()
	plan := hall(block("A", 3, 5), block("B", 3, 5), block("C", 3, 5))
	plan.Decorations = []holdfast.Decoration{textAt(3, 5, "Foyer")}
	if p := draw(t, plan); p.has("Foyer") || !p.has("decorations outside of the picture: 1") {
		t.Errorf("overlapping: %q", p.texts)
	}
	plan = hall(holdfast.Section{Key: "pit", Capacity: 100})
	plan.Decorations = []holdfast.Decoration{stageAt(90_000, 5, "Bühne"), textAt(-90_000, 7, "Foyer")}
	if p := draw(t, plan); !p.has("Bühne") && !p.has("Foyer") || !p.has("100 places") || p.width > 1e6 {
		t.Errorf("standing: %q in %v to %v", p.texts, p.width, p.height)
	}
}

// As many decorations as a plan may have, on as many floors, make a picture of a bounded size.
func TestSVG_TheMostDecorations(t *testing.T) {
	t.Parallel()
	var sections []holdfast.Section
	for n := range holdfast.MaxPlanSections {
		s := at(0, 0, block(fmt.Sprint(n), 2, 2))
		s.Floor = fmt.Sprint(n)
		sections = append(sections, s)
	}
	plan := hall(sections...)
	for range holdfast.MaxDecorations {
		plan.Decorations = append(plan.Decorations, textAt(1, 2, strings.Repeat("é", holdfast.MaxDecorationTextLength)))
	}
	svg := SVG(plan, nil)
	if n := bytes.Count(svg, []byte("é")); n == 0 || len(svg) > 10<<20 {
		t.Errorf("%d bytes", len(svg))
	}
}

// Decorations without an area, and texts of any length, are drawn all the same.
func TestSVG_OddDecorations(t *testing.T) {
	t.Parallel()
	plan := hall(block("A", 3, 5))
	flat := stageAt(2, 2, "flat")
	flat.Points = []holdfast.Point{*spot(1, 1), *spot(1, 1), *spot(1, 1)}
	long := strings.TrimSpace(strings.Repeat("endless ", holdfast.MaxDecorationTextLength/8))
	plan.Decorations = []holdfast.Decoration{flat, wallOf(spot(1, 1), spot(1, 1)), textAt(1, 4, long)}
	plan.Decorations = append(plan.Decorations, iconAt(2, 4, "lift", long), stageAt(0, -9, long))
	p := draw(t, plan)
	for _, text := range p.texts {
		if len([]rune(text)) > 60 {
			t.Errorf("%q is too long", text)
		}
	}
	if strings.Contains(p.text, "NaN") || strings.Contains(p.text, "-9223372036854775808") || !slices.Contains(p.titles, long) {
		t.Errorf("%s %q", p.text, p.titles)
	}
}

// Every icon has an element.
func TestIcons_AreThoseOfPlans(t *testing.T) {
	t.Parallel()
	var names []string
	for _, i := range icons {
		names = append(names, i.name)
	}
	if !slices.Equal(names, holdfast.DecorationIcons()) {
		t.Errorf("%q", names)
	}
}
