package main

import (
	cryptorand "crypto/rand"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/client"
)

// result is what became of an order.
type result string

const (
	kept     result = "kept"     // captured, and the booking is CONFIRMED
	partly   result = "partly"   // so, and a part of it was given back
	nothing  result = "nothing"  // never captured
	refunded result = "refunded" // captured, and given back
)

// Events of a round.
const (
	onSale    = "on sale"         // refuses late payments
	accepts   = "accepts late"    // the windows of its bookings have passed at once
	refuses   = "refuses late"    // so have those of its bookings
	cancelled = "to be cancelled" // by an operator, before a capture
	soldOut   = "sold out"
	full      = "sold out by one order"
)

// scenario is an order of a round, and what may become of it: the first of want, or the others if the shop is killed or calls fail.
type scenario struct {
	name, card, event string
	seats             int
	want              []result
	then              *change // after the sale
}

// change is how many seats an order gets after its sale, with which card, and what becomes of the payment for that, if there is one.
type change struct {
	cart  string // its own; "" in the table
	seats int
	card  string
	want  []result
}

const (
	otherTab = "cancelled in another tab"
	expired  = "the authorization expires"
	expires  = "the authorization of a change expires"
	giveUp   = "tickets given back"
)

var scenarios = []scenario{
	{"sale", cardGood, onSale, 2, []result{kept}, nil},
	{"declined", cardDeclined, onSale, 2, []result{nothing}, nil},
	{"asks the bank", cardBank, onSale, 1, []result{kept}, nil},
	{"the bank refuses", cardBankFails, onSale, 1, []result{nothing}, nil},
	{"late, accepted", cardGood, accepts, 2, []result{kept, nothing}, nil},
	{"late, refused", cardGood, refuses, 2, []result{nothing}, nil},
	{"no such card", "pm_unknown", onSale, 1, []result{nothing}, nil},
	{"no seats", cardGood, soldOut, 2, []result{nothing}, nil},
	{otherTab, cardGood, onSale, 1, []result{nothing, refunded}, nil},                   // before it is confirmed
	{expired, cardGood, onSale, 1, []result{nothing, kept}, nil},                        // after it is confirmed
	{giveUp, cardGood, onSale, 3, []result{refunded}, nil},                              // after the sale
	{"event cancelled", cardGood, cancelled, 1, []result{refunded, kept, nothing}, nil}, // before one of the two is captured
	{"event cancelled", cardGood, cancelled, 2, []result{refunded, kept, nothing}, nil},
	{"one more", cardGood, onSale, 1, []result{kept}, &change{seats: 2, card: cardGood, want: []result{kept}}},
	{"one more, declined", cardGood, onSale, 1, []result{kept}, &change{seats: 2, card: cardDeclined, want: []result{nothing}}},
	{"one more, sold out", cardGood, full, 2, []result{kept}, &change{seats: 3, card: cardGood, want: []result{nothing}}},
	{expires, cardGood, onSale, 1, []result{kept}, &change{seats: 3, card: cardGood, want: []result{nothing, kept}}},
	{"two of three given back", cardGood, onSale, 3, []result{partly}, &change{seats: 1, card: cardGood}},
}

// round is all scenarios at the same time.
type round struct {
	*world
	rng    *lockedRand
	events map[string]string   // their IDs
	carts  map[string]scenario // by the order's ID
	// changes are those of carts that have one, by its ID.
	changes map[string]scenario

	webhooks       sync.WaitGroup
	undelivered    atomic.Int64
	eventCancelled atomic.Bool
	happened       sync.Map // what happens once, such as the cancellation of the event
}

// lockedRand is a source of random numbers for several goroutines.
type lockedRand struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func newRand(seed uint64) *lockedRand { return &lockedRand{rng: rand.New(rand.NewPCG(seed, 0))} }

func (r *lockedRand) intN(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rng.IntN(n)
}

// first reports whether something happens for the first time.
func (r *round) first(what string) bool {
	_, known := r.happened.LoadOrStore(what, true)
	return !known
}

