package recovery_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Two CONFIRMED bookings name one lock, on whichever page they are.
func TestRun_ReportsLocksThatWereSoldTwice(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	lock := w.Acquire(w.Event(10), 1, testenv.Soon())
	for _, id := range []holdfast.ID{mongodb.NewID(), mongodb.NewID()} {
		w.Insert("bookings", bson.D{{Key: "_id", Value: id}, {Key: "seatLockId", Value: lock.ID}, {Key: "status", Value: "CONFIRMED"}})
	}
	for range 2 {
		if report := w.Recover(); report.Reported != 1 {
			t.Errorf("%+v; want 1 reported", report)
		}
	}
	if lines := w.Log.Lines("WARN [RECOVERY] Lock with several CONFIRMED bookings"); len(lines) != 1 {
		t.Errorf("reported %d times", len(lines))
	}
	if plan, err := w.Recovery.Plan(w.Ctx()); err != nil || len(plan.DoubleSales) != 1 {
		t.Errorf("plan: %+v, %v", plan, err)
	}
	if status := w.Lock(lock.ID).Status; status != holdfast.LockConsumed {
		t.Errorf("the lock is %s", status)
	}
}
