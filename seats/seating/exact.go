package seating

import "github.com/holdfast-dev/holdfast"

// exactPiecesOf is piecesOf for an exact number of accessible seats. A run may be used for several
// pieces: each has at most as many accessible seats, and at most as many others, as are missing.
func (o *Occupancy) exactPiecesOf(places []Place, section int, a *ask) (_ []Place, of sectionPieces) {
	from := len(places)
	mark := o.Mark()
	defer o.Undo(mark)
	left := *a
	var piece [holdfast.MaxNamedSeats]Place
	for left.seats > 0 {
		c := o.longestPiece(section, &left, places[from:])
		of.runs++
		of.sum += c.key
		for _, p := range o.appendPiece(piece[:0], section, &left, c) {
			if o.hall.Seat(p).Accessible {
				left.accessible--
			}
			left.seats--
			o.Take(p)
			places = append(places, p)
		}
	}
	for _, p := range places[from:] {
		lacks := o.hall.Seat(p).Accessible && !o.attended(section, p.Seat, p.Seat+1, places[from:])
		of.unattended = of.unattended || !a.open && lacks
	}
	return places, of
}

// exactPiece is a piece of a run.
type exactPiece struct {
	cut
	run int // seats of the run
	row int
	// attended is set if there are accessible seats, each with a companion seat next to it.
	attended bool
}

// better reports whether the piece is better than another: longer, or of a longer run, or nearer.
func (p *exactPiece) better(than *exactPiece) bool {
	switch {
	case p.seats != than.seats:
		return p.seats > than.seats
	case p.run != than.run:
		return p.run > than.run
	case p.attended != than.attended:
		return p.attended
	default:
		return p.key < than.key
	}
}

// longestPiece returns the best piece of the section; it has 0 seats if none can be used. own are the seats of the pieces
// before.
func (o *Occupancy) longestPiece(section int, a *ask, own []Place) (best exactPiece) {
	s := &o.hall.sections[section]
	m := s.mask(a.category)
	usable := func(i int) bool {
		seat := &s.Seats[i]
		wanted := a.accessible < a.seats
		if seat.Accessible {
			wanted = a.accessible > 0
		}
		return wanted && seat.Category == m.category && !o.isTaken(s, i)
	}
	for n := range s.Rows {
		row := &s.Rows[n]
		add := func(p exactPiece) {
			p.row = n
			if p.seats > 0 && p.better(&best) {
				best = p
			}
		}
		if row.Adjacency == holdfast.AdjacencyAll {
			p := o.tablePiece(section, n, a, usable)
			p.attended = p.attended && o.attended(section, row.First, row.End, own)
			add(p)
			continue
		}
		for _, segment := range s.Segments[row.FirstSegment:row.EndSegment] {
			for first := segment.First; first < segment.End; {
				end := first
				for end < segment.End && usable(end) && (end == first || row.Adjacency != holdfast.AdjacencyNone) {
					end++
				}
				if end > first {
					s.linePieces(first, end, a, func(p exactPiece) {
						// Only among the longest pieces of the longest runs does it count, and it takes long.
						isLonger := p.seats > best.seats || p.seats == best.seats && p.run >= best.run
						p.attended = !a.open && isLonger && o.attended(section, p.first, p.first+p.seats, own)
						add(p)
					})
				}
				first = max(end, first+1)
			}
		}
	}
	return best
}

// linePieces calls add with the longest piece from each seat of a run on.
func (s *Section) linePieces(first, end int, a *ask, add func(exactPiece)) {
	accessible, others := a.accessible, a.seats-a.accessible // still needed
	left := func(i int) *int {
		if s.Seats[i].Accessible {
			return &accessible
		}
		return &others
	}
	to := first
	for i := first; i < end; i++ {
		for to < end && *left(to) > 0 {
			*left(to)--
			to++
		}
		add(exactPiece{cut: cut{key: s.sums[to] - s.sums[i], first: i, seats: to - i}, run: end - first})
		*left(i)++
	}
}

func (o *Occupancy) tablePiece(section, row int, a *ask, usable func(int) bool) (p exactPiece) {
	s := &o.hall.sections[section]
	r := &s.Rows[row]
	p.first = r.First
	accessible := 0
	for i := r.First; i < r.End; i++ {
		if usable(i) {
			p.run++
			if s.Seats[i].Accessible {
				accessible++
			}
		}
	}
	p.attended = !a.open && min(accessible, a.accessible) > 0 // if a companion seat is at the table
	p.seats = min(accessible, a.accessible) + min(p.run-accessible, a.seats-a.accessible)
	o.nearest(s, row, a, p.seats, func(seat int) { p.key += s.rank(seat) })
	return p
}

func (o *Occupancy) appendPiece(places []Place, section int, a *ask, p exactPiece) []Place {
	if o.hall.sections[section].Rows[p.row].Adjacency == holdfast.AdjacencyAll {
		return o.appendTable(places, section, p.row, a, p.seats)
	}
	for i := range p.seats {
		places = append(places, Place{section, p.first + i})
	}
	return places
}
