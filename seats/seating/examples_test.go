package seating_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// drawn is a hall as it is drawn: a line for each row, a dot for a free seat, # for a taken one, A for
// a free accessible one, C a free companion one, a space for a gap. A line of hyphens begins a section. A row that begins with
// ALL: is a table, and in one that begins with NONE: no seat is next to another.
type drawn string

// hall returns the plan, and the seats that are drawn as one of the marks.
func (d drawn) hall() (plan holdfast.SeatingPlan, marked map[rune][]string) {
	plan = holdfast.SeatingPlan{Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "Category"}, {Key: "d", Name: "Category"}}}
	marked = map[rune][]string{}
	for _, line := range strings.Split(strings.Trim(string(d), "\n"), "\n") {
		line = strings.Trim(line, "\t")
		if strings.HasPrefix(line, "-") || plan.Sections == nil {
			category := "c"
			if strings.HasSuffix(line, "d") {
				category = "d"
			}
			plan.Sections = append(plan.Sections, holdfast.Section{Key: fmt.Sprint(len(plan.Sections)), Name: "Section", Category: category})
			if strings.HasPrefix(line, "-") {
				continue
			}
		}
		s := &plan.Sections[len(plan.Sections)-1]
		row := holdfast.Row{Key: fmt.Sprint(len(s.Rows))}
		if kind, seats, ok := strings.Cut(line, ":"); ok {
			row.Adjacency, line = holdfast.Adjacency(kind), seats
		}
		for i, mark := range line {
			if mark == ' ' {
				row.Seats = append(row.Seats, nil)
				continue
			}
			id := fmt.Sprintf("%s-%s-%d", s.Key, row.Key, i+1)
			row.Seats = append(row.Seats, &holdfast.Seat{ID: id, Accessible: mark == 'A', Companion: mark == 'C'})
			marked[mark] = append(marked[mark], id)
		}
		s.Rows = append(s.Rows, row)
	}
	return plan, marked
}

// occupancy returns the hall of which the seats drawn as # are taken.
func (d drawn) occupancy(t *testing.T, focal *holdfast.Point) *seating.Occupancy {
	t.Helper()
	plan, marked := d.hall()
	plan.FocalPoint = focal
	hall, err := seating.NewHall(plan)
	if err != nil {
		t.Fatal(err)
	}
	o := seating.NewOccupancy(hall)
	for _, p := range findAll(hall, marked['#']) {
		o.Take(p)
	}
	return o
}

func findAll(hall *seating.Hall, ids []string) (places []seating.Place) {
	for _, id := range ids {
		p, _ := hall.Find(id)
		places = append(places, p)
	}
	return places
}

// bestCase is a pick: its seats are drawn as x.
type bestCase struct {
	name    string
	hall    drawn
	wish    seating.Wish
	focal   *holdfast.Point
	want    drawn
	outcome seating.Outcome
}

