package plandrawing

import (
	"bytes"
	"math"
	"strconv"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// SVG draws a plan, which passes seating.Check, as an SVG document. It has its own background, but no
// size: it fills the element that shows it.
//
// A seat is drawn where the plan has it. Two kinds of sections have no place of their own in the hall, and are
// laid out below the others: sections that overlap, such as those of a plan without coordinates, and general
// admission without an outline. If sections of different floors overlap, each floor is drawn separately.
//
// A unit of the picture is a part of the usual distance of two seats, so that coordinates are whole numbers.
//
// Decorations are drawn below the seats, their icons and texts above. A stage among them replaces that of the focal point.
//
// The seats of picks, by ID, have rings with the number of their pick.
func SVG(plan holdfast.SeatingPlan, picks map[string]int) []byte {
	plan = seating.Expand(plan)
	d := drawer{plan: &plan, colors: colorsOf(plan.Categories), names: map[string]string{}, picks: picks}
	for _, c := range plan.Categories {
		d.names[c.Key] = isolated(c.Name)
	}
	panels, hall := layout(&plan)
	d.signs = signsOf(panels, &plan)
	h := newHeader(&plan, d.colors, d.signs, hall.width())
	margin := 1.5 * h.size
	d.line = h.size / 5
	top := 4.5 * h.size
	by := point{margin + (h.width-hall.width())/2, margin + top}.minus(hall.min)
	for _, l := range panels {
		l.move(by)
	}
	hall = hall.moved(by)
	legendAt := point{margin, hall.max.y + 2*h.size}
	size := point{h.width + 2*margin, legendAt.y + h.height + margin - h.size}
	d.begin(size)
	d.header(h, margin, legendAt)
	texts := newLabeler(panels, box{max: size})
	for _, l := range panels {
		d.panel(l, texts)
	}
	d.put("</g>\n</svg>\n")
	return d.Bytes()
}

// drawer writes the elements.
type drawer struct {
	bytes.Buffer
	plan   *holdfast.SeatingPlan
	colors map[string]string // by category
	names  map[string]string // of categories, escaped
	signs  signs
	picks  map[string]int // by seat ID
	line   float64        // width of the lines of areas
}

// put writes texts, and numbers as whole numbers. Values just below a half are rounded up like halves, because
// processors may compute them differently, so that a picture is the same on each.
func (d *drawer) put(parts ...any) {
	const almost = 1e-6
	for _, part := range parts {
		switch p := part.(type) {
		case string:
			d.WriteString(p)
		case float64:
			d.Write(strconv.AppendInt(d.AvailableBuffer(), int64(math.Floor(p+0.5+almost)), 10))
		}
	}
}

func decimals(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }

const (
	background = "#ffffff"
	ink        = "#1f2328"
	faint      = "#eef0f2" // of areas
	edge       = "#57606a"
)

func (d *drawer) begin(size point) {
	d.put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 `, size.x, " ", size.y, `">`+"\n")
	d.put("<title>", escaped(d.plan.Name), "</title>\n<defs>\n")
	d.put(d.signs.definitions())
	d.put("</defs>\n", `<rect width="100%" height="100%" fill="`+background+`"/>`+"\n")
	d.put(`<g font-family="system-ui, sans-serif" fill="`+ink+`" text-anchor="middle">`, "\n")
}

func (d *drawer) header(h header, margin float64, legendAt point) {
	d.put(`<g text-anchor="start">`, "\n")
	d.put(`<text x="`, margin, `" y="`, margin+1.6*h.size, `" font-size="`, 1.6*h.size, `" font-weight="bold">`, h.title, "</text>\n")
	d.put(`<text x="`, margin, `" y="`, margin+3.2*h.size, `" font-size="`, h.size, `">`, h.total, "</text>\n")
	for i, e := range h.entries {
		at := legendAt.plus(h.at[i])
		d.put(`<g transform="translate(`, at.x+0.6*h.size, " ", at.y-0.35*h.size, ") scale(")
		d.put(decimals(0.6*h.size/radius), `)">`)
		if e.fill != "" {
			d.put(`<circle r="`, float64(radius), `" fill="`, e.fill, `" stroke="`+ink+`"/>`)
		}
		d.put(e.mark, `</g><text x="`, at.x+1.6*h.size, `" y="`, at.y, `" font-size="`, h.size, `">`, e.text, "</text>\n")
	}
	d.put("</g>\n")
}

func (d *drawer) panel(l *panel, texts *labeler) {
	if l.floor != "" {
		d.put(`<text text-anchor="start" font-weight="bold" x="`, l.box.min.x, `" y="`, l.box.min.y+l.nameSize)
		d.put(`" font-size="`, l.nameSize, `">`, isolated(l.name()), "</text>\n")
	}
	for _, o := range l.decorations {
		d.shape(o)
	}
	for _, p := range l.parts {
		d.outline(p)
	}
	var seated []*part
	var labels []label
	for _, p := range l.parts {
		if len(p.seats) > 0 {
			seated = append(seated, p)
			d.seats(p)
			labels = append(labels, texts.rows(p)...)
		}
	}
	labels = append(labels, texts.names(seated)...)
	for _, p := range l.parts {
		if p.section.Capacity > 0 {
			at := roomiest(p.outline)
			labels = append(labels, label{text: p.name, at: at.minus(point{0, 0.6 * p.nameSize}), size: p.nameSize},
				label{text: placeCount(p.section.Capacity), at: at.plus(point{0, 0.6 * p.nameSize}), size: 0.8 * p.nameSize})
		}
	}
	for _, o := range l.decorations {
		d.icon(o, l.nameSize)
	}
	d.put(`<g pointer-events="none">`, "\n")
	for _, o := range l.decorations {
		d.caption(o, l.nameSize)
	}
	for _, t := range labels {
		d.label(t)
	}
	for _, s := range l.stages {
		d.stage(s)
	}
	d.put("</g>\n")
}

func placeCount(n int64) string {
	if n == 1 {
		return "1 place"
	}
	return strconv.FormatInt(n, 10) + " places"
}

func (d *drawer) outline(p *part) {
	if p.outline == nil {
		return
	}
	fill, line := faint, faint
	if p.section.Capacity > 0 {
		line = d.colors[p.section.Category]
	}
	d.put(`<path fill="`, fill, `" stroke="`, line, `" stroke-width="`, d.line, `" d="M`)
	for _, corner := range p.outline {
		d.put(" ", corner.x, " ", corner.y)
	}
	d.put(` Z">`)
	d.put("<title>", isolated(p.section.Name))
	if p.section.Capacity > 0 {
		d.put(", ", placeCount(p.section.Capacity), ", ", d.names[p.section.Category])
	}
	d.put("</title></path>\n")
}

// seats draws the seats of a section in groups of one category. Positions are those from the section's corner.
func (d *drawer) seats(p *part) {
	corner := point{math.Floor(p.box.min.x), math.Floor(p.box.min.y)}
	d.put(`<g transform="translate(`, corner.x, " ", corner.y, `)" stroke="`+edge+`">`, "\n")
	category, n := "", 0
	for _, row := range p.section.Rows {
		place := isolated(p.section.Name) + ", " + isolated(fullLabel(row)) + ", seat "
		for _, seat := range row.Seats {
			if seat == nil {
				continue
			}
			if seat.Category != category {
				if category != "" {
					d.put("</g>\n")
				}
				category = seat.Category
				d.put(`<g fill="`, d.colors[category], `" color="`, contrast(d.colors[category]), `">`, "\n")
			}
			d.seat(seat, p.seats[n].minus(corner), place)
			n++
		}
		d.put("\n")
	}
	d.put("</g>\n</g>\n")
}

func (d *drawer) seat(seat *holdfast.Seat, at point, place string) {
	element := "circle"
	if seat.Accessible {
		element = "rect"
		d.put(`<rect x="`, at.x-radius, `" y="`, at.y-radius, `" width="20" height="20">`)
	} else {
		d.put(`<circle cx="`, at.x, `" cy="`, at.y, `" r="10">`)
	}
	d.put("<title>", place, isolated(seat.Label), ", ", d.names[seat.Category])
	for _, s := range signsOfSeat(seat) {
		d.put(", ", s.name)
	}
	d.put("</title></", element, ">")
	for _, s := range signsOfSeat(seat) {
		d.put(`<use href="#`, s.id, `" x="`, at.x, `" y="`, at.y, `"/>`)
	}
	if pick := d.picks[seat.ID]; pick > 0 {
		d.put(`<g stroke="none"><circle cx="`, at.x, `" cy="`, at.y, `" r="10" fill="`+ink+`"/><text x="`, at.x, `" y="`, at.y+5)
		d.put(`" font-size="14" fill="`+background+`">`, float64(pick), "</text></g>")
	}
}

func (d *drawer) label(t label) {
	d.put(`<text x="`, t.at.x, `" y="`, t.at.y+0.35*t.size, `" font-size="`, t.size, `"`)
	if t.isOver {
		d.put(` font-weight="bold" stroke="`+background+`" stroke-width="`, t.size/4, `" paint-order="stroke"`)
	}
	d.put(">", escaped(t.text), "</text>\n")
}

func (d *drawer) stage(s stage) {
	if s.isMark {
		d.put(`<use href="#focal" transform="translate(`, s.at.x, " ", s.at.y, ") scale(", decimals(s.size.x/stageWidth), `)"/>`, "\n")
		return
	}
	b := s.box()
	size := s.size.y / 2
	d.put(`<rect x="`, b.min.x, `" y="`, b.min.y, `" width="`, b.width(), `" height="`, b.height(), `" fill="`+ink+`"/>`, "\n")
	d.put(`<text x="`, s.at.x, `" y="`, s.at.y+0.35*size, `" font-size="`, size, `" fill="`+background+`">Stage</text>`, "\n")
}
