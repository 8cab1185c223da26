package expiry_test

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// An event is corrupt. A run sets it aside after the first refusal,
// however many pages of its locks and bookings follow.
func TestSweeps_TryARejectedEventOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	const documents = 24
	for i := range documents {
		lock := w.Acquire(event, 1, testenv.Soon())
		w.Book(lock, testenv.Past())
		w.Set("seatlocks", lock.ID, bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Duration(i+1) * time.Hour)}})
	}
	w.Set("events", event, bson.D{{Key: "internal", Value: "3-abc"}})
	small := &expiry.Sweeper{Pipeline: w.Pipeline, Batch: 2}
	rejected := 0
	for round := range 2 {
		locks, err := small.SweepLocks(w.Ctx(), w.Run(holdfast.EndedByLockExpiry))
		if n := w.Transactions(mongodb.Rejected) - rejected; err != nil || locks.Skipped != documents || locks.Errors != 0 || n != 1 {
			t.Errorf("locks, round %d: %+v, %v; %d rejected transactions, want 1", round, locks, err, n)
		}
		rejected = w.Transactions(mongodb.Rejected)
		bookings, err := small.SweepBookings(w.Ctx(), w.Run(holdfast.EndedByBookingExpiry))
		if n := w.Transactions(mongodb.Rejected) - rejected; err != nil || bookings.Skipped != documents || bookings.Errors != 0 || n != 1 {
			t.Errorf("bookings, round %d: %+v, %v; %d rejected transactions, want 1", round, bookings, err, n)
		}
		rejected = w.Transactions(mongodb.Rejected)
	}
}

// More events in a row fail than a run tolerates unasked, and no document is the cause. The run goes
// on if the database answers, and ends with the error if it does not.
func TestSweep_FailuresEndARunOnlyIfTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	control := testenv.Open(t, testenv.OwnServer(t), "holdfast_test_control")
	const events, failures = 20, 12
	sweep := func(t *testing.T, database, commands string, mode any) (*testenv.Env, expiry.Report, error) {
		t.Helper()
		w := testenv.Open(t, control.URI, database)
		for range events {
			w.Acquire(w.Event(10), 1, testenv.Past())
		}
		const outOfDiskSpace = 14031 // no single document can be its cause
		off := control.FailCommands(commands, mode,
			bson.D{{Key: "errorCode", Value: outOfDiskSpace}, {Key: "appName", Value: "holdfast:" + database}})
		defer off()
		report, err := w.Sweeper.SweepLocks(w.Ctx(), w.Run(holdfast.EndedByLockExpiry))
		return w, report, err
	}
	t.Run("it answers", func(t *testing.T) {
		w, report, err := sweep(t, "holdfast_test_answers", "update", bson.D{{Key: "times", Value: failures}})
		// MongoDB counts the failures only after it began them: commands at the same time can fail, too.
		if err != nil || report.Errors < failures || report.Applied == 0 || report.Applied != events-report.Errors {
			t.Errorf("%+v, %v; want at least %d errors, and the other locks ended", report, err, failures)
		}
		if next := w.SweepLocks(); next.Applied != report.Errors {
			t.Errorf("the next run: %+v", next)
		}
	})
	t.Run("it is away", func(t *testing.T) {
		w, report, err := sweep(t, "holdfast_test_away", "update hello", "alwaysOn")
		if err == nil || !strings.Contains(err.Error(), "10 groups in a row failed") || report.Errors >= events {
			t.Errorf("%+v, %v; want the run to end with the error", report, err)
		}
		if len(w.Log.Lines("Successfully")) > 0 {
			t.Error("the run says that it was successful")
		}
	})
}
