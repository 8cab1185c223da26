package booking_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Other software made a second booking of a lock and confirmed it. The first one can neither be
// paid for nor confirmed: the seats are sold.
func TestConfirmBooking_OfALockThatAnotherBookingSold(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	b := w.Book(w.Acquire(event, 2, testenv.Soon()), testenv.Soon())
	w.Insert("bookings", bson.D{{Key: "_id", Value: ids.New()}, {Key: "user", Value: ids.New()}, {Key: "event", Value: event},
		{Key: "seats", Value: bson.A{"2"}}, {Key: "status", Value: "CONFIRMED"}, {Key: "seatLockId", Value: b.LockID}})
	_, err := w.Bookings.ConfirmBooking(t.Context(), b.ID, holdfast.Charge{Reference: "ref"})
	if !holdfast.HasCode(err, holdfast.CodeLockConsumed) {
		t.Errorf("confirm: %v", err)
	}
	if _, err := w.Bookings.PayBooking(t.Context(), b.ID, testenv.Soon()); !holdfast.HasCode(err, holdfast.CodeLockConsumed) {
		t.Errorf("pay: %v", err)
	}
	if status := w.Booking(b.ID).Status; status != holdfast.BookingPending {
		t.Errorf("the booking is %s", status)
	}
}
