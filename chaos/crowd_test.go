package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/client"
)

// A crowd is customers of some events that want more seats than there are, through
// two APIs of which either may be gone. Each knows what it asked and what it was
// told; who has no answer asks again, at the other API and with the same key, until
// there is one.

type crowd struct {
	t     *testing.T
	apis  []*client.Client
	users []string
	halls []*hallOnSale

	mu       sync.Mutex
	history  []asked
	attempts int // that had no definite answer
	unjudged int // histories that took too long to judge
	broken   []string
}

// hallOnSale is one of the events.
type hallOnSale struct {
	id      string
	total   int64
	perUser int64
	mu      sync.Mutex
	locks   int // keys given out
}

func (h *hallOnSale) next() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.locks++
	return h.locks - 1
}

// broke tells of something that must not be, and which checker saw it.
func (c *crowd) broke(checker, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = append(c.broken, checker+": "+fmt.Sprintf(format, args...))
}

// Patience: of one request, and of a customer until there must be an answer.
const (
	askTime   = 4 * time.Second
	enough    = 60 * time.Second
	retryWait = 100 * time.Millisecond
)

// refusals are the codes that a rule may answer with.
var refusals = map[string]int{
	"SEATS_UNAVAILABLE": 409, "SEAT_LIMIT_REACHED": 409, "EVENT_NOT_ON_SALE": 409, "CAPACITY_BELOW_TAKEN": 409, "LOCK_CONSUMED": 409,
	"IDEMPOTENCY_KEY_REUSED": 422, "LOCK_RELEASED": 409, "LOCK_EXPIRED": 410, "BOOKING_EXPIRED": 410, "BOOKING_CONFIRMED": 409, "BOOKING_CANCELLED": 409, "BOOKING_NOT_PAYABLE": 409,
}

// states are what an act leads to.
var states = map[deed]string{doExtend: "ACTIVE", doRelease: "RELEASED", doPay: "PAYMENT_PENDING", doConfirm: "CONFIRMED", doCancel: "CANCELLED"}

