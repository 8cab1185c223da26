package inventory_test

import (
	"bytes"
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
	b.PaymentID = paymentIDOf(c.Provider, c.Reference, c.Part)
	if g.corrupted && draw(g, "payment is lost", false, false, true) {
		return
	}
	g.store.payments[b.PaymentID] = &holdfast.Payment{
		ID: b.PaymentID, Charge: c, BookingID: b.ID, EventID: b.EventID, UserID: b.UserID, Holder: b.Holder, Status: holdfast.PaymentAccepted,
	}
}

// charge draws what a shop says, which has few values: at times they are those of another booking.
func (g *generator) charge(of ID) holdfast.Charge {
	c := holdfast.Charge{Reference: draw(g, "reference", "r1", "r1", "r2", "r2", "r3", "")}
	if c.Reference == "" {
		return c
	}
	c.Part = draw(g, "part", "", "", "", "p1", of.String())
	c.Provider = draw(g, "provider", "", "", "", "default", "other")
	c.Amount = draw(g, "amount", nil, nil, nil, pointer(int64(0)), pointer(int64(500)))
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
