package booking_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Bookings that an earlier version has confirmed with one reference stay paid with it, in whichever order the shop confirms
// them again.
func TestConfirm_BookingsOfAnEarlierVersionThatShareTheirReference(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID, charge := w.Event(10), holdfast.Charge{Reference: "shared"}
	var sold []holdfast.ID
	for range 3 {
		b := bookingIn(t, w, eventID, "CONFIRMED")
		w.Set("bookings", b.ID, bson.D{{Key: "internal", Value: bson.D{}}, {Key: "paymentReference", Value: charge.Reference}})
		if _, err := w.DB.Collection("payments").DeleteOne(w.Ctx(), bson.D{{Key: "bookingId", Value: b.ID}}); err != nil {
			t.Fatal(err)
		}
		sold = append(sold, b.ID)
	}
	for _, n := range []int{0, 1, 0, 1, 2, 0, 2, 1} {
		if got, err := w.Bookings.ConfirmBooking(w.Ctx(), sold[n], charge); err != nil || got.Status != holdfast.BookingConfirmed {
			t.Errorf("booking %d is %s, %v", n, got.Status, err)
		}
	}
	paid, _, err := w.Bookings.ListPayments(w.Ctx(), holdfast.PaymentFilter{Reference: charge.Reference}, holdfast.Page{Size: 10})
	if err != nil || len(paid) != len(sold) {
		t.Errorf("the payments are %+v, %v", paid, err)
	}
	own := map[holdfast.ID]holdfast.ID{}
	for _, p := range paid {
		if p.Part != p.BookingID.String() || p.Status != holdfast.PaymentAccepted {
			t.Errorf("the payment is %+v", p)
		}
		own[p.BookingID] = p.ID
	}
	if _, err := w.Bookings.CancelBooking(w.Ctx(), sold[0]); err != nil {
		t.Fatal(err)
	}
	_, err = w.Bookings.ConfirmBooking(w.Ctx(), sold[0], charge)
	wantCode(t, err, holdfast.CodeBookingCancelled)
	if refused, _ := holdfast.DetailsOf[holdfast.RefusedPayment](err); refused.ID != own[sold[0]] {
		t.Errorf("the payment %+v has to go back, want %s", refused, own[sold[0]])
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
