package seating

import (
	"cmp"
	"math"
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// pool has the numbered seats of one category, row by row.
type pool struct {
	units    []unit // the one with the most seats together first; then in plan order
	sections []int  // that have seats of the category
	// reach has, for each n, the number of units in which n seats are together if all are free:
	// they are the first ones.
	reach [holdfast.MaxNamedSeats + 1]int
}

// unit is the seats of one category in one row.
type unit struct {
	section, row int
	order        int   // of the row in the hall
	reach        int   // how many seats are together if all are free
	lowest       int64 // rank of a seat
	accessible   bool  // there are accessible seats
	mask         *mask
}

// mask has a bit for each seat of a section that is of a category; nil means all seats of the section.
type mask struct {
	category    int
	others, all []uint64 // without and with the accessible seats
}

// unitRef is a unit of a pool.
type unitRef struct{ category, unit int }

// rowShift leaves room for the sum of a pick's distances from the middle of a row.
const rowShift = 24

// compilePools prepares the hall for best available.
func (h *Hall) compilePools() {
	h.pools = make([]pool, len(h.categories))
	for n := range h.sections {
		s := &h.sections[n]
		s.firstRow = h.rows
		h.rows += len(s.Rows)
		h.compileMasks(s)
		s.compileRuns()
		s.sums = make([]int64, len(s.Seats)+1)
		for i := range s.Seats {
			rank := s.Seats[i].Distance
			if !h.focal {
				rank += int64(s.firstRow+s.Seats[i].Row) << rowShift
			}
			s.sums[i+1] = s.sums[i] + rank // may overflow, but differences stay correct
		}
		for r := range s.Rows {
			h.compileUnits(n, r)
		}
	}
	h.unitsOfRow = make([][]unitRef, h.rows)
	for c := range h.pools {
		p := &h.pools[c]
		slices.SortStableFunc(p.units, func(a, b unit) int { return cmp.Compare(b.reach, a.reach) })
		for i, u := range p.units {
			h.unitsOfRow[u.order] = append(h.unitsOfRow[u.order], unitRef{c, i})
			for n := 0; n <= min(u.reach, holdfast.MaxNamedSeats); n++ {
				p.reach[n]++
			}
		}
	}
}

func (h *Hall) compileMasks(s *Section) {
	words := s.endWord - s.firstWord
	for _, n := range s.Parts {
		p := h.parts[n]
		if s.mask(p.Category) == nil {
			s.masks = append(s.masks, &mask{category: p.Category})
		}
		if p.Accessible {
			s.accessible = make([]uint64, words)
		}
	}
	for i := range s.Seats {
		if s.Seats[i].Companion {
			if s.companions == nil {
				s.companions = make([]uint64, words)
			}
			s.companions[i/bitsPerWord] |= bit(i)
			h.companions = true
		}
	}
	if len(s.Parts) < 2 && s.accessible == nil {
		return
	}
	for _, m := range s.masks {
		m.others, m.all = make([]uint64, words), make([]uint64, words)
	}
	for i := range s.Seats {
		m, w, b := s.mask(s.Seats[i].Category), i/bitsPerWord, bit(i)
		m.all[w] |= b
		if s.Seats[i].Accessible {
			s.accessible[w] |= b
		} else {
			m.others[w] |= b
		}
	}
}

// mask returns the mask of a category that the section has; else nil.
func (s *Section) mask(category int) *mask {
	for _, m := range s.masks {
		if m.category == category {
			return m
		}
	}
	return nil
}

func (h *Hall) compileUnits(section, row int) {
	s := &h.sections[section]
	r := &s.Rows[row]
	if r.Adjacency == holdfast.AdjacencyAll {
		s.nearestFirst(r)
	}
	for _, m := range s.masks {
		u := unit{section: section, row: row, order: s.firstRow + row, lowest: math.MaxInt64, mask: m}
		inRow := 0
		for _, segment := range s.Segments[r.FirstSegment:r.EndSegment] {
			inSegment := 0
			for i := segment.First; i < segment.End; i++ {
				if seat := &s.Seats[i]; seat.Category == m.category {
					inSegment++
					u.lowest = min(u.lowest, s.rank(i))
					u.accessible = u.accessible || seat.Accessible
				}
			}
			inRow += inSegment
			u.reach = max(u.reach, inSegment)
		}
		if inRow == 0 {
			continue
		}
		switch r.Adjacency {
		case holdfast.AdjacencyAll:
			u.reach = inRow
		case holdfast.AdjacencyNone:
			u.reach = 1
		}
		p := &h.pools[m.category]
		p.units = append(p.units, u)
		if n := len(p.sections); n == 0 || p.sections[n-1] != section {
			p.sections = append(p.sections, section)
		}
	}
}

// nearestFirst records the order of a table's seats by distance.
func (s *Section) nearestFirst(r *Row) {
	if s.near == nil {
		s.near = make([]int, len(s.Seats))
	}
	seats := s.near[r.First:r.End]
	for i := range seats {
		seats[i] = r.First + i
	}
	slices.SortStableFunc(seats, func(a, b int) int { return cmp.Compare(s.rank(a), s.rank(b)) })
}

// rank is the part of a seat in the key of a pick; the pick with the lowest key is the best. It is the
// distance to the focal point. Without one, the row comes before the distance.
func (s *Section) rank(seat int) int64 { return s.sums[seat+1] - s.sums[seat] }

// compileRuns records where runs of free seats end.
func (s *Section) compileRuns() {
	words := s.endWord - s.firstWord
	s.inLine, s.starts = make([]uint64, words), make([]uint64, words)
	for _, segment := range s.Segments {
		adjacency := s.Rows[segment.Row].Adjacency
		if adjacency == holdfast.AdjacencyAll {
			continue
		}
		for i := segment.First; i < segment.End; i++ {
			s.inLine[i/bitsPerWord] |= bit(i)
			if i == segment.First || adjacency == holdfast.AdjacencyNone {
				s.starts[i/bitsPerWord] |= bit(i)
			}
		}
	}
	for n, row := range s.Rows {
		if row.Adjacency == holdfast.AdjacencyAll {
			s.tables = append(s.tables, n)
		}
	}
}
