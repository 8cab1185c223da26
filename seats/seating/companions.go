package seating

import (
	"math/bits"
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// companionRule says which companion seats an ask can use that is neither exact nor open. Companion seats that it
// can't use are seen as taken.
type companionRule uint8

const (
	anyCompanion   companionRule = iota
	spareCompanion               // those that are not next to a free accessible seat
	noCompanion

	companionRules = iota
)

// rules returns the rules of the ask, in the order in which they are tried.
func (o *Occupancy) rules(a *ask) []companionRule {
	if a.exact || a.open || !o.hall.companions {
		return allRules[2:]
	}
	return allRules[:]
}

var allRules = [companionRules]companionRule{noCompanion, spareCompanion, anyCompanion}

// withholds reports whether a seat is a companion seat that the ask can't use.
func (o *Occupancy) withholds(s *Section, seat int, a *ask) bool {
	switch {
	case a.companions == anyCompanion || !s.Seats[seat].Companion:
		return false
	case a.companions == noCompanion:
		return true
	default:
		return o.hasNext(s, seat, func(i int) bool { return s.Seats[i].Accessible && !o.isTaken(s, i) })
	}
}

// withheld returns the seats that the ask can't use, for 64 seats from the one at on.
func (o *Occupancy) withheld(s *Section, a *ask, at int) (withheld uint64) {
	companions := load(s.companions, at)
	if a.companions == noCompanion {
		return companions
	}
	for ; companions != 0; companions &^= bit(bits.LeadingZeros64(companions)) {
		if n := bits.LeadingZeros64(companions); o.withholds(s, at+n, a) {
			withheld |= bit(n)
		}
	}
	return withheld
}

// attended reports whether there are accessible seats among the places, and each has a companion seat next to it that is
// free, or one of own.
func (o *Occupancy) attended(section, first, end int, own []Place) (attended bool) {
	s := &o.hall.sections[section]
	if s.companions == nil || s.accessible == nil {
		return false
	}
	isFree := func(i int) bool {
		return s.Seats[i].Companion && (!o.isTaken(s, i) || slices.Contains(own, Place{section, i}))
	}
	for i := first; i < end; i++ {
		if s.Seats[i].Accessible {
			if !o.hasNext(s, i, isFree) {
				return false
			}
			attended = true
		}
	}
	return attended
}

// hasNext reports whether a seat that matches is next to another one.
func (o *Occupancy) hasNext(s *Section, seat int, matches func(int) bool) bool {
	row := &s.Rows[s.Seats[seat].Row]
	switch row.Adjacency {
	case holdfast.AdjacencyNone:
		return false
	case holdfast.AdjacencyAll:
		for i := row.First; i < row.End; i++ {
			if i != seat && matches(i) {
				return true
			}
		}
		return false
	default:
		next := func(i int) bool {
			apart := s.Seats[i].Position - s.Seats[seat].Position
			return (apart == 1 || apart == -1) && matches(i)
		}
		return seat > row.First && next(seat-1) || seat+1 < row.End && next(seat+1)
	}
}
