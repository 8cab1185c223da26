// Command stripe is a shop in one file: it sells seats of Holdfast for money of Stripe. Copy it, and replace its
// pages and its orders by your own. README.md says what each step guarantees, and what a crash at it does.
//
// One rule makes it safe. No step relies on what the process remembers: each pass over an order reads the
// PaymentIntent, does the one thing that its state calls for, and reads again. Each call may be repeated.
//
//	the intent is           the shop
//	(not made yet)          locks and books the seats, makes the intent, and saves its ID before any money moves
//	requires_confirmation   authorizes the amount
//	requires_action         waits for the customer's bank
//	requires_capture        confirms the booking at Holdfast. Confirmed: captures. Refused: voids. Unknown: asks again
//	succeeded               confirms once more, which changes nothing: the seats are sold
//	canceled                cancels the booking: no money, no seats
//
// Money that has to go back later (a cancelled event, returned tickets) is listed by Holdfast: see giveBack.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"html/template"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/holdfast-dev/holdfast/client"
)

const (
	price    = 4200 // of a seat, in cents
	currency = stripe.CurrencyEUR
	provider = "stripe" // the shop's name for Stripe at Holdfast

	paymentWindow = 15 * time.Minute // for which Holdfast keeps the seats of an order that is not paid
	callTimeout   = 20 * time.Second // of one request to Stripe
	passTimeout   = 60 * time.Second // of one pass over an order
	maxSteps      = 10               // of one pass; an order needs six
	maxEventBytes = 1 << 18
)

// order is one checkout. Its ID is the idempotency key of all that is made for it, so the same order makes one lock,
// one booking and one intent, however often it is tried.
type order struct {
	ID, EventID, Name, Email string
	Seats                    int64
	PaymentMethod            string // of Stripe, made in the customer's browser
	CreatedAt                time.Time

	BookingID, IntentID string // saved before any money moves
	BankURL             string // where the customer authenticates the payment; "": nowhere
	State               string // open, sold or ended
	Reason              string // why it ended
	StripeEvents        []string
}

const (
	open  = "open"
	sold  = "sold"
	ended = "ended" // without seats; money that was authorized is void, or is given back
)

type shop struct {
	holdfast      *client.Client
	stripe        *stripe.Client
	webhookSecret string
	url           string        // of the shop, for the way back from the customer's bank
	patience      time.Duration // with an order whose payment is not authorized
	orders        *os.Root
	locks         [64]sync.Mutex // of orders, by a hash of their IDs
}

// pass makes one pass over an order: until it is settled, has to wait for the customer, or a call fails. The reconciler
// comes back to all orders that are open.
func (s *shop) pass(ctx context.Context, o *order) error {
	tooOld := time.Since(o.CreatedAt) > s.patience
	if o.IntentID == "" {
		if tooOld { // an intent that was made and not saved was never authorized
			return s.end(o, "given up")
		}
		if err := s.begin(ctx, o); err != nil || o.State != open {
			return err
		}
	}
	for range maxSteps {
		intent, err := s.stripe.V1PaymentIntents.Retrieve(ctx, o.IntentID, nil)
		if err != nil {
			return err
		}
		switch intent.Status {
		case stripe.PaymentIntentStatusRequiresConfirmation:
			if tooOld {
				o.Reason, err = "given up", s.void(ctx, intent)
			} else {
				err = s.authorize(ctx, o)
			}
		case stripe.PaymentIntentStatusRequiresAction:
			if !tooOld {
				return s.awaitBank(o, intent)
			}
			o.Reason, err = "given up", s.void(ctx, intent)
		case stripe.PaymentIntentStatusRequiresPaymentMethod:
			o.Reason, err = "the payment was declined", s.void(ctx, intent)
		case stripe.PaymentIntentStatusRequiresCapture, stripe.PaymentIntentStatusSucceeded:
			err = s.sell(ctx, o, intent)
		case stripe.PaymentIntentStatusCanceled:
			err = s.cancelBooking(ctx, o)
		default: // processing
			return nil
		}
		if err != nil || o.State != open {
			return err
		}
	}
	return fmt.Errorf("order %s is not settled after %d steps", o.ID, maxSteps)
}

