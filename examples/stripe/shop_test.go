package main

import (
	"bytes"
	cryptorand "crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85"

	"github.com/holdfast-dev/holdfast/client"
)

func TestShop_SettlesEveryOrder(t *testing.T) {
	r := newRound(t, newRand(1))
	r.run(nil)
	results := r.check()
	for cart, s := range r.carts {
		if s.event != cancelled && results[cart] != s.want[0] {
			t.Errorf("%s: %s, want %s", s.name, results[cart], s.want[0])
		}
		if s.then != nil && len(s.then.want) > 0 && results[s.then.cart] != s.then.want[0] {
			t.Errorf("%s, the change: %s, want %s", s.name, results[s.then.cart], s.then.want[0])
		}
	}
	for _, sent := range r.gate.requests {
		form, err := url.ParseQuery(string(sent.body))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"stripe POST /v1/payment_intents": form.Get("metadata[order]"),
			"stripe POST /v1/refunds":         form.Get("metadata[payment]") + form.Get("metadata[part]"),
		}[sent.call]
		if want != "" && sent.key != want {
			t.Errorf("%s has the key %s, want %s", sent.call, sent.key, want)
		}
	}
	reasons := map[string]bool{}
	for _, event := range r.events {
		for _, p := range r.payments(client.PaymentFilter{EventID: &event, Status: new("REFUNDED")}) {
			reasons[p.Reason] = true
		}
	}
	for _, reason := range []string{"late", "booking_cancelled"} {
		if !reasons[reason] {
			t.Errorf("no payment was given back because of %s: %v", reason, reasons)
		}
	}
}

// Each call goes wrong in each way: with an error before or after its effect, which Stripe repeats for the same key, without a
// reply, and with an effect that comes after the shop has tried again.
func TestShop_SurvivesFaults(t *testing.T) {
	var mu sync.Mutex
	calls, done := map[string]int{}, map[string]map[fault]bool{}
	next := func(call string) fault {
		mu.Lock()
		defer mu.Unlock()
		if done[call] == nil {
			done[call] = map[fault]bool{}
		}
		calls[call]++
		wrong := faultNone
		if n := calls[call]; n%2 == 1 {
			wrong = fault(n / 2 % int(faultKinds))
		}
		done[call][wrong] = true
		return wrong
	}
	isDone := func() bool {
		mu.Lock()
		defer mu.Unlock()
		for _, kinds := range done {
			if len(kinds) < int(faultKinds) {
				return false
			}
		}
		return len(done) > 0
	}
	for rounds := 0; !isDone(); rounds++ {
		if rounds == 20 {
			t.Fatalf("not all calls went wrong in all ways: %v", done)
		}
		r := newRound(t, newRand(uint64(rounds)))
		r.gate.fault = next
		r.run(nil)
		r.check()
		if t.Failed() {
			return
		}
	}
	t.Logf("%v", slices.Sorted(maps.Keys(done)))
}

const confirmation = "holdfast POST /api/events/{id}/bookings/{id}/confirm"

// While Holdfast has not answered, the money is neither captured nor void.
func TestShop_LeavesUnknownOutcomesAlone(t *testing.T) {
	for name, wrong := range map[string]fault{"before": faultServer, "after": faultDoneError, "lost": faultLost, "late": faultLate} {
		t.Run(name, func(t *testing.T) {
			w, cart := newWorld(t), cryptorand.Text()
			var failures atomic.Int64
			w.gate.fault = func(call string) fault {
				if call != confirmation || failures.Add(1) > 3 {
					return faultNone
				}
				if ids := w.fake.intentIDs(); len(ids) == 1 {
					if intent, _ := w.fake.snapshot(ids[0]); intent.Status != "requires_capture" {
						t.Errorf("the outcome is unknown, and the intent %s", intent.Status)
					}
				}
				return wrong
			}
			event := w.createEvent(10, client.LatePaymentsRefused)
			w.start(nil)
			w.buy(cart, event, strings.ToLower(cart)+"@example.com", cardGood, 1)
			if !poll(quietTimeout, func() bool { o, _ := w.order(cart); return o.State != open }) || failures.Load() < 4 {
				t.Fatalf("%d confirmations", failures.Load())
			}
			if o, _ := w.order(cart); o.State != sold {
				t.Errorf("%+v", o)
			}
		})
	}
}

