package expiry_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A sweep reads the due locks in the transaction that ends them. A change of a lock after
// that conflicts, and the sweep decides again.
func TestSweepLocks_LeavesALockThatChangesAfterTheRead(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	lock := w.Acquire(eventID, 2, testenv.Past())
	changed := false
	process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
		o.Monitor = &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
			if name, ok := e.Command.Lookup("update").StringValueOK(); ok && name == "seatlocks" && !changed {
				changed = true
				w.Set("seatlocks", lock.ID, bson.D{{Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
			}
		}}
	})
	report, err := process.Sweeper.SweepLocks(w.Ctx(), w.Run(holdfast.EndedByLockExpiry))
	if err != nil || report.Applied != 0 || !changed {
		t.Errorf("got %+v, %v; changed: %v", report, err, changed)
	}
	if status := w.Lock(lock.ID).Status; status != holdfast.LockActive {
		t.Errorf("the lock is %s", status)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