// begin reserves the seats and makes the intent, which takes no money yet.
func (s *shop) begin(ctx context.Context, o *order) error {
	booking, err := s.reserve(ctx, o)
	if refused(err) {
		return s.end(o, string(client.CodeOf(err)))
	}
	if err != nil {
		return err
	}
	params := &stripe.PaymentIntentCreateParams{
		Amount:             new(o.Seats * price),
		Currency:           new(string(currency)),
		CaptureMethod:      new(string(stripe.PaymentIntentCaptureMethodManual)),
		PaymentMethod:      &o.PaymentMethod,
		PaymentMethodTypes: []*string{new(string(stripe.PaymentMethodTypeCard))},
		Metadata:           map[string]string{"order": o.ID, "booking": booking.ID},
	}
	params.SetIdempotencyKey(o.ID)
	intent, err := s.stripe.V1PaymentIntents.Create(ctx, params)
	if invalid(err) {
		if _, err := s.holdfast.InEvent(o.EventID).CancelBooking(ctx, booking.ID); err != nil && !refused(err) {
			return err
		}
		return s.end(o, "Stripe refuses the payment")
	}
	if err != nil {
		return err
	}
	o.BookingID, o.IntentID = booking.ID, intent.ID
	return s.save(o)
}

// reserve locks and books the seats.
func (s *shop) reserve(ctx context.Context, o *order) (b client.Booking, err error) {
	user, found, err := s.holdfast.FindUser(ctx, o.Email)
	if err == nil && !found {
		user, err = s.holdfast.CreateUserOnce(ctx, client.NewUser{Name: o.Name, Email: o.Email, IdempotencyKey: o.ID})
	}
	if client.Is(err, client.EmailTaken) {
		return b, errors.New("another order has made the same customer: the next pass finds it")
	}
	if err != nil {
		return b, err
	}
	lock, err := s.holdfast.AcquireLock(ctx, client.LockRequest{
		EventID: o.EventID, UserID: user.ID, Seats: o.Seats, IdempotencyKey: o.ID,
	})
	if err != nil {
		return b, err
	}
	return s.holdfast.CreateBooking(ctx, client.BookingRequest{
		LockID: lock.ID, EventID: o.EventID, UserID: user.ID, PaymentTTL: paymentWindow,
	})
}

// authorize, void and capture need no idempotency key of the order: the intent's state lets each of them happen once.
// stripe-go sends a key of its own, under which it repeats a call that fails. A fixed key would do harm: Stripe
// repeats the answer to a key for a day, even if it was an error.
func (s *shop) authorize(ctx context.Context, o *order) error {
	_, err := s.stripe.V1PaymentIntents.Confirm(ctx, o.IntentID, &stripe.PaymentIntentConfirmParams{
		ReturnURL: new(s.url + "/orders/" + o.ID),
	})
	var refusal *stripe.Error
	if errors.As(err, &refusal) && refusal.Type == stripe.ErrorTypeCard {
		return nil // the intent says so too: requires_payment_method
	}
	return err
}

func (s *shop) void(ctx context.Context, intent *stripe.PaymentIntent) error {
	_, err := s.stripe.V1PaymentIntents.Cancel(ctx, intent.ID, &stripe.PaymentIntentCancelParams{
		CancellationReason: new(string(stripe.PaymentIntentCancellationReasonAbandoned)),
	})
	return err
}

// awaitBank leaves the order open. The webhook, the customer's way back or the reconciler goes on with it.
func (s *shop) awaitBank(o *order, intent *stripe.PaymentIntent) error {
	if intent.NextAction == nil || intent.NextAction.RedirectToURL == nil || o.BankURL == intent.NextAction.RedirectToURL.URL {
		return nil
	}
	o.BankURL = intent.NextAction.RedirectToURL.URL
	return s.save(o)
}