// Holdfast records no payment of a confirmation that is not valid. Only the shop can give that money back.
func TestShop_VoidsWhatHoldfastDoesNotRecord(t *testing.T) {
	w, cart := newWorld(t), cryptorand.Text()
	w.gate.before = func(call string, body []byte) []byte {
		if call == confirmation {
			return bytes.Replace(body, []byte("EUR"), []byte("no currency"), 1)
		}
		return body
	}
	event := w.createEvent(10, client.LatePaymentsRefused)
	w.start(nil)
	w.buy(cart, event, strings.ToLower(cart)+"@example.com", cardGood, 1)
	o, _ := w.order(cart)
	intent, _ := w.fake.snapshot(o.IntentID)
	booking, err := w.operator.GetBooking(t.Context(), o.BookingID)
	if err != nil {
		t.Fatal(err)
	}
	if o.State != ended || intent.Status != "canceled" || booking.Status != "CANCELLED" {
		t.Errorf("%+v, %+v, %+v", o, intent, booking)
	}
	if payments := w.payments(client.PaymentFilter{EventID: &event}); len(payments) > 0 {
		t.Errorf("%+v", payments)
	}
}

// newBankOrder makes a world without a reconciler, and an order whose customer is at the bank's page. Events wait in the channel.
func newBankOrder(t *testing.T) (w *world, cart string, events chan []byte) {
	t.Helper()
	w, cart, events = newWorld(t, "SHOP_INTERVAL=1h"), cryptorand.Text(), make(chan []byte, 10)
	w.fake.send = func(payload []byte) { events <- payload }
	event := w.createEvent(10, client.LatePaymentsRefused)
	w.start(nil)
	w.buy(cart, event, strings.ToLower(cart)+"@example.com", cardBankWaits, 2)
	if o, _ := w.order(cart); o.State != open || o.IntentID == "" || !strings.HasPrefix(o.BankURL, "https://bank.example/") {
		t.Fatalf("%+v", o)
	}
	return w, cart, events
}

func TestWebhook_SettlesTheOrder(t *testing.T) {
	w, cart, events := newBankOrder(t)
	o, _ := w.order(cart)
	w.fake.authenticate(o.IntentID, true)
	authorized := <-events
	now := time.Now()
	for name, got := range map[string]int{
		"another secret": deliver(w.url, authorized, "whsec_another", now),
		"an old one":     deliver(w.url, authorized, webhookSecret, now.Add(-time.Hour)),
		"no JSON":        deliver(w.url, []byte("{"), webhookSecret, now),
	} {
		if got != http.StatusBadRequest {
			t.Errorf("%s: %d", name, got)
		}
	}
	if o, _ = w.order(cart); o.State != open {
		t.Errorf("an event that is not Stripe's settled the order: %+v", o)
	}
	for range 2 {
		if got := deliver(w.url, authorized, webhookSecret, now); got != http.StatusOK {
			t.Errorf("%d", got)
		}
	}
	if o, _ = w.order(cart); o.State != sold {
		t.Errorf("%+v", o)
	}
	foreign, _ := json.Marshal(map[string]any{
		"id": "evt_foreign", "object": "event", "api_version": stripe.APIVersion, "type": "payment_intent.succeeded",
		"data": map[string]any{"object": map[string]any{"id": "pi_foreign", "metadata": map[string]string{"order": cryptorand.Text()}}},
	})
	if got := deliver(w.url, foreign, webhookSecret, now); got != http.StatusOK {
		t.Errorf("the event of another shop is answered %d", got)
	}
}

// An event that was handled makes no calls, and an event that is late does not decide: the intent does.
func TestWebhook_ComesTwiceAndOutOfOrder(t *testing.T) {
	w, cart, _ := newBankOrder(t)
	o, _ := w.order(cart)
	event := func(id, kind string) []byte {
		intent, _ := w.fake.snapshot(o.IntentID)
		payload, _ := json.Marshal(map[string]any{
			"id": id, "object": "event", "api_version": stripe.APIVersion, "type": kind, "data": map[string]any{"object": intent},
		})
		return payload
	}
	const read = "stripe GET /v1/payment_intents/{id}"
	waiting := event("evt_1", "payment_intent.requires_action")
	for i, want := range []int{1, 0} {
		before := w.gate.seen()[read]
		if got := deliver(w.url, waiting, webhookSecret, time.Now()); got != http.StatusOK || w.gate.seen()[read]-before != want {
			t.Errorf("delivery %d: %d, %d calls, want %d", i, got, w.gate.seen()[read]-before, want)
		}
	}
	failed := event("evt_2", "payment_intent.payment_failed") // sent before the customer tried once more
	w.fake.authenticate(o.IntentID, true)
	if got := deliver(w.url, failed, webhookSecret, time.Now()); got != http.StatusOK {
		t.Errorf("%d", got)
	}
	if o, _ = w.order(cart); o.State != sold {
		t.Errorf("%+v", o)
	}
}

