package inventory_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func TestAcquire_MakesALockAndTakesItsSeats(t *testing.T) {
	s := newStore(10)
	c := keyed(1, 3, "key")
	r := s.one(t, c)
	wantCode(t, r, "")
	want := holdfast.Lock{
		ID: lockID(1), EventID: eventID, UserID: alice, Seats: 3, Status: holdfast.LockActive,
		ExpiresAt: in(theRules.DefaultLockTTL), Key: "key", RequestHash: c.Hash(), CreatedAt: begin,
	}
	if !reflect.DeepEqual(r.Lock, want) || !reflect.DeepEqual(s.locks[lockID(1)].Lock, want) {
		t.Errorf("answered %+v, stored %+v, want %+v", r.Lock, s.locks[lockID(1)].Lock, want)
	}
	if r.Replayed || !r.Acquires() {
		t.Errorf("replayed %v, acquires %v: the lock is new", r.Replayed, r.Acquires())
	}
	s.wantCounter(t, 7, 0)
}

// Each row names a reason to refuse, in the order of the contract. A request with this
// reason and all later ones is refused for this one.
func TestAcquire_ChecksInTheOrderOfTheContract(t *testing.T) {
	rules := theRules
	rules.MaxSeatsPerLock, rules.MaxLocksPerUser = 5, 1
	type setup struct {
		*pipeline
		ask *inventory.Acquire
	}
	reasons := []struct {
		code  holdfast.Code
		cause func(setup)
	}{
		{holdfast.CodeUserNotFound, func(w setup) {
			w.unknown = map[ID]*holdfast.Error{alice: holdfast.Refuse(holdfast.CodeUserNotFound, "There is no such user.")}
		}},
		{holdfast.CodeEventNotFound, func(w setup) { w.store.event = nil }},
		{holdfast.CodeOutcomeUnknown, func(w setup) { w.ask.Abandoned = true }},
		{holdfast.CodeIdempotencyKeyReused, func(w setup) {
			w.store.withLock(9, 1, holdfast.LockReleased, begin, keyedBy(keyed(9, 1, w.ask.Key)))
		}},
		{holdfast.CodeEventNotOnSale, func(w setup) { w.store.event.Status = holdfast.Closed }},
		{holdfast.CodeInvalid, func(w setup) { w.ask.Until.At = in(theRules.MaxLockTTL + time.Millisecond) }},
		{"SEAT_LIMIT_REACHED of 5", func(w setup) { w.ask.Seats = 6 }},
		{"SEAT_LIMIT_REACHED of 2", func(w setup) { w.store.event.MaxSeatsPerUser = 2 }},
		{"SEAT_LIMIT_REACHED of 1", func(w setup) { w.store.withLock(8, 1, holdfast.LockActive, in(time.Minute)) }},
		{holdfast.CodeSeatsUnavailable, func(w setup) {
			w.store.event.TotalSeats, w.store.event.AvailableSeats = 2+w.store.taken(), 2
		}},
		{"", func(setup) {}},
	}
	for i, want := range reasons {
		t.Run(fmt.Sprintf("%d %s", i, want.code), func(t *testing.T) {
			ask := keyed(1, 3, "key")
			w := setup{&pipeline{store: newStore(10), rules: rules}, &ask}
			for _, reason := range slices.Backward(reasons[i:]) {
				reason.cause(w)
			}
			r := w.batch(t, ask)[0]
			code := holdfast.CodeOf(r.Err)
			if limit, ok := holdfast.DetailsOf[holdfast.LimitReached](r.Err); ok {
				code = holdfast.Code(fmt.Sprintf("%s of %d", code, limit.Limit))
			}
			if code != want.code {
				t.Errorf("got %q (%v), want %q", code, r.Err, want.code)
			}
		})
	}
}

func TestAcquire_TheTimeIsByTheDatabasesClock(t *testing.T) {
	longest := theRules.MaxLockTTL
	for _, row := range []struct {
		name  string
		until holdfast.Until
		want  time.Time
		code  holdfast.Code
		field string
	}{
		{name: "none asked for", want: in(theRules.DefaultLockTTL)},
		{name: "a duration", until: holdfast.Until{For: time.Minute}, want: in(time.Minute)},
		{name: "a duration to the cap", until: holdfast.Until{For: longest}, want: in(longest)},
		{
			name: "a duration beyond the cap", until: holdfast.Until{For: longest + time.Millisecond},
			code: holdfast.CodeInvalid, field: "body.ttlSeconds",
		},
		{name: "a time", until: holdfast.Until{At: in(time.Minute)}, want: in(time.Minute)},
		{name: "a time in the past", until: holdfast.Until{At: in(-time.Minute)}, want: in(-time.Minute)},
		{name: "a time ahead, which it must be", until: holdfast.Until{At: in(time.Minute), Ahead: true}, want: in(time.Minute)},
		{name: "now, which must be ahead", until: holdfast.Until{At: in(0), Ahead: true}, code: holdfast.CodeInvalid, field: "body.expiresAt"},
		{name: "a time at the cap", until: holdfast.Until{At: in(longest)}, want: in(longest)},
		{
			name: "a time beyond the cap", until: holdfast.Until{At: in(longest + time.Millisecond)},
			code: holdfast.CodeInvalid, field: "body.expiresAt",
		},
	} {
		for _, remember := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, remembered %v", row.name, remember), func(t *testing.T) {
				s, ask := newStore(10), acquire(1, 1)
				ask.Until = row.until
				p := &pipeline{store: s, rules: theRules, remember: remember, remembered: copyOf(s.event)}
				r := p.batch(t, ask)[0]
				wantCode(t, r, row.code)
				if !r.Lock.ExpiresAt.Equal(row.want) {
					t.Errorf("the lock expires at %v, want %v", r.Lock.ExpiresAt, row.want)
				}
				if invalid, _ := holdfast.DetailsOf[holdfast.Invalid](r.Err); row.field != "" && invalid[0].Where != row.field {
					t.Errorf("refused for %s, want %s", invalid[0].Where, row.field)
				}
			})
		}
	}
}

