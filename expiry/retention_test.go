package expiry_test

import (
	"log/slog"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func retain(t *testing.T, w *testenv.Env, age time.Duration) expiry.Report {
	t.Helper()
	r := &expiry.Retention{Store: w.Store, Batch: 3}
	report, err := r.Run(w.Ctx(), age, slog.New(w.Log))
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func exists(t *testing.T, w *testenv.Env, collection string, id holdfast.ID) bool {
	t.Helper()
	n, err := w.DB.Collection(collection).CountDocuments(w.Ctx(), bson.D{{Key: "_id", Value: id}})
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}

// aged has documents for a test of retention, each with a name.
type aged struct {
	t           *testing.T
	w           *testenv.Env
	event       holdfast.ID
	stays, goes []agedDocument
}

type agedDocument struct {
	name, collection string
	id               holdfast.ID
}

var (
	longAgo = time.Now().Add(-48 * time.Hour)
	hourAgo = time.Now().Add(-time.Hour)
)

func (a *aged) changedAt(lock holdfast.Lock, at time.Time) holdfast.Lock {
	a.t.Helper()
	a.w.Set("seatlocks", lock.ID, bson.D{{Key: "updatedAt", Value: at}})
	return lock
}

func (a *aged) lock(until holdfast.Until) holdfast.Lock {
	a.t.Helper()
	return a.w.Acquire(a.event, 1, until)
}

func (a *aged) released() (lock holdfast.Lock, booking holdfast.ID) {
	a.t.Helper()
	lock = a.lock(testenv.Soon())
	booking = a.w.Book(lock, testenv.Soon()).ID
	if _, err := a.w.Seats.ReleaseLock(a.w.Ctx(), lock.ID); err != nil {
		a.t.Fatal(err)
	}
	return lock, booking
}

func (a *aged) booking(lock holdfast.ID, status holdfast.BookingStatus) holdfast.ID {
	a.t.Helper()
	id := mongodb.NewID()
	a.w.Insert("bookings", bson.D{{Key: "_id", Value: id}, {Key: "seatLockId", Value: lock}, {Key: "status", Value: string(status)},
		{Key: "paymentExpiresAt", Value: longAgo}})
	return id
}

// keep names documents that must stay; remove names documents that must be removed.
func (a *aged) keep(name, collection string, id holdfast.ID) {
	a.stays = append(a.stays, agedDocument{name, collection, id})
}

func (a *aged) remove(name, collection string, id holdfast.ID) {
	a.goes = append(a.goes, agedDocument{name, collection, id})
}

// sold makes a CONSUMED lock that was changed long ago, with its bookings.
func (a *aged) sold() {
	a.t.Helper()
	lock := a.lock(testenv.Soon())
	b := a.w.Book(lock, testenv.Soon())
	if _, err := a.w.Bookings.ConfirmBooking(a.w.Ctx(), b.ID, holdfast.Charge{}); err != nil {
		a.t.Fatal(err)
	}
	a.keep("a CONSUMED lock", "seatlocks", a.changedAt(lock, longAgo).ID)
	a.keep("its booking", "bookings", b.ID)
	a.keep("an ended booking of a CONSUMED lock", "bookings", a.booking(lock.ID, holdfast.BookingCancelled))
}

// ended makes locks that have ended, long ago and just now.
func (a *aged) ended() {
	a.t.Helper()
	const moreThanABatch = 4
	recent, booking := a.released()
	a.keep("a lock RELEASED an hour ago", "seatlocks", a.changedAt(recent, hourAgo).ID)
	a.keep("its booking", "bookings", booking)
	for range moreThanABatch {
		lock, booking := a.released()
		a.remove("a RELEASED lock", "seatlocks", a.changedAt(lock, longAgo).ID)
		a.remove("its booking", "bookings", booking)
	}
	var expired []holdfast.Lock
	for range moreThanABatch {
		expired = append(expired, a.lock(testenv.Past()))
	}
	contradiction := a.lock(testenv.Past())
	a.keep("a lock that was due long ago and expired just now", "seatlocks", a.lock(holdfast.Until{At: longAgo}).ID)
	a.w.SweepLocks()
	for _, lock := range expired {
		a.remove("an EXPIRED lock", "seatlocks", a.changedAt(lock, longAgo).ID)
	}
	a.keep("an EXPIRED lock of a CONFIRMED booking", "seatlocks", a.changedAt(contradiction, longAgo).ID)
	a.keep("its booking", "bookings", a.booking(contradiction.ID, holdfast.BookingConfirmed))
}

// foreign inserts an EXPIRED lock without the date of its change.
func (a *aged) foreign(expiredAt time.Time) holdfast.ID {
	a.t.Helper()
	id := mongodb.NewID()
	a.w.Insert("seatlocks", bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: a.event}, {Key: "seats", Value: 1},
		{Key: "status", Value: "EXPIRED"}, {Key: "expiresAt", Value: expiredAt}})
	return id
}

