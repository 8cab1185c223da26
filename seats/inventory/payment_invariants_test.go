package inventory_test

import (
	"reflect"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// paymentMoves are the pairs that the contract lists.
var paymentMoves = map[holdfast.PaymentStatus]map[holdfast.PaymentStatus]bool{
	"ACCEPTED":   {"REFUND_DUE": true},
	"REFUND_DUE": {"REFUNDED": true},
}

// checkPayments: a payment is ACCEPTED if and only if its booking is CONFIRMED with it; there is one for each reference
// with its part; it moves only forward, and stays what it is. Payments of other software that break one may stay.
func (s *store) checkPayments(t rapid.TB, before *store) {
	t.Helper()
	keys := map[inventory.PaymentKey]ID{}
	for id, p := range s.payments {
		if other, twice := keys[keyOf(p.Charge)]; twice {
			t.Errorf("the payments %s and %s have one reference and part", other, id)
		}
		keys[keyOf(p.Charge)] = id
		was := before.payments[id]
		if !s.isTrue(p) && (was == nil || before.isTrue(was)) {
			t.Errorf("payment %s is %s, its booking is %+v", id, p.Status, s.bookings[p.BookingID])
		}
		switch {
		case was == nil:
			s.checkNewPayment(t, p)
		case was.Status == p.Status && !reflect.DeepEqual(was, p):
			t.Errorf("the payment %+v became %+v", was, p)
		case was.Status != p.Status && !paymentMoves[was.Status][p.Status]:
			t.Errorf("payment %s went from %s to %s", id, was.Status, p.Status)
		case was.Charge != p.Charge || was.BookingID != p.BookingID || was.EventID != p.EventID || was.UserID != p.UserID ||
			was.Holder != p.Holder:
			t.Errorf("payment %s became another one: %+v, it was %+v", id, p, was)
		}
		isDue, isRefunded := p.Status != holdfast.PaymentAccepted, p.Status == holdfast.PaymentRefunded
		if (p.Reason != "") != isDue || (p.Code != "") != isDue || (p.RefundReference != "") != isRefunded {
			t.Errorf("the payment is %+v", p)
		}
	}
	for id := range before.payments {
		if s.payments[id] == nil {
			t.Errorf("payment %s is gone", id)
		}
	}
	for id, b := range s.bookings {
		was := before.bookings[id]
		isSame := was != nil && was.PaymentID == b.PaymentID
		if !s.isRecorded(b) && (!isSame || was.Status == holdfast.BookingConfirmed && before.isRecorded(was)) {
			t.Errorf("the booking %+v is CONFIRMED with the payment %+v", b, s.payments[b.PaymentID])
		}
		isPaidNow := was == nil || was.PaymentReference != b.PaymentReference
		if isPaidNow && b.Status == holdfast.BookingConfirmed && b.PaymentID.IsZero() {
			t.Errorf("booking %s was confirmed with %q, and has no payment", id, b.PaymentReference)
		}
		if was != nil && was.LockID != b.LockID && (!b.Late || was.Late) || was != nil && was.Late && !b.Late {
			t.Errorf("booking %s went from %+v to %+v", id, was, b)
		}
	}
}

// checkNewPayment: a payment has the contract's ID, and begins ACCEPTED or REFUND_DUE. A later command of its batch may
// have refunded it.
func (s *store) checkNewPayment(t rapid.TB, p *holdfast.Payment) {
	t.Helper()
	b := s.bookings[p.BookingID]
	if p.ID != paymentIDOf(p.Provider, p.Reference, p.Part) || b == nil || p.EventID != b.EventID || p.UserID != b.UserID ||
		p.Holder != b.Holder {
		t.Errorf("the payment %+v was made for the booking %+v", p, b)
	}
	if p.Status == holdfast.PaymentRefunded {
		t.Errorf("the payment %+v was made", p)
	}
}

// isTrue reports whether a payment says what became of its booking.
func (s *store) isTrue(p *holdfast.Payment) bool {
	b := s.bookings[p.BookingID]
	isPaid := b != nil && b.Status == holdfast.BookingConfirmed && b.PaymentID == p.ID
	return isPaid == (p.Status == holdfast.PaymentAccepted)
}

// isRecorded reports whether a CONFIRMED booking has its payment. Bookings without a reference, and those that other
// software has confirmed, have none.
func (s *store) isRecorded(b *holdfast.Booking) bool {
	if b.Status != holdfast.BookingConfirmed || b.PaymentID.IsZero() {
		return true
	}
	p := s.payments[b.PaymentID]
	return p != nil && p.Status == holdfast.PaymentAccepted && p.BookingID == b.ID
}

// checkRefused: if all commands of a batch are refused, it leaves nothing but the payments of refused confirmations. It
// may end due locks, and raise revisions.
func (s *store) checkRefused(t rapid.TB, before *store, results []inventory.Result) {
	t.Helper()
	for _, r := range results {
		if r.Err == nil {
			return
		}
	}
	for id, is := range s.locks {
		was := before.locks[id]
		if was == nil {
			t.Errorf("a refusal has made the lock %+v", is.Lock)
			continue
		}
		hasEnded := is.Status == holdfast.LockExpired || is.Status == holdfast.LockConsumed
		isSwept := was.Status == holdfast.LockActive && was.Due(s.now) && hasEnded
		if !isSwept && !reflect.DeepEqual(is.Lock, was.Lock) {
			t.Errorf("a refusal has changed the lock %+v to %+v", was.Lock, is.Lock)
		}
	}
	for id, b := range s.bookings {
		is, was := *b, orZero(before.bookings[id])
		is.Revision, was.Revision = 0, 0
		if !reflect.DeepEqual(is, was) {
			t.Errorf("a refusal has changed the booking %+v to %+v", was, is)
		}
	}
	for id, p := range s.payments {
		if before.payments[id] == nil && p.Status != holdfast.PaymentRefundDue {
			t.Errorf("a refusal has made the payment %+v", p)
		}
	}
}
