package inventory_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func TestChangeSeats_TakesAllOfTheNewWish(t *testing.T) {
	for _, row := range []struct {
		name, from string
		to         inventory.Acquire
		want       string
	}{
		{"other seats", "A1 A2", named(0, "A4 A3"), "A3 A4"},
		{"more seats, its own among them", "A1 A2", named(0, "A1 A2 A3"), "A1 A2 A3"},
		{"fewer seats", "A1 A2 A3", named(0, "A2"), "A2"},
		{"the same seats", "A1 A2", named(0, "A2 A1"), "A1 A2"},
		{"best of as many seats keeps its own", "A1 A2", best(0, 2, holdfast.BestAvailable{}), "A1 A2"},
		{"best keeps its own, though others are nearer", "A4 B4", best(0, 2, holdfast.BestAvailable{}), "A4 B4"},
		{"best that has to be together leaves its own", "A1 A4", best(0, 2, holdfast.BestAvailable{Required: true}), "A1 A2"},
		{"best that has to be together keeps its own", "B2 B3", best(0, 2, holdfast.BestAvailable{Required: true}), "B2 B3"},
		{"best leaves its own of two sections", "A1 C1", best(0, 2, holdfast.BestAvailable{}), "A1 A2"},
		{"best of a section leaves another", "C1 C2", best(0, 2, holdfast.BestAvailable{Section: "main"}), "A1 A2"},
		{"best of more seats may have its own", "A1 A2", best(0, 4, holdfast.BestAvailable{Required: true}), "A1 A2 A3 A4"},
		{"best of another section", "pit pit", best(0, 2, holdfast.BestAvailable{Section: "main"}), "A1 A2"},
		{"best of another category", "A1 A2", best(0, 1, holdfast.BestAvailable{Categories: []string{"stalls"}}), "A1"},
		{"standing", "A1 A2", stand(0, 3), "pit pit pit"},
		{"more of standing", "pit pit", stand(0, 4), "pit pit pit pit"},
		{"from standing to seats", "pit pit", named(0, "A1"), "A1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			plan := hallOf("A1 A2 A3 A4", "B1 B2 B3 B4")
			plan.Sections = append(plan.Sections, holdfast.Section{Key: "side", Name: "Side", Category: "stalls", Rows: []holdfast.Row{
				{Key: "1", Seats: []*holdfast.Seat{{ID: "C1"}, {ID: "C2"}}},
			}})
			s := newSeated(t, plan).holds(t, 1, row.from)
			expires := s.locks[lockID(1)].ExpiresAt
			s.now = s.now.Add(time.Minute)
			r := s.one(t, changeTo(row.to))
			wantCode(t, r, "")
			s.wantSeats(t, 1, holdfast.LockActive, row.want)
			if r.Lock.Seats != s.locks[lockID(1)].Seats || !r.Lock.ExpiresAt.Equal(expires) || !s.locks[lockID(1)].ExpiresAt.Equal(expires) {
				t.Errorf("answered %+v, stored %+v, want it until %v", r.Lock, s.locks[lockID(1)], expires)
			}
		})
	}
}

