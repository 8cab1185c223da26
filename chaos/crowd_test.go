package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A crowd is customers of some events that want more seats than there are, through
// two APIs of which either may be gone. Each knows what it asked and what it was
// told; who has no answer asks again, at the other API and with the same key, until
// there is one.

// asked is one request with all its answers but the last, which is definite.
type asked struct {
	move
	reply
	path  string
	body  map[string]any
	key   string
	twin  bool    // the same request is under way twice
	calls []int64 // when it was asked without an answer: it may have been done, or not
}

type crowd struct {
	t     *testing.T
	http  *http.Client
	apis  []string // addresses
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

// ask asks until the answer is definite, and records it.
func (c *crowd) ask(side int, method string, a asked) reply {
	deadline := time.Now().Add(enough)
	for ; ; side++ {
		called := time.Now().UnixMilli()
		status, fields, replayed, err := c.call(c.apis[side%len(c.apis)], method, a.path, a.body)
		returned := time.Now().UnixMilli()
		if err == nil && status != http.StatusServiceUnavailable && status != http.StatusBadGateway {
			a.reply = replyOf(status, fields)
			a.replayed, a.called, a.returned = replayed, called, returned
			c.note(a, status, fields)
			return a.reply
		}
		if !surelyNot(status, fields, err) {
			a.calls = append(a.calls, called)
		}
		c.mu.Lock()
		c.attempts++
		c.mu.Unlock()
		if time.Now().After(deadline) {
			c.broke("answers", "%s %s had no definite answer within %v: last %d %v %v", method, a.path, enough, status, fields, err)
			return reply{code: "NONE"}
		}
		pause(context.Background(), retryWait)
	}
}

// surelyNot reports whether what had no answer was not done either.
func surelyNot(status int, fields map[string]any, err error) bool {
	if err != nil {
		return errors.Is(err, syscall.ECONNREFUSED)
	}
	return status == http.StatusBadGateway || fields["code"] == "UNAVAILABLE"
}

func replyOf(status int, fields map[string]any) (r reply) {
	if status >= 300 {
		r.code, _ = fields["code"].(string)
		available, _ := fields["available"].(float64)
		r.available = int64(available)
		return r
	}
	r.id, _ = fields["id"].(string)
	r.status, _ = fields["status"].(string)
	if text, ok := fields["expiresAt"].(string); ok {
		at, _ := time.Parse(time.RFC3339, text) //nolint:errcheck // the zero time fails the checks
		r.expires = at.UnixMilli()
	}
	return r
}

// refusals are the codes that a rule may answer with.
var refusals = map[string]int{
	"SEATS_UNAVAILABLE": 409, "SEAT_LIMIT_REACHED": 409, "EVENT_NOT_ON_SALE": 409, "CAPACITY_BELOW_TAKEN": 409, "LOCK_CONSUMED": 409,
	"IDEMPOTENCY_KEY_REUSED": 422, "LOCK_RELEASED": 409, "LOCK_EXPIRED": 410, "BOOKING_EXPIRED": 410, "BOOKING_CONFIRMED": 409, "BOOKING_CANCELLED": 409, "BOOKING_NOT_PAYABLE": 409,
}

// states are what an act leads to.
var states = map[deed]string{doExtend: "ACTIVE", doRelease: "RELEASED", doPay: "PAYMENT_PENDING", doConfirm: "CONFIRMED", doCancel: "CANCELLED"}

func (c *crowd) note(a asked, status int, fields map[string]any) {
	if a.code != "" && refusals[a.code] != status {
		c.broke("answers", "%s on %s was answered with %d %v", a.deed, a.path, status, fields)
		return
	}
	if a.replayed && !a.twin && len(a.calls) == 0 {
		c.broke("one effect", "%s %v is a replay of what nobody asked, or of what was UNAVAILABLE: %v", a.deed, a.body, fields)
	}
	if want := states[a.deed]; a.code == "" && want != "" && a.status != want {
		c.broke("answers", "%s on %s was answered with the state %s", a.deed, a.path, a.status)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history = append(c.history, a)
}

func (c *crowd) call(api, method, path string, body map[string]any) (status int, fields map[string]any, replayed bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	status, header, raw, err := (&client{"http://" + api, c.http}).send(ctx, method, path, body)
	if err != nil {
		return 0, nil, false, err
	}
	return status, fields, header.Get("Idempotent-Replayed") == "true", json.Unmarshal(raw, &fields)
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

func stampOf(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

func (c *customer) lock(h int) (held, bool) {
	sale, long := c.halls[h], c.dice.IntN(3) > 0
	user := c.dice.IntN(len(c.users))
	m := move{deed: doLock, event: h, lock: sale.next(), user: user, seats: 1 + c.dice.Int64N(4)}
	key := fmt.Sprintf("%s-%d", sale.id, m.lock)
	body := map[string]any{"eventId": sale.id, "userId": c.users[user], "seats": m.seats, "idempotencyKey": key}
	ttl := int64(0)
	switch {
	case long:
		m.until = time.Now().Add(time.Hour).UnixMilli()
	case c.dice.IntN(2) == 0:
		ttl = 1 + c.dice.Int64N(3)
		body["ttlSeconds"] = ttl
	default:
		m.until = c.soon(300, 3000)
	}
	if m.until != 0 {
		body["expiresAt"] = stampOf(m.until)
	}
	wanted := asked{move: m, path: "/api/locks", body: body, key: key}
	var got reply
	if c.dice.IntN(10) == 0 { // a double click, at both APIs
		var other reply
		wanted.twin = true
		c.both(func() { got = c.ask(c.n, "POST", wanted) }, func() { other = c.ask(c.n+1, "POST", wanted) })
		if got.code != "" {
			got = other
		}
	} else {
		got = c.ask(c.n, "POST", wanted)
	}
	if c.dice.IntN(20) == 0 && got.code == "" { // the same key for something else
		other := asked{move: m, path: "/api/locks", key: key, body: map[string]any{"eventId": sale.id, "userId": c.users[user], "seats": m.seats + 1, "idempotencyKey": key}}
		other.deed, other.until = doMisuse, 0
		c.ask(c.n+1, "POST", other)
	}
	if got.code != "" {
		return held{}, false
	}
	if early, late := got.called+1000*ttl-tolerance, got.returned+1000*ttl+tolerance; ttl > 0 && !got.replayed && (got.expires < early || got.expires > late) {
		c.broke("time", "a lock of %d s, asked for at %s and given by %s, lasts until %s", ttl, clockOf(got.called), clockOf(got.returned), clockOf(got.expires))
	}
	return held{m.lock, got.id, user, long}, got.status == "ACTIVE"
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
	for side, path := range []string{"/api/locks/" + l.id, "/api/events/" + c.halls[h].id} {
		status, fields, _, err := c.call(c.apis[(c.n+side)%len(c.apis)], http.MethodGet, path, nil)
		if err != nil || status == http.StatusServiceUnavailable || status == http.StatusBadGateway {
			continue
		}
		available, _ := fields["availableSeats"].(float64)
		total, _ := fields["totalSeats"].(float64)
		if status != http.StatusOK || available < 0 || available > total {
			c.broke("reads", "%s: %d %v", path, status, fields)
		}
	}
}

func (c *customer) extend(side, h int, l held) {
	until := c.soon(500, 4000)
	c.ask(side, "POST", asked{move: move{deed: doExtend, event: h, lock: l.number, until: until}, path: "/api/locks/" + l.id + "/extend",
		body: map[string]any{"expiresAt": stampOf(until)}})
}

func (c *customer) release(side, h int, l held) {
	c.ask(side, "DELETE", asked{move: move{deed: doRelease, event: h, lock: l.number}, path: "/api/locks/" + l.id})
}

func (c *customer) book(side, h int, l held, window int64) string {
	body := map[string]any{"userId": c.users[l.user], "eventId": c.halls[h].id, "lockId": l.id}
	if window != 0 {
		body["paymentExpiresAt"] = stampOf(window)
	}
	return c.ask(side, "POST", asked{move: move{deed: doBook, event: h, lock: l.number, until: window}, path: "/api/bookings", body: body}).id
}

func (c *customer) onBooking(side, h int, id string, d deed, window int64) {
	body := map[string]any{}
	switch d {
	case doPay:
		body["paymentExpiresAt"] = stampOf(window)
	case doConfirm:
		body["paymentReference"] = "ref-" + id
	}
	c.ask(side, "POST", asked{move: move{deed: d, event: h, booking: id, until: window}, path: "/api/bookings/" + id + "/" + string(d), body: body})
}

// manager changes an event's capacity, and closes and opens its sale.
func (c *customer) manager(ctx context.Context) {
	for ; ctx.Err() == nil; c.n++ {
		pause(ctx, time.Duration(200+c.dice.IntN(600))*time.Millisecond)
		h := c.dice.IntN(len(c.halls))
		m := move{deed: doResize, event: h, seats: c.halls[h].total/2 + c.dice.Int64N(c.halls[h].total)}
		body := map[string]any{"totalSeats": m.seats}
		if c.dice.IntN(4) == 0 {
			m.deed, m.sale = doSale, "CLOSED"
			body = map[string]any{"status": "CLOSED"}
		}
		c.ask(c.n, "PATCH", asked{move: m, path: "/api/events/" + c.halls[h].id, body: body})
		if m.deed == doSale {
			pause(ctx, time.Duration(c.dice.IntN(200))*time.Millisecond)
			m.sale = "ON_SALE"
			c.ask(c.n, "PATCH", asked{move: m, path: "/api/events/" + c.halls[h].id, body: map[string]any{"status": "ON_SALE"}})
		}
	}
}
