package seating

import (
	"math"
	"math/bits"
	"slices"
)

// run is a run of free seats that can be used; at a table, all of them.
type run struct {
	first, seats int
	table        int // row of the table; -1 if the seats stand in line
}

// sectionPieces caches the number of runs of a section that the requested seats need.
type sectionPieces struct {
	version uint32
	runs    int // 0 if there are too few seats
	sum     int64
	// unattended is set if not each accessible seat has a companion seat next to it.
	unattended bool
}

// better reports whether the pieces are better than those of an earlier section.
func (p *sectionPieces) better(than *sectionPieces) bool {
	switch {
	case p.runs != than.runs:
		return p.runs < than.runs
	case p.unattended != than.unattended:
		return than.unattended
	default:
		return p.sum < than.sum
	}
}

// inPieces finds the section that needs the fewest runs, and appends the seats of its longest
// runs to places, in plan order. It returns false if no section has enough seats.
func (o *Occupancy) inPieces(places []Place, a *ask, only int) ([]Place, bool) {
	remembered := o.remembered(a, a.seats)
	from := len(places)
	best, section, found := sectionPieces{}, -1, -1 // the seats of section found are in places
	for i, n := range o.hall.pools[a.category].sections {
		if only != AnySection && n != only {
			continue
		}
		v := &remembered[i]
		if version := o.index.sections[n]; a.exact || v.version != version {
			places, *v = o.piecesOf(places[:from], n, a)
			v.version, found = version, n
		}
		if v.runs > 0 && (section < 0 || v.better(&best)) {
			best, section = *v, n
		}
	}
	if section < 0 {
		return places[:from], false
	}
	if found != section {
		places, _ = o.piecesOf(places[:from], section, a)
	}
	slices.SortFunc(places[from:], Place.Compare)
	return places, true
}

// remembered returns the cached pieces of the sections of a pool, for a number of seats. An exact ask is
// not cached.
func (o *Occupancy) remembered(a *ask, seats int) []sectionPieces {
	if a.exact {
		return make([]sectionPieces, len(o.hall.pools[a.category].sections))
	}
	at := slot(a, seats)
	if o.index.pieces[at] == nil {
		o.index.pieces[at] = make([]sectionPieces, len(o.hall.pools[a.category].sections))
	}
	return o.index.pieces[at]
}

// piecesOf appends the seats of a section's longest runs to places.
func (o *Occupancy) piecesOf(places []Place, section int, a *ask) (_ []Place, of sectionPieces) {
	if !o.enough(section, a) {
		return places, of
	}
	if a.exact {
		return o.exactPiecesOf(places, section, a)
	}
	if o.findRuns(section, a) < a.seats {
		return places, of
	}
	missing := a.seats
	for length := a.seats - 1; missing > 0; length-- {
		count := o.index.lengths[length]
		if count == 0 {
			continue
		}
		whole := min(count, missing/length)
		chosen := o.nearestRuns(section, a, length, min(length, missing), max(1, whole))
		for i := range chosen {
			c := &chosen[i]
			places = o.appendCut(places, section, a, c)
			of.runs++
			of.sum += c.key
			missing -= c.seats
		}
		if missing > 0 && whole > 0 && whole < count {
			length++ // one more of them, of which only a part is needed
		}
	}
	return places, of
}

// enough reports whether the section has the seats, together or not; companion seats count.
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

