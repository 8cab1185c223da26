package inventory_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func unavailable(requested, available int64, seats ...string) holdfast.SeatsUnavailable {
	return holdfast.SeatsUnavailable{Requested: requested, Available: available, Unavailable: seats}
}

// What a refusal says of the seats. In the hall, A1 is locked, A3 blocked, B2 sold, and C1 to C3 are
// under a due lock; of the standing places, two are taken.
func TestAcquire_SaysWhatIsAvailable(t *testing.T) {
	box := holdfast.BestAvailable{Categories: []string{"box"}}
	required, main := holdfast.BestAvailable{Required: true}, holdfast.BestAvailable{Section: "main"}
	for _, row := range []struct {
		name    string
		request inventory.Acquire
		code    holdfast.Code
		details any
	}{
		{"named, in plan order", named(9, "C2 B2 A4 A3 A1"), "SEATS_UNAVAILABLE", unavailable(5, 2, "A1", "A3", "B2")},
		{"named, all of them taken", named(9, "B2 A1"), "SEATS_UNAVAILABLE", unavailable(2, 0, "A1", "B2")},
		{"best, after the due locks have ended", best(9, 9, holdfast.BestAvailable{}), "SEATS_UNAVAILABLE", unavailable(9, 8)},
		{"best of a section", best(9, 9, main), "SEATS_UNAVAILABLE", unavailable(9, 7)},
		{"best of a category", best(9, 9, holdfast.BestAvailable{Categories: []string{"stalls"}}), "SEATS_UNAVAILABLE", unavailable(9, 7)},
		{"best of a category that has few", best(9, 2, box), "SEATS_UNAVAILABLE", unavailable(2, 1)},
		{"together", best(9, 5, required), "SEATS_NOT_ADJACENT", holdfast.SeatsNotAdjacent{Longest: 4}},
		{"together, of too few", best(9, 9, required), "SEATS_UNAVAILABLE", unavailable(9, 8)},
		{"standing", stand(9, 3), "SEATS_UNAVAILABLE", unavailable(3, 2)},
	} {
		t.Run(row.name, func(t *testing.T) {
			plan := hallOf("A1 A2 A3 A4", "B1 B2", "C1 C2 C3 C4")
			plan.Categories = append(plan.Categories, holdfast.Category{Key: "box", Name: "Box"})
			plan.Sections = append(plan.Sections, holdfast.Section{Key: "box", Name: "Box", Category: "box", Rows: []holdfast.Row{
				{Key: "1", Seats: []*holdfast.Seat{{ID: "D1"}}},
			}})
			s := newSeated(t, plan).holds(t, 1, "A1").blocks(t, 2, "A3").withSeats(t, 3, holdfast.LockConsumed, begin, "B2").
				withBooking(3, holdfast.BookingConfirmed, begin).held(t, 4, "C1 C2 C3").holds(t, 5, "pit pit")
			wantDetails(t, s.one(t, row.request), row.code, row.details)
			if s.locks[lockID(9)] != nil {
				t.Errorf("a refused lock was made")
			}
		})
	}
}

// Locks of other software do not say where their seats are, so named seats are free in the map although the event has
// too few left: they are refused by their names. Nothing is read for it that was not read before.
func TestSeats_NamedSeatsOfAnEventWithTooFewAreNamed(t *testing.T) {
	exchange := inventory.ChangeSeats{LockID: lockID(1), Seats: 2, Wish: named(0, "A1 A3").Wish}
	for _, row := range []struct {
		name     string
		unplaced int64
		ask      inventory.Command
		details  holdfast.SeatsUnavailable
	}{
		{"none is left", 7, named(9, "A3 A2"), unavailable(2, 0, "A2", "A3")},
		{"one is left", 6, named(9, "A4 A3 A2"), unavailable(3, 1, "A2", "A3", "A4")},
		{"an exchange keeps what it has", 7, exchange, unavailable(2, 1, "A3")},
		{"blocks", 7, block(9, "A3"), unavailable(1, 0, "A3")},
		{"best available has no names", 7, best(9, 1, holdfast.BestAvailable{}), unavailable(1, 0)},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSeated(t, hallOf("A1 A2 A3 A4")).holds(t, 1, "A1").withLock(8, row.unplaced, holdfast.LockActive, in(minutes(10)))
			wantDetails(t, s.one(t, row.ask), "SEATS_UNAVAILABLE", row.details)
		})
	}
}

