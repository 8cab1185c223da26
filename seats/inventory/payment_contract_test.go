package inventory_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// What becomes of a payment, by the contract's tables.

var paidID = paymentIDOf("default", "paid", "")

func charged(c inventory.Confirm, change func(*holdfast.Charge)) inventory.Confirm {
	change(&c.Charge)
	return c
}

func withStatus(s *store, status holdfast.EventStatus) *store {
	s.event.Status = status
	return s
}

// wantRefused compares a refusal, and the payment that it leaves: the answer names it.
func wantRefused(t *testing.T, s *store, r reply, code holdfast.Code, want holdfast.RefusedPayment) {
	t.Helper()
	wantCode(t, r, code)
	if got, _ := holdfast.DetailsOf[holdfast.RefusedPayment](r.Err); got != want {
		t.Errorf("the problem has the payment %+v, want %+v", got, want)
	}
	if p := s.payments[want.ID]; p == nil || p.Refused() != want {
		t.Errorf("the payment is %+v, want %+v", p, want)
	}
}

func wantNumber(t *testing.T, s *store, want int) {
	t.Helper()
	if len(s.payments) != want {
		t.Errorf("there are %d payments, want %d: %v", len(s.payments), want, s.payments)
	}
}

func TestContract_ARefusedConfirmationLeavesItsPaymentWithTheReason(t *testing.T) {
	soon := in(minutes(10))
	endedBy := func(status holdfast.LockStatus) *store {
		return newStore(5).withLock(1, 2, status, soon).withBooking(1, "PAYMENT_PENDING", soon)
	}
	without := aBooking("CONFIRMED")
	without.bookings[bookingID(1)].PaymentReference = ""
	other := charged(confirm, func(c *holdfast.Charge) { c.Reference = "other" })
	for _, row := range []struct {
		name    string
		store   *store
		command inventory.Confirm
		code    holdfast.Code
		reason  holdfast.PaymentReason
	}{
		{"EXPIRED", aBooking("EXPIRED"), confirm, "BOOKING_EXPIRED", "late"},
		{"its window has passed", aBooking("due"), confirm, "BOOKING_EXPIRED", "late"},
		{"its lock is due", aBooking("pending, lock due"), confirm, "BOOKING_EXPIRED", "late"},
		{"INITIATED, and its lock is due", aBooking("lock due"), confirm, "BOOKING_EXPIRED", "late"},
		{"EXPIRED, of a cancelled event", withStatus(aBooking("EXPIRED"), "CANCELLED"), confirm, "BOOKING_EXPIRED", "late"},
		{"CANCELLED", aBooking("CANCELLED"), confirm, "BOOKING_CANCELLED", "booking_cancelled"},
		{"CANCELLED with its event", withStatus(aBooking("CANCELLED"), "CANCELLED"), confirm, "BOOKING_CANCELLED", "event_cancelled"},
		{"PAYMENT_PENDING, of a cancelled event", withStatus(aBooking("PAYMENT_PENDING"), "CANCELLED"), confirm,
			"EVENT_NOT_ON_SALE", "event_cancelled"},
		{"other software released its lock", endedBy("RELEASED"), confirm, "LOCK_RELEASED", "lock_ended"},
		{"other software expired its lock", endedBy("EXPIRED"), confirm, "LOCK_EXPIRED", "lock_ended"},
		{"other software sold its lock", endedBy("CONSUMED"), confirm, "LOCK_CONSUMED", "lock_ended"},
		{"CONFIRMED with another reference", aBooking("CONFIRMED"), other, "BOOKING_CONFIRMED", "duplicate"},
		{"CONFIRMED without a reference", without, confirm, "BOOKING_CONFIRMED", "duplicate"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, before := row.store, row.store.clone()
			id := paymentIDOf("default", row.command.Charge.Reference, "")
			for range 2 { // again: the same code and payment
				r := s.one(t, row.command)
				wantRefused(t, s, r, row.code, holdfast.RefusedPayment{ID: id, Status: "REFUND_DUE", Reason: row.reason})
				wantNumber(t, s, 1)
			}
			if got := s.payments[id]; got.BookingID != bookingID(1) || got.EventID != eventID || got.UserID != alice || !got.CreatedAt.Equal(begin) {
				t.Errorf("the payment is %+v", got)
			}
			s.wantBooking(t, 1, before.bookings[bookingID(1)].Status)
			s.wantLock(t, 1, before.locks[lockID(1)].Status)
			s.wantCounter(t, before.event.AvailableSeats, 0)
		})
	}
}