// newRound makes the events, and says what happens at the calls of the shop.
func newRound(t *testing.T, rng *lockedRand) *round {
	t.Helper()
	r := &round{world: newWorld(t), rng: rng, carts: map[string]scenario{}, changes: map[string]scenario{}}
	r.events = map[string]string{
		onSale:    r.createEvent(100, client.LatePaymentsRefused),
		accepts:   r.createEvent(100, client.LatePaymentsAccepted),
		refuses:   r.createEvent(100, client.LatePaymentsRefused),
		cancelled: r.createEvent(100, client.LatePaymentsRefused),
		soldOut:   r.createEvent(1, client.LatePaymentsRefused),
		full:      r.createEvent(2, client.LatePaymentsRefused),
	}
	for _, s := range scenarios {
		if s.then != nil {
			then := *s.then
			then.cart, s.then = cryptorand.Text(), &then
			r.changes[then.cart] = s
		}
		r.carts[cryptorand.Text()] = s
	}
	r.fake.isSold = r.isSold
	r.fake.send = r.send
	r.gate.before = r.before
	return r
}

// send delivers each event twice and in random order, and again until the shop has acknowledged it. Half of the events come too
// late to help.
func (r *round) send(payload []byte) {
	if r.rng.intN(2) == 0 {
		return
	}
	for range 2 {
		delay := time.Duration(r.rng.intN(60)) * time.Millisecond
		r.undelivered.Add(1)
		r.webhooks.Go(func() {
			defer r.undelivered.Add(-1)
			<-time.After(delay)
			if !poll(quietTimeout, func() bool { return deliver(r.url, payload, webhookSecret, time.Now()) == http.StatusOK }) {
				r.Errorf("the shop does not acknowledge %s", payload)
			}
		})
	}
}

// isSold reports whether Holdfast has confirmed the booking of an intent, even if it was cancelled since.
func (r *round) isSold(intent string) bool {
	payments := r.payments(client.PaymentFilter{Reference: &intent})
	return len(payments) == 1 && slices.Contains([]string{"", "booking_cancelled", "event_cancelled"}, payments[0].Reason)
}

// isDecided reports whether a confirmation can't sell the seats any more, such as one that comes twice.
func (r *round) isDecided(intent fakeIntent) bool {
	b, err := r.operator.GetBooking(r.Context(), intent.Metadata["booking"])
	return err == nil && b.Status == "CANCELLED" || len(r.payments(client.PaymentFilter{Reference: &intent.ID})) > 0
}

// before is what happens between two calls of the shop, at the moments that matter.
func (r *round) before(call string, body []byte) []byte {
	switch {
	case call == "holdfast POST /api/events/{id}/bookings":
		var b map[string]any
		if err := json.Unmarshal(body, &b); err != nil {
			r.Error(err)
		}
		if b["eventId"] == r.events[accepts] || b["eventId"] == r.events[refuses] {
			delete(b, "paymentTtlSeconds")
			b["paymentExpiresAt"] = time.Now().Add(-time.Second).UTC()
			body, _ = json.Marshal(b)
		}
	case strings.HasSuffix(call, "/confirm") && strings.HasPrefix(call, "holdfast"):
		var charge client.Charge
		if err := json.Unmarshal(body, &charge); err != nil {
			r.Error(err)
		}
		intent, _ := r.fake.snapshot(charge.Reference)
		if intent.Status != "requires_capture" && intent.Status != "succeeded" && !r.isDecided(intent) {
			r.Errorf("a confirmation without money: %s is %s", intent.ID, intent.Status)
		}
		if cart := intent.Metadata["order"]; r.carts[cart].name == otherTab && r.first(otherTab) {
			if _, err := r.operator.CancelBooking(r.Context(), intent.Metadata["booking"]); err != nil {
				r.Error(err)
			}
		}
	case strings.HasSuffix(call, "/seats"):
		var change struct{ Payment *client.Charge }
		if err := json.Unmarshal(body, &change); err != nil {
			r.Error(err)
		}
		if change.Payment == nil {
			break
		}
		if intent, _ := r.fake.snapshot(change.Payment.Reference); intent.Status != "requires_capture" && !r.isDecided(intent) {
			r.Errorf("a change without money: %s is %s", intent.ID, intent.Status)
		}
	case strings.HasSuffix(call, "/capture"):
		r.beforeCapture()
	}
	return body
}

func (r *round) beforeCapture() {
	for _, id := range r.fake.intentIDs() {
		intent, _ := r.fake.snapshot(id)
		s := r.carts[intent.Metadata["order"]]
		if intent.Status != "requires_capture" || !r.isSold(id) {
			continue
		}
		if s.name == expired && r.first(expired) || r.changes[intent.Metadata["order"]].name == expires && r.first(expires) {
			r.fake.expire(id)
		}
		if s.event == cancelled && r.first(cancelled) {
			r.cancel(intent)
		}
	}
}

