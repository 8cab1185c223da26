package booking_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The lock of an expired booking may have been removed. The event still says whether the payment is accepted.
func TestConfirm_LateOfABookingWhoseLockWasRemoved(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for policy, want := range map[holdfast.LatePaymentPolicy]holdfast.Code{
		holdfast.LatePaymentsAccepted: "", holdfast.LatePaymentsRefused: expired,
	} {
		t.Run(string(policy), func(t *testing.T) {
			eventID := w.Event(10)
			if _, err := w.Seats.UpdateEvent(w.Ctx(), eventID, holdfast.EventChange{LatePayments: &policy}); err != nil {
				t.Fatal(err)
			}
			b := bookingIn(t, w, eventID, "EXPIRED")
			if _, err := w.DB.Collection("seatlocks").DeleteOne(w.Ctx(), bson.D{{Key: "_id", Value: b.LockID}}); err != nil {
				t.Fatal(err)
			}
			for range 2 { // again: the same answer
				got, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: "late-" + b.ID.String()})
				wantCode(t, err, want)
				if err == nil && (!got.Late || got.LockID == b.LockID || w.Lock(got.LockID).Status != holdfast.LockConsumed) {
					t.Errorf("the booking is %+v", got)
				}
			}
		})
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A late payment may be accepted after the cancellation has looked for the booking's lock, and found none. The seats of the
// new lock come back all the same.
func TestCancel_WhileALatePaymentIsAccepted(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	if _, err := w.Seats.UpdateEvent(w.Ctx(), eventID, holdfast.EventChange{LatePayments: new(holdfast.LatePaymentsAccepted)}); err != nil {
		t.Fatal(err)
	}
	b := bookingIn(t, w, eventID, "EXPIRED")
	if _, err := w.DB.Collection("seatlocks").DeleteOne(w.Ctx(), bson.D{{Key: "_id", Value: b.LockID}}); err != nil {
		t.Fatal(err)
	}
	const lookups = 2 // of the lock: with its event, and by its ID alone
	lookedUp := 0
	var confirmed holdfast.Booking
	rival := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
		o.Monitor = &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
			switch target, _ := e.Command.Index(0).Value().StringValueOK(); {
			case target == "seatlocks" && lookedUp < lookups:
				lookedUp++
			case lookedUp == lookups && confirmed.ID.IsZero():
				var err error
				if confirmed, err = w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: "late"}); err != nil {
					t.Error(err)
				}
			}
		}}
	})
	cancelled, err := rival.Bookings.CancelBooking(w.Ctx(), b.ID)
	wantCode(t, err, "")
	if !confirmed.Late || cancelled.Status != holdfast.BookingCancelled {
		t.Errorf("confirmed as %+v, cancelled as %+v", confirmed, cancelled)
	}
	if lock := w.Lock(confirmed.LockID); lock.Status != holdfast.LockReleased {
		t.Errorf("the new lock is %s", lock.Status)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
