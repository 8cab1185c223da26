package expiry_test

import (
	"log/slog"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/ids"
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

// Old locks that have ended are removed with their ended bookings. Locks that count, and
// contradictions that people have to look at, stay.
func TestRetention_RemovesLocksThatEndedLongAgo(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1000)
	long, short := time.Now().Add(-48*time.Hour), time.Now().Add(-time.Hour)
	type kept struct {
		name       string
		collection string
		id         holdfast.ID
	}
	var stays, goes []kept
	note := func(list *[]kept, name string, lock holdfast.Lock, booking holdfast.ID) {
		*list = append(*list, kept{name, "seatlocks", lock.ID})
		if !booking.IsZero() {
			*list = append(*list, kept{name + "'s booking", "bookings", booking})
		}
	}
	aged := func(lock holdfast.Lock, at time.Time) holdfast.Lock {
		w.Set("seatlocks", lock.ID, bson.D{{Key: "updatedAt", Value: at}})
		return lock
	}
	release := func(lock holdfast.Lock) holdfast.Lock {
		if _, err := w.Seats.ReleaseLock(w.Ctx(), lock.ID); err != nil {
			t.Fatal(err)
		}
		return lock
	}

	active := w.Take(event, 1, testenv.Soon())
	note(&stays, "an ACTIVE lock", aged(active, long), holdfast.ID{})
	sold := w.Take(event, 1, testenv.Soon())
	confirmed := w.Book(sold, testenv.Soon())
	if _, err := w.Bookings.ConfirmBooking(w.Ctx(), confirmed.ID, ""); err != nil {
		t.Fatal(err)
	}
	note(&stays, "a CONSUMED lock", aged(sold, long), confirmed.ID)
	before := ids.New()
	w.Insert("bookings", bson.D{{Key: "_id", Value: before}, {Key: "seatLockId", Value: sold.ID}, {Key: "status", Value: "CANCELLED"},
		{Key: "paymentExpiresAt", Value: long}})
	stays = append(stays, kept{"an ended booking of a CONSUMED lock", "bookings", before})
	note(&stays, "a lock RELEASED an hour ago", aged(release(w.Take(event, 1, testenv.Soon())), short), holdfast.ID{})

	for range 4 { // more than a batch
		released := w.Take(event, 1, testenv.Soon())
		cancelled := w.Book(released, testenv.Soon())
		note(&goes, "a RELEASED lock", aged(release(released), long), cancelled.ID)
	}
	for range 4 {
		expired := w.Take(event, 1, testenv.Past())
		note(&goes, "an EXPIRED lock", expired, holdfast.ID{})
	}
	contradiction := w.Take(event, 1, testenv.Past())
	note(&stays, "a lock that was due long ago and expired just now", w.Take(event, 1, holdfast.Until{At: long}), holdfast.ID{})
	w.SweepLocks()
	for _, k := range goes {
		if k.collection == "seatlocks" {
			w.Set("seatlocks", k.id, bson.D{{Key: "updatedAt", Value: long}})
		}
	}
	aged(contradiction, long)
	told := ids.New()
	w.Insert("bookings", bson.D{{Key: "_id", Value: told}, {Key: "seatLockId", Value: contradiction.ID},
		{Key: "status", Value: "CONFIRMED"}, {Key: "paymentExpiresAt", Value: long}})
	note(&stays, "an EXPIRED lock of a CONFIRMED booking", contradiction, told)
	for at, list := range map[time.Time]*[]kept{long: &goes, short: &stays} { // documents of other software
		id := ids.New()
		w.Insert("seatlocks", bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: event}, {Key: "seats", Value: 1},
			{Key: "status", Value: "EXPIRED"}, {Key: "expiresAt", Value: at}})
		note(list, "a lock without updatedAt", holdfast.Lock{ID: id}, holdfast.ID{})
	}

	available, _ := w.Available(event)
	if report := retain(t, w, 0); report != (expiry.Report{}) {
		t.Errorf("switched off: %+v", report)
	}
	report := retain(t, w, 24*time.Hour)
	if want := (expiry.Report{Found: 10, Applied: 9, Skipped: 1}); report != want {
		t.Errorf("got %+v, want %+v", report, want)
	}
	for _, k := range stays {
		if !exists(t, w, k.collection, k.id) {
			t.Errorf("%s was removed", k.name)
		}
	}
	for _, k := range goes {
		if exists(t, w, k.collection, k.id) {
			t.Errorf("%s is still there", k.name)
		}
	}
	if now, _ := w.Available(event); now != available {
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
	request := holdfast.LockRequest{EventID: w.Event(10), UserID: ids.New(), Seats: 2, Key: "key", Until: testenv.Past()}
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

// Of the locks that are named, only ended ones are removed.
func TestPurge_LeavesLocksThatCount(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	active, sold, expired := w.Take(event, 1, testenv.Soon()), w.Take(event, 1, testenv.Soon()), w.Take(event, 1, testenv.Past())
	if _, err := w.Bookings.ConfirmBooking(w.Ctx(), w.Book(sold, testenv.Soon()).ID, ""); err != nil {
		t.Fatal(err)
	}
	w.SweepLocks()
	gone, err := w.Store.Purge(w.Ctx(), []holdfast.ID{active.ID, sold.ID, expired.ID, ids.New()})
	if err != nil || gone.Locks != 1 || exists(t, w, "seatlocks", expired.ID) || !exists(t, w, "seatlocks", active.ID) ||
		!exists(t, w, "seatlocks", sold.ID) {
		t.Errorf("%+v, %v", gone, err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