// sell confirms the booking, and then captures. The amount is on hold, so Holdfast's answer decides alone: the money is
// captured after CONFIRMED, and void after a refusal. Any other outcome is unknown, and leaves both sides as they are.
func (s *shop) sell(ctx context.Context, o *order, intent *stripe.PaymentIntent) error {
	_, err := s.holdfast.InEvent(o.EventID).ConfirmBookingWith(ctx, o.BookingID, client.Charge{
		Provider: provider, Reference: intent.ID, Amount: &intent.Amount, Currency: strings.ToUpper(string(intent.Currency)),
	})
	captured := intent.Status == stripe.PaymentIntentStatusSucceeded
	switch {
	case err == nil && captured:
		o.State = sold
		return s.save(o)
	case err == nil:
		_, err = s.stripe.V1PaymentIntents.Capture(ctx, intent.ID, nil)
		return err
	case !refused(err):
		return err
	case captured: // it was confirmed, and cancelled since: giveBack returns the money
		if e := (*client.Error)(nil); !errors.As(err, &e) || e.Payment == nil {
			return fmt.Errorf("captured, and Holdfast has no payment of it: %w", err)
		}
		return s.end(o, string(client.CodeOf(err)))
	default:
		o.Reason = string(client.CodeOf(err))
		return s.void(ctx, intent)
	}
}

// cancelBooking ends an order whose intent is canceled. The booking may be CONFIRMED: Stripe cancels an
// authorization that is not captured for seven days. Then its payment becomes REFUND_DUE, and giveBack notes that it is void.
func (s *shop) cancelBooking(ctx context.Context, o *order) error {
	holdfast := s.holdfast.InEvent(o.EventID)
	b, err := holdfast.GetBooking(ctx, o.BookingID)
	if err == nil && (b.PaymentReference == "" || b.PaymentReference == o.IntentID) {
		_, err = holdfast.CancelBooking(ctx, o.BookingID)
	}
	if err != nil && !refused(err) {
		return err
	}
	return s.end(o, cmp.Or(o.Reason, "the authorization was cancelled"))
}

// refused reports whether Holdfast has answered, and the answer is no. It is final: a repeat gets it too. Without an answer,
// with 503, and while the shop's key is wrong, the outcome is unknown.
func refused(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Code != "" && e.Status/100 == 4 &&
		e.Status != http.StatusUnauthorized && e.Status != http.StatusForbidden && e.Status != http.StatusTooManyRequests
}

// invalid reports whether Stripe refuses a request as it is, such as an unknown payment method.
func invalid(err error) bool {
	var e *stripe.Error
	return errors.As(err, &e) && (e.Type == stripe.ErrorTypeCard || e.Type == stripe.ErrorTypeInvalidRequest) &&
		(e.HTTPStatusCode == http.StatusBadRequest || e.HTTPStatusCode == http.StatusPaymentRequired)
}

func (s *shop) end(o *order, reason string) error {
	o.State, o.Reason = ended, reason
	return s.save(o)
}

// giveBack returns the money of all payments that are REFUND_DUE: it voids what is authorized, and refunds what is captured.
// Then it notes that at Holdfast. It needs no order, so it also serves bookings that an operator cancels.
func (s *shop) giveBack(ctx context.Context) error {
	for p, err := range s.holdfast.ListPayments(ctx, client.PaymentFilter{Status: new("REFUND_DUE")}) {
		if err != nil {
			return err
		}
		if p.Provider != provider {
			continue
		}
		reference, err := s.refund(ctx, p)
		if err == nil {
			_, err = s.holdfast.RefundPayment(ctx, p.ID, reference)
		}
		if err != nil {
			logError("A payment is still to be given back", err, slog.String("payment", p.ID), slog.String("intent", p.Reference))
		}
	}
	return nil
}

// refund gives back one payment, once, and returns Stripe's ID of that. Stripe remembers the key for a day; after that,
// the list of refunds says what was done.
func (s *shop) refund(ctx context.Context, p client.Payment) (reference string, err error) {
	intent, err := s.stripe.V1PaymentIntents.Retrieve(ctx, p.Reference, nil)
	if err != nil {
		return "", err
	}
	switch intent.Status {
	case stripe.PaymentIntentStatusCanceled:
		return intent.ID, nil // nothing was captured: the void is the refund
	case stripe.PaymentIntentStatusSucceeded:
	default:
		return intent.ID, s.void(ctx, intent)
	}
	list := &stripe.RefundListParams{PaymentIntent: &intent.ID}
	for r, err := range s.stripe.V1Refunds.List(ctx, list).All(ctx) {
		if err != nil {
			return "", err
		}
		returned := r.Status != stripe.RefundStatusFailed && r.Status != stripe.RefundStatusCanceled
		if returned && (r.Metadata["payment"] == p.ID || r.Amount == intent.AmountReceived) {
			return r.ID, nil
		}
	}
	params := &stripe.RefundCreateParams{PaymentIntent: &intent.ID, Amount: p.Amount, Metadata: map[string]string{"payment": p.ID}}
	params.SetIdempotencyKey(p.ID)
	r, err := s.stripe.V1Refunds.Create(ctx, params)
	if err != nil {
		return "", err
	}
	if r.Status == stripe.RefundStatusFailed || r.Status == stripe.RefundStatusCanceled {
		return "", fmt.Errorf("the refund %s is %s: return the money in another way", r.ID, r.Status)
	}
	return r.ID, nil
}

