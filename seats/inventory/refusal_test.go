package inventory_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// needsOf are the first needs of a command whose event is remembered.
func needsOf(t *testing.T, event *inventory.Event, c inventory.Command) inventory.Needs {
	t.Helper()
	plan, results, needs := inventory.Decide(inventory.State{Event: event}, []inventory.Command{c}, theRules)
	if !needs.None() && (!plan.IsEmpty() || results != nil) {
		t.Errorf("there are needs, and yet %+v, %+v", plan, results)
	}
	return needs
}

func TestRefusal_NeedsAStateThatIsReadAfterTheRequest(t *testing.T) {
	key := inventory.UserKey{User: alice, Key: "key"}
	closed, soldOut, limited := newStore(9).event, newStore(0).event, newStore(9).event
	closed.Status, limited.MaxSeatsPerUser = holdfast.Closed, 1
	beyond := keyed(1, 1, "key")
	beyond.Until.For = theRules.MaxLockTTL + 1
	capacity := inventory.ChangeEvent{EventChange: holdfast.EventChange{TotalSeats: pointer(int64(1))}}
	taken := newStore(9).withLock(1, 5, "ACTIVE", in(time.Minute)).event
	for _, row := range []struct {
		name  string
		event *inventory.Event
		ask   inventory.Command
		want  inventory.Needs
	}{
		{name: "granted", event: newStore(9).event, ask: keyed(1, 1, "key")},
		{
			name: "not on sale", event: closed, ask: keyed(1, 1, "key"),
			want: inventory.Needs{Event: true, Fence: true, Keys: []inventory.UserKey{key}},
		},
		{name: "not on sale, no key", event: closed, ask: acquire(1, 1), want: inventory.Needs{Event: true, Fence: true}},
		{
			name: "beyond the cap", event: newStore(9).event, ask: beyond,
			want: inventory.Needs{Event: true, Fence: true, Keys: []inventory.UserKey{key}},
		},
		{
			name: "sold out", event: soldOut, ask: keyed(1, 1, "key"),
			want: inventory.Needs{Event: true, Fence: true, Keys: []inventory.UserKey{key}, Due: inventory.MaxReclaim, Reclaim: true},
		},
		{name: "sold out, no key", event: soldOut, ask: acquire(1, 1),
			want: inventory.Needs{Event: true, Due: inventory.MaxReclaim, Reclaim: true}},
		{name: "a limit that needs the holding", event: limited, ask: acquire(1, 1), want: inventory.Needs{Holdings: []ID{alice}}},
		{name: "a capacity below the seats taken", event: taken, ask: capacity, want: inventory.Needs{Event: true, Fence: true}},
		{name: "an event that is not known", ask: keyed(1, 1, "key"), want: inventory.Needs{Event: true}},
		{name: "a change of an event that is not known", ask: capacity, want: inventory.Needs{Event: true}},
		{
			name: "a release", event: newStore(9).event, ask: inventory.Release{LockID: lockID(1)},
			want: inventory.Needs{Locks: []ID{lockID(1)}, LiveOf: []ID{lockID(1)}},
		},
		{
			name: "a release of an event that is not known", ask: inventory.Release{LockID: lockID(1)},
			want: inventory.Needs{Locks: []ID{lockID(1)}, LiveOf: []ID{lockID(1)}},
		},
		{
			name: "a cancellation", event: newStore(9).event, ask: inventory.Cancel{BookingID: bookingID(1), LockID: lockID(1)},
			want: inventory.Needs{Locks: []ID{lockID(1)}, Bookings: []ID{bookingID(1)}, Sold: []ID{lockID(1)}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := needsOf(t, row.event, row.ask); !reflect.DeepEqual(got, row.want) {
				t.Errorf("needs %+v, want %+v", got, row.want)
			}
		})
	}
}

