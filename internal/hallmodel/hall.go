package hallmodel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// Hall is a seating plan as it is written.
type Hall struct {
	Categories []string // keys
	Sections   []*Section
	Seats      []*Seat // in plan order
	ByID       map[string]*Seat

	rows  []*Row
	focal *holdfast.Point
}

// Section is a section of a hall.
type Section struct {
	Number   int // in the plan, from 0
	Key      string
	Category string // of general admission
	Capacity int64  // 0 if the section has rows
}

// Row is a row of a section.
type Row struct {
	adjacency holdfast.Adjacency
	cells     []*Seat // nil means a gap
}

// Seat is a numbered seat.
type Seat struct {
	ID, Category string
	Accessible   bool
	Companion    bool // and not Accessible
	Section      int  // number
	InSection    int  // from 0
	InPlan       int  // from 0

	row      int // number in the section
	position int // in the row, from 1
	in       *Row
	distance int64 // to the focal point, squared; without one, from the middle of the row
}

// Of makes a hall of a plan whose rows have all their seats.
func Of(plan holdfast.SeatingPlan) *Hall {
	h := &Hall{ByID: map[string]*Seat{}, focal: plan.FocalPoint}
	for _, c := range plan.Categories {
		h.Categories = append(h.Categories, c.Key)
	}
	for n, section := range plan.Sections {
		h.Sections = append(h.Sections, &Section{n, section.Key, section.Category, section.Capacity})
		inSection := 0
		for r, written := range section.Rows {
			row := &Row{adjacency: cmp.Or(written.Adjacency, "LINE")}
			h.rows = append(h.rows, row)
			for i, seat := range written.Seats {
				if seat == nil {
					row.cells = append(row.cells, nil)
					continue
				}
				made := &Seat{
					ID: seat.ID, Category: cmp.Or(seat.Category, written.Category, section.Category), Accessible: seat.Accessible,
					Companion: seat.Companion && !seat.Accessible,
					Section:   n, row: r, position: i + 1, InSection: inSection, InPlan: len(h.Seats), in: row,
				}
				made.distance = h.distance(seat, made, len(written.Seats))
				row.cells = append(row.cells, made)
				h.Seats, h.ByID[made.ID] = append(h.Seats, made), made
				inSection++
			}
		}
	}
	return h
}

// distance counts in halves of a position if there is no focal point.
func (h *Hall) distance(written *holdfast.Seat, s *Seat, places int) int64 {
	if h.focal == nil {
		return max(int64(2*s.position-places-1), int64(places+1-2*s.position))
	}
	x, y := holdfast.Thousandths(s.position)*1000, holdfast.Thousandths(s.row)*1000
	if written.X != nil {
		x = *written.X
	}
	if written.Y != nil {
		y = *written.Y
	}
	dx, dy := int64(x-h.focal.X), int64(y-h.focal.Y)
	return dx*dx + dy*dy
}

// Section finds a section by its key; nil if there is none.
func (h *Hall) Section(key string) *Section {
	for _, s := range h.Sections {
		if s.Key == key {
			return s
		}
	}
	return nil
}

// Named finds seats, in plan order. It returns false if the plan does not have one, or one is named twice.
func (h *Hall) Named(ids []string) (seats Pick, ok bool) {
	for _, id := range ids {
		s := h.ByID[id]
		if s == nil || slices.Contains(seats, s) {
			return nil, false
		}
		seats = append(seats, s)
	}
	return seats.Sorted(), true
}

