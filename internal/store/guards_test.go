package store_test

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// guardCase is a plan, and a change by another process between the plan's read and its
// write.
type guardCase struct {
	name    string
	arrange func(f fixture) // before the read; nil: nothing
	plan    func(f fixture) inventory.Plan
	change  func(f fixture)
}

// checkGuards checks that each plan is applied without the change. After the change it must
// be stale and write nothing.
func checkGuards(t *testing.T, cases []guardCase) {
	t.Helper()
	w := testenv.New(t)
	allowAnyCounter(t, w)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			same := newFixture(t, w, c.arrange)
			if _, err := same.apply(c.plan(same)); err != nil {
				t.Fatalf("without a change: %v", err)
			}
			f := newFixture(t, w, c.arrange)
			plan := c.plan(f)
			c.change(f)
			before := f.documents()
			if _, err := f.apply(plan); !errors.Is(err, store.ErrStale) {
				t.Errorf("got %v, want ErrStale", err)
			}
			if after := f.documents(); !maps.Equal(before, after) {
				t.Errorf("a stale plan was written:\nbefore %v\nafter  %v", before, after)
			}
		})
	}
}

func TestApply_EventGuardAtLeastHolds(t *testing.T) {
	t.Parallel()
	acquire := func(f fixture) inventory.Plan {
		return inventory.Plan{
			Event:    &inventory.EventWrite{AtLeast: 8, Available: -8},
			Acquired: []holdfast.Lock{f.newLock(8, "")}, TTL: []time.Duration{time.Hour},
		}
	}
	set := func(name string, value any) func(fixture) { return func(f fixture) { f.setEvent(field(name, value)) } }
	checkGuards(t, []guardCase{
		{"one seat is gone", nil, acquire, set("availableSeats", 7)},
		{"the event is closed", nil, acquire, set("status", "CLOSED")},
		{"the event is cancelled", nil, acquire, set("status", "CANCELLED")},
		{"the status is unknown", nil, acquire, set("status", "DRAFT")},
		{"an event that sells by default is closed", func(f fixture) { f.unset("events", f.event, "status") }, acquire, set("status", "CLOSED")},
		{"the status is no text", nil, acquire, set("status", 7)},
		{"customers are limited", nil, acquire, set("maxSeatsPerUser", 4)},
		{"the limit is no number", nil, acquire, set("maxSeatsPerUser", "four")},
		{"more is available than the total", nil, acquire, set("availableSeats", 11)},
		{"less is sold than the total", nil, acquire, set("totalSeats", 7)},
		{"the total is no number", nil, acquire, set("totalSeats", "ten")},
		{"available and oversold seats", nil, acquire, set("oversold", 1)},
		{"a fraction of a seat is available", nil, acquire, set("availableSeats", 8.5)},
		{"oversold is no number", nil, acquire, set("oversold", "x")},
		{"the event is deleted", nil, acquire, func(f fixture) { f.remove("events", f.event) }},
	})
}

func TestApply_EventGuardIfUnchangedHolds(t *testing.T) {
	t.Parallel()
	// The plans write no locks: only the guard of the event can fail.
	restore := func(f fixture) inventory.Plan {
		return inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: f.read.Event, Available: 1}}
	}
	set := func(name string, value any) func(fixture) { return func(f fixture) { f.setEvent(field(name, value)) } }
	checkGuards(t, []guardCase{
		{"the revision is raised", set("rev", 4), restore, set("rev", 5)},
		{"a revision appears", nil, restore, set("rev", 1)},
		{"a revision disappears", set("rev", 4), restore, set("rev", 0)},
		{"fewer seats are available", nil, restore, set("availableSeats", 7)},
		{"more seats are available", nil, restore, set("availableSeats", 9)},
		{"the total is raised", nil, restore, set("totalSeats", 11)},
		{"the event is oversold", set("availableSeats", 0), restore, set("oversold", 1)},
		{"the event is oversold by more", func(f fixture) { f.setEvent(field("availableSeats", 0), field("oversold", 1)) }, restore,
			set("oversold", 2)},
		{"the event is closed", nil, restore, set("status", "CLOSED")},
		{"the event is cancelled", nil, restore, set("status", "CANCELLED")},
		{"the event sells again", set("status", "CLOSED"), restore, set("status", "ON_SALE")},
		{"an event that sells by default is closed", func(f fixture) { f.unset("events", f.event, "status") }, restore, set("status", "CLOSED")},
		{"the event sells again, by default", set("status", "CLOSED"), restore, set("status", nil)},
		{"a closed event is cancelled", set("status", "CLOSED"), restore, set("status", "CANCELLED")},
		{"an event with a limit that is no number is changed", set("maxSeatsPerUser", "four"), restore, set("rev", 1)},
		{"an event with a limit that is no number is repaired", set("maxSeatsPerUser", "four"), restore, set("fixes", 1)},
		{"an event without a number of seats is changed", set("availableSeats", "eight"), func(f fixture) inventory.Plan {
			return inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: f.read.Event, Counter: &inventory.Counter{AvailableSeats: 8}}}
		}, set("rev", 1)},
		{"the event is deleted", nil, restore, func(f fixture) { f.remove("events", f.event) }},
	})
}

