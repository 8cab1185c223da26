package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"
)

const (
	stripeKey     = "sk_test_secretkey"
	webhookSecret = "whsec_secretofwebhooks"

	// Payment methods for tests: Stripe's, but for the last.
	cardGood       = "pm_card_visa"
	cardDeclined   = "pm_card_chargeDeclined"
	cardBank       = "pm_card_authenticationRequired"
	cardBankFails  = "pm_card_authenticationRequiredChargeDeclinedInsufficientFunds"
	cardBankWaits  = "pm_card_waits" // the customer never comes back
	savedErrorLife = 2               // how often the fake repeats a saved error: in place of a day
)

// fakeIntent is a PaymentIntent, with the fields of Stripe's answers that a shop may use.
type fakeIntent struct {
	ID                 string            `json:"id"`
	Object             string            `json:"object"`
	Amount             int64             `json:"amount"`
	AmountCapturable   int64             `json:"amount_capturable"`
	AmountReceived     int64             `json:"amount_received"`
	CancellationReason *string           `json:"cancellation_reason"`
	CaptureMethod      string            `json:"capture_method"`
	ClientSecret       string            `json:"client_secret"`
	Created            int64             `json:"created"`
	Currency           string            `json:"currency"`
	Livemode           bool              `json:"livemode"`
	Metadata           map[string]string `json:"metadata"`
	NextAction         map[string]any    `json:"next_action"`
	PaymentMethod      *string           `json:"payment_method"`
	PaymentMethodTypes []string          `json:"payment_method_types"`
	Status             string            `json:"status"`
}

type fakeRefund struct {
	ID            string            `json:"id"`
	Object        string            `json:"object"`
	Amount        int64             `json:"amount"`
	Created       int64             `json:"created"`
	Currency      string            `json:"currency"`
	Metadata      map[string]string `json:"metadata"`
	PaymentIntent *string           `json:"payment_intent"`
	Status        string            `json:"status"`
}

// answer is a response, and for how many more repeats a saved one lasts.
type answer struct {
	status  int
	body    []byte
	request string
	repeats int
}

// fakeStripe keeps intents, refunds and idempotency keys in memory, as Stripe documents them.
type fakeStripe struct {
	mu      sync.Mutex
	intents map[string]*fakeIntent
	refunds map[string]*fakeRefund
	keys    map[string]*answer
	// isSold is called before a capture takes effect. It reports whether Holdfast has the seats for it.
	isSold     func(intentID string) bool
	violations []string
	// send delivers an event to the shop.
	send func(payload []byte)
}

func newFakeStripe() *fakeStripe {
	return &fakeStripe{intents: map[string]*fakeIntent{}, refunds: map[string]*fakeRefund{}, keys: map[string]*answer{}}
}

// newID makes an ID that no other fake has: they share a Holdfast.
func newID(prefix string) string { return prefix + "_" + rand.Text() }

// stripeError is an answer with an error. Stripe tells the intent with it, with its client secret.
func stripeError(status int, kind, code string, intent *fakeIntent) *answer {
	body, _ := json.Marshal(map[string]any{"error": map[string]any{
		"type": kind, "code": code, "message": "The fake refuses this.", "payment_intent": intent,
	}})
	return &answer{status: status, body: body}
}

func wrongState(intent *fakeIntent) *answer {
	return stripeError(http.StatusBadRequest, "invalid_request_error", "payment_intent_unexpected_state", intent)
}

func found(v any) *answer {
	body, _ := json.Marshal(v)
	return &answer{status: http.StatusOK, body: body}
}

// fault is what goes wrong with a call.
type fault int

const (
	faultNone      fault = iota
	faultRefused         // 503 without effect, which is not saved for the key
	faultLost            // the effect, and no reply
	faultLate            // no reply, and the effect comes later, when the shop may have tried again
	faultServer          // 500 without effect; Stripe repeats it for the key
	faultDoneError       // the effect and 500; Stripe repeats it for the key
	faultKinds
)

