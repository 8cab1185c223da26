package booking_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The guards of the writes hold where the reading before them is wrong.
func TestGuards_AStaleMoveOfABookingChangesNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	for _, c := range []struct {
		is, read booking.Status
		action   booking.Action
	}{
		{booking.Cancelled, booking.Pending, booking.Expire}, {booking.Confirmed, booking.Pending, booking.Expire},
		{booking.Expired, booking.Pending, booking.Cancel}, {booking.Expired, booking.Initiated, booking.Pay},
	} {
		b := make1(w, event, "PAYMENT_PENDING")
		w.Set("bookings", b.ID, bson.D{{Key: "status", Value: string(c.is)}})
		ctx, cancel := context.WithTimeout(w.Ctx(), 300*time.Millisecond)
		if err := w.Bookings.MoveStale(ctx, b.ID, c.read, c.action); err == nil || w.Booking(b.ID).Status != c.is {
			t.Errorf("%s, read as %s: %s made it %s, %v", c.is, c.read, c.action, w.Booking(b.ID).Status, err)
		}
		cancel()
	}
}

func TestGuards_ABookingWhoseWindowHasPassedIsNotConfirmed(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	for _, state := range []string{"due", "CANCELLED"} {
		b := make1(w, event, state)
		before := w.Booking(b.ID).Status
		ctx, cancel := context.WithTimeout(w.Ctx(), 300*time.Millisecond)
		if err := w.Bookings.ConfirmStale(ctx, b); err == nil || w.Booking(b.ID).Status != before {
			t.Errorf("%s: it is %s, %v", state, w.Booking(b.ID).Status, err)
		}
		cancel()
	}
}
