package expiry_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// sweepTimeout ends a run that reads the same page again and again.
const sweepTimeout = 30 * time.Second

// Documents of several pages, some of which became due at the same time, behind a page of
// documents that stay due. Each is met once.
func TestSweeps_PagesOfDocuments(t *testing.T) {
	t.Parallel()
	t.Run("locks of several events", func(t *testing.T) {
		t.Parallel()
		w := testenv.New(t)
		missing := mongodb.NewID()
		for i := range 2 {
			w.Insert("seatlocks", bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: missing}, {Key: "seats", Value: 1},
				{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Unix(int64(i), 0)}})
		}
		at := time.Now().Add(-time.Hour).Truncate(time.Hour)
		for i := range 7 { // the last ones came first, and two at a time
			w.Acquire(w.Event(10), 1, holdfast.Until{At: at.Add(-time.Duration(i/2) * time.Minute)})
		}
		ctx, cancel := context.WithTimeout(w.Ctx(), sweepTimeout)
		defer cancel()
		small := &expiry.Sweeper{Pipeline: w.Pipeline, Batch: 2}
		report, err := small.SweepLocks(ctx, w.Run(holdfast.EndedByLockExpiry))
		if want := (expiry.Report{Found: 9, Applied: 7, Skipped: 2, SeatsRestored: 7}); err != nil || report != want {
			t.Errorf("got %+v, %v; want %+v", report, err, want)
		}
	})
	t.Run("bookings of one event", func(t *testing.T) {
		t.Parallel()
		w := testenv.New(t)
		const batch, page, due = 2, 20, 25
		event, missing := w.Event(100), mongodb.NewID()
		w.Set("events", event, bson.D{{Key: "availableSeats", Value: 100 - due}})
		for i := range page + due {
			of, at := event, time.Now().Add(-time.Hour).Truncate(time.Hour).Add(-time.Duration((i-page)/2)*time.Minute) // two at a time
			if i < page {
				of, at = missing, time.Unix(int64(i), 0)
			}
			lock := mongodb.NewID()
			w.Insert("seatlocks", bson.D{{Key: "_id", Value: lock}, {Key: "eventId", Value: of}, {Key: "seats", Value: 1},
				{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
			w.Insert("bookings", bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "seatLockId", Value: lock},
				{Key: "status", Value: "PAYMENT_PENDING"}, {Key: "paymentExpiresAt", Value: at}})
		}
		before := w.Transactions(mongodb.Done)
		ctx, cancel := context.WithTimeout(w.Ctx(), sweepTimeout)
		defer cancel()
		small := &expiry.Sweeper{Pipeline: w.Pipeline, Batch: batch}
		report, err := small.SweepBookings(ctx, w.Run(holdfast.EndedByBookingExpiry))
		if want := (expiry.Report{Found: page + due, Applied: due, Skipped: page, SeatsRestored: due}); err != nil || report != want {
			t.Errorf("got %+v, %v; want %+v", report, err, want)
		}
		// Two pages of 20, of which the first finds no event, and one of 5.
		if n, want := w.Transactions(mongodb.Done)-before, 2*page/batch+3; n != want {
			t.Errorf("%d transactions ended %d bookings, at most %d each; want %d", n, due, batch, want)
		}
		testenv.CheckInvariants(t, w.DB.Database)
	})
}

// An event is corrupt. Its documents of later pages are set aside without a transaction.
func TestSweeps_SkipTheLaterPagesOfARejectedEvent(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	const locks = 6
	for i := range locks {
		w.Acquire(event, 1, holdfast.Until{At: time.Now().Add(time.Duration(i-100) * time.Minute)})
	}
	w.Set("events", event, bson.D{{Key: "internal", Value: "3-abc"}})
	small := &expiry.Sweeper{Pipeline: w.Pipeline, Batch: 2}
	report, err := small.SweepLocks(w.Ctx(), w.Run(holdfast.EndedByLockExpiry))
	if err != nil || report.Skipped != locks || report.Applied+report.Errors != 0 {
		t.Errorf("got %+v, %v; want %d skipped", report, err, locks)
	}
	if n := w.Transactions(mongodb.Rejected); n != 1 {
		t.Errorf("%d transactions were rejected, want 1", n)
	}
}

// A run without Initiated, such as one of recovery's first step, leaves INITIATED bookings.
func TestSweepBookings_LeavesInitiatedOnesIfItIsToldTo(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	lock := w.Acquire(w.Event(10), 1, testenv.Soon())
	b := w.Book(lock, holdfast.Until{})
	w.Set("seatlocks", lock.ID, bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Second)}})
	run := w.Run(holdfast.EndedByBookingExpiry)
	run.Initiated = false
	report, err := w.Sweeper.SweepBookings(w.Ctx(), run)
	if status := w.Booking(b.ID).Status; err != nil || report != (expiry.Report{}) || status != holdfast.BookingInitiated {
		t.Errorf("got %+v, %v; the booking is %s", report, err, status)
	}
}
