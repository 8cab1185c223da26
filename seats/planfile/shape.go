package planfile

import (
	"cmp"
	"math"
	"slices"
)

// Limits of what a row can look like. Those in pitches are compared with distances between neighbours.
const (
	// gapFactor is the ratio to the usual distance of neighbours from which a distance is a gap. Seats
	// that are drawn by hand vary less, and an aisle is rarely narrower.
	gapFactor = 1.6
	// slack is the part of a pitch by which the seats of a row may be drawn unevenly.
	slack = 0.25
	// leastGain is the part of a pitch by which another order must be shorter than the listed one.
	leastGain = 0.5
	// leastApart and mostApart are the pitches between two lines of seats. Seats that are further apart
	// than the latter are not at one table.
	leastApart, mostApart = 0.6, 5
	// The breadth is the variance across the main axis, compared with that along it: 0.04 for a quarter of
	// a circle, 0.2 for a half, and 1 for a circle.
	leastRingBreadth, mostLineBreadth = 0.1, 0.5
	// openFactor is the largest distance around a table, compared with the pitch. A horseshoe has a larger one.
	openFactor = 2.2
	// mostTableSeats is the most seats of which we say that they are all together.
	mostTableSeats = 20
)

type point struct{ x, y float64 }

func (p point) plus(q point) point { return point{p.x + q.x, p.y + q.y} }

func (p point) distance(q point) float64 { return math.Hypot(p.x-q.x, p.y-q.y) }

// along is how far a point is in a direction.
func (p point) along(direction point) float64 { return p.x*direction.x + p.y*direction.y }

// shape is where the seats of a row stand, in the order in which they are listed.
type shape struct {
	at      []point
	axis    point   // the direction of the largest spread
	breadth float64 // the variance across the axis, compared with that along it
	nearest []int   // of each seat, the seat that is nearest
	pitch   float64 // the usual distance of a seat from the nearest one
}

func shapeOf(at []point) shape {
	s := shape{at: at, nearest: make([]int, len(at))}
	s.axis, s.breadth = axis(at)
	// Along the axis, the nearest seat is among the next ones. A row has at most MaxRowSeats.
	along := alongs(at, s.axis)
	order := sortedBy(along)
	distances := make([]float64, len(at))
	for n, i := range order {
		best := math.Inf(1)
		for _, step := range []int{-1, 1} {
			for m := n + step; m >= 0 && m < len(order) && math.Abs(along[order[m]]-along[i]) < best; m += step {
				if d := at[i].distance(at[order[m]]); d < best {
					best, s.nearest[i] = d, order[m]
				}
			}
		}
		distances[i] = best
	}
	s.pitch = median(distances)
	return s
}

// lines returns the seats of each line in which the seats stand, in the order in which they stand. isTable means that
// they stand around a table, in the one line that is returned. usual is the usual pitch of the plan.
func (s shape) lines(usual float64) (lines [][]int, isTable bool) {
	listed := make([]int, len(s.at))
	for i := range listed {
		listed[i] = i
	}
	if s.isLine() {
		return [][]int{listed}, false
	}
	if s.isRing(gapFactor, usual) {
		return [][]int{listed}, true
	}
	grain := s.grain()
	lines = s.rows(s.parallels(grain), grain, usual)
	if lines == nil {
		lines = s.rows(s.parallels(s.axis), s.axis, usual)
	}
	if lines == nil && s.isRing(openFactor, usual) {
		return [][]int{listed}, true
	}
	if lines == nil { // such as on an arc
		lines = s.rows(s.runs(), s.axis, usual)
	}
	if lines == nil {
		s.sortLine(listed)
		lines = [][]int{listed}
	}
	return lines, false
}

