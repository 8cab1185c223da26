package plandrawing

import (
	"math"
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// point is a position, or a distance.
type point struct{ x, y float64 }

func (p point) plus(o point) point          { return point{p.x + o.x, p.y + o.y} }
func (p point) minus(o point) point         { return point{p.x - o.x, p.y - o.y} }
func (p point) times(f float64) point       { return point{p.x * f, p.y * f} }
func (p point) to(o point) float64          { return math.Hypot(p.x-o.x, p.y-o.y) }
func pointOf(p holdfast.Point) point        { return point{float64(p.X), float64(p.Y)} }
func pointOfSeat(seat *holdfast.Seat) point { return point{float64(*seat.X), float64(*seat.Y)} }
func middle(p, o point) point               { return p.plus(o).times(0.5) }

// forEach calls a function for each item.
func forEach[T any](items []T, f func(*T)) {
	for i := range items {
		f(&items[i])
	}
}

// direction is the way from one point to another, of length 1; up if they are one point.
func direction(from, to point) point {
	if d := from.to(to); d > 0 {
		return to.minus(from).times(1 / d)
	}
	return point{0, -1}
}

// box is a rectangle.
type box struct{ min, max point }

// noBox has no points.
func noBox() box {
	return box{point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}}
}

// around is the box of a size around a point.
func around(center point, width, height float64) box {
	half := point{width / 2, height / 2}
	return box{center.minus(half), center.plus(half)}
}

// boxOf is the smallest box with the points.
func boxOf(points []point) box {
	b := noBox()
	for _, p := range points {
		b = b.with(p)
	}
	return b
}

func (b box) with(p point) box {
	return b.union(box{p, p})
}

func (b box) union(o box) box {
	return box{point{min(b.min.x, o.min.x), min(b.min.y, o.min.y)}, point{max(b.max.x, o.max.x), max(b.max.y, o.max.y)}}
}

func (b box) grown(by float64) box {
	return box{b.min.minus(point{by, by}), b.max.plus(point{by, by})}
}

func (b box) moved(by point) box { return box{b.min.plus(by), b.max.plus(by)} }

func (b box) width() float64 { return b.max.x - b.min.x }

func (b box) height() float64 { return b.max.y - b.min.y }

func (b box) center() point { return middle(b.min, b.max) }

func (b box) has(p point) bool {
	return b.min.x <= p.x && p.x <= b.max.x && b.min.y <= p.y && p.y <= b.max.y
}

func (b box) overlaps(o box) bool {
	return b.min.x <= o.max.x && o.min.x <= b.max.x && b.min.y <= o.max.y && o.min.y <= b.max.y
}

// corners are those of the box, in the order of an outline.
func (b box) corners() []point {
	return []point{b.min, {b.max.x, b.min.y}, b.max, {b.min.x, b.max.y}}
}

// isInside reports whether a point is in the outline.
func isInside(outline []point, p point) bool {
	inside := false
	for i, a := range outline {
		b := outline[(i+1)%len(outline)]
		if (a.y > p.y) != (b.y > p.y) && p.x < a.x+(p.y-a.y)/(b.y-a.y)*(b.x-a.x) {
			inside = !inside
		}
	}
	return inside
}

// samples are points of an outline's area, at most samplesInRow in a row.
func samples(outline []point) (points []point) {
	const samplesInRow = 10
	b := boxOf(outline)
	for i := range samplesInRow {
		for j := range samplesInRow {
			p := b.min.plus(point{b.width() * (float64(i) + 0.5) / samplesInRow, b.height() * (float64(j) + 0.5) / samplesInRow})
			if isInside(outline, p) {
				points = append(points, p)
			}
		}
	}
	return points
}

// roomiest is a point in an outline that is far from its lines, for a text: the middle of its box if it can be.
func roomiest(outline []point) point {
	best := boxOf(outline).center()
	room := 0.0
	for _, p := range append([]point{best}, samples(outline)...) {
		if !isInside(outline, p) {
			continue
		}
		nearest := math.Inf(1)
		for i, a := range outline {
			nearest = min(nearest, toLine(p, a, outline[(i+1)%len(outline)]))
		}
		if nearest > room {
			best, room = p, nearest
		}
	}
	return best
}

// toLine is the distance of a point from the line between two others.
func toLine(p, a, b point) float64 {
	way := b.minus(a)
	length := way.x*way.x + way.y*way.y
	if length == 0 {
		return p.to(a)
	}
	share := ((p.x-a.x)*way.x + (p.y-a.y)*way.y) / length
	return p.to(a.plus(way.times(min(max(share, 0), 1))))
}

// pitch is the distance of seats that stand side by side: most seats have no neighbour that is nearer. It is 0 if
// all seats are at one point.
func pitch(sections []holdfast.Section) float64 {
	var nearest []float64
	for _, s := range sections {
		nearest = append(nearest, nearestSeats(s.Rows)...)
	}
	if len(nearest) == 0 {
		return 0
	}
	slices.Sort(nearest)
	return nearest[len(nearest)/10]
}

// nearestSeats are the distances of seats to the nearest one of their row and the row before it. Seats at the same
// point do not count.
func nearestSeats(rows []holdfast.Row) (distances []float64) {
	var before []point
	for _, row := range rows {
		var points []point
		for _, seat := range row.Seats {
			if seat != nil {
				points = append(points, pointOfSeat(seat))
			}
		}
		for i, p := range points {
			nearest := math.Inf(1)
			compare := func(o point) {
				if d := p.to(o); d > 0 {
					nearest = min(nearest, d)
				}
			}
			if i > 0 {
				compare(points[i-1])
			}
			for _, o := range before {
				compare(o)
			}
			if !math.IsInf(nearest, 1) {
				distances = append(distances, nearest)
			}
		}
		before = points
	}
	return distances
}
