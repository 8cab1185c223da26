package inventory_test

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// hallOf is a hall with a section "main" of the category "stalls", one row for each string, and the
// standing section of four places. A seat is its ID, with a star if it is accessible, and a plus if it is a companion seat; a bar is a gap.
func hallOf(rows ...string) holdfast.SeatingPlan {
	main := holdfast.Section{Key: "main", Name: "Main", Category: "stalls"}
	for i, seats := range rows {
		row := holdfast.Row{Key: string(rune('1' + i))}
		for _, id := range strings.Fields(seats) {
			if id == "|" {
				row.Seats = append(row.Seats, nil)
				continue
			}
			row.Seats = append(row.Seats, &holdfast.Seat{
				ID: strings.TrimRight(id, "*+"), Accessible: strings.HasSuffix(id, "*"), Companion: strings.HasSuffix(id, "+"),
			})
		}
		main.Rows = append(main.Rows, row)
	}
	return holdfast.SeatingPlan{
		Name: "Hall", Categories: []holdfast.Category{{Key: "stalls", Name: "Stalls"}, {Key: "floor", Name: "Floor"}},
		Sections: []holdfast.Section{main, {Key: standing, Name: "Standing", Category: "floor", Capacity: 4}},
	}
}

// named asks for Alice's lock number n on seats.
func named(n int, seats string) inventory.Acquire {
	ids := strings.Fields(seats)
	c := acquire(n, int64(len(ids)))
	c.Wish.SeatIDs = ids
	return c
}

// changeTo changes the seats of lock 1 to what an acquisition asks for.
func changeTo(c inventory.Acquire) inventory.ChangeSeats {
	return inventory.ChangeSeats{LockID: lockID(1), Seats: c.Seats, Wish: c.Wish}
}

// holds puts Alice's live lock number n on seats into the store.
func (s *store) holds(t rapid.TB, n int, seats string) *store {
	t.Helper()
	return s.withSeats(t, n, holdfast.LockActive, in(minutes(10)), strings.Fields(seats)...)
}

// wantTaken compares the taken seats of the hall, in plan order, with those of the stored map.
func (s *store) wantTaken(t testing.TB, want string) {
	t.Helper()
	var taken []string
	for _, seat := range s.seats.model.Seats {
		if s.seats.bits[seat.Section][seat.InSection/8]&(0x80>>(seat.InSection%8)) != 0 {
			taken = append(taken, seat.ID)
		}
	}
	if got := strings.Join(taken, " "); got != want {
		t.Errorf("the map has %q taken, want %q", got, want)
	}
}

// wantDetails compares the code of a refusal, and what it says.
func wantDetails(t testing.TB, r reply, code holdfast.Code, want any) {
	t.Helper()
	wantCode(t, r, code)
	got := hallOutcomeOf(inventory.Acquire{}, r).details
	if !reflect.DeepEqual(got, want) {
		t.Errorf("refused with %+v, want %+v", got, want)
	}
}
