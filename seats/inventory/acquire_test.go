package inventory_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// If the event is remembered, a time that must be ahead is checked when the plan is written:
// by the earliest of them.
func TestAcquire_ARememberedEventRefusesTimesThatHavePassed(t *testing.T) {
	state := inventory.State{Event: newStore(10).event}
	commands := []inventory.Command{}
	for n, minute := range []int{20, 10, 30} {
		c := acquire(n, 1)
		c.Until = holdfast.Until{At: in(minutes(minute)), Ahead: true}
		commands = append(commands, c)
	}
	plan, _, needs := inventory.Decide(state, commands, theRules)
	if !needs.None() || !plan.Before.Equal(in(minutes(10))) {
		t.Errorf("needs %+v, before %v", needs, plan.Before)
	}
	for at, inTime := range map[time.Duration]bool{minutes(10) - 1: true, minutes(10): false, minutes(11): false} {
		if plan.InTime(in(at)) != inTime {
			t.Errorf("at %v: in time %v", at, !inTime)
		}
	}
	if !(inventory.Plan{}).InTime(in(0)) {
		t.Error("a plan without bounds is not in time")
	}
}

// If the event is remembered, an absolute time is checked against the cap when the plan
// is written: by the latest of the bounds.
func TestAcquire_ARememberedEventBoundsTheTimeOfTheWrite(t *testing.T) {
	state := inventory.State{Event: newStore(10).event}
	commands := []inventory.Command{}
	for n, at := range []time.Time{in(minutes(180)), in(minutes(200)), in(minutes(190))} {
		c := acquire(n, 1)
		c.Until.At = at
		commands = append(commands, c)
	}
	plan, _, needs := inventory.Decide(state, commands, theRules)
	if want := in(minutes(200) - theRules.MaxLockTTL); !needs.None() || !plan.NotBefore.Equal(want) {
		t.Errorf("needs %+v, not before %v, want %v", needs, plan.NotBefore, want)
	}
	state.Now = in(minutes(90))
	if plan, _, _ = inventory.Decide(state, commands, theRules); !plan.NotBefore.IsZero() {
		t.Errorf("the clock is known, but the plan is not to be written before %v", plan.NotBefore)
	}
}

// A key that only an index knows fails its own request.
func TestAcquire_AKeyThatCannotBeUsedFailsAlone(t *testing.T) {
	state := newStore(5).load(inventory.Needs{Event: true})
	state.Unusable = map[inventory.UserKey]bool{{User: alice, Key: "k"}: true}
	_, results, needs := inventory.Decide(state, []inventory.Command{keyed(1, 1, "k"), keyed(2, 1, "other"), acquire(3, 1)}, theRules)
	if !needs.None() || !holdfast.HasCode(results[0].Err, holdfast.CodeUnavailable) || results[1].Err != nil || results[2].Err != nil {
		t.Errorf("needs %+v, results %+v", needs, results)
	}
}

// The decision does not change the holdings of the state.
func TestLimits_TheStateStaysAsItWas(t *testing.T) {
	event := newStore(9).event
	event.MaxSeatsPerUser = 4
	state := inventory.State{Now: begin, Event: event, Holdings: map[ID]inventory.Holding{alice: {}}}
	for range 2 {
		if _, results, _ := inventory.Decide(state, []inventory.Command{acquire(1, 4)}, theRules); results[0].Err != nil {
			t.Fatal(results[0].Err)
		}
	}
	if state.Holdings[alice] != (inventory.Holding{}) || event.AvailableSeats != 9 {
		t.Errorf("the state is now %+v, %+v", state.Holdings[alice], event)
	}
}

func TestRefusal_InATransactionThatHoldsTheEventNeedsNoMore(t *testing.T) {
	state := newStore(0).load(inventory.Needs{Keys: []inventory.UserKey{{User: alice, Key: "k"}}, Due: 1})
	commands := []inventory.Command{keyed(1, 1, "k")}
	if _, _, needs := inventory.Decide(state, commands, theRules); !needs.Hold {
		t.Error("the event need not be held")
	}
	state.Held = true
	if _, results, needs := inventory.Decide(state, commands, theRules); !needs.None() || results[0].Err == nil {
		t.Errorf("needs %+v, results %+v", needs, results)
	}
}

// The write finds a key that another process has used meanwhile.
func TestReplay_OfAKeyThatWasUsedBetweenDecisionAndWrite(t *testing.T) {
	s := newStore(5)
	ask := keyed(1, 2, "key")
	p := &pipeline{store: s, rules: theRules, remember: true, remembered: copyOf(s.event)}
	p.beforeApply = func(inventory.Plan) {
		p.beforeApply = nil
		s.one(t, keyed(9, 2, "key"))
	}
	r := p.batch(t, ask, acquire(2, 1))[0]
	wantCode(t, r, "")
	if r.Lock.ID != lockID(9) || !r.Replayed {
		t.Errorf("got %+v, want lock 9 as a replay", r)
	}
	s.wantCounter(t, 2, 0)
}
