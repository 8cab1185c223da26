package seating

import (
	"math"
	"math/bits"
	"slices"
)

// run is a run of free seats that can be used; at a table, all of them.
type run struct {
	first, seats int
	table        int // row; -1: the seats stand in line
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
	o.findRuns(section, a)
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
			if keep {
				places = o.appendCut(places, section, a, c)
			}
			runs++
			sum += c.key
			missing -= c.seats
		}
		if missing > 0 && whole > 0 && whole < count {
			length++ // one more of them, of which only a part is needed
		}
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

// findRuns finds the runs of a section, and counts them by their length, up to a.seats.
func (o *Occupancy) findRuns(section int, a *ask) {
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
			if seat := &s.Seats[i]; seat.Category == a.category && (a.open || !seat.Accessible) && !o.isTaken(s, i) {
				n++
			}
		}
		if n > 0 {
			x.runs = append(x.runs, run{first: r.First, seats: n, table: row})
		}
	}
	for i := range x.runs {
		x.lengths[min(x.runs[i].seats, len(x.lengths)-1)]++
	}
}

// cut is a part of a run, or all of it.
type cut struct {
	key                 int64
	first, seats, table int
	run                 int // in the index
}

// nearestRuns returns at most n runs of a length, the nearest ones, each cut to so many seats, in a
// slice that the next call reuses. They are no runs any more.
func (o *Occupancy) nearestRuns(section int, a *ask, length, seats, n int) []cut {
	best := o.index.cuts[:0]
	for i := range o.index.runs {
		r := &o.index.runs[i]
		if r.seats != length {
			continue
		}
		c := o.cut(section, r, a, seats)
		c.run = i
		at := len(best)
		for at > 0 && (c.key < best[at-1].key || c.key == best[at-1].key && c.first < best[at-1].first) {
			at--
		}
		if at < n {
			best = slices.Insert(best[:min(len(best), n-1)], at, c)
		}
	}
	for i := range best {
		o.index.runs[best[i].run].seats = 0
	}
	o.index.cuts = best
	return best
}

// cut returns the nearest n seats of a run.
func (o *Occupancy) cut(section int, r *run, a *ask, n int) cut {
	s := &o.hall.sections[section]
	best := cut{first: r.first, seats: n, table: r.table}
	if r.table >= 0 {
		u := unit{section: section, row: r.table, mask: s.mask(a.category)}
		o.nearest(&u, a, n, func(seat int) { best.key += s.rank(seat) })
		return best
	}
	best.key = s.sums[r.first+n] - s.sums[r.first]
	for first := r.first + 1; first+n <= r.first+r.seats; first++ {
		if key := s.sums[first+n] - s.sums[first]; key < best.key {
			best.key, best.first = key, first
		}
	}
	return best
}

func (o *Occupancy) appendCut(places []Place, section int, a *ask, c *cut) []Place {
	if c.table >= 0 {
		u := unit{section: section, row: c.table, mask: o.hall.sections[section].mask(a.category)}
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
		o.findRuns(section, a)
		for _, r := range o.index.runs {
			v.runs = max(v.runs, r.seats)
		}
	}
	return v.runs
}
