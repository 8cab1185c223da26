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

// Other software confirmed a booking and died before it marked the lock. The lock is due.
// Whatever sweeps it keeps its seats sold.
func TestSweep_ConsumesALockThatOtherSoftwareSold(t *testing.T) {
	t.Parallel()
	booking := func(lock holdfast.Lock, status string) bson.D {
		return bson.D{
			{Key: "_id", Value: ids.New()}, {Key: "user", Value: lock.UserID}, {Key: "event", Value: lock.EventID},
			{Key: "seats", Value: bson.A{"2"}}, {Key: "status", Value: status}, {Key: "seatLockId", Value: lock.ID},
			{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Hour)},
		}
	}
	for name, c := range map[string]struct {
		open  bool // there is an open booking too, which is due
		sweep func(w *testenv.Env) expiry.Report
		want  expiry.Report
	}{
		"lock sweep": {sweep: (*testenv.Env).SweepLocks, want: expiry.Report{Found: 2, Applied: 1, Skipped: 1, SeatsRestored: 1}},
		"lock sweep, a full page": {sweep: func(w *testenv.Env) expiry.Report {
			report, err := (&expiry.Sweeper{Pipeline: w.Pipeline, Batch: 1}).SweepLocks(w.Ctx(), w.Run(holdfast.EndedByLockExpiry))
			if err != nil {
				t.Error(err)
			}
			return report
		}, want: expiry.Report{Found: 2, Applied: 1, Skipped: 1, SeatsRestored: 1}},
		"booking sweep": {open: true, sweep: (*testenv.Env).SweepBookings, want: expiry.Report{Found: 1, Applied: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			event := w.Event(10)
			sold := w.Acquire(event, 2, testenv.Past())
			w.Insert("bookings", booking(sold, "CONFIRMED"))
			if c.open {
				w.Insert("bookings", booking(sold, "PAYMENT_PENDING"))
			} else {
				w.Acquire(event, 1, testenv.Past())
			}
			if got := c.sweep(w); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if available, _ := w.Available(event); w.Lock(sold.ID).Status != holdfast.LockConsumed || available != 8 {
				t.Errorf("the lock is %s, %d seats are available", w.Lock(sold.ID).Status, available)
			}
			if !w.Log.Has("Consumed the due lock of a CONFIRMED booking") {
				t.Error("not logged")
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}
