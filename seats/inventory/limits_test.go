package inventory_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func TestLimits_CountWhatTheUserHolds(t *testing.T) {
	soon, past := in(time.Minute), in(-time.Minute)
	live := func(s *store) { s.withLock(9, 2, "ACTIVE", soon) }
	for _, row := range []struct {
		name             string
		perUser          int64 // maxSeatsPerUser
		perLock, perLive int64 // MaxSeatsPerLock, MaxLocksPerUser
		given            func(*store)
		ask              int64
		want             *holdfast.LimitReached // nil: granted
	}{
		{name: "none", ask: 9},
		{name: "a lock to its limit", perLock: 3, ask: 3},
		{name: "a lock over its limit", perLock: 3, ask: 4, want: &holdfast.LimitReached{Limit: 3}},
		{name: "to the user's limit", perUser: 4, given: live, ask: 2},
		{name: "over the user's limit", perUser: 4, given: live, ask: 3, want: &holdfast.LimitReached{Limit: 4, Held: pointer(int64(2))}},
		{
			name: "sold seats count", perUser: 4, given: func(s *store) { s.withLock(9, 2, "CONSUMED", past) }, ask: 3,
			want: &holdfast.LimitReached{Limit: 4, Held: pointer(int64(2))},
		},
		{name: "due seats do not count", perUser: 4, given: func(s *store) { s.withLock(9, 2, "ACTIVE", begin) }, ask: 4},
		{
			name: "ended seats do not count", perUser: 4,
			given: func(s *store) { s.withLock(9, 2, "RELEASED", soon).withLock(8, 2, "EXPIRED", soon) }, ask: 4,
		},
		{name: "another user's do not count", perUser: 4, given: func(s *store) { s.withLock(9, 2, "ACTIVE", soon, ofUser(bob)) }, ask: 4},
		{name: "locks to their number", perLive: 2, given: live, ask: 4},
		{name: "locks over their number", perLive: 1, given: live, ask: 1, want: &holdfast.LimitReached{Limit: 1, Held: pointer(int64(1))}},
		{name: "sold locks are not active", perLive: 1, given: func(s *store) { s.withLock(9, 2, "CONSUMED", soon) }, ask: 4},
		{name: "due locks are not active", perLive: 1, given: func(s *store) { s.withLock(9, 2, "ACTIVE", past) }, ask: 4},
	} {
		for _, remember := range []bool{false, true} {
			t.Run(row.name, func(t *testing.T) {
				s, rules := newStore(20), theRules
				s.event.MaxSeatsPerUser, rules.MaxSeatsPerLock, rules.MaxLocksPerUser = row.perUser, row.perLock, row.perLive
				if row.given != nil {
					row.given(s)
				}
				p := &pipeline{store: s, rules: rules, remember: remember, remembered: copyOf(s.event)}
				r := p.batch(t, acquire(1, row.ask))[0]
				if row.want == nil {
					wantCode(t, r, "")
					return
				}
				wantCode(t, r, holdfast.CodeSeatLimitReached)
				got, _ := holdfast.DetailsOf[holdfast.LimitReached](r.Err)
				if got.Limit != row.want.Limit || !same(got.Held, row.want.Held) {
					t.Errorf("got %+v, want %+v", got, *row.want)
				}
			})
		}
	}
}

func TestLimits_HoldWithinABatch(t *testing.T) {
	soon := in(time.Minute)
	dueAtOnce := acquire(3, 2)
	dueAtOnce.Until.At = begin
	release, reached := inventory.Release{LockID: lockID(9)}, holdfast.CodeSeatLimitReached
	cancel := inventory.Cancel{BookingID: bookingID(9), LockID: lockID(9)}
	bobs := acquire(4, 4)
	bobs.UserID = bob
	for _, row := range []struct {
		name  string
		given func(*store)
		batch []inventory.Command
		want  []holdfast.Code
	}{
		{name: "seats add up", batch: []inventory.Command{acquire(1, 2), acquire(2, 2), acquire(3, 1)}, want: []holdfast.Code{"", "", reached}},
		{name: "locks add up", batch: []inventory.Command{acquire(1, 1), acquire(2, 1), acquire(3, 1)}, want: []holdfast.Code{"", "", reached}},
		{name: "refused ones do not", batch: []inventory.Command{acquire(1, 5), acquire(2, 4)}, want: []holdfast.Code{reached, ""}},
		{
			name:  "nor do locks that are due at once",
			batch: []inventory.Command{dueAtOnce, acquire(1, 2), acquire(2, 2)}, want: []holdfast.Code{"", "", ""},
		},
		{name: "each user has a limit", batch: []inventory.Command{acquire(1, 4), bobs}, want: []holdfast.Code{"", ""}},
		{
			name: "a released lock no longer counts", given: func(s *store) { s.withLock(9, 3, "ACTIVE", soon) },
			batch: []inventory.Command{acquire(1, 2), release, acquire(2, 4), acquire(3, 1)}, want: []holdfast.Code{reached, "", "", reached},
		},
		{
			name: "nor does a cancelled sale", given: func(s *store) { s.withLock(9, 3, "CONSUMED", soon).withBooking(9, "CONFIRMED", soon) },
			batch: []inventory.Command{acquire(1, 2), cancel, acquire(2, 2), acquire(3, 2), acquire(4, 1)},
			want:  []holdfast.Code{reached, "", "", "", reached},
		},
		{
			name: "a due lock did not count before", given: func(s *store) { s.withLock(9, 3, "ACTIVE", begin).withBooking(9, "CONFIRMED", soon) },
			batch: []inventory.Command{cancel, acquire(1, 2), acquire(2, 2), acquire(3, 1)}, want: []holdfast.Code{"", "", "", reached},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, rules := newStore(20), theRules
			s.event.MaxSeatsPerUser, rules.MaxLocksPerUser = 4, 2
			if row.given != nil {
				row.given(s)
			}
			p := &pipeline{store: s, rules: rules}
			for i, r := range p.batch(t, row.batch...) {
				if got := holdfast.CodeOf(r.Err); got != row.want[i] {
					t.Errorf("command %d: got %v, want %q", i, r.Err, row.want[i])
				}
			}
		})
	}
}

func TestLimits_OfLocksCountActiveLocks(t *testing.T) {
	soon := in(time.Minute)
	cancel := inventory.Cancel{BookingID: bookingID(9), LockID: lockID(9)}
	for _, row := range []struct {
		name  string
		given func(*store)
		first inventory.Command
		want  []holdfast.Code
	}{
		{
			name: "a released one no longer counts", given: func(s *store) { s.withLock(9, 1, "ACTIVE", soon).withLock(8, 1, "ACTIVE", soon) },
			first: inventory.Release{LockID: lockID(9)}, want: []holdfast.Code{"", "", holdfast.CodeSeatLimitReached},
		},
		{
			name: "a cancelled sale did not count", given: func(s *store) { s.withLock(9, 1, "CONSUMED", soon).withBooking(9, "CONFIRMED", soon) },
			first: cancel, want: []holdfast.Code{"", "", "", holdfast.CodeSeatLimitReached},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, rules := newStore(20), theRules
			rules.MaxLocksPerUser = 2
			if row.given != nil {
				row.given(s)
			}
			batch := []inventory.Command{row.first, acquire(1, 1), acquire(2, 1), acquire(3, 1)}
			p := &pipeline{store: s, rules: rules}
			for i, r := range p.batch(t, batch[:len(row.want)]...) {
				wantCode(t, r, row.want[i])
			}
		})
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
