package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// lockOf inserts a lock without internal fields.
func lockOf(eventID holdfast.ID, status string, seats any, expires any) bson.D {
	return bson.D{
		{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: eventID}, {Key: "status", Value: status},
		{Key: "seats", Value: seats}, {Key: "expiresAt", Value: expires},
	}
}

// bookingOf inserts a booking without internal fields.
func bookingOf(status string, window any, more ...bson.E) bson.D {
	return append(bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "status", Value: status}, {Key: "seatLockId", Value: mongodb.NewID()},
		{Key: "paymentExpiresAt", Value: window}}, more...)
}

func idOf(doc bson.D) holdfast.ID { id, _ := doc[0].Value.(holdfast.ID); return id }

// CountDue counts the locks and bookings that a sweep ends.
func TestCountDue_CountsWhatASweepEnds(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID, past, ahead := mongodb.NewID(), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for _, lock := range []bson.D{
		lockOf(eventID, "ACTIVE", 1, past), lockOf(eventID, "ACTIVE", 2, past), lockOf(eventID, "ACTIVE", 1, past),
		lockOf(eventID, "ACTIVE", 1, ahead), lockOf(eventID, "EXPIRED", 1, past), lockOf(eventID, "CONSUMED", 1, past),
		lockOf(eventID, "ACTIVE", "two", past), lockOf(eventID, "ACTIVE", 1, nil),
	} {
		w.Insert("seatlocks", lock)
	}
	for limit, want := range map[int64]int64{0: 3, 2: 2, 9: 3} {
		if n, err := w.Store.CountDueLocks(w.Ctx(), limit); err != nil || n != want {
			t.Errorf("up to %d: %d locks, %v; want %d", limit, n, err, want)
		}
	}
	for _, booking := range []bson.D{
		bookingOf("PAYMENT_PENDING", past), bookingOf("PAYMENT_PENDING", past), bookingOf("PAYMENT_PENDING", ahead),
		bookingOf("EXPIRED", past), bookingOf("CONFIRMED", past), bookingOf("INITIATED", past), bookingOf("PAYMENT_PENDING", nil),
		{{Key: "_id", Value: "text"}, {Key: "status", Value: "PAYMENT_PENDING"}, {Key: "paymentExpiresAt", Value: past}},
	} {
		w.Insert("bookings", booking)
	}
	if n, err := w.Store.CountDueBookings(w.Ctx()); err != nil || n != 2 {
		t.Errorf("%d bookings, %v; want 2", n, err)
	}
	if due, err := w.Store.DuePending(w.Ctx(), store.After{}, 100); err != nil || len(due) != 2 {
		t.Errorf("%d bookings are due, %v; want 2", len(due), err)
	}
	locks, err := w.Store.DueLocks(w.Ctx(), store.After{}, 2)
	if err != nil || len(locks) != 2 {
		t.Errorf("a page of 2 has %d locks, %v", len(locks), err)
	}
	if bookings, err := w.Store.DuePending(w.Ctx(), store.After{}, 1); err != nil || len(bookings) != 1 {
		t.Errorf("a page of 1 has %d bookings, %v", len(bookings), err)
	}
}

// An event is missing if due locks that a sweep could end name it.
func TestMissingEvents_OfDueLocks(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	past, ahead := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	first, second := mongodb.NewID(), mongodb.NewID()
	for _, lock := range []bson.D{
		lockOf(second, "ACTIVE", 1, past), lockOf(first, "ACTIVE", 1, past), lockOf(first, "ACTIVE", 1, past),
		lockOf(w.Event(10), "ACTIVE", 1, past), lockOf(mongodb.NewID(), "ACTIVE", 1, ahead), lockOf(mongodb.NewID(), "EXPIRED", 1, past),
		lockOf(mongodb.NewID(), "ACTIVE", "two", past),
	} {
		w.Insert("seatlocks", lock)
	}
	want := []store.MissingEvent{{ID: first, Locks: 2}, {ID: second, Locks: 1}}
	slices.SortFunc(want, func(a, b store.MissingEvent) int { return slices.Compare(a.ID[:], b.ID[:]) })
	for _, limit := range []int{100, 1} {
		found, err := w.Store.MissingEvents(w.Ctx(), limit)
		if err != nil || !slices.Equal(found, want[:min(limit, len(want))]) {
			t.Errorf("up to %d: %v, %v; want %v", limit, found, err, want)
		}
	}
}

// A page of INITIATED bookings that is not full is the last one.
func TestDueInitiated_ThePageThatIsNotFullIsTheLast(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var bookings []holdfast.ID
	for range 3 {
		booking := bookingOf("INITIATED", time.Now())
		w.Insert("bookings", booking)
		bookings = append(bookings, idOf(booking))
	}
	found, last, err := w.Store.DueInitiated(w.Ctx(), holdfast.ID{}, 2)
	if err != nil || len(found) != 2 || last != bookings[1] {
		t.Errorf("the first page: %v, %v, %v", found, last, err)
	}
	found, last, err = w.Store.DueInitiated(w.Ctx(), last, 2)
	if err != nil || len(found) != 1 || found[0].Booking != bookings[2] || !last.IsZero() {
		t.Errorf("the last page: %v, %v, %v", found, last, err)
	}
}