// Where the accessible seats are too few, the refusal says so: there may be enough others.
func TestAcquire_SaysThatAccessibleSeatsAreTooFew(t *testing.T) {
	for accessible, want := range map[int64]string{
		0: "Enough seats are available, but not in one category of one section.",
		1: "Enough seats are available, but not with 1 accessible ones in one category of one section.",
	} {
		plan := hallOf("A1 A2")
		plan.Sections = append(plan.Sections, holdfast.Section{Key: "side", Name: "Side", Category: "stalls", Rows: []holdfast.Row{
			{Key: "1", Seats: []*holdfast.Seat{{ID: "C1"}}},
		}})
		r := newSeated(t, plan).one(t, best(9, 3, holdfast.BestAvailable{Accessible: accessible}))
		if wantCode(t, r, "SEATS_UNAVAILABLE"); r.Err == nil || r.Err.Error() != "SEATS_UNAVAILABLE: "+want {
			t.Errorf("with %d accessible seats: %v, want %s", accessible, r.Err, want)
		}
	}
}

// A category that is named twice counts once.
func TestAcquire_CategoriesNamedTwice(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3")).holds(t, 1, "A2")
	p := &pipeline{store: s, rules: theRules}
	for _, required := range []bool{true, false} {
		wish := best(8, 3, holdfast.BestAvailable{Categories: []string{"stalls", "stalls"}, Required: required})
		wantDetails(t, p.batch(t, wish)[0], "SEATS_UNAVAILABLE", unavailable(3, 2))
	}
}

func TestAcquire_RefusesOrphans(t *testing.T) {
	for _, row := range []struct {
		name, row, taken, named string
		orphans                 []string // nil: granted
	}{
		{"in the middle of a row", "A1 A2 A3 A4 A5", "", "A2 A3", []string{"A1"}},
		{"one seat from the edge", "A1 A2 A3 A4 A5", "", "A2", []string{"A1"}},
		{"at the edge", "A1 A2 A3 A4 A5", "", "A1 A2", nil},
		{"where nothing else can be taken", "A1 A2", "", "A1", nil},
		{"both sides, in plan order", "A1 A2 A3 A4 A5 A6", "", "A5 A2", []string{"A1", "A6"}},
		{"beside a taken seat", "A1 A2 A3 A4 A5 A6", "A1", "A3 A4", []string{"A2"}},
		{"beside a gap", "A1 A2 | A3 A4 A5", "", "A4", []string{"A3", "A5"}},
		{"a single seat that was there before", "A1 A2 A3 A4 A5", "A2", "A3", nil},
		{"an accessible seat is a gap", "A1* A2 A3 A4 A5", "", "A3", []string{"A2"}},
		{"an accessible seat is no single one", "A1* A2 A3 A4", "", "A2", nil},
		{"k of k free seats", "A1 A2 A3 A4", "A2", "A1 A3 A4", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSeated(t, hallOf(row.row))
			if row.taken != "" {
				s.holds(t, 1, row.taken)
			}
			allowed := s.clone()
			wantCode(t, allowed.one(t, named(2, row.named)), "")
			s.event.Seating.OrphanRule = holdfast.OrphansRefused
			r := s.one(t, named(2, row.named))
			if row.orphans == nil {
				wantCode(t, r, "")
				return
			}
			wantDetails(t, r, "SEAT_ORPHANED", holdfast.SeatOrphaned{Orphans: row.orphans})
			s.wantTaken(t, row.taken)
		})
	}
}

