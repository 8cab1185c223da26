package recovery_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// MongoDB rejects the change of a sold lock, and of a counter. The pass reports them, and
// repairs the rest.
func TestRun_GoesOnDespiteRejectedDocuments(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, broken := w.Event(100), w.Event(100)
	sales := make([]holdfast.Booking, 3)
	for i := range sales {
		sales[i] = w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Soon())
		if _, err := w.Bookings.ConfirmBooking(w.Ctx(), sales[i].ID, ""); err != nil {
			t.Fatal(err)
		}
		w.Set("seatlocks", sales[i].LockID, bson.D{{Key: "status", Value: "ACTIVE"}})
	}
	w.Set("seatlocks", sales[1].LockID, bson.D{{Key: "rev", Value: "x"}})
	w.Set("events", broken, bson.D{{Key: "rev", Value: "3-abc"}, {Key: "fixes", Value: "x"}, {Key: "availableSeats", Value: 50}})
	w.Set("events", event, bson.D{{Key: "availableSeats", Value: 50}})
	stale := w.Acquire(event, 1, testenv.Past())
	report := w.Recover()
	if report.Consumed != 2 || report.Errors != 0 || report.Reported < 2 {
		t.Errorf("got %+v; want 2 consumed, no errors, 2 reported", report)
	}
	for i, sale := range sales {
		if consumed := w.Lock(sale.LockID).Status == holdfast.LockConsumed; consumed == (i == 1) {
			t.Errorf("sold lock %d is %s", i, w.Lock(sale.LockID).Status)
		}
	}
	if available, _ := w.Available(event); available != 97 || w.Lock(stale.ID).Status != holdfast.LockExpired {
		t.Errorf("available %d, the stale lock is %s; want 97, EXPIRED", available, w.Lock(stale.ID).Status)
	}
}
