// Command stripe is a shop: it sells seats of Holdfast for money of Stripe. Copy it, and replace its pages (main.go)
// and its orders (orders.go) by your own. README.md says what each step guarantees, and what a crash at it does.
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
// A change of a sold order goes the same way: see changes.go. Money that has to go back later (a cancelled event, returned
// tickets) is listed by Holdfast: see giveBack.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/stripe/stripe-go/v85"

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
	BankURL             string // where the customer authenticates the payment; "" if that is not needed
	State               string // open, sold or ended

	// Of a change of a sold order: that order, how many seats it had, and for fewer seats, the payment that a part goes back of.
	Of       string
	From     int64
	RefundOf string

	Reason       string // why it ended
	StripeEvents []string
}

// amount is what an order costs; below 0, it is given back.
func (o *order) amount() int64 { return (o.Seats - o.From) * price }

func (o *order) reasonOr(byDefault string) string { return cmp.Or(o.Reason, byDefault) }

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
	if o.amount() < 0 {
		return s.returnSeats(ctx, o)
	}
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
			if o.Of != "" {
				err = s.undo(ctx, o, intent)
			} else {
				err = s.cancelBooking(ctx, o)
			}
		default: // processing
			return nil
		}
		if err != nil || o.State != open {
			return err
		}
	}
	return fmt.Errorf("order %s is not settled after %d steps", o.ID, maxSteps)
}

// begin reserves the seats and makes the intent, which takes no money yet. The seats of a change are taken once its amount is on hold.
func (s *shop) begin(ctx context.Context, o *order) error {
	if o.Of == "" {
		booking, err := s.reserve(ctx, o)
		if refused(err) {
			return s.end(o, string(client.CodeOf(err)))
		}
		if err != nil {
			return err
		}
		o.BookingID = booking.ID
	}
	params := &stripe.PaymentIntentCreateParams{
		Amount:             new(o.amount()),
		Currency:           new(string(currency)),
		CaptureMethod:      new(string(stripe.PaymentIntentCaptureMethodManual)),
		PaymentMethod:      &o.PaymentMethod,
		PaymentMethodTypes: []*string{new(string(stripe.PaymentMethodTypeCard))},
		Metadata:           map[string]string{"order": o.ID, "booking": o.BookingID},
	}
	params.SetIdempotencyKey(o.ID)
	intent, err := s.stripe.V1PaymentIntents.Create(ctx, params)
	if invalid(err) && o.Of == "" {
		if _, err := s.holdfast.InEvent(o.EventID).CancelBooking(ctx, o.BookingID); err != nil && !refused(err) {
			return err
		}
	}
	if invalid(err) {
		return s.end(o, "Stripe refuses the payment")
	}
	if err != nil {
		return err
	}
	o.IntentID = intent.ID
	return s.save(o)
}

// reserve locks and books the seats for a guest: the holder is the cart, because this shop has no login, and whoever types an
// address has not proved that it is theirs. A shop with accounts names the account's customer. The reference is the number of
// the order, by which an operator finds the booking.
func (s *shop) reserve(ctx context.Context, o *order) (b client.Booking, err error) {
	lock, err := s.holdfast.AcquireLock(ctx, client.LockRequest{
		EventID: o.EventID, Holder: o.ID, Seats: o.Seats, IdempotencyKey: o.ID, ShopData: client.ShopData{Reference: o.ID},
	})
	if err != nil {
		return b, err
	}
	return s.holdfast.CreateBooking(ctx, client.BookingRequest{
		LockID: lock.ID, EventID: o.EventID, Holder: o.ID, PaymentTTL: paymentWindow,
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
//
// A change is made first. Then the confirmation says, once and for all, whether the booking was changed: it is answered 200
// if the intent is one of its payments, and otherwise refuses the intent, also for a request of the change that comes late.
func (s *shop) sell(ctx context.Context, o *order, intent *stripe.PaymentIntent) error {
	charge := client.Charge{
		Provider: provider, Reference: intent.ID, Amount: &intent.Amount, Currency: strings.ToUpper(string(intent.Currency)),
	}
	captured, refusal := intent.Status == stripe.PaymentIntentStatusSucceeded, ""
	if o.Of != "" && !captured {
		var err error
		if refusal, err = s.addSeats(ctx, o, charge); err != nil {
			return err
		}
	}
	_, err := s.holdfast.InEvent(o.EventID).ConfirmBookingWith(ctx, o.BookingID, charge)
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
		o.Reason = cmp.Or(refusal, string(client.CodeOf(err)))
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
	return s.end(o, o.reasonOr("the authorization was cancelled"))
}

// refused reports whether Holdfast has refused the request. A refusal is final: a repeat gets it too. Without an answer,
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

// giveBack returns all money that is due: it voids what is authorized, and refunds what is captured, whole or in part. Then
// it notes that at Holdfast. It needs no order, so it also serves bookings that an operator changes or cancels.
func (s *shop) giveBack(ctx context.Context) error {
	for p, err := range s.holdfast.ListPayments(ctx, client.PaymentFilter{RefundDue: true, Provider: new(provider)}) {
		if err != nil {
			return err
		}
		if err := s.giveBackOf(ctx, p); err != nil {
			logError("A payment is still to be given back", err, slog.String("payment", p.ID), slog.String("intent", p.Reference))
		}
	}
	return nil
}

// giveBackOf returns the parts of a payment that are due, and then, if the payment is due, what is left of it.
func (s *shop) giveBackOf(ctx context.Context, p client.Payment) error {
	for _, part := range p.Refunds {
		if part.Status != "DUE" {
			continue
		}
		reference, err := s.refund(ctx, p, "part", part.ID, &part.Amount)
		if err == nil {
			p, err = s.holdfast.NotePartRefunded(ctx, p.ID, part.ID, reference)
		}
		if err != nil {
			return err
		}
	}
	if p.Status != "REFUND_DUE" {
		return nil
	}
	reference, err := s.refund(ctx, p, "payment", p.ID, p.AmountDue)
	if err == nil {
		_, err = s.holdfast.RefundPayment(ctx, p.ID, reference)
	}
	return err
}

// refund gives back an amount of a payment, once, and returns Stripe's ID of that. kind and id say whether it is a part. Stripe
// remembers the key for a day; after that, the list of refunds says what was done.
func (s *shop) refund(ctx context.Context, p client.Payment, kind, id string, amount *int64) (reference string, err error) {
	intent, err := s.stripe.V1PaymentIntents.Retrieve(ctx, p.Reference, nil)
	if err != nil {
		return "", err
	}
	switch {
	case intent.Status == stripe.PaymentIntentStatusCanceled:
		return intent.ID, nil // nothing was captured: the void is the refund
	case intent.Status == stripe.PaymentIntentStatusSucceeded:
	case p.Status == "REFUND_DUE":
		return intent.ID, s.void(ctx, intent)
	default:
		return "", errors.New("the charge is not captured yet")
	}
	list := &stripe.RefundListParams{PaymentIntent: &intent.ID}
	for r, err := range s.stripe.V1Refunds.List(ctx, list).All(ctx) {
		if err != nil {
			return "", err
		}
		returned := r.Status != stripe.RefundStatusFailed && r.Status != stripe.RefundStatusCanceled
		if returned && (r.Metadata[kind] == id || r.Amount == intent.AmountReceived) {
			return r.ID, nil
		}
	}
	params := &stripe.RefundCreateParams{PaymentIntent: &intent.ID, Amount: amount, Metadata: map[string]string{kind: id}}
	params.SetIdempotencyKey(id)
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
