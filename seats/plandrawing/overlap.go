package plandrawing

import "math"

// Two sections overlap if a part of the seats of one is where the other has seats or its area: adjacent sections
// may touch, and their boxes may overlap, as in a round hall.
const (
	fewSeats  = 0.05 // of the seats of a section, at seats of another one
	smallArea = 0.2  // of the seats or the area, in the area of another one
)

// findOverlaps notes at each section which others it overlaps. The sections that are laid out anyway overlap none.
func findOverlaps(parts []*part) {
	shared, cells := sharedCells(parts)
	for i, a := range parts {
		for j, b := range parts[:i] {
			if a.isMade || b.isMade || !a.box.overlaps(b.box) {
				continue
			}
			if float64(shared[i][j]) > fewSeats*float64(min(cells[i], cells[j])) || a.isOn(b) || b.isOn(a) {
				a.over, b.over = append(a.over, b), append(b.over, a)
			}
		}
	}
}

// isOn reports whether much of a section is in the area of another one.
func (p *part) isOn(area *part) bool {
	if area.section.Capacity == 0 {
		return false
	}
	points := p.seats
	if p.section.Capacity > 0 {
		points = samples(p.outline)
	}
	inside := 0
	for _, at := range points {
		if area.box.has(at) && isInside(area.outline, at) {
			inside++
		}
	}
	return float64(inside) > smallArea*float64(len(points))
}

// gridCell is a square of the picture.
type gridCell struct{ x, y int32 }

func cellOf(p point, size float64) gridCell {
	return gridCell{int32(math.Floor(p.x / size)), int32(math.Floor(p.y / size))}
}

// sharedCells counts the squares with seats of each section, and of each two sections. A square is so small that no
// two seats are in one if they do not overlap.
func sharedCells(parts []*part) (shared [][]int, cells []int) {
	shared, cells = make([][]int, len(parts)), make([]int, len(parts))
	sections := map[gridCell][]int{}
	for i, p := range parts {
		shared[i] = make([]int, len(parts))
		for _, seat := range p.seats {
			at := cellOf(seat, unit/2)
			here := sections[at]
			if len(here) > 0 && here[len(here)-1] == i {
				continue
			}
			for _, j := range here {
				shared[i][j]++
			}
			cells[i]++
			sections[at] = append(here, i)
		}
	}
	return shared, cells
}
