package seating_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// pair is a hall, and the reference of it.
type pair struct {
	hall      *seating.Hall
	occupancy *seating.Occupancy
	reference *refHall
	seats     []*refSeat
}

func newPair(t testing.TB, plan holdfast.SeatingPlan, reserved bool) *pair {
	t.Helper()
	hall, err := seating.NewHall(plan)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{hall: hall, occupancy: seating.NewOccupancy(hall), reference: newReference(plan, reserved)}
	for _, row := range p.reference.rows {
		p.seats = append(p.seats, row.all()...)
	}
	return p
}

func (p *pair) place(s *refSeat) seating.Place {
	place, _ := p.hall.Find(s.id)
	return place
}

func (p *pair) set(s *refSeat, taken bool) {
	if s.taken = taken; taken {
		p.occupancy.Take(p.place(s))
	} else {
		p.occupancy.Free(p.place(s))
	}
}

func (p *pair) wish(w refWish) seating.Wish {
	made := seating.Wish{
		Seats: w.seats, Section: seating.AnySection, Accessible: w.accessible, Required: w.required, Open: !p.reference.reserved, Settled: true,
	}
	for _, key := range w.categories {
		n, _ := p.hall.FindCategory(key)
		made.Categories = append(made.Categories, n)
	}
	if w.section != "" {
		made.Section, _ = p.hall.FindSection(w.section)
	}
	return made
}

// compare compares the answers to a wish.
func (p *pair) compare(t testing.TB, w refWish) refAnswer {
	t.Helper()
	want := p.reference.best(w)
	got := p.occupancy.Best(p.wish(w), nil)
	outcome := map[int]seating.Outcome{1: seating.Together, 2: seating.LeavesSingle, 3: seating.InPieces}[want.step]
	if want.together {
		outcome = seating.NotTogether
	}
	wrong := got.Outcome != outcome || !slices.Equal(p.ids(got.Places), want.seats)
	if want.seats == nil {
		wrong = wrong || got.Available != int64(want.available) || want.together && got.Longest != int64(want.longest)
	}
	if wrong {
		t.Fatalf("%s\nwish %+v\ngot  %v %+v\nwant %v %+v", p, w, p.ids(got.Places), got, outcome, want)
	}
	return want
}

func (p *pair) ids(places []seating.Place) (ids []string) {
	for _, place := range places {
		ids = append(ids, p.hall.Seat(place).ID)
	}
	return ids
}

func (p *pair) String() string {
	text := fmt.Sprintf("reserved %v, focal point %v", p.reference.reserved, p.reference.focal)
	for _, row := range p.reference.rows {
		text += fmt.Sprintf("\n%d/%d %-4s", row.section, row.row, row.adjacency)
		for _, s := range row.seats {
			if s == nil {
				text += " ......"
			} else {
				text += fmt.Sprintf(" %s(%d,%d)%s%s", s.category, s.x/1000, s.y/1000,
					map[bool]string{true: "A"}[s.accessible]+map[bool]string{true: "C"}[s.companion], map[bool]string{true: "#"}[s.taken])
			}
		}
	}
	return text
}

// Small halls, in which seats are taken and freed at random between the wishes.
func TestBest_AgreesWithTryingEverythingInSmallHalls(t *testing.T) {
	t.Parallel()
	compareHalls(t, 15_000, func(n uint64) small { return small{Rand: rand.New(rand.NewPCG(1, n))} })
}

// Rows that are longer than a word of the map.
func TestBest_AgreesWithTryingEveryRunInLongRows(t *testing.T) {
	t.Parallel()
	compareHalls(t, 1_000, func(n uint64) small { return small{Rand: rand.New(rand.NewPCG(3, n)), long: 200} })
}

// moreVariable names the factor by which the random cases are more than in scripts/test.
const moreVariable = "HOLDFAST_TEST_MORE"

// times is n times that factor; 1 if it is not set.
func times(t *testing.T, n int) int {
	t.Helper()
	if os.Getenv(moreVariable) == "" {
		return n
	}
	more, err := strconv.Atoi(os.Getenv(moreVariable))
	if err != nil {
		t.Fatal(moreVariable, err)
	}
	return n * more
}

