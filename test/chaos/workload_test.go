package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/client"
)

// generator makes the operations of one client: a buyer or the manager.
type generator struct {
	*clients
	rng *rand.Rand
	n   int // which API the next operation is sent to first, modulo their number
}

// maxShortTTL bounds the TTLs of locks and payment windows; some are an hour instead.
const maxShortTTL = 10 * time.Second

// buy locks seats, uses the lock and begins again, until ctx ends.
func (g *generator) buy(ctx context.Context) {
	for ; ctx.Err() == nil; g.n++ {
		if g.rng.IntN(6) == 0 {
			g.renewAtTheEnd(ctx)
		}
		event := g.event()
		if g.rng.IntN(4) == 0 {
			g.sellAtOnce(event)
		} else if lock, ok := g.lock(event); ok {
			g.useLock(ctx, event, lock)
		}
		delay(ctx, randomMillis(g.rng, 0, 60))
	}
}

// event draws an event that is not crowd's: half of the time one in a hall.
func (g *generator) event() int {
	unseated := len(g.events) - seatedEvents
	if g.rng.IntN(2) == 0 {
		return unseated + g.rng.IntN(seatedEvents)
	}
	return crowdEvents + g.rng.IntN(unseated-crowdEvents)
}

// ownLock is a lock that a client was given.
type ownLock struct {
	number int
	id     string
	user   int
	long   bool // It lasts an hour, so it is not due during the round.
	named  seatSet

	request invocation
}

// soon returns a time that is at least, and less than most milliseconds from now.
func (g *generator) soon(atLeast, most int) int64 {
	return time.Now().Add(randomMillis(g.rng, atLeast, most-atLeast)).UnixMilli()
}

func inAnHour() int64 { return time.Now().Add(time.Hour).UnixMilli() }

// timeOf translates a time of the model; 0 is none.
func timeOf(ms int64) (t time.Time) {
	if ms != 0 {
		t = time.UnixMilli(ms).UTC()
	}
	return t
}

// lock locks seats: for an hour, for some seconds, or until a time. Sometimes the request is
// sent to both APIs at once, or its key is reused for another request.
func (g *generator) lock(event int) (ownLock, bool) {
	w, seats := g.wish(g.events[event])
	return g.lockSeats(event, w, seats)
}

func (g *generator) lockSeats(event int, w wish, seats int64) (ownLock, bool) {
	in := opInput{op: opLock, event: event, user: g.rng.IntN(len(g.users)), wish: w, seats: seats}
	ttl := int64(0)
	switch {
	case g.rng.IntN(3) > 0:
		in.until = inAnHour()
	case g.rng.IntN(2) == 0:
		ttl = 1 + g.rng.Int64N(3)
	default:
		in.until = g.soon(300, 3000)
	}
	return g.requestLock(in, ttl)
}

// requestLock locks seats until a time or, if it is 0, for ttl seconds.
func (g *generator) requestLock(in opInput, ttl int64) (ownLock, bool) {
	sale, long := g.events[in.event], timeOf(in.until).After(time.Now().Add(time.Minute))
	in.lock = sale.nextLock()
	key := fmt.Sprintf("%s-%d", sale.id, in.lock)
	request := client.LockRequest{
		EventID: sale.id, Seats: in.seats, IdempotencyKey: key,
		ExpiresAt: timeOf(in.until), TTL: time.Duration(ttl) * time.Second, ShopData: client.ShopData(madeWith(key)),
	}
	request.UserID, request.Holder = g.customer(in.user)
	inv := invocation{opInput: in, send: sendLock(sale, request, in.wish), target: key, key: key}
	var out opOutput
	if g.rng.IntN(10) == 0 { // a double click
		out = g.invokeTwice(inv)
	} else {
		out = g.invoke(g.n, inv)
	}
	if g.rng.IntN(20) == 0 && out.code == "" {
		g.reuseKey(in, key)
	}
	if out.code != "" {
		return ownLock{}, false
	}
	earliest, latest := out.called+1000*ttl-tolerance, out.returned+1000*ttl+tolerance
	if ttl > 0 && !out.replayed && (out.expires < earliest || out.expires > latest) {
		g.violation("time", "a lock for %d s, requested at %s and answered at %s, lasts until %s",
			ttl, formatMillis(out.called), formatMillis(out.returned), formatMillis(out.expires))
	}
	return ownLock{number: in.lock, id: out.id, user: in.user, long: long, named: out.named, request: inv}, out.status == "ACTIVE"
}