// After a refusal, an earlier attempt must not be granted: the event is written before
// the state that the refusal relies on is read. A request for seats without a key needs
// no fence: nothing identifies an earlier attempt.
func TestRefusal_IsFenced(t *testing.T) {
	soon, past := in(time.Minute), in(-time.Minute)
	change := func(c holdfast.EventChange) inventory.Command { return inventory.ChangeEvent{EventChange: c} }
	open, one := holdfast.OnSale, int64(1)
	for _, row := range []struct {
		name   string
		given  func(*store)
		ask    inventory.Command
		code   holdfast.Code
		fenced bool
	}{
		{name: "seats for a key", ask: keyed(1, 6, "k"), code: holdfast.CodeSeatsUnavailable, fenced: true},
		{name: "seats without a key", ask: acquire(1, 6), code: holdfast.CodeSeatsUnavailable},
		{
			name: "another request's key", given: func(s *store) { s.withLock(9, 1, "ACTIVE", soon, keyedBy(keyed(9, 1, "k"))) },
			ask: keyed(1, 6, "k"), code: holdfast.CodeIdempotencyKeyReused, fenced: true,
		},
		{
			name: "not on sale", given: func(s *store) { s.event.Status = holdfast.Closed }, ask: acquire(1, 1),
			code: holdfast.CodeEventNotOnSale, fenced: true,
		},
		{
			name: "a limit", given: func(s *store) { s.event.MaxSeatsPerUser = 1 }, ask: acquire(1, 2),
			code: holdfast.CodeSeatLimitReached, fenced: true,
		},
		{name: "a release of no lock", ask: inventory.Release{LockID: lockID(1)}, code: holdfast.CodeLockNotFound, fenced: true},
		{
			name: "a release that is late", given: func(s *store) { s.withLock(1, 1, "ACTIVE", past) },
			ask: inventory.Release{LockID: lockID(1)}, code: holdfast.CodeLockExpired, fenced: true,
		},
		{name: "a release again", given: func(s *store) { s.withLock(1, 1, "RELEASED", past) }, ask: inventory.Release{LockID: lockID(1)}},
		{name: "a cancellation of no booking", ask: inventory.Cancel{BookingID: bookingID(1)}, code: holdfast.CodeBookingNotFound, fenced: true},
		{
			name: "a cancellation that is late", given: func(s *store) { s.withLock(1, 1, "ACTIVE", soon).withBooking(1, "PAYMENT_PENDING", past) },
			ask: inventory.Cancel{BookingID: bookingID(1), LockID: lockID(1)}, code: holdfast.CodeBookingExpired, fenced: true,
		},
		{
			name: "a sale of a cancelled event", given: func(s *store) { s.event.Status = holdfast.Cancelled },
			ask: change(holdfast.EventChange{Status: &open}), code: holdfast.CodeEventNotOnSale, fenced: true,
		},
		{
			name: "a capacity", given: func(s *store) { s.withLock(1, 2, "ACTIVE", soon) },
			ask: change(holdfast.EventChange{TotalSeats: &one}), code: holdfast.CodeCapacityBelowTaken, fenced: true,
		},
		{name: "an event that does not exist", given: func(s *store) { s.event = nil }, ask: keyed(1, 1, "k"), code: holdfast.CodeEventNotFound},
		{
			name: "a change of an event that does not exist", given: func(s *store) { s.event = nil },
			ask: change(holdfast.EventChange{TotalSeats: &one}), code: holdfast.CodeEventNotFound,
		},
	} {
		for name, p := range map[string]*pipeline{
			"": {}, ", remembered": {remember: true}, ", held": {hold: true},
		} {
			t.Run(row.name+name, func(t *testing.T) {
				p.store, p.rules = newStore(5), theRules
				if row.given != nil {
					row.given(p.store)
				}
				p.remembered = copyOf(p.store.event)
				wantCode(t, p.batch(t, row.ask)[0], row.code)
				// A transaction that holds the event has written it.
				if fenced := p.store.fences > 0; !p.hold && fenced != row.fenced {
					t.Errorf("the event was fenced: %v, want %v", fenced, row.fenced)
				}
			})
		}
	}
}

