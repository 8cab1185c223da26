package inventory_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func aCounter(set func(*inventory.Event)) *store {
	s := newStore(10).withLock(1, 2, "ACTIVE", in(time.Minute)).withLock(2, 1, "CONSUMED", begin)
	set(s.event)
	return s
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
		{"another repair of an impossible one", func(e *inventory.Event) { e.Oversold = -1 }, inventory.Repair{}},
		{"a sale from an impossible one", func(e *inventory.Event) { e.Oversold = -1 }, acquire(9, 2)},
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
			if s.event.Repairs != 1 {
				t.Errorf("repaired %d times, want once", s.event.Repairs)
			}
		})
	}
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
