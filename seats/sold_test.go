package seats_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// sell inserts a CONFIRMED booking in the source's own shape (user, event, a list as seats), whose lock was not marked.
func sell(w *testenv.Env, lock holdfast.Lock) {
	w.Insert("bookings", bson.D{
		{Key: "_id", Value: mongodb.NewID()}, {Key: "user", Value: lock.UserID}, {Key: "event", Value: lock.EventID},
		{Key: "seats", Value: bson.A{"2"}}, {Key: "status", Value: "CONFIRMED"}, {Key: "seatLockId", Value: lock.ID},
		{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Hour)},
	})
}

// A lock that such a booking sold is not released, due or not, and its seats stay sold.
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

// A CONFIRMED booking sells its lock, whatever event the booking names.
func TestReleaseLock_OfALockSoldByABookingOfAnotherEventIsRefused(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, other := w.Event(10), w.Event(10)
	lock := w.Acquire(event, 2, testenv.Soon())
	w.Insert("bookings", bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: other}, {Key: "seatLockId", Value: lock.ID},
		{Key: "seats", Value: 2}, {Key: "status", Value: "CONFIRMED"}})
	for _, process := range []*testenv.Env{w, testenv.Open(t, w.URI, w.DB.Name())} { // one that remembers the event, and one that does not
		if _, err := process.Seats.ReleaseLock(w.Ctx(), lock.ID); !holdfast.HasCode(err, holdfast.CodeLockConsumed) {
			t.Errorf("released: %v", err)
		}
	}
	if available, _ := w.Available(event); available != 8 {
		t.Errorf("%d seats are available, want 8", available)
	}
}