// cancellations admits one cancellation of an event at a time: its run looks for late confirmations until MongoDB has ended
// all transactions that began before, which takes ten seconds, and the runs of two events follow one another.
var cancellations struct {
	mu   sync.Mutex
	last time.Time
}

// cancel cancels the event or, if the run of another one may last, the intent's booking.
func (r *round) cancel(intent fakeIntent) {
	cancellations.mu.Lock()
	defer cancellations.mu.Unlock()
	if time.Since(cancellations.last) > 15*time.Second {
		cancellations.last = time.Now()
		r.cancelEvent(r.events[cancelled])
		r.eventCancelled.Store(true)
		return
	}
	if _, err := r.operator.CancelBooking(r.Context(), intent.Metadata["booking"]); err != nil {
		r.Error(err)
	}
}

// run sends the customers, and starts the shop again after each kill, at the next point, until all is settled.
func (r *round) run(points []killPoint) (kills []killPoint) {
	r.Helper()
	next := func() *killPoint {
		if len(points) == 0 {
			return nil
		}
		p := points[0]
		points = points[1:]
		return &p
	}
	r.start(next())
	var customers sync.WaitGroup
	defer customers.Wait()
	for cart, s := range r.carts {
		customers.Go(func() { r.customer(cart, s) })
	}
	served := make(chan struct{})
	go func() { customers.Wait(); close(served) }()
	isServed, left := false, ""
	settled := poll(quietTimeout, func() bool {
		select {
		case p := <-r.gate.killed:
			kills = append(kills, p)
			r.start(next())
		case <-served:
			isServed = true
		default:
		}
		left = r.left()
		return isServed && len(r.gate.killed) == 0 && left == ""
	})
	if !settled {
		r.Errorf("left in the end: %s; kills: %v", left, kills)
	}
	r.webhooks.Wait()
	r.gate.late.Wait()
	r.kill() // or it would give back the payments of the next round
	return kills
}

// customer sends the order, sometimes twice, and does what its scenario says.
func (r *round) customer(cart string, s scenario) {
	email := strings.ToLower(cart) + "@example.com"
	for range 1 + r.rng.intN(4)/3 {
		r.buy(cart, r.events[s.event], email, s.card, s.seats)
	}
	if s.name != giveUp && s.then == nil {
		return
	}
	sells := poll(quietTimeout, func() bool { o, _ := r.order(cart); return o.State == sold })
	if !sells {
		r.Errorf("%s: not sold", s.name)
		return
	}
	if s.then != nil {
		for range 1 + r.rng.intN(4)/3 {
			r.change(cart, s.then)
		}
		return
	}
	o, _ := r.order(cart)
	if _, err := r.operator.CancelBooking(r.Context(), o.BookingID); err != nil {
		r.Error(err)
	}
}

// left says what is left to do, on any side; "" means nothing.
func (r *round) left() string {
	for cart, s := range r.carts {
		if o, found := r.order(cart); !found || o.State == open {
			return "an order: " + s.name
		}
	}
	for cart, s := range r.changes {
		if o, found := r.order(cart); !found || o.State == open {
			return "a change: " + s.name
		}
	}
	if r.eventCancelled.Load() {
		filter := client.Filter{EventID: new(r.events[cancelled]), Status: new("CONFIRMED")}
		for _, err := range r.operator.ListBookings(r.Context(), filter) {
			if err != nil {
				r.Error(err)
			}
			return "a booking of the cancelled event"
		}
	}
	for _, event := range r.events {
		if len(r.payments(client.PaymentFilter{EventID: &event, RefundDue: true})) > 0 {
			return "a payment of which something is due"
		}
	}
	if r.hasOpenOrders() {
		return "a file of an open order"
	}
	if r.undelivered.Load() > 0 {
		return "an event of Stripe"
	}
	return ""
}

// check compares both sides: captured and kept if and only if CONFIRMED, and all other money given back once.
// It returns what became of each order.
func (r *round) check() map[string]result {
	r.Helper()
	results := map[string]result{}
	for _, id := range r.fake.intentIDs() {
		intent, refunds := r.fake.snapshot(id)
		cart := intent.Metadata["order"]
		if o, _ := r.order(cart); id != o.IntentID {
			// The shop was killed, or Stripe failed, before the ID was saved. Then an intent may be left that has no money.
			if intent.Status != "requires_confirmation" || len(r.payments(client.PaymentFilter{Reference: &id})) > 0 {
				r.Errorf("%s: one more intent, which is %s", r.nameOf(cart), intent.Status)
			}
			continue
		}
		results[cart] = r.checkIntent(intent, refunds)
	}
	for cart, s := range r.carts {
		r.checkOrder(s.name, cart, s.want, results)
	}
	for cart, s := range r.changes {
		if s.then.want == nil { // it gives back, and has no intent
			if o, _ := r.order(cart); o.State != sold {
				r.Errorf("%s: the change is %s: %s", s.name, o.State, o.Reason)
			}
			continue
		}
		r.checkOrder(s.name+", the change", cart, s.then.want, results)
	}
	r.checkBookings()
	r.fake.mu.Lock()
	defer r.fake.mu.Unlock()
	for _, v := range r.fake.violations {
		r.Error(v)
	}
	return results
}

