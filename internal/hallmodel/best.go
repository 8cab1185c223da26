package hallmodel

import (
	"cmp"
	"slices"
)

// Best is a wish for the best available seats, in a hall whose seats are free or not.
type Best struct {
	Hall       *Hall
	Seats      int
	Accessible int      // exactly so many of Seats
	Categories []string // keys; nil means all
	Section    string   // key; "" means any
	Required   bool     // only seats that are together
	Reserved   bool     // accessible seats are taken only as asked for
	Free       func(*Seat) bool
}

// Pick makes a pick of the first category in which it can be made. Step 3 needs that all due locks have
// ended: ended says that they have.
func (w Best) Pick(ended bool) (p Pick, ok bool) {
	for _, category := range w.wished() {
		for _, w := range w.spared() {
			if p := w.together(category); p != nil {
				return p, true
			}
			if w.Required || !w.has(category) {
				continue
			}
			if !ended {
				return nil, false
			}
			if p := w.inPieces(category); p != nil {
				return p, true
			}
		}
	}
	return nil, false
}

// spared is the wish without companion seats, without those next to a free accessible seat, and with all of them: each
// counts only if there is no pick before.
func (w Best) spared() []Best {
	if !w.Reserved || w.Accessible > 0 {
		return []Best{w}
	}
	none, unneeded := w, w
	none.Free = func(s *Seat) bool { return w.Free(s) && !s.Companion }
	unneeded.Free = func(s *Seat) bool {
		return w.Free(s) && !(s.Companion && s.in.isNext(s, func(s *Seat) bool { return s.Accessible && w.Free(s) }))
	}
	return []Best{none, unneeded, w}
}

// attended is 1 if each accessible seat of a pick has a free companion seat next to it, and there are such seats; else 0.
func (w Best) attended(p Pick) int {
	alone := func(s *Seat) bool {
		return s.Accessible && !s.in.isNext(s, func(s *Seat) bool { return s.Companion && w.Free(s) })
	}
	if !w.Reserved || p.CountAccessible() == 0 || slices.ContainsFunc(p, alone) {
		return 0
	}
	return 1
}

// Keeps reports whether seats are what this wish might have got: as many, of one of the categories, in the
// section, and together if they have to be.
func (w Best) Keeps(own Pick) bool {
	if len(own) != w.Seats || own.CountAccessible() != w.Accessible && !w.anyAccessible() {
		return false
	}
	for _, s := range own {
		if s.Category != own[0].Category || s.Section != own[0].Section || !slices.Contains(w.wished(), s.Category) || !w.inSection(s.Section) {
			return false
		}
	}
	return !w.Required || own[0].in.together(own.Sorted()) && !slices.ContainsFunc(own, func(s *Seat) bool { return s.in != own[0].in })
}

func (w Best) wished() []string {
	if w.Categories == nil {
		return w.Hall.Categories
	}
	return w.Categories
}

func (w Best) inSection(section int) bool {
	return w.Section == "" || w.Hall.Sections[section].Key == w.Section
}

func (w Best) usable(category string) func(*Seat) bool {
	return func(s *Seat) bool { return w.Free(s) && s.Category == category && w.inSection(s.Section) }
}

// has reports whether there are seats of the category, free or not: without any, there is no step 3.
func (w Best) has(category string) bool {
	return slices.ContainsFunc(w.Hall.Seats, func(s *Seat) bool { return s.Category == category && w.inSection(s.Section) })
}

// anyAccessible: accessible seats are like any other.
func (w Best) anyAccessible() bool { return !w.Reserved && w.Accessible == 0 }

// together are steps 1 and 2 in one category; nil if there are no such seats.
func (w Best) together(category string) Pick {
	isFree := func(s *Seat) bool { return w.Free(s) && (!w.Reserved || !s.Accessible) }
	var found [2][]Pick // those that leave no new single seat, and the others
	for _, row := range w.Hall.rows {
		for _, p := range subsets(row.seats(w.usable(category)), w.Seats) {
			if !row.together(p) || p.CountAccessible() != w.Accessible && !w.anyAccessible() {
				continue
			}
			step := min(1, len(row.newSingles(p, isFree)))
			found[step] = append(found[step], p)
		}
	}
	for _, step := range found {
		if len(step) > 0 {
			return slices.MinFunc(step, w.compare)
		}
	}
	return nil
}

