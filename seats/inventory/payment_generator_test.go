package inventory_test

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// The payments of the generators.

const accepts = holdfast.LatePaymentsAccepted

// latePayments draws what the event does with late payments.
func (g *generator) latePayments() {
	g.store.event.LatePayments = holdfast.LatePayments{
		Policy:  draw(g, "latePayments", accepts, accepts, accepts, holdfast.LatePaymentsRefused, ""),
		Seconds: g.lateSeconds(),
	}
}

func (g *generator) lateSeconds() int64 {
	return draw(g, "latePaymentSeconds", int64(86_400), 86_400, 1200, 600, 60, 0)
}

func (g *generator) lateSetting() inventory.ChangeEvent {
	if draw(g, "seconds", true, false) {
		return inventory.ChangeEvent{EventChange: holdfast.EventChange{LateSeconds: pointer(g.lateSeconds())}}
	}
	policy := draw(g, "policy", accepts, accepts, holdfast.LatePaymentsRefused)
	return inventory.ChangeEvent{EventChange: holdfast.EventChange{LatePayments: &policy}}
}

// paid draws what a booking was paid with: or nothing: at times other software confirmed it. At times the lock of an
// EXPIRED booking was purged.
func (g *generator) paid(b *holdfast.Booking) {
	lock := g.store.locks[b.LockID]
	if lock != nil && lock.Status == holdfast.LockExpired && draw(g, "purged", false, false, true) {
		delete(g.store.locks, b.LockID)
	}
	by := draw(g, "confirmed by", "Holdfast", "Holdfast", "other software", "a call without a reference")
	if b.Status != holdfast.BookingConfirmed && !g.corrupted || by == "a call without a reference" {
		return
	}
	c := g.charge(b.ID)
	if c.IsZero() {
		return
	}
	b.PaymentReference = c.Reference
	if by == "other software" || g.store.charged(keyOf(c)) != nil {
		return
	}
	if c.Provider == "" {
		c.Provider = holdfast.DefaultProvider
	}
	g.store.pay(b, g.withParts(holdfast.Payment{Charge: c, Status: holdfast.PaymentAccepted}))
	if b.Status == holdfast.BookingConfirmed {
		g.paidMore(b)
	}
	if g.corrupted && draw(g, "payment is lost", false, false, true) {
		delete(g.store.payments, b.Payments[0].ID)
	}
}

// paidMore draws further payments of a CONFIRMED booking: an additional one, and one that was refused.
func (g *generator) paidMore(b *holdfast.Booking) {
	if draw(g, "additional payment", false, false, true) {
		c := holdfast.Charge{Provider: holdfast.DefaultProvider, Reference: "more-" + b.ID.String(), Amount: g.amount()}
		g.store.pay(b, g.withParts(holdfast.Payment{Charge: c, Status: holdfast.PaymentAccepted}))
	}
	if draw(g, "refused payment", false, false, false, true) {
		c := holdfast.Charge{Provider: holdfast.DefaultProvider, Reference: "refused-" + b.ID.String(), Amount: g.amount()}
		p := g.withParts(holdfast.Payment{
			Charge: c, Status: holdfast.PaymentRefundDue, Reason: holdfast.ReasonDuplicate, Code: holdfast.CodeBookingConfirmed,
		})
		if isGivenBack(&p) { // then it would be REFUNDED
			p.Refunds = nil
		}
		g.store.pay(b, p)
	}
}

// pay puts a payment of a booking into the store.
func (s *store) pay(b *holdfast.Booking, p holdfast.Payment) {
	p.ID = paymentIDOf(p.Provider, p.Reference, p.Part)
	p.BookingID, p.EventID, p.UserID, p.Holder = b.ID, b.EventID, b.UserID, b.Holder
	b.Payments = append(b.Payments, holdfast.ListedPayment{ID: p.ID, Status: p.Status, Amount: p.Amount})
	s.payments[p.ID] = &p
}

