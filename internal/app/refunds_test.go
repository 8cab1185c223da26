package app

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A check of readiness measures the payments that have to go back.
func TestReady_MeasuresRefundsDue(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	a := connect(t, w)
	a.Boot(t.Context())
	want := func(count, minimum, maximum float64) {
		t.Helper()
		readyNow(t, a)
		n, age := testutil.ToFloat64(a.Metrics.RefundsDue), testutil.ToFloat64(a.Metrics.RefundsDueAge)
		if n != count || age < minimum || age > maximum {
			t.Errorf("%v are due, the oldest for %v s; want %v and %v to %v", n, age, count, minimum, maximum)
		}
	}
	want(0, 0, 0)
	event := w.Event(10)
	for i, reference := range []string{"new", "old"} {
		b := w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Past())
		charge := holdfast.Charge{Reference: reference}
		if _, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, charge); !holdfast.HasCode(err, holdfast.CodeBookingExpired) {
			t.Fatal(err)
		}
		w.Set("payments", charge.PaymentID(), bson.D{{Key: "updatedAt", Value: time.Now().Add(-time.Duration(i+1) * time.Hour)}})
	}
	want(2, 7200, 7800)
	if _, err := w.Bookings.RefundPayment(w.Ctx(), holdfast.Charge{Reference: "old"}.PaymentID(), "back"); err != nil {
		t.Fatal(err)
	}
	want(1, 3600, 4200)
	if _, err := w.Bookings.RefundPayment(w.Ctx(), holdfast.Charge{Reference: "new"}.PaymentID(), "back"); err != nil {
		t.Fatal(err)
	}
	want(0, 0, 0)
}
