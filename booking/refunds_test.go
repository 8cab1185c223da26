package booking_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// wantDue fails unless a payment has a status, and so much of it has to be refunded.
func wantDue(t *testing.T, p holdfast.Payment, status holdfast.PaymentStatus, want int64) {
	t.Helper()
	if due, known := p.AmountDue(); !known || due != want || p.Status != status {
		t.Errorf("%d are due of %+v, want %d and %s", due, p, want, status)
	}
}

// Parts of a payment go back while it stays, and what is left when its booking is cancelled.
func TestRefundPart_UntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	b := sell(w, w.Event(10), paid(seatsOf(2, holdfast.Wish{}), charge("paid", 100)))
	id := b.Payments[0].ID
	_, at := changesSince(w, nil)
	part := func(amount int64, key string) holdfast.Payment {
		t.Helper()
		p, _, err := w.Bookings.RefundPart(w.Ctx(), id, amount, key)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	wantDue(t, part(30, "key"), holdfast.PaymentAccepted, 30)
	p, replayed, err := w.Bookings.RefundPart(w.Ctx(), id, 30, "key")
	if err != nil || !replayed || len(p.Refunds) != 1 {
		t.Errorf("again: %+v, %t, %v", p, replayed, err)
	}
	_, _, err = w.Bookings.RefundPart(w.Ctx(), id, 31, "key")
	wantCode(t, err, holdfast.CodeIdempotencyKeyReused)
	p = part(20, "")
	wantDue(t, p, holdfast.PaymentAccepted, 50)
	first := p.Refunds[0].ID
	for _, amount := range []int64{0, -1, 51} {
		_, _, err = w.Bookings.RefundPart(w.Ctx(), id, amount, "")
		wantCode(t, err, holdfast.CodeInvalid)
	}
	for range 2 { // again: the same answer
		if p, err = w.Bookings.RefundedPart(w.Ctx(), id, first, "back-1"); err != nil || p.Refunds[0].Reference != "back-1" {
			t.Errorf("%+v, %v", p, err)
		}
		wantDue(t, p, holdfast.PaymentAccepted, 20)
	}
	_, err = w.Bookings.RefundedPart(w.Ctx(), id, first, "back-2")
	wantCode(t, err, holdfast.CodePaymentRefunded)
	_, err = w.Bookings.RefundedPart(w.Ctx(), id, mongodb.NewID(), "back-2")
	wantCode(t, err, holdfast.CodeRefundNotFound)
	_, err = w.Bookings.RefundPayment(w.Ctx(), id, "all")
	wantCode(t, err, holdfast.CodePaymentAccepted)
	if kept := w.Booking(b.ID); kept.Revision != b.Revision {
		t.Errorf("parts have changed the booking: %+v", kept)
	}
	list, at := changesSince(w, at)
	if told := types(list); !slices.Equal(told, []string{"payment.refund_due", "payment.refund_due", "payment.refunded"}) {
		t.Errorf("told %v", told)
	}
	for i, c := range list {
		if c.Revision != int64(i+1) || c.Payment.Status != holdfast.PaymentAccepted {
			t.Errorf("told %+v at revision %d", c.Payment, c.Revision)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
	wantRefundedToTheEnd(t, w, b.ID, p, at)
}

// wantRefundedToTheEnd cancels the booking of a payment of 100, of which 30 were refunded and 20 are DUE, and refunds the rest.
func wantRefundedToTheEnd(t *testing.T, w *testenv.Env, booking holdfast.ID, p holdfast.Payment, at *changes.Position) {
	t.Helper()
	id, second := p.ID, p.Refunds[1].ID
	wantCancelled(t, w, booking, map[holdfast.ID]int64{id: 70}) // with the part that is DUE
	p, err := w.Bookings.RefundedPart(w.Ctx(), id, second, "back-2")
	if err != nil {
		t.Fatal(err)
	}
	wantDue(t, p, holdfast.PaymentRefundDue, 50)
	p, _, err = w.Bookings.RefundPart(w.Ctx(), id, 50, "")
	if err != nil {
		t.Fatal(err)
	}
	wantDue(t, p, holdfast.PaymentRefundDue, 50) // the part is of what is due already
	p, err = w.Bookings.RefundPayment(w.Ctx(), id, "rest")
	if err != nil || p.Refunds[2].Status != holdfast.RefundDone || p.Refunds[2].Reference != "rest" {
		t.Errorf("%+v, %v", p, err)
	}
	wantDue(t, p, holdfast.PaymentRefunded, 0)
	if listed := w.Booking(booking).Payments; len(listed) != 1 || listed[0].Status != holdfast.PaymentRefunded {
		t.Errorf("the booking lists %+v", listed)
	}
	_, _, err = w.Bookings.RefundPart(w.Ctx(), id, 1, "")
	wantCode(t, err, holdfast.CodeInvalid)
	list, _ := changesSince(w, at)
	want := []string{"booking.cancelled", "lock.released", "payment.refund_due", "payment.refund_due", "payment.refunded", "payment.refunded"}
	if told := types(list); !slices.Equal(told, want) {
		t.Errorf("told %v", told)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A payment of which all went back in parts is REFUNDED at once when its booking is cancelled.
func TestRefundPart_AllOfAPayment(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	for name, settled := range map[string]bool{"before the cancellation": true, "after it": false} {
		t.Run(name, func(t *testing.T) {
			b := sell(w, eventID, paid(seatsOf(1, holdfast.Wish{}), charge(name, 10)))
			id := b.Payments[0].ID
			p, _, err := w.Bookings.RefundPart(w.Ctx(), id, 10, "")
			if err != nil {
				t.Fatal(err)
			}
			if settled {
				if _, err := w.Bookings.RefundedPart(w.Ctx(), id, p.Refunds[0].ID, "back"); err != nil {
					t.Fatal(err)
				}
				wantCancelled(t, w, b.ID, map[holdfast.ID]int64{id: 0})
				return
			}
			wantCancelled(t, w, b.ID, map[holdfast.ID]int64{id: 10})
			p, err = w.Bookings.RefundedPart(w.Ctx(), id, p.Refunds[0].ID, "back")
			if err != nil {
				t.Fatal(err)
			}
			wantDue(t, p, holdfast.PaymentRefunded, 0)
			if listed := w.Booking(b.ID).Payments; listed[0].Status != holdfast.PaymentRefunded {
				t.Errorf("the booking lists %+v", listed)
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
	b := sell(w, eventID, paid(seatsOf(1, holdfast.Wish{}), holdfast.Charge{Reference: "of unknown amount"}))
	_, _, err := w.Bookings.RefundPart(w.Ctx(), b.Payments[0].ID, 1, "")
	wantCode(t, err, holdfast.CodeInvalid)
	_, _, err = w.Bookings.RefundPart(w.Ctx(), mongodb.NewID(), 1, "")
	wantCode(t, err, holdfast.CodePaymentNotFound)
	_, err = w.Bookings.RefundedPart(w.Ctx(), mongodb.NewID(), mongodb.NewID(), "back")
	wantCode(t, err, holdfast.CodePaymentNotFound)
}

// Parts that several processes ask for at the same time are together never more than the payment.
func TestRefundPart_OfSeveralProcessesIsNeverMoreThanThePayment(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	other := testenv.Open(t, w.URI, w.DB.Name())
	b := sell(w, w.Event(10), paid(seatsOf(3, holdfast.Wish{}), charge("paid", 100)))
	id := b.Payments[0].ID
	var mu sync.Mutex
	granted := map[string]int{}
	note := func(what string, err error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			granted[what]++
		case !holdfast.HasCode(err, holdfast.CodeInvalid) && !holdfast.HasCode(err, cancelled):
			t.Error(what, err)
		}
	}
	var all sync.WaitGroup
	for i := range 10 {
		process := []*testenv.Env{w, other}[i%2]
		all.Go(func() { _, _, err := process.Bookings.RefundPart(w.Ctx(), id, 15, ""); note("part", err) })
		all.Go(func() { _, _, err := process.Bookings.RefundPart(w.Ctx(), id, 15, "key"); note("key", err) })
	}
	all.Go(func() {
		change := holdfast.BookingChange{Seats: 2, Refund: &holdfast.PartRequest{Amount: 15}}
		_, _, err := other.Bookings.ChangeBooking(w.Ctx(), b.ID, change)
		note("change", err)
	})
	all.Go(func() { _, err := w.Bookings.CancelBooking(w.Ctx(), b.ID); note("cancel", err) })
	all.Wait()
	p := payment(w, id)
	parts := map[string]int{}
	for _, r := range p.Refunds {
		parts[r.Key]++
	}
	wantDue(t, p, holdfast.PaymentRefundDue, 100)
	isOfEachOnce := parts["key"] == min(granted["key"], 1) && parts[""] == granted["part"]+granted["change"]
	if !isOfEachOnce || len(p.Refunds) != 6 || granted["cancel"] != 1 {
		t.Errorf("granted %v, the parts are %v", granted, parts)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
