package inventory_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

const arenaSections, arenaRows, arenaRowSeats = 60, 25, 40

func arena(b *testing.B) *seating.Hall {
	b.Helper()
	plan := holdfast.SeatingPlan{Name: "Arena", Categories: []holdfast.Category{{Key: "c", Name: "Category"}}}
	for s := range arenaSections {
		section := holdfast.Section{Key: fmt.Sprint(s), Name: "Section", Category: "c"}
		for r := range arenaRows {
			section.Rows = append(section.Rows, holdfast.Row{Key: fmt.Sprint(r + 1), Count: arenaRowSeats})
		}
		plan.Sections = append(plan.Sections, section)
	}
	hall, err := seating.NewHall(plan)
	if err != nil {
		b.Fatal(err)
	}
	return hall
}

// nearlySold has free seats in groups of four, a twentieth of all.
func nearlySold(hall *seating.Hall) *seating.Occupancy {
	const group, oneIn = 4, 20
	o := seating.NewOccupancy(hall)
	for s := range arenaSections {
		for seat := range arenaRows * arenaRowSeats {
			if seat/group%oneIn != 0 {
				o.Take(seating.Place{Section: s, Seat: seat})
			}
		}
	}
	o.Settle()
	return o
}

// The time that the decision of a batch of 128 requests for 1 to 4 numbered seats costs, in a hall of 60,000: for seats at
// random in an empty one, and for the best available ones in one that is sold to 95 %.
func BenchmarkDecide_Seats(b *testing.B) {
	const requests, batchesOfHall = 128, 6
	hall := arena(b)
	rules := inventory.Rules{DefaultLockTTL: 10 * time.Minute, MaxLockTTL: 2 * time.Hour}
	event := &inventory.Event{
		Event: holdfast.Event{
			ID: holdfast.ID{1}, TotalSeats: 1 << 40, AvailableSeats: 1 << 40, Status: holdfast.OnSale,
			Seating: holdfast.Seating{PlanID: holdfast.ID{2}},
		},
	}
	random := rand.New(rand.NewPCG(1, 2))
	named := func(seats int64) (w holdfast.Wish) {
		section, row, first := random.IntN(arenaSections), random.IntN(arenaRows), random.IntN(arenaRowSeats-4)
		for s := range int(seats) {
			w.SeatIDs = append(w.SeatIDs, hall.Seat(seating.Place{Section: section, Seat: row*arenaRowSeats + first + s}).ID)
		}
		return w
	}
	for name, wish := range map[string]func(seats int64) holdfast.Wish{
		"named": named,
		"best":  func(int64) holdfast.Wish { return holdfast.Wish{Best: &holdfast.BestAvailable{}} },
	} {
		b.Run(name, func(b *testing.B) {
			start := seating.NewOccupancy(hall)
			if name == "best" {
				start = nearlySold(hall)
			}
			occupancy, batches := start.Clone(), 0
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				if batches++; batches%batchesOfHall == 0 {
					occupancy = start.Clone()
				}
				commands := make([]inventory.Command, requests)
				for i := range commands {
					r := holdfast.LockRequest{EventID: event.ID, UserID: holdfast.ID{byte(i)}, Seats: 1 + random.Int64N(4), Key: fmt.Sprint("cart-", i)}
					r.Wish = wish(r.Seats)
					commands[i] = inventory.Acquire{LockRequest: r, LockID: holdfast.ID{byte(i), byte(batches), byte(batches >> 8)}, RequestHash: r.Hash()}
				}
				b.StartTimer()
				if _, _, needs := inventory.Decide(inventory.State{Event: event, Seats: occupancy}, commands, rules); !needs.None() {
					b.Fatalf("nothing was decided: needs %+v", needs)
				}
				occupancy.Settle()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(batches*requests), "ns/request")
		})
	}
}
