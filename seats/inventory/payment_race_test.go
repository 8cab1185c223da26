package inventory_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// racing carries out a command, and the rival's step between its first decision and the write.
func racing(t *testing.T, s *store, c inventory.Command, step func(*store)) reply {
	t.Helper()
	p, turns := &pipeline{store: s, rules: theRules}, 0
	p.beforeApply = func(inventory.Plan) {
		if turns++; turns == 1 {
			step(s)
		}
	}
	r := p.batch(t, c)[0]
	if turns < 2 {
		t.Error("the plan was written although its state had changed")
	}
	return r
}

func TestPayments_GuardWhatTheyWereDecidedOn(t *testing.T) {
	ofOther := holdfast.Payment{ID: paidID, Charge: holdfast.Charge{Provider: "default", Reference: "paid"}, BookingID: bookingID(3),
		Status: "REFUND_DUE", Reason: "late", Code: "BOOKING_EXPIRED"}
	for _, row := range []struct {
		name    string
		store   *store
		command inventory.Confirm
		step    func(*store)
		code    holdfast.Code
		number  int
	}{
		{"retention removes the booking", aBooking("EXPIRED"), confirm,
			func(s *store) { delete(s.bookings, bookingID(1)) }, "BOOKING_NOT_FOUND", 0},
		{"another booking gets the reference", aBooking("EXPIRED"), confirm,
			func(s *store) { s.payments[paidID] = &ofOther }, "PAYMENT_REFERENCE_USED", 1},
		{"the time for late payments passes", anExpired(5), late, func(s *store) { s.now = in(minutes(50) + time.Second) }, "BOOKING_EXPIRED", 1},
		{"the event refuses late payments", anExpired(5), late, func(s *store) {
			s.event.LatePayments.Policy = holdfast.LatePaymentsRefused
			s.event.Revision++
		}, "BOOKING_EXPIRED", 1},
		{"the booking is cancelled", aBooking("PAYMENT_PENDING"), confirm, func(s *store) { s.one(t, cancel) }, "BOOKING_CANCELLED", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			wantCode(t, racing(t, row.store, row.command, row.step), row.code)
			wantNumber(t, row.store, row.number)
		})
	}
}

// A booking of an earlier version gets its payment while it is cancelled: that payment goes back.
func TestPayments_GuardABookingWithoutOne(t *testing.T) {
	own := charged(confirm, func(c *holdfast.Charge) { c.Part = bookingID(1).String() })
	s := soldBefore(1)
	wantCode(t, racing(t, s, cancel, func(s *store) { wantCode(t, s.one(t, own), "") }), "")
	wantNumber(t, s, 1)
	if p := s.payments[paymentIDOf("default", "paid", own.Charge.Part)]; p == nil || p.Status != "REFUND_DUE" {
		t.Errorf("the payments are %v", s.payments)
	}
	// And the other way round: what is cancelled has no accepted payment.
	s = soldBefore(1)
	wantCode(t, racing(t, s, own, func(s *store) { wantCode(t, s.one(t, cancel), "") }), "BOOKING_CANCELLED")
	for _, p := range s.payments {
		if p.Status == "ACCEPTED" {
			t.Errorf("the booking is CANCELLED, its payment is %+v", p)
		}
	}
}

// A confirmation that began in time conflicts with the refusal of a late one.
func TestPayments_ARefusedLatePaymentRaisesTheRevisionOfItsLock(t *testing.T) {
	s := withStatus(anExpired(5).withLock(1, 2, "ACTIVE", begin.Add(-minutes(10))), "CLOSED")
	s.bookings[bookingID(1)].Status = "PAYMENT_PENDING"
	wantCode(t, s.one(t, late), "BOOKING_EXPIRED")
	if revision := *s.locks[lockID(1)].Revision; revision != 1 {
		t.Errorf("the lock has the revision %d, want 1", revision)
	}
}

// Two confirmations record the payment of a booking of an earlier version once, whichever part they name.
func TestPayments_OfABookingOfAnEarlierVersionAreRecordedOnce(t *testing.T) {
	own := charged(confirm, func(c *holdfast.Charge) { c.Part = bookingID(1).String() })
	s := soldBefore(1)
	wantCode(t, racing(t, s, confirm, func(s *store) { wantCode(t, s.one(t, own), "") }), "")
	wantNumber(t, s, 1)
}
