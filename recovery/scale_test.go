package recovery_test

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Several passes run at the same time over more events than a page has. A tenth of the
// counters are wrong: each is corrected once, and counted once.
func TestReconcile_SeveralAtOnceCorrectEachCounterOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const events, wrong = 2500, 250
	var docs, locks []any
	for i := range events {
		id, available := mongodb.NewID(), 8
		if i%(events/wrong) == 0 {
			available += 1 - 2*(i%20/10) // one too many, or too few
		}
		docs = append(docs, bson.D{{Key: "_id", Value: id}, {Key: "name", Value: "Event"}, {Key: "totalSeats", Value: 10},
			{Key: "availableSeats", Value: available}})
		locks = append(locks, bson.D{{Key: "eventId", Value: id}, {Key: "userId", Value: mongodb.NewID()}, {Key: "seats", Value: 2},
			{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
	}
	for name, all := range map[string][]any{"events": docs, "seatlocks": locks} {
		if _, err := w.DB.Collection(name).InsertMany(w.Ctx(), all); err != nil {
			t.Fatal(err)
		}
	}
	var runs sync.WaitGroup
	var corrections atomic.Int64
	for range 3 {
		runs.Go(func() {
			report, err := w.Recovery.Reconcile(w.Ctx(), mongodb.NewID().String(), slog.New(w.Log))
			if err != nil {
				t.Error(err)
			}
			corrections.Add(int64(report.Corrections))
		})
	}
	runs.Wait()
	if n := corrections.Load(); n != wrong {
		t.Errorf("%d corrections of %d wrong counters", n, wrong)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A process died while its transaction held an event: the page is corrected nevertheless,
// and the held event once the transaction has been found and ended.
func TestReconcile_EndsTheTransactionOfADeadProcess(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	events := []holdfast.ID{w.Event(10), w.Event(10), w.Event(10)}
	for _, id := range events {
		w.Set("events", id, bson.D{{Key: "availableSeats", Value: 7}})
	}
	release := w.HoldEvent(events[1].String())
	defer release()
	report, err := w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log))
	if err != nil || report.Corrections != len(events) || report.Errors != 0 {
		t.Errorf("%+v, %v; want %d corrections", report, err, len(events))
	}
	if len(w.Log.Lines("Ended orphaned transactions")) != 1 {
		t.Error("the transaction was not ended by the run")
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
