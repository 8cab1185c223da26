package planfile

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/holdfast-dev/holdfast"
)

const (
	// gapFactor is the ratio to the usual distance of neighbours from which a distance is a gap. Seats
	// that are drawn by hand vary less, and an aisle is rarely narrower.
	gapFactor = 1.6
	// reorderFactor is the ratio of the way along the seats as listed to the way along the row from
	// which the row is put in the order of its positions. Rows that are curved or drawn a little
	// unevenly stay as they are.
	reorderFactor = 1.3
	// maxBreadth is the maximum ratio of the variance across a row to that along it, if the
	// seats stand in a row: a quarter of a circle has 0.04. Seats around a table have more.
	maxBreadth = 0.1
)

// arrange puts the seats of a row in the order in which they stand, with gaps between them. It
// reorders w too, so that a problem finds the text of its seat.
func (b *pretixBuilder) arrange(w *pretixRow, seats []*holdfast.Seat, where string) []*holdfast.Seat {
	if b.options.AsListed || len(seats) < 2 {
		return seats
	}
	if order := standing(w.seats); order != nil {
		b.report.count(Guessed, "rows whose seats stand in another order than they are listed", 1, where)
		sources, places := make([]pretixSeat, len(order)), make([]*holdfast.Seat, len(order))
		for to, from := range order {
			sources[to], places[to] = w.seats[from], seats[from]
		}
		w.seats, seats = sources, places
	}
	most := gapFactor * usual(w.seats)
	arranged := make([]*holdfast.Seat, 0, len(seats))
	for i, s := range seats {
		if i > 0 && most > 0 && w.seats[i-1].at.distance(w.seats[i].at) > most {
			b.report.count(Guessed, "gaps where neighbours are far apart", 1, fmt.Sprintf("%s, before %s", where, s.ID))
			arranged = append(arranged, nil)
		}
		arranged = append(arranged, s)
	}
	return arranged
}

// usual is the median of the distances between neighbours, the lower one of two; 0 if there are
// too few to compare them.
func usual(seats []pretixSeat) float64 {
	const fewest = 2
	distances := make([]float64, 0, len(seats))
	for i := 1; i < len(seats); i++ {
		distances = append(distances, seats[i-1].at.distance(seats[i].at))
	}
	if len(distances) < fewest {
		return 0
	}
	slices.Sort(distances)
	return distances[(len(distances)-1)/2]
}

// standing returns the order along the direction in which the row extends most; nil if the way
// along the seats as they are listed is about as short, or if they do not stand in a row.
func standing(seats []pretixSeat) []int {
	direction, breadth := axis(seats)
	if breadth > maxBreadth {
		return nil
	}
	along := func(i int) float64 { return seats[i].at.x*direction.x + seats[i].at.y*direction.y }
	order := make([]int, len(seats))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(along(a), along(b)) })
	listed, sorted := 0.0, 0.0
	for i := 1; i < len(seats); i++ {
		listed += seats[i-1].at.distance(seats[i].at)
		sorted += seats[order[i-1]].at.distance(seats[order[i]].at)
	}
	if listed <= reorderFactor*sorted {
		return nil
	}
	return order
}

// axis returns the direction of the largest spread, as a unit vector, and how large the variance
// across it is, compared with that along it. The direction is from left to right, or from top to
// bottom if the row is upright.
func axis(seats []pretixSeat) (direction pretixPoint, breadth float64) {
	var center pretixPoint
	for _, s := range seats {
		center = center.plus(s.at)
	}
	n := float64(len(seats))
	center = pretixPoint{center.x / n, center.y / n}
	var xx, xy, yy float64
	for _, s := range seats {
		x, y := s.at.x-center.x, s.at.y-center.y
		xx, xy, yy = xx+x*x, xy+x*y, yy+y*y
	}
	const half = 2
	sin, cos := math.Sincos(math.Atan2(half*xy, xx-yy) / half)
	if sin < -math.Abs(cos) {
		sin, cos = -sin, -cos
	}
	along, across := (xx+yy+math.Hypot(xx-yy, half*xy))/half, (xx+yy-math.Hypot(xx-yy, half*xy))/half
	if along == 0 {
		return pretixPoint{cos, sin}, 0
	}
	return pretixPoint{cos, sin}, across / along
}
