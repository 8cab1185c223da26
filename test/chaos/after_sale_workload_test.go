package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
)

// What clients do with bookings after the sale, and sales at once.

// salePrefix begins the references of payments for sales at once. Their bookings have no ID before they are made.
const salePrefix = "sale-"

// chargeOf is the charge with a reference of a booking, by its number.
func chargeOf(reference string, number int) client.Charge {
	c := client.Charge{Reference: reference}
	if amount := amountOf(number); amount > 0 {
		c.Amount = &amount
	}
	return c
}

// paymentIDOf is the ID that the payment with a reference has everywhere.
func paymentIDOf(reference string) string {
	return holdfast.Charge{Reference: reference}.PaymentID().String()
}

// nextKey returns an idempotency key that no other request has.
func (c *clients) nextKey() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	return fmt.Sprint("request-", c.requests)
}

// keepReference notes a reference with which a booking was confirmed.
func (c *clients) keepReference(booking, reference string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.references = append(c.references, [2]string{booking, reference})
}

// isAccepted reports whether a booking was confirmed with a reference.
func (c *clients) isAccepted(booking, reference string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.references, [2]string{booking, reference})
}

// othersReference is the reference of another booking's payment; "" if there is none.
func (g *generator) othersReference(booking string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.references) == 0 {
		return ""
	}
	if r := g.references[g.rng.IntN(len(g.references))]; r[0] != booking {
		return r[1]
	}
	return ""
}

// outputOfSold translates a booking with its seats and its customer.
func (c *clients) outputOfSold(b client.Booking, err error) (opOutput, error) {
	if err != nil {
		return outputOfError(err)
	}
	return opOutput{id: b.ID, status: b.Status, replayed: b.Replayed, user: c.numberOf(b.UserID, b.Holder),
		seatAnswer: seatAnswer{seats: b.Seats, places: places{seatsOf(b.SeatIDs()...), b.Section()}}}, nil
}

// sellAtOnce sells seats, sometimes twice with the same key, or with the payment of another booking. Most of what it sells is
// changed and cancelled again.
func (g *generator) sellAtOnce(event int) {
	sale := g.events[event]
	w, seats := g.wish(sale)
	in := opInput{op: opSell, event: event, user: g.rng.IntN(len(g.users)), wish: w, seats: seats, lock: sale.nextLock()}
	key := fmt.Sprintf("%s-%d", sale.id, in.lock)
	r := client.SaleRequest{EventID: sale.id, Wish: client.Wish{Seats: seats}, IdempotencyKey: key, ShopData: client.ShopData(madeWith(key))}
	r.UserID, r.Holder = g.customer(in.user)
	if sale.hall != nil {
		r.Wish = w.ofClient(sale.hall)
	}
	other := g.othersReference("")
	switch n := g.rng.IntN(10); {
	case n < 6:
		in.reference, r.Charge = saleReference, chargeOf(salePrefix+key, saleReference)
	case n == 6 && other != "":
		in.reference, r.Charge = usedElsewhere, client.Charge{Reference: other}
	}
	inv := invocation{opInput: in, target: key, key: key, send: func(ctx context.Context, api *client.Client) (opOutput, error) {
		return g.outputOfSold(api.SellSeats(ctx, r))
	}}
	var out opOutput
	if g.rng.IntN(5) == 0 {
		out = g.invokeTwice(inv)
	} else {
		out = g.invoke(g.n, inv)
	}
	if out.code != "" {
		return
	}
	if in.reference > 0 {
		g.keepReference(out.id, salePrefix+key)
	}
	if g.rng.IntN(8) == 0 { // the same key with another request
		other, again := r, inv
		other.Wish, again.op = client.Wish{Seats: seats + 1, Section: w.section}, opReuseKey
		again.send = func(ctx context.Context, api *client.Client) (opOutput, error) {
			return g.outputOfSold(api.SellSeats(ctx, other))
		}
		g.invoke(g.n+1, again)
	}
	for range g.rng.IntN(4) {
		g.afterSale(event, ownLock{number: noLock}, out.id)
	}
	if in.reference > 0 && g.rng.IntN(4) == 0 {
		g.refundPart(event, out.id, saleReference, salePrefix+key)
	}
	if g.rng.IntN(8) > 0 {
		g.changeBooking(g.n, event, out.id, opCancel, 0)
	}
	if g.rng.IntN(8) == 0 { // the booking as it is now
		again := inv
		again.duplicate = true
		g.invoke(g.n+1, again)
	}
}

