package expiry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// setAsideBefore is how many documents a run of endedRun sets aside before its context ends.
const setAsideBefore = 4

// endedRun is a run whose context ends once it has set some documents aside.
func endedRun(w *testenv.Env, by holdfast.EndedBy) (context.Context, expiry.Run) {
	ctx, end := context.WithCancel(w.Ctx())
	w.T.Cleanup(end)
	run := w.Run(by)
	var n atomic.Int64
	run.Log = slog.New(onLine{Handler: run.Log.Handler(), text: "Set aside", do: func() {
		if n.Add(1) >= setAsideBefore {
			end()
		}
	}})
	return ctx, run
}

// rejectBad makes MongoDB reject the end of each lock and booking with the field bad.
func rejectBad(w *testenv.Env) {
	for _, collection := range []string{"seatlocks", "bookings"} {
		w.Command(bson.D{{Key: "collMod", Value: collection}, {Key: "validator", Value: bson.D{{Key: "$nor", Value: bson.A{
			bson.D{{Key: "bad", Value: true}, {Key: "status", Value: "EXPIRED"}},
		}}}}})
	}
}

// insertStuck inserts a lock that became due i milliseconds after 1970, or one that is not due with a booking
// that did.
func insertStuck(w *testenv.Env, booked bool, event holdfast.ID, i int) {
	lock, at, until := mongodb.NewID(), time.UnixMilli(int64(i)), time.UnixMilli(int64(i))
	if booked {
		until = time.Now().Add(time.Hour)
		w.Insert("bookings", bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "seatLockId", Value: lock}, {Key: "bad", Value: true},
			{Key: "status", Value: "PAYMENT_PENDING"}, {Key: "paymentExpiresAt", Value: at}})
	}
	w.Insert("seatlocks", bson.D{{Key: "_id", Value: lock}, {Key: "eventId", Value: event}, {Key: "seats", Value: 1},
		{Key: "bad", Value: true}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: until}})
}

// Each run is ended by its time limit before it has met all documents that no run can end. The next one
// goes on behind those that it has met, so that the good ones behind all of them end.
func TestSweeps_GoOnWhereARunWasEnded(t *testing.T) {
	t.Parallel()
	const stuck, maxRuns = 30, 100
	for name, missing := range map[string]bool{"missing events": true, "rejected documents": false} {
		for _, batch := range []int{2, 500} {
			for _, booked := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, batch %d, bookings %v", name, batch, booked), func(t *testing.T) {
					t.Parallel()
					w := testenv.New(t)
					event := w.Event(100)
					w.Set("events", event, bson.D{{Key: "availableSeats", Value: 100 - stuck}})
					for i := range stuck {
						if missing {
							insertStuck(w, booked, mongodb.NewID(), i)
						} else {
							insertStuck(w, booked, event, i)
						}
					}
					rejectBad(w)
					good := w.Acquire(w.Event(10), 1, testenv.Past())
					if booked {
						good = w.Acquire(w.Event(10), 1, testenv.Soon())
						w.Book(good, testenv.Past())
					}
					small := &expiry.Sweeper{Pipeline: w.Pipeline, Batch: batch}
					for runs := 1; w.Lock(good.ID).Status == holdfast.LockActive; runs++ {
						if runs > maxRuns {
							t.Fatalf("%d runs did not come to the good lock", maxRuns)
						}
						var err error
						if booked {
							ctx, run := endedRun(w, holdfast.EndedByBookingExpiry)
							_, err = small.SweepBookings(ctx, run)
						} else {
							ctx, run := endedRun(w, holdfast.EndedByLockExpiry)
							_, err = small.SweepLocks(ctx, run)
						}
						if err != nil && !errors.Is(err, context.Canceled) {
							t.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// Locks that become due before the position that a run left wait for one run more, and no longer. Runs
// that overlap leave a position too. A recovery pass examines everything.
func TestSweepLocks_APositionHidesLocksForOneRun(t *testing.T) {
	t.Parallel()
	for by, want := range map[holdfast.EndedBy][]holdfast.LockStatus{
		holdfast.EndedByLockExpiry: {holdfast.LockActive, holdfast.LockExpired},
		holdfast.EndedByRecovery:   {holdfast.LockExpired},
	} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			checkPosition(t, by, want)
		})
	}
}

func checkPosition(t *testing.T, by holdfast.EndedBy, statuses []holdfast.LockStatus) {
	t.Helper()
	w := testenv.New(t)
	for i := range 30 {
		insertStuck(w, false, mongodb.NewID(), 1000+i)
	}
	small := &expiry.Sweeper{Pipeline: w.Pipeline, Batch: 2}
	ended := make(chan error)
	for range 3 {
		ctx, run := endedRun(w, holdfast.EndedByLockExpiry)
		go func() {
			_, err := small.SweepLocks(ctx, run)
			ended <- err
		}()
	}
	for range 3 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	good := w.Acquire(w.Event(10), 1, testenv.Past())
	w.Set("seatlocks", good.ID, bson.D{{Key: "expiresAt", Value: time.UnixMilli(0)}})
	for run, want := range statuses {
		if _, err := small.SweepLocks(w.Ctx(), w.Run(by)); err != nil {
			t.Error(err)
		}
		if status := w.Lock(good.ID).Status; status != want {
			t.Errorf("after run %d the lock is %s, want %s", run, status, want)
		}
	}
}