// call executes a request. A key that was used gets the answer of its first request, also if that was an error.
func (f *fakeStripe) call(r *http.Request, body []byte, wrong fault) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", "req_fake")
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+stripeKey {
		w.WriteHeader(http.StatusUnauthorized)
		return w
	}
	key := r.Header.Get("Idempotency-Key")
	request := r.Method + r.URL.Path + string(body)
	reply, known := f.keys[key]
	switch {
	case known && key != "" && reply.request != request:
		reply = stripeError(http.StatusBadRequest, "idempotency_error", "", nil)
		f.violations = append(f.violations, "an idempotency key was used for two requests: "+request)
	case known && key != "":
		w.Header().Set("Idempotent-Replayed", "true")
		if reply.repeats--; reply.repeats == 0 {
			delete(f.keys, key)
		}
	default:
		failed := stripeError(http.StatusInternalServerError, "api_error", "", nil)
		if wrong == faultServer {
			reply = failed
		} else if reply = f.execute(r, body); wrong == faultDoneError {
			reply = failed
		}
		reply.request = request
		if reply.status >= http.StatusInternalServerError {
			reply.repeats = savedErrorLife
		}
		if r.Method == http.MethodPost {
			f.keys[key] = reply
		}
	}
	if reply.status >= http.StatusInternalServerError {
		w.Header().Set("Stripe-Should-Retry", "false")
	}
	w.WriteHeader(reply.status)
	_, _ = w.Write(reply.body) // a recorder takes everything
	return w
}

func (f *fakeStripe) execute(r *http.Request, body []byte) *answer {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return stripeError(http.StatusBadRequest, "invalid_request_error", "", nil)
	}
	part := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	if part[0] == "refunds" {
		if r.Method == http.MethodGet {
			return f.listRefunds(r.URL.Query().Get("payment_intent"))
		}
		return f.refund(form)
	}
	if len(part) == 1 {
		return f.create(form)
	}
	intent := f.intents[part[1]]
	if intent == nil {
		return stripeError(http.StatusNotFound, "invalid_request_error", "resource_missing", nil)
	}
	if len(part) == 2 {
		return found(intent)
	}
	switch part[2] {
	case "confirm":
		return f.confirm(intent, form)
	case "capture":
		return f.capture(intent)
	default:
		return f.cancel(intent, form.Get("cancellation_reason"))
	}
}

func metadata(form url.Values) map[string]string {
	m := map[string]string{}
	for name, values := range form {
		if key, isMetadata := strings.CutPrefix(name, "metadata["); isMetadata {
			m[strings.TrimSuffix(key, "]")] = values[0]
		}
	}
	return m
}

func (f *fakeStripe) create(form url.Values) *answer {
	amount, err := strconv.ParseInt(form.Get("amount"), 10, 64)
	method := form.Get("payment_method")
	if err != nil || form.Get("capture_method") != "manual" || !strings.HasPrefix(method, "pm_card_") {
		return stripeError(http.StatusBadRequest, "invalid_request_error", "resource_missing", nil)
	}
	i := &fakeIntent{
		ID: newID("pi"), Object: "payment_intent", Amount: amount, CaptureMethod: "manual", Created: time.Now().Unix(),
		Currency: form.Get("currency"), Metadata: metadata(form), PaymentMethod: &method, PaymentMethodTypes: []string{"card"},
		Status: "requires_confirmation",
	}
	i.ClientSecret = i.ID + "_secret_client"
	f.intents[i.ID] = i
	return found(i)
}

func (f *fakeStripe) confirm(i *fakeIntent, form url.Values) *answer {
	if i.Status != "requires_confirmation" {
		return wrongState(i)
	}
	switch *i.PaymentMethod {
	case cardDeclined:
		f.decline(i)
		return stripeError(http.StatusPaymentRequired, "card_error", "card_declined", i)
	case cardBank, cardBankFails, cardBankWaits:
		i.Status = "requires_action"
		i.NextAction = map[string]any{"type": "redirect_to_url", "redirect_to_url": map[string]any{
			"url": "https://bank.example/?secret=" + i.ClientSecret, "return_url": form.Get("return_url"),
		}}
		if *i.PaymentMethod != cardBankWaits {
			time.AfterFunc(20*time.Millisecond, func() { f.authenticate(i.ID, *i.PaymentMethod == cardBank) })
		}
	default:
		f.authorize(i)
	}
	return found(i)
}

