package inventory_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func unavailable(requested, available int64, seats ...string) holdfast.SeatsUnavailable {
	return holdfast.SeatsUnavailable{Requested: requested, Available: available, Unavailable: seats}
}

// What a process remembers may be old, although the counter is the same: another process has moved a lock.
func TestDecide_AnOldMapGrantsNothing(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3 A4")).holds(t, 1, "A1 A2")
	old := &pipeline{store: s, rules: theRules, remember: true, remembered: copyOf(s.event), seats: s.seats.occupancy()}
	wantCode(t, s.one(t, changeTo(named(0, "A3 A4"))), "")
	wantDetails(t, old.batch(t, named(2, "A3 A4"))[0], "SEATS_UNAVAILABLE", unavailable(2, 0, "A3", "A4"))
	s.wantTaken(t, "A3 A4")
}

// A plan that moves seats writes the event only if it is as it was when a refusal was decided. Where nothing moves, the event is
// held.
func TestRefusal_BesideAGrantIsGuarded(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3 A4")).holds(t, 1, "A1")
	refused := named(8, "A1")
	refused.Key = "key"
	for name, row := range map[string]struct {
		commands []inventory.Command
		hold     bool
	}{
		"alone":          {[]inventory.Command{refused}, true},
		"with a grant":   {[]inventory.Command{refused, named(9, "A3 A4")}, false},
		"behind a grant": {[]inventory.Command{named(9, "A3 A4"), refused}, false},
	} {
		t.Run(name, func(t *testing.T) {
			state := s.load(inventory.Needs{Seats: true, Holders: []string{"A1"}, Keys: []inventory.UserKey{{User: refused.UserID, Key: "key"}}})
			plan, _, needs := inventory.Decide(state, row.commands, theRules)
			if needs.Hold != row.hold || !row.hold && (!needs.None() || plan.Event == nil || plan.Event.IfUnchanged == nil) {
				t.Errorf("needs %+v, plans %+v", needs, plan.Event)
			}
		})
	}
}

// A seat that can't be sold is taken in the decision, and free in the map that it leaves.
func TestDecide_SeatsThatCannotBeSold(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3"))
	state := s.load(inventory.Needs{Seats: true, Holders: []string{"A1"}})
	state.Unsellable = []string{"A1"}
	plan, results, needs := inventory.Decide(state, []inventory.Command{named(1, "A1"), named(2, "A2")}, theRules)
	if !needs.None() || !holdfast.HasCode(results[0].Err, holdfast.CodeSeatsUnavailable) || results[1].Err != nil {
		t.Fatalf("needs %+v, results %+v", needs, results)
	}
	if err := s.apply(plan); err != nil {
		t.Fatal(err)
	}
	s.wantTaken(t, "A2")
	s.checkDecided(t, state.Seats)
}
