package booking_test

import (
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// A confirmation writes the lock in time and commits after the lock is due. Another request
// in between must not be refused as expired: it waits for the commit.
func TestExpiredRefusals_WaitForATransactionThatBeganInTime(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(100)
	for _, c := range []struct {
		name string
		ask  func(b holdfast.Booking) error
		want holdfast.Code
	}{
		{"release", func(b holdfast.Booking) error { _, err := w.Seats.ReleaseLock(w.Ctx(), b.LockID); return err }, holdfast.CodeLockConsumed},
		{"extend", func(b holdfast.Booking) error {
			_, err := w.Seats.ExtendLock(w.Ctx(), b.LockID, testenv.Soon())
			return err
		}, holdfast.CodeLockConsumed},
		{"book", func(b holdfast.Booking) error {
			sold, made, err := w.Bookings.CreateBooking(w.Ctx(), holdfast.BookingRequest{UserID: b.UserID, EventID: eventID, LockID: b.LockID})
			if err == nil && (made || sold.ID != b.ID || sold.Status != holdfast.BookingConfirmed) {
				err = fmt.Errorf("made %v: %+v", made, sold)
			}
			return err
		}, ""},
		{"pay", func(b holdfast.Booking) error {
			_, err := w.Bookings.PayBooking(w.Ctx(), b.ID, testenv.Soon())
			return err
		}, holdfast.CodeBookingConfirmed},
		{"confirm", func(b holdfast.Booking) error {
			_, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: "ref-" + b.ID.String()})
			return err
		}, ""},
		{"confirm with another reference", func(b holdfast.Booking) error {
			_, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: "other-" + b.ID.String()})
			return err
		}, holdfast.CodeBookingConfirmed},
		{"cancel", func(b holdfast.Booking) error { _, err := w.Bookings.CancelBooking(w.Ctx(), b.ID); return err }, ""},
	} {
		for _, due := range []string{"the lock", "the window"} {
			isOfLock := c.name == "release" || c.name == "extend" || c.name == "book"
			if due == "the window" && isOfLock {
				continue // the lock is still live: nothing to wait for
			}
			t.Run(c.name+", "+due+" is due", func(t *testing.T) {
				t.Parallel()
				b := w.Book(w.Acquire(eventID, 1, testenv.Soon()), testenv.Soon())
				ends := time.Now().Add(time.Second)
				if due == "the lock" {
					w.Set("seatlocks", b.LockID, bson.D{{Key: "expiresAt", Value: ends}})
				} else {
					w.Set("bookings", b.ID, bson.D{{Key: "paymentExpiresAt", Value: ends}})
				}
				written, proceed, committed := make(chan struct{}, 100), make(chan struct{}), make(chan error, 1)
				go func() {
					committed <- confirmSlowly(w, b, func() error { written <- struct{}{}; <-proceed; return nil })
				}()
				select {
				case <-written:
				case err := <-committed:
					t.Fatalf("the confirmation did not begin in time: %v", err)
				}
				testenv.WaitFor(t, func() bool { return time.Now().After(ends.Add(20 * time.Millisecond)) })
				answered := make(chan error, 1)
				go func() { answered <- c.ask(b) }()
				testenv.HoldsFor(t, 150*time.Millisecond, func() bool { return len(answered) == 0 })
				close(proceed)
				if err := <-committed; err != nil {
					t.Fatal(err)
				}
				if err := <-answered; (err == nil) != (c.want == "") || holdfast.CodeOf(err) != c.want {
					t.Errorf("got %v, want %q", err, c.want)
				}
			})
		}
	}
}

// confirmSlowly confirms a booking, with a long delay before its commit.
func confirmSlowly(w *testenv.Env, b holdfast.Booking, beforeCommit func() error) error {
	charge := holdfast.Charge{Reference: "ref-" + b.ID.String()}
	state, err := w.Store.Load(w.Ctx(), holdfast.ID{}, inventory.Needs{
		Bookings: []holdfast.ID{b.ID}, Charged: []inventory.PaymentKey{{Reference: charge.Reference}},
	})
	if err != nil {
		return err
	}
	plan, result := w.Pipeline.Preview(state, inventory.Confirm{BookingID: b.ID, Charge: charge})
	if result.Err != nil {
		return result.Err
	}
	_, err = w.Store.Apply(w.Ctx(), mongodb.TxOptions{}, []store.EventPlan{{EventID: b.EventID, Plan: plan}}, beforeCommit)
	return err
}
