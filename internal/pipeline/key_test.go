package pipeline_test

import (
	"reflect"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// A new key is not looked up. If another process has used it, the unique index refuses
// the lock, and the batch is decided again with the locks of its keys.
func TestKey_UsedInAnotherProcess(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(100)
	p, elsewhere := newProcess(t, w), newProcess(t, w)
	used := acquire(eventID, 3, "key")
	first := submit(t, elsewhere, eventID, used).Lock
	again := func(change func(c *inventory.Acquire)) inventory.Acquire {
		c := used
		c.LockID = mongodb.NewID()
		change(&c)
		return c
	}
	same, otherSeats := func(*inventory.Acquire) {}, func(c *inventory.Acquire) { c.Seats = 4 }
	otherUser, otherKey := func(c *inventory.Acquire) { c.UserID = mongodb.NewID() }, func(c *inventory.Acquire) { c.Key = "other" }
	results, err := p.Commit(w.Ctx(), map[holdfast.ID][]inventory.Command{eventID: {
		again(otherUser), again(same), again(otherSeats), again(otherKey), again(otherKey), acquire(eventID, 1, ""),
	}})
	if err != nil {
		t.Fatal(err)
	}
	type known struct {
		code     holdfast.Code
		replayed bool
		isFirst  bool
	}
	want := []known{{}, {replayed: true, isFirst: true}, {code: holdfast.CodeIdempotencyKeyReused}, {}, {replayed: true}, {}}
	for i, r := range results[eventID] {
		if got := (known{holdfast.CodeOf(r.Err), r.Err == nil && r.Replayed, r.Lock != nil && r.Lock.ID == first.ID}); got != want[i] {
			t.Errorf("command %d: got %+v, want %+v: %+v", i, got, want[i], r)
		}
	}
	if made, replayed := results[eventID][3].Lock, results[eventID][4].Lock; made.ID != replayed.ID || !reflect.DeepEqual(*made, *replayed) {
		t.Errorf("one key in one batch: %+v and %+v", made, replayed)
	}
	wantAvailable(t, w, eventID, 100-3-3-3-1)
	testenv.CheckInvariants(t, w.DB.Database)
}

// A repeat returns the lock in its present state, and takes no seats.
func TestKey_ReturnsItsLockInItsPresentState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		becomes func(w *env, lock holdfast.Lock)
		want    holdfast.LockStatus
	}{
		"released": {func(w *env, lock holdfast.Lock) {
			if _, err := w.Seats.ReleaseLock(w.Ctx(), lock.ID); err != nil {
				w.T.Error(err)
			}
		}, holdfast.LockReleased},
		"expired": {func(w *env, _ holdfast.Lock) { w.SweepLocks() }, holdfast.LockExpired},
		"due":     {func(*env, holdfast.Lock) {}, holdfast.LockActive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			eventID := w.Event(10)
			p := newProcess(t, w)
			request := acquire(eventID, 10, "key")
			if request.Until = testenv.Past(); name == "released" {
				request.Until = testenv.Soon()
			}
			lock := submit(t, p, eventID, request).Lock
			c.becomes(w, *lock)
			for _, process := range []string{"the same process", "another process"} {
				if process == "another process" {
					p = newProcess(t, w)
				}
				request.LockID = mongodb.NewID()
				result := submit(t, p, eventID, request)
				if !result.Replayed || result.Lock.ID != lock.ID || result.Lock.Status != c.want {
					t.Errorf("%s: %+v, want %s", process, result, c.want)
				}
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}