// authenticate is the customer at the bank's page.
func (f *fakeStripe) authenticate(id string, succeeds bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.intents[id]
	if i.Status != "requires_action" {
		return
	}
	if i.NextAction = nil; succeeds {
		f.authorize(i)
	} else {
		f.decline(i)
	}
}

func (f *fakeStripe) authorize(i *fakeIntent) {
	i.Status, i.AmountCapturable = "requires_capture", i.Amount
	f.tell("payment_intent.amount_capturable_updated", i)
}

func (f *fakeStripe) decline(i *fakeIntent) {
	i.Status, i.PaymentMethod = "requires_payment_method", nil
	f.tell("payment_intent.payment_failed", i)
}

func (f *fakeStripe) capture(i *fakeIntent) *answer {
	if i.Status != "requires_capture" {
		return wrongState(i)
	}
	if f.isSold != nil && !f.isSold(i.ID) {
		f.violations = append(f.violations, "captured without seats: "+i.ID)
	}
	i.Status, i.AmountReceived, i.AmountCapturable = "succeeded", i.Amount, 0
	f.tell("payment_intent.succeeded", i)
	return found(i)
}

func (f *fakeStripe) cancel(i *fakeIntent, reason string) *answer {
	if i.Status == "succeeded" || i.Status == "canceled" {
		return wrongState(i)
	}
	i.Status, i.AmountCapturable, i.CancellationReason, i.NextAction = "canceled", 0, &reason, nil
	f.tell("payment_intent.canceled", i)
	return found(i)
}

// expire is what Stripe does with an authorization after seven days.
func (f *fakeStripe) expire(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cancel(f.intents[id], "automatic")
}

func (f *fakeStripe) refundsOf(intentID string) (all []*fakeRefund) {
	for _, id := range slices.Sorted(maps.Keys(f.refunds)) {
		if r := f.refunds[id]; *r.PaymentIntent == intentID {
			all = append(all, r)
		}
	}
	return all
}

func (f *fakeStripe) listRefunds(intentID string) *answer {
	data := f.refundsOf(intentID)
	if data == nil {
		data = []*fakeRefund{}
	}
	return found(map[string]any{"object": "list", "url": "/v1/refunds", "has_more": false, "data": data})
}

func (f *fakeStripe) refund(form url.Values) *answer {
	i := f.intents[form.Get("payment_intent")]
	if i == nil || i.Status != "succeeded" {
		return wrongState(i)
	}
	left := i.AmountReceived
	for _, r := range f.refundsOf(i.ID) {
		left -= r.Amount
	}
	amount, err := strconv.ParseInt(form.Get("amount"), 10, 64)
	if err != nil || amount > left {
		return stripeError(http.StatusBadRequest, "invalid_request_error", "charge_already_refunded", nil)
	}
	r := &fakeRefund{
		ID: newID("re"), Object: "refund", Amount: amount, Created: time.Now().Unix(), Currency: i.Currency, Metadata: metadata(form),
		PaymentIntent: &i.ID, Status: "succeeded",
	}
	f.refunds[r.ID] = r
	return found(r)
}

// tell sends an event of an intent, as it is now.
func (f *fakeStripe) tell(kind string, i *fakeIntent) {
	payload, _ := json.Marshal(map[string]any{
		"id": newID("evt"), "object": "event", "api_version": stripe.APIVersion, "created": time.Now().Unix(), "type": kind,
		"data": map[string]any{"object": i},
	})
	if f.send != nil {
		f.send(payload)
	}
}

// snapshot copies an intent and its refunds.
func (f *fakeStripe) snapshot(id string) (fakeIntent, []fakeRefund) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var refunds []fakeRefund
	for _, r := range f.refundsOf(id) {
		refunds = append(refunds, *r)
	}
	return *f.intents[id], refunds
}

func (f *fakeStripe) intentIDs() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.intents))
}

// deliver posts an event to the shop's webhook and returns the answer's status; 0 if there was none.
func deliver(shopURL string, payload []byte, secret string, at time.Time) int {
	signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: payload, Secret: secret, Timestamp: at})
	request, err := http.NewRequest(http.MethodPost, shopURL+"/stripe", bytes.NewReader(payload))
	if err != nil {
		return 0
	}
	request.Header.Set("Stripe-Signature", signed.Header)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close() // only the status counts
	return response.StatusCode
}
