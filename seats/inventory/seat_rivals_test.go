package inventory_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// theirs puts lock number n into the store, as other software would: it is due, and the map does not have it.
func (s *store) theirs(n int, seats int64, change func(*inventory.Lock)) *store {
	return s.withLock(n, seats, holdfast.LockActive, begin.Add(-time.Minute), func(l *inventory.Lock) {
		l.Revision = nil
		change(l)
	})
}

// A lock of other software ends whose seats customers have locked too: these stay taken, and the others come back. What
// several such locks have comes back with the last one.
func TestExpireLocks_LeavesWhatOtherLocksHave(t *testing.T) {
	for _, row := range []struct {
		name   string
		theirs func(*store)
		want   string // taken
		pit    int64
	}{
		{"one of its seats is a customer's", func(s *store) {
			s.theirs(2, 2, func(l *inventory.Lock) { l.SeatIDs = []string{"A1", "A5"} })
		}, "A1 A2", 1},
		{"it names the seat twice", func(s *store) {
			s.theirs(2, 2, func(l *inventory.Lock) { l.SeatIDs = []string{"A1", "A1"} })
		}, "A1 A2", 1},
		{"it names a seat of its own twice", func(s *store) {
			s.theirs(2, 2, func(l *inventory.Lock) { l.SeatIDs = []string{"A5", "A5"} })
		}, "A1 A2", 1},
		{"two have the same seats", func(s *store) {
			s.theirs(2, 2, func(l *inventory.Lock) { l.SeatIDs = []string{"A1", "A5"} })
			s.theirs(3, 2, func(l *inventory.Lock) { l.SeatIDs = []string{"A5", "A1"} })
		}, "A1 A2", 1},
		{"standing", func(s *store) {
			s.theirs(2, 3, func(l *inventory.Lock) { l.Section = standing })
		}, "A1 A2", 1},
		{"nowhere", func(s *store) {
			s.theirs(2, 2, func(*inventory.Lock) {})
		}, "A1 A2", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSeated(t, hallOf("A1 A2 A3 A4 A5")).holds(t, 1, "A1 A2").holds(t, 4, standing)
			row.theirs(s)
			wantCode(t, s.sweep(t, inventory.ExpireLocks{Run: lockRun, UpTo: 9}), "")
			s.wantTaken(t, row.want)
			if got := s.seats.general[1]; got != row.pit {
				t.Errorf("%d are standing, want %d", got, row.pit)
			}
			s.wantCounter(t, 6, 0)
		})
	}
}

// Locks of our own cost no read of all locks.
func TestExpireLocks_ReadsAllLocksForThoseOfOtherSoftwareAlone(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3")).held(t, 1, "A1 A2").held(t, 2, standing)
	_, _, needs := inventory.Decide(s.load(inventory.Needs{Due: 9, Seats: true}),
		[]inventory.Command{inventory.ExpireLocks{Run: lockRun, UpTo: 9}}, theRules)
	if !needs.None() {
		t.Errorf("it needs %+v", needs)
	}
}
