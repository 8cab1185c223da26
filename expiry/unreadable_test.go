package expiry_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Expiries that are no date never pass, so no sweep meets them. They are reported, once, and
// so are INITIATED bookings that nothing can name.
func TestSweeps_ReportUnreadableExpiriesOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1000)
	past := time.Now().Add(-time.Hour)
	lock := func(more ...bson.E) {
		w.Insert("seatlocks", append(bson.D{{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: event}, {Key: "seats", Value: 1},
			{Key: "status", Value: "ACTIVE"}}, more...))
	}
	booking := func(status string, id any, more ...bson.E) {
		w.Insert("bookings", append(bson.D{{Key: "_id", Value: id}, {Key: "status", Value: status},
			{Key: "seatLockId", Value: ids.New()}}, more...))
	}
	unreadable := []any{"2020-01-01", 5, bson.A{past}, bson.A{}, bson.D{}, true, bson.Timestamp{T: 1}, bson.MinKey{}, bson.MaxKey{}}
	for _, value := range unreadable {
		lock(bson.E{Key: "expiresAt", Value: value})
		booking("PAYMENT_PENDING", ids.New(), bson.E{Key: "paymentExpiresAt", Value: value})
	}
	lock()
	lock(bson.E{Key: "expiresAt", Value: nil})
	for _, id := range []any{"a", 1, true} {
		booking("INITIATED", id)
	}
	booking("PAYMENT_PENDING", ids.New()) // no window: the lock's expiry counts
	booking("PAYMENT_PENDING", ids.New(), bson.E{Key: "paymentExpiresAt", Value: nil})
	lock(bson.E{Key: "expiresAt", Value: time.Now().Add(time.Hour)})
	booking("PAYMENT_PENDING", ids.New(), bson.E{Key: "paymentExpiresAt", Value: time.Now().Add(time.Hour)})
	locks, bookings := len(unreadable)+2, len(unreadable)+3
	for range 2 {
		if report := w.SweepLocks(); report != (expiry.Report{Skipped: locks}) {
			t.Errorf("locks: %+v, want %d skipped", report, locks)
		}
		if report := w.SweepBookings(); report != (expiry.Report{Skipped: bookings}) {
			t.Errorf("bookings: %+v, want %d skipped", report, bookings)
		}
	}
	if lines := w.Log.Lines("WARN Set aside"); len(lines) != locks+bookings {
		t.Errorf("%d lines, want %d: %v", len(lines), locks+bookings, lines)
	}
	if lines := w.Log.Lines("INFO [LOCK EXPIRY JOB] Successfully expired 0 locks"); len(lines) != 1 { // once an hour
		t.Errorf("%v", lines)
	}
}

// Locks that no run can end because of their event are reported once, and not found by every
// run. They end once the event is repaired.
func TestSweeps_FindLocksOfUnusableEventsOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	gone, rejecting := ids.New(), w.Event(100)
	w.Set("events", rejecting, bson.D{{Key: "internal", Value: bson.D{{Key: "rev", Value: "x"}}}})
	for _, event := range []holdfast.ID{gone, rejecting} {
		for range 2 {
			w.Insert("seatlocks", pastLock(ids.New(), event, 1))
			b := ids.New()
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
