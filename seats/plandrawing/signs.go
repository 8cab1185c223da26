package plandrawing

import (
	"strconv"

	"github.com/holdfast-dev/holdfast"
)

// sign marks seats, whatever their color. Its element is drawn around 0, 0, in the contrast to the seat's color.
type sign struct {
	id, name, element string
	isOf              func(*holdfast.Seat) bool
}

// seatSigns are all signs of seats. An accessible seat is a square too.
var seatSigns = []sign{
	{
		"accessible", "accessible",
		`<path d="M-2 -4V1H4L6 6M-4 0A4.5 4.5 0 1 0 2.5 5M-2 -2H3" fill="none" stroke="currentColor" stroke-width="1.8"/>` +
			`<circle cx="-2" cy="-6.5" r="1.8" fill="currentColor" stroke="none"/>`,
		func(s *holdfast.Seat) bool { return s.Accessible },
	},
	{
		"companion", "companion", `<path d="M-5 0H5M0 -5V5" stroke="currentColor" stroke-width="2.4"/>`,
		func(s *holdfast.Seat) bool { return s.Companion },
	},
	{
		"restricted", "restricted view", `<path d="M-6.5 6.5L6.5 -6.5" stroke="currentColor" stroke-width="2.4"/>`,
		func(s *holdfast.Seat) bool { return s.RestrictedView },
	},
}

func signsOfSeat(seat *holdfast.Seat) (found []sign) {
	for _, s := range seatSigns {
		if s.isOf(seat) {
			found = append(found, s)
		}
	}
	return found
}

const focalElement = `<g fill="none"><circle r="13" stroke="#fff" stroke-width="7"/>` +
	`<path d="M-22 0H-6M22 0H6M0 -22V-6M0 22V6" stroke="#fff" stroke-width="7"/><circle r="13" stroke="#1f2328" stroke-width="3"/>` +
	`<path d="M-20 0H-8M20 0H8M0 -20V-8M0 20V8" stroke="#1f2328" stroke-width="3"/></g>`

// signs are those that a picture has.
type signs struct {
	seats []sign
	icons []icon
	focal bool     // as a mark
	notes []string // on what is not in the picture
}

func signsOf(panels []*panel, plan *holdfast.SeatingPlan) (found signs) {
	for _, s := range seatSigns {
		if hasSign(panels, s) {
			found.seats = append(found.seats, s)
		}
	}
	found.icons = iconsOf(panels)
	shown := hasStage(plan)
	for _, l := range panels {
		for _, s := range l.stages {
			shown = true
			found.focal = found.focal || s.isMark
		}
	}
	if focal := plan.FocalPoint; focal != nil && !shown {
		found.notes = append(found.notes, "focal point outside of the picture: "+coordinate(focal.X)+", "+coordinate(focal.Y))
	}
	if n := hidden(panels, plan); n > 0 {
		found.notes = append(found.notes, "decorations outside of the picture: "+strconv.Itoa(n))
	}
	return found
}

func hasSign(panels []*panel, s sign) bool {
	for _, l := range panels {
		for _, p := range l.parts {
			for _, row := range p.section.Rows {
				for _, seat := range row.Seats {
					if seat != nil && s.isOf(seat) {
						return true
					}
				}
			}
		}
	}
	return false
}

func (s signs) definitions() (text string) {
	for _, sign := range s.seats {
		text += `<g id="` + sign.id + `" pointer-events="none">` + sign.element + "</g>\n"
	}
	for _, i := range s.icons {
		text += `<g id="icon-` + i.name + `">` + iconFrame + i.element + "</g>\n"
	}
	if s.focal {
		text += `<g id="focal">` + focalElement + "</g>\n"
	}
	return text
}

func coordinate(c holdfast.Thousandths) string {
	return strconv.FormatFloat(float64(c)/float64(holdfast.Unit), 'f', -1, 64)
}

// entries are the signs in the legend.
func (s signs) entries() (entries []entry) {
	for _, sign := range s.seats {
		shape := `<circle r="10" fill="#fff" stroke="#57606a"/>`
		if sign.id == "accessible" {
			shape = `<rect x="-10" y="-10" width="20" height="20" fill="#fff" stroke="#57606a"/>`
		}
		entries = append(entries, entry{text: sign.name, mark: shape + `<use href="#` + sign.id + `" color="#1f2328"/>`})
	}
	if s.focal {
		entries = append(entries, entry{text: "focal point", mark: `<use href="#focal" transform="scale(0.5)"/>`})
	}
	for _, i := range s.icons {
		entries = append(entries, entry{text: i.words(), mark: `<use href="#icon-` + i.name + `"/>`})
	}
	for _, note := range s.notes {
		entries = append(entries, entry{text: note})
	}
	return entries
}