func compareHalls(t *testing.T, plans int, generator func(n uint64) small) {
	t.Helper()
	plans = times(t, plans)
	steps, cases := map[int]int{}, 0
	for n := range plans {
		g := generator(uint64(n))
		plan := g.plan()
		p := newPair(t, plan, g.one(2))
		full := g.Float64() * g.Float64()
		for _, s := range p.seats {
			p.set(s, g.Float64() < full)
		}
		for range 12 {
			p.change(t, g)
			w := g.wish(plan)
			want := p.compare(t, w)
			p.compareUnsettled(t, w, want)
			steps[want.step]++
			cases++
		}
	}
	t.Logf("%d cases; by step (0: refused): %v", cases, steps)
}

// change changes some seats, in one of the ways in which they are changed.
func (p *pair) change(t testing.TB, g small) {
	switch g.IntN(8) {
	case 0:
		section := g.IntN(len(p.hall.Sections()))
		m := p.occupancy.Bytes(nil, section)
		for i := range p.hall.Sections()[section].Seats {
			if g.one(4) {
				m[i/8] ^= 1 << (7 - i%8)
			}
		}
		if err := p.occupancy.SetBytes(section, m); err != nil {
			t.Fatal(err)
		}
		for _, s := range p.seats {
			s.taken = p.occupancy.Taken(p.place(s))
		}
	case 1:
		mark := p.occupancy.Mark()
		for _, s := range p.seats {
			if g.one(3) && !p.occupancy.Take(p.place(s)) {
				p.occupancy.Free(p.place(s))
			}
		}
		if g.one(2) {
			p.occupancy.Best(seating.Wish{Seats: 1 + g.IntN(4), Section: seating.AnySection, Settled: true}, nil)
		}
		p.occupancy.Undo(mark)
	case 2:
		p.occupancy = p.occupancy.Clone()
	default:
		for range g.IntN(4) {
			s := p.seats[g.IntN(len(p.seats))]
			p.set(s, !s.taken)
		}
	}
}

// compareUnsettled asks without knowing whether locks are due: as long as seats that they hold could
// change the answer, there is none.
func (p *pair) compareUnsettled(t testing.TB, w refWish, settled refAnswer) {
	t.Helper()
	made := p.wish(w)
	made.Settled = false
	got := p.occupancy.Best(made, nil)
	if got.Outcome == seating.SettleFirst {
		first := w
		first.categories = nil
		for _, c := range p.reference.wished(w) {
			if first.categories = append(first.categories, c); !w.required && p.reference.has(c, w.section) {
				break
			}
		}
		first.required, first.noCompanion = true, !w.required
		if p.reference.best(first).seats != nil {
			t.Fatalf("%s\nwish %+v\nneeds settling, and could be granted at once", p, w)
		}
		return
	}
	if settled.step == 3 || settled.seats == nil || !slices.Equal(p.ids(got.Places), settled.seats) {
		t.Fatalf("%s\nwish %+v\ngot %+v without settling, and %+v with it", p, w, got, settled)
	}
}

// One row in every form, every occupancy, every number of seats.
func TestBest_AgreesWithTryingEverythingInOneRow(t *testing.T) {
	cases := 0
	for form := range 1 << 6 {
		for length := 1; length <= 6; length++ {
			plan := oneRow(length, form&7, form&8 != 0, form&16 != 0)
			p := newPair(t, plan, form&32 != 0)
			for taken := range 1 << len(p.seats) {
				for i, s := range p.seats {
					p.set(s, taken>>i&1 == 1)
				}
				for n := 1; n <= length+1; n++ {
					for accessible := 0; accessible <= min(n, 2); accessible++ {
						p.compare(t, refWish{seats: n, accessible: accessible, required: taken&1 == 0})
						cases++
					}
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}

// oneRow has a row; kind says where a gap is, and how seats are together.
func oneRow(length, kind int, focal, accessible bool) holdfast.SeatingPlan {
	row := holdfast.Row{Key: "r", Adjacency: append(holdfast.Adjacencies(), holdfast.AdjacencyLine)[kind&3]}
	for i := range length {
		if kind&4 != 0 && i == length/2 && length > 1 {
			row.Seats = append(row.Seats, nil)
			continue
		}
		row.Seats = append(row.Seats, &holdfast.Seat{ID: fmt.Sprint("s", i), Accessible: accessible && i%3 == kind&1, Companion: i%3 == 1})
	}
	plan := holdfast.SeatingPlan{
		Name: "row", Categories: []holdfast.Category{{Key: "c", Name: "Category"}},
		Sections: []holdfast.Section{{Key: "s", Name: "Section", Category: "c", Rows: []holdfast.Row{row}}},
	}
	if focal {
		plan.FocalPoint = &holdfast.Point{X: 2 * holdfast.Unit}
	}
	return plan
}
