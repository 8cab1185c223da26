package seating

import "github.com/holdfast-dev/holdfast"

// index caches the best pick of adjacent seats in each row, so that a decision computes only
// rows that have changed and could be the best. It has a tree for each category and number of
// seats that has been asked for, and is made when the first one is.
//
// The cached key of a row may be stale. It is then still a lower bound of the row's
// key: taking a seat leaves the row's floor, freeing one leaves the lowest rank of its seats.
type index struct {
	hall     *Hall
	versions []uint32 // by row; 0 is never used
	sections []uint32 // versions, by section
	changed  []int    // rows that have changed since the last update of the trees
	change   []uint8  // by row: how
	trees    []*tree  // by category, companion rule or open, and seats; nil until they are asked for
	ofPool   [][]*tree
	pieces   [][]sectionPieces // like trees; by section of the pool
	runs     []run             // of the last section that was looked at
	cuts     []cut
	lengths  [holdfast.MaxNamedSeats + 1]int // of the runs
}

const (
	seatTaken uint8 = 1
	seatFreed uint8 = 2
)

func newIndex(h *Hall) *index {
	x := &index{
		hall: h, versions: make([]uint32, h.rows), sections: make([]uint32, len(h.sections)), change: make([]uint8, h.rows),
		ofPool: make([][]*tree, len(h.pools)),
	}
	slots := len(h.pools) * (companionRules + 1) * (holdfast.MaxNamedSeats + 1)
	x.trees, x.pieces = make([]*tree, slots), make([][]sectionPieces, slots)
	for i := range x.versions {
		x.versions[i] = 1
	}
	for i := range x.sections {
		x.sections[i] = 1
	}
	return x
}

// slot is the place of so many seats of an ask that is not exact.
func slot(a *ask, seats int) int {
	n := a.category * (companionRules + 1)
	if a.open {
		n += companionRules
	}
	return (n+int(a.companions))*(holdfast.MaxNamedSeats+1) + seats
}

// note records a change of a row.
func (x *index) note(row int, freed bool) {
	how := seatTaken
	if freed {
		how = seatFreed
	}
	if x.change[row] == 0 {
		x.changed = append(x.changed, row)
	}
	x.change[row] |= how
}

// update applies the changed rows to the trees.
func (o *Occupancy) update() {
	x := o.index
	for _, row := range x.changed {
		x.versions[row]++
		for _, ref := range x.hall.unitsOfRow[row] {
			u := &x.hall.pools[ref.category].units[ref.unit]
			x.sections[u.section]++
			for _, t := range x.ofPool[ref.category] {
				if ref.unit >= len(t.leaves) {
					continue
				}
				bound := int64(noPick)
				frees := x.change[row]&seatFreed != 0 || t.ask.companions == spareCompanion // of a taken accessible seat
				if frees && (t.leaves[ref.unit].key != noPick || o.mayFit(u, &t.ask)) {
					bound = u.bound(t.ask.seats)
				}
				t.lower(ref.unit, bound)
			}
		}
		x.change[row] = 0
	}
	x.changed = x.changed[:0]
}

// tree finds the unit with the lowest key, ties by plan order.
type tree struct {
	pool   *pool
	leaves []leaf
	// winner has the best unit below each node: the root is 1, the children of n are 2n and 2n+1,
	// and the units follow from size on.
	winner []int
	size   int
	ask    ask // that it is for; it is not exact
}

type leaf struct {
	rowPick
	version uint32 // of the row when it was looked at
	order   int
}

func (x *index) tree(a *ask) *tree {
	at := slot(a, a.seats)
	if x.trees[at] == nil {
		x.trees[at] = newTree(&x.hall.pools[a.category], *a)
		x.ofPool[a.category] = append(x.ofPool[a.category], x.trees[at])
	}
	return x.trees[at]
}

func newTree(p *pool, a ask) *tree {
	t := &tree{pool: p, size: 1, ask: a, leaves: make([]leaf, p.reach[a.seats])}
	for t.size < len(t.leaves) {
		t.size *= 2
	}
	t.winner = make([]int, 2*t.size)
	for i := range t.winner {
		t.winner[i] = -1
	}
	for i := range t.leaves {
		u := &p.units[i]
		bound := u.bound(a.seats)
		t.leaves[i] = leaf{rowPick: rowPick{key: bound, floor: bound}, order: u.order}
		t.winner[t.size+i] = i
	}
	for n := t.size - 1; n > 0; n-- {
		t.winner[n] = t.better(t.winner[2*n], t.winner[2*n+1])
	}
	return t
}

// bound is at most the key of any pick.
func (u *unit) bound(seats int) int64 { return int64(seats) * u.lowest }

func (t *tree) better(a, b int) int {
	if a < 0 || b < 0 {
		return max(a, b)
	}
	l, r := &t.leaves[a], &t.leaves[b]
	if r.key < l.key || r.key == l.key && r.order < l.order {
		return b
	}
	return a
}

// lower makes the cached key of a unit a lower bound again: no pick that was freed has a lower key than bound.
func (t *tree) lower(unit int, bound int64) {
	l := &t.leaves[unit]
	if l.floor = min(l.floor, bound); l.floor < l.key {
		l.key = l.floor
		t.climb(unit)
	}
}

// climb updates the nodes above a unit after its key has changed.
func (t *tree) climb(unit int) {
	for n := (t.size + unit) / 2; n > 0; n /= 2 {
		w := t.better(t.winner[2*n], t.winner[2*n+1])
		if w == t.winner[n] && w != unit {
			return
		}
		t.winner[n] = w
	}
}

// best finds the best pick of adjacent seats of a category.
func (o *Occupancy) best(a *ask) (*unit, rowPick) {
	t := o.index.tree(a)
	for {
		n := t.winner[1]
		if n < 0 || t.leaves[n].key == noPick {
			return nil, rowPick{}
		}
		u, l := &t.pool.units[n], &t.leaves[n]
		if version := o.index.versions[u.order]; l.version != version {
			before := l.key
			l.rowPick, l.version = o.inRow(u, a), version
			if l.key != before {
				t.climb(n)
			}
			continue
		}
		return u, l.rowPick
	}
}