func (c *crowd) note(a asked, refused *client.Error) {
	if refused != nil && refusals[a.code] != refused.Status {
		c.broke("answers", "%s of %s was answered with %v", a.deed, a.what, refused)
		return
	}
	if a.replayed && !a.twin && len(a.calls) == 0 {
		c.broke("one effect", "%s of %s is a replay of what nobody asked, or of what was UNAVAILABLE: %+v", a.deed, a.what, a.reply)
	}
	if want := states[a.deed]; a.code == "" && want != "" && a.status != want {
		c.broke("answers", "%s of %s was answered with the state %s", a.deed, a.what, a.status)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history = append(c.history, a)
}

// customer is one of the crowd.
type customer struct {
	*crowd
	id   int
	dice *rand.Rand
	n    int
}

// visits is the customer's day: a lock, what becomes of it, and the next one.
func (c *customer) visits(ctx context.Context) {
	for ; ctx.Err() == nil; c.n++ {
		h := c.dice.IntN(len(c.halls))
		if lock, ok := c.lock(h); ok {
			c.useLock(ctx, h, lock)
		}
		pause(ctx, time.Duration(c.dice.IntN(60))*time.Millisecond)
	}
}

// held is a lock that a customer was given.
type held struct {
	number int
	id     string
	user   int
	long   bool // it does not come due
}

func (c *customer) soon(least, most int) int64 {
	return time.Now().Add(time.Duration(least+c.dice.IntN(most-least)) * time.Millisecond).UnixMilli()
}

// timeOf is a time of the model; 0 is none.
func timeOf(ms int64) (t time.Time) {
	if ms != 0 {
		t = time.UnixMilli(ms).UTC()
	}
	return t
}

func (c *customer) lock(h int) (held, bool) {
	sale, long := c.halls[h], c.dice.IntN(3) > 0
	user := c.dice.IntN(len(c.users))
	m := move{deed: doLock, event: h, lock: sale.next(), user: user, seats: 1 + c.dice.Int64N(4)}
	key := fmt.Sprintf("%s-%d", sale.id, m.lock)
	ttl := int64(0)
	switch {
	case long:
		m.until = time.Now().Add(time.Hour).UnixMilli()
	case c.dice.IntN(2) == 0:
		ttl = 1 + c.dice.Int64N(3)
	default:
		m.until = c.soon(300, 3000)
	}
	request := client.LockRequest{EventID: sale.id, UserID: c.users[user], Seats: m.seats, IdempotencyKey: key,
		ExpiresAt: timeOf(m.until), TTL: time.Duration(ttl) * time.Second}
	wanted := asked{move: m, send: lockOf(request), what: key, key: key}
	var got reply
	if c.dice.IntN(10) == 0 { // a double click, at both APIs
		var other reply
		wanted.twin = true
		c.both(func() { got = c.ask(c.n, wanted) }, func() { other = c.ask(c.n+1, wanted) })
		if got.code != "" {
			got = other
		}
	} else {
		got = c.ask(c.n, wanted)
	}
	if c.dice.IntN(20) == 0 && got.code == "" { // the same key for something else
		misuse := client.LockRequest{EventID: sale.id, UserID: c.users[user], Seats: m.seats + 1, IdempotencyKey: key}
		other := asked{move: m, send: lockOf(misuse), what: key, key: key}
		other.deed, other.until = doMisuse, 0
		c.ask(c.n+1, other)
	}
	if got.code != "" {
		return held{}, false
	}
	if early, late := got.called+1000*ttl-tolerance, got.returned+1000*ttl+tolerance; ttl > 0 && !got.replayed && (got.expires < early || got.expires > late) {
		c.broke("time", "a lock of %d s, asked for at %s and given by %s, lasts until %s", ttl, clockOf(got.called), clockOf(got.returned), clockOf(got.expires))
	}
	return held{m.lock, got.id, user, long}, got.status == "ACTIVE"
}

func lockOf(r client.LockRequest) func(context.Context, *client.Client) (reply, error) {
	return func(ctx context.Context, api *client.Client) (reply, error) {
		return lockReply(api.AcquireLock(ctx, r))
	}
}

// both does two things at once.
func (c *customer) both(one, other func()) {
	var all sync.WaitGroup
	all.Go(one)
	all.Go(other)
	all.Wait()
}

// useLock extends, books, pays, confirms, cancels or lets go, sometimes two of
// these at once, sometimes nothing.
func (c *customer) useLock(ctx context.Context, h int, l held) {
	if c.dice.IntN(5) == 0 {
		c.extend(c.n, h, l)
	}
	if c.dice.IntN(4) == 0 {
		c.look(h, l)
	}
	switch c.dice.IntN(10) {
	case 0: // leaves
	case 1, 2:
		c.release(c.n, h, l)
	case 3: // two tabs
		c.both(func() { c.release(c.n, h, l) }, func() { c.extend(c.n+1, h, l) })
	case 4:
		c.both(func() { c.release(c.n, h, l) }, func() { c.book(c.n+1, h, l, 0) })
	default:
		window := int64(0)
		if c.dice.IntN(3) > 0 {
			window = c.window(l)
		}
		if id := c.book(c.n, h, l, window); id != "" {
			pause(ctx, time.Duration(c.dice.IntN(40))*time.Millisecond)
			c.useBooking(h, l, id, window == 0)
		}
	}
	if l.long && ctx.Err() == nil { // or the halls would be full soon
		pause(ctx, time.Duration(c.dice.IntN(100))*time.Millisecond)
		c.release(c.n, h, l)
	}
}

func (c *customer) window(l held) int64 {
	if l.long && c.dice.IntN(3) > 0 {
		return time.Now().Add(time.Hour).UnixMilli()
	}
	return c.soon(200, 3000)
}

func (c *customer) useBooking(h int, l held, id string, unpaid bool) {
	if unpaid && c.dice.IntN(4) > 0 {
		if c.dice.IntN(4) == 0 {
			window := c.window(l)
			c.both(func() { c.onBooking(c.n, h, id, doPay, window) }, func() { c.onBooking(c.n+1, h, id, doCancel, 0) })
		} else {
			c.onBooking(c.n, h, id, doPay, c.window(l))
		}
	}
	switch c.dice.IntN(8) {
	case 0: // pays nothing, and never comes back
		return
	case 1:
		c.both(func() { c.onBooking(c.n, h, id, doConfirm, 0) }, func() { c.release(c.n+1, h, l) })
	case 2:
		c.both(func() { c.onBooking(c.n, h, id, doConfirm, 0) }, func() { c.onBooking(c.n+1, h, id, doCancel, 0) })
	case 3:
		c.both(func() { c.onBooking(c.n, h, id, doConfirm, 0) }, func() { c.onBooking(c.n+1, h, id, doConfirm, 0) })
	case 4:
		c.onBooking(c.n, h, id, doCancel, 0)
	default:
		c.onBooking(c.n, h, id, doConfirm, 0)
	}
	if c.dice.IntN(8) > 0 { // most are sold again
		c.onBooking(c.n, h, id, doCancel, 0)
	}
}

// look reads the lock and its event: what was acknowledged is never told to be
// missing, and no counter to be beyond its bounds.
func (c *customer) look(h int, l held) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	missing := func(err error) bool {
		var refused *client.Error
		return errors.As(err, &refused) && !isIndefinite(refused)
	}
	if _, err := c.apis[c.n%len(c.apis)].GetLock(ctx, l.id); missing(err) {
		c.broke("reads", "lock %s: %v", l.id, err)
	}
	e, err := c.apis[(c.n+1)%len(c.apis)].GetEvent(ctx, c.halls[h].id)
	if missing(err) || e.AvailableSeats < 0 || e.AvailableSeats > e.TotalSeats {
		c.broke("reads", "event %s: %v %+v", c.halls[h].id, err, e)
	}
}