func TestAcquire_ADefaultBeyondTheCapIsRefused(t *testing.T) {
	p := &pipeline{store: newStore(10), rules: inventory.Rules{DefaultLockTTL: time.Hour, MaxLockTTL: time.Minute}}
	wantCode(t, p.batch(t, acquire(1, 1))[0], holdfast.CodeInvalid)
}

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

// A repeat is answered with its lock, also when its time has passed since.
func TestAcquire_RepeatsOfATimeThatHasPassedGetTheirLock(t *testing.T) {
	s := newStore(10)
	c := keyed(1, 1, "k")
	c.Until = holdfast.Until{At: in(time.Minute), Ahead: true}
	made := s.one(t, c)
	wantCode(t, made, "")
	s.now = in(time.Hour)
	c.LockID = lockID(77)
	if again := s.one(t, c); again.Err != nil || !again.Replayed || again.Lock.ID != made.Lock.ID {
		t.Errorf("got %+v", again)
	}
	c.Key = "other"
	wantCode(t, s.one(t, c), holdfast.CodeInvalid)
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

func TestAcquire_RefusalForTooFewSeatsSaysHowManyAreAvailable(t *testing.T) {
	s := newStore(5).withLock(9, 2, holdfast.LockConsumed, begin)
	p := &pipeline{store: s, rules: theRules}
	results := p.batch(t, acquire(1, 2), acquire(2, 2), acquire(3, 1), acquire(4, 1))
	for i, want := range []holdfast.Code{"", holdfast.CodeSeatsUnavailable, "", holdfast.CodeSeatsUnavailable} {
		wantCode(t, results[i], want)
	}
	for i, want := range map[int]holdfast.SeatsUnavailable{1: {Requested: 2, Available: 1}, 3: {Requested: 1, Available: 0}} {
		t.Run(fmt.Sprintf("command %d", i), func(t *testing.T) {
			if got, ok := holdfast.DetailsOf[holdfast.SeatsUnavailable](results[i].Err); !ok || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
	if results[1].Acquires() {
		t.Error("a refused command makes a lock")
	}
	s.wantCounter(t, 0, 0)
}

func TestAcquire_FromAnOversoldEventIsRefused(t *testing.T) {
	s := newStore(1).withLock(9, 3, holdfast.LockConsumed, begin)
	s.event.AvailableSeats, s.event.Oversold = 0, 2
	wantCode(t, s.one(t, acquire(1, 1)), holdfast.CodeSeatsUnavailable)
}

// A commit with an unknown outcome is decided again: the locks that it made are found by
// their IDs, the missing ones are made now.
func TestAcquire_SettlesAnEarlierCommit(t *testing.T) {
	for _, row := range []struct {
		name    string
		made    *inventory.Acquire
		ask     inventory.Acquire
		unknown bool // the user does not exist
		code    holdfast.Code
		free    int64
	}{
		{name: "that happened", made: pointer(acquire(1, 2)), ask: acquire(1, 2), free: 3},
		{name: "that happened, for a caller that gave up", made: pointer(acquire(1, 2)), ask: abandoned(1, 2), free: 3},
		{name: "that happened with a key", made: pointer(keyed(1, 2, "k")), ask: keyed(1, 2, "k"), free: 3},
		{name: "that happened, for a user that was deleted", made: pointer(acquire(1, 2)), ask: acquire(1, 2), unknown: true, free: 3},
		{name: "that did not happen", ask: acquire(1, 2), free: 3},
		{name: "that did not happen, for an unknown user", ask: acquire(1, 2), unknown: true, code: holdfast.CodeUserNotFound, free: 5},
		{name: "that did not happen, for a caller that gave up", ask: abandoned(1, 2), code: holdfast.CodeOutcomeUnknown, free: 5},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(5)
			if row.made != nil {
				s.withLock(1, row.made.Seats, holdfast.LockActive, in(time.Minute), keyedBy(*row.made))
			}
			p := &pipeline{store: s, rules: theRules, hold: true, settling: true}
			if row.unknown {
				p.unknown = map[ID]*holdfast.Error{row.ask.UserID: holdfast.NotFound(holdfast.CodeUserNotFound)}
			}
			r := p.batch(t, row.ask)[0]
			wantCode(t, r, row.code)
			if row.code == "" && (r.Lock.ID != lockID(1) || r.Replayed) {
				t.Errorf("got %+v, want the lock as if it was made now", r)
			}
			s.wantCounter(t, row.free, 0)
		})
	}
}

func abandoned(n int, seats int64) inventory.Acquire {
	c := acquire(n, seats)
	c.Abandoned = true
	return c
}

func TestAcquire_ACallerThatGaveUpGetsNothing(t *testing.T) {
	s := newStore(5)
	p := &pipeline{store: s, rules: theRules, remember: true, remembered: copyOf(s.event)}
	results := p.batch(t, abandoned(1, 2), acquire(2, 2))
	wantCode(t, results[0], holdfast.CodeOutcomeUnknown)
	wantCode(t, results[1], "")
	s.wantCounter(t, 3, 0)
}