// A due booking takes seats of its lock's event while the lock is ACTIVE.
func TestDuePending_TakesSeatsWhileItsLockIsActive(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	past, ofBooking, ofLock := time.Now().Add(-time.Hour), mongodb.NewID(), mongodb.NewID()
	for name, c := range map[string]struct {
		lock    bson.D
		eventID holdfast.ID
		events  []holdfast.ID
	}{
		"ACTIVE":   {lockOf(ofLock, "ACTIVE", 1, past), ofLock, []holdfast.ID{ofBooking, ofLock}},
		"CONSUMED": {lockOf(ofLock, "CONSUMED", 1, past), holdfast.ID{}, []holdfast.ID{ofBooking, ofLock}},
		"none":     {nil, holdfast.ID{}, []holdfast.ID{ofBooking}},
	} {
		t.Run(name, func(t *testing.T) {
			lockID := mongodb.NewID()
			if c.lock != nil {
				w.Insert("seatlocks", c.lock)
				lockID = idOf(c.lock)
			}
			booking := bson.D{
				{Key: "_id", Value: mongodb.NewID()}, {Key: "status", Value: "PAYMENT_PENDING"}, {Key: "seatLockId", Value: lockID},
				{Key: "eventId", Value: ofBooking}, {Key: "paymentExpiresAt", Value: past},
			}
			w.Insert("bookings", booking)
			due, err := w.Store.DuePending(w.Ctx(), store.After{}, 100)
			i := slices.IndexFunc(due, func(d store.DueBooking) bool { return d.Booking == idOf(booking) })
			if err != nil || i < 0 {
				t.Fatalf("%v, %v", due, err)
			}
			if d := due[i]; d.EventID != c.eventID || !slices.Equal(d.Events, c.events) {
				t.Errorf("got %+v, want event %v, events %v", d, c.eventID, c.events)
			}
		})
	}
}

// Equal changes are one statement, which names its documents by _id: the server needs no other
// index, and a transaction of 500 locks stays short.
func TestApply_OneStatementChangesManyDocuments(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var updates []bson.Raw
	process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
		o.Monitor = &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
			if name, ok := e.Command.Lookup("update").StringValueOK(); ok && name == "seatlocks" {
				updates = append(updates, slices.Clone(e.Command))
			}
		}}
	})
	eventID := w.Event(10)
	var plan inventory.Plan
	for range 3 {
		lock := w.Acquire(eventID, 1, testenv.Past())
		plan.Locks = append(plan.Locks, inventory.LockWrite{ID: lock.ID, EventID: eventID, From: holdfast.LockActive,
			To: holdfast.LockExpired, Guard: inventory.IsDue, EndedBy: holdfast.EndedByLockExpiry})
	}
	_, err := process.Store.Apply(w.Ctx(), mongodb.TxOptions{}, []store.EventPlan{{EventID: eventID, Plan: plan}}, func() error { return nil })
	if err != nil || len(updates) != 1 {
		t.Fatalf("%d commands, %v", len(updates), err)
	}
	statements, err := updates[0].Lookup("updates").Array().Values()
	if err != nil || len(statements) != 1 {
		t.Fatalf("%d statements: %s, %v", len(statements), updates[0], err)
	}
	hint, multi := statements[0].Document().Lookup("hint", "_id"), statements[0].Document().Lookup("multi")
	if hint.AsInt64() != 1 || !multi.Boolean() {
		t.Errorf("the statement is %s", statements[0])
	}
	for _, l := range plan.Locks {
		if status := w.Lock(l.ID).Status; status != holdfast.LockExpired {
			t.Errorf("a lock is %s", status)
		}
	}
}

// A plan that is guarded by what it has read may find a counter that cannot be, and replace it.
func TestApply_AGuardedReadMayFindAnImpossibleCounter(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	allowAnyCounter(t, w)
	f := newFixture(t, w, func(f fixture) { f.setEvent(field("availableSeats", 12)) })
	applied, err := f.apply(inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: f.read.Event, Available: -4}})
	if err != nil || applied.Event.AvailableSeats != 8 {
		t.Errorf("got %+v, %v", applied.Event, err)
	}
}

// Only a unique index says that a key is in use.
func TestApply_AnInsertThatFailsIsNoKeyInUse(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "holdfast_test")
	f := newFixture(t, w, nil)
	const unauthorized = 13
	defer w.FailCommands("insert", "alwaysOn", bson.D{{Key: "errorCode", Value: unauthorized}})()
	_, err := f.apply(inventory.Plan{
		Event:    &inventory.EventWrite{AtLeast: 1, Available: -1},
		Acquired: []holdfast.Lock{f.newLock(1, "")}, TTL: []time.Duration{time.Hour},
	})
	if !holdfast.HasCode(err, holdfast.CodeUnavailable) || errors.Is(err, store.ErrKeyInUse) {
		t.Errorf("got %v", err)
	}
}
