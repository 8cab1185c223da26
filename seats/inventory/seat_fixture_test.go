package inventory_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// hallOf is a hall with a section "main" of the category "stalls", one row for each string, and the
// standing section of four places. A seat is its ID, with a star if it is accessible; a bar is a gap.
func hallOf(rows ...string) holdfast.SeatingPlan {
	main := holdfast.Section{Key: "main", Name: "Main", Category: "stalls"}
	for i, seats := range rows {
		row := holdfast.Row{Key: string(rune('1' + i))}
		for _, id := range strings.Fields(seats) {
			if id == "|" {
				row.Seats = append(row.Seats, nil)
				continue
			}
			row.Seats = append(row.Seats, &holdfast.Seat{ID: strings.TrimSuffix(id, "*"), Accessible: strings.HasSuffix(id, "*")})
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

// best asks for Alice's lock number n on the best available seats.
func best(n int, seats int64, b holdfast.BestAvailable) inventory.Acquire {
	c := acquire(n, seats)
	c.Wish.Best = &b
	return c
}

// stand asks for Alice's lock number n on general admission.
func stand(n int, seats int64) inventory.Acquire {
	c := acquire(n, seats)
	c.Wish.Section = standing
	return c
}

// changeTo changes the seats of lock 1 to what an acquisition asks for.
func changeTo(c inventory.Acquire) inventory.ChangeSeats {
	return inventory.ChangeSeats{LockID: lockID(1), Seats: c.Seats, Wish: c.Wish}
}

func block(n int, seats string) inventory.Block {
	return inventory.Block{SeatIDs: strings.Fields(seats), LockID: lockID(n)}
}

func unblock(seats string) inventory.Unblock {
	return inventory.Unblock{SeatIDs: strings.Fields(seats)}
}

// holds puts Alice's live lock number n on seats into the store.
func (s *store) holds(t rapid.TB, n int, seats string) *store {
	t.Helper()
	return s.withSeats(t, n, holdfast.LockActive, in(minutes(10)), strings.Fields(seats)...)
}

// held puts Alice's lock number n on seats, whose time has passed, into the store.
func (s *store) held(t rapid.TB, n int, seats string) *store {
	t.Helper()
	return s.withSeats(t, n, holdfast.LockActive, begin.Add(-time.Minute), strings.Fields(seats)...)
}

// blocks puts the venue's lock number n on seats into the store.
func (s *store) blocks(t rapid.TB, n int, seats string) *store {
	t.Helper()
	return s.withSeats(t, n, holdfast.LockBlocked, time.Time{}, strings.Fields(seats)...)
}

// selling puts lock number n on seats, which other software has sold but left ACTIVE, into the store.
func (s *store) selling(t rapid.TB, n int, seats string) *store {
	t.Helper()
	return s.held(t, n, seats).withBooking(n, holdfast.BookingConfirmed, begin.Add(-time.Minute))
}

// wantSeats compares the seats of lock number n, which may be a section's key for each seat.
func (s *store) wantSeats(t testing.TB, n int, status holdfast.LockStatus, want string) {
	t.Helper()
	lock := s.locks[lockID(n)]
	if lock == nil {
		t.Errorf("lock %d is missing, want it %s on %s", n, status, want)
		return
	}
	got := strings.Join(lock.SeatIDs, " ")
	if lock.Section != "" {
		got = strings.TrimSpace(strings.Repeat(lock.Section+" ", int(lock.Seats)))
	}
	if lock.Status != status || got != want || lock.Seats != int64(len(strings.Fields(want))) {
		t.Errorf("lock %d is %s on %d seats %q, want %s on %q", n, lock.Status, lock.Seats, got, status, want)
	}
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

func equalStrings(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b))
}
