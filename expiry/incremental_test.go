package expiry_test

import (
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A run examines a bounded number of INITIATED bookings, and the next one goes on behind
// them: all are examined in turn, and then from the beginning.
func TestSweepBookings_ExaminesInitiatedOnesByTurns(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	live, gone := w.Acquire(event, 1, testenv.Soon()), w.Acquire(event, 1, testenv.Soon())
	early := w.Book(w.Acquire(event, 1, testenv.Soon()), holdfast.Until{})
	for range 45 { // with a batch of 1, a run examines 20
		w.Insert("bookings", bson.D{
			{Key: "_id", Value: mongodb.NewID()}, {Key: "status", Value: "INITIATED"}, {Key: "seatLockId", Value: live.ID},
		})
	}
	last := w.Book(gone, holdfast.Until{})
	w.Set("seatlocks", gone.ID, bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Second)}})
	sweeper := &expiry.Sweeper{Pipeline: w.Pipeline, Batch: 1}
	sweep := func() {
		t.Helper()
		if _, err := sweeper.SweepBookings(w.Ctx(), w.Run(holdfast.EndedByBookingExpiry)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		sweep()
	}
	if status := w.Booking(last.ID).Status; status != holdfast.BookingInitiated {
		t.Errorf("after two runs the last of 47 bookings is %s", status)
	}
	w.Set("seatlocks", early.LockID, bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Second)}})
	for range 2 {
		sweep()
	}
	if a, b := w.Booking(last.ID).Status, w.Booking(early.ID).Status; a != holdfast.BookingExpired || b != holdfast.BookingExpired {
		t.Errorf("after four runs: %s, %s", a, b)
	}
}

// Runs that found nothing are logged at debug, and once an hour at info.
func TestSweep_LogsRunsThatFoundNothingOnceAnHour(t *testing.T) {
	t.Parallel()
	var later atomic.Int64
	shared := testenv.New(t)
	w := testenv.Open(t, shared.URI, shared.DB.Name(), func(o *mongodb.Options) {
		o.Clock = func() time.Time { return mongodb.SystemTime().Add(time.Duration(later.Load())) }
	})
	want := func(level, line string, n int) {
		t.Helper()
		if got := len(w.Log.Lines(level + " " + line)); got != n {
			t.Errorf("%d lines %s %s, want %d", got, level, line, n)
		}
	}
	const locks, bookings = "[LOCK EXPIRY JOB] Successfully expired 0 locks", "[BOOKING EXPIRY JOB] Successfully expired 0 bookings"
	for range 3 {
		w.SweepLocks()
		w.SweepBookings()
	}
	want("INFO", locks, 1)
	want("DEBUG", locks, 2)
	want("INFO", bookings, 1)
	later.Store(int64(time.Hour))
	w.SweepLocks()
	want("INFO", locks, 2)
	w.Acquire(w.Event(5), 2, testenv.Past())
	w.SweepLocks()
	want("INFO", "[LOCK EXPIRY JOB] Successfully expired 1 locks", 1)
}
