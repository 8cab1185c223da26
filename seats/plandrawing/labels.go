package plandrawing

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// label is a text in the picture, around its middle.
type label struct {
	text   string
	at     point
	size   float64 // of its font
	isOver bool    // on top of seats
}

// labeler finds places for texts where nothing else is.
type labeler struct {
	used  map[gridCell][]box // by the squares that they are in, at most boxesInCell of each
	large []box              // those in more than cellsOfBox squares
	areas []*part            // of general admission, which have their texts in the middle
	whole box
}

func newLabeler(panels []*panel, whole box) *labeler {
	l := &labeler{used: map[gridCell][]box{}, whole: whole}
	for _, panel := range panels {
		for _, p := range panel.parts {
			for _, seat := range p.seats {
				l.use(around(seat, 2*radius, 2*radius))
			}
			if p.section.Capacity > 0 {
				l.areas = append(l.areas, p)
			}
		}
		for _, s := range panel.stages {
			l.use(s.box())
		}
		for _, o := range panel.decorations {
			if o.isSolid() {
				l.use(o.box(panel.nameSize))
			}
		}
	}
	return l
}

const (
	boxesInCell = 50 // in a square that has more there is no space for a text
	cellsOfBox  = 10_000
)

// gridCells are the squares that a box is in, and their number.
func gridCells(b box) (each iter.Seq[gridCell], n int64) {
	from, to := cellOf(b.min, unit), cellOf(b.max, unit)
	return func(yield func(gridCell) bool) {
		for x := from.x; x <= to.x; x++ {
			for y := from.y; y <= to.y; y++ {
				if !yield(gridCell{x, y}) {
					return
				}
			}
		}
	}, int64(to.x-from.x+1) * int64(to.y-from.y+1)
}

func (l *labeler) use(b box) {
	each, n := gridCells(b)
	if n > cellsOfBox {
		l.large = append(l.large, b)
		return
	}
	for at := range each {
		if len(l.used[at]) < boxesInCell {
			l.used[at] = append(l.used[at], b)
		}
	}
}

// isFree reports whether a box is in the picture, and nothing is in it.
func (l *labeler) isFree(b box) bool {
	if !l.whole.has(b.min) || !l.whole.has(b.max) || slices.ContainsFunc(l.large, b.overlaps) {
		return false
	}
	for _, p := range l.areas {
		if p.box.overlaps(b) && slices.ContainsFunc(append(b.corners(), b.center()), func(at point) bool { return isInside(p.outline, at) }) {
			return false
		}
	}
	each, n := gridCells(b)
	if n > int64(len(l.used)) {
		each = maps.Keys(l.used)
	}
	for at := range each {
		if here := l.used[at]; len(here) == boxesInCell || slices.ContainsFunc(here, b.overlaps) {
			return false
		}
	}
	return true
}

const rowSize = 0.6 * unit // of the font of a row's label

// rows returns the labels of a section's rows, at both ends where there is space.
func (l *labeler) rows(p *part) (labels []label) {
	first := 0
	for _, row := range p.section.Rows {
		end := first
		for _, seat := range row.Seats {
			if seat != nil {
				end++
			}
		}
		if seats := p.seats[first:end]; len(seats) > 0 {
			text, last := shortLabel(row), len(seats)-1
			left, right := point{-1, 0}, point{1, 0}
			if last > 0 {
				left, right = direction(seats[1], seats[0]), direction(seats[last-1], seats[last])
			}
			labels = append(labels, l.rowEnd(text, seats[0], left)...)
			labels = append(labels, l.rowEnd(text, seats[last], right)...)
		}
		first = end
	}
	return labels
}

// rowEnd returns the label of a row next to its last seat, or none.
func (l *labeler) rowEnd(text string, seat, way point) []label {
	width := rowSize * textWidth(text)
	half := point{width / 2, rowSize / 2}
	distance := 1.3*radius + abs(way.x)*half.x + abs(way.y)*half.y
	at := seat.plus(way.times(distance))
	b := around(at, width, rowSize)
	if !l.isFree(b) {
		return nil
	}
	l.use(b)
	return []label{{text: text, at: at, size: rowSize}}
}

// shortLabel is the label of a row without words that all rows have, such as A for Row A.
func shortLabel(row holdfast.Row) string {
	const most = 16
	if strings.HasSuffix(row.Label, " "+row.Key) {
		return row.Key
	}
	return cut(row.Label, most)
}

// fullLabel is the label of a row in a sentence. A label of several words, such as Box 4, needs no word in front of it.
func fullLabel(row holdfast.Row) string {
	if strings.Contains(row.Label, " ") {
		return row.Label
	}
	return "row " + row.Label
}

// names returns the names of the sections with seats: outside of their rows, or all of them on top of their seats if
// there is no space for one.
func (l *labeler) names(parts []*part) (labels []label) {
	for _, p := range parts {
		at, found := l.nameOf(p)
		if !found {
			return namesOver(parts)
		}
		labels = append(labels, label{text: p.name, at: at, size: p.nameSize})
	}
	return labels
}

func namesOver(parts []*part) (labels []label) {
	const wide = 1.2 // times its seats is a name at most
	for _, p := range parts {
		b := boxOf(p.seats)
		size := min(p.nameSize, max(smallestName, wide*b.width()/textWidth(p.name)))
		labels = append(labels, label{text: p.name, at: b.center(), size: size, isOver: true})
	}
	return labels
}

// nameGap is the distance of a section's name from the middles of seats.
const nameGap = 0.7 * unit

// nameOf finds a place next to a section: before its first row, after its last row, above, below.
func (l *labeler) nameOf(p *part) (at point, found bool) {
	width, height := p.nameWidth(), p.nameSize
	first, last := p.ends()
	way := direction(last, first)
	b := boxOf(p.seats)
	distance := nameGap + abs(way.x)*width/2 + abs(way.y)*height/2
	for _, at := range []point{
		first.plus(way.times(distance)),
		last.minus(way.times(distance)),
		{b.center().x, b.min.y - nameGap - height/2},
		{b.center().x, b.max.y + nameGap + height/2},
	} {
		if place := around(at, width, height); l.isFree(place) {
			l.use(place)
			return at, true
		}
	}
	return point{}, false
}

// ends are the middles of the first row and the last row.
func (p *part) ends() (first, last point) {
	n := 0
	for _, row := range p.section.Rows {
		from := n
		for _, seat := range row.Seats {
			if seat != nil {
				n++
			}
		}
		if from < n {
			last = middle(p.seats[(from+n-1)/2], p.seats[(from+n)/2])
		}
		if from == 0 {
			first = last
		}
	}
	return first, last
}

func abs(f float64) float64 { return max(f, -f) }