func (c *customer) extend(side, h int, l held) {
	until := c.soon(500, 4000)
	c.ask(side, asked{move: move{deed: doExtend, event: h, lock: l.number, until: until}, what: l.id,
		send: func(ctx context.Context, api *client.Client) (reply, error) {
			return lockReply(api.ExtendLock(ctx, l.id, timeOf(until)))
		}})
}

func (c *customer) release(side, h int, l held) {
	c.ask(side, asked{move: move{deed: doRelease, event: h, lock: l.number}, what: l.id,
		send: func(ctx context.Context, api *client.Client) (reply, error) {
			return lockReply(api.ReleaseLock(ctx, l.id))
		}})
}

func (c *customer) book(side, h int, l held, window int64) string {
	request := client.BookingRequest{UserID: c.users[l.user], EventID: c.halls[h].id, LockID: l.id, PaymentExpiresAt: timeOf(window)}
	return c.ask(side, asked{move: move{deed: doBook, event: h, lock: l.number, until: window}, what: l.id,
		send: func(ctx context.Context, api *client.Client) (reply, error) {
			return bookingReply(api.CreateBooking(ctx, request))
		}}).id
}

func (c *customer) onBooking(side, h int, id string, d deed, window int64) {
	c.ask(side, asked{move: move{deed: d, event: h, booking: id, until: window}, what: id,
		send: func(ctx context.Context, api *client.Client) (reply, error) {
			switch d {
			case doPay:
				return bookingReply(api.PayBooking(ctx, id, timeOf(window)))
			case doConfirm:
				return bookingReply(api.ConfirmBooking(ctx, id, "ref-"+id))
			default:
				return bookingReply(api.CancelBooking(ctx, id))
			}
		}})
}

// manager changes an event's capacity, and closes and opens its sale.
func (c *customer) manager(ctx context.Context) {
	for ; ctx.Err() == nil; c.n++ {
		pause(ctx, time.Duration(200+c.dice.IntN(600))*time.Millisecond)
		h := c.dice.IntN(len(c.halls))
		m := move{deed: doResize, event: h, seats: c.halls[h].total/2 + c.dice.Int64N(c.halls[h].total)}
		change := client.EventChange{TotalSeats: &m.seats}
		if c.dice.IntN(4) == 0 {
			m.deed, m.sale = doSale, "CLOSED"
			change = client.EventChange{Status: &m.sale}
		}
		c.change(m, change)
		if m.deed == doSale {
			pause(ctx, time.Duration(c.dice.IntN(200))*time.Millisecond)
			open := m
			open.sale = "ON_SALE"
			c.change(open, client.EventChange{Status: &open.sale})
		}
	}
}

func (c *customer) change(m move, change client.EventChange) {
	id := c.halls[m.event].id
	c.ask(c.n, asked{move: m, what: id,
		send: func(ctx context.Context, api *client.Client) (reply, error) {
			return eventReply(api.UpdateEvent(ctx, id, change))
		}})
}