// Describe shows the focal point, and a line for each row: # is taken, a is accessible, c a companion, | is a gap.
func (h *Hall) Describe(taken func(*Seat) bool) string {
	lines := []string{fmt.Sprintf("focal point %v", h.focal)}
	for _, row := range h.rows {
		line := string(row.adjacency)
		for _, seat := range row.cells {
			switch {
			case seat == nil:
				line += " |"
				continue
			case taken(seat):
				line += " #" + seat.ID
			default:
				line += " " + seat.ID
			}
			if seat.Accessible {
				line += "a"
			}
			if seat.Companion {
				line += "c"
			}
			line += fmt.Sprintf("(%s %d)", seat.Category, seat.distance)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// GeneralAdmission lists the sections with a capacity; nil if there are none.
func (h *Hall) GeneralAdmission() (sections []holdfast.SectionCapacity) {
	for _, s := range h.Sections {
		if s.Capacity > 0 {
			sections = append(sections, holdfast.SectionCapacity{Key: s.Key, Capacity: s.Capacity})
		}
	}
	return sections
}

// WithCapacities is a copy with other capacities.
func (h *Hall) WithCapacities(sections []holdfast.SectionCapacity) *Hall {
	changed := *h
	changed.Sections = nil
	for _, s := range h.Sections {
		section := *s
		for _, given := range sections {
			if given.Key == s.Key {
				section.Capacity = given.Capacity
			}
		}
		changed.Sections = append(changed.Sections, &section)
	}
	return &changed
}

// TotalSeats is the number of seats, with the capacities.
func (h *Hall) TotalSeats() int64 {
	n := int64(len(h.Seats))
	for _, s := range h.Sections {
		n += s.Capacity
	}
	return n
}

// Pick is a set of seats, in plan order.
type Pick []*Seat

// IDs are the IDs of the seats.
func (p Pick) IDs() (ids []string) {
	for _, s := range p {
		ids = append(ids, s.ID)
	}
	return ids
}

// CountAccessible counts the accessible seats.
func (p Pick) CountAccessible() (n int) {
	for _, s := range p {
		if s.Accessible {
			n++
		}
	}
	return n
}

func (p Pick) distance() (sum int64) {
	for _, s := range p {
		sum += s.distance
	}
	return sum
}

// Sorted are the seats in plan order.
func (p Pick) Sorted() Pick {
	return slices.SortedFunc(slices.Values(p), func(a, b *Seat) int { return a.InPlan - b.InPlan })
}

// subsets are all picks of n of the seats.
func subsets(seats Pick, n int) (all []Pick) {
	if n == 0 {
		return []Pick{nil}
	}
	for i := range seats {
		for _, rest := range subsets(seats[i+1:], n-1) {
			all = append(all, append(Pick{seats[i]}, rest...))
		}
	}
	return all
}

// seats are the seats of a row that match.
func (r *Row) seats(match func(*Seat) bool) (found Pick) {
	for _, s := range r.cells {
		if s != nil && match(s) {
			found = append(found, s)
		}
	}
	return found
}

// together reports whether the seats, which are of this row, are adjacent.
func (r *Row) together(p Pick) bool {
	switch r.adjacency {
	case "ALL":
		return true
	case "NONE":
		return len(p) == 1
	default:
		return p[len(p)-1].position-p[0].position == len(p)-1
	}
}

// isNext reports whether a seat that matches is next to another one of the row.
func (r *Row) isNext(to *Seat, matches func(*Seat) bool) bool {
	return slices.ContainsFunc(r.seats(matches), func(s *Seat) bool {
		apart := s.position - to.position
		return s != to && (r.adjacency == "ALL" || r.adjacency == "LINE" && (apart == 1 || apart == -1))
	})
}

// runs are the longest rows of neighbours that match. All seats of a table are neighbours.
func (r *Row) runs(match func(*Seat) bool) (runs []Pick) {
	var run Pick
	for i, s := range r.cells {
		matches := s != nil && match(s)
		if matches {
			run = append(run, s)
		}
		ends := !matches && r.adjacency == "LINE" || r.adjacency == "NONE" || i == len(r.cells)-1
		if ends && run != nil {
			runs, run = append(runs, run), nil
		}
	}
	return runs
}

// singles are the free seats without a free neighbour. In a row of NONE there are none.
func (r *Row) singles(free func(*Seat) bool) (singles Pick) {
	isFree := func(i int) bool { return i >= 0 && i < len(r.cells) && r.cells[i] != nil && free(r.cells[i]) }
	switch r.adjacency {
	case "NONE":
	case "ALL":
		if all := r.seats(free); len(all) == 1 {
			return all
		}
	default:
		for i := range r.cells {
			if isFree(i) && !isFree(i-1) && !isFree(i+1) {
				singles = append(singles, r.cells[i])
			}
		}
	}
	return singles
}

// newSingles are the seats that become single if the seats are taken.
func (r *Row) newSingles(taken Pick, free func(*Seat) bool) (singles Pick) {
	before := r.singles(free)
	for _, s := range r.singles(func(s *Seat) bool { return free(s) && !slices.Contains(taken, s) }) {
		if !slices.Contains(before, s) {
			singles = append(singles, s)
		}
	}
	return singles
}

// Orphans are the seats of SEAT_ORPHANED; none if the named seats, which count as free, may be taken.
// Where accessible seats are reserved, they are gaps.
func (h *Hall) Orphans(named Pick, free func(*Seat) bool, reserved bool) (orphans []string) {
	counts := func(s *Seat) bool { return !reserved || !s.Accessible }
	isFree := func(s *Seat) bool { return counts(s) && (free(s) || slices.Contains(named, s)) }
	for _, row := range h.rows {
		here := row.seats(func(s *Seat) bool { return counts(s) && slices.Contains(named, s) })
		if len(here) == 0 {
			continue
		}
		fewest := len(row.cells)
		for _, other := range subsets(row.seats(isFree), len(here)) {
			fewest = min(fewest, len(row.newSingles(other, isFree)))
		}
		if left := row.newSingles(here, isFree); len(left) > fewest {
			orphans = append(orphans, left.IDs()...)
		}
	}
	return orphans
}