// Seats of due locks that are not named count as taken, although they come back.
func TestAcquire_OrphanRuleAndDueLocks(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3 A4 A5 A6")).held(t, 1, "A1 A2")
	s.event.Seating.OrphanRule = holdfast.OrphansRefused
	wantCode(t, s.one(t, named(2, "A3")), "") // A2 counts as taken
	s.wantSeats(t, 1, holdfast.LockActive, "A1 A2")

	s = newSeated(t, hallOf("A1 A2 A3 A4 A5 A6")).held(t, 1, "A1 A2 A3")
	s.event.Seating.OrphanRule = holdfast.OrphansRefused
	wantCode(t, s.one(t, named(2, "A2")), "") // A1 and A3 count as taken
	s.wantTaken(t, "A2")
}

func TestAcquire_EndsTheDueLocksOfNamedSeats(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3 A4", "B1 B2 B3 B4")).held(t, 1, "A1 A2 B1").held(t, 2, "B3 B4").held(t, 3, "A4")
	r := s.one(t, named(4, "A2 B3"))
	wantCode(t, r, "")
	s.wantSeats(t, 1, holdfast.LockExpired, "A1 A2 B1")
	s.wantSeats(t, 2, holdfast.LockExpired, "B3 B4")
	s.wantSeats(t, 3, holdfast.LockActive, "A4") // no seat of it was named
	s.wantSeats(t, 4, holdfast.LockActive, "A2 B3")
	s.wantTaken(t, "A2 A4 B3")
	s.wantCounter(t, 9, 0)
	if s.ends[lockID(1)].by != holdfast.EndedByReclaim {
		t.Errorf("lock 1 was ended by %+v", s.ends[lockID(1)])
	}
}

func TestAcquire_TheRestOfADueLockIsFreeForTheNextRequest(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3 A4")).held(t, 1, "A1 A2 A3")
	p := &pipeline{store: s, rules: theRules}
	results := p.batch(t, named(2, "A2"), named(3, "A1"), named(4, "A2 A3"), best(5, 1, holdfast.BestAvailable{}))
	wantCode(t, results[0], "")
	wantCode(t, results[1], "")
	wantDetails(t, results[2], "SEATS_UNAVAILABLE", unavailable(2, 1, "A2"))
	wantCode(t, results[3], "")
	s.wantSeats(t, 5, holdfast.LockActive, "A3") // nearer to the middle than A4
}

// A sold lock keeps its seats, although other software left it ACTIVE and its time has passed.
func TestDecide_ASoldDueLockKeepsItsSeats(t *testing.T) {
	for name, c := range map[string]inventory.Command{
		"named":    named(2, "A1 A3"),
		"best":     best(2, 3, holdfast.BestAvailable{Section: "main"}),
		"block":    block(2, "A2 A3"),
		"change":   inventory.ChangeSeats{LockID: lockID(3), Seats: 2, Wish: named(0, "A2 A4").Wish},
		"standing": stand(2, 4),
		"sweep":    inventory.ExpireLocks{Run: lockRun, UpTo: 10},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeated(t, hallOf("A1 A2 A3 A4")).selling(t, 1, "A1 A2").holds(t, 3, "A4").selling(t, 4, "pit")
			p := &pipeline{store: s, rules: theRules, hold: name == "sweep"}
			r := p.batch(t, c)[0]
			if name != "sweep" {
				wantCode(t, r, "SEATS_UNAVAILABLE")
			}
			for _, n := range []int{1, 4} {
				if lock := s.locks[lockID(n)]; !takes(lock) || name == "sweep" && lock.Status != holdfast.LockConsumed {
					t.Errorf("the sold lock %d is %s", n, lock.Status)
				}
			}
			s.wantTaken(t, "A1 A2 A4")
		})
	}
}

// What a process remembers may be old, although the counter is the same: another process has moved a lock.
func TestDecide_AnOldMapGrantsNothing(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3 A4")).holds(t, 1, "A1 A2")
	old := &pipeline{store: s, rules: theRules, remember: true, remembered: copyOf(s.event), seats: s.seats.occupancy()}
	wantCode(t, s.one(t, changeTo(named(0, "A3 A4"))), "")
	wantDetails(t, old.batch(t, named(2, "A3 A4"))[0], "SEATS_UNAVAILABLE", unavailable(2, 0, "A3", "A4"))
	s.wantTaken(t, "A3 A4")
}

