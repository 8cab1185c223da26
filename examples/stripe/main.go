package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
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
	"syscall"
	"time"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/holdfast-dev/holdfast/client"
)

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
<form method="post" action="/orders/{{or .Of .ID}}/changes"><input type="hidden" name="change" value="{{.Change}}">
<p><label>Seats <input name="seats" type="number" min="1" max="10" value="{{.Seats}}"></label>
<label>Card <select name="payment_method"><option value="pm_card_visa">Visa<option value="pm_card_chargeDeclined">declined</select></label>
<button>Change</button></form>
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
	for e, err := range s.holdfast.ListEvents(r.Context(), client.EventFilter{}) {
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
	if o.State == sold { // the booking may have other seats by now
		if b, err := s.holdfast.GetBooking(r.Context(), o.BookingID); err == nil && b.Status == "CONFIRMED" {
			o.Seats = b.Seats
		}
	}
	s.show(w, "order", struct {
		order
		Change string
	}{o, rand.Text()})
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
	// A page of another origin can't order. Stripe's webhook does not come from a browser, so the protection lets it pass.
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.showSale)
	mux.HandleFunc("POST /orders", s.checkout)
	mux.HandleFunc("GET /orders/{id}", s.showOrder)
	mux.HandleFunc("POST /orders/{id}/changes", s.change)
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
