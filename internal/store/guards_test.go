package store_test

import (
	"errors"
	"maps"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
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

// checkGuards checks that each plan is applied without the change: alone, with its guard before the write of its event and after
// it, and together with a plan of another event. After the change it must be stale and write nothing.
func checkGuards(t *testing.T, cases []guardCase) {
	t.Helper()
	w := testenv.New(t)
	allowAnyCounter(t, w)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for where, apply := range map[string]func(fixture, inventory.Plan) (store.Applied, error){
				"alone": fixture.apply, "alone, as expected": fixture.applyExpected, "with another event": fixture.applyBeside,
			} {
				same := newFixture(t, w, c.arrange)
				if _, err := apply(same, c.plan(same)); err != nil {
					t.Fatalf("%s, without a change: %v", where, err)
				}
				f := newFixture(t, w, c.arrange)
				plan := c.plan(f)
				c.change(f)
				before := f.documents()
				if _, err := apply(f, plan); !errors.Is(err, store.ErrStale) {
					t.Errorf("%s: got %v, want ErrStale", where, err)
				}
				if after := f.documents(); !maps.Equal(before, after) {
					t.Errorf("%s, a stale plan was written:\nbefore %v\nafter  %v", where, before, after)
				}
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
	starts := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	acquireInSale := func(f fixture) inventory.Plan {
		plan := acquire(f)
		plan.Event.SaleStartsAt = starts
		return plan
	}
	set := func(name string, value any) func(fixture) { return func(f fixture) { f.setEvent(field(name, value)) } }
	checkGuards(t, []guardCase{
		{name: "one seat is gone", plan: acquire, change: set("availableSeats", 7)},
		{name: "the event is closed", plan: acquire, change: set("status", "CLOSED")},
		{name: "the event is cancelled", plan: acquire, change: set("status", "CANCELLED")},
		{name: "the status is unknown", plan: acquire, change: set("status", "DRAFT")},
		{
			name: "an event that sells by default is closed", arrange: func(f fixture) { f.unset("events", f.event, "status") },
			plan: acquire, change: set("status", "CLOSED"),
		},
		{name: "customers are limited", plan: acquire, change: set("maxSeatsPerUser", 4)},
		{name: "the sale gets a start", plan: acquire, change: set("saleStartsAt", time.Now())},
		{name: "the sale gets an end", plan: acquire, change: set("saleEndsAt", time.Now())},
		{name: "the sale has no start any more", arrange: set("saleStartsAt", starts), plan: acquireInSale, change: set("saleStartsAt", nil)},
		{name: "the sale starts later", arrange: set("saleStartsAt", starts), plan: acquireInSale, change: set("saleStartsAt", time.Now())},
		{name: "more is available than the total", plan: acquire, change: set("availableSeats", 11)},
		{name: "less is sold than the total", plan: acquire, change: set("totalSeats", 7)},
		{name: "available and oversold seats", plan: acquire, change: set("oversold", 1)},
		{name: "the event is seated", plan: acquire, change: set("seatingPlanId", mongodb.NewID())},
		{
			name: "an entry waits", arrange: set("internal.list", bson.D{field("seq", 1), field("waiting", 0)}),
			plan: acquire, change: set("internal.list.waiting", 1),
		},
		{name: "an entry of a new list waits", plan: acquire, change: set("internal.list", bson.D{field("seq", 1), field("waiting", 1)})},
		{name: "the event is deleted", plan: acquire, change: func(f fixture) { f.remove("events", f.event) }},
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
		{name: "the revision is raised", arrange: set("internal.rev", 4), plan: restore, change: set("internal.rev", 5)},
		{name: "a revision appears", plan: restore, change: set("internal.rev", 1)},
		{name: "a revision disappears", arrange: set("internal.rev", 4), plan: restore, change: set("internal.rev", 0)},
		{name: "fewer seats are available", plan: restore, change: set("availableSeats", 7)},
		{name: "more seats are available", plan: restore, change: set("availableSeats", 9)},
		{name: "the total is raised", plan: restore, change: set("totalSeats", 11)},
		{name: "the event is oversold", arrange: set("availableSeats", 0), plan: restore, change: set("oversold", 1)},
		{
			name: "the event is oversold by more", arrange: func(f fixture) { f.setEvent(field("availableSeats", 0), field("oversold", 1)) },
			plan: restore, change: set("oversold", 2),
		},
		{name: "the event is closed", plan: restore, change: set("status", "CLOSED")},
		{name: "the event is cancelled", plan: restore, change: set("status", "CANCELLED")},
		{name: "the event sells again", arrange: set("status", "CLOSED"), plan: restore, change: set("status", "ON_SALE")},
		{
			name: "an event that sells by default is closed", arrange: func(f fixture) { f.unset("events", f.event, "status") },
			plan: restore, change: set("status", "CLOSED"),
		},
		{name: "the event sells again, by default", arrange: set("status", "CLOSED"), plan: restore, change: set("status", nil)},
		{name: "a closed event is cancelled", arrange: set("status", "CLOSED"), plan: restore, change: set("status", "CANCELLED")},
		{name: "the event is deleted", plan: restore, change: func(f fixture) { f.remove("events", f.event) }},
		{name: "the event is seated", plan: restore, change: set("seatingPlanId", mongodb.NewID())},
		{name: "customers are limited", plan: restore, change: set("maxSeatsPerUser", 4)},
		{name: "customers are limited more", arrange: set("maxSeatsPerUser", 4), plan: restore, change: set("maxSeatsPerUser", 3)},
		{name: "customers are no longer limited", arrange: set("maxSeatsPerUser", 4), plan: restore, change: set("maxSeatsPerUser", nil)},
		{name: "the sale gets a start", plan: restore, change: set("saleStartsAt", time.Now())},
		{name: "the sale gets an end", plan: restore, change: set("saleEndsAt", time.Now())},
		{name: "an event that gets a start of its sale is changed", plan: func(f fixture) inventory.Plan {
			return inventory.Plan{Event: &inventory.EventWrite{
				IfUnchanged: f.read.Event, Fields: holdfast.EventChange{SaleStartsAt: new(time.Now())}}}
		}, change: set("internal.rev", 1)},
		{name: "an event that gets a limit is changed", plan: func(f fixture) inventory.Plan {
			return inventory.Plan{Event: &inventory.EventWrite{
				IfUnchanged: f.read.Event, Fields: holdfast.EventChange{MaxSeatsPerUser: new(int64(4))}}}
		}, change: set("internal.rev", 1)},
		{name: "an event that gets another total is changed", plan: func(f fixture) inventory.Plan {
			total := int64(11)
			return inventory.Plan{Event: &inventory.EventWrite{
				IfUnchanged: f.read.Event, Available: 1, Fields: holdfast.EventChange{TotalSeats: &total}}}
		}, change: set("internal.rev", 1)},
		{name: "an event that gets another status is changed", plan: func(f fixture) inventory.Plan {
			status := holdfast.Closed
			return inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: f.read.Event, Fields: holdfast.EventChange{Status: &status}}}
		}, change: set("internal.rev", 1)},
		{name: "an event that gets a plan is changed", plan: func(f fixture) inventory.Plan {
			plan := mongodb.NewID()
			return inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: f.read.Event, Fields: holdfast.EventChange{SeatingPlanID: &plan}}}
		}, change: set("internal.rev", 1)},
		{name: "an event that gets another counter is changed", plan: func(f fixture) inventory.Plan {
			return inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: f.read.Event, Counter: &inventory.Counter{AvailableSeats: 7}}}
		}, change: set("internal.rev", 1)},
	})
}

