package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/planfile"
)

// drawer draws valid plans with all that a plan can have.
type drawer struct {
	*rand.Rand

	farthest int64 // coordinate of this plan, in thousandths
}

func newDrawer() *drawer {
	const seed, stream = 20, 26
	return &drawer{Rand: rand.New(rand.NewPCG(seed, stream))} //nolint:gosec // the same plans each time
}

// one reports true once in n times.
func (d *drawer) one(n int) bool { return d.IntN(n) == 0 }

func (d *drawer) of(texts ...string) string { return texts[d.IntN(len(texts))] }

func (d *drawer) coordinate() float64 {
	return float64(d.Int64N(2*d.farthest+1)-d.farthest) / float64(holdfast.Unit)
}

func (d *drawer) points(least int) [][2]float64 {
	points := make([][2]float64, least+d.IntN(least))
	for i := range points {
		points[i] = [2]float64{d.coordinate(), d.coordinate()}
	}
	return points
}

func (d *drawer) plan() planfile.Plan {
	d.farthest = 50 * int64(holdfast.Unit)
	if d.one(50) {
		d.farthest = int64(holdfast.MaxPlanCoordinate)
	}
	plan := planfile.Plan{Name: d.of("Hall", "Große Halle", "劇場", "a\"b\\c")}
	for i := range 1 + d.IntN(3) {
		category := planfile.Category{Key: fmt.Sprint("c", i), Name: d.of("Premium", "A"), Color: d.of("", "#0b5d66", "#ABCDEF")}
		plan.Categories = append(plan.Categories, category)
	}
	if d.one(2) {
		plan.FocalPoint = &planfile.Point{X: d.coordinate(), Y: d.coordinate()}
	}
	for d.one(3) {
		plan.Decorations = append(plan.Decorations, d.decoration())
	}
	for i := range 1 + d.IntN(4) {
		plan.Sections = append(plan.Sections, d.section(fmt.Sprint("S", i), len(plan.Categories)))
	}
	return plan
}

func (d *drawer) category(categories int) string { return fmt.Sprint("c", d.IntN(categories)) }

func (d *drawer) decoration() planfile.Decoration {
	decoration := planfile.Decoration{Kind: d.of("stage", "area", "wall", "text", "icon"), Floor: d.of("", "0", "1")}
	const corners = 3
	switch decoration.Kind {
	case "text":
		decoration.At, decoration.Text = &[2]float64{d.coordinate(), d.coordinate()}, d.of("Bar", "<b>")
	case "icon":
		decoration.At, decoration.Icon = &[2]float64{d.coordinate(), d.coordinate()}, d.of(holdfast.DecorationIcons()...)
	case "wall":
		decoration.Points = d.points(corners)
	default:
		decoration.Points, decoration.Text = d.points(corners), d.of("", "Bühne")
	}
	return decoration
}

func (d *drawer) section(key string, categories int) planfile.Section {
	s := planfile.Section{
		Key: key, Name: d.of("Stalls", "Parkett", "Block 7"), Category: d.category(categories), Floor: d.of("", "0", "1"),
		Entrance: d.of("", "West"), ViewURL: d.viewURL(),
	}
	if d.one(3) {
		s.Outline = d.points(1 + d.IntN(3))
	}
	if d.one(4) {
		s.Capacity = 1 + d.Int64N(1000)
		return s
	}
	isPlaced := d.one(2)
	for i := range 1 + d.IntN(3) {
		row := planfile.Row{Key: fmt.Sprint(i), Label: d.of("", "Row 1", "Reihe Ä"), Adjacency: d.of("", "LINE", "NONE", "ALL")}
		if d.one(3) {
			row.Category = d.category(categories)
		}
		if !isPlaced && d.one(2) {
			row.Seats.Count = 1 + d.Int64N(20)
		} else {
			row.Seats.List = d.seats(key+"-"+row.Key, categories, isPlaced)
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

func (d *drawer) viewURL() string {
	if d.one(5) {
		return "https://views.example/a.jpg?b=1&c=2"
	}
	return ""
}

func (d *drawer) seats(row string, categories int, isPlaced bool) []*planfile.Seat {
	seats := []*planfile.Seat{{ID: row + "-0"}}
	if d.one(4) {
		seats = []*planfile.Seat{nil, {ID: row + "-0"}}
	}
	for i := range d.IntN(12) {
		if d.one(6) {
			seats = append(seats, nil)
			continue
		}
		seat := &planfile.Seat{
			ID: fmt.Sprintf("%s-%d", row, i+1), Label: d.of("", "7a", "Ü"), Accessible: d.one(9), Companion: d.one(9), RestrictedView: d.one(9),
			Note: d.of("", "", "behind a pillar"), ViewURL: d.viewURL(),
		}
		if d.one(5) {
			seat.Category = d.category(categories)
		}
		if isPlaced || d.one(9) {
			seat.X = new(d.coordinate())
		}
		if isPlaced || d.one(9) {
			seat.Y = new(d.coordinate())
		}
		seats = append(seats, seat)
	}
	return seats
}
