package inventory_test

import (
	"fmt"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// aSale is a store whose booking 1 has two seats. It is CONFIRMED, without a payment.
func aSale() *store {
	s := newStore(9).withLock(1, 2, holdfast.LockConsumed, begin).withBooking(1, holdfast.BookingConfirmed, begin)
	s.bookings[bookingID(1)].Seats = 2
	return s
}

// toSeats changes booking 1 to a number of seats. Its request has the number n.
func toSeats(n int, seats int64, change ...func(*inventory.ChangeBooking)) inventory.ChangeBooking {
	c := inventory.ChangeBooking{OfBooking: inventory.OfBooking{BookingID: bookingID(1), LockID: lockID(1), EventID: eventID}}
	c.Seats, c.RefundID = seats, partID(n)
	for _, f := range change {
		f(&c)
	}
	c.Request = holdfast.DoneRequest{ID: commandID(n), Hash: c.Hash()}
	return c
}

func withPayment(reference string) func(*inventory.ChangeBooking) {
	return func(c *inventory.ChangeBooking) {
		c.Payment = holdfast.Charge{Reference: reference, Amount: new(int64(5000))}
	}
}

func withRefund(amount int64) func(*inventory.ChangeBooking) {
	return func(c *inventory.ChangeBooking) { c.Refund = &holdfast.PartRequest{Amount: amount} }
}

func wantInvalid(t *testing.T, r reply, where string) {
	t.Helper()
	invalid, _ := holdfast.DetailsOf[holdfast.Invalid](r.Err)
	if len(invalid) != 1 || invalid[0].Where != where {
		t.Errorf("got %v at %+v, want it at %s", r.Err, invalid, where)
	}
}

// A booking keeps the key of each request for a day, so their number is bounded.
func TestChangeBooking_TheNumberOfKeysIsBounded(t *testing.T) {
	withKey := func(key string) func(*inventory.ChangeBooking) {
		return func(c *inventory.ChangeBooking) { c.Key = key }
	}
	keyed := func(n int, seats int64, key string) inventory.ChangeBooking {
		c := toSeats(n, seats, withKey(key))
		c.Request.KeyHash = holdfast.KeyHash(key)
		return c
	}
	s := aSale()
	wantCode(t, s.one(t, keyed(1, 3, "first")), "")
	b := s.bookings[bookingID(1)]
	for n := range holdfast.MaxDone - 1 {
		b.Done = append(b.Done, holdfast.DoneRequest{ID: commandID(100 + n), KeyHash: holdfast.KeyHash(fmt.Sprint(n)), Hash: "h", At: s.now})
	}
	wantInvalid(t, s.one(t, keyed(2, 4, "another")), "body.idempotencyKey")
	wantCode(t, s.one(t, toSeats(3, 5)), "")
	if again := s.one(t, keyed(4, 3, "first")); again.Err != nil || !again.Replayed || again.Booking.Seats != 5 {
		t.Errorf("the repeat of the first one is answered with %+v", again)
	}
	s.now = s.now.Add(holdfast.KeyRetention)
	wantCode(t, s.one(t, keyed(5, 4, "another")), "")
}

// The number of payments of a booking that are ACCEPTED is bounded. One that is refused beyond that number is recorded, and not listed.
func TestChangeBooking_TheNumberOfPaymentsIsBounded(t *testing.T) {
	s := aSale()
	b := s.bookings[bookingID(1)]
	for n := range holdfast.MaxListedPayments - 1 {
		s.pay(b, holdfast.Payment{
			Charge: holdfast.Charge{Provider: "default", Reference: fmt.Sprint("r", n)}, Status: holdfast.PaymentAccepted,
		})
	}
	wantCode(t, s.one(t, toSeats(1, 3, withPayment("last"))), "")
	wantInvalid(t, s.one(t, toSeats(2, 4, withPayment("beyond"))), "body.payment")
	wantCode(t, s.one(t, toSeats(3, 4)), "")
	refused := inventory.Confirm{BookingID: bookingID(1), Charge: holdfast.Charge{Reference: "refused"}}
	for range 2 {
		wantCode(t, s.one(t, refused), holdfast.CodeBookingConfirmed)
	}
	if p := s.payments[refused.Charge.PaymentID()]; p == nil || p.Status != holdfast.PaymentRefundDue {
		t.Errorf("the refused payment is %+v", p)
	}
	if b := s.bookings[bookingID(1)]; len(b.Payments) != holdfast.MaxListedPayments || len(b.Accepted()) != holdfast.MaxListedPayments {
		t.Errorf("the booking lists %d payments", len(b.Payments))
	}
	wantCode(t, s.one(t, inventory.Confirm{BookingID: bookingID(1), Charge: holdfast.Charge{Reference: "last"}}), "")
	wantCode(t, s.one(t, cancel), "")
	if due := len(s.bookings[bookingID(1)].Accepted()); due != 0 {
		t.Errorf("%d payments are still ACCEPTED", due)
	}
}

// A payment has at most 1000 parts.
func TestRefundPart_TheNumberOfPartsIsBounded(t *testing.T) {
	s := aSale()
	p := holdfast.Payment{
		Charge: holdfast.Charge{Provider: "default", Reference: "paid", Amount: new(int64(5000))}, Status: holdfast.PaymentAccepted,
	}
	for n := range holdfast.MaxRefunds - 1 {
		p.Refunds = append(p.Refunds, holdfast.Refund{ID: partID(n), Amount: 1, Reason: holdfast.RefundOther, Status: holdfast.RefundDue})
	}
	s.pay(s.bookings[bookingID(1)], p)
	part := inventory.RefundPart{PaymentID: paidID, PartID: partID(2000), Amount: 1}
	wantCode(t, s.one(t, part), "")
	part.PartID = partID(2001)
	wantInvalid(t, s.one(t, part), "body.amount")
	wantInvalid(t, s.one(t, toSeats(1, 1, withRefund(1))), "body.refund.amount")
	if got := len(s.payments[paidID].Refunds); got != holdfast.MaxRefunds {
		t.Errorf("there are %d parts", got)
	}
}

// A command without a key is found by its ID until twenty later changes.
func TestChangeBooking_IsSettledAfterManyChanges(t *testing.T) {
	s := aSale()
	s.pay(s.bookings[bookingID(1)], holdfast.Payment{
		Charge: holdfast.Charge{Provider: "default", Reference: "paid", Amount: new(int64(5000))}, Status: holdfast.PaymentAccepted,
	})
	first := toSeats(1, 1, withRefund(100))
	wantCode(t, s.one(t, first), "")
	for n := range 19 {
		wantCode(t, s.one(t, toSeats(2+n, int64(2+n%3))), "")
		before := s.clone()
		p := &pipeline{store: s, rules: theRules, hold: true, settling: true}
		wantCode(t, p.batch(t, first)[0], "")
		if diff := s.differs(before); diff != "" {
			t.Fatalf("after %d changes, the first one decided again changes the %s", n+1, diff)
		}
	}
}

// A key that a unique index refuses, although no lock that counts has it, is refused; so is the repeat of a sale whose booking was
// removed.
func TestSell_ThatCannotBeCarriedOut(t *testing.T) {
	sale := inventory.Sell{Acquire: keyed(1, 2, "k"), BookingID: bookingID(1)}
	sale.RequestHash = holdfast.SaleRequest{LockRequest: sale.LockRequest}.Hash()
	s := newStore(9)
	state := s.load(inventory.Needs{Event: true, Keys: []inventory.UserKey{{User: alice, Key: "k"}}})
	state.Unusable = map[inventory.UserKey]bool{{User: alice, Key: "k"}: true}
	plan, results, needs := inventory.Decide(state, []inventory.Command{sale}, theRules)
	if !needs.None() || !plan.IsEmpty() || !holdfast.HasCode(results[0].Err, holdfast.CodeUnavailable) {
		t.Errorf("it is answered with %v, the plan is %+v and the needs %+v", results[0].Err, plan, needs)
	}
	wantCode(t, s.one(t, sale), "")
	delete(s.bookings, bookingID(1))
	again := sale
	again.LockID, again.BookingID = lockID(2), bookingID(2)
	wantCode(t, s.one(t, again), holdfast.CodeBookingNotFound)
}

// Between the decision and the write another process does something. The command is decided again.
func TestAfterTheSale_GuardsWhatWasDecidedOn(t *testing.T) {
	paid := holdfast.Payment{
		Charge: holdfast.Charge{Provider: "default", Reference: "paid", Amount: new(int64(500))}, Status: holdfast.PaymentAccepted,
	}
	newSale := func() *store {
		s := aSale()
		s.pay(s.bookings[bookingID(1)], paid)
		return s
	}
	part := inventory.RefundPart{PaymentID: paidID, PartID: partID(9), Amount: 300}
	transfer := inventory.Transfer{
		OfBooking: toSeats(1, 1).OfBooking, Customer: inventory.Customer{UserID: bob}, NewLockID: lockID(5),
	}
	sale := inventory.Sell{Acquire: acquire(6, 7), BookingID: bookingID(6), Charge: holdfast.Charge{Reference: "other"}}
	for _, row := range []struct {
		name        string
		command     inventory.Command
		meanwhile   inventory.Command
		code        holdfast.Code
		seats, left int64 // of booking 1, and of its payment, afterwards
	}{
		{"a change, and the booking is cancelled", toSeats(1, 1), cancel, "BOOKING_CANCELLED", 2, 500},
		{"a change, and the booking is changed", toSeats(1, 1), toSeats(2, 4), "", 1, 500},
		{"a change, and the booking is transferred", toSeats(2, 1), transfer, "", 1, 500},
		{"a change for the last seats, and they are sold", toSeats(1, 9), sale, "SEATS_UNAVAILABLE", 2, 500},
		{"a change with a payment, and a sale has it", toSeats(1, 1, withPayment("other")), sale, "PAYMENT_REFERENCE_USED", 2, 500},
		{"a change with a refund, and not so much is left", toSeats(1, 1, withRefund(201)), part, "VALIDATION_FAILED", 2, 200},
		{"a part, and not so much is left", part, toSeats(1, 1, withRefund(201)), "VALIDATION_FAILED", 1, 299},
		{"a transfer, and the booking is cancelled", transfer, cancel, "BOOKING_CANCELLED", 2, 500},
		{"a transfer, and the booking is changed", transfer, toSeats(2, 4), "", 4, 500},
		{"a cancellation, and the booking is transferred", cancel, transfer, "", 2, 500},
		{"a cancellation, and a payment comes", cancel, toSeats(2, 4, withPayment("other")), "", 4, 500},
		{"a sale, and a change takes the seats", sale, toSeats(2, 3), "SEATS_UNAVAILABLE", 3, 500},
		{"a sale, and a change has its payment", sale, toSeats(2, 1, withPayment("other")), "PAYMENT_REFERENCE_USED", 1, 500},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSale()
			p, isWritten := &pipeline{store: s, rules: theRules}, false
			p.beforeApply = func(inventory.Plan) {
				if !isWritten {
					isWritten = true
					wantCode(t, s.one(t, row.meanwhile), "")
				}
			}
			wantCode(t, p.batch(t, row.command)[0], row.code)
			if b := s.bookings[bookingID(1)]; b.Seats != row.seats {
				t.Errorf("the booking is %+v, want %d seats", b, row.seats)
			}
			if left, _ := s.payments[paidID].Left(); left != row.left {
				t.Errorf("%d are left of the payment, want %d", left, row.left)
			}
		})
	}
}

// The payment window of an open booking, or its lock, passes between the decision and the write: it does not change any more.
func TestAfterTheSale_GuardsTheTimeOfAnOpenBooking(t *testing.T) {
	for name, row := range map[string]struct{ lock, window int }{"the window": {30, 5}, "the lock": {5, 30}} {
		t.Run(name, func(t *testing.T) {
			s := newStore(9).withLock(1, 2, holdfast.LockActive, in(minutes(row.lock)))
			s.withBooking(1, holdfast.BookingPending, in(minutes(row.window)))
			p := &pipeline{store: s, rules: theRules}
			p.beforeApply = func(inventory.Plan) { s.now = in(minutes(5)) }
			wantCode(t, p.batch(t, toSeats(1, 1))[0], holdfast.CodeBookingExpired)
			if lock := s.locks[lockID(1)]; lock.Seats != 2 {
				t.Errorf("the lock is %+v", lock)
			}
		})
	}
}