// reconcile makes a pass over each open order, and then gives back what is due. It is the whole recovery after a crash.
func (s *shop) reconcile(ctx context.Context) {
	files, err := fs.ReadDir(s.orders.FS(), open)
	if err != nil {
		logError("The orders can't be read", err)
	}
	for _, file := range files {
		id, isOrder := strings.CutSuffix(file.Name(), ".json")
		if !isOrder {
			continue
		}
		if err := s.with(ctx, id, s.pass); err != nil {
			logError("An order is not settled", err, slog.String("order", id))
		}
	}
	if err := s.giveBack(ctx); err != nil {
		logError("The payments can't be listed", err)
	}
}

// lock keeps an order from other goroutines until the caller unlocks it. Several processes would lock the order's row.
func (s *shop) lock(id string) (unlock func()) {
	lock := &s.locks[crc32.ChecksumIEEE([]byte(id))%uint32(len(s.locks))]
	lock.Lock()
	return lock.Unlock
}

// create saves an order that is new.
func (s *shop) create(o *order) error {
	defer s.lock(o.ID)()
	if _, err := s.load(o.ID); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.save(o)
}

// with calls do with a locked order, if it is open.
func (s *shop) with(ctx context.Context, id string, do func(context.Context, *order) error) error {
	defer s.lock(id)()
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	o, err := s.load(id)
	if err != nil {
		return err
	}
	if o.State != open {
		return s.forget(id)
	}
	return do(ctx, &o)
}