func (g *generator) amount() *int64 {
	return draw(g, "amount", nil, new(int64(0)), new(int64(3)), new(int64(5)), new(int64(5)))
}

// withParts draws parts of a payment that were or have to be refunded: at times all of it.
func (g *generator) withParts(p holdfast.Payment) holdfast.Payment {
	for p.Amount != nil && draw(g, "part", false, false, true) {
		left, _ := p.Left()
		if left < 1 {
			break
		}
		part := holdfast.Refund{ID: partID(g.next()), Amount: min(left, draw(g, "part amount", int64(1), 2, 5)), Reason: "other", Status: "DUE"}
		if draw(g, "refunded", false, true) {
			part.Status, part.Reference = "REFUNDED", "f1"
		}
		p.Refunds = append(p.Refunds, part)
	}
	return p
}

// charge draws what a shop says, which has few values: at times they are those of another booking.
func (g *generator) charge(of ID) holdfast.Charge {
	c := holdfast.Charge{Reference: draw(g, "reference", "r1", "r1", "r2", "r2", "r3", "")}
	if c.Reference == "" {
		return c
	}
	c.Part = draw(g, "part", "", "", "", "p1", of.String())
	c.Provider = draw(g, "provider", "", "", "", "default", "other")
	c.Amount = draw(g, "amount", nil, nil, new(int64(0)), new(int64(5)), new(int64(5)))
	c.Currency = draw(g, "currency", "", "", "", "EUR", "USD")
	return c
}

// confirm draws a confirmation; at times one that was asked for before.
func (g *generator) confirm() inventory.Confirm {
	if known := g.knownPayments(); len(known) > 0 && draw(g, "again", false, true) {
		p := g.store.payments[draw(g, "payment", known...)]
		return inventory.Confirm{BookingID: p.BookingID, Charge: p.Charge}
	}
	id := g.bookingID()
	return inventory.Confirm{BookingID: id, Charge: g.charge(id)}
}

// late draws a confirmation in the queue of the event. It was late when it was asked for.
func (g *generator) late() inventory.Confirm {
	c := g.confirm()
	if c.Charge.IsZero() { // such a confirmation is never late
		c.Charge.Reference = "r1"
	}
	c.LockID, c.EventID = lockID(g.next()), eventID
	return c
}

func (g *generator) refund() inventory.Refund {
	c := inventory.Refund{Reference: draw(g, "refund", "f1", "f1", "f2")}
	if known := g.knownPayments(); len(known) > 0 {
		c.PaymentID = draw(g, "payment", known...)
	}
	return c
}