func TestContract_ARefusalThatLeavesNoPayment(t *testing.T) {
	paid := func() *store {
		s := aBooking("PAYMENT_PENDING").withLock(3, 1, "ACTIVE", in(minutes(10))).withBooking(3, "PAYMENT_PENDING", in(minutes(10)))
		wantCode(t, s.one(t, charged(confirm, func(c *holdfast.Charge) { c.Amount, c.Currency = pointer(int64(500)), "EUR" })), "")
		return s
	}
	missing := aBooking("PAYMENT_PENDING")
	missing.event = nil
	ofOther := confirm
	ofOther.BookingID = bookingID(3)
	const invalid = holdfast.CodeInvalid
	for _, row := range []struct {
		name    string
		store   *store
		command inventory.Confirm
		code    holdfast.Code
		number  int
	}{
		{"INITIATED", aBooking("INITIATED"), confirm, "BOOKING_NOT_PAYABLE", 0},
		{"no such booking", newStore(5), confirm, "BOOKING_NOT_FOUND", 0},
		{"no such event", missing, confirm, "EVENT_NOT_FOUND", 0},
		{"without a reference", aBooking("EXPIRED"), inventory.Confirm{BookingID: bookingID(1)}, "BOOKING_EXPIRED", 0},
		{"the reference of another booking", paid(), ofOther, "PAYMENT_REFERENCE_USED", 1},
		{"another provider", paid(), charged(confirm, func(c *holdfast.Charge) { c.Provider = "other" }), invalid, 1},
		{"another amount", paid(), charged(confirm, func(c *holdfast.Charge) { c.Amount = pointer(int64(501)) }), invalid, 1},
		{"another currency", paid(), charged(confirm, func(c *holdfast.Charge) { c.Currency = "USD" }), invalid, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			for range 2 {
				r := row.store.one(t, row.command)
				wantCode(t, r, row.code)
				if _, named := holdfast.DetailsOf[holdfast.RefusedPayment](r.Err); named {
					t.Errorf("the problem names a payment: %v", r.Err)
				}
				wantNumber(t, row.store, row.number)
			}
		})
	}
}

func TestContract_AConfirmationLeavesItsPaymentAndIsRepeatable(t *testing.T) {
	s := aBooking("PAYMENT_PENDING")
	full := charged(confirm, func(c *holdfast.Charge) { c.Provider, c.Amount, c.Currency = "default", pointer(int64(0)), "EUR" })
	for _, again := range []inventory.Confirm{full, full, confirm, {BookingID: bookingID(1)}} {
		r := s.one(t, again)
		wantCode(t, r, "")
		if r.Booking.Status != holdfast.BookingConfirmed || r.Booking.PaymentID != paidID || r.Booking.Late {
			t.Errorf("got %+v", r.Booking)
		}
	}
	wantNumber(t, s, 1)
	want := holdfast.Payment{
		ID: paidID, Charge: full.Charge, BookingID: bookingID(1), EventID: eventID, UserID: alice, Status: "ACCEPTED",
		CreatedAt: begin, UpdatedAt: begin,
	}
	if got := *s.payments[paidID]; !reflect.DeepEqual(got, want) {
		t.Errorf("the payment is %+v, want %+v", got, want)
	}
}

// One charge pays for several bookings, by parts.
func TestContract_PartsOfACharge(t *testing.T) {
	soon := in(minutes(10))
	s := newStore(5)
	for n := range 3 {
		s.withLock(1+n, 1, "ACTIVE", soon).withBooking(1+n, "PAYMENT_PENDING", soon)
	}
	for n, row := range []struct {
		part string
		code holdfast.Code
	}{{"", ""}, {"2", ""}, {"2", "PAYMENT_REFERENCE_USED"}} {
		c := inventory.Confirm{BookingID: bookingID(1 + n), Charge: holdfast.Charge{Reference: "paid", Part: row.part}}
		wantCode(t, s.one(t, c), row.code)
	}
	wantNumber(t, s, 2)
}

