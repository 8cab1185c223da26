package booking_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func wantCode(t *testing.T, err error, code holdfast.Code) {
	t.Helper()
	if (err == nil) != (code == "") || holdfast.CodeOf(err) != code {
		t.Errorf("got %v, want code %q", err, code)
	}
}

// states are the columns of the contract's table.
var states = []string{"INITIATED", "PAYMENT_PENDING", "due", "lock due", "EXPIRED", "CONFIRMED", "CANCELLED"}

// bookingIn makes a booking in one of the states, on a new lock.
func bookingIn(t *testing.T, w *testenv.Env, event holdfast.ID, state string) holdfast.Booking {
	t.Helper()
	lock := w.Acquire(event, 1, testenv.Soon())
	window := testenv.Soon()
	if state == "INITIATED" || state == "lock due" {
		window = holdfast.Until{}
	}
	b := w.Book(lock, window)
	var err error
	switch state {
	case "due":
		w.Set("bookings", b.ID, bson.D{{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Second)}})
	case "lock due":
		w.Set("seatlocks", lock.ID, bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Second)}})
	case "EXPIRED":
		w.Set("bookings", b.ID, bson.D{{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Second)}})
		w.SweepBookings()
	case "CONFIRMED":
		_, err = w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: "ref-" + b.ID.String()})
	case "CANCELLED":
		_, err = w.Bookings.CancelBooking(w.Ctx(), b.ID)
	}
	if err != nil {
		t.Fatal(state, err)
	}
	return b
}