// isLine reports whether the seats stand in a row as they are listed: straight, on an arc or with aisles.
func (s shape) isLine() bool {
	const fewest = 3
	if len(s.at) < fewest || s.pitch == 0 {
		return true
	}
	if s.breadth > mostLineBreadth {
		return false
	}
	sign := 1.0
	if s.at[len(s.at)-1].along(s.axis) < s.at[0].along(s.axis) {
		sign = -1
	}
	forward, distances := 0, steps(s.at)
	for i := range distances {
		step := sign * (s.at[i+1].along(s.axis) - s.at[i].along(s.axis))
		if step < -slack*s.pitch {
			return false
		}
		if step >= slack*s.pitch {
			forward++
		}
	}
	const part, whole = 2, 3 // some seats may stand behind others, such as those of companions
	return whole*forward >= part*len(distances) && median(distances) <= gapFactor*s.pitch
}

// isRing reports whether the seats stand around a table: neighbours around it are at most so many pitches apart.
func (s shape) isRing(factor, usual float64) bool {
	if len(s.at) > mostTableSeats || s.breadth < leastRingBreadth {
		return false
	}
	center := centerOf(s.at)
	around := slices.Clone(s.at)
	slices.SortStableFunc(around, func(p, q point) int {
		return cmp.Compare(math.Atan2(p.y-center.y, p.x-center.x), math.Atan2(q.y-center.y, q.x-center.x))
	})
	for i, p := range around {
		if p.distance(around[(i+1)%len(around)]) > min(factor*s.pitch, mostApart*usual) {
			return false
		}
	}
	return true
}

// grain is the direction in which the nearest seats stand from each other.
func (s shape) grain() point {
	var sin, cos float64
	for i, n := range s.nearest { // a direction and its opposite are the same
		x, y := s.at[n].x-s.at[i].x, s.at[n].y-s.at[i].y
		if d := x*x + y*y; d > 0 {
			sin, cos = sin+2*x*y/d, cos+(x*x-y*y)/d
		}
	}
	return direction(sin, cos)
}

// parallels returns which of the parallel lines in a direction each seat is in; nil if the seats do not stand so.
func (s shape) parallels(direction point) []int {
	const apart, broad = 0.5, 0.75 // of the widest distance: between two lines, and within a line
	across := alongs(s.at, point{-direction.y, direction.x})
	order := sortedBy(across)
	widest := 0.0
	for n := 1; n < len(order); n++ {
		widest = max(widest, across[order[n]]-across[order[n-1]])
	}
	of, first, line := make([]int, len(order)), 0, 0
	for n, i := range order {
		if n > 0 && across[i]-across[order[n-1]] > apart*widest {
			first, line = n, line+1
		}
		if across[i]-across[order[first]] > broad*widest {
			return nil
		}
		of[i] = line
	}
	return of
}

// runs returns which line each seat is in, if another line begins where the list turns back.
func (s shape) runs() []int {
	of, along := make([]int, len(s.at)), alongs(s.at, s.axis)
	way := 0.0 // of the present line
	for i := 1; i < len(of); i++ {
		of[i] = of[i-1]
		step := along[i] - along[i-1]
		switch {
		case math.Abs(step) < slack*s.pitch:
		case way*step < 0:
			of[i]++
			if i > 1 && s.at[i-2].distance(s.at[i-1]) > s.at[i-1].distance(s.at[i]) {
				of[i-1] = of[i] // the line begins with the seat before
			}
			way = step
		default:
			way = step
		}
	}
	return of
}

// rows returns the seats of each line, in their listed order; nil if a line is not a row of its own. Such a row is
// about as long as the others, its seats are next to each other, and it stands next to the row before it. So a few
// companion seats behind a row are not a row.
func (s shape) rows(of []int, direction point, usual float64) [][]int {
	if len(of) == 0 {
		return nil
	}
	lines := make([][]int, slices.Max(of)+1)
	for i, line := range of {
		lines[line] = append(lines[line], i)
	}
	shortest := slices.MinFunc(lines, func(a, b []int) int { return cmp.Compare(len(a), len(b)) })
	if len(lines) == 1 || len(shortest) < len(lines) || len(shortest)*(len(lines)+1) <= len(s.at) {
		return nil
	}
	for n, line := range lines {
		s.sortLine(line)
		if median(steps(s.part(line))) > gapFactor*s.pitch || n > 0 && !s.faces(line, lines[n-1], direction, usual) {
			return nil
		}
	}
	slices.SortFunc(lines, func(a, b []int) int { return cmp.Compare(slices.Min(a), slices.Min(b)) })
	return lines
}

