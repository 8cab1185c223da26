package booking_test

import (
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A booking whose lock or payment is corrupt is not changed, and a charge leaves nothing. Once the document is
// corrected, the same requests succeed.
func TestCorrupt_LockOrPaymentLeavesTheBookingAsItIs(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	late := holdfast.LatePaymentsAccepted
	corrupt := bson.D{{Key: "updatedAt", Value: "yesterday"}}
	for name, policy := range map[string]holdfast.EventChange{
		"late payments are refused": {}, "late payments are accepted": {LatePayments: &late},
	} {
		t.Run(name, func(t *testing.T) {
			event := w.Event(10)
			if _, err := w.Seats.UpdateEvent(w.Ctx(), event, policy); err != nil {
				t.Fatal(err)
			}
			b := bookingIn(t, w, event, "PAYMENT_PENDING")
			w.Set("seatlocks", b.LockID, corrupt)
			charge := holdfast.Charge{Reference: "of " + b.ID.String()}
			_, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, charge)
			wantCode(t, err, holdfast.CodeUnavailable)
			_, err = w.Bookings.PayBooking(w.Ctx(), b.ID, testenv.Soon())
			wantCode(t, err, holdfast.CodeUnavailable)
			_, err = w.Bookings.CancelBooking(w.Ctx(), b.ID)
			wantCode(t, err, holdfast.CodeUnavailable)
			n, err := w.DB.Collection("payments").CountDocuments(w.Ctx(), bson.D{{Key: "bookingId", Value: b.ID}})
			if err != nil || n != 0 {
				t.Errorf("%d payments, %v", n, err)
			}
			w.Command(bson.D{{Key: "update", Value: "seatlocks"}, {Key: "updates", Value: bson.A{bson.D{
				{Key: "q", Value: bson.D{{Key: "_id", Value: b.LockID}}}, {Key: "u", Value: bson.D{{Key: "$unset", Value: corrupt}}}}}}})
			confirmed, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, charge)
			if err != nil || confirmed.Status != holdfast.BookingConfirmed {
				t.Fatal(confirmed, err)
			}

			w.Set("payments", confirmed.Payments[0].ID, bson.D{{Key: "amount", Value: "5"}})
			_, err = w.Bookings.CancelBooking(w.Ctx(), b.ID)
			wantCode(t, err, holdfast.CodeUnavailable)
			other := bookingIn(t, w, event, "PAYMENT_PENDING")
			_, err = w.Bookings.ConfirmBooking(w.Ctx(), other.ID, charge)
			wantCode(t, err, holdfast.CodeUnavailable)
			if kept := w.Booking(b.ID); kept.Status != holdfast.BookingConfirmed || w.Lock(b.LockID).Status != holdfast.LockConsumed {
				t.Errorf("%+v", kept)
			}
		})
	}
}

// A payment has the reference as a symbol, which MongoDB's unique index treats as its text, but no decision finds it. No
// plan can be written: the confirm ends long before its time is over, and says so.
func TestConfirm_EndsIfNoPlanCanBeWritten(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	b := bookingIn(t, w, w.Event(10), "PAYMENT_PENDING")
	w.Insert("payments", bson.D{
		{Key: "_id", Value: mongodb.NewID()}, {Key: "reference", Value: bson.Symbol("paid")}, {Key: "part", Value: ""},
	})
	began := time.Now()
	_, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: "paid"})
	wantCode(t, err, holdfast.CodeUnavailable)
	if took := time.Since(began); !errors.Is(err, store.ErrUnusable) || took > 10*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
	if status := w.Booking(b.ID).Status; status != holdfast.BookingPending {
		t.Errorf("the booking is %s", status)
	}
}
