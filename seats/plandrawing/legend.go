package plandrawing

import (
	"fmt"

	"github.com/holdfast-dev/holdfast"
)

// entry is a line of the legend.
type entry struct {
	text string // escaped
	fill string // of a category
	mark string // or an element that shows the sign
}

// header has the texts above and below the hall.
type header struct {
	title, total string // escaped
	size         float64
	entries      []entry
	at           []point // of the entries, below the hall's top left corner
	height       float64 // of the entries
	width        float64 // of the picture
}

const (
	smallestText = 16.0
	textsInWidth = 75 // of a wide picture's width are the texts
)

func newHeader(plan *holdfast.SeatingPlan, colors map[string]string, marks signs, hallWidth float64) header {
	h := header{size: max(smallestText, hallWidth/textsInWidth)}
	const narrowest = 36 // times the size
	h.width = max(hallWidth, narrowest*h.size)
	const titleSize = 1.6
	name := cut(plan.Name, int(h.width/(h.size*titleSize*textWidth("x"))))
	h.title, h.total = escaped(name), seatCount(plan.TotalSeats())
	counts := map[string]int64{}
	for _, s := range plan.Sections {
		counts[s.Category] += s.Capacity
		for _, row := range s.Rows {
			for _, seat := range row.Seats {
				if seat != nil {
					counts[seat.Category]++
				}
			}
		}
	}
	var at point
	add := func(e entry, width float64) {
		const padding = 3.2 // of a sign and the space between two entries
		width = (width + padding) * h.size
		if at.x > 0 && at.x+width > h.width {
			at = point{0, at.y + 1.7*h.size}
		}
		h.entries, h.at = append(h.entries, e), append(h.at, at)
		at.x += width
	}
	for _, c := range plan.Categories {
		count := fmt.Sprintf(" (%d)", counts[c.Key])
		name := cut(c.Name, int(h.width/(h.size*textWidth("x")))-12)
		add(entry{text: isolated(name) + count, fill: colors[c.Key]}, textWidth(name+count))
	}
	for _, m := range marks.entries() {
		add(m, textWidth(m.text))
	}
	h.height = at.y + 1.7*h.size
	return h
}

// seatCount is a number of seats in words.
func seatCount(n int64) string {
	if n == 1 {
		return "1 seat"
	}
	return fmt.Sprintf("%d seats", n)
}
