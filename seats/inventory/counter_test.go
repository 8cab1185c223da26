package inventory_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// counters are written by other software for an event whose locks take 3 of 10 seats.
var counters = []struct {
	name  string
	event func(*inventory.Event)
	// wrong: impossible, so that the first command that moves seats replaces it.
	wrong bool
}{
	{"right", func(*inventory.Event) {}, false},
	{"drifted", func(e *inventory.Event) { e.AvailableSeats = 8 }, false},
	{"below 0", func(e *inventory.Event) { e.AvailableSeats = -1 }, true},
	{"above the total", func(e *inventory.Event) { e.AvailableSeats = 11 }, true},
	{"oversold below 0", func(e *inventory.Event) { e.Oversold = -1 }, true},
	{"available and oversold", func(e *inventory.Event) { e.Oversold = 1 }, true},
	{"no number", func(e *inventory.Event) { e.AvailableSeats, e.Countable = 0, false }, true},
	{"no number that looks right", func(e *inventory.Event) { e.Countable = false }, true},
}

func aCounter(set func(*inventory.Event)) *store {
	s := newStore(10).withLock(1, 2, "ACTIVE", in(time.Minute)).withLock(2, 1, "CONSUMED", begin)
	set(s.event)
	return s
}

// The first command that asks for seats or frees some replaces an impossible counter by
// the sum of the locks. A possible counter that drifted waits for a repair.
func TestCounter_ImpossibleOneIsReplacedByTheSumOfTheLocks(t *testing.T) {
	for _, row := range counters {
		for _, command := range []struct {
			inventory.Command
			moves int64
		}{
			{acquire(9, 2), -2},
			{keyed(9, 2, "k"), -2},
			{release, 2},
			{change(holdfast.EventChange{TotalSeats: pointer(int64(12))}), 2},
			{acquire(9, 99), 0},
		} {
			t.Run(fmt.Sprintf("%s, %T", row.name, command.Command), func(t *testing.T) {
				s := aCounter(row.event)
				before := s.event.AvailableSeats
				p := &pipeline{store: s, rules: theRules, remember: true, remembered: copyOf(s.event)}
				p.batch(t, command.Command)
				want, repairs := before+command.moves, int64(0)
				if row.wrong {
					want, repairs = s.event.TotalSeats-s.taken(), 1
				}
				if p.plan.Event == nil { // a refusal writes no counter
					repairs = 0
				}
				if s.event.AvailableSeats != want {
					t.Errorf("%d seats are available, want %d", s.event.AvailableSeats, want)
				}
				if got := s.event.Repairs; (got == nil) != (repairs == 0) {
					t.Errorf("repaired %v times, want %d", got, repairs)
				}
			})
		}
	}
}

// The counter that the process remembers is impossible, the stored one is right.
func TestCounter_RightOneIsMovedDespiteAWrongMemory(t *testing.T) {
	s := aCounter(func(*inventory.Event) {})
	p := &pipeline{store: s, rules: theRules, remember: true, remembered: copyOf(s.event)}
	p.remembered.Oversold = 1
	p.batch(t, acquire(8, 1), acquire(9, 2), release)
	s.wantCounter(t, 6, 0)
	if s.event.Repairs != nil {
		t.Error("the counter was repaired")
	}
}

// A refusal that reads an impossible counter reports the sum of the locks.
func TestCounter_RefusalsCountTheLocks(t *testing.T) {
	s := aCounter(func(e *inventory.Event) { e.AvailableSeats = -1 })
	r := s.one(t, acquire(9, 8))
	wantCode(t, r, holdfast.CodeSeatsUnavailable)
	if got, _ := holdfast.DetailsOf[holdfast.SeatsUnavailable](r.Err); got.Available != 7 {
		t.Errorf("%d seats are available, want 7", got.Available)
	}
}

// A release frees more seats than the counter has taken: the counter was wrong.
func TestCounter_OverflowingOneIsReplacedByTheSumOfTheLocks(t *testing.T) {
	sweep := inventory.ExpireLocks{Run: lockRun, LockIDs: locksOf(1)}
	for _, command := range []inventory.Command{release, sweep, acquire(9, 10)} {
		t.Run(fmt.Sprintf("%T", command), func(t *testing.T) {
			s := aCounter(func(e *inventory.Event) { e.AvailableSeats = 9 })
			if command != inventory.Command(release) {
				s.now = in(time.Minute)
			}
			p := &pipeline{store: s, rules: theRules}
			p.batch(t, command)
			s.wantLock(t, 1, s.locks[lockID(1)].Status)
			s.wantCounter(t, 10-s.taken(), 0)
			if s.locks[lockID(1)].Status == holdfast.LockActive || s.event.Repairs == nil {
				t.Errorf("the lock is %+v, repairs %v", s.locks[lockID(1)], s.event.Repairs)
			}
		})
	}
}

// While the capacity is no number, nothing is sold and nothing is counted. Once it is
// set, the counter is the sum of the locks.
func TestCounter_WithoutACapacityNothingIsSold(t *testing.T) {
	for name, counter := range map[string]func(*inventory.Event){
		"none available":  func(e *inventory.Event) { e.AvailableSeats = 0 },
		"seven available": func(e *inventory.Event) { e.AvailableSeats = 7 },
		"oversold":        func(e *inventory.Event) { e.AvailableSeats, e.Oversold = 0, 3 },
	} {
		t.Run(name, func(t *testing.T) {
			s := aCounter(func(e *inventory.Event) {
				e.TotalSeats, e.HasTotal, e.Incomparable = 0, false, true
				counter(e)
			})
			before := *s.event
			wantCode(t, s.one(t, acquire(9, 1)), holdfast.CodeSeatsUnavailable)
			if r := s.one(t, inventory.Repair{}); !errors.Is(r.Err, inventory.ErrNoTotal) {
				t.Errorf("a repair: %v", r.Err)
			}
			s.wantCounter(t, before.AvailableSeats, before.Oversold)
			wantCode(t, s.one(t, change(holdfast.EventChange{TotalSeats: pointer(int64(2))})), holdfast.CodeCapacityBelowTaken)
			wantCode(t, s.one(t, change(holdfast.EventChange{TotalSeats: pointer(int64(10))})), "")
			s.wantCounter(t, 7, 0)
			wantCode(t, s.one(t, release), "")
			s.wantCounter(t, 9, 0)
		})
	}
}