// load and save keep each order in a file, so that the example needs no database. What counts is the same in yours: save
// returns after the order is on the disk, and either all of it is, or nothing.
func (s *shop) load(id string) (o order, err error) {
	text, err := s.orders.ReadFile(path.Join("done", id+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		text, err = s.orders.ReadFile(path.Join(open, id+".json"))
	}
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	return o, err
}

func (s *shop) save(o *order) error {
	dir := open
	if o.State != open {
		dir = "done"
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	temporary, name := path.Join(dir, o.ID+".new"), path.Join(dir, o.ID+".json")
	f, err := s.orders.OpenFile(temporary, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := s.orders.Rename(temporary, name); err != nil {
		return err
	}
	d, err := s.orders.Open(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil || dir == open {
		return err
	}
	return s.forget(o.ID)
}

// forget removes an order from those that are open. It is in done by then, and that counts: a crash in between leaves both.
func (s *shop) forget(id string) error {
	if err := s.orders.Remove(path.Join(open, id+".json")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

var (
	cartPattern   = regexp.MustCompile(`^[A-Z2-7]{26}$`) // of rand.Text
	idPattern     = regexp.MustCompile(`^[0-9a-f]{24}$`)
	emailPattern  = regexp.MustCompile(`^[^@\s]{1,100}@[^@\s]{1,100}$`)
	methodPattern = regexp.MustCompile(`^pm_[A-Za-z0-9_]{1,100}$`)
)

// checkout saves the order and makes the first pass over it. A form that is sent twice is one order.
func (s *shop) checkout(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<14)
	seats, err := strconv.ParseInt(r.PostFormValue("seats"), 10, 64)
	o := order{
		ID: r.PostFormValue("cart"), EventID: r.PostFormValue("event"), Name: r.PostFormValue("name"), Email: r.PostFormValue("email"),
		Seats: seats, PaymentMethod: r.PostFormValue("payment_method"), CreatedAt: time.Now(), State: open,
	}
	if err != nil || seats < 1 || seats > 10 || !cartPattern.MatchString(o.ID) || !idPattern.MatchString(o.EventID) ||
		o.Name == "" || !emailPattern.MatchString(o.Email) || !methodPattern.MatchString(o.PaymentMethod) {
		http.Error(w, "The form is not complete.", http.StatusUnprocessableEntity)
		return
	}
	if err := s.create(&o); err != nil {
		logError("An order can't be saved", err)
		http.Error(w, "The shop can't take orders at the moment. Nothing was charged.", http.StatusServiceUnavailable)
		return
	}
	s.passFor(r, o.ID)
	http.Redirect(w, r, "/orders/"+o.ID, http.StatusSeeOther)
}

// passFor makes a pass while the customer waits. If a call fails, the page says that the order is in progress, and the
// reconciler goes on. A customer who leaves does not interrupt it.
func (s *shop) passFor(r *http.Request, id string) {
	err := s.with(context.WithoutCancel(r.Context()), id, s.pass)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		logError("An order is not settled", err, slog.String("order", id))
	}
}

// stripeEvent is Stripe's webhook. An event says only which order to look at: events come late, twice and in any order, so
// the pass reads the intent instead. Events of settled orders change nothing.
func (s *shop) stripeEvent(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEventBytes))
	if err != nil {
		http.Error(w, "The event can't be read.", http.StatusBadRequest)
		return
	}
	event, err := webhook.ConstructEvent(body, r.Header.Get("Stripe-Signature"), s.webhookSecret)
	var object struct{ Metadata map[string]string }
	if err != nil || json.Unmarshal(event.Data.Raw, &object) != nil {
		slog.Warn("A webhook without a valid signature was refused")
		http.Error(w, "The signature is not valid.", http.StatusBadRequest)
		return
	}
	if event.Type == stripe.EventTypeRefundFailed {
		slog.Error("A refund has failed: return the money in another way", slog.String("payment", object.Metadata["payment"]))
	}
	err = s.with(context.WithoutCancel(r.Context()), object.Metadata["order"], func(ctx context.Context, o *order) error {
		if slices.Contains(o.StripeEvents, event.ID) {
			return nil
		}
		if err := s.pass(ctx, o); err != nil {
			return err
		}
		o.StripeEvents = append(o.StripeEvents, event.ID)
		return s.save(o)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // an order of another shop does not exist
		logError("An event is not handled yet", err, slog.String("event", event.ID))
		http.Error(w, "Send it again later.", http.StatusServiceUnavailable)
	}
}

// logError logs an error without its secrets: Stripe's errors contain the intent with its client secret.
func logError(message string, err error, about ...slog.Attr) {
	text := err.Error()
	var e *stripe.Error
	if errors.As(err, &e) {
		text = fmt.Sprintf("stripe: %s %s (status %d, request %s)", e.Type, e.Code, e.HTTPStatusCode, e.RequestID)
	}
	slog.LogAttrs(context.Background(), slog.LevelError, message, append(about, slog.String("error", text))...)
}

var pages = template.Must(template.New("").Parse(`
{{define "head"}}<!doctype html><html lang="en"><meta charset="utf-8"><title>Shop</title>{{end}}
{{define "sale"}}{{template "head"}}<h1>Tickets</h1>{{$cart := .Cart}}
{{range .Events}}<form method="post" action="/orders"><h2>{{.Name}}</h2><p>{{.AvailableSeats}} seats left, 42 € each
<input type="hidden" name="cart" value="{{$cart}}"><input type="hidden" name="event" value="{{.ID}}">
<p><label>Name <input name="name" required></label> <label>E-mail <input name="email" type="email" required></label>
<label>Seats <input name="seats" type="number" min="1" max="10" value="2"></label>
<label>Card <select name="payment_method"><option value="pm_card_visa">Visa<option value="pm_card_chargeDeclined">declined
<option value="pm_card_authenticationRequired">asks the bank</select></label> <button>Pay</button></form>
{{else}}<p>Nothing is on sale.{{end}}{{end}}
{{define "order"}}{{template "head"}}<h1>Your order</h1>
{{if eq .State "sold"}}<p>{{.Seats}} seats are yours.
{{else if eq .State "ended"}}<p>The order has ended: {{.Reason}}. No money was taken, or it is on its way back. <a href="/">Try again</a>
{{else}}<p>The order is in progress.{{if .BankURL}} <a href="{{.BankURL}}">Continue at your bank</a>.{{end}}
<meta http-equiv="refresh" content="5">{{end}}{{end}}`))

func (s *shop) show(w http.ResponseWriter, page string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; form-action 'self'; frame-ancestors 'none'")
	w.Header().Set("Cache-Control", "no-store")
	if err := pages.ExecuteTemplate(w, page, data); err != nil {
		logError("A page can't be shown", err)
	}
}

func (s *shop) showSale(w http.ResponseWriter, r *http.Request) {
	data := struct {
		Cart   string
		Events []client.Event
	}{Cart: rand.Text()}
	for e, err := range s.holdfast.ListEvents(r.Context()) {
		if err != nil {
			logError("The events can't be listed", err)
			http.Error(w, "Try again in a moment.", http.StatusServiceUnavailable)
			return
		}
		if e.Status == "ON_SALE" && e.SeatingPlanID == "" && len(data.Events) < 20 {
			data.Events = append(data.Events, e)
		}
	}
	s.show(w, "sale", data)
}

// showOrder is also where the customer comes back to from the bank.
func (s *shop) showOrder(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !cartPattern.MatchString(id) {
		http.NotFound(w, r)
		return
	}
	s.passFor(r, id)
	o, err := s.load(id)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	s.show(w, "order", o)
}

func setting(name, byDefault string) string { return cmp.Or(os.Getenv(name), byDefault) }

// newShop reads the settings.
func newShop() (*shop, error) {
	dir := setting("SHOP_ORDERS", "orders")
	for _, sub := range []string{open, "done"} {
		if err := os.MkdirAll(path.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	orders, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	patience, err := time.ParseDuration(setting("SHOP_PATIENCE", "1h"))
	if err != nil {
		return nil, fmt.Errorf("SHOP_PATIENCE: %w", err)
	}
	key, secret := os.Getenv("STRIPE_KEY"), os.Getenv("STRIPE_WEBHOOK_SECRET")
	if key == "" || secret == "" {
		return nil, errors.New("STRIPE_KEY and STRIPE_WEBHOOK_SECRET are needed")
	}
	return &shop{
		holdfast: client.New(setting("HOLDFAST_URL", "http://127.0.0.1:8080"), client.WithKey(os.Getenv("HOLDFAST_KEY")),
			client.WithRetryTimeout(callTimeout)),
		stripe: stripe.NewClient(key, stripe.WithBackends(stripe.NewBackendsWithConfig(&stripe.BackendConfig{
			URL:           new(setting("STRIPE_URL", stripe.APIURL)),
			HTTPClient:    &http.Client{Timeout: callTimeout},
			LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull}, // it would log client secrets
		}))),
		webhookSecret: secret,
		url:           setting("SHOP_URL", "http://127.0.0.1:8090"),
		patience:      patience,
		orders:        orders,
	}, nil
}

func main() {
	if err := run(); err != nil {
		logError("The shop has ended", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	s, err := newShop()
	if err != nil {
		return err
	}
	interval, err := time.ParseDuration(setting("SHOP_INTERVAL", "10s"))
	if err != nil || interval <= 0 {
		return errors.New("SHOP_INTERVAL is not a duration")
	}
	// A page of another origin can't order. Stripe's webhook is no browser, so the protection lets it pass.
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.showSale)
	mux.HandleFunc("POST /orders", s.checkout)
	mux.HandleFunc("GET /orders/{id}", s.showOrder)
	mux.HandleFunc("POST /stripe", s.stripeEvent)
	server := &http.Server{
		Addr: setting("SHOP_ADDR", "127.0.0.1:8090"), Handler: http.NewCrossOriginProtection().Handler(mux), ReadTimeout: callTimeout,
	}
	go func() {
		for tick := time.NewTicker(interval); ctx.Err() == nil; {
			s.reconcile(ctx)
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
		_ = server.Close() // what is under way is settled at the next start
	}()
	slog.Info("The shop is open", slog.String("address", "http://"+server.Addr))
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
