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

// sale is booking number n, confirmed with the reference of the earlier version's bookings.
func sale(n int) inventory.Confirm {
	return inventory.Confirm{BookingID: bookingID(n), Charge: holdfast.Charge{Reference: "paid"}}
}

// Bookings of an earlier version that have one reference stay paid with it, in whichever order the shop confirms them
// again, and each has its ID as the part.
func TestContract_BookingsOfAnEarlierVersionShareTheirReference(t *testing.T) {
	for _, row := range []struct {
		name   string
		number int
		order  []int
	}{
		{"one after the other", 2, []int{1, 2}},
		{"again", 2, []int{1, 2, 1, 2}},
		{"again, the other way round", 2, []int{2, 1, 2, 1, 1, 2}},
		{"with repeats", 2, []int{1, 1, 2, 2, 1, 1}},
		{"three of them", 3, []int{1, 2, 3, 1, 3, 2}},
	} {
		t.Run(row.name, func(t *testing.T) {
			one, batch := soldBefore(row.number), soldBefore(row.number)
			var commands []inventory.Command
			for _, n := range row.order {
				wantCode(t, one.one(t, sale(n)), "")
				commands = append(commands, sale(n))
			}
			for _, r := range (&pipeline{store: batch, rules: theRules}).batch(t, commands...) {
				wantCode(t, r, "")
			}
			for _, s := range []*store{one, batch} {
				wantNumber(t, s, row.number)
				for n := range row.number {
					id := bookingID(1 + n)
					if p := s.payments[paymentIDOf("default", "paid", id.String())]; p == nil || p.Status != "ACCEPTED" || p.BookingID != id {
						t.Errorf("the payments are %v", s.payments)
					}
				}
			}
		})
	}
}

// What the charge says of the amount is that of its own booking.
func TestContract_BookingsOfAnEarlierVersionHaveTheirOwnAmounts(t *testing.T) {
	s := soldBefore(2)
	for _, n := range []int{1, 2, 1, 2} {
		wantCode(t, s.one(t, charged(sale(n), func(c *holdfast.Charge) { c.Amount = pointer(int64(100 * n)) })), "")
	}
	wantCode(t, s.one(t, charged(sale(1), func(c *holdfast.Charge) { c.Provider = "other" })), holdfast.CodeInvalid)
	wantNumber(t, s, 2)
}

// A booking keeps its sale where another one has the reference without a part: an earlier version confirmed it meanwhile, or
// this one was recorded when no booking had the same reference.
func TestContract_ABookingOfAnEarlierVersionWhoseReferenceAnotherOneHas(t *testing.T) {
	for _, part := range []string{"", bookingID(1).String()} {
		s := soldBefore(2)
		s.pay(2, "")
		if part != "" {
			s.pay(1, part)
		}
		for range 2 {
			wantCode(t, s.one(t, charged(sale(1), func(c *holdfast.Charge) { c.Amount = pointer(int64(500)) })), "")
			wantCode(t, s.one(t, sale(2)), "")
			wantNumber(t, s, 2)
			if id := s.bookings[bookingID(1)].PaymentID; id != paymentIDOf("default", "paid", bookingID(1).String()) {
				t.Errorf("the payment of booking 1 is %s of %v", id, s.payments)
			}
		}
	}
}

// pay gives a booking the accepted payment of its reference and a part.
func (s *store) pay(n int, part string) {
	b := s.bookings[bookingID(n)]
	b.PaymentID = paymentIDOf("default", b.PaymentReference, part)
	s.payments[b.PaymentID] = &holdfast.Payment{
		ID: b.PaymentID, Charge: holdfast.Charge{Provider: "default", Reference: b.PaymentReference, Part: part},
		BookingID: b.ID, EventID: b.EventID, UserID: b.UserID, Status: "ACCEPTED",
	}
}

// A shop that confirms a cancelled booking again is told of the booking's own payment: no other one goes back, such as the
// whole charge.
func TestContract_ACancelledBookingOfAnEarlierVersionHasItsPayment(t *testing.T) {
	for _, row := range []struct {
		name   string
		before []inventory.Command
	}{
		{"cancelled", []inventory.Command{cancel, sale(2)}},
		{"confirmed again, then cancelled", []inventory.Command{sale(1), sale(2), cancel}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := soldBefore(2)
			for _, c := range row.before {
				wantCode(t, s.one(t, c), "")
			}
			want := holdfast.RefusedPayment{
				ID: paymentIDOf("default", "paid", bookingID(1).String()), Status: "REFUND_DUE", Reason: "booking_cancelled",
			}
			for range 2 {
				wantRefused(t, s, s.one(t, sale(1)), "BOOKING_CANCELLED", want)
				wantCode(t, s.one(t, sale(2)), "")
				wantNumber(t, s, 2)
			}
		})
	}
}
