package seating_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/seats/seating"
)

func (p *pair) compareOrphans(t testing.TB, named, old []*refSeat) int {
	t.Helper()
	want := p.reference.orphans(named, old)
	got := p.ids(p.occupancy.Orphans(p.places(named), p.places(old), !p.reference.reserved))
	if !slices.Equal(got, ids(want)) {
		t.Fatalf("%s\nnamed %v, old %v\ngot  %v\nwant %v", p, ids(named), ids(old), got, ids(want))
	}
	return min(1, len(want))
}

func (p *pair) places(seats []*refSeat) (places []seating.Place) {
	for _, s := range seats {
		places = append(places, p.place(s))
	}
	return places
}

func TestOrphans_AgreeWithTryingEverythingInSmallHalls(t *testing.T) {
	t.Parallel()
	plans := times(t, 5_000)
	cases, refused := 0, 0
	for n := range plans {
		g := small{Rand: rand.New(rand.NewPCG(2, uint64(n)))}
		p := newPair(t, g.plan(), g.one(2))
		full := g.Float64()
		for _, s := range p.seats {
			p.set(s, g.Float64() < full)
		}
		for range 12 {
			var named, old []*refSeat
			for _, i := range g.Perm(len(p.seats)) {
				// Seats that are named may be taken: by a lock that is due.
				switch s := p.seats[i]; {
				case len(named) < 4 && (!s.taken && g.one(2) || g.one(20)):
					named = append(named, s)
				case s.taken && g.one(4):
					old = append(old, s)
				}
			}
			refused += p.compareOrphans(t, named, old)
			cases++
		}
	}
	t.Logf("%d cases, %d of them leave orphans", cases, refused)
}

// One row in every form, every occupancy, every choice of free seats.
func TestOrphans_AgreeWithTryingEverythingInOneRow(t *testing.T) {
	cases, refused := 0, 0
	for form := range 1 << 5 {
		for length := 1; length <= 6; length++ {
			p := newPair(t, oneRow(length, form&7, false, form&8 != 0), form&16 != 0)
			for taken := range 1 << len(p.seats) {
				for i, s := range p.seats {
					p.set(s, taken>>i&1 == 1)
				}
				for choice := range 1 << len(p.seats) {
					var named []*refSeat
					for i, s := range p.seats {
						if choice>>i&1 == 1 {
							named = append(named, s)
						}
					}
					if choice&taken == 0 {
						refused += p.compareOrphans(t, named, nil)
						cases++
					}
				}
			}
		}
	}
	t.Logf("%d cases, %d of them leave orphans", cases, refused)
}
