package chaos_test

import (
	"context"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
)

// The checkers of what happens after a sale. Which seats and which payments a booking may have is a question to the event's model;
// see event_model_after_sale_test.go.

// saleKeys are the keys of sales at once.
func (c *clients) saleKeys() map[string]bool {
	keys := map[string]bool{}
	for _, inv := range c.history {
		if inv.op == opSell {
			keys[inv.key] = true
		}
	}
	return keys
}

// transfersOf counts the transfers of each booking that were told.
func transfersOf(told map[holdfast.ID][]toldItem) map[holdfast.ID]int {
	n := map[holdfast.ID]int{}
	for id, items := range told {
		for _, item := range items {
			if item.Type == "booking.transferred" {
				n[id]++
			}
		}
	}
	return n
}

// isByParts reports whether a payment was given back part by part.
func (p finalPayment) isByParts() bool {
	returned := int64(0)
	for _, r := range p.Refunds {
		if r.Status == holdfast.RefundDone {
			returned += r.Amount
		}
	}
	return p.Amount != nil && returned == *p.Amount
}

// checkAfterSale: bookings agree with their locks and with their changes, each lock that a transfer has made has its change,
// and parts of payments are as they were acknowledged.
func (c *clients) checkAfterSale(told map[holdfast.ID][]toldItem, final finalState) {
	made := map[holdfast.ID]int{} // locks without a key, by booking
	for _, l := range final.locks {
		if l.isNext() {
			made[l.BookingID]++
		}
		for _, b := range final.bookings[l.ID] {
			c.checkPrevious(b, told[b.ID])
			isLive := b.Status == "CONFIRMED" || l.Status == "ACTIVE" && b.Status != "EXPIRED" && b.Status != "CANCELLED"
			lock := bookingBefore{customerOf{l.UserID, b.Customer.Holder}, seatsHad{l.Seats, l.SeatIDs, l.Section}}
			if has := (bookingBefore{b.Customer, b.Seats}); isLive && !has.equals(lock) {
				c.violation("after sale", "booking %s has %+v, but its lock %s %+v", b.ID, has, l.ID, lock)
			}
		}
	}
	for _, l := range final.locks {
		for _, b := range final.bookings[l.ID] {
			want := c.transfers[b.ID]
			if b.Late {
				want++
			}
			if made[b.ID] != want {
				c.violation("after sale", "booking %s, late %t, was transferred %d times, but has had %d further locks",
					b.ID, b.Late, c.transfers[b.ID], made[b.ID])
			}
		}
	}
	c.checkParts(final)
	c.checkOnce()
}

// checkPrevious: what a change of a booking has replaced is what the change before it has left, and the last change has left
// what the booking has.
func (c *clients) checkPrevious(b finalBooking, items []toldItem) {
	sortTold(items)
	for i, item := range items {
		if i == 0 {
			if item.Previous != nil {
				c.violation("after sale", "booking %s began with a change of %+v", b.ID, item.Previous)
			}
			continue
		}
		before, isChange := items[i-1].Booking.before(), !items[i-1].Booking.before().equals(item.Booking.before())
		isNamed := item.Type == "booking.transferred" || item.Type == "booking.changed" && item.Previous != nil
		switch {
		case item.Previous != nil && !item.Previous.equals(before),
			isChange && item.Previous == nil, item.Previous != nil && !isNamed,
			(item.Type == "booking.transferred") != (item.Booking.Customer != before.Customer),
			(item.Type == "booking.transferred") != (item.Booking.LockID != items[i-1].Booking.LockID) && !b.Late:
			c.violation("after sale", "booking %s: %s has replaced %+v, but before was %+v, and then %+v",
				b.ID, item.Type, item.Previous, *items[i-1].Booking, *item.Booking)
		}
	}
	if n := len(items); n == 0 || !items[n-1].Booking.before().equals(bookingBefore{b.Customer, b.Seats}) {
		c.violation("after sale", "booking %s has %+v %+v, but told was %+v", b.ID, b.Customer, b.Seats, items)
	}
}

