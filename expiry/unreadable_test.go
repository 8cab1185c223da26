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

// Locks that no run can end because of their event are reported once, and not found by every
// run. They end once the event is repaired.
func TestSweeps_FindLocksOfUnusableEventsOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	gone, rejecting := mongodb.NewID(), w.Event(100)
	w.Set("events", rejecting, bson.D{{Key: "internal", Value: bson.D{{Key: "rev", Value: "x"}}}})
	for _, event := range []holdfast.ID{gone, rejecting} {
		for range 2 {
			w.Insert("seatlocks", pastLock(mongodb.NewID(), event, 1))
			b := mongodb.NewID()
			w.Insert("seatlocks", bson.D{{Key: "_id", Value: b}, {Key: "eventId", Value: event}, {Key: "seats", Value: 1},
				{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
			w.Insert("bookings", bson.D{{Key: "_id", Value: b}, {Key: "status", Value: "PAYMENT_PENDING"}, {Key: "seatLockId", Value: b},
				{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Hour)}})
		}
	}
	w.SweepLocks()
	w.SweepBookings()
	found := len(w.Log.Lines("Found "))
	for range 2 {
		if report := w.SweepLocks(); report != (expiry.Report{Skipped: 4}) {
			t.Errorf("locks: %+v", report)
		}
		if report := w.SweepBookings(); report != (expiry.Report{Skipped: 4}) {
			t.Errorf("bookings: %+v", report)
		}
	}
	if lines := w.Log.Lines("Found "); len(lines) != found {
		t.Errorf("found again: %v", lines[found:])
	}
	if lines := w.Log.Lines("WARN Set aside"); len(lines) != 2 {
		t.Errorf("%v", lines)
	}
	w.Set("events", rejecting, bson.D{{Key: "internal", Value: bson.D{{Key: "rev", Value: 1}}}})
	if report := w.SweepLocks(); report != (expiry.Report{Found: 2, Applied: 2, Skipped: 2, SeatsRestored: 2}) {
		t.Errorf("after the repair: %+v", report)
	}
}
