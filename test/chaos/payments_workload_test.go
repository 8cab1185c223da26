package chaos_test

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/client"
)

// What clients do with payments, and what an operator does to cancel an event.

// referenceOf is one of the references that a client has for a booking.
func referenceOf(booking string, number int) string { return fmt.Sprintf("ref-%s-%d", booking, number) }

// confirm confirms a booking with one of its references. Half of the payments that are refused for good are given back.
func (g *generator) confirm(api, event int, id string, reference int) {
	in := opInput{op: opConfirm, event: event, booking: id, reference: reference}
	out := g.invoke(api, invocation{opInput: in, target: id, send: func(ctx context.Context, api *client.Client) (opOutput, error) {
		return outputOfBooking(api.ConfirmBookingWith(ctx, id, chargeOf(referenceOf(id, reference), reference)))
	}})
	if out.code == "" {
		g.keepReference(id, referenceOf(id, reference))
	}
	if out.payment != "" && id[len(id)-1]%2 == 0 {
		g.refund(api+1, event, out.payment)
	}
}

// payLate books a lock, and confirms the booking after its window: with one reference, or with two at the same time.
// Half of the time some client asks for the same seats before.
func (g *generator) payLate(event int, l ownLock) {
	window := g.soon(200, 900)
	id := g.book(g.n, event, l, window)
	if id == "" {
		return
	}
	delay(context.Background(), time.Until(timeOf(window))+randomMillis(g.rng, 0, 2500))
	if g.rng.IntN(2) == 0 {
		same := l.request.wish
		if l.named != 0 { // The best ones may be others now.
			same = wish{named: l.named}
		}
		g.lockSeats(event, same, l.request.seats)
	}
	switch g.rng.IntN(4) {
	case 0:
		both(func() { g.confirm(g.n, event, id, 1) }, func() { g.confirm(g.n+1, event, id, 2) })
	case 1:
		g.noteLock(g.n, event, l.id)
		both(func() { g.confirm(g.n, event, id, 1) }, func() { g.noteLock(g.n+1, event, l.id) })
	default:
		g.confirm(g.n, event, id, 1)
	}
	if g.rng.IntN(3) == 0 {
		g.afterSale(event, l, id)
	}
	if g.rng.IntN(4) > 0 {
		g.changeBooking(g.n, event, id, opCancel, 0)
	}
	if g.rng.IntN(4) == 0 {
		g.confirm(g.n+1, event, id, 1+g.rng.IntN(confirmReferences))
	}
}

// refundReferenceOf is what a client calls the refund of a payment.
func refundReferenceOf(payment string) string { return "refund-" + payment }

// refund notes that a payment was given back.
func (g *generator) refund(api, event int, payment string) {
	g.invoke(api, invocation{opInput: opInput{op: opRefund, event: event}, target: payment,
		send: func(ctx context.Context, api *client.Client) (opOutput, error) {
			p, err := api.RefundPayment(ctx, payment, refundReferenceOf(payment))
			if err != nil {
				return outputOfError(err)
			}
			return opOutput{status: p.Status, payment: p.ID}, nil
		}})
}

// cancelSale cancels an event with all that it has, sometimes at both APIs at once. Some seats are locked before, and
// some sold.
func (g *generator) cancelSale(event int) {
	id := g.events[event].id
	for i := range 4 {
		if lock, ok := g.lock(event); ok && i%2 == 0 {
			if booking := g.book(g.n, event, lock, inAnHour()); booking != "" {
				g.confirm(g.n, event, booking, 1)
			}
		}
	}
	cancel := func(api int) func() {
		return func() {
			in := opInput{op: opSetStatus, event: event, saleStatus: "CANCELLED"}
			g.invoke(api, invocation{opInput: in, target: id, send: func(ctx context.Context, api *client.Client) (opOutput, error) {
				if _, err := api.CancelEvent(ctx, id); err != nil {
					return outputOfError(err)
				}
				return opOutput{}, nil
			}})
		}
	}
	if g.rng.IntN(2) == 0 {
		both(cancel(g.n), cancel(g.n+1))
		return
	}
	cancel(g.n)()
}
