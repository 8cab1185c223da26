package seating

import (
	"math/bits"
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// run is a run of free seats that can be used; at a table, all of them.
type run struct {
	first, seats int // a table's row begins with first
	row          int
}

// sectionPieces remembers in how many runs of a section the seats asked for are.
type sectionPieces struct {
	version uint32
	runs    int // 0: the seats are not there
	sum     int64
}

// inPieces finds the section that needs the fewest runs, and appends the seats of its longest
// runs to places, in plan order; false: no section has enough seats.
func (o *Occupancy) inPieces(places []Place, a *ask, only int) ([]Place, bool) {
	best, section := sectionPieces{}, (-1)
	for i, n := range o.hall.pools[a.category].sections {
		if only != AnySection && n != only {
			continue
		}
		v := o.sectionPieces(a, i, n)
		if v.runs > 0 && (best.runs == 0 || v.runs < best.runs || v.runs == best.runs && o.hall.focal && v.sum < best.sum) {
			best, section = v, n
		}
	}
	if section < 0 {
		return places, false
	}
	from := len(places)
	places, _, _ = o.piecesOf(places, section, a, true)
	slices.SortFunc(places[from:], comparePlaces)
	return places, true
}

// sectionPieces returns what is remembered of a section, the i-th of its pool, brought up to date.
func (o *Occupancy) sectionPieces(a *ask, i int, section int) sectionPieces {
	if a.exact {
		_, runs, sum := o.piecesOf(nil, section, a, false)
		return sectionPieces{runs: runs, sum: sum}
	}
	x, at := o.index, slot(a)
	if x.pieces[at] == nil {
		x.pieces[at] = make([]sectionPieces, len(o.hall.pools[a.category].sections))
	}
	v := &x.pieces[at][i]
	if version := x.sections[section]; v.version != version {
		_, v.runs, v.sum = o.piecesOf(nil, section, a, false)
		v.version = version
	}
	return *v
}

// piecesOf appends the seats of a section's longest runs to places, if keep is set, and returns how
// many runs they are, 0 if the section has not enough seats, and the sum of their distances.
func (o *Occupancy) piecesOf(places []Place, section int, a *ask, keep bool) (_ []Place, runs int, sum int64) {
	if !o.enough(section, a) {
		return places, 0, 0
	}
	if a.exact {
		return o.exactPiecesOf(places, section, a, keep)
	}
	all := o.runs(section, a)
	for missing := a.seats; missing > 0; runs++ {
		best, bestCut := -1, cut{}
		for i := range all {
			r := &all[i]
			n := min(r.seats, missing)
			if best >= 0 && (n < bestCut.seats || n == bestCut.seats && r.seats < all[best].seats) {
				continue
			}
			c := o.cut(section, r, a, n)
			longer := best < 0 || n > bestCut.seats || r.seats > all[best].seats
			if longer || c.key < bestCut.key || c.key == bestCut.key && r.first < all[best].first {
				best, bestCut = i, c
			}
		}
		if keep {
			places = o.appendCut(places, section, &all[best], a, bestCut)
		}
		missing -= bestCut.seats
		sum += bestCut.key
		all[best] = all[len(all)-1]
		all = all[:len(all)-1]
	}
	return places, runs, sum
}

// enough reports whether the section has the seats, together or not.
func (o *Occupancy) enough(section int, a *ask) bool {
	others, accessible := o.freeSeats(section, a.category)
	switch {
	case a.exact:
		return accessible >= int64(a.accessible) && others >= int64(a.seats-a.accessible)
	case a.open:
		return others+accessible >= int64(a.seats)
	default:
		return others >= int64(a.seats)
	}
}

// freeSeats counts the free seats of a category in a section with rows.
func (o *Occupancy) freeSeats(section int, category int) (others, accessible int64) {
	for _, n := range o.hall.sections[section].Parts {
		switch p := &o.hall.parts[n]; {
		case p.Category != category:
		case p.Accessible:
			accessible += o.free[n]
		default:
			others += o.free[n]
		}
	}
	return others, accessible
}

// runs returns the section's runs, in a slice that the next call reuses.
func (o *Occupancy) runs(section int, a *ask) []run {
	s := &o.hall.sections[section]
	m := s.mask(a.category)
	all := o.index.scratch[:0]
	taken := o.taken[s.firstWord:s.endWord]
	end := (-1) // of the last run
	for w := range taken {
		usable := ^taken[w] & s.inLine[w] & m.load(a, w*bitsPerWord)
		for usable != 0 {
			n := bits.LeadingZeros64(usable)
			long := bits.LeadingZeros64(^(usable << n))
			long = min(long, 1+bits.LeadingZeros64(s.starts[w]<<n<<1))
			first := w*bitsPerWord + n
			if first == end && s.starts[w]&bit(first) == 0 {
				all[len(all)-1].seats += long
			} else {
				all = append(all, run{first: first, seats: long, row: s.Seats[first].Row})
			}
			end = first + long
			usable = usable << n << long >> long >> n
		}
	}
	for _, row := range s.tables {
		r := &s.Rows[row]
		n := 0
		for i := r.First; i < r.End; i++ {
			if seat := &s.Seats[i]; seat.Category == a.category && (a.open || !seat.Accessible) && !o.isTaken(s, i) {
				n++
			}
		}
		if n > 0 {
			all = append(all, run{first: r.First, seats: n, row: row})
		}
	}
	o.index.scratch = all
	return all
}

// cut is the best n seats of a run.
type cut struct {
	key          int64
	first, seats int
}

func (o *Occupancy) cut(section int, r *run, a *ask, n int) cut {
	s := &o.hall.sections[section]
	base := int64(0)
	if !o.hall.focal {
		base = int64(r.row) << baseShift
	}
	if s.Rows[r.row].Adjacency == holdfast.AdjacencyAll {
		sum := int64(0)
		u := unit{section: section, row: r.row, mask: s.mask(a.category)}
		o.nearest(&u, a, n, func(seat int) { sum += s.Seats[seat].Distance })
		return cut{base + sum, r.first, n}
	}
	best := cut{s.sums[r.first+n] - s.sums[r.first], r.first, n}
	for first := r.first + 1; first+n <= r.first+r.seats; first++ {
		if sum := s.sums[first+n] - s.sums[first]; sum < best.key {
			best.key, best.first = sum, first
		}
	}
	best.key += base
	return best
}

func (o *Occupancy) appendCut(places []Place, section int, r *run, a *ask, c cut) []Place {
	s := &o.hall.sections[section]
	if s.Rows[r.row].Adjacency == holdfast.AdjacencyAll {
		u := unit{section: section, row: r.row, mask: s.mask(a.category)}
		o.nearest(&u, a, c.seats, func(seat int) { places = append(places, Place{section, seat}) })
		return places
	}
	for i := range c.seats {
		places = append(places, Place{section, c.first + i})
	}
	return places
}

// longestIn returns how many of the seats asked for are together in a section, the i-th of its pool.
func (o *Occupancy) longestIn(a *ask, i int, section int) int {
	if a.exact {
		c := o.longestPiece(section, a)
		return c.seats
	}
	x, any := o.index, *a
	any.seats = 0 // no wish has this slot
	at := slot(&any)
	if x.pieces[at] == nil {
		x.pieces[at] = make([]sectionPieces, len(o.hall.pools[a.category].sections))
	}
	v := &x.pieces[at][i]
	if version := x.sections[section]; v.version != version {
		v.version, v.runs = version, 0
		for _, r := range o.runs(section, a) {
			v.runs = max(v.runs, r.seats)
		}
	}
	return v.runs
}
