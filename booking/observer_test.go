package booking_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A refused confirmation of a booking counts, because the customer may have paid. One of an ID
// that no booking has does not: IDs can be made up, and an alert is raised by the count.
func TestConfirm_CountsRefusedPaymentsOfBookingsOnly(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	counted := 0
	bookings := booking.New(env.Pipeline, time.Hour, booking.Observer{PaidAndRefused: func() { counted++ }})
	due := env.Book(env.Acquire(env.Event(5), 1, testenv.Soon()), testenv.Past())
	for _, c := range []struct {
		id   holdfast.ID
		code holdfast.Code
		want int
	}{
		{ids.New(), holdfast.CodeBookingNotFound, 0},
		{due.ID, holdfast.CodeBookingExpired, 1},
	} {
		_, err := bookings.ConfirmBooking(t.Context(), c.id, "pay-1")
		if !holdfast.HasCode(err, c.code) || counted != c.want {
			t.Errorf("%v, %d counted; want %s, %d", err, counted, c.code, c.want)
		}
	}
}
