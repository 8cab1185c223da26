package plandrawing

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// decoration is a decoration in a panel of the picture.
type decoration struct {
	*holdfast.Decoration

	number int     // in the plan
	points []point // of a text or an icon, its position
}

// mostDecorations bounds the picture of a plan whose decorations are drawn on each of many floors.
const mostDecorations = 5 * holdfast.MaxDecorations

// hasStage reports whether the plan draws its stage itself.
func hasStage(plan *holdfast.SeatingPlan) bool {
	return slices.ContainsFunc(plan.Decorations, func(d holdfast.Decoration) bool { return d.Kind == holdfast.DecorationStage })
}

func positions(d *holdfast.Decoration) []holdfast.Point {
	if d.At != nil {
		return []holdfast.Point{*d.At}
	}
	return d.Points
}

// decorate gives each panel its decorations: all if there is one panel, or else those of its floor and of no floor.
func decorate(panels []*panel, plan *holdfast.SeatingPlan) {
	scale, left := scaleOf(plan), mostDecorations
	for _, l := range panels {
		for i := range plan.Decorations {
			d := &plan.Decorations[i]
			if left == 0 || len(panels) > 1 && d.Floor != "" && d.Floor != l.floor {
				continue
			}
			o := decoration{Decoration: d, number: i}
			for _, p := range positions(d) {
				o.points = append(o.points, pointOf(p).times(scale))
			}
			l.decorations = append(l.decorations, o)
			left--
		}
	}
}

// choose keeps the decorations that are in the hall or around it: none if all its sections are moved out of it.
func (l *panel) choose(stay []*part, hall box) {
	isOut := func(p *part) bool { return !p.isMade }
	around := noBox()
	switch {
	case len(stay) > 0:
		around = reach(hall)
	case !slices.ContainsFunc(l.parts, isOut): // no section has a position
		for _, o := range l.decorations {
			around = around.union(boxOf(o.points))
		}
	}
	l.decorations = slices.DeleteFunc(l.decorations, func(o decoration) bool {
		b := boxOf(o.points)
		return !around.has(b.min) || !around.has(b.max)
	})
}

// hidden counts the decorations that no panel has.
func hidden(panels []*panel, plan *holdfast.SeatingPlan) int {
	shown := map[int]bool{}
	for _, l := range panels {
		for _, o := range l.decorations {
			shown[o.number] = true
		}
	}
	return len(plan.Decorations) - len(shown)
}

// Sizes compared with that of the panel's names.
const (
	textSize  = 0.7 // of a font
	iconSize  = 0.5 // the radius of an icon
	stageText = 1.2 // at most
)

// isSolid reports whether no other text is drawn on the decoration.
func (o decoration) isSolid() bool {
	return o.Kind != holdfast.DecorationArea && o.Kind != holdfast.DecorationWall
}

// box is where the decoration is drawn.
func (o decoration) box(nameSize float64) box {
	b := boxOf(o.points)
	switch o.Kind {
	case holdfast.DecorationText:
		text, size := o.caption(nameSize)
		return around(o.points[0], size*textWidth(text), size)
	case holdfast.DecorationIcon:
		b = b.grown(iconSize * nameSize)
		if text, size := o.caption(nameSize); text != "" {
			b = b.union(around(o.captionAt(nameSize), size*textWidth(text), size))
		}
	}
	return b
}

// caption is the text of the decoration, as far as there is space for it, and the size of its font.
func (o decoration) caption(nameSize float64) (text string, size float64) {
	if o.Text == "" {
		return "", 0
	}
	const narrow, half = 0.9, 2 // of the shape's box
	switch o.Kind {
	case holdfast.DecorationText, holdfast.DecorationIcon:
		return cut(o.Text, longestName), textSize * nameSize
	default:
		b := boxOf(o.points)
		most := textSize * nameSize
		if o.Kind == holdfast.DecorationStage {
			most = stageText * nameSize
		}
		width := narrow * b.width()
		text = cut(o.Text, min(longestName, max(1, int(width/(smallestName*textWidth("x"))))))
		return text, min(most, b.height()/half, width/textWidth(text))
	}
}

func (o decoration) captionAt(nameSize float64) point {
	switch o.Kind {
	case holdfast.DecorationText:
		return o.points[0]
	case holdfast.DecorationIcon:
		return o.points[0].plus(point{0, (iconSize + textSize) * nameSize})
	default:
		return roomiest(o.points)
	}
}

// areaFill is the color of areas, and areaEdge that of their lines, different from those of sections.
const areaFill, areaEdge = "#f7f1e3", "#b8a77c"

// shape draws a stage, an area or a wall.
func (d *drawer) shape(o decoration) {
	end := " Z"
	switch o.Kind {
	case holdfast.DecorationStage:
		d.put(`<path fill="` + ink)
	case holdfast.DecorationArea:
		d.put(`<path fill="`+areaFill+`" stroke="`+areaEdge+`" stroke-width="`, d.line/2)
	case holdfast.DecorationWall:
		end = ""
		d.put(`<path fill="none" stroke="`+edge+`" stroke-linecap="round" stroke-linejoin="round" stroke-width="`, d.line)
	default:
		return
	}
	d.put(`" d="M`)
	for _, p := range o.points {
		d.put(" ", p.x, " ", p.y)
	}
	d.put(end, `">`)
	if o.Text != "" {
		d.put("<title>", isolated(o.Text), "</title>")
	}
	d.put("</path>\n")
}

func (d *drawer) icon(o decoration, nameSize float64) {
	if o.Kind != holdfast.DecorationIcon {
		return
	}
	at := o.points[0]
	d.put(`<use href="#icon-`, o.Icon, `" transform="translate(`, at.x, " ", at.y, ") scale(", decimals(iconSize*nameSize/radius))
	d.put(`)"><title>`, iconOf(o.Icon).words())
	if o.Text != "" {
		d.put(", ", isolated(o.Text))
	}
	d.put("</title></use>\n")
}

// caption draws the text of a decoration, unless it would be too small to see.
func (d *drawer) caption(o decoration, nameSize float64) {
	const least = 4
	text, size := o.caption(nameSize)
	if size < least {
		return
	}
	at := o.captionAt(nameSize)
	d.put(`<text x="`, at.x, `" y="`, at.y+0.35*size, `" font-size="`, size, `"`)
	if o.Kind == holdfast.DecorationStage {
		d.put(` fill="` + background + `"`)
	}
	d.put(">", escaped(text), "</text>\n")
}