// entry inserts an entry of a waiting list.
func (a *aged) entry(status string, at time.Time) holdfast.ID {
	a.t.Helper()
	id := mongodb.NewID()
	a.w.Insert("waitlist", bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: a.event}, {Key: "seats", Value: 1},
		{Key: "status", Value: status}, {Key: "updatedAt", Value: at}})
	return id
}

// Old ended locks are removed with their ended bookings. Locks that take seats stay, and so
// do contradictions that an operator has to check.
func TestRetention_RemovesLocksThatEndedLongAgo(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	a := &aged{t: t, w: w, event: w.Event(1000)}
	a.keep("an ACTIVE lock", "seatlocks", a.changedAt(a.lock(testenv.Soon()), longAgo).ID)
	a.sold()
	a.ended()
	a.keep("a lock without updatedAt, expired an hour ago", "seatlocks", a.foreign(hourAgo))
	a.remove("a lock without updatedAt, expired long ago", "seatlocks", a.foreign(longAgo))
	a.remove("an entry that left long ago", "waitlist", a.entry("LEFT", longAgo))
	a.keep("an entry that left an hour ago", "waitlist", a.entry("LEFT", hourAgo))
	a.keep("an entry that waits since long ago", "waitlist", a.entry("WAITING", longAgo))

	available, _ := w.Available(a.event)
	if report := retain(t, w, 0); report != (expiry.Report{}) {
		t.Errorf("switched off: %+v", report)
	}
	report := retain(t, w, 24*time.Hour)
	if want := (expiry.Report{Found: 10, Applied: 9, Skipped: 1}); report != want {
		t.Errorf("got %+v, want %+v", report, want)
	}
	for _, d := range a.stays {
		if !exists(t, w, d.collection, d.id) {
			t.Errorf("removed: %s", d.name)
		}
	}
	for _, d := range a.goes {
		if exists(t, w, d.collection, d.id) {
			t.Errorf("not removed: %s", d.name)
		}
	}
	if now, _ := w.Available(a.event); now != available {
		t.Errorf("%d seats were available, now %d", available, now)
	}
	if report := retain(t, w, 24*time.Hour); report.Applied != 0 {
		t.Errorf("again: %+v", report)
	}
}

