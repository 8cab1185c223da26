package store_test

import (
	"maps"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A corrupt event refuses all that would change it, at once, in a process that remembers it and in one that does not.
func TestCorruptEvent_RefusesEveryChangeAtOnce(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]bson.E{
		"a counter of text": field("totalSeats", "100"), "an unknown status": field("status", "OPEN"), "no document": field("internal", "x"),
		"a negative number": field("oversold", -1), "a date that can't be written": field("eventDate", bson.DateTime(253_402_300_800_000)),
		"a fraction": field("availableSeats", 2.5), "a revision of text": field("internal.rev", "x"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			event, user := w.Event(10), mongodb.NewID()
			lock, pending, sold := w.Acquire(event, 1, testenv.Soon()), w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Soon()),
				w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Soon())
			if _, err := w.Bookings.ConfirmBooking(w.Ctx(), sold.ID, holdfast.Charge{Reference: "r"}); err != nil {
				t.Fatal(err)
			}
			w.Set("events", event, bson.D{wrong})
			stored := fixture{env: w, t: t, event: event}
			before := stored.documents()
			newName := "New"
			for _, process := range []*env{w, testenv.Open(t, w.URI, w.DB.Name())} {
				acquire := func(key string) error {
					_, _, err := process.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{
						EventID: event, UserID: user, Seats: 1, Key: key, Until: testenv.Soon()})
					return err
				}
				for what, change := range map[string]func() error{
					"acquire":             func() error { return acquire("") },
					"acquire by key":      func() error { return acquire("key") },
					"release":             func() error { _, err := process.Seats.ReleaseLock(w.Ctx(), lock.ID); return err },
					"cancel":              func() error { _, err := process.Bookings.CancelBooking(w.Ctx(), pending.ID); return err },
					"cancel what is sold": func() error { _, err := process.Bookings.CancelBooking(w.Ctx(), sold.ID); return err },
					"change": func() error {
						_, err := process.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{Name: &newName})
						return err
					},
				} {
					began := time.Now()
					if err := change(); !holdfast.HasCode(err, holdfast.CodeUnavailable) {
						t.Errorf("%s: %v", what, err)
					}
					if took := time.Since(began); took > 3*time.Second {
						t.Errorf("%s took %v", what, took)
					}
				}
			}
			if after := stored.documents(); !maps.Equal(after, before) {
				t.Errorf("there was %v, and is %v", before, after)
			}
		})
	}
}

// A corrupt lock counts nowhere. A request with its key can't be answered; the others of the same batch are.
func TestCorruptLock_RefusesItsKeyAlone(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, user, limit := w.Event(100), mongodb.NewID(), int64(4)
	if _, err := w.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{MaxSeatsPerUser: &limit}); err != nil {
		t.Fatal(err)
	}
	acquire := func(user holdfast.ID, seats int64, key string) (holdfast.Lock, error) {
		request := holdfast.LockRequest{EventID: event, UserID: user, Seats: seats, Key: key, Until: testenv.Soon()}
		lock, _, err := w.Seats.AcquireLock(w.Ctx(), request)
		return lock, err
	}
	lock, err := acquire(user, 3, "key")
	if err != nil {
		t.Fatal(err)
	}
	w.Set("seatlocks", lock.ID, bson.D{field("updatedAt", "yesterday")})
	w.Store.SetCorruptLocks([]bson.RawValue{{Type: bson.TypeObjectID, Value: lock.ID[:]}}) // as the next search does
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			key, who, want := "key", user, holdfast.CodeUnavailable
			if n > 0 {
				key, who, want = "other", mongodb.NewID(), ""
			}
			if _, err := acquire(who, 3, key); holdfast.CodeOf(err) != want || (err == nil) != (want == "") {
				t.Errorf("the key %q got %v, want %q", key, err, want)
			}
		})
	}
	all.Wait()
	if _, err := acquire(user, 4, ""); err != nil {
		t.Errorf("the corrupt lock counts for its user: %v", err)
	}
	if _, err := acquire(user, 1, ""); !holdfast.HasCode(err, holdfast.CodeSeatLimitReached) {
		t.Errorf("beyond the limit: %v", err)
	}
}

// A document that the schema allows is read, whatever its other fields are; one that it does not allow stops no list.
func TestCorrupt_StopsNoListAndNoSweep(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	good, bad := w.Event(10), w.Event(10)
	lock := w.Acquire(good, 1, testenv.Soon())
	w.Set("events", bad, bson.D{field("sections", bson.A{bson.D{field("key", "pit"), field("capacity", 1.5)}})})
	w.Set("seatlocks", lock.ID, bson.D{
		field("internal.fixes", "x"), field("internal.writers", "x"), field("expiresAt", time.Now().Add(-time.Hour)),
	})
	found, _, err := w.Store.Events(w.Ctx(), holdfast.EventFilter{}, holdfast.Page{Size: 10})
	if err != nil || len(found) != 1 || found[0].ID != good {
		t.Errorf("listed %+v, %v", found, err)
	}
	ofEvents := mongo.Pipeline{mongodb.Match(mongodb.Corrupt(store.Collections()[0]))}
	corrupt, err := mongodb.All[bson.Raw](w.Ctx(), w.DB.Collection("events"), ofEvents)
	if err != nil || len(corrupt) != 1 {
		t.Errorf("%d corrupt events, %v", len(corrupt), err)
	}
	if report := w.SweepLocks(); report.Applied != 1 {
		t.Errorf("swept %+v", report)
	}
}