func TestCounter_WithoutACapacityLocksAreReleased(t *testing.T) {
	s := aCounter(func(e *inventory.Event) {
		e.TotalSeats, e.HasTotal, e.AvailableSeats, e.Incomparable = 0, false, 7, true
	})
	wantCode(t, s.one(t, release), "")
	s.wantLock(t, 1, holdfast.LockReleased)
	if s.event.AvailableSeats != 7 || s.event.Revision != 1 {
		t.Errorf("the event is %+v", s.event)
	}
}

func TestRepair_SetsTheCounterToTheSumOfTheLocks(t *testing.T) {
	for _, row := range counters {
		t.Run(row.name, func(t *testing.T) {
			s := aCounter(row.event)
			before := *s.event
			p := &pipeline{store: s, rules: theRules}
			r := p.batch(t, inventory.Repair{RunID: "recovery-1"})[0]
			wantCode(t, r, "")
			if row.name == "right" {
				if r.Correction != nil || s.event.Revision != 0 {
					t.Errorf("corrected %+v", r.Correction)
				}
				return
			}
			s.wantCounter(t, 7, 0)
			want := inventory.Correction{EventID: eventID, Before: before.AvailableSeats, After: 7}
			isDrift := before.Countable && before.Oversold >= 0
			if isDrift { // what the event could sell
				want.Before = before.AvailableSeats - before.Oversold
			}
			if w := p.plan.Event; (w.Drift != nil) != isDrift || (w.IfUnchanged == nil) != isDrift {
				t.Errorf("the event's write is %+v: a drift is subtracted, an impossible counter replaced", w)
			}
			if r.Correction == nil || *r.Correction != want || s.runID != "recovery-1" || s.event.Repairs == nil || *s.event.Repairs != 1 {
				t.Errorf("got %+v, want %+v; the event is %+v", r.Correction, want, s.event)
			}
			if again := s.one(t, inventory.Repair{}); again.Correction != nil {
				t.Errorf("again: %+v", again.Correction)
			}
		})
	}
}

func TestRepair_ReportsOversoldSeats(t *testing.T) {
	s := newStore(2).withLock(1, 5, "CONSUMED", begin)
	s.event.AvailableSeats = 1
	r := s.one(t, inventory.Repair{})
	if want := (inventory.Correction{EventID: eventID, Before: 1, After: 0, Oversold: 3}); r.Correction == nil || *r.Correction != want {
		t.Errorf("got %+v, want %+v", r.Correction, want)
	}
	s.wantCounter(t, 0, 3)
}

// Sales go on during a repair: they change counter and locks together, so the drift
// stays. Another repair removes it.
func TestRepair_BesideOtherWritersCorrectsOnce(t *testing.T) {
	for _, row := range []struct {
		name  string
		event func(*inventory.Event)
		other inventory.Command
	}{
		{"a sale", func(e *inventory.Event) { e.AvailableSeats = 9 }, acquire(9, 2)},
		{"a release", func(e *inventory.Event) { e.AvailableSeats = 5 }, release},
		{"another repair", func(e *inventory.Event) { e.AvailableSeats = 9 }, inventory.Repair{}},
		{"another repair of no number", func(e *inventory.Event) { e.Countable = false }, inventory.Repair{}},
		{"a sale from no number", func(e *inventory.Event) { e.Countable = false }, acquire(9, 2)},
		{"a new capacity", func(e *inventory.Event) { e.AvailableSeats = 9 }, change(holdfast.EventChange{TotalSeats: pointer(int64(20))})},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := aCounter(row.event)
			p := &pipeline{store: s, rules: theRules}
			p.beforeApply = func(inventory.Plan) {
				p.beforeApply = nil
				s.one(t, row.other)
			}
			p.batch(t, inventory.Repair{RunID: "recovery-1"})
			s.wantCounter(t, s.event.TotalSeats-s.taken(), 0)
			if *s.event.Repairs != 1 {
				t.Errorf("repaired %d times, want once", *s.event.Repairs)
			}
		})
	}
}

func TestRepair_WhereTheEventDoesNotExist(t *testing.T) {
	s := newStore(5)
	s.event = nil
	wantCode(t, s.one(t, inventory.Repair{}), holdfast.CodeEventNotFound)
}

func TestEvent_Drift(t *testing.T) {
	const total = 10
	for _, row := range []struct {
		name                string
		available, oversold int64
		taken, want         int64
	}{
		{name: "right", available: 7, taken: 3, want: 0},
		{name: "too high", available: 9, taken: 3, want: 2},
		{name: "too low", available: 5, taken: 3, want: -2},
		{name: "oversold", oversold: 2, taken: 12, want: 0},
		{name: "oversold too high", oversold: 5, taken: 12, want: -3},
		{name: "available and oversold", available: 1, oversold: 1, taken: 10, want: 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			event := newStore(total).event
			event.AvailableSeats, event.Oversold = row.available, row.oversold
			if got := event.Drift(row.taken); got != row.want {
				t.Errorf("the drift is %d, want %d", got, row.want)
			}
		})
	}
}
