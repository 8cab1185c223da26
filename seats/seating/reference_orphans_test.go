package seating_test

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// gap reports whether the seat counts as a gap where single seats are counted.
func (h *refHall) gap(s *refSeat) bool { return h.reserved && s.accessible }

// newSingles returns the seats of the row that have a free neighbour or are not free, and that
// are single once the seats are taken. Those in freed count as free before.
func (h *refHall) newSingles(row *refRow, seats, freed []*refSeat) (singles []*refSeat) {
	before := func(s *refSeat) bool {
		return s != nil && (!s.taken || slices.Contains(freed, s)) && !h.gap(s)
	}
	after := func(s *refSeat) bool { return before(s) && !slices.Contains(seats, s) }
	for i, s := range row.seats {
		if row.single(i, after) && !row.single(i, before) {
			singles = append(singles, s)
		}
	}
	return singles
}

func (r *refRow) single(i int, free func(*refSeat) bool) bool {
	if !free(r.seats[i]) {
		return false
	}
	switch r.adjacency {
	case holdfast.AdjacencyNone:
		return false
	case holdfast.AdjacencyAll:
		for n, s := range r.seats {
			if n != i && free(s) {
				return false
			}
		}
		return true
	default:
		before, behind := i > 0 && free(r.seats[i-1]), i+1 < len(r.seats) && free(r.seats[i+1])
		return !before && !behind
	}
}

// orphans are the seats of SEAT_ORPHANED. The seats in old count as free, those named too.
func (h *refHall) orphans(named, old []*refSeat) (orphans []*refSeat) {
	freed := append(slices.Clone(named), old...)
	for _, row := range h.rows {
		var here []*refSeat
		for _, s := range row.seats {
			if s != nil && slices.Contains(named, s) && !h.gap(s) {
				here = append(here, s)
			}
		}
		if here == nil {
			continue
		}
		fewest := len(row.seats)
		var free []*refSeat
		for _, s := range row.all() {
			if (!s.taken || slices.Contains(freed, s)) && !h.gap(s) {
				free = append(free, s)
			}
		}
		for _, any := range subsets(free, len(here)) {
			fewest = min(fewest, len(h.newSingles(row, any, freed)))
		}
		if singles := h.newSingles(row, here, freed); len(singles) > fewest {
			orphans = append(orphans, singles...)
		}
	}
	return orphans
}
