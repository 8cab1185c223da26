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
		{"granted", newStore(9).event, keyed(1, 1, "key"), inventory.Needs{}},
		{"not on sale", closed, keyed(1, 1, "key"), inventory.Needs{Event: true, Fence: true, Keys: []inventory.UserKey{key}}},
		{"not on sale, no key", closed, acquire(1, 1), inventory.Needs{Event: true, Fence: true}},
		{"beyond the cap", newStore(9).event, beyond, inventory.Needs{Event: true, Fence: true, Keys: []inventory.UserKey{key}}},
		{"sold out", soldOut, keyed(1, 1, "key"),
			inventory.Needs{Event: true, Fence: true, Keys: []inventory.UserKey{key}, Due: inventory.MaxReclaim}},
		{"sold out, no key", soldOut, acquire(1, 1), inventory.Needs{Event: true, Due: inventory.MaxReclaim}},
		{"a limit that needs the holding", limited, acquire(1, 1), inventory.Needs{Holdings: []ID{alice}}},
		{"a capacity below the seats taken", taken, capacity, inventory.Needs{Event: true, Fence: true}},
		{"an event that is not known", nil, keyed(1, 1, "key"), inventory.Needs{Event: true}},
		{"a change of an event that is not known", nil, capacity, inventory.Needs{Event: true}},
		{"a release", newStore(9).event, inventory.Release{LockID: lockID(1)}, inventory.Needs{Locks: []ID{lockID(1)}, LiveOf: []ID{lockID(1)}}},
		{"a release of an event that is not known", nil, inventory.Release{LockID: lockID(1)},
			inventory.Needs{Locks: []ID{lockID(1)}, LiveOf: []ID{lockID(1)}}},
		{"a cancellation", newStore(9).event, inventory.Cancel{BookingID: bookingID(1), LockID: lockID(1)},
			inventory.Needs{Locks: []ID{lockID(1)}, Bookings: []ID{bookingID(1)}}},
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
		{"seats for a key", func(*store) {}, keyed(1, 6, "k"), holdfast.CodeSeatsUnavailable, true},
		{"seats without a key", func(*store) {}, acquire(1, 6), holdfast.CodeSeatsUnavailable, false},
		{"another request's key", func(s *store) { s.withLock(9, 1, "ACTIVE", soon, keyedBy(keyed(9, 1, "k"))) },
			keyed(1, 6, "k"), holdfast.CodeIdempotencyKeyReused, true},
		{"not on sale", func(s *store) { s.event.Status = holdfast.Closed }, acquire(1, 1), holdfast.CodeEventNotOnSale, true},
		{"a limit", func(s *store) { s.event.MaxSeatsPerUser = 1 }, acquire(1, 2), holdfast.CodeSeatLimitReached, true},
		{"a release of no lock", func(*store) {}, inventory.Release{LockID: lockID(1)}, holdfast.CodeLockNotFound, true},
		{"a release that is late", func(s *store) { s.withLock(1, 1, "ACTIVE", past) },
			inventory.Release{LockID: lockID(1)}, holdfast.CodeLockExpired, true},
		{"a release again", func(s *store) { s.withLock(1, 1, "RELEASED", past) }, inventory.Release{LockID: lockID(1)}, "", false},
		{"a cancellation of no booking", func(*store) {}, inventory.Cancel{BookingID: bookingID(1)}, holdfast.CodeBookingNotFound, true},
		{"a cancellation that is late", func(s *store) { s.withLock(1, 1, "ACTIVE", soon).withBooking(1, "PAYMENT_PENDING", past) },
			inventory.Cancel{BookingID: bookingID(1), LockID: lockID(1)}, holdfast.CodeBookingExpired, true},
		{"a sale of a cancelled event", func(s *store) { s.event.Status = holdfast.Cancelled },
			change(holdfast.EventChange{Status: &open}), holdfast.CodeEventNotOnSale, true},
		{"a capacity", func(s *store) { s.withLock(1, 2, "ACTIVE", soon) },
			change(holdfast.EventChange{TotalSeats: &one}), holdfast.CodeCapacityBelowTaken, true},
		{"an event that does not exist", func(s *store) { s.event = nil }, keyed(1, 1, "k"), holdfast.CodeEventNotFound, false},
		{"a change of an event that does not exist", func(s *store) { s.event = nil },
			change(holdfast.EventChange{TotalSeats: &one}), holdfast.CodeEventNotFound, false},
	} {
		for name, p := range map[string]*pipeline{
			"": {}, ", remembered": {remember: true}, ", held": {hold: true},
		} {
			t.Run(row.name+name, func(t *testing.T) {
				p.store, p.rules = newStore(5), theRules
				row.given(p.store)
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
	if !p.plan.IsEmpty() || !reflect.DeepEqual(s.locks, before.locks) || *s.event != *before.event {
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
		{"release", inventory.Release{LockID: lockID(1)}, "", true},
		{"extend", inventory.Extend{LockID: lockID(1), Until: window}, "", true},
		{"book", inventory.Book{BookingRequest: request, BookingID: bookingID(2)}, "", true},
		{"cancel", inventory.Cancel{BookingID: bookingID(1), LockID: lockID(1)}, "INITIATED", true},
		{"pay", inventory.Pay{BookingID: bookingID(1), Window: window}, "INITIATED", true},
		{"pay again", inventory.Pay{BookingID: bookingID(1), Window: window}, "PAYMENT_PENDING", true},
		{"confirm", inventory.Confirm{BookingID: bookingID(1)}, "PAYMENT_PENDING", true},
		{"confirm early", inventory.Confirm{BookingID: bookingID(1)}, "INITIATED", true},
		{"confirm an ended booking", inventory.Confirm{BookingID: bookingID(1)}, "EXPIRED", false},
		{"cancel an ended booking", inventory.Cancel{BookingID: bookingID(1), LockID: lockID(1)}, "EXPIRED", false},
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
		s := newStore(2).withLock(1, 1, status, in(-time.Minute))
		p := &pipeline{store: s, rules: theRules}
		if r := p.batch(t, inventory.Release{LockID: lockID(1)})[0]; r.Err == nil || !p.plan.IsEmpty() {
			t.Errorf("%s: got %v, and the plan %+v", status, r.Err, p.plan)
		}
	}
}
