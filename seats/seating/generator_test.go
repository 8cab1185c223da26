package seating_test

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
)

// generator draws plans. Odd plans have values that Check may refuse.
type generator struct {
	*rapid.T
	odd bool
}

func (g generator) text(name string, usual []string, odd ...string) string {
	if g.odd {
		usual = append(usual, odd...)
	}
	return rapid.SampledFrom(usual).Draw(g.T, name)
}

func (g generator) number(name string, least, most, oddLeast, oddMost int64) int64 {
	if g.odd {
		least, most = oddLeast, oddMost
	}
	return rapid.Int64Range(least, most).Draw(g.T, name)
}

func (g generator) yes(name string) bool { return rapid.Bool().Draw(g.T, name) }

func (g generator) coordinate(name string) holdfast.Thousandths {
	const most = int64(holdfast.MaxPlanCoordinate)
	return holdfast.Thousandths(g.number(name, -most, most, -1<<63, 1<<63-1))
}

// anyPlan draws a plan that is valid about every other time.
func anyPlan(t *rapid.T) holdfast.SeatingPlan {
	return generator{t, rapid.Bool().Draw(t, "odd values")}.plan()
}

func validPlan(t *rapid.T) holdfast.SeatingPlan { return generator{t, false}.plan() }

func (g generator) plan() holdfast.SeatingPlan {
	plan := holdfast.SeatingPlan{
		Name: g.text("name", []string{"Hall"}, "", "\x00"), Categories: []holdfast.Category{{Key: "a", Name: "A"}, {Key: "b", Name: "B"}},
	}
	if g.yes("focal") {
		plan.FocalPoint = &holdfast.Point{X: g.coordinate("fx"), Y: g.coordinate("fy")}
	}
	for range g.number("decorations", 0, 3, 0, 3) {
		plan.Decorations = append(plan.Decorations, g.decoration())
	}
	for n := range g.number("sections", 1, 3, 0, 3) {
		plan.Sections = append(plan.Sections, g.section(n))
	}
	return plan
}

func (g generator) decoration() holdfast.Decoration {
	d := holdfast.Decoration{
		Kind:  holdfast.DecorationKind(g.text("kind", []string{"stage", "area", "wall", "text", "icon"}, "", "STAGE")),
		Floor: g.text("floor", []string{"", "1"}, " "),
	}
	isPlaced := d.Kind == holdfast.DecorationText || d.Kind == holdfast.DecorationIcon
	if isPlaced || g.odd && g.yes("at") {
		d.At = &holdfast.Point{X: g.coordinate("atX"), Y: g.coordinate("atY")}
	}
	if !isPlaced || g.odd && g.yes("with points") {
		for range g.number("points", 3, 5, 0, 201) {
			d.Points = append(d.Points, holdfast.Point{X: g.coordinate("px"), Y: g.coordinate("py")})
		}
	}
	if d.Kind != holdfast.DecorationWall || g.odd {
		d.Text = g.text("text", []string{"Bar", "<i>&"}, "", "\x00")
	}
	if d.Kind == holdfast.DecorationIcon || g.odd && g.yes("with icon") {
		d.Icon = g.text("icon", holdfast.DecorationIcons(), "", "x")
	}
	return d
}

func (g generator) viewURL() string {
	return g.text("view URL", []string{"", "https://a.example/b?c=d&e"}, "http://a", "https://u@a/")
}

func (g generator) section(n int64) holdfast.Section {
	s := holdfast.Section{
		Key: g.text("section key", []string{fmt.Sprint("S", n)}, "S0", "é"), Name: "S", Category: g.text("category", []string{"a", "b"}, "", "c"),
		ViewURL: g.viewURL(),
	}
	if g.yes("standing") {
		s.Capacity = g.number("capacity", 1, 1000, -1, 1<<62)
		if !g.odd {
			return s
		}
	}
	for m := range g.number("rows", 1, 3, 0, 4) {
		s.Rows = append(s.Rows, g.row(n, m))
	}
	return s
}

func (g generator) row(n, m int64) holdfast.Row {
	row := holdfast.Row{
		Key: g.text("row key", []string{fmt.Sprint(m)}, "0", " "), Category: g.text("row category", []string{"", "b"}, "z"),
		Label:     g.text("label", []string{"", "R"}, "\xff"),
		Adjacency: holdfast.Adjacency(g.text("adjacency", []string{"", "LINE", "NONE", "ALL"}, "X")),
	}
	if g.yes("counted") {
		row.Count = g.number("count", 1, 70, -1, 501)
		if !g.odd {
			return row
		}
	}
	row.Seats = []*holdfast.Seat{}
	for i := range g.number("places", 1, 70, 0, 5) {
		if i > 0 && rapid.IntRange(0, 5).Draw(g.T, "gap") == 0 {
			row.Seats = append(row.Seats, nil)
			continue
		}
		seat := &holdfast.Seat{ID: g.text("id", []string{fmt.Sprint(n, ".", m, ".", i)}, "", "block", "S0-0-1"), Accessible: g.yes("accessible")}
		seat.ViewURL = g.viewURL()
		if g.yes("placed") {
			seat.X = new(g.coordinate("x"))
		}
		row.Seats = append(row.Seats, seat)
	}
	return row
}