// renewAtTheEnd extends a lock just before its end, and asks for as many seats again for the same customer when it ends.
// The event with a limit may not grant both.
func (g *generator) renewAtTheEnd(ctx context.Context) {
	in := opInput{op: opLock, event: limitedEvent, user: g.rng.IntN(len(g.users)), seats: 3, until: g.soon(200, 500)}
	lock, ok := g.requestLock(in, 0)
	if !ok {
		return
	}
	extendAt, lockAt := in.until-g.rng.Int64N(7), in.until-3+g.rng.Int64N(7)
	in.until = g.soon(1000, 2000)
	again := &generator{clients: g.clients, n: g.n + 1, rng: rand.New(rand.NewPCG(g.rng.Uint64(), 0))}
	both(
		func() { delay(ctx, time.Until(timeOf(extendAt))); g.extend(g.n, in.event, lock) },
		func() { delay(ctx, time.Until(timeOf(lockAt))); again.requestLock(in, 0) },
	)
	g.release(g.n, in.event, lock)
}

// invokeTwice sends the same request to both APIs at once.
func (g *generator) invokeTwice(inv invocation) (out opOutput) {
	var second opOutput
	inv.duplicate = true
	both(func() { out = g.invoke(g.n, inv) }, func() { second = g.invoke(g.n+1, inv) })
	if out.code != "" {
		out = second
	}
	return out
}

// reuseKey sends another request with a key that was used.
func (g *generator) reuseKey(in opInput, key string) {
	sale := g.events[in.event]
	request := client.LockRequest{EventID: sale.id, Seats: in.seats + 1, IdempotencyKey: key}
	request.UserID, request.Holder = g.customer(in.user)
	in.op, in.until = opReuseKey, 0
	other := wish{section: standing, seats: in.seats + 1}
	g.invoke(g.n+1, invocation{opInput: in, send: sendLock(sale, request, other), target: key, key: key})
}

// both does two things at once.
func both(one, other func()) {
	var all sync.WaitGroup
	all.Go(one)
	all.Go(other)
	all.Wait()
}

// useLock extends, reads, books or releases a lock, sometimes two of these at once, or does
// nothing with it.
func (g *generator) useLock(ctx context.Context, event int, l ownLock) {
	if g.rng.IntN(5) == 0 {
		g.extend(g.n, event, l)
	}
	if g.rng.IntN(3) == 0 {
		g.change(event, l)
	}
	if g.rng.IntN(4) == 0 {
		g.read(event, l)
	}
	note := func() { g.noteLock(g.n+1, event, l.id) }
	switch g.rng.IntN(8) {
	case 0:
		note()
	case 1:
		both(note, func() { g.noteLock(g.n, event, l.id) })
	case 2:
		both(note, func() { g.extend(g.n, event, l) })
	}
	switch g.rng.IntN(10) {
	case 0: // The client abandons the lock.
	case 1:
		both(func() { g.release(g.n, event, l) }, note)
		note()
	case 2:
		both(func() { g.book(g.n, event, l, 0) }, note)
		g.release(g.n, event, l)
	case 3:
		both(func() { g.release(g.n, event, l) }, func() { g.extend(g.n+1, event, l) })
	case 4:
		both(func() { g.release(g.n, event, l) }, func() { g.book(g.n+1, event, l, 0) })
	case 5, 6:
		g.payLate(event, l)
	default:
		window := int64(0)
		if g.rng.IntN(3) > 0 {
			window = g.paymentWindow(l)
		}
		if id := g.book(g.n, event, l, window); id != "" {
			delay(ctx, randomMillis(g.rng, 0, 40))
			g.useBooking(event, l, bookingOf{id: id, initiated: window == 0, window: window})
		}
	}
	if g.rng.IntN(6) == 0 { // It may have ended.
		note()
	}
	if l.long && ctx.Err() == nil { // Without this the events would soon be sold out.
		delay(ctx, randomMillis(g.rng, 0, 100))
		g.release(g.n, event, l)
	}
}

