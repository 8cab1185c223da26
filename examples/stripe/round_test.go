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
)

// scenario is an order of a round, and what may become of it: the first of want, or the others if the shop is killed or calls fail.
type scenario struct {
	name, card, event string
	seats             int
	want              []result
}

const (
	otherTab = "cancelled in another tab"
	expired  = "the authorization expires"
	giveUp   = "tickets given back"
)

var scenarios = []scenario{
	{"sale", cardGood, onSale, 2, []result{kept}},
	{"declined", cardDeclined, onSale, 2, []result{nothing}},
	{"asks the bank", cardBank, onSale, 1, []result{kept}},
	{"the bank refuses", cardBankFails, onSale, 1, []result{nothing}},
	{"late, accepted", cardGood, accepts, 2, []result{kept, nothing}},
	{"late, refused", cardGood, refuses, 2, []result{nothing}},
	{"no such card", "pm_unknown", onSale, 1, []result{nothing}},
	{"no seats", cardGood, soldOut, 2, []result{nothing}},
	{otherTab, cardGood, onSale, 1, []result{nothing, refunded}},                   // before it is confirmed
	{expired, cardGood, onSale, 1, []result{nothing, kept}},                        // after it is confirmed
	{giveUp, cardGood, onSale, 3, []result{refunded}},                              // after the sale
	{"event cancelled", cardGood, cancelled, 1, []result{refunded, kept, nothing}}, // before one of the two is captured
	{"event cancelled", cardGood, cancelled, 2, []result{refunded, kept, nothing}},
}

// round is all scenarios at the same time.
type round struct {
	*world
	rng    *lockedRand
	events map[string]string   // their IDs
	carts  map[string]scenario // by the order's ID

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
	r := &round{world: newWorld(t), rng: rng, carts: map[string]scenario{}}
	r.events = map[string]string{
		onSale:    r.createEvent(100, client.LatePaymentsRefused),
		accepts:   r.createEvent(100, client.LatePaymentsAccepted),
		refuses:   r.createEvent(100, client.LatePaymentsRefused),
		cancelled: r.createEvent(100, client.LatePaymentsRefused),
		soldOut:   r.createEvent(1, client.LatePaymentsRefused),
	}
	for _, s := range scenarios {
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
		if s.name == expired && r.first(expired) {
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
	if s.name != giveUp {
		return
	}
	sells := poll(quietTimeout, func() bool { o, _ := r.order(cart); return o.State == sold })
	if !sells {
		r.Errorf("%s: not sold", s.name)
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
		if len(r.payments(client.PaymentFilter{EventID: &event, Status: new("REFUND_DUE")})) > 0 {
			return "a payment that is REFUND_DUE"
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
	results, paid := map[string]result{}, map[string]bool{}
	for _, id := range r.fake.intentIDs() {
		intent, refunds := r.fake.snapshot(id)
		cart := intent.Metadata["order"]
		if o, _ := r.order(cart); id != o.IntentID {
			// The shop was killed, or Stripe failed, before the ID was saved. Then an intent may be left that has no money.
			if intent.Status != "requires_confirmation" || len(r.payments(client.PaymentFilter{Reference: &id})) > 0 {
				r.Errorf("%s: one more intent, which is %s", r.carts[cart].name, intent.Status)
			}
			continue
		}
		results[cart] = r.checkIntent(intent, refunds)
		paid[id] = results[cart] == kept
	}
	for cart, s := range r.carts {
		if _, hasIntent := results[cart]; !hasIntent {
			results[cart] = nothing
		}
		if !slices.Contains(s.want, results[cart]) {
			r.Errorf("%s: %s, want %v", s.name, results[cart], s.want)
		}
		o, _ := r.order(cart)
		if results[cart] == kept && o.State != sold || results[cart] == nothing && o.State != ended {
			r.Errorf("%s: the order is %s, and the money %s", s.name, o.State, results[cart])
		}
	}
	for _, event := range r.events {
		for b, err := range r.operator.ListBookings(r.Context(), client.Filter{EventID: &event, Status: new("CONFIRMED")}) {
			if err != nil {
				r.Fatal(err)
			}
			if !paid[b.PaymentReference] {
				r.Errorf("confirmed without money: booking %s, payment %q", b.ID, b.PaymentReference)
			}
		}
	}
	r.fake.mu.Lock()
	defer r.fake.mu.Unlock()
	for _, v := range r.fake.violations {
		r.Error(v)
	}
	return results
}

// checkIntent compares an intent with its booking and its payment at Holdfast.
func (r *round) checkIntent(intent fakeIntent, refunds []fakeRefund) result {
	name := fmt.Sprintf("%s (%s)", r.carts[intent.Metadata["order"]].name, intent.ID)
	booking, err := r.operator.GetBooking(r.Context(), intent.Metadata["booking"])
	if err != nil {
		r.Fatal(err)
	}
	isSold := booking.Status == "CONFIRMED" && booking.PaymentReference == intent.ID
	payments := r.payments(client.PaymentFilter{Reference: &intent.ID})
	if len(payments) > 1 {
		r.Errorf("%s: payments %+v", name, payments)
	}
	switch {
	case intent.Status == "canceled":
		if isSold || len(refunds) > 0 || len(payments) == 1 && (payments[0].Status != "REFUNDED" || payments[0].RefundReference != intent.ID) {
			r.Errorf("%s is void; booking %+v, payments %+v, refunds %+v", name, booking, payments, refunds)
		}
		return nothing
	case intent.Status == "succeeded" && len(refunds) == 0:
		if !isSold || len(payments) != 1 || payments[0].Status != "ACCEPTED" {
			r.Errorf("%s is captured; booking %+v, payments %+v", name, booking, payments)
		}
		return kept
	case intent.Status == "succeeded":
		if isSold || len(refunds) != 1 || refunds[0].Amount != intent.Amount || len(payments) != 1 ||
			payments[0].Status != "REFUNDED" || payments[0].RefundReference != refunds[0].ID {
			r.Errorf("%s is refunded; booking %+v, payments %+v, refunds %+v", name, booking, payments, refunds)
		}
		return refunded
	}
	r.Errorf("%s is left as %s; booking %+v", name, intent.Status, booking)
	return nothing
}
