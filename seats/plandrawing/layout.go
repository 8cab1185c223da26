package plandrawing

import (
	"math"
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// panel is a part of the picture that is drawn separately: the hall, or one of its floors.
type panel struct {
	parts       []*part
	decorations []decoration
	floor       string // "" if it has no name
	stages      []stage
	box         box

	nameSize float64 // of the font of its name
}

// layout places all sections; the picture begins at 0, 0.
func layout(plan *holdfast.SeatingPlan) (panels []*panel, whole box) {
	whole = noBox()
	parts := newParts(plan)
	findOverlaps(parts)
	panels = split(parts)
	decorate(panels, plan)
	var boxes []box
	for _, l := range panels {
		l.place()
		boxes = append(boxes, l.box)
	}
	for i, by := range shelves(boxes, panelGap) {
		panels[i].move(by)
		whole = whole.union(panels[i].box)
	}
	return panels, whole
}

const (
	panelGap = 2 * unit
	partGap  = unit
)

// split returns one panel for the hall, or one for each floor if sections of different floors overlap.
func split(parts []*part) (panels []*panel) {
	isOtherFloor := func(p *part) bool {
		return slices.ContainsFunc(p.over, func(o *part) bool { return o.section.Floor != p.section.Floor })
	}
	if !slices.ContainsFunc(parts, isOtherFloor) {
		return []*panel{{parts: parts}}
	}
	floors := map[string]*panel{}
	for _, p := range parts {
		l := floors[p.section.Floor]
		if l == nil {
			l = &panel{floor: p.section.Floor}
			floors[l.floor], panels = l, append(panels, l)
		}
		l.parts = append(l.parts, p)
	}
	return panels
}

// place places the sections that stay as the plan does, and the others below them.
func (l *panel) place() {
	stay, moved := l.free()
	for _, p := range moved {
		p.resize()
	}
	hall, size := noBox(), 0.0
	for _, p := range stay {
		hall = hall.union(p.box)
	}
	for _, p := range l.parts {
		size += p.box.width() * p.box.height()
	}
	l.nameSize = nameParts(l.parts, max(hall.width(), math.Sqrt(size)))
	var blocks []box
	l.choose(stay, hall)
	hasHall := len(stay) > 0 || len(l.decorations) > 0
	if hasHall {
		blocks = append(blocks, l.hall(stay, hall))
	}
	for _, p := range moved {
		blocks = append(blocks, p.padded())
	}
	l.box = noBox()
	ways := shelves(blocks, partGap)
	for i, way := range ways {
		l.box = l.box.union(blocks[i].moved(way))
	}
	if hasHall {
		for _, p := range stay {
			p.move(ways[0])
		}
		l.moveSigns(ways[0])
		ways = ways[1:]
	}
	for i, p := range moved {
		p.move(ways[i])
		if p.focal != nil && len(stay) == 0 && p.section.Capacity == 0 && p.padded().has(*p.focal) {
			l.stages = append(l.stages, stage{at: *p.focal, size: point{x: stageWidth}, isMark: true})
		}
	}
	if l.floor != "" {
		l.box.min.y -= 1.5 * l.nameSize
		l.box.max.x = max(l.box.max.x, l.box.min.x+l.nameSize*textWidth(l.name()))
	}
}

// free returns which sections stay, and which are moved so that no two of those that stay overlap: the one that
// overlaps most others, and of such the last one, again and again. If only one would stay, it is moved too.
func (l *panel) free() (stay, moved []*part) {
	isMoved := map[*part]bool{}
	overlapping := func(p *part) (n int) {
		for _, o := range p.over {
			if o.section.Floor == p.section.Floor && !isMoved[o] {
				n++
			}
		}
		return n
	}
	left := len(l.parts)
	for _, p := range l.parts {
		if p.isMade {
			isMoved[p] = true
			left--
		}
	}
	made := left
	for {
		var worst *part
		most := 0
		for _, p := range l.parts {
			if n := overlapping(p); n > 0 && n >= most && !isMoved[p] {
				worst, most = p, n
			}
		}
		if worst == nil {
			break
		}
		isMoved[worst] = true
		left--
	}
	for _, p := range l.parts {
		if isMoved[p] || left == 1 && left < made {
			moved = append(moved, p)
		} else {
			stay = append(stay, p)
		}
	}
	return stay, moved
}

// hall is the box of the sections that stay, with space for their names, the stage and the decorations.
func (l *panel) hall(stay []*part, hall box) box {
	space := 0.0
	for _, p := range stay {
		space = max(space, 1.3*p.nameSize)
		hall = hall.union(around(p.box.center(), p.nameWidth(), p.box.height())).union(p.withLabels())
	}
	if len(stay) > 0 && stay[0].focal != nil {
		if s := newStage(*stay[0].focal, hall, stay); reach(hall).has(s.at) {
			l.stages = append(l.stages, s)
		}
	}
	hall = hall.grown(unit + space)
	for _, s := range l.stages {
		hall = hall.union(s.box())
	}
	for _, o := range l.decorations {
		hall = hall.union(o.box(l.nameSize).grown(unit / 2))
	}
	return hall
}

// reach is how far around a hall the focal point and decorations are drawn.
func reach(hall box) box { return hall.grown(max(hall.width(), hall.height(), minExtent)) }

func (l *panel) move(by point) {
	for _, p := range l.parts {
		p.move(by)
	}
	l.moveSigns(by)
	l.box = l.box.moved(by)
}

// moveSigns moves what is drawn in the hall in addition to its sections.
func (l *panel) moveSigns(by point) {
	forEach(l.stages, func(s *stage) { s.at = s.at.plus(by) })
	for _, o := range l.decorations {
		forEach(o.points, func(p *point) { *p = p.plus(by) })
	}
}

func (l *panel) name() string { return "Floor " + l.floor }

// shelves returns the ways to move boxes, so that they stand side by side from left to right, in shelves below
// each other. The first shelf begins at 0, 0.
func shelves(boxes []box, gap float64) []point {
	const wide = 1.5 // times the height
	var widest, sum float64
	for _, b := range boxes {
		widest = max(widest, b.width())
		sum += (b.width() + gap) * (b.height() + gap)
	}
	width := max(widest, math.Sqrt(sum*wide))
	var at point
	var height float64
	ways := make([]point, len(boxes))
	for i, b := range boxes {
		if at.x > 0 && at.x+b.width() > width {
			at = point{0, at.y + height + gap}
			height = 0
		}
		ways[i] = at.minus(b.min)
		at.x += b.width() + gap
		height = max(height, b.height())
	}
	return ways
}
