package seating_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// arena has 60 sections of 25 rows of 40 seats, ten sections side by side.
func arena(focal bool) holdfast.SeatingPlan {
	plan := holdfast.SeatingPlan{Name: "Arena", Categories: []holdfast.Category{{Key: "c", Name: "Category"}}}
	if focal {
		plan.FocalPoint = &holdfast.Point{X: 225 * holdfast.Unit, Y: -10 * holdfast.Unit}
	}
	for s := range 60 {
		section := holdfast.Section{Key: fmt.Sprint(s), Name: "Section", Category: "c"}
		for r := range 25 {
			row := holdfast.Row{Key: fmt.Sprint(r)}
			for i := range 40 {
				x, y := holdfast.Thousandths(s%10*45+i)*holdfast.Unit, holdfast.Thousandths(s/10*30+r)*holdfast.Unit
				row.Seats = append(row.Seats, &holdfast.Seat{ID: fmt.Sprintf("%d-%d-%d", s, r, i), X: &x, Y: &y})
			}
			section.Rows = append(section.Rows, row)
		}
		plan.Sections = append(plan.Sections, section)
	}
	return plan
}

// sold returns an occupancy of which seats are taken at random.
func sold(b testing.TB, plan holdfast.SeatingPlan, percent int) *seating.Occupancy {
	b.Helper()
	hall, err := seating.NewHall(plan)
	if err != nil {
		b.Fatal(err)
	}
	o := seating.NewOccupancy(hall)
	random := rand.New(rand.NewPCG(1, 2))
	for n, s := range hall.Sections() {
		for i := range s.Seats {
			if random.IntN(100) < percent {
				o.Take(seating.Place{Section: n, Seat: i})
			}
		}
	}
	o.Settle()
	return o
}

// A decision finds the seats, takes them, and is undone.
func BenchmarkBest(b *testing.B) {
	for _, focal := range []bool{true, false} {
		plan := arena(focal)
		for _, percent := range []int{0, 50, 95, 99} {
			for seats := range 5 {
				name := fmt.Sprintf("focal=%v/full=%d/seats=%d", focal, percent, seats)
				if seats == 0 {
					name = fmt.Sprintf("focal=%v/full=%d/seats=1to4", focal, percent)
				}
				b.Run(name, func(b *testing.B) {
					o := sold(b, plan, percent)
					buffer := make([]seating.Place, 0, holdfast.MaxNamedSeats)
					decide := func(i int) {
						n := seats
						if n == 0 {
							n = 1 + i%4
						}
						mark := o.Mark()
						for _, p := range o.Best(seating.Wish{Seats: n, Section: seating.AnySection, Settled: true}, buffer).Places {
							o.Take(p)
						}
						o.Undo(mark)
					}
					for i := range 8 {
						decide(i)
					}
					b.ReportAllocs()
					b.ResetTimer()
					for i := range b.N {
						decide(i)
					}
				})
			}
		}
	}
}

// A hall is sold seat by seat until nothing is free.
func BenchmarkBest_SellOut(b *testing.B) {
	for _, focal := range []bool{true, false} {
		b.Run(fmt.Sprintf("focal=%v", focal), func(b *testing.B) {
			empty := sold(b, arena(focal), 0)
			buffer := make([]seating.Place, 0, holdfast.MaxNamedSeats)
			decisions := 0
			for range b.N {
				o := empty.Clone()
				for refused := 0; refused < 4; decisions++ {
					a := o.Best(seating.Wish{Seats: 1 + decisions%4, Section: seating.AnySection, Settled: true}, buffer)
					if refused++; a.Granted() {
						refused = 0
					}
					for _, p := range a.Places {
						o.Take(p)
					}
					o.Settle()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(decisions), "ns/decision")
		})
	}
}

func BenchmarkNewHall(b *testing.B) {
	plan := arena(true)
	for range b.N {
		if _, err := seating.NewHall(plan); err != nil {
			b.Fatal(err)
		}
	}
}
