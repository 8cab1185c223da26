package pipeline_test

import (
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// withDueLocks returns an event whose seats are all in due locks of one seat each, oldest first.
func withDueLocks(w *testenv.Env, n int) (eventID holdfast.ID, locks []holdfast.Lock) {
	eventID = w.Event(int64(n))
	for i := range n {
		lock := w.Acquire(eventID, 1, testenv.Soon())
		w.Set("seatlocks", lock.ID, bson.D{{Key: "expiresAt", Value: time.Now().Add(time.Duration(i-n) * time.Minute)}})
		locks = append(locks, lock)
	}
	return eventID, locks
}

// A batch that reads due locks leaves the rest to the next ones, which read nothing.
func TestReclaim_DueLocksAreReadOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID, locks := withDueLocks(w, 4)
	var r recorder
	p := newProcess(t, watched(t, w, r.monitor()))
	for i, want := range [][]string{
		{read, update, read, write, update, insert, insert, commit}, // a request with a key holds the event before it is refused
		{write, update, insert, insert, commit},
		{write, update, insert, insert, commit},
	} {
		got := r.of(func() { submit(t, p, eventID, acquire(eventID, 1, "key"+string(rune('a'+i)))) })
		if !slices.Equal(got, want) {
			t.Errorf("request %d sent %v, want %v", i, got, want)
		}
		if lock := w.Lock(locks[i].ID); lock.Status != holdfast.LockExpired {
			t.Errorf("the lock that ended before all others is %s", lock.Status)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// What other processes have done with a due lock since it was read makes the plan stale.
func TestReclaim_DueLocksMayHaveChanged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*testenv.Env, holdfast.Lock){
		"swept": func(w *testenv.Env, _ holdfast.Lock) { w.SweepLocks() },
		"sold": func(w *testenv.Env, lock holdfast.Lock) { // restored by hand, so recovery makes it CONSUMED
			w.Set("seatlocks", lock.ID, bson.D{{Key: "status", Value: "CONSUMED"}, {Key: "internal.rev", Value: int64(9)}})
			w.Insert("bookings", bson.D{
				{Key: "seatLockId", Value: lock.ID}, {Key: "eventId", Value: lock.EventID}, {Key: "userId", Value: lock.UserID},
				{Key: "seats", Value: 1}, {Key: "status", Value: "CONFIRMED"},
			})
		},
		"not due any more": func(w *testenv.Env, lock holdfast.Lock) {
			w.Set("seatlocks", lock.ID, bson.D{{Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			eventID, locks := withDueLocks(w, 3)
			var r recorder
			p := newProcess(t, watched(t, w, r.monitor()))
			submit(t, p, eventID, acquire(eventID, 1, "a"))
			change(w, locks[1])
			got := r.of(func() { submit(t, p, eventID, acquire(eventID, 1, "b")) })
			if len(got) < 2 || got[0] != write || !slices.Contains(got, abort) {
				t.Errorf("it sent %v, want a plan that is stale first", got)
			}
			if lock := w.Lock(locks[1].ID); lock.Status == holdfast.LockExpired && name != "swept" {
				t.Error("a lock was ended that is not due any more")
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}