// In a transaction that has written the event, no fence is needed.
func TestRefusal_OnAFencedStateNeedsNoMore(t *testing.T) {
	state := newStore(0).load(inventory.Needs{Keys: []inventory.UserKey{{User: alice, Key: "k"}}, Due: 1})
	commands := []inventory.Command{keyed(1, 1, "k")}
	if _, _, needs := inventory.Decide(state, commands, theRules); !needs.Fence {
		t.Error("a refusal needs no fence")
	}
	state.Fenced = true
	if _, results, needs := inventory.Decide(state, commands, theRules); !needs.None() || results[0].Err == nil {
		t.Errorf("needs %+v, results %+v", needs, results)
	}
}

func TestRefusal_ChangesNothing(t *testing.T) {
	s := newStore(2).withLock(1, 1, "ACTIVE", in(time.Minute))
	before := s.clone()
	p := &pipeline{store: s, rules: theRules}
	p.batch(t, keyed(2, 2, "k"), inventory.Release{LockID: lockID(7)}, acquire(3, 5))
	if !p.plan.IsEmpty() || !reflect.DeepEqual(s.locks, before.locks) || !reflect.DeepEqual(*s.event, *before.event) {
		t.Errorf("the plan is %+v", p.plan)
	}
}

// A refusal for time alone raises the lock's revision: a transaction that began in time
// and would still extend or confirm it conflicts.
func TestRefusal_BecauseOfTimeRaisesTheLocksRevision(t *testing.T) {
	past, soon := in(-time.Minute), in(time.Minute)
	window := holdfast.Until{For: time.Minute}
	request := holdfast.BookingRequest{UserID: alice, EventID: eventID, LockID: lockID(1)}
	for _, row := range []struct {
		name    string
		command inventory.Command
		booking holdfast.BookingStatus
		raised  bool
	}{
		{name: "release", command: inventory.Release{LockID: lockID(1)}, raised: true},
		{name: "extend", command: inventory.Extend{LockID: lockID(1), Until: window}, raised: true},
		{name: "book", command: inventory.Book{BookingRequest: request, BookingID: bookingID(2)}, raised: true},
		{name: "cancel", command: inventory.Cancel{BookingID: bookingID(1), LockID: lockID(1)}, booking: "INITIATED", raised: true},
		{name: "pay", command: inventory.Pay{BookingID: bookingID(1), Window: window}, booking: "INITIATED", raised: true},
		{name: "pay again", command: inventory.Pay{BookingID: bookingID(1), Window: window}, booking: "PAYMENT_PENDING", raised: true},
		{name: "confirm", command: inventory.Confirm{BookingID: bookingID(1)}, booking: "PAYMENT_PENDING", raised: true},
		{name: "confirm early", command: inventory.Confirm{BookingID: bookingID(1)}, booking: "INITIATED", raised: true},
		{name: "confirm an ended booking", command: inventory.Confirm{BookingID: bookingID(1)}, booking: "EXPIRED"},
		{name: "cancel an ended booking", command: inventory.Cancel{BookingID: bookingID(1), LockID: lockID(1)}, booking: "EXPIRED"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(2).withLock(1, 1, "ACTIVE", past)
			if row.booking != "" {
				s.withBooking(1, row.booking, soon)
			}
			r := s.one(t, row.command)
			if r.Err == nil {
				t.Fatalf("got %+v", r)
			}
			if raised := *s.locks[lockID(1)].Revision == 1; raised != row.raised {
				t.Errorf("the lock's revision was raised: %v, want %v", raised, row.raised)
			}
			s.wantLock(t, 1, holdfast.LockActive)
			if !s.locks[lockID(1)].ExpiresAt.Equal(past) || s.event.Revision != 0 {
				t.Errorf("the lock is %+v, the event's revision %d", s.locks[lockID(1)], s.event.Revision)
			}
		})
	}
}

func TestRefusal_OfALockThatHasEndedWritesNothing(t *testing.T) {
	for _, status := range []holdfast.LockStatus{holdfast.LockConsumed, holdfast.LockExpired} {
		t.Run(string(status), func(t *testing.T) {
			s := newStore(2).withLock(1, 1, status, in(-time.Minute))
			p := &pipeline{store: s, rules: theRules}
			if r := p.batch(t, inventory.Release{LockID: lockID(1)})[0]; r.Err == nil || !p.plan.IsEmpty() {
				t.Errorf("got %v, and the plan %+v", r.Err, p.plan)
			}
		})
	}
}