func TestApply_DriftIsSubtractedOnce(t *testing.T) {
	t.Parallel()
	repair := func(f fixture) inventory.Plan {
		return inventory.Plan{Event: &inventory.EventWrite{Drift: &inventory.Drift{Amount: 1, Repairs: f.read.Event.Repairs}}}
	}
	fixes := func(n int) func(fixture) { return func(f fixture) { f.setEvent(field("internal.fixes", n)) } }
	checkGuards(t, []guardCase{
		{name: "the first repair", plan: repair, change: fixes(1)},
		{name: "another repair", arrange: fixes(1), plan: repair, change: fixes(2)},
		{name: "an entry waits", plan: repair, change: func(f fixture) { f.setEvent(field("internal.list.waiting", 1)) }},
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
		{name: "consume: it is released", plan: consume, change: set("status", "RELEASED")},
		{name: "consume: it is expired", plan: consume, change: set("status", "EXPIRED")},
		{name: "consume: it is due", plan: consume, change: set("expiresAt", past)},
		{name: "consume: its expiry is not a date", plan: consume, change: set("expiresAt", "soon")},
		{name: "consume: it has been changed", plan: consume, change: set("internal.rev", 4)},
		{
			name: "consume: a revision appears", arrange: func(f fixture) { f.unset("seatlocks", f.lock, "internal.rev") },
			plan: consume, change: set("internal.rev", 1),
		},
		{name: "release: it is consumed", plan: release, change: set("status", "CONSUMED")},
		{name: "release: it is expired", plan: release, change: set("status", "EXPIRED")},
		{name: "release: it has been changed", plan: release, change: set("internal.rev", 4)},
		{name: "expire: it is consumed", arrange: set("expiresAt", past), plan: expire, change: set("status", "CONSUMED")},
		{name: "expire: it is released", arrange: set("expiresAt", past), plan: expire, change: set("status", "RELEASED")},
		{name: "expire: it is extended", arrange: set("expiresAt", past), plan: expire, change: set("expiresAt", ahead)},
		{name: "cancel: it is active", arrange: set("status", "CONSUMED"), plan: undo, change: set("status", "ACTIVE")},
		{name: "refuse for its time: it is consumed", arrange: set("expiresAt", past), plan: bump, change: set("status", "CONSUMED")},
		{name: "refuse for its time: it has been changed", arrange: set("expiresAt", past), plan: bump, change: set("internal.rev", 4)},
		{name: "it is deleted", plan: release, change: func(f fixture) { f.remove("seatlocks", f.lock) }},
	})
}