// checkParts: each part of a payment that was acknowledged is there once, one that was refused is not, and all parts of a
// payment together are not more than it has.
func (c *clients) checkParts(final finalState) {
	type key struct{ payment, key string }
	found, byID, payments := map[key][]holdfast.Refund{}, map[string]holdfast.Refund{}, map[string]finalPayment{}
	for _, p := range final.payments {
		payments[p.ID.String()] = p
		if sum := p.sumOfParts(); sum > 0 && (p.Amount == nil || sum > *p.Amount) {
			c.violation("parts", "payment %s has parts of %d: %+v", p.ID, sum, p)
		}
		for _, r := range p.Refunds {
			byID[r.ID.String()] = r
			if r.Key != "" {
				k := key{p.ID.String(), r.Key}
				found[k] = append(found[k], r)
			}
		}
	}
	asked := map[key]bool{}
	for _, inv := range c.history {
		switch k := (key{inv.target, inv.key}); inv.op {
		case opPart:
			asked[k] = true
			parts := found[k]
			isMade := len(parts) == 1 && parts[0].Amount == inv.part && parts[0].Reason == holdfast.RefundOther
			if inv.code == "" && !isMade || inv.code != "" && len(parts) > 0 {
				c.violation("parts", "a part of %d of payment %s was answered with %q, but there is %+v", inv.part, inv.target, inv.code, parts)
			}
		case opPartDone:
			part, p := byID[inv.key], payments[inv.target]
			isOwn := part.Reference == partReferenceOf(inv.key)
			isWhole := p.Status == "REFUNDED" && part.Reference == p.RefundReference
			if part.Status != holdfast.RefundDone || inv.code == "" && !isOwn || inv.code != "" && (inv.code != "PAYMENT_REFUNDED" || !isWhole) {
				c.violation("parts", "the refund of part %s of payment %s was answered with %q, but it is %+v", inv.key, inv.target, inv.code, part)
			}
		}
	}
	for k, parts := range found {
		if !asked[k] {
			c.violation("parts", "no client asked for the parts %+v of payment %s", parts, k.payment)
		}
	}
}

// checkOnce: of the requests with one idempotency key, one at most says that it had the effect itself.
func (c *clients) checkOnce() {
	made := map[string]int{}
	for _, inv := range c.history {
		if (inv.isOnce() || inv.op == opSell) && inv.code == "" && !inv.replayed {
			if made[inv.key]++; made[inv.key] > 1 {
				c.violation("idempotency", "%s of %s was carried out twice with the key %s", inv.op, inv.target, inv.key)
			}
		}
	}
}

// checkMoney: the list of an event's payments agrees with the documents, and what was accepted is what is kept, due or refunded.
func (c *clients) checkMoney(api *client.Client, e *eventOnSale, final finalState) {
	answered := map[string]client.Payment{}
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	for p, err := range api.ListPayments(ctx, client.PaymentFilter{EventID: &e.id}) {
		if err != nil {
			c.violation("money", "the payments of event %s: %v", e.id, err)
			return
		}
		answered[p.ID] = p
	}
	kept := map[holdfast.ID]bool{}
	for _, bookings := range final.bookings {
		for _, b := range bookings {
			for _, p := range b.Internal.Payments {
				kept[p.ID] = b.Status == "CONFIRMED" && p.Status == holdfast.PaymentAccepted
			}
		}
	}
	for _, p := range final.payments {
		if p.EventID.String() == e.id {
			c.checkShare(p, answered[p.ID.String()], kept[p.ID])
		}
	}
}

// checkShare: what a shop took with a payment is what it keeps, what it has to give back, and what it gave back. isKept says that
// the booking has it.
func (c *clients) checkShare(p finalPayment, is client.Payment, isKept bool) {
	if is.Status != p.Status || len(is.Refunds) != len(p.Refunds) || (is.AmountDue == nil) != (p.Amount == nil) {
		c.violation("money", "payment %s is answered as %+v, but is %+v", p.ID, is, p)
		return
	}
	if p.Amount == nil {
		return
	}
	refunded, keeps := int64(0), int64(0)
	for _, r := range p.Refunds {
		if r.Status == holdfast.RefundDone {
			refunded += r.Amount
		}
	}
	if p.Status == "REFUNDED" {
		refunded = *p.Amount
	}
	if isKept {
		keeps = *p.Amount - p.sumOfParts()
	}
	if *p.Amount != keeps+*is.AmountDue+refunded {
		c.violation("money", "of payment %s of %d, %d are kept, %d due and %d refunded: %+v", p.ID, *p.Amount, keeps, *is.AmountDue, refunded, p)
	}
}