func TestBest_ByTheRules(t *testing.T) {
	left, second := &holdfast.Point{}, &holdfast.Point{Y: holdfast.Unit}
	for _, row := range []bestCase{
		{"the middle of the row wins without a focal point", ".......", seating.Wish{Seats: 3}, nil, "..xxx..", seating.Together},
		{"of two places as near, the first in plan order wins", "......", seating.Wish{Seats: 3}, nil, "xxx...", seating.Together},
		{"a focal point wins over the row", "....\n....", seating.Wish{Seats: 2}, second, "....\nxx..", seating.Together},
		{"the row wins over the distance from the middle", "..##\n....", seating.Wish{Seats: 2}, nil, "xx##\n....", seating.Together},
		{"a pick that leaves no single seat wins over a nearer one", "...#\n....", seating.Wish{Seats: 2}, nil, "...#\nxx..", seating.Together},
		{"if all leave a single seat, the nearest wins", "...\n...", seating.Wish{Seats: 2}, left, "xx.\n...", seating.LeavesSingle},
		{"a gap parts neighbours", ".. ..", seating.Wish{Seats: 2}, nil, "xx ..", seating.Together},
		{"across a gap no seats are adjacent", ". . .", seating.Wish{Seats: 2, Required: true}, nil, "", seating.NotTogether},
		{"a seat next to a gap was single before", ". ..", seating.Wish{Seats: 2}, nil, ". xx", seating.Together},
		{"all seats of a table are together", "ALL:.#.#.", seating.Wish{Seats: 3}, nil, "ALL:x#x#x", seating.Together},
		{"the last seat of a table would be single", "ALL:...\nALL:....", seating.Wish{Seats: 2}, nil, "ALL:...\nALL:.xx.", seating.Together},
		{"no two seats of such a row are adjacent", "NONE:....", seating.Wish{Seats: 2, Required: true}, nil, "", seating.NotTogether},
		{"and none of them is single", "NONE:...", seating.Wish{Seats: 1}, nil, "NONE:.x.", seating.Together},
		{"the longest runs come first", ".#..#.#...", seating.Wish{Seats: 5}, nil, ".#xx#.#xxx", seating.InPieces},
		{"the longest run is cut to what is missing", ".#...#...", seating.Wish{Seats: 4}, left, ".#xxx#x..", seating.InPieces},
		{
			"the section that needs the fewest runs wins", "----\n.#.#.\n----\n..#.#", seating.Wish{Seats: 3}, nil,
			"----\n.#.#.\n----\nxx#x#", seating.InPieces,
		},
		{"no pick is of two sections", "----\n.#\n----\n.#", seating.Wish{Seats: 2}, nil, "", seating.Unavailable},
		{
			"the first category in which a pick can be made wins", "----\n.#.\n----d\n..", seating.Wish{Seats: 2}, nil,
			"----\nx#x\n----d\n..", seating.InPieces,
		},
		{
			"adjacent in the second category, where it is required", "----\n.#.\n----d\n..", seating.Wish{Seats: 2, Required: true}, nil,
			"----\n.#.\n----d\nxx", seating.Together,
		},
		{
			"the wish orders the categories", "----\n..\n----d\n..", seating.Wish{Seats: 2, Categories: []int{1, 0}}, nil,
			"----\n..\n----d\nxx", seating.Together,
		},
		{"a section is asked for", "----\n..\n----\n..", seating.Wish{Seats: 2, Section: 1}, nil, "----\n..\n----\nxx", seating.Together},
		{"accessible seats are reserved", "A.\n..", seating.Wish{Seats: 2}, nil, "A.\nxx", seating.Together},
		{"and count as gaps", "A...A", seating.Wish{Seats: 2}, nil, "Axx.A", seating.LeavesSingle},
		{"so a seat next to one was single before", "..A.", seating.Wish{Seats: 2}, nil, "xxA.", seating.Together},
		{"exactly as many accessible seats as asked for", "AA..", seating.Wish{Seats: 2, Accessible: 1}, nil, "Axx.", seating.LeavesSingle},
		{"they are seats like any other", "A..", seating.Wish{Seats: 3, Open: true}, nil, "xxx", seating.Together},
	} {
		t.Run(row.name, row.test)
	}
}