// An extension may have to be written before a time: the end of its booking's payment window.
func TestApply_LockGuardBeforeATime(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for want, before := range map[error]time.Time{nil: time.Now().Add(time.Hour), store.ErrStale: time.Now().Add(-time.Second)} {
		f := newFixture(t, w, nil)
		_, err := f.apply(inventory.Plan{Locks: []inventory.LockWrite{{
			ID: f.lock, From: holdfast.LockActive, To: holdfast.LockActive, Guard: inventory.LiveAtRevision,
			Revision: f.read.Locks[f.lock].Revision, Before: before,
		}}})
		if !errors.Is(err, want) {
			t.Errorf("before %v: got %v, want %v", before, err, want)
		}
	}
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
	list := func(f fixture) inventory.Plan {
		return inventory.Plan{Bookings: []inventory.BookingWrite{{ID: f.booking, From: holdfast.BookingPending,
			To: holdfast.BookingPending, Payments: &[]holdfast.ListedPayment{{ID: f.lock, Status: holdfast.PaymentRefundDue}}}}}
	}
	pay := write(holdfast.BookingInitiated, holdfast.BookingPending, false)
	checkGuards(t, []guardCase{
		{name: "expire: it is cancelled", plan: expire, change: set("status", "CANCELLED")},
		{name: "expire: it is confirmed", plan: expire, change: set("status", "CONFIRMED")},
		{name: "cancel: it is expired", plan: cancel, change: set("status", "EXPIRED")},
		{name: "pay: it is expired", arrange: set("status", "INITIATED"), plan: pay, change: set("status", "EXPIRED")},
		{name: "confirm: it is cancelled", plan: confirm, change: set("status", "CANCELLED")},
		{name: "confirm: its window has passed", plan: confirm, change: set("paymentExpiresAt", time.Now().Add(-time.Hour))},
		{name: "confirm: its window is not a date", plan: confirm, change: set("paymentExpiresAt", "soon")},
		{name: "another revision", plan: confirm, change: set("internal.rev", 1)},
		{name: "it is deleted", plan: confirm, change: func(f fixture) { f.remove("bookings", f.booking) }},
		{name: "confirm: its customer is erased", plan: confirm, change: set("internal.rev", int64(1))},
		{name: "list a payment: its customer is erased", plan: list, change: set("internal.rev", int64(1))},
	})
}

// A plan with NotBefore is stale until that time.
func TestApply_IsStaleBeforeItsTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testenv.New(t), nil)
	plan := inventory.Plan{Event: &inventory.EventWrite{AtLeast: 1, Available: -1}, NotBefore: time.Now().Add(time.Hour)}
	before := f.documents()
	if _, err := f.apply(plan); !errors.Is(err, store.ErrClock) || !maps.Equal(before, f.documents()) {
		t.Errorf("an hour early: %v", err)
	}
	plan.NotBefore = time.Now().Add(-time.Hour)
	if _, err := f.apply(plan); err != nil {
		t.Errorf("an hour late: %v", err)
	}
	plan.Before, before = time.Now().Add(-time.Hour), f.documents()
	if _, err := f.apply(plan); !errors.Is(err, store.ErrClock) || !maps.Equal(before, f.documents()) {
		t.Errorf("an hour after the last moment: %v", err)
	}
	plan.Before = time.Now().Add(time.Hour)
	if _, err := f.apply(plan); err != nil {
		t.Errorf("an hour before the last moment: %v", err)
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
			used := inventory.UserKey{User: lock.UserID, Key: "used"}
			if key, found := store.UsedKey(err); found != (lock.Key == "used") || found && key != used {
				t.Errorf("the key is %v, found %v", key, found)
			}
		})
	}
}

// newLock is a new lock on seats of the fixture's event.
func (f fixture) newLock(seats int64, key string) holdfast.Lock {
	return holdfast.Lock{ID: mongodb.NewID(), EventID: f.event, UserID: mongodb.NewID(), Seats: seats, Status: holdfast.LockActive, Key: key}
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
			_, err := w.Store.Apply(w.Ctx(), mongodb.TxOptions{}, []store.EventPlan{{EventID: f.event, Plan: plan}}, func() error {
				if attempts++; attempts == 1 {
					return testenv.Conflict()
				}
				return nil
			})
			if !errors.Is(err, row.want) {
				t.Errorf("got %v, want %v", err, row.want)
			}
		})
	}
}
