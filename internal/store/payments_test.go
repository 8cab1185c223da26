package store_test

import (
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// A refund that was decided before another one was noted is stale: the first one stays.
func TestApply_PaymentGuardsHold(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	b := w.Book(w.Acquire(w.Event(10), 1, testenv.Soon()), testenv.Past())
	charge := holdfast.Charge{Reference: "r"}
	if _, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, charge); !holdfast.HasCode(err, holdfast.CodeBookingExpired) {
		t.Fatal(err)
	}
	id := charge.PaymentID()
	state, err := w.Store.Load(w.Ctx(), holdfast.ID{}, inventory.Needs{Payments: []holdfast.ID{id}, Bookings: []holdfast.ID{b.ID}})
	if err != nil {
		t.Fatal(err)
	}
	plan, result := w.Pipeline.Preview(state, inventory.Refund{PaymentID: id, Reference: "second"})
	if result.Err != nil || len(plan.Payments) != 1 || len(plan.Bookings) != 1 {
		t.Fatalf("%+v, %v", plan, result.Err)
	}
	if _, err := w.Bookings.RefundPayment(w.Ctx(), id, "first"); err != nil {
		t.Fatal(err)
	}
	_, err = w.Store.Apply(w.Ctx(), mongodb.TxOptions{}, []store.EventPlan{{EventID: b.EventID, Plan: plan}}, func() error { return nil })
	if !errors.Is(err, store.ErrStale) {
		t.Errorf("got %v, want a stale plan", err)
	}
	p, err := w.Bookings.GetPayment(w.Ctx(), id)
	if err != nil || p.RefundReference != "first" {
		t.Errorf("the refund is %q, %v", p.RefundReference, err)
	}
}

// A confirmation that is given up before its commit leaves no payment.
func TestApply_APaymentIsWrittenWithItsConfirmation(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	lock := w.Acquire(w.Event(10), 1, testenv.Soon())
	b, charge := w.Book(lock, testenv.Soon()), holdfast.Charge{Reference: "r"}
	state, err := w.Store.Load(w.Ctx(), b.EventID, inventory.Needs{
		Event: true, Bookings: []holdfast.ID{b.ID}, Locks: []holdfast.ID{lock.ID}, LiveOf: []holdfast.ID{lock.ID},
		Charged: []inventory.PaymentKey{{Reference: charge.Reference}},
	})
	if err != nil {
		t.Fatal(err)
	}
	plan, result := w.Pipeline.Preview(state, inventory.Confirm{BookingID: b.ID, Charge: charge})
	if result.Err != nil || len(plan.NewPayments) != 1 {
		t.Fatalf("%+v, %v", plan, result.Err)
	}
	givenUp := errors.New("the callers have given up")
	_, err = w.Store.Apply(w.Ctx(), mongodb.TxOptions{}, []store.EventPlan{{EventID: b.EventID, Plan: plan}}, func() error { return givenUp })
	if !errors.Is(err, givenUp) {
		t.Errorf("got %v", err)
	}
	if _, err := w.Bookings.GetPayment(w.Ctx(), charge.PaymentID()); !holdfast.HasCode(err, holdfast.CodePaymentNotFound) {
		t.Errorf("the payment is there: %v", err)
	}
}
