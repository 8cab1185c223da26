package seating_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/holdfast-dev/holdfast"
)

// small makes plans of at most three rows, of at most six places each unless they are long.
type small struct {
	*rand.Rand
	long int // places of a row that is not a table; 0 means six
}

func (g small) one(n int) bool { return g.IntN(n) == 0 }

func (g small) plan() holdfast.SeatingPlan {
	plan := holdfast.SeatingPlan{Name: "small"}
	for n := range 1 + g.IntN(3)*g.IntN(2) {
		plan.Categories = append(plan.Categories, holdfast.Category{Key: fmt.Sprintf("c%d", n), Name: "Category"})
	}
	if g.one(2) {
		plan.FocalPoint = &holdfast.Point{X: g.coordinate(), Y: g.coordinate()}
	}
	accessible, companions, gaps, positions := g.one(2), g.one(2), g.one(2), g.one(3)
	rows := 1 + g.IntN(3)
	for rows > 0 {
		s := holdfast.Section{Key: fmt.Sprintf("s%d", len(plan.Sections)), Name: "Section", Category: g.category(plan)}
		for range 1 + g.IntN(rows) {
			s.Rows = append(s.Rows, g.row(plan, s.Key, len(s.Rows), accessible, companions, gaps, positions))
			rows--
		}
		plan.Sections = append(plan.Sections, s)
		if g.one(6) {
			plan.Sections = append(plan.Sections, holdfast.Section{
				Key: fmt.Sprintf("g%d", len(plan.Sections)), Name: "Standing", Category: g.category(plan), Capacity: 5,
			})
		}
	}
	return plan
}

func (g small) row(plan holdfast.SeatingPlan, section string, index int, accessible, companions, gaps, positions bool) holdfast.Row {
	row := holdfast.Row{Key: fmt.Sprintf("r%d", index), Adjacency: holdfast.AdjacencyLine}
	switch g.IntN(8) {
	case 0:
		row.Adjacency = holdfast.AdjacencyNone
	case 1, 2:
		row.Adjacency = holdfast.AdjacencyAll
	}
	if g.one(6) {
		row.Category = g.category(plan)
	}
	mixed, places := g.one(4), 6
	if row.Adjacency != holdfast.AdjacencyAll {
		places = max(places, g.long)
	}
	gapEvery := 5 * places / 6
	for len(row.Seats) == 0 || row.Seats[0] == nil && len(row.Seats) == 1 {
		row.Seats = nil
		seats := 0
		for i := range 1 + g.IntN(places) {
			if gaps && g.one(gapEvery) {
				row.Seats = append(row.Seats, nil)
				continue
			}
			seats++
			seat := &holdfast.Seat{ID: fmt.Sprintf("%s-%s-%d", section, row.Key, i), Accessible: accessible && g.one(3)}
			seat.Companion = companions && g.one(3)
			if mixed {
				seat.Category = g.category(plan)
			}
			if positions {
				x, y := g.coordinate(), g.coordinate()
				seat.X, seat.Y = &x, &y
			}
			row.Seats = append(row.Seats, seat)
		}
		if seats == 0 {
			row.Seats = nil
		}
	}
	return row
}

func (g small) category(plan holdfast.SeatingPlan) string {
	return plan.Categories[g.IntN(len(plan.Categories))].Key
}

// coordinate has few values, so that distances are often equal.
func (g small) coordinate() holdfast.Thousandths {
	return holdfast.Thousandths(g.IntN(7)) * holdfast.Unit
}

func (g small) wish(plan holdfast.SeatingPlan) refWish {
	w := refWish{seats: 1 + g.IntN(3), required: g.one(2)}
	if g.one(3) {
		w.seats = 1 + g.IntN(8)
	}
	if g.long > 0 && g.one(3) {
		w.seats = 1 + g.IntN(holdfast.MaxNamedSeats)
	}
	if g.one(3) {
		for _, n := range g.Perm(len(plan.Categories))[:1+g.IntN(len(plan.Categories))] {
			w.categories = append(w.categories, plan.Categories[n].Key)
		}
	}
	if g.one(4) {
		w.section = plan.Sections[g.IntN(len(plan.Sections))].Key
	}
	if g.one(3) {
		w.accessible = g.IntN(min(w.seats, 3) + 1)
	}
	return w
}
