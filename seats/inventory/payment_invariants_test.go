package inventory_test

import (
	"reflect"
	"slices"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// paymentMoves are the pairs that the contract lists. A payment of which nothing is left to give back skips REFUND_DUE.
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
		if was == nil {
			s.checkNewPayment(t, before, p)
			was = &holdfast.Payment{Status: p.Status}
		} else {
			checkSamePayment(t, was, p)
		}
		checkRefunds(t, was, p)
	}
	for id := range before.payments {
		if s.payments[id] == nil {
			t.Errorf("payment %s is gone", id)
		}
	}
	for id, b := range s.bookings {
		was := before.bookings[id]
		if !s.isListed(b) && (was == nil || before.isListed(was)) {
			t.Errorf("the booking %+v does not list its payments", b)
		}
		isPaidNow := was == nil || was.PaymentReference != b.PaymentReference
		if isPaidNow && b.PaymentReference != "" && b.Status == holdfast.BookingConfirmed && len(b.Accepted()) == 0 {
			t.Errorf("booking %s was confirmed with %q, and has no payment", id, b.PaymentReference)
		}
	}
}

// checkSamePayment: a payment keeps its charge and its booking. It changes its status as the contract says, and parts.
func checkSamePayment(t rapid.TB, was, p *holdfast.Payment) {
	t.Helper()
	isSkipped := was.Status == holdfast.PaymentAccepted && p.Status == holdfast.PaymentRefunded && isGivenBack(p)
	if was.Status != p.Status && !paymentMoves[was.Status][p.Status] && !isSkipped {
		t.Errorf("payment %s went from %s to %s: %+v", p.ID, was.Status, p.Status, p)
	}
	kept := *p
	kept.Revision, kept.UpdatedAt, kept.Refunds = was.Revision, was.UpdatedAt, was.Refunds
	if was.Status != p.Status {
		kept.Status, kept.Reason, kept.Code, kept.RefundReference = was.Status, was.Reason, was.Code, was.RefundReference
	}
	if !reflect.DeepEqual(kept, *was) {
		t.Errorf("the payment %+v became %+v", was, p)
	}
	if (p.Revision == was.Revision) != reflect.DeepEqual(was, p) || p.Revision < was.Revision {
		t.Errorf("the payment %+v of revision %d became %+v of revision %d", was, was.Revision, p, p.Revision)
	}
}

// checkRefunds: parts of a payment are only added, move from DUE to REFUNDED, and are together never more than it.
func checkRefunds(t rapid.TB, was, p *holdfast.Payment) {
	t.Helper()
	isDue, isRefunded := p.Status != holdfast.PaymentAccepted, p.Status == holdfast.PaymentRefunded
	if (p.Reason != "") != isDue || (p.Code != "") != isDue || p.RefundReference != "" && !isRefunded ||
		isRefunded && p.RefundReference == "" && !isGivenBack(p) {
		t.Errorf("the payment is %+v", p)
	}
	if len(p.Refunds) < len(was.Refunds) {
		t.Errorf("parts of %+v are gone: %+v", was, p)
		return
	}
	sum, ids := int64(0), map[ID]bool{}
	for i, part := range p.Refunds {
		sum += part.Amount
		isDone := part.Status == holdfast.RefundDone
		if part.Amount < 1 || isDone != (part.Reference != "") || !isDone && (part.Status != holdfast.RefundDue || isRefunded) || ids[part.ID] {
			t.Errorf("a part of %+v is %+v", p, part)
		}
		if ids[part.ID] = true; i >= len(was.Refunds) {
			continue
		}
		kept := part
		if was.Refunds[i].Status == holdfast.RefundDue {
			kept.Status, kept.Reference = holdfast.RefundDue, ""
		}
		if kept != was.Refunds[i] {
			t.Errorf("the part %+v became %+v", was.Refunds[i], part)
		}
	}
	if sum > 0 && (p.Amount == nil || sum > *p.Amount) {
		t.Errorf("parts of %d are refunded of the payment %+v", sum, p)
	}
}

// isGivenBack reports whether parts that were refunded are all of a payment.
func isGivenBack(p *holdfast.Payment) bool {
	sum := int64(0)
	for _, part := range p.Refunds {
		if part.Status == holdfast.RefundDone {
			sum += part.Amount
		}
	}
	return p.Amount != nil && sum == *p.Amount
}

// checkNewPayment: a payment has the contract's ID, and begins ACCEPTED or REFUND_DUE. A later command of its batch may
// have refunded it, or have transferred the booking.
func (s *store) checkNewPayment(t rapid.TB, before *store, p *holdfast.Payment) {
	t.Helper()
	b, isPayer := s.bookings[p.BookingID], false
	for _, b := range []*holdfast.Booking{b, before.bookings[p.BookingID]} {
		isPayer = isPayer || b != nil && p.UserID == b.UserID && p.Holder == b.Holder
	}
	if p.ID != paymentIDOf(p.Provider, p.Reference, p.Part) || b == nil || p.EventID != b.EventID || !isPayer {
		t.Errorf("the payment %+v was made for the booking %+v", p, b)
	}
	if p.Status == holdfast.PaymentRefunded && !isGivenBack(p) {
		t.Errorf("the payment %+v was made", p)
	}
}

// isTrue reports whether a payment says what became of its booking.
func (s *store) isTrue(p *holdfast.Payment) bool {
	b := s.bookings[p.BookingID]
	isPaid := b != nil && b.Status == holdfast.BookingConfirmed && slices.Contains(b.Accepted(), p.ID)
	return isPaid == (p.Status == holdfast.PaymentAccepted)
}

// isListed reports whether a booking lists its payments as they are: all of them, or some of more than it can list.
func (s *store) isListed(b *holdfast.Booking) bool {
	listed := map[ID]bool{}
	for _, l := range b.Payments {
		p := s.payments[l.ID]
		if listed[l.ID] || p == nil || p.BookingID != b.ID || p.Status != l.Status || !reflect.DeepEqual(p.Amount, l.Amount) {
			return false
		}
		listed[l.ID] = true
	}
	for id, p := range s.payments {
		if p.BookingID == b.ID && !listed[id] && (len(b.Payments) < holdfast.MaxListedPayments || p.Status == holdfast.PaymentAccepted) {
			return false
		}
	}
	return true
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
		if isOffer := was == nil && !is.EntryID.IsZero(); isOffer {
			continue
		}
		if was == nil {
			t.Errorf("a refusal has made the lock %+v", is.Lock)
			continue
		}
		hasEnded := is.Status == holdfast.LockExpired || is.Status == holdfast.LockConsumed
		isSwept := was.Status == holdfast.LockActive && was.Due(s.now) && hasEnded
		isRepaired := was.Status == holdfast.LockActive && is.Status == holdfast.LockConsumed && s.sales(id) > 0
		if !isSwept && !isRepaired && !reflect.DeepEqual(is.Lock, was.Lock) {
			t.Errorf("a refusal has changed the lock %+v to %+v", was.Lock, is.Lock)
		}
	}
	for id, b := range s.bookings {
		is, was := *b, orZero(before.bookings[id])
		is.Revision, was.Revision = 0, 0
		is.Payments, was.Payments = nil, nil // see isListed
		if !reflect.DeepEqual(is, was) {
			t.Errorf("a refusal has changed the booking %+v to %+v", was, is)
		}
	}
	for id, p := range s.payments {
		was := before.payments[id]
		if was == nil && p.Status != holdfast.PaymentRefundDue || was != nil && !reflect.DeepEqual(was.Refunds, p.Refunds) {
			t.Errorf("a refusal has made the payment %+v of %+v", p, was)
		}
	}
}
