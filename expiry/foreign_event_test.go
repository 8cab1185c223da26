package expiry_test

import (
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A CONFIRMED booking of other software names its event otherwise, or not at all: its seats stay
// sold in a sweep and in a reclaim, and it can be cancelled. In a sharded cluster the queries for
// bookings name the event, and a booking that names another one is not found by its lock.
func TestSweep_KeepsWhatABookingWithoutAnEventSold(t *testing.T) {
	t.Parallel()
	for name, eventField := range map[string]func(holdfast.ID) bson.D{
		"the field event":    func(id holdfast.ID) bson.D { return bson.D{{Key: "event", Value: id}} },
		"no field":           func(holdfast.ID) bson.D { return nil },
		"null":               func(holdfast.ID) bson.D { return bson.D{{Key: "eventId", Value: nil}} },
		"text":               func(id holdfast.ID) bson.D { return bson.D{{Key: "eventId", Value: id.String()}} },
		"a number":           func(holdfast.ID) bson.D { return bson.D{{Key: "eventId", Value: 2.5}} },
		"a Boolean":          func(holdfast.ID) bson.D { return bson.D{{Key: "eventId", Value: true}} },
		"a date":             func(holdfast.ID) bson.D { return bson.D{{Key: "eventId", Value: time.Now()}} },
		"a document":         func(id holdfast.ID) bson.D { return bson.D{{Key: "eventId", Value: bson.D{{Key: "id", Value: id}}}} },
		"a list":             func(id holdfast.ID) bson.D { return bson.D{{Key: "eventId", Value: bson.A{id}}} },
		"the zero ObjectID":  func(holdfast.ID) bson.D { return bson.D{{Key: "eventId", Value: holdfast.ID{}}} },
		"the smallest value": func(holdfast.ID) bson.D { return bson.D{{Key: "eventId", Value: bson.MinKey{}}} },
		otherEvent:           func(holdfast.ID) bson.D { return bson.D{{Key: "eventId", Value: ids.New()}} },
		"the largest value":  func(holdfast.ID) bson.D { return bson.D{{Key: "eventId", Value: bson.MaxKey{}}} },
	} {
		for _, sharded := range []bool{false, true} {
			if sharded && name == otherEvent {
				continue
			}
			t.Run(fmt.Sprint(name, ", sharded ", sharded), func(t *testing.T) {
				t.Parallel()
				keepsWhatABookingSold(t, openSharded(t, sharded), eventField)
			})
		}
	}
}

const otherEvent = "another event"

// openSharded opens a process that takes its replica set for a sharded cluster.
func openSharded(t *testing.T, sharded bool) *testenv.Env {
	t.Helper()
	w := testenv.New(t)
	return testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) { o.Sharded = sharded })
}

func keepsWhatABookingSold(t *testing.T, w *testenv.Env, eventField func(holdfast.ID) bson.D) {
	t.Helper()
	event := w.Event(10)
	booking := ids.New()
	sell := func() holdfast.Lock {
		lock := w.Acquire(event, 4, testenv.Past())
		w.Insert("bookings", append(bson.D{{Key: "_id", Value: booking}, {Key: "seatLockId", Value: lock.ID},
			{Key: "status", Value: "CONFIRMED"}, {Key: "paymentExpiresAt", Value: time.Now().Add(time.Hour)}}, eventField(event)...))
		return lock
	}
	swept := sell()
	w.SweepLocks()
	if available, _ := w.Available(event); w.Lock(swept.ID).Status != holdfast.LockConsumed || available != 6 {
		t.Errorf("after a sweep the lock is %s, %d seats are available", w.Lock(swept.ID).Status, available)
	}
	if _, err := w.Bookings.CancelBooking(w.Ctx(), booking); err != nil || w.Lock(swept.ID).Status != holdfast.LockReleased {
		t.Errorf("cancelled: %v, the lock is %s", err, w.Lock(swept.ID).Status)
	}
	booking = ids.New()
	reclaimed := sell()
	_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 7})
	if !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) || w.Lock(reclaimed.ID).Status == holdfast.LockExpired {
		t.Errorf("reclaim: %v, the lock is %s", err, w.Lock(reclaimed.ID).Status)
	}
}
