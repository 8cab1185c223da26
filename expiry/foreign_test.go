package expiry_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// pastLock inserts an ACTIVE lock that became due an hour ago.
func pastLock(id any, event holdfast.ID, seats any, more ...bson.E) bson.D {
	return append(bson.D{
		{Key: "_id", Value: id}, {Key: "eventId", Value: event}, {Key: "seats", Value: seats}, {Key: "status", Value: "ACTIVE"},
		{Key: "expiresAt", Value: time.Now().Add(-time.Hour).Truncate(time.Hour)},
	}, more...)
}

// The revisions of some events can't be raised by MongoDB. Each of these events is set aside after one rejection,
// and reported once. The locks of the other events end.
func TestSweeps_RejectedEventsStarveNoOthers(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	broken := make([]holdfast.ID, 12)
	for i := range broken {
		broken[i] = w.Event(100)
		for range 3 {
			lock := w.Acquire(broken[i], 1, testenv.Soon())
			w.Book(lock, testenv.Past())
			w.Set("seatlocks", lock.ID, bson.D{{Key: "expiresAt", Value: time.Now().Add(-2 * time.Hour)}})
		}
		w.Set("events", broken[i], bson.D{{Key: "internal", Value: "3-abc"}})
	}
	event := w.Event(100)
	var good []holdfast.Lock
	for range 5 {
		good = append(good, w.Acquire(event, 1, testenv.Past()))
	}
	paid := w.Acquire(event, 1, testenv.Soon())
	b := w.Book(paid, testenv.Past())
	w.Set("bookings", b.ID, bson.D{{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Minute)}}) // the last in order
	for range 2 {
		if report := w.SweepLocks(); report.Errors > 0 {
			t.Errorf("locks: %+v", report)
		}
		if report := w.SweepBookings(); report.Errors > 0 {
			t.Errorf("bookings: %+v", report)
		}
	}
	for _, lock := range append(good, paid) {
		if status := w.Lock(lock.ID).Status; status != holdfast.LockExpired {
			t.Errorf("a good lock is %s", status)
		}
	}
	if lines := w.Log.Lines("WARN Set aside"); len(lines) != len(broken) {
		t.Errorf("%d lines for %d events: %v", len(lines), len(broken), lines)
	}
	if report := w.Recover(); report.Errors > 0 {
		t.Errorf("recovery: %+v", report)
	}
	if available, _ := w.Available(event); available != 100 {
		t.Errorf("%d seats are available", available)
	}
}

// The documents have fields with the names of internal fields. The event sells, refuses, is swept and repaired, and
// its locks end.
func TestSweeps_ForeignRevisionsDoNotMatter(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{
		"a text": "3-abc", "a whole number": int64(3), "a fraction": 1.5, "a document": bson.D{}, "null": nil, "a list": bson.A{int64(1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			event := w.Event(10)
			for _, field := range []string{"rev", "fixes", "fence", "sweptRev"} {
				w.Set("events", event, bson.D{{Key: field, Value: value}})
			}
			due, sold := w.Acquire(event, 1, testenv.Past()), w.Acquire(event, 2, testenv.Soon())
			b := w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Past())
			for _, id := range []holdfast.ID{due.ID, sold.ID, b.LockID} {
				w.Set("seatlocks", id, bson.D{{Key: "rev", Value: value}})
			}
			if _, err := w.Bookings.ConfirmBooking(w.Ctx(), w.Book(sold, testenv.Soon()).ID, holdfast.Charge{}); err != nil {
				t.Error(err)
			}
			_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 9, Key: "key"})
			if !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
				t.Error(err)
			}
			locks, bookings := w.SweepLocks(), w.SweepBookings()
			if locks.Errors+locks.Skipped+bookings.Errors+bookings.Skipped > 0 || w.Lock(due.ID).Status == holdfast.LockActive ||
				w.Booking(b.ID).Status != holdfast.BookingExpired {
				t.Errorf("locks %+v, bookings %+v", locks, bookings)
			}
			w.Set("events", event, bson.D{{Key: "availableSeats", Value: 3}})
			if report := w.Recover(); report.Corrections != 1 || report.Errors+report.Reported > 0 {
				t.Errorf("recovery: %+v", report)
			}
			if available, _ := w.Available(event); available != 8 {
				t.Errorf("%d seats are available", available)
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

// Two bookings name one lock that has ended, or that does not exist. Both end.
func TestSweepBookings_TwoOfOneEndedLock(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	ended := w.Acquire(w.Event(10), 1, testenv.Past()).ID
	w.SweepLocks()
	for _, lock := range []holdfast.ID{ended, ended, {}, {}} {
		w.Insert("bookings", bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "status", Value: "PAYMENT_PENDING"},
			{Key: "seatLockId", Value: lock},
			{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Hour)}})
		w.Insert("bookings", bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "status", Value: "INITIATED"}, {Key: "seatLockId", Value: lock}})
	}
	small := &expiry.Sweeper{Pipeline: w.Pipeline, Batch: 2}
	report, err := small.SweepBookings(w.Ctx(), w.Run(holdfast.EndedByBookingExpiry))
	if want := (expiry.Report{Found: 8, Applied: 8}); err != nil || report != want {
		t.Errorf("got %+v, %v; want %+v", report, err, want)
	}
}
