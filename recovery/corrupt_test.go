package recovery_test

import (
	"log/slog"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A corrupt lock, booking and event do not stop anything: sweeps, recovery and lists continue with the other
// documents. Reads by their IDs answer 404, and a change of the event answers 503.
func TestCorruptDocuments_StopNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	good, bad := w.Event(100), w.Event(100)
	stale, badLock, ofBad := w.Acquire(good, 1, testenv.Past()), w.Acquire(good, 2, testenv.Past()), w.Acquire(bad, 4, testenv.Past())
	lapsed := w.Book(w.Acquire(good, 8, testenv.Soon()), testenv.Past())
	badBooking := w.Book(w.Acquire(good, 16, testenv.Soon()), testenv.Past())
	ofBadLock := w.Book(w.Acquire(good, 32, testenv.Soon()), testenv.Past())
	w.Set("seatlocks", badLock.ID, bson.D{{Key: "seats", Value: "2"}})
	w.Set("seatlocks", ofBadLock.LockID, bson.D{{Key: "expiresAt", Value: "soon"}})
	w.Set("bookings", badBooking.ID, bson.D{{Key: "status", Value: "UNKNOWN"}})
	w.Set("events", bad, bson.D{{Key: "totalSeats", Value: "100"}})

	w.Recover()
	w.SweepLocks()
	w.SweepBookings()
	if _, err := w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log)); err != nil {
		t.Error(err)
	}
	if status := w.Lock(stale.ID).Status; status != holdfast.LockExpired {
		t.Errorf("the good lock is %s", status)
	}
	if status := w.Booking(lapsed.ID).Status; status != holdfast.BookingExpired {
		t.Errorf("the good booking is %s", status)
	}
	if status := w.Booking(ofBadLock.ID).Status; status != holdfast.BookingPending {
		t.Errorf("the booking of a corrupt lock is %s", status)
	}
	if status := w.Lock(ofBad.ID).Status; status != holdfast.LockActive {
		t.Errorf("the good lock of a corrupt event is %s", status)
	}
	if _, err := w.Seats.GetLock(w.Ctx(), badLock.ID); !holdfast.IsNotFound(err) {
		t.Errorf("the corrupt lock: %v", err)
	}
	if _, err := w.Bookings.GetBooking(w.Ctx(), badBooking.ID); !holdfast.IsNotFound(err) {
		t.Errorf("the corrupt booking: %v", err)
	}
	if _, err := w.Seats.GetEvent(w.Ctx(), bad); !holdfast.HasCode(err, holdfast.CodeUnavailable) {
		t.Errorf("the corrupt event: %v", err)
	}
	listed, _, err := w.Seats.ListLocks(w.Ctx(), holdfast.LockFilter{}, holdfast.Page{})
	if err != nil || slices.ContainsFunc(listed, func(l holdfast.Lock) bool { return l.ID == badLock.ID }) || len(listed) < 4 {
		t.Errorf("%d locks listed, %v", len(listed), err)
	}
	request := holdfast.LockRequest{EventID: bad, UserID: good, Seats: 1, Until: testenv.Soon()}
	if _, _, err := w.Seats.AcquireLock(w.Ctx(), request); !holdfast.HasCode(err, holdfast.CodeUnavailable) {
		t.Errorf("a lock of the corrupt event: %v", err)
	}
	w.Acquire(good, 1, testenv.Soon())

	w.Set("events", bad, bson.D{{Key: "totalSeats", Value: 100}})
	w.Recover()
	if status := w.Lock(ofBad.ID).Status; status != holdfast.LockExpired {
		t.Errorf("after the event was corrected, its lock is %s", status)
	}
}