func TestApply_DriftIsSubtractedOnce(t *testing.T) {
	t.Parallel()
	repair := func(f fixture) inventory.Plan {
		return inventory.Plan{Event: &inventory.EventWrite{Drift: &inventory.Drift{Amount: 1, Repairs: f.read.Event.Repairs}}}
	}
	fixes := func(n int) func(fixture) { return func(f fixture) { f.setEvent(field("fixes", n)) } }
	checkGuards(t, []guardCase{
		{"the first repair", nil, repair, fixes(1)},
		{"another repair", fixes(1), repair, fixes(2)},
	})
}

func TestApply_LockGuardsHold(t *testing.T) {
	t.Parallel()
	write := func(w inventory.LockWrite) func(f fixture) inventory.Plan {
		return func(f fixture) inventory.Plan {
			w := w
			w.ID, w.Revision = f.lock, f.read.Locks[f.lock].Revision
			return inventory.Plan{Locks: []inventory.LockWrite{w}}
		}
	}
	set := func(name string, value any) func(fixture) { return func(f fixture) { f.setLock(field(name, value)) } }
	past, ahead := time.Now().Add(-time.Hour), time.Now().Add(2*time.Hour)
	expire := write(inventory.LockWrite{From: holdfast.LockActive, To: holdfast.LockExpired, Guard: inventory.IsDue})
	release := write(inventory.LockWrite{From: holdfast.LockActive, To: holdfast.LockReleased, Guard: inventory.AtRevision})
	undo := write(inventory.LockWrite{From: holdfast.LockConsumed, To: holdfast.LockReleased, Guard: inventory.AnyRevision})
	consume := write(inventory.LockWrite{From: holdfast.LockActive, To: holdfast.LockConsumed, Guard: inventory.LiveAtRevision})
	bump := write(inventory.LockWrite{From: holdfast.LockActive, To: holdfast.LockActive, Guard: inventory.AtRevision})
	checkGuards(t, []guardCase{
		{"consume: it is released", nil, consume, set("status", "RELEASED")},
		{"consume: it is expired", nil, consume, set("status", "EXPIRED")},
		{"consume: it is due", nil, consume, set("expiresAt", past)},
		{"consume: its expiry is no date", nil, consume, set("expiresAt", "soon")},
		{"consume: it has been changed", nil, consume, set("rev", 4)},
		{"consume: a revision appears", func(f fixture) { f.unset("seatlocks", f.lock, "rev") }, consume, set("rev", 1)},
		{"release: it is consumed", nil, release, set("status", "CONSUMED")},
		{"release: it is expired", nil, release, set("status", "EXPIRED")},
		{"release: it has been changed", nil, release, set("rev", 4)},
		{"expire: it is consumed", set("expiresAt", past), expire, set("status", "CONSUMED")},
		{"expire: it is released", set("expiresAt", past), expire, set("status", "RELEASED")},
		{"expire: it is extended", set("expiresAt", past), expire, set("expiresAt", ahead)},
		{"cancel: it is active", set("status", "CONSUMED"), undo, set("status", "ACTIVE")},
		{"refuse for its time: it is consumed", set("expiresAt", past), bump, set("status", "CONSUMED")},
		{"refuse for its time: it has been changed", set("expiresAt", past), bump, set("rev", 4)},
		{"it is deleted", nil, release, func(f fixture) { f.remove("seatlocks", f.lock) }},
	})
}

