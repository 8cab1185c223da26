package inventory_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// obstacles are reasons to refuse a request, in the order in which the contract checks them. Each
// puts its reason into the store and the rules.
type obstacle struct {
	code  holdfast.Code
	build func(t *testing.T, s *store, p *pipeline, c *inventory.Acquire)
}

var acquireObstacles = []obstacle{
	{"USER_NOT_FOUND", func(_ *testing.T, _ *store, p *pipeline, _ *inventory.Acquire) {
		p.unknown = map[ID]*holdfast.Error{alice: holdfast.NotFound(holdfast.CodeUserNotFound)}
	}},
	{"IDEMPOTENCY_KEY_REUSED", func(t *testing.T, s *store, _ *pipeline, c *inventory.Acquire) {
		c.Key = "k1"
		s.holds(t, 8, "B1").locks[lockID(8)].Key = "k1"
		s.locks[lockID(8)].RequestHash = "another"
	}},
	{"VALIDATION_FAILED", func(_ *testing.T, _ *store, _ *pipeline, c *inventory.Acquire) {
		c.Wish.SeatIDs = append(c.Wish.SeatIDs, "nowhere")
		c.Seats++
	}},
	{"EVENT_NOT_ON_SALE", func(_ *testing.T, s *store, _ *pipeline, _ *inventory.Acquire) { s.event.Status = holdfast.Closed }},
	{"SEAT_LIMIT_REACHED", func(_ *testing.T, _ *store, p *pipeline, _ *inventory.Acquire) { p.rules.MaxSeatsPerLock = 1 }},
	{"SEATS_UNAVAILABLE", func(t *testing.T, s *store, _ *pipeline, _ *inventory.Acquire) { s.blocks(t, 9, "A1") }},
	{"SEAT_ORPHANED", func(_ *testing.T, s *store, _ *pipeline, _ *inventory.Acquire) {
		s.event.Seating.OrphanRule = holdfast.OrphansRefused
	}},
}

func TestAcquire_SeatsAreCheckedInTheContractsOrder(t *testing.T) {
	for first := range acquireObstacles {
		t.Run(string(acquireObstacles[first].code), func(t *testing.T) {
			s := newSeated(t, hallOf("A1 A2 A3 A4", "B1 B2"))
			p := &pipeline{store: s, rules: theRules}
			c := named(1, "A2 A3")
			for _, o := range acquireObstacles[first:] {
				if o.code == "SEATS_UNAVAILABLE" {
					c.Wish.SeatIDs[1] = "A1"
				}
				o.build(t, s, p, &c)
			}
			if acquireObstacles[first].code == "SEAT_ORPHANED" { // A2 and A3 leave A1 and A4
				c.Wish.SeatIDs = []string{"A2", "A3"}
			}
			wantCode(t, p.batch(t, c)[0], acquireObstacles[first].code)
		})
	}
}

func TestAcquire_ARepeatIsAnsweredBeforeWhatDoesNotFitThePlan(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2"))
	c := named(1, "A1 A2")
	c.Key = "k1"
	wantCode(t, s.one(t, c), "")
	s.event.Status = holdfast.Closed
	for _, name := range []string{"the same order", "another order"} {
		again := named(2, "A1 A2")
		again.Key = "k1"
		if name == "another order" {
			again = named(2, "A2 A1")
			again.Key = "k1"
		}
		r := s.one(t, again)
		if r.Err != nil || !r.Replayed || r.Lock.ID != lockID(1) {
			t.Errorf("%s: %+v, want lock 1 again", name, r)
		}
	}
	misfit := named(2, "A1 nowhere")
	misfit.Key = "k1"
	wantCode(t, s.one(t, misfit), "IDEMPOTENCY_KEY_REUSED")
}

// changeObstacles are reasons to refuse a change of lock 1 from A1 and A2 to A3, A4 and A5, in order.
var changeObstacles = []struct {
	code  holdfast.Code
	build func(t *testing.T, s *store, p *pipeline, c *inventory.ChangeSeats)
}{
	{"LOCK_NOT_FOUND", func(_ *testing.T, _ *store, _ *pipeline, c *inventory.ChangeSeats) { c.LockID = lockID(999) }},
	{"LOCK_EXPIRED", func(_ *testing.T, s *store, _ *pipeline, _ *inventory.ChangeSeats) {
		s.locks[lockID(1)].ExpiresAt = begin
	}},
	{"LOCK_HAS_BOOKING", func(_ *testing.T, s *store, _ *pipeline, _ *inventory.ChangeSeats) {
		s.withBooking(1, holdfast.BookingPending, in(minutes(5)))
	}},
	{"SEAT_LIMIT_REACHED", func(_ *testing.T, s *store, _ *pipeline, _ *inventory.ChangeSeats) { s.event.MaxSeatsPerUser = 2 }},
	{"EVENT_NOT_ON_SALE", func(_ *testing.T, s *store, _ *pipeline, _ *inventory.ChangeSeats) { s.event.Status = holdfast.Closed }},
	{"SEATS_UNAVAILABLE", func(t *testing.T, s *store, _ *pipeline, _ *inventory.ChangeSeats) {
		s.withSeats(t, 2, holdfast.LockActive, in(minutes(1)), "A5")
		s.locks[lockID(2)].UserID = bob
	}},
}