// A process that knows nothing of an event presumes that it sells seats by number.
func TestAcquire_ByNumberFromAnEventThatIsPresumedUnseated(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3 A4"))
	p := &pipeline{store: s, rules: theRules, remember: true, remembered: presumed()}
	wantCode(t, p.batch(t, acquire(1, 2))[0], "VALIDATION_FAILED")
	p.remembered = presumed()
	wantCode(t, p.batch(t, named(2, "A1 A2"))[0], "")
	s.wantTaken(t, "A1 A2")
}

// A plan that moves seats of a seated event writes the event only if it is as it was when a refusal was decided:
// no other fence is needed. Where nothing else moves, one is.
func TestRefusal_HasItsFenceInThePlanOfASeatedEvent(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3 A4")).holds(t, 1, "A1")
	refused := named(8, "A1")
	refused.Key = "key"
	for name, row := range map[string]struct {
		commands []inventory.Command
		fence    bool
	}{
		"alone":          {[]inventory.Command{refused}, true},
		"beside a grant": {[]inventory.Command{refused, named(9, "A3 A4")}, false},
		"behind a grant": {[]inventory.Command{named(9, "A3 A4"), refused}, false},
	} {
		t.Run(name, func(t *testing.T) {
			state := s.load(inventory.Needs{Seats: true, Holders: []string{"A1"}, Keys: []inventory.UserKey{{User: refused.UserID, Key: "key"}}})
			plan, _, needs := inventory.Decide(state, row.commands, theRules)
			if needs.Fence != row.fence || !row.fence && (!needs.None() || plan.Event == nil || plan.Event.IfUnchanged == nil) {
				t.Errorf("needs %+v, plans %+v", needs, plan.Event)
			}
		})
	}
}

// A refusal beside grants on a remembered map is proved while the grants are written: by a read that finds neither
// its key nor a due lock, at the same revision.
func TestRefusal_IsProvedLater(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3 A4")).holds(t, 1, "A1").held(t, 2, "A2")
	refused := named(8, "A1 A4")
	refused.Key = "key"
	remembered := s.load(inventory.Needs{Seats: true})
	remembered.Now, remembered.Keys = time.Time{}, nil
	plan, results, needs := inventory.Decide(remembered, []inventory.Command{refused, named(9, "A3")}, theRules)
	if !needs.None() || len(plan.Unproven.Holders) != 1 || len(plan.Unproven.Keys) != 1 {
		t.Fatalf("needs %+v, leaves %+v unproven", needs, plan.Unproven)
	}
	wantDetails(t, reply{Result: results[0]}, "SEATS_UNAVAILABLE", unavailable(2, 1, "A1"))
	read := s.load(plan.Unproven)
	if !plan.IsProven(read) {
		t.Error("a read that finds nothing is no proof")
	}
	for name, change := range map[string]func(*inventory.State){
		"the key was used":         func(s *inventory.State) { s.Keys[inventory.UserKey{User: alice, Key: "key"}] = &inventory.Lock{} },
		"the lock is due":          func(s *inventory.State) { s.Holders["A1"] = &inventory.DueLock{} },
		"another revision":         func(s *inventory.State) { s.Event.Revision++ },
		"no event":                 func(s *inventory.State) { s.Event = nil },
		"a revision of no meaning": func(s *inventory.State) { s.Event.Unguarded = true },
	} {
		read := s.load(plan.Unproven)
		if change(&read); plan.IsProven(read) {
			t.Errorf("%s: it counts as proven", name)
		}
	}
}

