package seating

import (
	"math"
	"math/bits"
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// ask is a wish in one category.
type ask struct {
	category int
	seats    int
	// exact asks for exactly so many accessible seats. Otherwise, accessible seats are not used,
	// or, if open, like any other. Unless open, they count as gaps where single seats are counted.
	exact, open bool
	accessible  int
	companions  companionRule
	attended    bool // each accessible seat has a free companion seat next to it
}

// rowPick is the best pick of adjacent seats in a row.
type rowPick struct {
	key   int64 // the lowest is the best; noPick
	floor int64 // no pick of the row has a lower key, however its single seats change as seats are taken
	first int   // seat, in a row where seats stand in line
}

const (
	noPick = math.MaxInt64
	// leavesSingle is added to the key of a pick that leaves a new single seat. Sums of distances
	// are lower: 50 seats × (200,000,000² × 2) thousandths².
	leavesSingle = 1 << 62
)

// add keeps a pick if it is better.
func (r *rowPick) add(key int64, single bool, first int) {
	r.floor = min(r.floor, key)
	if single {
		key += leavesSingle
	}
	if key < r.key {
		r.key, r.first = key, first
	}
}

// inRow finds the best pick of adjacent seats in a row. It allocates nothing.
func (o *Occupancy) inRow(u *unit, a *ask) rowPick {
	best := rowPick{key: noPick, floor: noPick}
	s := &o.hall.sections[u.section]
	row := &s.Rows[u.row]
	switch row.Adjacency {
	case holdfast.AdjacencyAll:
		o.atTable(u, a, &best)
	case holdfast.AdjacencyNone:
		if a.seats == 1 {
			o.inLine(u, a, row.First, row.End, false, &best)
		}
	default:
		for i := row.FirstSegment; i < row.EndSegment; i++ {
			if segment := &s.Segments[i]; segment.End-segment.First >= a.seats {
				o.inLine(u, a, segment.First, segment.End, true, &best)
			}
		}
	}
	return best
}

// mayFit reports whether there may be a pick in a row. If not, the row is skipped.
func (o *Occupancy) mayFit(u *unit, a *ask) bool {
	s := &o.hall.sections[u.section]
	row := &s.Rows[u.row]
	if row.Adjacency == holdfast.AdjacencyAll || row.End-row.First > bitsPerWord {
		return true
	}
	_, usable := o.freeIn(s, u.mask, a, row.First, row.End)
	return runsOf(usable, a.seats) != 0
}

// inLine looks at all runs of a.seats in seats that stand in line: 64 seats at a time, which
// overlap by as much as a run and two seats at its ends need.
func (o *Occupancy) inLine(u *unit, a *ask, first, end int, singles bool, best *rowPick) {
	s := &o.hall.sections[u.section]
	for at := first; ; at += bitsPerWord - 3 - a.seats {
		free, usable := o.freeIn(s, u.mask, a, at, end)
		starts := runsOf(usable, a.seats)
		if at > first {
			starts &= math.MaxUint64 >> 2 // the first two need what is before them; they have been looked at
		}
		last := end-at <= bitsPerWord
		if !last {
			starts &= math.MaxUint64 << (a.seats + 1) // the others need what is behind
		}
		var single uint64
		if singles && starts != 0 {
			if !a.open && s.accessible != nil {
				free &^= load(s.accessible, at)
			}
			left := free >> 1 &^ (free >> 2) & free
			right := free << a.seats &^ (free << (a.seats + 1)) & (free << (a.seats - 1))
			single = left | right
		}
		for ; starts != 0; starts &^= bit(bits.LeadingZeros64(starts)) {
			n := bits.LeadingZeros64(starts)
			from := at + n
			if a.exact && !o.isExact(u.section, from, a) {
				continue
			}
			best.add(s.sums[from+a.seats]-s.sums[from], single&bit(n) != 0, from)
		}
		if last {
			return
		}
	}
}

// freeIn returns, from the highest bit on, the seats from at to end that are free, and those of
// them that can be used.
func (o *Occupancy) freeIn(s *Section, m *mask, a *ask, at, end int) (free, usable uint64) {
	free = ^load(o.taken[s.firstWord:s.endWord], at)
	if n := end - at; n < bitsPerWord {
		free &= math.MaxUint64 << (bitsPerWord - n)
	}
	if s.companions != nil && a.companions != anyCompanion {
		free &^= o.withheld(s, a, at)
	}
	return free, free & m.load(a, at)
}

// load returns the seats of the category that can be used if they are free.
func (m *mask) load(a *ask, at int) uint64 {
	words := m.words(a)
	if words == nil {
		return math.MaxUint64
	}
	return load(words, at)
}

// words returns the map of the seats of the category that can be used; nil means all seats.
func (m *mask) words(a *ask) []uint64 {
	if a.exact || a.open {
		return m.all
	}
	return m.others
}

// load returns 64 bits from the bit at on; bits behind the last word are 0.
func load(words []uint64, at int) uint64 {
	w, shift := at/bitsPerWord, uint(at%bitsPerWord)
	v := words[w] << shift
	if shift > 0 && w+1 < len(words) {
		v |= words[w+1] >> (bitsPerWord - shift)
	}
	return v
}

// runsOf returns the first bit of each run of n bits.
func runsOf(v uint64, n int) uint64 {
	for have := 1; have < n && v != 0; {
		step := min(have, n-have)
		v &= v << step
		have += step
	}
	return v
}

// isExact reports whether the seats from the first on are an exact pick.
func (o *Occupancy) isExact(section, first int, a *ask) bool {
	s := &o.hall.sections[section]
	n := 0
	if s.accessible != nil {
		n = bits.OnesCount64(load(s.accessible, first) >> (bitsPerWord - a.seats))
	}
	return n == a.accessible && (!a.attended || o.attended(section, first, first+a.seats, nil))
}

// atTable looks at the one pick of a table: its nearest seats.
func (o *Occupancy) atTable(u *unit, a *ask, best *rowPick) {
	s := &o.hall.sections[u.section]
	row := &s.Rows[u.row]
	free, gone := 0, a.seats // of the seats that can be single
	if a.exact && !a.open {
		gone -= a.accessible
	}
	for i := row.First; i < row.End; i++ {
		if !o.isTaken(s, i) && (a.open || !s.Seats[i].Accessible) && !o.withholds(s, i, a) {
			free++
		}
	}
	sum := int64(0)
	if a.attended && !o.attended(u.section, row.First, row.End, nil) {
		return
	}
	if o.nearest(s, u.row, a, a.seats, func(seat int) { sum += s.rank(seat) }) {
		best.add(sum, free-gone == 1 && gone > 0, row.First)
	}
}

// nearest calls take with the nearest n seats of a table, in order of distance, no more of either
// kind than are asked for. It returns false if too few are free.
func (o *Occupancy) nearest(s *Section, row int, a *ask, n int, take func(seat int)) bool {
	accessible, others := n, n // still needed
	if a.exact {
		accessible, others = a.accessible, a.seats-a.accessible
	} else if !a.open {
		accessible = 0
	}
	for _, i := range s.near[s.Rows[row].First:s.Rows[row].End] {
		if n == 0 {
			break
		}
		seat, left := &s.Seats[i], &others
		if seat.Accessible {
			left = &accessible
		}
		if *left > 0 && seat.Category == a.category && !o.isTaken(s, i) && !o.withholds(s, i, a) {
			take(i)
			*left--
			n--
		}
	}
	return n == 0
}

// appendTable appends the nearest n seats of a table, in plan order.
func (o *Occupancy) appendTable(places []Place, section, row int, a *ask, n int) []Place {
	from := len(places)
	o.nearest(&o.hall.sections[section], row, a, n, func(seat int) { places = append(places, Place{section, seat}) })
	slices.SortFunc(places[from:], Place.Compare)
	return places
}

func (o *Occupancy) isTaken(s *Section, seat int) bool {
	return o.taken[s.firstWord+seat/bitsPerWord]&bit(seat) != 0
}

// appendPick appends the seats of a row's best pick to places, in plan order.
func (o *Occupancy) appendPick(places []Place, u *unit, a *ask, pick rowPick) []Place {
	if o.hall.sections[u.section].Rows[u.row].Adjacency != holdfast.AdjacencyAll {
		for i := range a.seats {
			places = append(places, Place{u.section, pick.first + i})
		}
		return places
	}
	return o.appendTable(places, u.section, u.row, a, a.seats)
}
