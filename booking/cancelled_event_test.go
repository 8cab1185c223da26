package booking_test

import (
	"context"
	"reflect"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A confirmation reads the event and does not write it, so that sales do not hold it up. One that
// read before the event was cancelled commits after the operator was answered. But if another
// confirmation was refused by the cancelled event, the earlier one is refused too.
func TestConfirm_ThatBeganBeforeTheEventWasCancelled(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{"alone": false, "after the refusal of another": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			eventID := w.Event(10)
			b := w.Book(w.Acquire(eventID, 2, testenv.Soon()), testenv.Soon())
			staged := false
			process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
				o.Monitor = &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
					name, ok := e.Command.Lookup("update").StringValueOK()
					if !ok || name != "seatlocks" || staged { // the first write of the confirmation's transaction
						return
					}
					staged = true
					cancelled := holdfast.Cancelled
					if _, err := w.Seats.UpdateEvent(w.Ctx(), eventID, holdfast.EventChange{Status: &cancelled}); err != nil {
						t.Error(err)
					}
					if refused {
						_, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: "paid"})
						wantCode(t, err, holdfast.CodeEventNotOnSale)
					}
				}}
			})
			_, err := process.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: "paid"})
			want, status := holdfast.Code(""), holdfast.BookingConfirmed
			if refused {
				want, status = holdfast.CodeEventNotOnSale, holdfast.BookingPending
			}
			wantCode(t, err, want)
			if got := w.Booking(b.ID).Status; got != status || !staged {
				t.Errorf("the booking is %s, want %s; staged: %v", got, status, staged)
			}
			_, err = process.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: "paid"}) // again: the same answer
			wantCode(t, err, want)
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

// A refusal by a cancelled event raises the lock's revision, and changes nothing else of it.
func TestCancelledEvent_ARefusalRaisesTheLocksRevision(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	lock := w.Acquire(eventID, 2, testenv.Soon())
	w.Set("events", eventID, bson.D{{Key: "status", Value: "CANCELLED"}})
	_, err := w.Seats.ExtendLock(w.Ctx(), lock.ID, testenv.Soon())
	wantCode(t, err, holdfast.CodeEventNotOnSale)
	var doc struct {
		Internal struct {
			Rev int64 `bson:"rev"`
		} `bson:"internal"`
	}
	err = w.DB.Collection("seatlocks").FindOne(w.Ctx(), bson.D{{Key: "_id", Value: lock.ID}}).Decode(&doc)
	if err != nil || doc.Internal.Rev == 0 {
		t.Errorf("the revision is %d, %v", doc.Internal.Rev, err)
	}
	if after := w.Lock(lock.ID); !reflect.DeepEqual(after, lock) {
		t.Errorf("the lock is %+v, it was %+v", after, lock)
	}
}