// compare has the better pick first.
func (w Best) compare(a, b Pick) int {
	order := cmp.Compare(a.distance(), b.distance())
	if w.Hall.focal == nil {
		order = cmp.Or(cmp.Compare(a[0].Section, b[0].Section), cmp.Compare(a[0].row, b[0].row), order)
	}
	return cmp.Or(w.attended(b)-w.attended(a), order, slices.CompareFunc(a, b, func(a, b *Seat) int { return a.InPlan - b.InPlan }))
}

// inPieces is step 3 in one category; nil if no section has enough seats.
func (w Best) inPieces(category string) (best Pick) {
	fewest := 0
	for _, section := range w.Hall.Sections {
		p, runs := w.pieces(category, section.Number)
		if p == nil {
			continue
		}
		nearer := runs == fewest && (w.Hall.focal != nil || w.attended(p) != w.attended(best)) && w.compare(p, best) < 0
		if best == nil || runs < fewest || nearer {
			best, fewest = p, runs
		}
	}
	return best
}

// pieces takes the longest free run of a section again and again. If several are equally long, the
// best is taken first.
func (w Best) pieces(category string, section int) (taken Pick, runs int) {
	for len(taken) < w.Seats {
		accessible := w.Accessible - taken.CountAccessible()
		others := w.Seats - len(taken) - accessible
		fits := func(p Pick) bool {
			return w.anyAccessible() || p.CountAccessible() <= accessible && len(p)-p.CountAccessible() <= others
		}
		usable := func(s *Seat) bool {
			return w.usable(category)(s) && s.Section == section && !slices.Contains(taken, s) &&
				(w.anyAccessible() || s.Accessible && accessible > 0 || !s.Accessible && others > 0)
		}
		next := w.longestPiece(usable, w.Seats-len(taken), fits)
		if next == nil {
			return nil, 0
		}
		taken, runs = append(taken, next...), runs+1
	}
	return taken.Sorted(), runs
}

// longestPiece is the best piece of the longest run, not longer than what is missing.
func (w Best) longestPiece(usable func(*Seat) bool, missing int, fits func(Pick) bool) (best Pick) {
	ofRun := 0
	for _, row := range w.Hall.rows {
		for _, run := range row.runs(usable) {
			for n := min(missing, len(run)); n > 0; n-- {
				for _, p := range subsets(run, n) {
					if !row.together(p) || !fits(p) {
						continue
					}
					order := cmp.Or(cmp.Compare(len(best), n), cmp.Compare(ofRun, len(run)))
					if order < 0 || order == 0 && w.compare(p, best) < 0 {
						best, ofRun = p, len(run)
					}
				}
			}
		}
	}
	return best
}

// Available counts the free seats that the wish could have used; enough says whether they are as
// many as it asks for.
func (w Best) Available() (n int, enough bool) {
	accessible, others := 0, 0
	for _, category := range w.wished() {
		for _, s := range w.Hall.Seats {
			switch {
			case !w.usable(category)(s):
			case s.Accessible:
				accessible++
			default:
				others++
			}
		}
	}
	enough = accessible >= w.Accessible && others >= w.Seats-w.Accessible
	switch {
	case w.anyAccessible():
		return accessible + others, accessible+others >= w.Seats
	case w.Accessible == 0:
		return others, enough
	case w.Accessible == w.Seats:
		return accessible, enough
	default:
		return accessible + others, enough
	}
}

// Longest is how many of the seats asked for are together.
func (w Best) Longest() (longest int) {
	for _, category := range w.wished() {
		for _, row := range w.Hall.rows {
			usable := row.seats(w.usable(category))
			for n := longest + 1; n <= min(w.Seats, len(usable)); n++ {
				if slices.ContainsFunc(subsets(usable, n), func(p Pick) bool {
					fits := p.CountAccessible() <= w.Accessible && n-p.CountAccessible() <= w.Seats-w.Accessible
					return row.together(p) && (fits || w.anyAccessible())
				}) {
					longest = n
				}
			}
		}
	}
	return longest
}
