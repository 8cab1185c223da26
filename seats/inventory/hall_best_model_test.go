package inventory_test

import (
	"cmp"
	"slices"
)

// bestWish is a wish for the best available seats, in a hall whose seats are free or not.
type bestWish struct {
	*modelHall

	seats, accessible int
	categories        []string // nil: all
	section           string   // "": any
	required          bool
	reserved          bool // accessible seats are taken only as asked for
	free              func(*modelSeat) bool
}

func (w bestWish) wished() []string {
	if w.categories == nil {
		return w.modelHall.categories
	}
	return w.categories
}

func (w bestWish) inSection(section int) bool {
	return w.section == "" || w.sections[section].key == w.section
}

func (w bestWish) usable(category string) func(*modelSeat) bool {
	return func(s *modelSeat) bool { return w.free(s) && s.category == category && w.inSection(s.section) }
}

// has reports whether there are seats of the category, free or not: without any, there is no step 3.
func (w bestWish) has(category string) bool {
	return slices.ContainsFunc(w.modelHall.seats, func(s *modelSeat) bool { return s.category == category && w.inSection(s.section) })
}

// anyAccessible: accessible seats are like any other.
func (w bestWish) anyAccessible() bool { return !w.reserved && w.accessible == 0 }

// together are steps 1 and 2 in one category; nil: there are no such seats.
func (w bestWish) together(category string) pick {
	isFree := func(s *modelSeat) bool { return w.free(s) && (!w.reserved || !s.accessible) }
	var found [2][]pick // those that leave no new single seat, and the others
	for _, row := range w.rows {
		for _, p := range subsets(row.seats(w.usable(category)), w.seats) {
			if !row.together(p) || p.accessible() != w.accessible && !w.anyAccessible() {
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
func (w bestWish) compare(a, b pick) int {
	order := cmp.Compare(a.distance(), b.distance())
	if w.focal == nil {
		order = cmp.Or(cmp.Compare(a[0].section, b[0].section), cmp.Compare(a[0].row, b[0].row), order)
	}
	return cmp.Or(order, slices.CompareFunc(a, b, func(a, b *modelSeat) int { return a.inPlan - b.inPlan }))
}

// inPieces is step 3 in one category; nil: no section has enough seats.
func (w bestWish) inPieces(category string) (best pick) {
	fewest := 0
	for _, section := range w.sections {
		p, runs := w.pieces(category, section.number)
		if p != nil && (best == nil || runs < fewest || runs == fewest && w.focal != nil && w.compare(p, best) < 0) {
			best, fewest = p, runs
		}
	}
	return best
}

// pieces takes the longest free run of a section again and again. If several are equally long, the
// best is taken first.
func (w bestWish) pieces(category string, section int) (taken pick, runs int) {
	for len(taken) < w.seats {
		accessible := w.accessible - taken.accessible()
		others := w.seats - len(taken) - accessible
		fits := func(p pick) bool {
			return w.anyAccessible() || p.accessible() <= accessible && len(p)-p.accessible() <= others
		}
		usable := func(s *modelSeat) bool {
			return w.usable(category)(s) && s.section == section && !slices.Contains(taken, s) &&
				(w.anyAccessible() || s.accessible && accessible > 0 || !s.accessible && others > 0)
		}
		next := w.longestPiece(usable, w.seats-len(taken), fits)
		if next == nil {
			return nil, 0
		}
		taken, runs = append(taken, next...), runs+1
	}
	return taken.sorted(), runs
}

// longestPiece is the best piece of the longest run, not longer than what is missing.
func (w bestWish) longestPiece(usable func(*modelSeat) bool, missing int, fits func(pick) bool) (best pick) {
	ofRun := 0
	for _, row := range w.rows {
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

// available counts the free seats that the wish could have used; enough says whether they are as
// many as it asks for.
func (w bestWish) available() (n int, enough bool) {
	accessible, others := 0, 0
	for _, category := range w.wished() {
		for _, s := range w.modelHall.seats {
			switch {
			case !w.usable(category)(s):
			case s.accessible:
				accessible++
			default:
				others++
			}
		}
	}
	enough = accessible >= w.accessible && others >= w.seats-w.accessible
	switch {
	case w.anyAccessible():
		return accessible + others, accessible+others >= w.seats
	case w.accessible == 0:
		return others, enough
	case w.accessible == w.seats:
		return accessible, enough
	default:
		return accessible + others, enough
	}
}

// longest is how many of the seats asked for are together.
func (w bestWish) longest() (longest int) {
	for _, category := range w.wished() {
		for _, row := range w.rows {
			usable := row.seats(w.usable(category))
			for n := longest + 1; n <= min(w.seats, len(usable)); n++ {
				if slices.ContainsFunc(subsets(usable, n), func(p pick) bool {
					fits := p.accessible() <= w.accessible && n-p.accessible() <= w.seats-w.accessible
					return row.together(p) && (fits || w.anyAccessible())
				}) {
					longest = n
				}
			}
		}
	}
	return longest
}