func (g *generator) knownPayments() (ids []ID) {
	for id := range g.store.payments {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b ID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

// refundPart draws a part of a payment, and refundedPart a part that the shop has refunded.
func (g *generator) refundPart() inventory.RefundPart {
	c := inventory.RefundPart{
		PartID: partID(g.next()), Amount: draw(g, "part amount", int64(1), 1, 2, 5, 6), Key: draw(g, "part key", "", "", "k1", "k2"),
	}
	if known := g.knownPayments(); len(known) > 0 {
		c.PaymentID = draw(g, "payment", known...)
	}
	return c
}

func (g *generator) refundedPart() inventory.RefundedPart {
	c := inventory.RefundedPart{PartID: partID(999), Reference: draw(g, "refund", "f1", "f1", "f2")}
	known := g.knownPayments()
	if len(known) == 0 {
		return c
	}
	withParts := slices.DeleteFunc(slices.Clone(known), func(id ID) bool { return len(g.store.payments[id].Refunds) == 0 })
	if len(withParts) > 0 {
		known = withParts
	}
	c.PaymentID = draw(g, "payment", known...)
	for _, part := range g.store.payments[c.PaymentID].Refunds {
		if c.PartID == partID(999) || draw(g, "this part", false, true) {
			c.PartID = part.ID
		}
	}
	return c
}

// The changes of bookings after their sale, and the sales at once, of the generators.

// saleID draws a booking: mostly one that is CONFIRMED, or else open, if there is one.
func (g *generator) saleID() ID {
	var sold, open []ID
	for id, b := range g.store.bookings {
		switch {
		case b.Status == holdfast.BookingConfirmed:
			sold = append(sold, id)
		case b.Status.IsOpen():
			open = append(open, id)
		}
	}
	byID := func(a, b ID) int { return bytes.Compare(a[:], b[:]) }
	slices.SortFunc(sold, byID)
	slices.SortFunc(open, byID)
	kind := draw(g, "of a booking that is", "sold", "sold", "sold", "open", "any")
	switch {
	case kind == "sold" && len(sold) > 0:
		return draw(g, "sold", sold...)
	case kind != "any" && len(open) > 0:
		return draw(g, "open", open...)
	default:
		return g.bookingID()
	}
}

// ofBooking draws the booking that a command changes, and the request for it. Its key has few values.
func (g *generator) ofBooking(hash string) inventory.OfBooking {
	c := inventory.OfBooking{BookingID: g.saleID(), LockID: lockID(999), EventID: eventID}
	c.Abandoned = g.number("abandoned", 1, 12) == 12
	if b := g.store.bookings[c.BookingID]; b != nil {
		c.LockID = b.LockID
	}
	c.Request = holdfast.DoneRequest{ID: commandID(g.next()), KeyHash: draw(g, "key", "", "", "k1", "k2"), Hash: hash}
	return c
}

func (g *generator) changeBooking(w holdfast.Wish, seats int64) inventory.ChangeBooking {
	c := inventory.ChangeBooking{RefundID: partID(g.next())}
	c.Seats, c.Wish = seats, w
	switch draw(g, "money", "none", "none", "payment", "payment", "refund", "refund", "both") {
	case "payment":
		c.Payment = g.additional()
	case "refund":
		c.Refund = g.partRequest()
	case "both":
		c.Payment, c.Refund = g.additional(), g.partRequest()
	}
	c.OfBooking = g.ofBooking(c.Hash())
	return c
}

// additional draws the charge of an additional payment: mostly a new one.
func (g *generator) additional() holdfast.Charge {
	if known := g.knownPayments(); len(known) > 0 && draw(g, "known charge", false, false, true) {
		return g.store.payments[draw(g, "payment", known...)].Charge
	}
	return holdfast.Charge{Reference: fmt.Sprint("a", g.number("additional", 1, 9)), Amount: g.amount()}
}

func (g *generator) partRequest() *holdfast.PartRequest {
	r := &holdfast.PartRequest{Amount: draw(g, "part amount", int64(1), 1, 2, 5, 6)}
	if known := g.knownPayments(); len(known) > 0 && draw(g, "of a payment", false, true) {
		r.PaymentID = draw(g, "payment", known...)
	}
	return r
}

func (g *generator) transfer() inventory.Transfer {
	who := g.customer()
	request := holdfast.BookingTransfer{UserID: who.id, Holder: who.holder}
	return inventory.Transfer{
		OfBooking: g.ofBooking(request.Hash()), Customer: inventory.Customer{UserID: who.id, Holder: who.holder}, NewLockID: lockID(g.next()),
	}
}

func (g *generator) sell(request inventory.Acquire) inventory.Sell {
	c := inventory.Sell{Acquire: request, BookingID: bookingID(g.next())}
	c.Until = holdfast.Until{}
	switch draw(g, "charge", "none", "new", "new", "any") {
	case "new":
		c.Charge = g.additional()
	case "any":
		c.Charge = g.charge(c.BookingID)
	}
	if c.Key != "" {
		c.RequestHash = holdfast.SaleRequest{LockRequest: c.LockRequest, Charge: c.Charge}.Hash()
	}
	return c
}