// findRuns finds the runs of a section, counts them by their length, and returns how many seats they have.
func (o *Occupancy) findRuns(section int, a *ask) (seats int) {
	s, x := &o.hall.sections[section], o.index
	m := s.mask(a.category)
	x.runs = x.runs[:0]
	clear(x.lengths[:])
	usable, taken := m.words(a), o.taken[s.firstWord:s.endWord]
	end := -1 // of the last run
	for w, t := range taken {
		free := s.inLine[w] &^ t
		if usable != nil {
			free &= usable[w]
		}
		if s.companions != nil && a.companions != anyCompanion {
			free &^= o.withheld(s, a, w*bitsPerWord)
		}
		for free != 0 {
			n := bits.LeadingZeros64(free)
			long := min(bits.LeadingZeros64(^(free << n)), 1+bits.LeadingZeros64(s.starts[w]<<n<<1))
			first := w*bitsPerWord + n
			if first == end && s.starts[w]&bit(n) == 0 {
				x.runs[len(x.runs)-1].seats += long
			} else {
				x.runs = append(x.runs, run{first: first, seats: long, table: -1})
			}
			end = first + long
			free &= math.MaxUint64 >> n >> long
		}
	}
	for _, row := range s.tables {
		r := &s.Rows[row]
		n := 0
		for i := r.First; i < r.End; i++ {
			if seat := &s.Seats[i]; seat.Category == a.category && (a.open || !seat.Accessible) && !o.isTaken(s, i) && !o.withholds(s, i, a) {
				n++
			}
		}
		if n > 0 {
			x.runs = append(x.runs, run{first: r.First, seats: n, table: row})
		}
	}
	for i := range x.runs {
		x.lengths[min(x.runs[i].seats, len(x.lengths)-1)]++
		seats += x.runs[i].seats
	}
	return seats
}

// cut is a part of a run, or all of it.
type cut struct {
	key                 int64
	first, seats, table int
	run                 int // in the index
}

// nearestRuns returns at most n runs of a length, the nearest ones, each cut to so many seats, in a
// slice that the next call reuses. It removes these runs from the index.
func (o *Occupancy) nearestRuns(section int, a *ask, length, seats, n int) []cut {
	s, x := &o.hall.sections[section], o.index
	best := x.cuts[:0]
	for i := range x.runs {
		r := &x.runs[i]
		if r.seats != length {
			continue
		}
		key, first := s.sums[r.first+seats]-s.sums[r.first], r.first
		if r.table >= 0 || seats < length {
			key, first = o.bestCut(s, r, a, seats)
		}
		at := len(best)
		for at > 0 && (key < best[at-1].key || key == best[at-1].key && first < best[at-1].first) {
			at--
		}
		if at == n {
			continue
		}
		if len(best) < n {
			best = append(best, cut{})
		}
		copy(best[at+1:], best[at:])
		best[at] = cut{key: key, first: first, seats: seats, table: r.table, run: i}
	}
	for i := range best {
		x.runs[best[i].run].seats = 0
	}
	x.cuts = best
	return best
}

// bestCut finds the nearest seats of a run: the sum of their ranks, and the first of them.
func (o *Occupancy) bestCut(s *Section, r *run, a *ask, seats int) (key int64, first int) {
	if r.table >= 0 {
		o.nearest(s, r.table, a, seats, func(seat int) { key += s.rank(seat) })
		return key, r.first
	}
	key, first = s.sums[r.first+seats]-s.sums[r.first], r.first
	for at := first + 1; at+seats <= r.first+r.seats; at++ {
		if sum := s.sums[at+seats] - s.sums[at]; sum < key {
			key, first = sum, at
		}
	}
	return key, first
}

func (o *Occupancy) appendCut(places []Place, section int, a *ask, c *cut) []Place {
	if c.table >= 0 {
		return o.appendTable(places, section, c.table, a, c.seats)
	}
	for i := range c.seats {
		places = append(places, Place{section, c.first + i})
	}
	return places
}

// longestIn returns how many of the seats asked for are together in a section, the i-th of its pool.
func (o *Occupancy) longestIn(a *ask, i, section int) int {
	if a.exact {
		return o.longestPiece(section, a, nil).seats
	}
	v := &o.remembered(a, 0)[i] // no wish is for 0 seats
	if version := o.index.sections[section]; v.version != version {
		v.version, v.runs = version, 0
		o.findRuns(section, a)
		for _, r := range o.index.runs {
			v.runs = max(v.runs, r.seats)
		}
	}
	return v.runs
}