// Refusals alone, on a remembered map, are proved by a read that finds no due lock, and the event as it is remembered.
func TestRefusal_AloneIsProvedLater(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3 A4")).holds(t, 1, "A1")
	remembered := s.load(inventory.Needs{Seats: true})
	remembered.Now = time.Time{}
	plan, results, needs := inventory.Decide(remembered, []inventory.Command{named(8, "A1"), named(9, "A1 A2")}, theRules)
	if !needs.None() || !plan.IsEmpty() || !slices.Equal(plan.Unproven.Holders, []string{"A1"}) {
		t.Fatalf("needs %+v, plans %+v", needs, plan)
	}
	wantDetails(t, reply{Result: results[0]}, "SEATS_UNAVAILABLE", unavailable(1, 0, "A1"))
	wantDetails(t, reply{Result: results[1]}, "SEATS_UNAVAILABLE", unavailable(2, 1, "A1"))
	if !plan.IsProven(s.load(plan.Unproven)) {
		t.Error("a read that finds nothing is no proof")
	}
	for name, change := range map[string]func(*inventory.State){
		"the lock is due":             func(s *inventory.State) { s.Holders["A1"] = &inventory.DueLock{} },
		"another revision":            func(s *inventory.State) { s.Event.Revision++ },
		"closed by hand":              func(s *inventory.State) { s.Event.Status = holdfast.Closed },
		"a counter changed by hand":   func(s *inventory.State) { s.Event.AvailableSeats-- },
		"another orphan rule":         func(s *inventory.State) { s.Event.Seating.OrphanRule = holdfast.OrphansRefused },
		"another limit":               func(s *inventory.State) { s.Event.MaxSeatsPerUser = 2 },
		"another plan":                func(s *inventory.State) { s.Event.Seating.PlanID = lockID(1) },
		"a counter that is no number": func(s *inventory.State) { s.Event.Countable = false },
		"a revision of no meaning":    func(s *inventory.State) { s.Event.Unguarded, s.Event.Incomparable = true, true },
		"no event":                    func(s *inventory.State) { s.Event = nil },
	} {
		read := s.load(plan.Unproven)
		if change(&read); plan.IsProven(read) {
			t.Errorf("%s: it counts as proven", name)
		}
	}
}

// An event with a value that no condition can compare proves nothing.
func TestRefusal_OfAnEventThatCantBeComparedIsNotProvedLater(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2")).holds(t, 1, "A1")
	remembered := s.load(inventory.Needs{Seats: true})
	remembered.Now, remembered.Event.Incomparable = time.Time{}, true
	plan, _, needs := inventory.Decide(remembered, []inventory.Command{named(8, "A1")}, theRules)
	if needs.None() && plan.IsProven(s.load(plan.Unproven)) {
		t.Error("it counts as proven")
	}
}

// What could change a grant is read before the decision. So is what a refusal with a key needs: it is decided behind
// the fence.
func TestRefusal_IsNotProvedLater(t *testing.T) {
	s := newSeated(t, hallOf("A1 A2 A3 A4")).holds(t, 1, "A1")
	withKey := named(8, "A1")
	withKey.Key = "key"
	for name, commands := range map[string][]inventory.Command{
		"alone, with a key":           {withKey},
		"beside a lock to be read":    {named(8, "A1"), named(9, "A3"), inventory.Release{LockID: lockID(1)}},
		"beside a refusal of another": {named(8, "A1"), named(9, "A3"), stand(10, 5)},
	} {
		t.Run(name, func(t *testing.T) {
			remembered := s.load(inventory.Needs{Seats: true})
			remembered.Now, remembered.Due = time.Time{}, nil
			if plan, _, needs := inventory.Decide(remembered, commands, theRules); needs.None() || !plan.Unproven.None() {
				t.Errorf("needs %+v, leaves %+v unproven", needs, plan.Unproven)
			}
		})
	}
}

// The time is checked before the seats, also where the event is remembered and the clock is not.
func TestAcquire_ATimePastTheCapIsRefusedBeforeTheSeats(t *testing.T) {
	t.Parallel()
	s := newSeated(t, hallOf("A1 A2 A3"))
	p := &pipeline{store: s, rules: theRules, remember: true, remembered: copyOf(s.event), seats: s.seats.occupancy()}
	tooLong := named(8, "A1")
	tooLong.Until.At = begin.Add(theRules.MaxLockTTL + time.Minute)
	results := p.batch(t, named(7, "A1"), tooLong)
	wantCode(t, results[0], "")
	wantCode(t, results[1], holdfast.CodeInvalid)
}
