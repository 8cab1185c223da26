package seating

import (
	"fmt"

	"github.com/holdfast-dev/holdfast"
)

// NewHall compiles a plan, written out or not. It refuses a plan that Check refuses.
func NewHall(plan holdfast.SeatingPlan) (*Hall, error) {
	if problems := Check(plan); len(problems) > 0 {
		return nil, fmt.Errorf("seating plan: %s: %s", problems[0].Where, problems[0].What)
	}
	plan = Expand(plan)
	h := &Hall{
		sections: make([]Section, 0, len(plan.Sections)), numbers: make(map[string]int, len(plan.Sections)), focal: plan.FocalPoint != nil,
	}
	for _, c := range plan.Categories {
		h.categories = append(h.categories, c.Key)
	}
	seats := int64(0)
	for _, s := range plan.Sections {
		if s.Capacity == 0 {
			seats += s.TotalSeats()
		}
	}
	h.places = make(map[string]Place, seats)
	for n, s := range plan.Sections {
		h.numbers[s.Key] = n
		h.sections = append(h.sections, h.compileSection(n, s, plan.FocalPoint))
	}
	h.compilePools()
	return h, nil
}

const bitsPerWord = 64

func (h *Hall) compileSection(number int, written holdfast.Section, focal *holdfast.Point) Section {
	category, _ := h.FindCategory(written.Category)
	s := Section{Key: written.Key, Category: category, Capacity: written.Capacity, firstWord: h.words, endWord: h.words}
	if s.GeneralAdmission() {
		h.parts = append(h.parts, Part{Section: number, Category: category, Seats: s.Capacity})
		s.Parts = []int{len(h.parts) - 1}
		h.total += s.Capacity
		return s
	}
	s.Seats = make([]Seat, 0, written.TotalSeats())
	s.Rows = make([]Row, 0, len(written.Rows))
	for _, row := range written.Rows {
		h.compileRow(number, &s, row, focal)
	}
	h.seats += len(s.Seats)
	h.total += int64(len(s.Seats))
	h.words += (len(s.Seats) + bitsPerWord - 1) / bitsPerWord
	s.endWord = h.words
	return s
}

func (h *Hall) compileRow(number int, s *Section, written holdfast.Row, focal *holdfast.Point) {
	row := Row{
		Key: written.Key, Label: written.Label, Adjacency: written.Adjacency, Places: len(written.Seats),
		First: len(s.Seats), FirstSegment: len(s.Segments),
	}
	afterGap := true
	for i, w := range written.Seats {
		if w == nil {
			afterGap = true
			continue
		}
		n := len(s.Seats)
		if afterGap {
			s.Segments = append(s.Segments, Segment{Row: len(s.Rows), First: n})
			afterGap = false
		}
		s.Segments[len(s.Segments)-1].End = n + 1
		seat := Seat{ID: w.ID, Label: w.Label, Row: len(s.Rows), Position: i + 1, Accessible: w.Accessible}
		seat.Companion = w.Companion && !w.Accessible
		category, _ := h.FindCategory(w.Category)
		seat.Category = category
		seat.Part = h.part(number, s, category, w.Accessible)
		h.parts[seat.Part].Seats++
		if focal != nil {
			dx, dy := int64(*w.X-focal.X), int64(*w.Y-focal.Y)
			seat.Distance = dx*dx + dy*dy
		} else {
			seat.Distance = int64(max(2*seat.Position-row.Places-1, row.Places+1-2*seat.Position))
		}
		h.places[w.ID] = Place{Section: number, Seat: n}
		s.Seats = append(s.Seats, seat)
	}
	row.End, row.EndSegment = len(s.Seats), len(s.Segments)
	s.Rows = append(s.Rows, row)
}

// part returns the number of a section's part, which it adds if it is new.
func (h *Hall) part(number int, s *Section, category int, accessible bool) int {
	for _, n := range s.Parts {
		if p := h.parts[n]; p.Category == category && p.Accessible == accessible {
			return n
		}
	}
	h.parts = append(h.parts, Part{Section: number, Category: category, Accessible: accessible})
	s.Parts = append(s.Parts, len(h.parts)-1)
	return len(h.parts) - 1
}
