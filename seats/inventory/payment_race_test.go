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

// What becomes of a payment, by the contract's tables.

var paidID = paymentIDOf("default", "paid", "")

func wantNumber(t *testing.T, s *store, want int) {
	t.Helper()
	if len(s.payments) != want {
		t.Errorf("there are %d payments, want %d: %v", len(s.payments), want, s.payments)
	}
}

// Late payments: which are accepted, and why others are not.

// late is confirm in the queue of the event.
var late = inventory.Confirm{
	BookingID: bookingID(1), Charge: holdfast.Charge{Reference: "paid"}, LockID: lockID(2), EventID: eventID,
}

// anExpired is a store whose booking 1 has expired with its lock, two seats, ten minutes ago. The event accepts late
// payments for an hour.
func anExpired(seats int64) *store {
	past := begin.Add(-minutes(10))
	s := newStore(seats).withLock(1, 2, "EXPIRED", past).withBooking(1, "EXPIRED", past)
	s.bookings[bookingID(1)].Seats = 2
	s.event.LatePayments = holdfast.LatePayments{Policy: accepts, Seconds: 3600}
	return s
}
