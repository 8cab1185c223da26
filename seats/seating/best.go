package seating

import "github.com/holdfast-dev/holdfast"

// Wish asks for the best available seats.
type Wish struct {
	Seats int // 1 to holdfast.MaxNamedSeats
	// Categories has the numbers of the categories, the preferred one first; nil means all, in the
	// plan's order. A pick is of one category.
	Categories []int
	Section    int  // the only section, or AnySection
	Accessible int  // exact number of accessible seats, 0 to Seats
	Required   bool // refuse if the seats would not be adjacent
	// Open is set if accessible seats are like any other. A wish that asks for accessible seats
	// gets exactly as many of them anyway.
	Open bool
	// Settled is set if no lock of the event is due.
	Settled bool
}

// AnySection is for a wish that names no section.
const AnySection = -1

// Outcome is the result of a wish.
type Outcome uint8

// The outcomes of a wish.
const (
	Unavailable  Outcome = iota // refused: no category, or no section of it, has enough free seats
	NotTogether                 // refused: there are enough free seats, but not together
	SettleFirst                 // undecided: end all due locks of the event, and ask again with Settled
	Together                    // the seats are adjacent and leave no new single seat
	LeavesSingle                // the seats are adjacent
	InPieces                    // the seats are the longest runs of one section
)

// Answer is the answer to a wish.
type Answer struct {
	Outcome   Outcome
	Places    []Place // in plan order; none if the wish is refused or undecided
	Available int64   // of a refused wish, the free seats that it could have used
	Longest   int64   // of a NotTogether, how many of the requested seats are together
}

// Granted reports whether the wish gets seats.
func (a Answer) Granted() bool { return a.Outcome >= Together }

// Best finds the best available seats; it takes none. The places of the answer are appended to
// buffer, so that a buffer with room for the wish avoids the allocation.
//
// In the first category in which a pick can be made, adjacent seats that leave no new single
// seat come first, then other adjacent seats, then the longest runs of free seats of the section
// that needs the fewest. Among picks of one kind the lowest sum of distances wins, ties by plan
// order; without a focal point, section and row come before the distance.
//
// Unless open, a wish without accessible seats gets companion seats only where the category has no other pick, and
// those next to a free accessible seat last. With accessible seats, picks that have free companion seats next to each
// of these come first among picks of one kind.
//
// A wish outside its limits is Unavailable.
func (o *Occupancy) Best(w Wish, buffer []Place) Answer {
	if w.Seats < 1 || w.Seats > holdfast.MaxNamedSeats || w.Accessible < 0 || w.Accessible > w.Seats {
		return Answer{}
	}
	if o.index == nil {
		o.index = newIndex(o.hall)
	}
	o.update()
	for i := range o.wished(w) {
		a := w.in(o.category(w, i))
		if !o.hall.has(a.category, w.Section) {
			continue
		}
		for _, a.companions = range o.rules(&a) {
			if u, pick := o.adjacent(&a, w.Section); u != nil {
				outcome := Together
				if pick.key >= leavesSingle {
					outcome = LeavesSingle
				}
				return Answer{Outcome: outcome, Places: o.appendPick(buffer, u, &a, pick)}
			}
			if w.Required {
				continue
			}
			if !w.Settled {
				return Answer{Outcome: SettleFirst}
			}
			if places, ok := o.inPieces(buffer, &a, w.Section); ok {
				return Answer{Outcome: InPieces, Places: places}
			}
		}
	}
	if !w.Settled {
		return Answer{Outcome: SettleFirst}
	}
	return o.refuse(w)
}

// wished is the number of categories of the wish, and category the number of one of them.
func (o *Occupancy) wished(w Wish) int {
	if w.Categories == nil {
		return len(o.hall.categories)
	}
	return len(w.Categories)
}

func (o *Occupancy) category(w Wish, i int) int {
	if w.Categories == nil {
		return i
	}
	return w.Categories[i]
}

func (w Wish) in(category int) ask {
	return ask{category: category, seats: w.Seats, exact: w.Accessible > 0, accessible: w.Accessible, open: w.Open}
}

// has reports whether there are numbered seats of a category, in the section if there is one.
func (h *Hall) has(category, section int) bool {
	if section == AnySection {
		return len(h.pools[category].units) > 0
	}
	return h.sections[section].mask(category) != nil
}

// adjacent finds the best pick of adjacent seats; nil if there is none.
func (o *Occupancy) adjacent(a *ask, only int) (*unit, rowPick) {
	switch {
	case !a.exact && only == AnySection:
		return o.best(a)
	case !a.exact || a.open || !o.hall.companions:
		return o.inRows(a, only)
	}
	attended := *a
	attended.attended = true
	u, pick := o.inRows(&attended, only)
	if u == nil || pick.key >= leavesSingle {
		if other, better := o.inRows(a, only); u == nil || better.key < leavesSingle {
			return other, better
		}
	}
	return u, pick
}

// inRows looks at each row for the best pick of adjacent seats.
func (o *Occupancy) inRows(a *ask, only int) (*unit, rowPick) {
	p := &o.hall.pools[a.category]
	var unit *unit
	best := rowPick{key: noPick}
	for _, n := range p.sections {
		if only != AnySection && n != only || !o.enough(n, a) {
			continue
		}
		s := &o.hall.sections[n]
		for _, refs := range o.hall.unitsOfRow[s.firstRow : s.firstRow+len(s.Rows)] {
			for _, ref := range refs {
				if ref.category != a.category {
					continue
				}
				u := &p.units[ref.unit]
				if u.reach < a.seats || a.exact && !u.accessible || u.bound(a.seats) >= best.key {
					continue
				}
				if pick := o.inRow(u, a); pick.key < best.key {
					unit, best = u, pick
				}
			}
		}
	}
	return unit, best
}

// refuse returns the refusal of a wish that can't be granted.
func (o *Occupancy) refuse(w Wish) Answer {
	var others, accessible int64
	for i := range o.wished(w) {
		c := o.category(w, i)
		for _, n := range o.hall.pools[c].sections {
			if w.Section == AnySection || n == w.Section {
				more, moreAccessible := o.freeSeats(n, c)
				others, accessible = others+more, accessible+moreAccessible
			}
		}
	}
	enough := accessible >= int64(w.Accessible) && others >= int64(w.Seats-w.Accessible)
	if w.Open && w.Accessible == 0 {
		enough = others+accessible >= int64(w.Seats)
	} else if w.Accessible == 0 {
		accessible = 0
	} else if w.Accessible == w.Seats {
		others = 0
	}
	answer := Answer{Available: others + accessible}
	if w.Required && enough {
		answer.Outcome, answer.Longest = NotTogether, o.longest(w)
	}
	return answer
}

// longest returns how many of the seats asked for are together.
func (o *Occupancy) longest(w Wish) (longest int64) {
	for i := range o.wished(w) {
		a := w.in(o.category(w, i))
		for k, n := range o.hall.pools[a.category].sections {
			if w.Section == AnySection || n == w.Section {
				longest = max(longest, int64(o.longestIn(&a, k, n)))
			}
		}
	}
	return longest
}
