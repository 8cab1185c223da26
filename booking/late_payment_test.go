package booking_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
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