// The key of a removed lock is free for a new one.
func TestRetention_FreesIdempotencyKeys(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	request := holdfast.LockRequest{EventID: w.Event(10), UserID: mongodb.NewID(), Seats: 2, Key: "key", Until: testenv.Past()}
	first, _, err := w.Seats.AcquireLock(w.Ctx(), request)
	if err != nil {
		t.Fatal(err)
	}
	w.SweepLocks()
	w.Set("seatlocks", first.ID, bson.D{{Key: "updatedAt", Value: time.Now().Add(-time.Hour)}})
	retain(t, w, time.Minute)
	if second, replayed, err := w.Seats.AcquireLock(w.Ctx(), request); err != nil || replayed || second.ID == first.ID {
		t.Errorf("%+v, replayed %v, %v", second, replayed, err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// Purge removes only those of the named locks that have ended.
func TestPurge_LeavesLocksThatCount(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	active, sold, expired := w.Acquire(event, 1, testenv.Soon()), w.Acquire(event, 1, testenv.Soon()), w.Acquire(event, 1, testenv.Past())
	if _, err := w.Bookings.ConfirmBooking(w.Ctx(), w.Book(sold, testenv.Soon()).ID, holdfast.Charge{}); err != nil {
		t.Fatal(err)
	}
	w.SweepLocks()
	gone, err := w.Store.Purge(w.Ctx(), []holdfast.ID{active.ID, sold.ID, expired.ID, mongodb.NewID()}, time.Now(), time.Now())
	if err != nil || gone.Locks != 1 || exists(t, w, "seatlocks", expired.ID) || !exists(t, w, "seatlocks", active.ID) ||
		!exists(t, w, "seatlocks", sold.ID) {
		t.Errorf("%+v, %v", gone, err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A lock that is changed after the job has listed it counts from that change. Its booking stays with it.
func TestPurge_LeavesWhatHasChangedSince(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	lock := w.Acquire(w.Event(10), 1, testenv.Soon())
	booking := w.Book(lock, testenv.Soon())
	if _, err := w.Bookings.CancelBooking(w.Ctx(), booking.ID); err != nil {
		t.Fatal(err)
	}
	w.Set("seatlocks", lock.ID, bson.D{{Key: "updatedAt", Value: longAgo}})
	before := time.Now().Add(-time.Hour)
	reference := "order"
	if _, err := w.Seats.UpdateLock(w.Ctx(), lock.ID, holdfast.ShopDataChange{Reference: &reference}); err != nil {
		t.Fatal(err)
	}
	gone, err := w.Store.Purge(w.Ctx(), []holdfast.ID{lock.ID}, before, time.Now())
	if err != nil || gone.Locks+gone.Bookings != 0 || w.Lock(lock.ID).Reference != reference || !exists(t, w, "bookings", booking.ID) {
		t.Errorf("%+v, %v", gone, err)
	}
	w.Set("seatlocks", lock.ID, bson.D{{Key: "updatedAt", Value: longAgo}})
	if gone, err = w.Store.Purge(w.Ctx(), []holdfast.ID{lock.ID}, before, time.Now()); err != nil || gone.Locks != 1 || gone.Bookings != 1 {
		t.Errorf("%+v, %v", gone, err)
	}
}

// It is not known whether a corrupt event accepts late payments, so the locks of its expired bookings stay until it is
// corrected.
func TestRetention_WaitsForACorruptEvent(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	corrupt, good := w.Event(10), w.Event(10)
	expired := func(event holdfast.ID) holdfast.Lock {
		b := w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Soon())
		w.Set("bookings", b.ID, bson.D{{Key: "status", Value: "EXPIRED"}, {Key: "paymentExpiresAt", Value: longAgo}})
		w.Set("seatlocks", b.LockID, bson.D{{Key: "status", Value: "EXPIRED"}, {Key: "updatedAt", Value: longAgo}})
		return w.Lock(b.LockID)
	}
	stays, goes := expired(corrupt), expired(good)
	w.Set("events", corrupt, bson.D{{Key: "latePaymentSeconds", Value: "x"}})
	if report := retain(t, w, 24*time.Hour); report.Applied != 1 || report.Skipped != 1 ||
		!exists(t, w, "seatlocks", stays.ID) || exists(t, w, "seatlocks", goes.ID) {
		t.Errorf("while the event is corrupt: %+v", report)
	}
	w.Set("events", corrupt, bson.D{{Key: "latePaymentSeconds", Value: 60}})
	if report := retain(t, w, 24*time.Hour); report.Applied != 1 || exists(t, w, "seatlocks", stays.ID) {
		t.Errorf("after it was corrected: %+v", report)
	}
}
