package plandrawing

import (
	"math"
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// Lengths in the picture.
const (
	unit   = 24.0 // the usual distance of two seats
	radius = 10   // of a seat
)

// part is a section in the picture.
type part struct {
	section *holdfast.Section
	seats   []point // of all rows, in order, without gaps
	outline []point
	isMade  bool    // the outline is not the plan's
	box     box     // of seats and outline
	name    string  // as far as there is space for it; the titles of the seats have all of it
	over    []*part // which overlap it
	focal   *point  // nil if there is none

	scale    float64 // of the plan's positions
	nameSize float64 // of its font
}

// newParts returns the sections at the plan's positions, in the picture's units.
func newParts(plan *holdfast.SeatingPlan) (parts []*part) {
	scale := scaleOf(plan)
	for i := range plan.Sections {
		s := &plan.Sections[i]
		p := &part{section: s, name: cut(s.Name, longestName), scale: scale}
		if plan.FocalPoint != nil && !hasStage(plan) {
			at := pointOf(*plan.FocalPoint).times(scale)
			p.focal = &at
		}
		for _, row := range s.Rows {
			for _, seat := range row.Seats {
				if seat != nil {
					p.seats = append(p.seats, pointOfSeat(seat).times(scale))
				}
			}
		}
		for _, corner := range s.Outline {
			p.outline = append(p.outline, pointOf(corner).times(scale))
		}
		if s.Capacity > 0 && p.outline == nil {
			p.outline, p.isMade = area(s.Capacity), true
		}
		p.measure()
		parts = append(parts, p)
	}
	return parts
}

// scaleOf is how long a thousandth of the plan's unit is in the picture.
func scaleOf(plan *holdfast.SeatingPlan) float64 {
	const longest = 500_000.0 // only single seats that are far away need more, and browsers draw no larger texts
	extent := noBox()
	for _, s := range plan.Sections {
		for _, row := range s.Rows {
			for _, seat := range row.Seats {
				if seat != nil {
					extent = extent.with(pointOfSeat(seat))
				}
			}
		}
		for _, corner := range s.Outline {
			extent = extent.with(pointOf(corner))
		}
	}
	if extent == noBox() { // then the decorations alone have positions
		for _, o := range plan.Decorations {
			for _, p := range positions(&o) {
				extent = extent.with(pointOf(p))
			}
		}
	}
	usual := pitch(plan.Sections)
	if usual == 0 {
		usual = float64(holdfast.Unit)
	}
	return min(unit/usual, longest/max(1, extent.width(), extent.height()))
}

// area is the outline of general admission that has none. The more capacity, the larger.
func area(capacity int64) []point {
	const smallest, largest = 8 * unit, 40 * unit
	side := min(max(math.Sqrt(float64(capacity))*unit, smallest), largest)
	return box{max: point{side, side / 2}}.corners()
}

func (p *part) measure() { p.box = boxOf(p.seats).union(boxOf(p.outline)) }

const (
	longestName  = 32 // characters
	smallestName = 14 // size of the font of a section's name
)

// nameParts chooses the sizes of the names of the sections in a panel that is so wide: one size for all sections with
// seats. It returns the largest size that a name may have.
func nameParts(parts []*part, width float64) (largest float64) {
	const (
		inBox  = 10 // times as wide is a box
		inHall = 45 // times as wide is a wide hall
		usual  = 26 // at most, in a small hall
	)
	largest = max(usual, width/inHall)
	sizeOf := func(b box) float64 { return min(max(math.Sqrt(b.width()*b.height())/inBox, smallestName), largest) }
	var sizes []float64
	for _, p := range parts {
		if p.section.Capacity == 0 {
			sizes = append(sizes, sizeOf(p.box))
		}
	}
	slices.Sort(sizes)
	for _, p := range parts {
		if p.section.Capacity == 0 {
			p.nameSize = sizes[len(sizes)/2]
		} else {
			p.nameSize = min(sizeOf(p.box), p.box.height()/3)
			p.name = cut(p.name, max(1, int(p.box.width()/(smallestText*textWidth("x")))))
			p.nameSize = min(p.nameSize, p.box.width()/(textWidth(p.name)+1))
		}
	}
	return largest
}

// resize makes the seats of a section that is moved out of the hall as close as others are.
func (p *part) resize() {
	if own := pitch([]holdfast.Section{*p.section}) * p.scale; own > 0 {
		p.change(func(at *point) { *at = at.times(unit / own) })
		p.measure()
	}
}

func (p *part) move(by point) {
	p.change(func(at *point) { *at = at.plus(by) })
	p.box = p.box.moved(by)
}

func (p *part) change(f func(*point)) {
	forEach(p.seats, f)
	forEach(p.outline, f)
	if p.focal != nil {
		f(p.focal)
	}
}

// padded is the box with space for the name and the labels of the rows.
func (p *part) padded() box {
	if p.isMade {
		return p.box
	}
	b := p.withLabels().grown(2 * unit)
	b.min.y -= p.nameSize
	return b.union(around(b.center(), p.nameWidth(), b.height()))
}

// withLabels is the box with space for the labels of the rows on both sides.
func (p *part) withLabels() box {
	width := 0.0
	for _, row := range p.section.Rows {
		width = max(width, rowSize*textWidth(shortLabel(row)))
	}
	b := p.box
	b.min.x -= width
	b.max.x += width
	return b
}

func (p *part) nameWidth() float64 { return p.nameSize * textWidth(p.name) }
