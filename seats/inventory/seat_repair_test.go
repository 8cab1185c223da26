package inventory_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func TestRepairSeats_MakesTheMapWhatTheLocksTake(t *testing.T) {
	for _, row := range []struct {
		name   string
		damage func(*store)
		want   int64 // seats that were wrong
	}{
		{"nothing is wrong", func(*store) {}, 0},
		{"a free seat is taken in the map", func(s *store) { s.seats.bits[0][0] |= 0x10 }, 1},
		{"taken seats are free in the map", func(s *store) { s.seats.bits[0][0] = 0 }, 4},
		{"one is taken and another is free", func(s *store) { s.seats.bits[0][0] ^= 0x90 }, 2},
		{"too much standing", func(s *store) { s.seats.general[1] = 4 }, 2},
		{"too little standing", func(s *store) { s.seats.general[1] = 0 }, 2},
		{"more standing than there is room", func(s *store) { s.seats.general[1] = 9 }, 7},
		{"blocked seats", func(s *store) { s.event.Seating.BlockedSeats = 7 }, 0},
		{"a lock names a seat that the hall does not have", func(s *store) { s.locks[lockID(1)].SeatIDs = []string{"A1", "Z9"} }, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSeated(t, hallOf("A1 A2 A3 A4 A5 A6")).holds(t, 1, "A1 A2").blocks(t, 2, "A3").held(t, 3, "A6").holds(t, 4, "pit pit")
			row.damage(s)
			before := *s.event
			for round, want := range []int64{row.want, 0} {
				r := s.one(t, inventory.RepairSeats{RunID: "reconcile-1"})
				if r.Err != nil || r.Corrected != want {
					t.Errorf("round %d: corrected %d (%v), want %d", round, r.Corrected, r.Err, want)
				}
			}
			s.checkSeats(t)
			if s.event.AvailableSeats != before.AvailableSeats {
				t.Errorf("the counter is %d, it was %d", s.event.AvailableSeats, before.AvailableSeats)
			}
			if wrote, wrong := s.event.Revision > before.Revision, row.name != "nothing is wrong"; wrote != wrong {
				t.Errorf("the event was written: %v, want %v", wrote, wrong)
			}
		})
	}
}

func TestRepairSeats_OfOtherEvents(t *testing.T) {
	s := newStore(3)
	r := s.one(t, inventory.RepairSeats{})
	if r.Err != nil || s.event.Revision != 0 {
		t.Errorf("an unseated event: %+v, at revision %d", r, s.event.Revision)
	}
	s.event = nil
	wantCode(t, s.one(t, inventory.RepairSeats{}), holdfast.CodeEventNotFound)
}

// Locks of other software may name seats that the hall does not have. They end all the same.
func TestRelease_OfSeatsThatTheHallDoesNotHave(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3")).holds(t, 1, "A1 A2")
	s.locks[lockID(1)].SeatIDs = []string{"A1", "Z9"}
	s.seats.bits, s.seats.general = s.union(t)
	wantCode(t, s.one(t, inventory.Release{LockID: lockID(1)}), "")
	s.wantTaken(t, "")
	s.wantCounter(t, 7, 0)
}