// alterOpen changes the seats of a booking that is not sold yet, sometimes while it is confirmed, cancelled or released.
func (g *generator) alterOpen(event int, l ownLock, booking string) {
	alter := g.alteration(event, booking)
	switch g.rng.IntN(6) {
	case 0:
		both(alter, func() { g.confirm(g.n+1, event, booking, 1) })
	case 1:
		both(alter, func() { g.changeBooking(g.n+1, event, booking, opCancel, 0) })
	case 2:
		both(alter, func() { g.release(g.n+1, event, l) })
	case 3:
		g.transfer(g.n, event, booking, g.rng.IntN(len(g.users)), false)
	default:
		alter()
	}
}

// afterSale changes and transfers a booking, sometimes two of these at once, or while it is cancelled, confirmed or its lock
// released. number of the lock is noLock if no client knows its ID.
func (g *generator) afterSale(event int, l ownLock, booking string) {
	alter := g.alteration(event, booking)
	transfer := func(api int) func() {
		user := g.rng.IntN(len(g.users))
		return func() { g.transfer(api, event, booking, user, false) }
	}
	cancel := func() { g.changeBooking(g.n+1, event, booking, opCancel, 0) }
	switch g.rng.IntN(12) {
	case 0, 1:
		alter()
	case 2:
		both(alter, g.alteration(event, booking))
	case 3:
		both(alter, cancel)
	case 4:
		both(alter, transfer(g.n+1))
	case 5:
		transfer(g.n)()
		alter()
	case 6:
		both(transfer(g.n), cancel)
	case 7:
		both(transfer(g.n), transfer(g.n+1))
	case 8:
		both(transfer(g.n), func() { g.confirm(g.n+1, event, booking, 1) })
	case 9:
		g.transfer(g.n, event, booking, g.rng.IntN(len(g.users)), true)
	case 10:
		both(alter, func() { g.confirm(g.n+1, event, booking, 2) })
	default:
		alter()
		g.alteration(event, booking)()
	}
	if l.number == noLock {
		return
	}
	switch g.rng.IntN(6) {
	case 0:
		both(g.alteration(event, booking), func() { g.release(g.n+1, event, l) })
	case 1:
		g.askAgain(l)
	case 2:
		g.book(g.n, event, l, 0)
	case 3, 4:
		if first := referenceOf(booking, 1); g.isAccepted(booking, first) {
			g.refundPart(event, booking, 1, first)
		}
	}
}

// alterationRequest is a change of a booking's seats.
type alterationRequest struct {
	in     opInput
	change client.BookingChange
}

// alteration draws a change of a booking's seats, which is sent by the result: perhaps with an additional payment, with a part
// of a payment that is refunded, without a key, or twice with the same one.
func (g *generator) alteration(event int, booking string) (send func()) {
	e := g.events[event]
	w, seats := g.wish(e)
	r := alterationRequest{in: opInput{op: opAlter, event: event, booking: booking, wish: w, seats: seats, hasKey: true}}
	r.change.Wish = client.Wish{Seats: seats}
	if e.hall != nil {
		r.change.Wish = w.ofClient(e.hall)
	}
	other := g.othersReference(booking)
	switch n := g.rng.IntN(10); {
	case n < 4:
		r.in.reference = confirmReferences + 1 + g.rng.IntN(saleReference-confirmReferences-1)
	case n == 4:
		r.in.reference = 1
	case n == 5 && other != "":
		r.in.reference, r.change.Payment = usedElsewhere, &client.Charge{Reference: other}
	}
	if r.in.reference > 0 {
		charge := chargeOf(referenceOf(booking, r.in.reference), r.in.reference)
		r.change.Payment = &charge
	}
	if g.rng.IntN(4) == 0 {
		r.in.part = 250 * (1 + g.rng.Int64N(3))
		r.change.Refund = &client.PartialRefund{Amount: r.in.part}
		if g.rng.IntN(4) == 0 {
			r.in.partOf = 1 + g.rng.IntN(saleReference-1)
			r.change.Refund.PaymentID = paymentIDOf(referenceOf(booking, r.in.partOf))
		}
	}
	how, api, otherSeats := g.rng.IntN(8), g.n, seats+1
	if r.in.hasKey = how > 1; r.in.hasKey {
		r.change.IdempotencyKey = g.nextKey()
	}
	return func() { g.alter(api, r, how, otherSeats) }
}