// The customer never comes back from the bank.
func TestShop_GivesUp(t *testing.T) {
	w, cart, _ := newBankOrder(t)
	w.kill()
	o, _ := w.order(cart)
	o.CreatedAt = o.CreatedAt.Add(-2 * time.Hour)
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, open, cart+".json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	w.start(nil)
	if !poll(quietTimeout, func() bool { o, _ = w.order(cart); return o.State == ended }) {
		t.Fatalf("%+v", o)
	}
	booking, err := w.operator.GetBooking(t.Context(), o.BookingID)
	if err != nil {
		t.Fatal(err)
	}
	intent, _ := w.fake.snapshot(o.IntentID)
	if intent.Status != "canceled" || booking.Status != "CANCELLED" || o.Reason != "given up" {
		t.Errorf("%+v, %+v, %+v", o, intent, booking)
	}
}

func TestPages(t *testing.T) {
	w := newWorld(t)
	event := w.createEvent(10, client.LatePaymentsRefused)
	w.start(nil)
	cart := cryptorand.Text()
	w.buy(cart, event, "ada@example.com", cardGood, 3)
	page := func(path string) string {
		response, err := http.Get(w.url + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close() // it was read
		if err != nil {
			t.Fatal(err)
		}
		return response.Status + string(text)
	}
	for path, want := range map[string]string{
		"/":                              `name="cart"`,
		"/orders/" + cart:                "3 seats are yours",
		"/orders/" + cryptorand.Text():   "404",
		"/orders/..%2F..%2Fetc%2Fpasswd": "404",
	} {
		if got := page(path); !strings.Contains(got, want) {
			t.Errorf("%s: no %q in %s", path, want, got)
		}
	}
	post := func(form, origin string) int {
		request, err := http.NewRequest(http.MethodPost, w.url+"/orders", strings.NewReader(form))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", origin)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // only the status counts
		return response.StatusCode
	}
	known, err := w.operator.CreateUser(t.Context(), "Ada", "a@b.c")
	if err != nil {
		t.Fatal(err)
	}
	complete := fmt.Sprintf("cart=%s&event=%s&name=Ada&email=a@b.c&seats=1&payment_method=pm_card_visa", cryptorand.Text(), event)
	for form, want := range map[string]int{
		complete + "&seats=0":                                            http.StatusOK, // the first value counts
		strings.Replace(complete, "seats=1", "seats=0", 1):               http.StatusUnprocessableEntity,
		strings.Replace(complete, "seats=1", "seats=11", 1):              http.StatusUnprocessableEntity,
		strings.Replace(complete, "cart=", "cart=..%2F", 1):              http.StatusUnprocessableEntity,
		strings.Replace(complete, "pm_card_visa", "4242424242424242", 1): http.StatusUnprocessableEntity,
		strings.Replace(complete, "name=Ada", "name=", 1):                http.StatusUnprocessableEntity,
	} {
		if got := post(form, w.url); got != want {
			t.Errorf("%s: %d, want %d", form, got, want)
		}
	}
	for b, err := range w.operator.ListBookings(t.Context(), client.Filter{UserID: &known.ID}) {
		t.Errorf("whoever typed the address of a customer booked for them: %v, %v", b, err)
	}
	found := 0
	for b, err := range w.operator.ListBookings(t.Context(), client.Filter{Reference: &cart}) {
		if found++; err != nil || b.Holder != cart || b.UserID != "" || b.Seats != 3 {
			t.Errorf("the booking of the order is %+v, %v", b, err)
		}
	}
	if found != 1 {
		t.Errorf("%d bookings have the order's number", found)
	}
	if got := post(complete, "https://elsewhere.example"); got != http.StatusForbidden {
		t.Errorf("a page of another origin gets %d", got)
	}
}