func TestChangeSeats_LeavesTheLockAsItIsIfItIsRefused(t *testing.T) {
	for _, row := range []struct {
		name    string
		to      inventory.Acquire
		code    holdfast.Code
		details any
	}{
		{"seats of another lock", named(0, "A1 A2 A3"), "SEATS_UNAVAILABLE", unavailable(3, 2, "A3")},
		{"too many", best(0, 8, holdfast.BestAvailable{}), "SEATS_UNAVAILABLE", unavailable(8, 6)},
		{"not together", best(0, 6, holdfast.BestAvailable{Required: true}), "SEATS_NOT_ADJACENT", holdfast.SeatsNotAdjacent{Longest: 4}},
		{"standing", stand(0, 5), "SEATS_UNAVAILABLE", unavailable(5, 4)},
		{"an orphan", named(0, "B1 B3"), "SEAT_ORPHANED", holdfast.SeatOrphaned{Orphans: []string{"B2", "B4"}}},
		{"an orphan of its own seats", named(0, "A2"), "SEAT_ORPHANED", holdfast.SeatOrphaned{Orphans: []string{"A1", "A3"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSeated(t, hallOf("A1 A2 A3 | A4", "B1 B2 B3 B4")).holds(t, 1, "A1 A2").holds(t, 2, "A3 A4")
			s.event.Seating.OrphanRule = holdfast.OrphansRefused
			if row.name == "an orphan of its own seats" { // A1, A2 and A3 are free without it
				delete(s.locks, lockID(2))
				s.event.AvailableSeats += 2
				s.seats.bits, s.seats.general = s.union(t)
			}
			before := s.clone()
			wantDetails(t, s.one(t, changeTo(row.to)), row.code, row.details)
			s.wantSeats(t, 1, holdfast.LockActive, "A1 A2")
			s.wantCounter(t, before.event.AvailableSeats, 0)
		})
	}
}

func TestChangeSeats_ByTheEventsStatus(t *testing.T) {
	for _, row := range []struct {
		status holdfast.EventStatus
		to     string
		code   holdfast.Code
	}{
		{"ON_SALE", "A3 A4 A5", ""}, {"CLOSED", "A3 A4 A5", "EVENT_NOT_ON_SALE"}, {"CLOSED", "A3 A4", ""}, {"CLOSED", "A3", ""},
		{"CANCELLED", "A1", "EVENT_NOT_ON_SALE"}, {"PLANNED", "A3 A4 A5", "EVENT_NOT_ON_SALE"}, {"PLANNED", "A3", ""},
	} {
		s := newSeated(t, hallOf("A1 A2 A3 A4 A5")).holds(t, 1, "A1 A2")
		s.event.Status = row.status
		wantCode(t, s.one(t, changeTo(named(0, row.to))), row.code)
	}
}

func TestChangeSeats_OfAnUnseatedEvent(t *testing.T) {
	for _, row := range []struct {
		seats     int64
		available int64 // afterwards
		details   any   // of a refusal
	}{
		{1, 4, nil}, {2, 3, nil}, {5, 0, nil}, {6, 3, unavailable(6, 5)},
	} {
		s := newStore(5).withLock(1, 2, holdfast.LockActive, in(minutes(10)))
		r := s.one(t, changeTo(acquire(0, row.seats)))
		if row.details != nil {
			wantDetails(t, r, "SEATS_UNAVAILABLE", row.details)
		} else if wantCode(t, r, ""); s.locks[lockID(1)].Seats != row.seats || r.Lock.Seats != row.seats {
			t.Errorf("the lock has %d seats, answered %d, want %d", s.locks[lockID(1)].Seats, r.Lock.Seats, row.seats)
		}
		s.wantCounter(t, row.available, 0)
	}
}

func TestChangeSeats_ReclaimsDueLocks(t *testing.T) {
	s := newStore(5).withLock(1, 2, holdfast.LockActive, in(minutes(10))).withLock(2, 3, holdfast.LockActive, begin)
	wantCode(t, s.one(t, changeTo(acquire(0, 3))), "")
	s.wantLock(t, 2, holdfast.LockExpired)
	s.wantCounter(t, 2, 0)

	s = newSeated(t, hallOf("A1 A2 A3 A4")).holds(t, 1, "A1 A2").held(t, 2, "A3 A4")
	wantCode(t, s.one(t, changeTo(named(0, "A2 A3"))), "")
	s.wantLock(t, 2, holdfast.LockExpired)
	s.wantTaken(t, "A2 A3")
}

// The seats that a change adds or gives back count for the next request of the batch.
func TestChangeSeats_CountsForItsUserAtOnce(t *testing.T) {
	for _, row := range []struct {
		to   string
		code holdfast.Code
	}{{"A1", ""}, {"A1 A2", "SEAT_LIMIT_REACHED"}, {"A1 A2 A3", "SEAT_LIMIT_REACHED"}} {
		s := newSeated(t, hallOf("A1 A2 A3 A4 A5")).holds(t, 1, "A1 A2")
		s.event.MaxSeatsPerUser = 3
		p := &pipeline{store: s, rules: theRules}
		results := p.batch(t, changeTo(named(0, row.to)), named(2, "A4 A5"))
		wantCode(t, results[0], "")
		wantCode(t, results[1], row.code)
	}
}

// One batch changes a lock twice and then ends it, repeats its request, or gives its seats to others.
func TestChangeSeats_InABatch(t *testing.T) {
	made := named(1, "A1 A2")
	made.Key = "k1"
	again := made
	again.LockID = lockID(2)
	for _, row := range []struct {
		name  string
		batch []inventory.Command
		taken string
	}{
		{"twice", []inventory.Command{changeTo(named(0, "A3")), changeTo(named(0, "A4 A5"))}, "A4 A5"},
		{"and back", []inventory.Command{changeTo(named(0, "A3")), changeTo(named(0, "A1 A2"))}, "A1 A2"},
		{"and released", []inventory.Command{changeTo(named(0, "A3")), inventory.Release{LockID: lockID(1)}}, ""},
		{"its old seats go to another lock", []inventory.Command{changeTo(named(0, "A3")), named(2, "A1 A2")}, "A1 A2 A3"},
		{"its request again", []inventory.Command{changeTo(named(0, "A3")), again}, "A3"},
		{"refused, then its seats are asked for", []inventory.Command{changeTo(named(0, "A1 A6")), named(2, "A1")}, "A1 A2 A6"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSeated(t, hallOf("A1 A2 A3 A4 A5 A6")).blocks(t, 7, "A6")
			if row.name != "refused, then its seats are asked for" {
				s = newSeated(t, hallOf("A1 A2 A3 A4 A5 A6"))
			}
			wantCode(t, s.one(t, made), "")
			m := seatModelOf(s, theRules, nil)
			p := &pipeline{store: s, rules: theRules}
			for i, r := range p.batch(t, row.batch...) {
				if want := m.do(row.batch[i]); !equal(hallOutcomeOf(row.batch[i], r), want) {
					t.Errorf("%s is answered\n%v, want\n%v", described(row.batch[i]), hallOutcomeOf(row.batch[i], r), want)
				}
			}
			s.wantTaken(t, row.taken)
			if diff := m.difference(s); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBlock_TakesAllOfTheSeatsOrNone(t *testing.T) {
	for _, row := range []struct {
		name, seats string
		code        holdfast.Code
		unavailable []string
		taken       string
		blocked     int64
	}{
		{"free seats", "A4 B1", "", nil, "A1 A2 A3 A4 B1 B2 B3", 3},
		{"one that is blocked already", "A3 A4", "", nil, "A1 A2 A3 A4 B2 B3", 2},
		{"seats that are blocked already", "A3", "", nil, "A1 A2 A3 B2 B3", 1},
		{"a locked seat", "A4 A2", "SEATS_UNAVAILABLE", []string{"A2"}, "A1 A2 A3 B2 B3", 1},
		{"a sold seat", "A4 B2 A1", "SEATS_UNAVAILABLE", []string{"A1", "B2"}, "A1 A2 A3 B2 B3", 1},
		{"a seat of a due lock", "B3", "", nil, "A1 A2 A3 B2 B3", 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSeated(t, hallOf("A1 A2 A3 A4", "B1 B2 B3")).holds(t, 1, "A1 A2").blocks(t, 2, "A3").held(t, 4, "B3").
				withSeats(t, 3, holdfast.LockConsumed, begin, "B2").withBooking(3, holdfast.BookingConfirmed, begin)
			s.event.Status, s.event.Seating.OrphanRule = holdfast.Closed, holdfast.OrphansRefused // neither is about the venue
			for range 2 {
				r := s.one(t, block(9, row.seats))
				wantCode(t, r, row.code)
				if d, _ := holdfast.DetailsOf[holdfast.SeatsUnavailable](r.Err); !equalStrings(d.Unavailable, row.unavailable) {
					t.Errorf("refused because of %v, want %v", d.Unavailable, row.unavailable)
				}
				if r.Err == nil && r.Event.Seating.BlockedSeats != row.blocked {
					t.Errorf("answered %d blocked seats, want %d", r.Event.Seating.BlockedSeats, row.blocked)
				}
				s.wantTaken(t, row.taken)
			}
		})
	}
}

func TestUnblock_FreesTheSeatsThatAreBlocked(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3 A4 A5")).blocks(t, 1, "A1 A2 A3").blocks(t, 2, "A4").holds(t, 3, "A5")
	for _, row := range []struct {
		seats, taken string
		blocked      int64
	}{{"A5", "A1 A2 A3 A4 A5", 4}, {"A2 A4", "A1 A3 A5", 2}, {"A4 A2", "A1 A3 A5", 2}, {"A1 A3", "A5", 0}} {
		r := s.one(t, unblock(row.seats))
		wantCode(t, r, "")
		if r.Event.Seating.BlockedSeats != row.blocked {
			t.Errorf("after %s: %d seats are blocked, want %d", row.seats, r.Event.Seating.BlockedSeats, row.blocked)
		}
		s.wantTaken(t, row.taken)
	}
	s.wantLock(t, 1, holdfast.LockReleased)
	s.wantLock(t, 2, holdfast.LockReleased)
	s.wantCounter(t, 8, 0)
}

// A lock of other software may not say where its seats are. It counts in the event alone.
func TestAcquire_SeatsThatOtherSoftwareTookSomewhere(t *testing.T) {
	for name, c := range map[string]inventory.Command{
		"named":    named(2, "A1 A2 A3"),
		"best":     best(2, 3, holdfast.BestAvailable{Section: "main"}),
		"standing": stand(2, 3),
		"block":    block(2, "A1 A2 A3"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeated(t, hallOf("A1 A2 A3")).withLock(1, 5, holdfast.LockActive, in(minutes(10)))
			wantCode(t, s.one(t, c), "SEATS_UNAVAILABLE") // 7 seats, of which 5 are taken
			s.wantTaken(t, "")
			s.wantCounter(t, 2, 0)
			wantCode(t, s.one(t, inventory.Release{LockID: lockID(1)}), "")
			s.wantCounter(t, 7, 0)
			wantCode(t, s.one(t, c), "")
		})
	}
	t.Run("a due one is reclaimed", func(t *testing.T) {
		s := newSeated(t, hallOf("A1 A2 A3")).withLock(1, 5, holdfast.LockActive, begin)
		wantCode(t, s.one(t, named(2, "A1 A2 A3")), "")
		s.wantLock(t, 1, holdfast.LockExpired)
		s.wantCounter(t, 4, 0)
	})
}

// A lock that gets no more seats than it has fits an event that other software has oversold. What it gives
// back is paid down first.
func TestChangeSeats_FewerSeatsFitAnOversoldEvent(t *testing.T) {
	for _, row := range []struct {
		seats               int64
		code                holdfast.Code
		available, oversold int64
	}{{1, "", 0, 2}, {2, "", 0, 3}, {3, "", 0, 4}, {4, "SEATS_UNAVAILABLE", 0, 4}} {
		s := newStore(4).withLock(1, 3, holdfast.LockActive, in(minutes(10))).withLock(2, 5, holdfast.LockActive, in(minutes(10)))
		s.event.AvailableSeats, s.event.Oversold = 0, 4
		wantCode(t, s.one(t, inventory.ChangeSeats{LockID: lockID(1), Seats: row.seats}), row.code)
		s.wantCounter(t, row.available, row.oversold)
	}
	s := newSeated(t, hallOf("A1 A2 A3")).holds(t, 1, "A1 A2").withLock(2, 7, holdfast.LockActive, in(minutes(10)))
	s.event.AvailableSeats, s.event.Oversold = 0, 2
	wantCode(t, s.one(t, changeTo(named(1, "A3"))), "")
	s.wantCounter(t, 0, 1)
	s.wantTaken(t, "A3")
}

// Other software may have locked more of a section than it has. A change that is refused leaves what is taken as it
// is, and a lock may have as many as it had, or fewer.
func TestChangeSeats_InASectionWithMoreThanItsCapacity(t *testing.T) {
	for _, row := range []struct {
		name string
		to   inventory.Acquire
		code holdfast.Code
		pit  int64 // taken afterwards
	}{
		{"more", stand(0, 4), holdfast.CodeSeatsUnavailable, 6},
		{"seats that are taken", named(0, "A1"), holdfast.CodeSeatsUnavailable, 6},
		{"fewer", stand(0, 2), "", 5},
		{"other seats", named(0, "A2"), "", 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSeated(t, hallOf("A1 A2 A3 A4")).holds(t, 1, "pit pit pit").holds(t, 2, "pit pit pit").holds(t, 3, "A1")
			for range 2 {
				wantCode(t, s.one(t, changeTo(row.to)), row.code)
				if got := s.seats.general[1]; got != row.pit {
					t.Errorf("%d places of the section are taken, want %d", got, row.pit)
				}
			}
		})
	}
}

// A change that is refused has moved nothing: the command that took the last seats sold the event out.
func TestChanges_SoldOutIsNotOfARefusedChange(t *testing.T) {
	s := newStore(3).withLock(1, 1, holdfast.LockActive, in(minutes(10)))
	p := &pipeline{store: s, rules: theRules}
	p.batch(t, acquire(2, 2), inventory.ChangeSeats{LockID: lockID(1), Seats: 3})
	told := p.plan.EventChanges(s.event.Event)
	if !slices.Contains(told, holdfast.ChangeEventSoldOut) || p.plan.CountedBy != 0 {
		t.Errorf("told %v of command %d, want that of command 0", told, p.plan.CountedBy)
	}
}

// A block and the last sale in one batch: each change of the event is of its own command.
func TestChanges_SoldOutBesideABlock(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2")).holds(t, 1, "pit pit pit pit")
	p := &pipeline{store: s, rules: theRules}
	p.batch(t, block(2, "A1"), named(3, "A2"))
	told := p.plan.EventChanges(s.event.Event)
	want := []holdfast.ChangeType{holdfast.ChangeSeatsBlocked, holdfast.ChangeEventSoldOut}
	if !slices.Equal(told, want) || p.plan.ToldBy != 0 || p.plan.CountedBy != 1 {
		t.Errorf("told %v of commands %d and %d", told, p.plan.ToldBy, p.plan.CountedBy)
	}
}