// alter sends a change. how says whether it is sent twice, or its key is used again for another change.
func (g *generator) alter(api int, r alterationRequest, how int, otherSeats int64) {
	const twice, reuse = 2, 3
	booking := r.in.booking
	inv := invocation{opInput: r.in, target: booking, key: r.change.IdempotencyKey,
		send: func(ctx context.Context, api *client.Client) (opOutput, error) {
			if r.change.IdempotencyKey == "" {
				return g.outputOfSold(alterWithoutKey(ctx, api, booking, r.change))
			}
			return g.outputOfSold(api.ChangeBookingSeats(ctx, booking, r.change))
		}}
	var out opOutput
	if how == twice {
		inv.duplicate = true
		var second opOutput
		both(func() { out = g.invoke(api, inv) }, func() { second = g.invoke(api+1, inv) })
		if out.code != "" {
			out = second
		}
	} else {
		out = g.invoke(api, inv)
	}
	if out.code == "" && how == reuse {
		other := inv
		other.op = opReuseKey
		change := client.BookingChange{Wish: client.Wish{Seats: otherSeats}, IdempotencyKey: inv.key}
		other.send = func(ctx context.Context, api *client.Client) (opOutput, error) {
			return g.outputOfSold(api.ChangeBookingSeats(ctx, booking, change))
		}
		g.invoke(api+1, other)
	}
}

// alterWithoutKey changes a booking without an idempotency key, which the client always sends.
func alterWithoutKey(ctx context.Context, api *client.Client, booking string, change client.BookingChange) (b client.Booking, err error) {
	body := map[string]any{}
	if change.Payment != nil {
		body["payment"] = change.Payment
	}
	if change.Refund != nil {
		body["refund"] = change.Refund
	}
	switch w := change.Wish; {
	case w.SeatIDs != nil:
		body["seatIds"], body["accessibleSeats"] = w.SeatIDs, w.AccessibleSeats
	case w.BestAvailable != nil:
		body["bestAvailable"] = w.BestAvailable
	default:
		body["seats"] = w.Seats
		if w.Section != "" {
			body["section"] = w.Section
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return b, err
	}
	text, err = api.Do(ctx, client.RawRequest{Method: http.MethodPut, Path: "/api/bookings/" + booking + "/seats", Body: text})
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	return b, err
}

// transfer gives a booking to a customer, perhaps to the one who has it.
func (g *generator) transfer(api, event int, booking string, user int, isTwice bool) {
	in := opInput{op: opTransfer, event: event, booking: booking, user: user}
	t := client.BookingTransfer{IdempotencyKey: g.nextKey()}
	t.UserID, t.Holder = g.customer(in.user)
	inv := invocation{opInput: in, target: booking, key: t.IdempotencyKey, duplicate: isTwice,
		send: func(ctx context.Context, api *client.Client) (opOutput, error) {
			return g.outputOfSold(api.TransferBooking(ctx, booking, t))
		}}
	if isTwice {
		both(func() { g.invoke(api, inv) }, func() { g.invoke(api+1, inv) })
		return
	}
	g.invoke(api, inv)
}

// refundPart makes a part of a payment due, and notes half of the parts as refunded.
func (g *generator) refundPart(event int, booking string, number int, reference string) {
	in := opInput{op: opPart, event: event, booking: booking, reference: number, part: 250 * (1 + g.rng.Int64N(4))}
	payment, key := paymentIDOf(reference), g.nextKey()
	var due []client.Refund
	send := func(ctx context.Context, api *client.Client) (opOutput, error) {
		p, err := api.RefundPart(ctx, payment, in.part, key)
		if err != nil {
			return outputOfError(err)
		}
		due = p.Refunds
		return opOutput{payment: p.ID, status: p.Status}, nil
	}
	out := g.invoke(g.n, invocation{opInput: in, target: payment, key: key, send: send})
	if out.code != "" || g.rng.IntN(2) == 0 {
		return
	}
	for _, part := range due {
		if part.Status == string(holdfast.RefundDue) {
			g.notePart(event, payment, part.ID)
		}
	}
}

// partReferenceOf is what a client calls the refund of a part.
func partReferenceOf(part string) string { return "part-" + part }

// notePart notes that a part of a payment was given back.
func (g *generator) notePart(event int, payment, part string) {
	g.invoke(g.n+1, invocation{opInput: opInput{op: opPartDone, event: event}, target: payment, key: part,
		send: func(ctx context.Context, api *client.Client) (opOutput, error) {
			p, err := api.NotePartRefunded(ctx, payment, part, partReferenceOf(part))
			if err != nil {
				return outputOfError(err)
			}
			return opOutput{payment: p.ID, status: p.Status}, nil
		}})
}
