package pipeline_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// inserting is a process on a server of its own, and the number of its inserts.
func inserting(t *testing.T) (w *env, inserts *atomic.Int64) {
	t.Helper()
	inserts = &atomic.Int64{}
	return testenv.Open(t, testenv.OwnServer(t), "holdfast_test", func(o *mongodb.Options) {
		o.Monitor = &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
			if e.CommandName == "insert" {
				inserts.Add(1)
			}
		}}
	}), inserts
}

// MongoDB rejects every write, as with a full disk: the batch fails at once.
func TestCommit_ARejectionFailsTheBatchAtOnce(t *testing.T) {
	t.Parallel()
	w, inserts := inserting(t)
	p := newProcess(t, w)
	for name, code := range map[string]int{"OutOfDiskSpace": 14031, "Interrupted": 11601, "ExceededMemoryLimit": 146, "Unauthorized": 13} {
		for _, command := range []string{"insert", "findAndModify"} {
			t.Run(name+"/"+command, func(t *testing.T) {
				eventID := w.Event(100)
				release := w.HoldEvent(eventID.String()) // so that the commands come together
				var callers sync.WaitGroup
				const waiting = 40
				send := func() {
					callers.Go(func() {
						_, err := p.Submit(w.Ctx(), eventID, acquire(eventID, 1, ""))
						wantCode(t, err, holdfast.CodeUnavailable)
					})
				}
				first := int64(0) // the seats of the first caller
				callers.Go(func() {
					// Its attempt may have begun before the failures. Then it succeeds once the event is free.
					_, err := p.Submit(w.Ctx(), eventID, acquire(eventID, 1, ""))
					if err == nil && command == "findAndModify" {
						first = 1
						return
					}
					wantCode(t, err, holdfast.CodeUnavailable)
				})
				waitForBatch(t, p, eventID, 0)
				for range waiting {
					send()
				}
				waitForBatch(t, p, eventID, waiting)
				defer w.FailCommands(command, "alwaysOn", bson.D{{Key: "errorCode", Value: code}})()
				transactions := w.Transactions(mongodb.Unavailable)
				before := inserts.Load()
				release()
				callers.Wait()
				if n, failed := inserts.Load()-before, w.Transactions(mongodb.Unavailable)-transactions; n > 4 || failed > 4 {
					t.Errorf("%d inserts, %d transactions failed", n, failed)
				}
				wantAvailable(t, w, eventID, 100-first)
			})
		}
	}
}