func (r *round) nameOf(cart string) string {
	if s, isChange := r.changes[cart]; isChange {
		return s.name + ", the change"
	}
	return r.carts[cart].name
}

// checkOrder compares what became of an order's money with what is wanted, and with the order's state.
func (r *round) checkOrder(name, cart string, want []result, results map[string]result) {
	if _, hasIntent := results[cart]; !hasIntent {
		results[cart] = nothing
	}
	if !slices.Contains(want, results[cart]) {
		r.Errorf("%s: %s, want %v", name, results[cart], want)
	}
	o, _ := r.order(cart)
	isKept := results[cart] == kept || results[cart] == partly
	if isKept && o.State != sold || results[cart] == nothing && o.State != ended {
		r.Errorf("%s: the order is %s, and the money %s", name, o.State, results[cart])
	}
}

// checkBookings checks that each CONFIRMED booking has as many seats as the money that was kept for it pays for.
func (r *round) checkBookings() {
	for _, event := range r.events {
		for b, err := range r.operator.ListBookings(r.Context(), client.Filter{EventID: &event, Status: new("CONFIRMED")}) {
			if err != nil {
				r.Fatal(err)
			}
			var money int64
			for _, p := range r.payments(client.PaymentFilter{BookingID: &b.ID, Status: new("ACCEPTED")}) {
				intent, refunds := r.fake.snapshot(p.Reference)
				money += intent.AmountReceived
				for _, refund := range refunds {
					money -= refund.Amount
				}
			}
			if money != b.Seats*price {
				r.Errorf("booking %s has %d seats, and %d was kept for it: %+v", b.ID, b.Seats, money, b)
			}
		}
	}
}

// checkIntent compares an intent with its booking and its payment at Holdfast.
func (r *round) checkIntent(intent fakeIntent, refunds []fakeRefund) result {
	name := fmt.Sprintf("%s (%s)", r.nameOf(intent.Metadata["order"]), intent.ID)
	booking, err := r.operator.GetBooking(r.Context(), intent.Metadata["booking"])
	if err != nil {
		r.Fatal(err)
	}
	payments := r.payments(client.PaymentFilter{Reference: &intent.ID})
	if len(payments) > 1 {
		r.Errorf("%s: payments %+v", name, payments)
	}
	var p client.Payment
	if len(payments) == 1 {
		p = payments[0]
	}
	isSold := booking.Status == "CONFIRMED" && p.Status == "ACCEPTED"
	isLeft := func() result {
		r.Errorf("%s is %s; booking %+v, payments %+v, refunds %+v", name, intent.Status, booking, payments, refunds)
		return nothing
	}
	switch {
	case intent.Status == "canceled" && isSold && len(p.Refunds) == 1: // a change that was undone
		if part := p.Refunds[0]; part.Amount != intent.Amount || part.RefundReference != intent.ID || len(refunds) > 0 {
			return isLeft()
		}
		return nothing
	case intent.Status == "canceled":
		if isSold || len(refunds) > 0 || p.Status != "" && (p.Status != "REFUNDED" || p.RefundReference != intent.ID) {
			return isLeft()
		}
		return nothing
	case intent.Status == "succeeded" && isSold:
		if len(refunds) != len(p.Refunds) {
			return isLeft()
		}
		for _, part := range p.Refunds {
			if !slices.ContainsFunc(refunds, func(f fakeRefund) bool { return f.ID == part.RefundReference && f.Amount == part.Amount }) {
				return isLeft()
			}
		}
		if len(refunds) > 0 {
			return partly
		}
		return kept
	case intent.Status == "succeeded" && len(refunds) == 1:
		if refunds[0].Amount != intent.Amount || p.Status != "REFUNDED" || p.RefundReference != refunds[0].ID {
			return isLeft()
		}
		return refunded
	}
	return isLeft()
}