// faces reports whether a line stands next to another one: neither behind its end nor far from it.
func (s shape) faces(line, other []int, direction point, usual float64) bool {
	const least, half = 0.4, 2 // least: of the shorter one
	a, b := alongs(s.part(line), direction), alongs(s.part(other), direction)
	shared := min(slices.Max(a), slices.Max(b)) - max(slices.Min(a), slices.Min(b))
	if shared < least*min(slices.Max(a)-slices.Min(a), slices.Max(b)-slices.Min(b)) {
		return false
	}
	before, middle := s.at[line[len(line)/half-1]], s.at[line[len(line)/half]]
	closest := slices.MinFunc(s.part(other), func(p, q point) int { return cmp.Compare(middle.distance(p), middle.distance(q)) })
	x, y := middle.x-before.x, middle.y-before.y
	apart := math.Abs(x*(closest.y-middle.y)-y*(closest.x-middle.x)) / math.Hypot(x, y)
	return apart >= leastApart*s.pitch && apart <= mostApart*usual
}

// sortLine puts seats in their order along the line, unless that is about as long as the order in which they are listed.
func (s shape) sortLine(line []int) {
	at := s.part(line)
	direction, _ := axis(at)
	order := sortedBy(alongs(at, direction))
	source, gain := slices.Clone(line), 0.0
	for to, from := range order {
		line[to] = source[from]
	}
	sorted := steps(s.part(line))
	for i, listed := range steps(at) {
		gain += listed - sorted[i]
	}
	if gain < leastGain*s.pitch {
		copy(line, source)
	}
}

// part returns the positions of some of the seats.
func (s shape) part(seats []int) []point {
	at := make([]point, len(seats))
	for n, i := range seats {
		at[n] = s.at[i]
	}
	return at
}

// alongs returns how far each point is in a direction.
func alongs(at []point, direction point) []float64 {
	along := make([]float64, len(at))
	for i, p := range at {
		along[i] = p.along(direction)
	}
	return along
}

// steps returns the distances of neighbours in a list.
func steps(at []point) []float64 {
	distances := make([]float64, len(at)-1)
	for i := range distances {
		distances[i] = at[i].distance(at[i+1])
	}
	return distances
}

// sortedBy returns the order of values.
func sortedBy(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return order
}

// median is the lower one of two; 0 if there are no values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}

func centerOf(at []point) (center point) {
	for _, p := range at {
		center = center.plus(p)
	}
	n := float64(len(at))
	return point{center.x / n, center.y / n}
}

// axis returns the direction of the largest spread, and how large the variance across it is, compared with that along it.
func axis(at []point) (of point, breadth float64) {
	center := centerOf(at)
	var xx, xy, yy float64
	for _, p := range at {
		x, y := p.x-center.x, p.y-center.y
		xx, xy, yy = xx+x*x, xy+x*y, yy+y*y
	}
	difference := math.Hypot(xx-yy, 2*xy)
	if xx+yy+difference > 0 {
		breadth = (xx + yy - difference) / (xx + yy + difference)
	}
	return direction(2*xy, xx-yy), breadth
}

// direction is a unit vector of half the angle, from left to right, or from top to bottom if it is upright.
func direction(sinOfDouble, cosOfDouble float64) point {
	const half = 2
	sin, cos := math.Sincos(math.Atan2(sinOfDouble, cosOfDouble) / half)
	if sin < -math.Abs(cos) {
		sin, cos = -sin, -cos
	}
	return point{cos, sin}
}