func TestBest_CompanionSeatsComeLast(t *testing.T) {
	for _, row := range []bestCase{
		{"companion seats are seen as taken", "AC..CA\n..", seating.Wish{Seats: 2}, nil, "ACxxCA\n..", seating.Together},
		{"in pieces too", ".#.C..", seating.Wish{Seats: 4}, nil, "x#xCxx", seating.InPieces},
		{"so a seat next to one was single before", "..C.", seating.Wish{Seats: 2}, nil, "xxC.", seating.Together},
		{"those not next to a free accessible seat come first", "ACC#C", seating.Wish{Seats: 2}, nil, "ACx#x", seating.InPieces},
		{"the others last", "AC", seating.Wish{Seats: 1}, nil, "Ax", seating.Together},
		{"and then the next category", "----\nAC\n----d\n.", seating.Wish{Seats: 1}, nil, "----\nAx\n----d\n.", seating.Together},
		{"a gap is between them", ".C A", seating.Wish{Seats: 2}, nil, "xx A", seating.Together},
		{"a table is kept for an accessible seat at it", "ALL:AC\nALL:C#", seating.Wish{Seats: 1}, nil, "ALL:AC\nALL:x#", seating.Together},
		{"they are like any other where accessible seats are open", "C..", seating.Wish{Seats: 1, Open: true}, nil, "x..", seating.Together},
		{"accessible seats with a companion seat win", "A.\nAC", seating.Wish{Seats: 1, Accessible: 1}, nil, "A.\nxC", seating.Together},
		{"of a pick each of them has one", "AA.C\nACA", seating.Wish{Seats: 3, Accessible: 2}, nil, "AA.C\nxxx", seating.Together},
		{"but not over picks without single seats", "AC..\nA..", seating.Wish{Seats: 3, Accessible: 1}, nil, "AC..\nxxx", seating.Together},
		{"in pieces the same", "A#.#CA", seating.Wish{Seats: 2, Accessible: 1, Section: 0}, nil, "A#.#xx", seating.Together},
	} {
		t.Run(row.name, row.test)
	}
}

func (row bestCase) test(t *testing.T) {
	o := row.hall.occupancy(t, row.focal)
	if row.wish.Settled = true; row.wish.Section == 0 {
		row.wish.Section = seating.AnySection
	}
	var want []string
	if row.want != "" {
		_, marked := row.want.hall()
		want = marked['x']
	}
	got := o.Best(row.wish, nil)
	var ids []string
	for _, p := range got.Places {
		ids = append(ids, o.Hall().Seat(p).ID)
	}
	if !slices.Equal(ids, want) || got.Outcome != row.outcome {
		t.Errorf("%s\ngot %v (%+v), want %v (%v)", row.hall, ids, got, want, row.outcome)
	}
}

func TestBest_ARefusalSaysWhatIsThere(t *testing.T) {
	for _, row := range []struct {
		name               string
		hall               drawn
		wish               seating.Wish
		outcome            seating.Outcome
		available, longest int64
	}{
		{"the free seats that the wish could have used", "..#A", seating.Wish{Seats: 3}, seating.Unavailable, 2, 0},
		{"accessible ones", "..#A", seating.Wish{Seats: 2, Accessible: 2}, seating.Unavailable, 1, 0},
		{"of its section", "----\n....\n----\n..", seating.Wish{Seats: 3, Section: 1}, seating.Unavailable, 2, 0},
		{"of its categories", "----\n....\n----d\n..", seating.Wish{Seats: 3, Categories: []int{1}}, seating.Unavailable, 2, 0},
		{"enough, but not together", "..#...#.", seating.Wish{Seats: 4, Required: true}, seating.NotTogether, 6, 3},
		{"not enough, together or not", "..#...#.", seating.Wish{Seats: 7, Required: true}, seating.Unavailable, 6, 0},
		{"a table", "ALL:.#.#.\n..", seating.Wish{Seats: 4, Required: true}, seating.NotTogether, 5, 3},
		{"rows without neighbours", "NONE:.....", seating.Wish{Seats: 4, Required: true}, seating.NotTogether, 5, 1},
		{"one of the seats is accessible", "A#.A", seating.Wish{Seats: 3, Accessible: 2, Required: true}, seating.NotTogether, 3, 2},
		{"no seats asked for", "..", seating.Wish{}, seating.Unavailable, 0, 0},
		{"more accessible seats than seats", "AA", seating.Wish{Seats: 1, Accessible: 2}, seating.Unavailable, 0, 0},
		{"nothing at all", "####", seating.Wish{Seats: 1}, seating.Unavailable, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.wish.Settled = true; row.wish.Section == 0 {
				row.wish.Section = seating.AnySection
			}
			got := row.hall.occupancy(t, nil).Best(row.wish, nil)
			if got.Outcome != row.outcome || got.Available != row.available || got.Longest != row.longest || len(got.Places) > 0 {
				t.Errorf("got %+v, want %+v", got, row)
			}
		})
	}
}