func TestApply_BookingGuardsHold(t *testing.T) {
	t.Parallel()
	write := func(from, to holdfast.BookingStatus, windowOpen bool) func(f fixture) inventory.Plan {
		return func(f fixture) inventory.Plan {
			return inventory.Plan{Bookings: []inventory.BookingWrite{{ID: f.booking, From: from, To: to, WindowOpen: windowOpen}}}
		}
	}
	set := func(name string, value any) func(fixture) {
		return func(f fixture) { f.setBooking(field(name, value)) }
	}
	confirm := write(holdfast.BookingPending, holdfast.BookingConfirmed, true)
	expire := write(holdfast.BookingPending, holdfast.BookingExpired, false)
	cancel := write(holdfast.BookingPending, holdfast.BookingCancelled, false)
	pay := write(holdfast.BookingInitiated, holdfast.BookingPending, false)
	checkGuards(t, []guardCase{
		{"expire: it is cancelled", nil, expire, set("status", "CANCELLED")},
		{"expire: it is confirmed", nil, expire, set("status", "CONFIRMED")},
		{"cancel: it is expired", nil, cancel, set("status", "EXPIRED")},
		{"pay: it is expired", set("status", "INITIATED"), pay, set("status", "EXPIRED")},
		{"confirm: it is cancelled", nil, confirm, set("status", "CANCELLED")},
		{"confirm: its window has passed", nil, confirm, set("paymentExpiresAt", time.Now().Add(-time.Hour))},
		{"confirm: its window is no date", nil, confirm, set("paymentExpiresAt", "soon")},
		{"it is deleted", nil, confirm, func(f fixture) { f.remove("bookings", f.booking) }},
	})
}

// A plan with NotBefore is stale until that time.
func TestApply_IsStaleBeforeItsTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testenv.New(t), nil)
	plan := inventory.Plan{Event: &inventory.EventWrite{AtLeast: 1, Available: -1}, NotBefore: time.Now().Add(time.Hour)}
	before := f.documents()
	if _, err := f.apply(plan); !errors.Is(err, store.ErrStale) || !maps.Equal(before, f.documents()) {
		t.Errorf("an hour early: %v", err)
	}
	plan.NotBefore = time.Now().Add(-time.Hour)
	if _, err := f.apply(plan); err != nil {
		t.Errorf("an hour late: %v", err)
	}
}

func TestApply_RefusesAKeyOrAnIDThatIsInUse(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for name, change := range map[string]func(f fixture, lock *holdfast.Lock){
		"the key of another lock": func(f fixture, lock *holdfast.Lock) { lock.UserID, lock.Key = f.read.Locks[f.lock].UserID, "used" },
		"the ID of another lock":  func(f fixture, lock *holdfast.Lock) { lock.ID = f.lock },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, w, nil)
			lock, good := f.newLock(1, "new"), f.newLock(1, "good")
			change(f, &lock)
			before := f.documents()
			_, err := f.apply(inventory.Plan{
				Event:    &inventory.EventWrite{AtLeast: 2, Available: -2},
				Acquired: []holdfast.Lock{good, lock}, TTL: []time.Duration{time.Hour, time.Hour},
			})
			if !errors.Is(err, store.ErrKeyInUse) || !maps.Equal(before, f.documents()) {
				t.Errorf("got %v; documents before %v, after %v", err, before, f.documents())
			}
		})
	}
}

// newLock is a new lock on seats of the fixture's event.
func (f fixture) newLock(seats int64, key string) holdfast.Lock {
	return holdfast.Lock{ID: ids.New(), EventID: f.event, UserID: ids.New(), Seats: seats, Status: holdfast.LockActive, Key: key}
}

// After a conflict, an event that the plan does not write may have been cancelled, so it
// has to be read again. A plan that writes the event is guarded, and is retried.
func TestApply_IsStaleAfterAConflictWhereTheEventIsNotGuarded(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for name, row := range map[string]struct {
		event *inventory.EventWrite
		want  error
	}{
		"the plan does not write the event": {nil, store.ErrStale},
		"the plan writes the event":         {&inventory.EventWrite{AtLeast: 1, Available: -1}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, w, nil)
			plan := inventory.Plan{Event: row.event, Locks: []inventory.LockWrite{{
				ID: f.lock, From: holdfast.LockActive, To: holdfast.LockActive, Guard: inventory.LiveAtRevision,
				Revision: f.read.Locks[f.lock].Revision, ExpiresAt: time.Now().Add(2 * time.Hour),
			}}}
			attempts := 0
			_, err := w.Store.Apply(w.Ctx(), []store.EventPlan{{EventID: f.event, Plan: plan}}, func() error {
				if attempts++; attempts == 1 {
					return mongodb.ErrRetry
				}
				return nil
			})
			if !errors.Is(err, row.want) {
				t.Errorf("got %v, want %v", err, row.want)
			}
		})
	}
}
