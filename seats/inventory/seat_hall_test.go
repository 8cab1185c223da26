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

// pit asks for a capacity of the standing section.
func pit(capacity int64) holdfast.EventChange {
	return holdfast.EventChange{Sections: []holdfast.SectionCapacity{{Key: standing, Capacity: capacity}}}
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

func TestChangeEvent_CapacitiesOfGeneralAdmission(t *testing.T) {
	const most = holdfast.MaxSeats - 3 // beside the rows
	unknown := holdfast.SectionCapacity{Key: "x", Capacity: 9}
	for _, row := range []struct {
		name             string
		c                holdfast.EventChange
		damage           func(*store)
		code             holdfast.Code
		says             string
		capacity, total  int64
		available, taken int64
	}{
		{name: "more", c: pit(9), capacity: 9, total: 12, available: 9},
		{name: "as many as are taken", c: pit(2), capacity: 2, total: 5, available: 2},
		{name: "fewer than are taken", c: pit(1), code: "CAPACITY_BELOW_TAKEN", says: `"pit"`, taken: 2, capacity: 4, total: 7, available: 4},
		{name: "the same", c: pit(4), capacity: 4, total: 7, available: 4},
		{name: "none", c: holdfast.EventChange{Sections: []holdfast.SectionCapacity{}}, capacity: 4, total: 7, available: 4},
		{name: "of an unknown section", c: holdfast.EventChange{Sections: append(pit(9).Sections, pit(9).Sections[0], unknown)},
			code: "VALIDATION_FAILED", says: "body.sections[2].key", capacity: 4, total: 7, available: 4},
		{name: "of a section of rows", c: holdfast.EventChange{Sections: []holdfast.SectionCapacity{{Key: "main", Capacity: 9}}},
			code: "VALIDATION_FAILED", says: "body.sections[0].key", capacity: 4, total: 7, available: 4},
		{name: "as many as an event can have", c: pit(most), capacity: most, total: holdfast.MaxSeats, available: most},
		{name: "more than an event can have", c: pit(most + 1), code: "VALIDATION_FAILED", says: "body.sections",
			capacity: 4, total: 7, available: 4},
		{name: "locks without a place leave too few", c: pit(3), damage: func(s *store) {
			s.withLock(8, 4, holdfast.LockActive, in(minutes(10)))
			s.event.AvailableSeats = 0
		}, code: "CAPACITY_BELOW_TAKEN", says: "event", taken: 7, capacity: 4, total: 7},
		{name: "the counter is damaged", c: pit(5), capacity: 5, total: 8, available: 5,
			damage: func(s *store) { s.event.Countable, s.event.AvailableSeats = false, 0 }},
		{name: "the total is damaged", c: pit(5), capacity: 5, total: 8, available: 5,
			damage: func(s *store) { s.event.HasTotal, s.event.TotalSeats = false, 0 }},
		{name: "an oversold section stays as it is", c: pit(1), damage: func(s *store) {
			s.event.Sections, s.event.TotalSeats, s.event.AvailableSeats = pit(1).Sections, 4, 1
			s.seats.model = s.seats.model.WithCapacities(s.event.Sections)
		}, capacity: 1, total: 4, available: 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSeated(t, hallOf("A1 A2 A3")).holds(t, 1, "A1").holds(t, 2, "pit pit")
			if row.damage != nil {
				row.damage(s)
			}
			r := s.one(t, change(row.c))
			wantChange(t, r, row.code, row.says, row.taken)
			s.wantHall(t, 0, row.capacity, row.total, row.available, 0)
			s.checkSeats(t)
			if row.code == "" && !reflect.DeepEqual(r.Event, s.event.Event) {
				t.Errorf("answered %+v, stored %+v", r.Event, s.event.Event)
			}
		})
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

// The event has seven seats, of which a lock has A1 and another two of the pit, and the venue A2.
func TestChangeEvent_AnotherPlan(t *testing.T) {
	unplaced := func(s *store) { s.withLock(8, 1, holdfast.LockActive, in(minutes(10))) }
	for _, row := range []struct {
		name                       string
		plan                       holdfast.SeatingPlan
		c                          holdfast.EventChange
		set                        int64 // the capacity that the event has; 0: the plan's
		damage                     func(*store)
		says                       string // of the refusal
		taken                      int64
		capacity, total, available int64
	}{
		{name: "more seats", plan: withPit(6, "A1 A2 A3", "B1 B2"), capacity: 6, total: 11, available: 7},
		{name: "the seats in other places", plan: withPit(2, "B1 | A2 B2", "A1"), capacity: 2, total: 6, available: 2},
		{name: "a taken seat is missing", plan: withPit(9, "A2 A3"), says: `"A1"`, taken: 4},
		{name: "a blocked seat is missing", plan: withPit(9, "A1 A3"), says: `"A2"`, taken: 4},
		{name: "the first of the missing seats", plan: withPit(9, "A3"), says: `"A1"`, taken: 4},
		{name: "no standing", plan: withPit(0, "A1 A2 A3"), says: `"pit"`, taken: 4},
		{name: "too few standing places", plan: withPit(1, "A1 A2 A3"), says: `"pit"`, taken: 2},
		{name: "a capacity of the request", plan: withPit(1, "A1 A2 A3"), c: pit(3), capacity: 3, total: 6, available: 2},
		{name: "a capacity below the taken", plan: withPit(9, "A1 A2 A3"), c: pit(1), says: `"pit"`, taken: 2},
		{name: "the capacity that was set stays", plan: withPit(9, "A1 A2 A3"), set: 5, capacity: 5, total: 8, available: 4},
		{name: "the capacity that was set makes room", plan: withPit(1, "A1 A2 A3"), set: 5, capacity: 5, total: 8, available: 4},
		{name: "the capacity that was set is too small", plan: withPit(9, "A1 A2 A3"), set: 1, capacity: 9, total: 12, available: 8},
		{name: "the map is damaged", plan: withPit(9, "A1 A2 A3"), capacity: 9, total: 12, available: 8,
			damage: func(s *store) { s.seats.bits[0][0] = 0 }},
		{name: "the counter is damaged", plan: withPit(9, "A1 A2 A3"), capacity: 9, total: 12, available: 8,
			damage: func(s *store) { s.event.Countable, s.event.AvailableSeats, s.event.Seating.BlockedSeats = false, 0, 8 }},
		{name: "a lock without a place", plan: withPit(6, "A1 A2 A3"), capacity: 6, total: 9, available: 4, damage: unplaced},
		{name: "no room for a lock without a place", plan: withPit(2, "A1 A2"), says: "event", taken: 5, damage: unplaced},
		{name: "a due lock", plan: withPit(9, "A1 A2"), says: `"A3"`, taken: 5, damage: func(s *store) { s.held(t, 8, "A3") }},
	} {
		for _, hold := range []bool{false, true} {
			t.Run(row.name, func(t *testing.T) {
				s := newSeated(t, hallOf("A1 A2 A3"), row.plan).holds(t, 1, "A1").blocks(t, 2, "A2").holds(t, 3, "pit pit")
				if row.set > 0 {
					more := row.set - 4
					s.event.TotalSeats, s.event.AvailableSeats = s.event.TotalSeats+more, s.event.AvailableSeats+more
					s.event.Sections = pit(row.set).Sections
					s.seats.model = s.seats.model.WithCapacities(s.event.Sections)
				}
				if row.damage != nil {
					row.damage(s)
				}
				p := &pipeline{store: s, rules: theRules, hold: hold}
				c := moveTo(1)
				c.Sections = row.c.Sections
				before := s.clone()
				r := p.batch(t, change(c))[0]
				if row.says != "" {
					wantChange(t, r, holdfast.CodeCapacityBelowTaken, row.says, row.taken)
					before.event.Revision = s.event.Revision
					if !reflect.DeepEqual(s.event, before.event) || !reflect.DeepEqual(s.seats.bits, before.seats.bits) {
						t.Errorf("a refusal leaves %+v, want %+v", s.event, before.event)
					}
					return
				}
				wantCode(t, r, "")
				s.wantHall(t, 1, row.capacity, row.total, row.available, 0)
				s.checkSeats(t)
				if !reflect.DeepEqual(r.Event, s.event.Event) {
					t.Errorf("answered %+v, stored %+v", r.Event, s.event.Event)
				}
			})
		}
	}
}

// The plan would sell a seat once that the counter has twice.
func TestChangeEvent_ASeatInTwoLocksKeepsThePlan(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2"), withPit(9, "A1 A2")).holds(t, 1, "A1")
	s.withLock(8, 1, holdfast.LockActive, in(minutes(10)), func(l *inventory.Lock) { l.SeatIDs = []string{"A1"} })
	state := s.load(inventory.Needs{Event: true, Seats: true, Union: true, UnionIn: planNumber(1)})
	state.Fenced = true
	_, results, _ := inventory.Decide(state, []inventory.Command{change(moveTo(1))}, theRules)
	wantChange(t, repliesOf(results)[0], holdfast.CodeCapacityBelowTaken, `"A1" is in several locks`, 2)
}

// The present plan is no other one.
func TestChangeEvent_ThePlanThatItHas(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2")).holds(t, 1, "A1")
	wantCode(t, s.one(t, change(moveTo(0))), "")
	s.wantHall(t, 0, 4, 6, 5, 0)
	s.checkSeats(t)
}

// Of a plan that does not exist any more nothing is known: all of the event's capacities count as set.
func TestChangeEvent_FromAPlanThatIsGone(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2"), withPit(9, "B1 A1")).holds(t, 1, "A1")
	state := s.load(inventory.Needs{Event: true, Union: true, UnionIn: planNumber(1)})
	state.Fenced = true
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

func TestChangeEvent_AnUnseatedEventHasNoHall(t *testing.T) {
	for where, c := range map[string]holdfast.EventChange{"body.seatingPlanId": moveTo(0), "body.sections": pit(3)} {
		wantChange(t, newStore(5).one(t, change(c)), holdfast.CodeInvalid, where, 0)
	}
}

// Capacities apply to later commands of the batch.
func TestChangeEvent_CapacitiesMakeRoomInTheSameBatch(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2"))
	p := &pipeline{store: s, rules: theRules}
	results := p.batch(t, stand(1, 4), change(pit(6)), stand(2, 2), stand(3, 1))
	for i, want := range []holdfast.Code{"", "", "", holdfast.CodeSeatsUnavailable} {
		wantCode(t, results[i], want)
	}
	s.wantHall(t, 0, 6, 8, 2, 0)
	s.checkSeats(t)
}
