package seating_test

import (
	"cmp"
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// The reference decides by trying everything, sentence by sentence of the contract. It shares
// no code with the package: it reads the plan as it is written.

type refSeat struct {
	id, category      string
	accessible, taken bool
	companion         bool
	x, y              int64 // thousandths
	section, row, pos int   // in the arrays of the plan
	middle            int64 // distance from the middle of the row, in halves of a position
}

type refRow struct {
	adjacency    holdfast.Adjacency
	section, row int
	seats        []*refSeat // nil means a gap
}

type refHall struct {
	categories []string
	sections   []string
	focal      *holdfast.Point
	rows       []*refRow
	reserved   bool // the policy for accessible seats
}

func newReference(plan holdfast.SeatingPlan, reserved bool) *refHall {
	h := &refHall{focal: plan.FocalPoint, reserved: reserved}
	for _, c := range plan.Categories {
		h.categories = append(h.categories, c.Key)
	}
	for s, section := range plan.Sections {
		h.sections = append(h.sections, section.Key)
		for r, row := range section.Rows {
			made := &refRow{adjacency: cmp.Or(row.Adjacency, holdfast.AdjacencyLine), section: s, row: r}
			for i, seat := range row.Seats {
				if seat == nil {
					made.seats = append(made.seats, nil)
					continue
				}
				f := &refSeat{
					id: seat.ID, category: cmp.Or(seat.Category, row.Category, section.Category), accessible: seat.Accessible,
					companion: seat.Companion && !seat.Accessible,
					x:         int64(i+1) * 1000, y: int64(r) * 1000, section: s, row: r, pos: i,
					middle: max(int64(2*i-len(row.Seats)+1), int64(len(row.Seats)-1-2*i)),
				}
				if seat.X != nil {
					f.x = int64(*seat.X)
				}
				if seat.Y != nil {
					f.y = int64(*seat.Y)
				}
				made.seats = append(made.seats, f)
			}
			h.rows = append(h.rows, made)
		}
	}
	return h
}

type refWish struct {
	seats, accessible int
	categories        []string // nil means all
	section           string   // "" means any
	required          bool
	noCompanion       bool // not even where there is no other pick
}

type refAnswer struct {
	seats     []string // in plan order; nil means refused
	together  bool     // refused, though enough seats are free
	available int
	longest   int
	step      int
}

func (h *refHall) best(w refWish) refAnswer {
	categories := h.wished(w)
	for _, c := range categories {
		answer := refAnswer{}
		for n, withheld := range h.withheld(w) {
			if n > 0 && w.noCompanion {
				break
			}
			for _, s := range withheld {
				s.taken = true
			}
			if pick, step := h.adjacentPick(w, c); pick != nil {
				answer = refAnswer{seats: ids(pick), step: step}
			} else if pick := h.pieces(w, c); pick != nil && !w.required {
				answer = refAnswer{seats: ids(pick), step: 3}
			}
			for _, s := range withheld {
				s.taken = false
			}
			if answer.seats != nil {
				return answer
			}
		}
	}
	return h.refusal(w, categories)
}

// withheld lists the companion seats that a wish sees as taken, at first, then, and if no pick can be made so.
func (h *refHall) withheld(w refWish) [3][]*refSeat {
	var companions, needed []*refSeat
	if h.reserved && w.accessible == 0 {
		for _, row := range h.rows {
			for _, s := range row.all() {
				if s.companion && !s.taken {
					companions = append(companions, s)
					if row.isNextTo(s, func(other *refSeat) bool { return other.accessible && !other.taken }) {
						needed = append(needed, s)
					}
				}
			}
		}
	}
	return [3][]*refSeat{companions, needed, nil}
}

func (r *refRow) isNextTo(s *refSeat, matches func(*refSeat) bool) bool {
	return slices.ContainsFunc(r.all(), func(other *refSeat) bool {
		near := r.adjacency == holdfast.AdjacencyAll || r.adjacency == holdfast.AdjacencyLine && max(s.pos-other.pos, other.pos-s.pos) == 1
		return other != s && near && matches(other)
	})
}

// attended is 1 if each accessible seat of a pick has a free companion seat next to it, and there are such seats; else 0.
func (h *refHall) attended(pick []*refSeat) (attended int) {
	for _, s := range pick {
		if !h.reserved || !s.accessible {
			continue
		}
		attended = 1
		if !slices.ContainsFunc(h.rows, func(row *refRow) bool {
			return slices.Contains(row.seats, s) && row.isNextTo(s, func(other *refSeat) bool { return other.companion && !other.taken })
		}) {
			return 0
		}
	}
	return attended
}

func (h *refHall) wished(w refWish) []string {
	if w.categories == nil {
		return h.categories
	}
	return w.categories
}

// has reports whether there are seats of a category, in the section if one is named.
func (h *refHall) has(category, section string) bool {
	for _, row := range h.rows {
		for _, s := range row.all() {
			if s.category == category && (section == "" || h.sections[row.section] == section) {
				return true
			}
		}
	}
	return false
}

// adjacentPick is steps 1 and 2.
func (h *refHall) adjacentPick(w refWish, category string) (best []*refSeat, step int) {
	bestSingles := 0
	for _, row := range h.rows {
		if w.section != "" && h.sections[row.section] != w.section {
			continue
		}
		for _, pick := range row.choices(row.all(), w.seats) {
			if !row.together(pick) || !h.allows(w, category, pick) {
				continue
			}
			singles := min(1, len(h.newSingles(row, pick, nil)))
			if best == nil || singles < bestSingles || singles == bestSingles && h.before(pick, best) {
				best, bestSingles = pick, singles
			}
		}
	}
	return best, 1 + bestSingles
}

// allows reports whether the pick has free seats of the category, and exactly as many
// accessible ones as asked for.
func (h *refHall) allows(w refWish, category string, pick []*refSeat) bool {
	accessible := 0
	for _, s := range pick {
		if s.taken || s.category != category {
			return false
		}
		if s.accessible {
			accessible++
		}
	}
	return accessible == w.accessible || !h.reserved && w.accessible == 0
}

// before reports whether pick is before other within a step.
func (h *refHall) before(pick, other []*refSeat) bool {
	c := 0
	if h.focal != nil {
		c = cmp.Compare(h.sum(pick), h.sum(other))
	} else {
		c = cmp.Or(
			cmp.Compare(pick[0].section, other[0].section), cmp.Compare(pick[0].row, other[0].row), cmp.Compare(h.sum(pick), h.sum(other)),
		)
	}
	return cmp.Or(h.attended(other)-h.attended(pick), c, slices.CompareFunc(pick, other, inPlanOrder)) < 0
}

func inPlanOrder(a, b *refSeat) int {
	return cmp.Or(cmp.Compare(a.section, b.section), cmp.Compare(a.row, b.row), cmp.Compare(a.pos, b.pos))
}

func (h *refHall) sum(pick []*refSeat) (sum int64) {
	for _, s := range pick {
		if h.focal == nil {
			sum += s.middle
		} else {
			dx, dy := s.x-int64(h.focal.X), s.y-int64(h.focal.Y)
			sum += dx*dx + dy*dy
		}
	}
	return sum
}

// pieces is step 3.
func (h *refHall) pieces(w refWish, category string) (best []*refSeat) {
	bestRuns := 0
	for n, key := range h.sections {
		if w.section != "" && key != w.section {
			continue
		}
		pick, runs := h.piecesOf(n, w, category)
		if pick == nil {
			continue
		}
		closer := best != nil && cmp.Or(h.attended(best)-h.attended(pick), h.nearer(pick, best)) < 0
		if best == nil || runs < bestRuns || runs == bestRuns && closer {
			best, bestRuns = pick, runs
		}
	}
	return best
}

func (h *refHall) nearer(pick, than []*refSeat) int {
	if h.focal == nil {
		return 0
	}
	return cmp.Compare(h.sum(pick), h.sum(than))
}

func (h *refHall) piecesOf(section int, w refWish, category string) (pick []*refSeat, runs int) {
	accessible, others := w.accessible, w.seats-w.accessible
	for missing := w.seats; missing > 0; runs++ {
		var best []*refSeat
		bestRun := 0
		for _, row := range h.rows {
			if row.section != section {
				continue
			}
			usable := func(s *refSeat) bool {
				switch {
				case s == nil || s.taken || s.category != category || slices.Contains(pick, s):
					return false
				case !h.reserved && w.accessible == 0:
					return true
				case s.accessible:
					return accessible > 0
				default:
					return others > 0
				}
			}
			for _, run := range row.runs(usable) {
				for length := min(missing, len(run)); length > 0; length-- {
					for _, cut := range row.choices(run, length) {
						a := 0
						for _, s := range cut {
							if s.accessible {
								a++
							}
						}
						fits := a <= accessible && length-a <= others || !h.reserved && w.accessible == 0
						if !row.together(cut) || !fits {
							continue
						}
						order := cmp.Or(cmp.Compare(len(best), length), cmp.Compare(bestRun, len(run)))
						if order < 0 || order == 0 && h.before(cut, best) {
							best, bestRun = cut, len(run)
						}
					}
				}
			}
		}
		if best == nil {
			return nil, 0
		}
		missing -= len(best)
		for _, s := range best {
			if s.accessible {
				accessible--
			} else {
				others--
			}
		}
		pick = append(pick, best...)
	}
	slices.SortFunc(pick, inPlanOrder)
	return pick, runs
}

func (h *refHall) refusal(w refWish, categories []string) (a refAnswer) {
	accessible, others := 0, 0
	for _, row := range h.rows {
		if w.section != "" && h.sections[row.section] != w.section {
			continue
		}
		for _, c := range categories {
			free := func(s *refSeat) bool { return s != nil && !s.taken && s.category == c }
			for _, s := range row.seats {
				switch {
				case !free(s):
				case s.accessible:
					accessible++
				default:
					others++
				}
			}
			for _, run := range row.runs(free) {
				for length := 1; length <= len(run); length++ {
					for _, cut := range row.choices(run, length) {
						n := 0
						for _, s := range cut {
							if s.accessible {
								n++
							}
						}
						fits := n <= w.accessible && length-n <= w.seats-w.accessible || !h.reserved && w.accessible == 0
						if row.together(cut) && fits {
							a.longest = max(a.longest, length)
						}
					}
				}
			}
		}
	}
	enough := accessible >= w.accessible && others >= w.seats-w.accessible
	switch {
	case !h.reserved && w.accessible == 0:
		a.available = accessible + others
		enough = a.available >= w.seats
	case w.accessible == 0:
		a.available = others
	case w.accessible == w.seats:
		a.available = accessible
	default:
		a.available = accessible + others
	}
	a.together = w.required && enough
	return a
}

// runs returns the longest runs of usable seats without a gap between them. A table is one run.
func (r *refRow) runs(usable func(*refSeat) bool) (runs [][]*refSeat) {
	var run []*refSeat
	end := func() {
		if run != nil {
			runs = append(runs, run)
		}
		run = nil
	}
	for _, s := range r.seats {
		isUsable := s != nil && usable(s)
		if r.adjacency == holdfast.AdjacencyNone || r.adjacency == holdfast.AdjacencyLine && !isUsable {
			end()
		}
		if isUsable {
			run = append(run, s)
		}
	}
	end()
	return runs
}

func (r *refRow) all() (seats []*refSeat) {
	for _, s := range r.seats {
		if s != nil {
			seats = append(seats, s)
		}
	}
	return seats
}

// choices returns all choices of n of the seats; in a row that is too long to try them all, those
// that are next to each other.
func (r *refRow) choices(seats []*refSeat, n int) (all [][]*refSeat) {
	if len(seats) <= 6 {
		return subsets(seats, n)
	}
	for i := range max(0, len(seats)-n+1) {
		if choice := seats[i : i+n]; r.together(choice) {
			all = append(all, choice)
		}
	}
	return all
}

// together reports whether the seats, in plan order, are adjacent.
func (r *refRow) together(seats []*refSeat) bool {
	switch r.adjacency {
	case holdfast.AdjacencyAll:
		return true
	case holdfast.AdjacencyNone:
		return len(seats) == 1
	default: // the seats are in order, so nothing is between them
		return seats[len(seats)-1].pos-seats[0].pos == len(seats)-1
	}
}

func ids(seats []*refSeat) (ids []string) {
	for _, s := range seats {
		ids = append(ids, s.id)
	}
	return ids
}

// subsets returns all subsets of n seats, each in the order of the seats.
func subsets(seats []*refSeat, n int) (all [][]*refSeat) {
	if n == 0 {
		return [][]*refSeat{nil}
	}
	for i := range seats {
		for _, rest := range subsets(seats[i+1:], n-1) {
			all = append(all, append([]*refSeat{seats[i]}, rest...))
		}
	}
	return all
}
