package booking_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

const (
	notPayable = holdfast.CodeBookingNotPayable
	expired    = holdfast.CodeBookingExpired
	confirmed  = holdfast.CodeBookingConfirmed
	cancelled  = holdfast.CodeBookingCancelled
)

func TestActions_AnswerByTheBookingsStateAsTheContractSays(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1000)
	for action, c := range map[string]struct {
		do   func(id holdfast.ID) (holdfast.Booking, error)
		want []holdfast.Code // in the order of states
	}{
		"pay": {
			func(id holdfast.ID) (holdfast.Booking, error) {
				return w.Bookings.PayBooking(w.Ctx(), id, testenv.Soon())
			},
			[]holdfast.Code{"", "", expired, expired, expired, confirmed, cancelled},
		},
		"confirm": {
			func(id holdfast.ID) (holdfast.Booking, error) {
				return w.Bookings.ConfirmBooking(w.Ctx(), id, holdfast.Charge{})
			},
			[]holdfast.Code{notPayable, "", expired, expired, expired, "", cancelled},
		},
		"confirm with another reference": {
			func(id holdfast.ID) (holdfast.Booking, error) {
				return w.Bookings.ConfirmBooking(w.Ctx(), id, holdfast.Charge{Reference: "other-" + id.String()})
			},
			[]holdfast.Code{notPayable, "", expired, expired, expired, confirmed, cancelled},
		},
		"cancel": {
			func(id holdfast.ID) (holdfast.Booking, error) { return w.Bookings.CancelBooking(w.Ctx(), id) },
			[]holdfast.Code{"", "", expired, expired, expired, "", ""},
		},
		"cancel what is open": {
			func(id holdfast.ID) (holdfast.Booking, error) { return w.Bookings.CancelOpenBooking(w.Ctx(), id) },
			[]holdfast.Code{"", "", expired, expired, expired, confirmed, ""},
		},
	} {
		for i, state := range states {
			t.Run(action+", "+state, func(t *testing.T) {
				b := bookingIn(t, w, event, state)
				for range 2 { // again: the same answer
					_, err := c.do(b.ID)
					wantCode(t, err, c.want[i])
				}
			})
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestWindow_MovesTheLockAndStopsAtTheCap(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	lock := w.Acquire(w.Event(10), 1, holdfast.Until{For: time.Minute})
	b := w.Book(lock, holdfast.Until{})
	if got := w.Lock(lock.ID); !got.ExpiresAt.Equal(lock.ExpiresAt) || got.BookingID != b.ID {
		t.Errorf("INITIATED: the lock is %+v", got)
	}
	_, err := w.Bookings.PayBooking(w.Ctx(), b.ID, holdfast.Until{At: b.CreatedAt.Add(testenv.MaxPaymentTTL + time.Millisecond)})
	if !holdfast.HasCode(err, holdfast.CodeInvalid) {
		t.Errorf("beyond the cap: %v", err)
	}
	ends := b.CreatedAt.Add(testenv.MaxPaymentTTL)
	paid, err := w.Bookings.PayBooking(w.Ctx(), b.ID, holdfast.Until{At: ends})
	if err != nil || !paid.PaymentExpiresAt.Equal(ends) || !w.Lock(lock.ID).ExpiresAt.Equal(ends) {
		t.Errorf("to the cap: %+v, %v, lock %v", paid, err, w.Lock(lock.ID).ExpiresAt)
	}
	again, err := w.Bookings.PayBooking(w.Ctx(), b.ID, holdfast.Until{For: time.Minute})
	if err != nil || !again.PaymentExpiresAt.Equal(ends) {
		t.Errorf("again: %+v, %v; want it unchanged", again, err)
	}
}

func TestCancelledEvent_RefusesBookPayAndConfirm(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	free := w.Acquire(event, 1, testenv.Soon())
	initiated, pending := bookingIn(t, w, event, "INITIATED"), bookingIn(t, w, event, "PAYMENT_PENDING")
	w.Set("events", event, bson.D{{Key: "status", Value: "CANCELLED"}})
	for action, do := range map[string]func() error{
		"book": func() error {
			_, _, err := w.Bookings.CreateBooking(w.Ctx(), holdfast.BookingRequest{UserID: free.UserID, EventID: event, LockID: free.ID})
			return err
		},
		"pay": func() error {
			_, err := w.Bookings.PayBooking(w.Ctx(), initiated.ID, testenv.Soon())
			return err
		},
		"confirm": func() error { _, err := w.Bookings.ConfirmBooking(w.Ctx(), pending.ID, holdfast.Charge{}); return err },
	} {
		t.Run(action, func(t *testing.T) { wantCode(t, do(), holdfast.CodeEventNotOnSale) })
	}
	_, err := w.Bookings.CancelBooking(w.Ctx(), pending.ID)
	wantCode(t, err, "")
	testenv.CheckInvariants(t, w.DB.Database)
}

// If other software ended the lock of an open booking, the answer is the lock's code.
func TestConfirm_AnswersByALockThatOtherSoftwareEnded(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	for status, want := range map[holdfast.LockStatus]holdfast.Code{
		holdfast.LockReleased: holdfast.CodeLockReleased,
		holdfast.LockExpired:  holdfast.CodeLockExpired,
		holdfast.LockConsumed: holdfast.CodeLockConsumed,
	} {
		t.Run(string(status), func(t *testing.T) {
			b := bookingIn(t, w, event, "PAYMENT_PENDING")
			w.Set("seatlocks", b.LockID, bson.D{{Key: "status", Value: string(status)}})
			_, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{})
			wantCode(t, err, want)
		})
	}
}
