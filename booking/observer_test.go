package booking_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A second payment of a booking is counted: the shop has taken money twice.
func TestConfirm_CountsDuplicates(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	counted := 0
	bookings := booking.New(env.Pipeline, time.Hour, booking.Observer{Duplicate: func() { counted++ }})
	b := env.Book(env.Acquire(env.Event(5), 1, testenv.Soon()), testenv.Soon())
	for _, c := range []struct {
		reference string
		code      holdfast.Code
		want      int
	}{
		{"pay-1", "", 0},
		{"pay-1", "", 0},
		{"pay-2", holdfast.CodeBookingConfirmed, 1},
	} {
		_, err := bookings.ConfirmBooking(t.Context(), b.ID, holdfast.Charge{Reference: c.reference})
		if holdfast.CodeOf(err) != c.code || counted != c.want {
			t.Errorf("%v, %d counted; want %q, %d", err, counted, c.code, c.want)
		}
	}
}
