package seats_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// sell inserts the CONFIRMED booking of other software that died before it marked the lock.
func sell(w *testenv.Env, lock holdfast.Lock) {
	w.Insert("bookings", bson.D{
		{Key: "_id", Value: ids.New()}, {Key: "user", Value: lock.UserID}, {Key: "event", Value: lock.EventID},
		{Key: "seats", Value: bson.A{"2"}}, {Key: "status", Value: "CONFIRMED"}, {Key: "seatLockId", Value: lock.ID},
		{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Hour)},
	})
}

// A reclaim keeps the seats of a due lock that other software sold, even if the booking was
// confirmed after the reclaim read the due locks: its transaction looks again.
func TestAcquire_ReclaimKeepsTheSeatsOfAConfirmedBooking(t *testing.T) {
	t.Parallel()
	for name, afterRead := range map[string]bool{"before the read": false, "after the read": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			eventID := w.Event(5)
			sold, due := w.Acquire(eventID, 2, testenv.Past()), w.Acquire(eventID, 3, testenv.Past())
			read, confirmed := false, false
			process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
				o.Monitor = &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
					read = read || e.CommandName == "aggregate"
					_, err := e.Command.LookupErr("autocommit")
					inTx := err == nil
					if afterRead && read && !confirmed && inTx && e.CommandName == "findAndModify" { // the first write after the read
						confirmed = true
						sell(w, sold)
					}
				}}
			})
			if !afterRead {
				sell(w, sold)
			}
			acquire := func(seats int64) error {
				_, _, err := process.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: eventID, UserID: ids.New(), Seats: seats})
				return err
			}
			if err := acquire(3); err != nil {
				t.Error(err)
			}
			if err := acquire(1); !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
				t.Errorf("one more: %v", err)
			}
			if a, b := w.Lock(sold.ID).Status, w.Lock(due.ID).Status; a != holdfast.LockConsumed || b != holdfast.LockExpired {
				t.Errorf("the sold lock is %s, the due one %s", a, b)
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

// A lock that other software sold is not released, due or not, and its seats stay sold.
func TestRelease_KeepsTheSeatsOfAConfirmedBooking(t *testing.T) {
	t.Parallel()
	for name, until := range map[string]holdfast.Until{"live": testenv.Soon(), "due": testenv.Past()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			eventID := w.Event(5)
			lock := w.Acquire(eventID, 2, until)
			sell(w, lock)
			if _, err := w.Seats.ReleaseLock(w.Ctx(), lock.ID); !holdfast.HasCode(err, holdfast.CodeLockConsumed) {
				t.Errorf("got %v", err)
			}
			if available, _ := w.Available(eventID); available != 3 || w.Lock(lock.ID).Status != holdfast.LockActive {
				t.Errorf("%d seats are available, the lock is %s", available, w.Lock(lock.ID).Status)
			}
		})
	}
}