func TestBest_SettlesDueLocksBeforePiecesAndRefusals(t *testing.T) {
	for _, row := range []struct {
		name string
		hall drawn
		wish seating.Wish
		want seating.Outcome
	}{
		{"adjacent seats are there", "..", seating.Wish{Seats: 2}, seating.Together},
		{"the seats would be in pieces", ".#.", seating.Wish{Seats: 2}, seating.SettleFirst},
		{"the wish would be refused", ".#.", seating.Wish{Seats: 2, Required: true}, seating.SettleFirst},
		{"the second category has the seats", "----\n#\n----d\n.", seating.Wish{Seats: 1, Required: true}, seating.Together},
		{"the first might have them", "----\n#\n----d\n.", seating.Wish{Seats: 1}, seating.SettleFirst},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.wish.Section = seating.AnySection
			if got := row.hall.occupancy(t, nil).Best(row.wish, nil); got.Outcome != row.want {
				t.Errorf("got %+v, want %v", got, row.want)
			}
		})
	}
}

// Named seats are drawn as n, orphans as o, the lock's own old seats as m.
func TestOrphans_ByTheRules(t *testing.T) {
	for _, row := range []struct {
		name string
		hall drawn
		open bool
	}{
		{"a single seat could be avoided", "onn..", false},
		{"none is left", "nn...", false},
		{"every choice leaves one", "nn.", false},
		{"more than needed", "nnonno", false},
		{"a seat that was single before", ".#nn", false},
		{"another row would have been better, which does not count", "nn.\n....", false},
		{"taken seats are not neighbours", "#onn..", false},
		{"a gap parts neighbours", ". nn..", false},
		{"rows without neighbours have no single seats", "NONE:.n.n.", false},
		{"a table is left with one seat, whichever are taken", "ALL:nnn.", false},
		{"reserved accessible seats count as gaps", "Ann..", false},
		{"they count as seats", "onn..A", true},
		{"the lock's own old seats count as free", "mmnn#", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := row.hall.occupancy(t, nil)
			_, marked := row.hall.hall()
			old := findAll(o.Hall(), marked['m'])
			for _, p := range old {
				o.Take(p)
			}
			got := o.Orphans(findAll(o.Hall(), marked['n']), old, row.open)
			if want := findAll(o.Hall(), marked['o']); !slices.Equal(got, want) {
				t.Errorf("%s\ngot %v, want %v", row.hall, got, want)
			}
		})
	}
}

// The sum of 50 distances from corner to corner fits.
func TestBest_TheFarthestSeatsAreCompared(t *testing.T) {
	far := holdfast.MaxPlanCoordinate
	plan, _ := drawn(strings.Repeat(".", holdfast.MaxNamedSeats+2)).hall()
	plan.FocalPoint = &holdfast.Point{X: -far, Y: -far}
	for _, s := range plan.Sections[0].Rows[0].Seats {
		s.X, s.Y = &far, &far
	}
	p := newPair(t, plan, true)
	for n := 1; n <= holdfast.MaxNamedSeats; n++ {
		if got := p.compare(t, refWish{seats: n}); got.step != 1 || got.seats[0] != p.seats[0].id {
			t.Errorf("%d seats: %+v", n, got)
		}
	}
}

func TestBest_AllocatesNothing(t *testing.T) {
	o := drawn(".#.....#..\nALL:..#.\n----\n.#.#.#.A\n..........").occupancy(t, &holdfast.Point{})
	buffer := make([]seating.Place, 0, holdfast.MaxNamedSeats)
	decide := func() {
		for n := 1; n <= 12; n++ {
			mark := o.Mark()
			for _, p := range o.Best(seating.Wish{Seats: n, Section: seating.AnySection, Settled: true}, buffer).Places {
				o.Take(p)
			}
			o.Undo(mark)
		}
	}
	if allocs := testing.AllocsPerRun(10, decide); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}
