package inventory_test

import (
	"cmp"
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// modelHall is a seating plan as it is written. It finds picks by trying all of them, and shares
// no code with package seating.
type modelHall struct {
	categories []string
	sections   []*modelSection
	rows       []*modelRow
	seats      []*modelSeat // in plan order
	byID       map[string]*modelSeat
	focal      *holdfast.Point
}

type modelSection struct {
	number   int
	key      string
	category string // of general admission
	capacity int64  // 0: rows
}

type modelRow struct {
	adjacency holdfast.Adjacency
	cells     []*modelSeat // nil: a gap
}

type modelSeat struct {
	id, category string
	accessible   bool
	section, row int // numbers; of the row: in the section
	position     int // in the row, from 1
	inSection    int // in the section, from 0
	inPlan       int // from 0
	in           *modelRow
	distance     int64 // to the focal point, squared; without one, from the middle of the row
}

func modelHallOf(plan holdfast.SeatingPlan) *modelHall {
	h := &modelHall{byID: map[string]*modelSeat{}, focal: plan.FocalPoint}
	for _, c := range plan.Categories {
		h.categories = append(h.categories, c.Key)
	}
	for n, section := range plan.Sections {
		h.sections = append(h.sections, &modelSection{n, section.Key, section.Category, section.Capacity})
		inSection := 0
		for r, written := range section.Rows {
			row := &modelRow{adjacency: cmp.Or(written.Adjacency, "LINE")}
			h.rows = append(h.rows, row)
			for i, seat := range written.Seats {
				if seat == nil {
					row.cells = append(row.cells, nil)
					continue
				}
				made := &modelSeat{
					id: seat.ID, category: cmp.Or(seat.Category, written.Category, section.Category), accessible: seat.Accessible,
					section: n, row: r, position: i + 1, inSection: inSection, inPlan: len(h.seats), in: row,
				}
				made.distance = h.distance(seat, made, len(written.Seats))
				row.cells = append(row.cells, made)
				h.seats, h.byID[made.id] = append(h.seats, made), made
				inSection++
			}
		}
	}
	return h
}

// distance counts in halves of a position if there is no focal point.
func (h *modelHall) distance(written *holdfast.Seat, s *modelSeat, places int) int64 {
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

func (h *modelHall) section(key string) *modelSection {
	for _, s := range h.sections {
		if s.key == key {
			return s
		}
	}
	return nil
}

// pick is a set of seats, in plan order.
type pick []*modelSeat

func (p pick) ids() (ids []string) {
	for _, s := range p {
		ids = append(ids, s.id)
	}
	return ids
}

func (p pick) accessible() (n int) {
	for _, s := range p {
		if s.accessible {
			n++
		}
	}
	return n
}

func (p pick) distance() (sum int64) {
	for _, s := range p {
		sum += s.distance
	}
	return sum
}

func (p pick) sorted() pick {
	return slices.SortedFunc(slices.Values(p), func(a, b *modelSeat) int { return a.inPlan - b.inPlan })
}

// subsets are all picks of n of the seats.
func subsets(seats pick, n int) (all []pick) {
	if n == 0 {
		return []pick{nil}
	}
	for i := range seats {
		for _, rest := range subsets(seats[i+1:], n-1) {
			all = append(all, append(pick{seats[i]}, rest...))
		}
	}
	return all
}

// seats are the seats of a row that match.
func (r *modelRow) seats(match func(*modelSeat) bool) (found pick) {
	for _, s := range r.cells {
		if s != nil && match(s) {
			found = append(found, s)
		}
	}
	return found
}

// together reports whether the seats, which are of this row, are adjacent.
func (r *modelRow) together(p pick) bool {
	switch r.adjacency {
	case "ALL":
		return true
	case "NONE":
		return len(p) == 1
	default:
		return p[len(p)-1].position-p[0].position == len(p)-1
	}
}

// runs are the longest rows of neighbours that match. All seats of a table are neighbours.
func (r *modelRow) runs(match func(*modelSeat) bool) (runs []pick) {
	var run pick
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
func (r *modelRow) singles(free func(*modelSeat) bool) (singles pick) {
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
func (r *modelRow) newSingles(taken pick, free func(*modelSeat) bool) (singles pick) {
	before := r.singles(free)
	for _, s := range r.singles(func(s *modelSeat) bool { return free(s) && !slices.Contains(taken, s) }) {
		if !slices.Contains(before, s) {
			singles = append(singles, s)
		}
	}
	return singles
}

// orphans are the seats of SEAT_ORPHANED; none if the named seats, which count as free, may be taken.
// Where accessible seats are reserved, they are gaps.
func (h *modelHall) orphans(named pick, free func(*modelSeat) bool, reserved bool) (orphans []string) {
	counts := func(s *modelSeat) bool { return !reserved || !s.accessible }
	isFree := func(s *modelSeat) bool { return counts(s) && (free(s) || slices.Contains(named, s)) }
	for _, row := range h.rows {
		here := row.seats(func(s *modelSeat) bool { return counts(s) && slices.Contains(named, s) })
		if len(here) == 0 {
			continue
		}
		fewest := len(row.cells)
		for _, other := range subsets(row.seats(isFree), len(here)) {
			fewest = min(fewest, len(row.newSingles(other, isFree)))
		}
		if left := row.newSingles(here, isFree); len(left) > fewest {
			orphans = append(orphans, left.ids()...)
		}
	}
	return orphans
}