// change asks for other seats, sometimes twice, or while the lock is released or booked; and perhaps for the
// lock once more.
func (g *generator) change(event int, l ownLock) {
	w, seats := g.wish(g.events[event])
	change := func() { g.changeSeats(g.n, event, l, w, seats) }
	switch g.rng.IntN(6) {
	case 0:
		other, n := g.wish(g.events[event])
		both(change, func() { g.changeSeats(g.n+1, event, l, other, n) })
	case 1:
		both(change, func() { g.release(g.n+1, event, l) })
	case 2:
		both(change, func() { g.book(g.n+1, event, l, 0) })
	default:
		change()
	}
	if g.rng.IntN(3) == 0 {
		g.askAgain(l)
	}
}

func (g *generator) paymentWindow(l ownLock) int64 {
	if l.long && g.rng.IntN(3) > 0 {
		return inAnHour()
	}
	return g.soon(200, 3000)
}

// bookingOf is a booking of a client's own lock.
type bookingOf struct {
	id        string
	initiated bool // pay was not called yet
	window    int64
}

// useBooking pays, confirms or cancels a booking, sometimes two of these at once.
func (g *generator) useBooking(event int, l ownLock, b bookingOf) {
	change := func(api int, op operation) func() {
		return func() { g.changeBooking(api, event, b.id, op, 0) }
	}
	if b.initiated && g.rng.IntN(4) > 0 {
		b.window = g.paymentWindow(l)
		if g.rng.IntN(4) == 0 {
			both(func() { g.changeBooking(g.n, event, b.id, opPay, b.window) }, change(g.n+1, opCancel))
		} else {
			g.changeBooking(g.n, event, b.id, opPay, b.window)
		}
	}
	confirm := func(api, reference int) func() {
		return func() { g.confirm(api, event, b.id, reference) }
	}
	note := func() { g.noteBooking(g.n+1, event, b.id) }
	if g.rng.IntN(4) == 0 {
		g.alterOpen(event, l, b.id)
	}
	if g.rng.IntN(4) == 0 {
		both(note, func() { g.noteBooking(g.n, event, b.id) })
	}
	switch g.rng.IntN(10) {
	case 0: // The client abandons the booking.
		return
	case 8:
		both(confirm(g.n, 1), note)
	case 9:
		both(change(g.n, opCancel), note)
	case 1:
		both(confirm(g.n, 1), func() { g.release(g.n+1, event, l) })
	case 2:
		both(confirm(g.n, 1), change(g.n+1, opCancel))
	case 3:
		both(confirm(g.n, 1), confirm(g.n+1, 1+g.rng.IntN(2)))
	case 4:
		g.changeBooking(g.n, event, b.id, opCancel, 0)
	case 5:
		change(g.n, opConfirm)()
	default:
		confirm(g.n, 1)()
	}
	if g.rng.IntN(6) == 0 || g.isAccepted(b.id, referenceOf(b.id, 1)) && g.rng.IntN(5) > 0 {
		g.afterSale(event, l, b.id)
	}
	if g.rng.IntN(8) > 0 { // Most bookings are cancelled, so that their seats are sold again.
		g.changeBooking(g.n, event, b.id, opCancel, 0)
	}
	if g.rng.IntN(4) == 0 {
		g.confirm(g.n+1, event, b.id, 1+g.rng.IntN(saleReference-1))
	}
	if g.rng.IntN(6) == 0 {
		note()
	}
}

