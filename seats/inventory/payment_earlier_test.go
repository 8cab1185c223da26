package inventory_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Bookings that an earlier version has confirmed have a reference and no payment.

// soldBefore is a store with CONFIRMED bookings of an earlier version that have one reference.
func soldBefore(number int) *store {
	s := newStore(9)
	for n := range number {
		s.withLock(1+n, 1, "CONSUMED", begin).withBooking(1+n, "CONFIRMED", begin)
		s.bookings[bookingID(1+n)].PaymentReference = "paid"
	}
	return s
}

func TestContract_ABookingOfAnEarlierVersionGetsItsPayment(t *testing.T) {
	own := bookingID(1).String()
	for _, row := range []struct {
		name    string
		number  int
		command inventory.Command
		part    string
		status  holdfast.PaymentStatus
	}{
		{"confirmed again", 1, confirm, "", "ACCEPTED"},
		{"confirmed again, with its ID as the part", 1, charged(confirm, func(c *holdfast.Charge) { c.Part = own }), own, "ACCEPTED"},
		{"confirmed again, one of several", 2, confirm, own, "ACCEPTED"},
		{"one of several, with its ID as the part", 3, charged(confirm, func(c *holdfast.Charge) { c.Part = own }), own, "ACCEPTED"},
		{"cancelled", 1, cancel, "", "REFUND_DUE"},
		{"cancelled, one of several", 3, cancel, own, "REFUND_DUE"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := soldBefore(row.number)
			id := paymentIDOf("default", "paid", row.part)
			for range 2 {
				wantCode(t, s.one(t, row.command), "")
				wantNumber(t, s, 1)
				if p := s.payments[id]; p == nil || p.Status != row.status || p.Part != row.part || p.BookingID != bookingID(1) {
					t.Errorf("the payment is %+v", p)
				}
			}
		})
	}
}

// The repeat of a charge that says more than the earlier version kept is a repeat all the same.
func TestContract_ABookingOfAnEarlierVersionKeepsWhatIsSaidOfItsCharge(t *testing.T) {
	s := soldBefore(2)
	c := charged(confirm, func(c *holdfast.Charge) { c.Provider, c.Amount = "other", pointer(int64(500)) })
	for range 3 {
		wantCode(t, s.one(t, c), "")
		wantNumber(t, s, 1)
	}
	if p := s.payments[paymentIDOf("other", "paid", bookingID(1).String())]; p == nil || *p.Amount != 500 {
		t.Errorf("the payments are %v", s.payments)
	}
}

func TestContract_TheReferenceOfABookingOfAnEarlierVersionIsUsed(t *testing.T) {
	for _, part := range []string{"", bookingID(1).String()} {
		s := soldBefore(1).withLock(3, 1, "ACTIVE", in(minutes(10))).withBooking(3, "PAYMENT_PENDING", in(minutes(10)))
		c := inventory.Confirm{BookingID: bookingID(3), Charge: holdfast.Charge{Reference: "paid", Part: part}}
		wantCode(t, s.one(t, c), "PAYMENT_REFERENCE_USED")
		wantNumber(t, s, 0)
		c.Charge.Part = "another"
		wantCode(t, s.one(t, c), "")
	}
}
