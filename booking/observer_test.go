package booking_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// counts are what the observer was told.
type counts struct{ accepted, refused, duplicates atomic.Int64 }

func (c *counts) want(t *testing.T, accepted, refused, duplicates int64) {
	t.Helper()
	if a, r, d := c.accepted.Load(), c.refused.Load(), c.duplicates.Load(); a != accepted || r != refused || d != duplicates {
		t.Errorf("counted %d accepted, %d refused and %d duplicate payments; want %d, %d and %d", a, r, d, accepted, refused, duplicates)
	}
}

// observed are the bookings of one more process, whose payments are counted.
func observed(t *testing.T, w *testenv.Env) (*booking.Service, *counts) {
	t.Helper()
	c := &counts{}
	observer := booking.Observer{Duplicate: func() { c.duplicates.Add(1) }, Late: func(accepted bool) {
		if accepted {
			c.accepted.Add(1)
		} else {
			c.refused.Add(1)
		}
	}}
	p := pipeline.New(w.Store, pipeline.Options{
		Rules: inventory.Rules{DefaultLockTTL: testenv.DefaultTTL, MaxLockTTL: testenv.MaxTTL, MaxPaymentTTL: testenv.MaxPaymentTTL},
		Paid:  observer.Paid,
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return booking.New(p, time.Hour), c
}

// eventWithLatePayments accepts late payments.
func eventWithLatePayments(t *testing.T, w *testenv.Env, seats int64) holdfast.ID {
	t.Helper()
	eventID, policy := w.Event(seats), holdfast.LatePaymentsAccepted
	if _, err := w.Seats.UpdateEvent(w.Ctx(), eventID, holdfast.EventChange{LatePayments: &policy}); err != nil {
		t.Fatal(err)
	}
	return eventID
}

// A second payment of a booking is counted once: the shop has taken money twice.
func TestConfirm_CountsDuplicates(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	bookings, counted := observed(t, env)
	b := env.Book(env.Acquire(env.Event(5), 1, testenv.Soon()), testenv.Soon())
	for _, c := range []struct {
		reference string
		code      holdfast.Code
		want      int64
	}{
		{"pay-1", "", 0},
		{"pay-1", "", 0},
		{"pay-2", holdfast.CodeBookingConfirmed, 1},
		{"pay-2", holdfast.CodeBookingConfirmed, 1},
		{"pay-3", holdfast.CodeBookingConfirmed, 2},
	} {
		_, err := bookings.ConfirmBooking(t.Context(), b.ID, holdfast.Charge{Reference: c.reference})
		wantCode(t, err, c.code)
		counted.want(t, 0, 0, c.want)
	}
}

// A late payment is counted once, accepted or refused, however often the shop reports it.
func TestConfirm_CountsLatePayments(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	bookings, counted := observed(t, w)
	eventID := eventWithLatePayments(t, w, 2)
	accepted, refused := bookingIn(t, w, eventID, "EXPIRED"), bookingIn(t, w, eventID, "EXPIRED")
	w.Acquire(eventID, 1, testenv.Soon())
	for range 2 {
		_, err := bookings.ConfirmBooking(w.Ctx(), accepted.ID, holdfast.Charge{Reference: "in time"})
		wantCode(t, err, "")
		counted.want(t, 1, 0, 0)
	}
	for range 2 {
		_, err := bookings.ConfirmBooking(w.Ctx(), refused.ID, holdfast.Charge{Reference: "too late"})
		wantCode(t, err, expired)
		counted.want(t, 1, 1, 0)
	}
	never := bookingIn(t, w, w.Event(1), "EXPIRED") // its event refuses late payments
	_, err := bookings.ConfirmBooking(w.Ctx(), never.ID, holdfast.Charge{Reference: "never"})
	wantCode(t, err, expired)
	counted.want(t, 1, 1, 0)
}

// The caller of a late payment gives up before the commit, which makes the payment all the same.
func TestConfirm_CountsALatePaymentWhoseCallerHasGivenUp(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	b := bookingIn(t, w, eventWithLatePayments(t, w, 2), "EXPIRED")
	ctx, giveUp := context.WithCancel(t.Context())
	answered := make(chan struct{})
	var once sync.Once
	process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
		o.Monitor = &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
			if e.CommandName == "commitTransaction" {
				once.Do(func() {
					giveUp()
					<-answered
				})
			}
		}}
	})
	bookings, counted := observed(t, process)
	charge := holdfast.Charge{Reference: "late"}
	_, err := bookings.ConfirmBooking(ctx, b.ID, charge)
	close(answered)
	wantCode(t, err, holdfast.CodeOutcomeUnknown)
	testenv.WaitFor(t, func() bool { return counted.accepted.Load() > 0 })
	_, err = bookings.ConfirmBooking(w.Ctx(), b.ID, charge)
	wantCode(t, err, "")
	counted.want(t, 1, 0, 0)
}

// A transfer of a booking that was paid late is not a late payment, whatever else its batch has made.
func TestPaid_ATransferIsNotALatePayment(t *testing.T) {
	t.Parallel()
	late := 0
	observer := booking.Observer{Late: func(bool) { late++ }}
	accepted := inventory.BookingWrite{From: holdfast.BookingExpired, To: holdfast.BookingConfirmed, LockID: holdfast.ID{1}, Late: true}
	transferred := accepted
	transferred.From = holdfast.BookingConfirmed
	paid := []holdfast.Payment{{Status: holdfast.PaymentAccepted}}
	observer.Paid(inventory.Plan{Bookings: []inventory.BookingWrite{accepted, transferred}, NewPayments: paid})
	if late != 1 {
		t.Errorf("counted %d late payments, want 1", late)
	}
}