// read reads a lock and its event: an acknowledged lock must be found, and the counter must be
// within its bounds.
func (g *generator) read(event int, l ownLock) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	isDefinite := func(err error) bool {
		var answer *client.Error
		return errors.As(err, &answer) && !isIndeterminate(answer)
	}
	if _, err := g.apis[g.n%len(g.apis)].GetLock(ctx, l.id); isDefinite(err) {
		g.violation("reads", "lock %s: %v", l.id, err)
	}
	e, err := g.apis[(g.n+1)%len(g.apis)].GetEvent(ctx, g.events[event].id)
	if isDefinite(err) || e.AvailableSeats < 0 || e.AvailableSeats > e.TotalSeats {
		g.violation("reads", "event %s: %v %+v", g.events[event].id, err, e)
	}
}

func (g *generator) extend(api, event int, l ownLock) {
	until := g.soon(500, 4000)
	g.invoke(api, invocation{opInput: opInput{op: opExtend, event: event, lock: l.number, until: until}, target: l.id,
		send: func(ctx context.Context, api *client.Client) (opOutput, error) {
			return outputOfLock(api.ExtendLock(ctx, l.id, timeOf(until)))
		}})
}

func (g *generator) release(api, event int, l ownLock) {
	g.invoke(api, invocation{opInput: opInput{op: opRelease, event: event, lock: l.number}, target: l.id,
		send: func(ctx context.Context, api *client.Client) (opOutput, error) {
			return outputOfLock(api.ReleaseLock(ctx, l.id))
		}})
}

// book returns the booking's ID, "" if it was refused.
func (g *generator) book(api, event int, l ownLock, window int64) string {
	request := client.BookingRequest{EventID: g.events[event].id, LockID: l.id, PaymentExpiresAt: timeOf(window)}
	request.Reference = orderOf(l.id)
	request.UserID, request.Holder = g.customer(l.user)
	return g.invoke(api, invocation{opInput: opInput{op: opBook, event: event, lock: l.number, until: window}, target: l.id,
		send: func(ctx context.Context, api *client.Client) (opOutput, error) {
			return outputOfBooking(api.CreateBooking(ctx, request))
		}}).id
}

// changeBooking pays, confirms without a reference, or cancels.
func (g *generator) changeBooking(api, event int, id string, op operation, window int64) {
	g.invoke(api, invocation{opInput: opInput{op: op, event: event, booking: id, until: window}, target: id,
		send: func(ctx context.Context, api *client.Client) (opOutput, error) {
			switch op {
			case opPay:
				return outputOfBooking(api.PayBooking(ctx, id, timeOf(window)))
			case opConfirm:
				return outputOfBooking(api.ConfirmBooking(ctx, id, ""))
			default:
				return outputOfBooking(api.CancelBooking(ctx, id))
			}
		}})
}

// manage changes the events' capacities, blocks seats of halls, and closes and opens their sales, until ctx ends.
func (g *generator) manage(ctx context.Context) {
	for ; ctx.Err() == nil; g.n++ {
		delay(ctx, randomMillis(g.rng, 200, 600))
		event := g.event()
		if g.events[event].hall != nil && g.rng.IntN(4) > 0 {
			g.block(event)
			continue
		}
		in := opInput{op: opResize, event: event, seats: g.events[event].total/2 + g.rng.Int64N(g.events[event].total)}
		if g.events[event].hall == nil && g.rng.IntN(4) > 0 {
			g.updateEvent(in, client.EventChange{TotalSeats: &in.seats})
			continue
		}
		in.op, in.saleStatus = opSetStatus, "CLOSED"
		g.updateEvent(in, client.EventChange{Status: &in.saleStatus})
		delay(ctx, randomMillis(g.rng, 0, 200))
		open := in
		open.saleStatus = "ON_SALE"
		g.updateEvent(open, client.EventChange{Status: &open.saleStatus})
	}
}

func (g *generator) updateEvent(in opInput, change client.EventChange) {
	id := g.events[in.event].id
	g.invoke(g.n, invocation{opInput: in, target: id,
		send: func(ctx context.Context, api *client.Client) (opOutput, error) {
			return g.outputOfEvent(api.UpdateEvent(ctx, id, change))
		}})
}