// A charge that was refused stays refused, even if its booking could be paid for now. Another one is accepted.
func TestContract_ARefusedChargeStaysRefused(t *testing.T) {
	s := anExpired(2).withLock(7, 1, "ACTIVE", in(minutes(5)), ofUser(bob))
	refused := holdfast.RefusedPayment{ID: paidID, Status: "REFUND_DUE", Reason: "seats_gone"}
	wantRefused(t, s, s.one(t, late), "BOOKING_EXPIRED", refused)
	wantCode(t, s.one(t, inventory.Release{LockID: lockID(7)}), "")
	wantRefused(t, s, s.one(t, late), "PAYMENT_REFUND_DUE", refused)
	s.wantCounter(t, 2, 0)
	wantCode(t, s.one(t, inventory.Refund{PaymentID: paidID, Reference: "back"}), "")
	refused.Status = "REFUNDED"
	wantRefused(t, s, s.one(t, late), "PAYMENT_REFUND_DUE", refused)
	s.wantBooking(t, 1, "EXPIRED")
	other := charged(late, func(c *holdfast.Charge) { c.Reference = "other" })
	wantCode(t, s.one(t, other), "")
	s.wantBooking(t, 1, "CONFIRMED")
	refusedAgain := s.one(t, late) // the first answer to the charge: the booking takes no other one now
	wantRefused(t, s, refusedAgain, "BOOKING_EXPIRED", refused)
	wantNumber(t, s, 2)
}

// In time too: only other software can make such a booking payable again.
func TestContract_ARefusedChargeOfABookingThatIsPendingAgain(t *testing.T) {
	soon := in(minutes(10))
	s := newStore(5).withLock(1, 2, "RELEASED", soon).withBooking(1, "PAYMENT_PENDING", soon)
	refused := holdfast.RefusedPayment{ID: paidID, Status: "REFUND_DUE", Reason: "lock_ended"}
	wantRefused(t, s, s.one(t, confirm), "LOCK_RELEASED", refused)
	s.withLock(1, 2, "ACTIVE", soon)
	wantRefused(t, s, s.one(t, confirm), "PAYMENT_REFUND_DUE", refused)
	s.wantBooking(t, 1, "PAYMENT_PENDING")
	s.wantLock(t, 1, "ACTIVE")
}

func TestContract_CancellingASaleReturnsItsPayment(t *testing.T) {
	s := anExpired(5)
	wantCode(t, s.one(t, late), "")
	for range 2 { // again: the same answer. It names the lock that the booking had before
		wantCode(t, s.one(t, cancel), "")
		s.wantBooking(t, 1, "CANCELLED")
		s.wantLock(t, 2, "RELEASED")
		s.wantCounter(t, 5, 0)
		if p := s.payments[paidID]; p.Status != "REFUND_DUE" || p.Reason != "booking_cancelled" || p.Revision != 1 {
			t.Errorf("the payment is %+v", p)
		}
	}
	want := holdfast.RefusedPayment{ID: paidID, Status: "REFUND_DUE", Reason: "booking_cancelled"}
	wantRefused(t, s, s.one(t, late), "BOOKING_CANCELLED", want)
	wantNumber(t, s, 1)
}

func TestContract_ActionsOnAPayment(t *testing.T) {
	refund := inventory.Refund{PaymentID: paidID, Reference: "back"}
	for _, row := range []struct {
		status  holdfast.PaymentStatus
		command inventory.Refund
		code    holdfast.Code
		after   holdfast.PaymentStatus
	}{
		{"ACCEPTED", refund, "PAYMENT_ACCEPTED", "ACCEPTED"},
		{"REFUND_DUE", refund, "", "REFUNDED"},
		{"REFUNDED", refund, "", "REFUNDED"},
		{"REFUNDED", inventory.Refund{PaymentID: paidID, Reference: "again"}, "PAYMENT_REFUNDED", "REFUNDED"},
		{"REFUND_DUE", inventory.Refund{PaymentID: lockID(1), Reference: "back"}, "PAYMENT_NOT_FOUND", "REFUND_DUE"},
	} {
		t.Run(fmt.Sprint(row.status, " ", row.command.Reference, " ", row.code), func(t *testing.T) {
			s := aBooking("PAYMENT_PENDING")
			wantCode(t, s.one(t, confirm), "")
			if row.status != "ACCEPTED" {
				wantCode(t, s.one(t, cancel), "")
			}
			if row.status == "REFUNDED" {
				wantCode(t, s.one(t, refund), "")
			}
			for range 2 {
				r := s.one(t, row.command)
				wantCode(t, r, row.code)
				if row.code == "" && !reflect.DeepEqual(r.Payment, s.payments[paidID]) {
					t.Errorf("answered %+v, stored %+v", r.Payment, s.payments[paidID])
				}
				if p := s.payments[paidID]; p.Status != row.after || (p.RefundReference == "back") != (row.after == "REFUNDED") {
					t.Errorf("the payment is %+v", p)
				}
			}
		})
	}
}
