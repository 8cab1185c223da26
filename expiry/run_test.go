package expiry_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// onFound makes a run call do as soon as it has found documents, before it ends them.
func onFound(run expiry.Run, do func()) expiry.Run {
	found := "[LOCK EXPIRY JOB] Found"
	if run.By == holdfast.EndedByBookingExpiry {
		found = "[BOOKING EXPIRY JOB] Found"
	}
	run.Log = slog.New(onLine{Handler: run.Log.Handler(), text: found, do: do})
	return run
}

// A run whose time is over is not complete, and what it left over has not failed.
func TestSweep_ThatIsEndedIsNotComplete(t *testing.T) {
	t.Parallel()
	t.Run("before a transaction", func(t *testing.T) {
		t.Parallel()
		w := testenv.New(t)
		w.Acquire(w.Event(10), 1, testenv.Past())
		ctx, end := context.WithCancel(w.Ctx())
		report, err := w.Sweeper.SweepLocks(ctx, onFound(w.Run(holdfast.EndedByLockExpiry), end))
		if !errors.Is(err, context.Canceled) || report != (expiry.Report{Found: 1}) {
			t.Errorf("got %+v, %v", report, err)
		}
		if lines := w.Log.Lines("Successfully"); len(lines) > 0 {
			t.Errorf("%v", lines)
		}
	})
	t.Run("in a transaction", func(t *testing.T) {
		t.Parallel()
		w := testenv.New(t)
		w.Acquire(w.Event(10), 1, testenv.Past())
		ctx, cancel := context.WithCancel(w.Ctx())
		end := sync.OnceFunc(cancel)
		defer end()
		process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
			o.Monitor = &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
				if name, ok := e.Command.Lookup("update").StringValueOK(); ok && name == "seatlocks" {
					end()
				}
			}}
		})
		report, err := process.Sweeper.SweepLocks(ctx, process.Run(holdfast.EndedByLockExpiry))
		if !errors.Is(err, context.Canceled) || report != (expiry.Report{Found: 1}) {
			t.Errorf("got %+v, %v", report, err)
		}
		if lines := process.Log.Lines("Could not expire"); len(lines) > 0 {
			t.Errorf("%v", lines)
		}
	})
}

// A server that rejects a transaction for no document leaves its group to the next run.
func TestSweep_LeavesAGroupThatFailedToTheNextRun(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "holdfast_test")
	eventID := w.Event(10)
	for range 3 {
		w.Acquire(eventID, 1, testenv.Past())
	}
	const unauthorized = 13
	off := w.FailCommands("update", bson.D{{Key: "times", Value: 1}}, bson.D{{Key: "errorCode", Value: unauthorized}})
	defer off()
	if report := w.SweepLocks(); report != (expiry.Report{Found: 3, Errors: 3}) {
		t.Errorf("got %+v, want 3 errors", report)
	}
	if lines := w.Log.Lines("Could not expire"); len(lines) != 1 {
		t.Errorf("%v", lines)
	}
	if report := w.SweepLocks(); report != (expiry.Report{Found: 3, Applied: 3, SeatsRestored: 3}) {
		t.Errorf("the next run: %+v", report)
	}
}

// Between the read and the transaction another process ends one of two bookings that are due.
func TestSweepBookings_CountsWhatAnotherProcessEnded(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	w.Book(w.Acquire(eventID, 1, testenv.Soon()), testenv.Past())
	b := w.Book(w.Acquire(eventID, 2, testenv.Soon()), testenv.Past())
	report, err := w.Sweeper.SweepBookings(w.Ctx(), onFound(w.Run(holdfast.EndedByBookingExpiry), func() {
		w.Set("bookings", b.ID, bson.D{{Key: "status", Value: "CANCELLED"}})
	}))
	if want := (expiry.Report{Found: 2, Applied: 1, Skipped: 1, SeatsRestored: 1}); err != nil || report != want {
		t.Errorf("got %+v, %v; want %+v", report, err, want)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A sweep of an event that is on sale pauses between its transactions on it.
func TestSweepLocks_PausesBesideASale(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	for i := range 3 {
		w.Acquire(eventID, 1, holdfast.Until{At: time.Now().Add(time.Duration(i-100) * time.Minute)})
	}
	seller := testenv.Open(t, w.URI, w.DB.Name())
	small := &expiry.Sweeper{Pipeline: w.Pipeline, Batch: 1}
	start := time.Now()
	report, err := small.SweepLocks(w.Ctx(), onFound(w.Run(holdfast.EndedByLockExpiry), func() {
		seller.Acquire(eventID, 1, testenv.Soon())
	}))
	const pauses = 2 * 120 * time.Millisecond // after the second transaction, and the third
	if took := time.Since(start); err != nil || report.Applied != 3 || took < pauses {
		t.Errorf("got %+v, %v after %v; want two pauses", report, err, took)
	}
}

// The lines of a run's first hundred documents are at info, all others at debug.
func TestSweepLocks_LogsALimitedNumberOfDocumentsAtInfo(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const locks, most = 103, 100
	eventID := w.Event(locks)
	w.Set("events", eventID, bson.D{{Key: "availableSeats", Value: 0}})
	for range locks {
		w.Insert("seatlocks", pastLock(mongodb.NewID(), eventID, 1))
	}
	if report := w.SweepLocks(); report.Applied != locks {
		t.Errorf("got %+v", report)
	}
	const line = " [LOCK EXPIRY JOB] Expired lock"
	if info, debug := len(w.Log.Lines("INFO"+line)), len(w.Log.Lines("DEBUG"+line)); info != most || debug != locks-most {
		t.Errorf("%d lines at info, %d at debug; want %d, %d", info, debug, most, locks-most)
	}
}