func TestChangeSeats_IsCheckedInTheContractsOrder(t *testing.T) {
	for first := range changeObstacles {
		t.Run(string(changeObstacles[first].code), func(t *testing.T) {
			s := newSeated(t, hallOf("A1 A2 A3 A4 A5 A6")).holds(t, 1, "A1 A2")
			p := &pipeline{store: s, rules: theRules}
			c := changeTo(named(0, "A3 A4 A5"))
			for _, o := range changeObstacles[first:] {
				o.build(t, s, p, &c)
			}
			wantCode(t, p.batch(t, c)[0], changeObstacles[first].code)
			s.wantSeats(t, 1, holdfast.LockActive, "A1 A2")
		})
	}
}

// The wishes that the hall does not have, or that the event is not made for.
func TestDecide_RefusesWishesThatDoNotFitTheEvent(t *testing.T) {
	odd := map[string]holdfast.Wish{
		"an unknown seat":                            named(0, "A1 nowhere").Wish,
		"a seat named twice":                         named(0, "A1 A2 A1").Wish,
		"accessible seats that are not asked for":    named(0, "A1 A5").Wish,
		"accessible seats that are not named":        {SeatIDs: []string{"A1"}, Accessible: 1},
		"an unknown category":                        best(0, 1, holdfast.BestAvailable{Categories: []string{"stalls", "nothing"}}).Wish,
		"an unknown section":                         best(0, 1, holdfast.BestAvailable{Section: "nowhere"}).Wish,
		"the best of general admission":              best(0, 1, holdfast.BestAvailable{Section: standing}).Wish,
		"general admission of an unknown section":    {Section: "nowhere"},
		"general admission of a section with rows":   {Section: "main"},
		"a number of seats, as of an unseated event": {},
	}
	for name, wish := range odd {
		t.Run(name, func(t *testing.T) {
			s := newSeated(t, hallOf("A1 A2 A3 A4 A5*")).holds(t, 1, "A1")
			c := acquire(2, max(1, int64(len(wish.SeatIDs))))
			c.Wish = wish
			wantCode(t, s.one(t, c), "VALIDATION_FAILED")
			wantCode(t, s.one(t, changeTo(c)), "VALIDATION_FAILED")
			if s.fences == 0 {
				t.Errorf("the refusals were not fenced")
			}
			s.wantTaken(t, "A1")
		})
	}
	t.Run("of an unseated event", func(t *testing.T) {
		s := newStore(5).withLock(1, 2, holdfast.LockActive, in(minutes(10)))
		for _, c := range []inventory.Acquire{named(2, "A1"), best(2, 1, holdfast.BestAvailable{}), stand(2, 1)} {
			wantCode(t, s.one(t, c), "VALIDATION_FAILED")
			wantCode(t, s.one(t, changeTo(c)), "VALIDATION_FAILED")
		}
		wantCode(t, s.one(t, block(2, "A1")), "VALIDATION_FAILED")
		wantCode(t, s.one(t, unblock("A1")), "VALIDATION_FAILED")
		s.wantCounter(t, 3, 0)
	})
	t.Run("of a block", func(t *testing.T) {
		s := newSeated(t, hallOf("A1 A2"))
		for _, c := range []inventory.Command{block(1, "A1 nowhere"), block(1, "A1 A1"), unblock("A1 nowhere"), unblock("A2 A2")} {
			wantCode(t, s.one(t, c), "VALIDATION_FAILED")
		}
		s.wantTaken(t, "")
	})
}

func TestAcquire_AccessibleSeats(t *testing.T) {
	for _, row := range []struct {
		name    string
		policy  holdfast.AccessiblePolicy
		request inventory.Acquire
		want    string // "": refused
	}{
		{"named and asked for", "RESERVED", with(named(1, "A2 A3"), 1), "A2 A3"},
		{"open", "OPEN", named(1, "A1 A2"), "A1 A2"},
		{"best takes none", "RESERVED", best(1, 2, holdfast.BestAvailable{}), "A3 A4"},
		{"best takes none of them, though there are no others", "RESERVED", best(1, 3, holdfast.BestAvailable{}), ""},
		{"best takes as many as asked for", "RESERVED", best(1, 2, holdfast.BestAvailable{Accessible: 1}), "A2 A3"},
		{"best takes all of them", "RESERVED", best(1, 2, holdfast.BestAvailable{Accessible: 2}), "A1 A2"},
		{"best takes any where they are open", "OPEN", best(1, 4, holdfast.BestAvailable{}), "A1 A2 A3 A4"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSeated(t, hallOf("A1* A2* A3 A4"))
			s.event.Seating.AccessiblePolicy = row.policy
			r := s.one(t, row.request)
			if (r.Err == nil) != (row.want != "") {
				t.Fatalf("got %+v, want %q", r, row.want)
			}
			s.wantTaken(t, row.want)
		})
	}
}

// with asks for as many accessible seats.
func with(c inventory.Acquire, accessible int64) inventory.Acquire {
	c.Wish.Accessible = accessible
	return c
}
