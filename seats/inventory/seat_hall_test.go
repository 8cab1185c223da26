package inventory_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// withPit is a hall of hallOf whose standing section has other places; 0: it has no such section.
func withPit(capacity int64, rows ...string) holdfast.SeatingPlan {
	plan := hallOf(rows...)
	if plan.Sections[1].Capacity = capacity; capacity == 0 {
		plan.Sections = plan.Sections[:1]
	}
	return plan
}

// moveTo asks for another plan of the store.
func moveTo(n int) holdfast.EventChange {
	return holdfast.EventChange{SeatingPlanID: pointer(planNumber(n))}
}

// wantHall compares the event's plan, its capacities and its counter.
func (s *store) wantHall(t *testing.T, plan int, capacity, total, available, oversold int64) {
	t.Helper()
	want := []holdfast.SectionCapacity{{Key: standing, Capacity: capacity}}
	if capacity == 0 {
		want = nil
	}
	e := s.event
	if e.Seating.PlanID != planNumber(plan) || !reflect.DeepEqual(e.Sections, want) {
		t.Errorf("the event has plan %s and %v, want plan %d and %v", e.Seating.PlanID, e.Sections, plan, want)
	}
	if e.TotalSeats != total || e.AvailableSeats != available || e.Oversold != oversold {
		t.Errorf("the counter is %d and %d of %d, want %d and %d of %d", e.AvailableSeats, e.Oversold, e.TotalSeats, available, oversold, total)
	}
}

// wantChange compares a refusal, which names what is in the way.
func wantChange(t *testing.T, r reply, code holdfast.Code, says string, taken int64) {
	t.Helper()
	wantCode(t, r, code)
	if code == "" {
		return
	}
	text := r.Err.Error()
	if invalid, ok := holdfast.DetailsOf[holdfast.Invalid](r.Err); ok {
		text = invalid[0].Where
	}
	if details, _ := holdfast.DetailsOf[holdfast.CapacityBelowTaken](r.Err); details.Taken != taken || !strings.Contains(text, says) {
		t.Errorf("refused with %q and %d taken, want %q and %d", text, details.Taken, says, taken)
	}
}

// The plan would sell a seat once that the counter has twice.
func TestChangeEvent_ASeatInTwoLocksKeepsThePlan(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2"), withPit(9, "A1 A2")).holds(t, 1, "A1")
	s.withLock(8, 1, holdfast.LockActive, in(minutes(10)), func(l *inventory.Lock) { l.SeatIDs = []string{"A1"} })
	state := s.load(inventory.Needs{Event: true, Seats: true, Union: true, UnionIn: planNumber(1)})
	state.Measured = true
	_, results, _ := inventory.Decide(state, []inventory.Command{change(moveTo(1))}, theRules)
	wantChange(t, repliesOf(results)[0], holdfast.CodeCapacityBelowTaken, `"A1" is in several locks`, 2)
}

// Of a plan that does not exist any more nothing is known: all of the event's capacities count as set.
func TestChangeEvent_FromAPlanThatIsGone(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2"), withPit(9, "B1 A1")).holds(t, 1, "A1")
	state := s.load(inventory.Needs{Event: true, Union: true, UnionIn: planNumber(1)})
	state.Measured = true
	plan, results, needs := inventory.Decide(state, []inventory.Command{change(moveTo(1))}, theRules)
	if !needs.None() || results[0].Err != nil {
		t.Fatalf("refused with %v, needs %+v", results[0].Err, needs)
	}
	if err := s.apply(plan); err != nil {
		t.Fatal(err)
	}
	s.wantHall(t, 1, 4, 6, 5, 0)
	s.checkSeats(t)
}
