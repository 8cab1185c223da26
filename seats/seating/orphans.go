package seating

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// Orphans returns the seats that become single if the named seats are taken, in rows where as many
// seats could be taken and leave fewer new single seats; in plan order. The named seats and those in
// old, which the lock has so far, count as free; all others are as the occupancy has them. Unless
// open, accessible seats count as gaps.
//
// A seat is single if it is free and has no free neighbour.
func (o *Occupancy) Orphans(named, old []Place, open bool) (orphans []Place) {
	sorted := slices.SortedFunc(slices.Values(named), Place.Compare)
	for len(sorted) > 0 {
		first := sorted[0]
		s := &o.hall.sections[first.Section]
		number := s.Seats[first.Seat].Row
		row := &s.Rows[number]
		n := 0
		for n < len(sorted) && sorted[n].Section == first.Section && sorted[n].Seat < row.End {
			n++
		}
		if row.Adjacency == holdfast.AdjacencyLine {
			r := lineRow{occupancy: o, section: first.Section, s: s, row: row, open: open, named: sorted[:n], old: old}
			orphans = r.appendOrphans(orphans)
		}
		sorted = sorted[n:]
	}
	return orphans
}

// lineRow is a row in which seats are named. At a table, or in a row without neighbours, the number
// of new single seats is the same whichever seats are taken.
type lineRow struct {
	occupancy  *Occupancy
	section    int
	s          *Section
	row        *Row
	open       bool
	named, old []Place
}

// states of a seat.
const (
	notFree = iota // or a gap
	isNamed
	isFree
)

func (r *lineRow) appendOrphans(orphans []Place) []Place {
	var singles []Place
	fewest := fewestSingles{most: len(r.named), sums: sums{0: true}}
	named := 0
	for _, segment := range r.s.Segments[r.row.FirstSegment:r.row.EndSegment] {
		for first := segment.First; first < segment.End; {
			end, taken := first, 0
			for ; end < segment.End && r.state(end) != notFree; end++ {
				if r.state(end) == isNamed {
					taken++
				}
			}
			if taken > 0 {
				singles = r.appendSingles(singles, first, end)
			}
			named += taken
			fewest.add((end - first))
			first = max(end, first+1)
		}
	}
	if len(singles) > fewest.of(named) {
		return append(orphans, singles...)
	}
	return orphans
}

// appendSingles appends the single seats of a run of seats that were free, of which some are named.
func (r *lineRow) appendSingles(singles []Place, first, end int) []Place {
	for i := first; i < end; i++ {
		alone := (i == first || r.state(i-1) == isNamed) && (i == end-1 || r.state(i+1) == isNamed)
		if alone && r.state(i) == isFree {
			singles = append(singles, Place{r.section, i})
		}
	}
	return singles
}

func (r *lineRow) state(seat int) int {
	p := Place{r.section, seat}
	_, named := slices.BinarySearchFunc(r.named, p, Place.Compare)
	switch {
	case !r.open && r.s.Seats[seat].Accessible:
		return notFree
	case named:
		return isNamed
	case !r.occupancy.isTaken(r.s, seat) || slices.Contains(r.old, p):
		return isFree
	default:
		return notFree
	}
}

// fewestSingles finds the fewest new single seats of a row. Of a run of n free seats, any number
// but n−1 can be taken without leaving one. Numbers that do not add up so cost one single seat, never
// more: whole runs and a part of one make any number.
type fewestSingles struct {
	most int // that are taken
	sums sums
}

// sums has the numbers of seats that can be taken without leaving a new single seat.
type sums [holdfast.MaxRowSeats + 1]bool

func (f *fewestSingles) add(run int) {
	before := f.sums
	for total, ok := range before[:f.most+1] {
		if !ok {
			continue
		}
		for n := 1; n <= min(run, f.most-total); n++ {
			if n != run-1 {
				f.sums[total+n] = true
			}
		}
	}
}

func (f *fewestSingles) of(seats int) int {
	if f.sums[seats] {
		return 0
	}
	return 1
}
