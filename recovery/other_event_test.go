package recovery_test

import (
	"log/slog"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A booking names another event than its lock. The queries of a sale name the event, so they don't find it by its lock: the audit
// does. By its own ID it is found as ever.
func TestReconcile_FindsSalesThatNameAnotherEvent(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, other := w.Event(10), w.Event(10)
	insert := func(lock holdfast.Lock, status string, window time.Duration) holdfast.ID {
		id := mongodb.NewID()
		w.Insert("bookings", bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: other}, {Key: "seatLockId", Value: lock.ID},
			{Key: "userId", Value: lock.UserID}, {Key: "status", Value: status}, {Key: "paymentExpiresAt", Value: time.Now().Add(window)}})
		return id
	}
	sold := w.Acquire(event, 1, testenv.Soon())
	insert(sold, "CONFIRMED", time.Hour)
	report, err := w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log))
	if err != nil || report.Consumed != 1 || w.Lock(sold.ID).Status != holdfast.LockConsumed {
		t.Errorf("%+v, %v; the lock is %s", report, err, w.Lock(sold.ID).Status)
	}
	open := w.Acquire(event, 2, testenv.Soon())
	confirmed := insert(open, "PAYMENT_PENDING", time.Hour)
	_, err = w.Bookings.ConfirmBooking(w.Ctx(), confirmed, holdfast.Charge{Reference: "r"})
	if err != nil || w.Lock(open.ID).Status != holdfast.LockConsumed {
		t.Errorf("confirm: %v, the lock is %s", err, w.Lock(open.ID).Status)
	}
	if _, err := w.Bookings.CancelBooking(w.Ctx(), confirmed); err != nil || w.Lock(open.ID).Status != holdfast.LockReleased {
		t.Errorf("cancel what is sold: %v, the lock is %s", err, w.Lock(open.ID).Status)
	}
	open = w.Acquire(event, 3, testenv.Soon())
	if _, err := w.Bookings.CancelBooking(w.Ctx(), insert(open, "PAYMENT_PENDING", time.Hour)); err != nil {
		t.Error(err)
	}
	if status := w.Lock(open.ID).Status; status != holdfast.LockReleased {
		t.Errorf("cancel: the lock is %s", status)
	}
	due := insert(w.Acquire(event, 4, testenv.Soon()), "PAYMENT_PENDING", -time.Hour)
	w.SweepBookings()
	if status := w.Booking(due).Status; status != holdfast.BookingExpired {
		t.Errorf("sweep: the booking is %s", status)
	}
	if available, _ := w.Available(event); available != 10-1 {
		t.Errorf("%d seats are available; 1 of 10 is sold", available)
	}
}
