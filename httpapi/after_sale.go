package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
)

// ChargeBody is what a shop reports that it charged.
type ChargeBody struct {
	PaymentReference string `json:"paymentReference,omitempty" nullable:"true" minLength:"1" maxLength:"200" doc:"The payment provider's ID."`
	PaymentPart      string `json:"paymentPart,omitempty" nullable:"true" maxLength:"100" doc:"The part of a charge for several bookings."`
	Provider         string `json:"provider,omitempty" nullable:"true" minLength:"1" maxLength:"64" doc:"The provider, default if absent."`
	Amount           *int64 `json:"amount,omitempty" nullable:"true" minimum:"0" maximum:"9007199254740991" doc:"Whole minor units."`
	Currency         string `json:"currency,omitempty" nullable:"true" pattern:"^[A-Z]{3}$" doc:"A currency of ISO 4217."`
}

func (b ChargeBody) charge() holdfast.Charge {
	return holdfast.Charge{Provider: b.Provider, Reference: b.PaymentReference, Part: b.PaymentPart, Amount: b.Amount, Currency: b.Currency}
}

// KeyBody is the idempotency key in a body.
type KeyBody struct {
	IdempotencyKey string `json:"idempotencyKey,omitempty" nullable:"true" minLength:"1" maxLength:"200" doc:"Kept for 24 hours."`
}

// bookingChangeBody is the whole new wish for a booking, and the money that moves with it.
type bookingChangeBody struct {
	WishBody
	KeyBody
	Payment *ChargeBody       `json:"payment,omitempty" doc:"An additional payment, of a CONFIRMED booking."`
	Refund  *partialRefundDue `json:"refund,omitempty" doc:"A part of a payment that has to be refunded, of a CONFIRMED booking."`
}

type partialRefundDue struct {
	Amount    int64  `json:"amount" minimum:"1" maximum:"9007199254740991" doc:"Whole minor units."`
	PaymentID string `json:"paymentId,omitempty" nullable:"true" pattern:"^[0-9a-fA-F]{24}$" doc:"Absent: the first accepted payment."`
}

func (b bookingChangeBody) change(key string) (c holdfast.BookingChange, err error) {
	c.Key = key
	if c.Seats, c.Wish, err = b.wish(); err != nil {
		return c, err
	}
	if b.Payment != nil {
		if c.Payment = b.Payment.charge(); c.Payment.Reference == "" {
			return c, holdfast.RefuseInput("body.payment.paymentReference", "Give the provider's ID of the payment.")
		}
	}
	if r := b.Refund; r != nil {
		c.Refund = &holdfast.PartRequest{Amount: r.Amount}
		if r.PaymentID != "" {
			c.Refund.PaymentID = parseID(r.PaymentID)
		}
		if r.PaymentID != "" && c.Refund.PaymentID.IsZero() {
			return c, holdfast.RefuseInput("body.refund.paymentId", "The booking has no accepted payment with this ID.")
		}
	}
	return c, c.Check()
}

type transferBody struct {
	CustomerBody
	KeyBody
}

// keyed is a request with a body and an idempotency key for what its path names.
type keyed[B any] struct {
	PathID
	IdempotencyHeader
	Body B
}

type keyedInEvent[B any] struct {
	PathInEvent
	IdempotencyHeader
	Body B
}

// changed is a response that says whether an earlier request with the same idempotency key was carried out.
type changed[T any] struct {
	Replayed string `header:"Idempotent-Replayed"`
	Body     T
}

func newChanged[T any](replayed bool, body T) *changed[T] {
	c := &changed[T]{Body: body}
	if replayed {
		c.Replayed = "true"
	}
	return c
}

// routeKeyedTwice is routeCommandTwice for an operation with an idempotency key, in the body or the header.
func routeKeyedTwice[B, O any](
	a *api, op huma.Operation, scope config.Scope, keyOf func(B) string, handle func(context.Context, target, B, string) (*O, error),
) {
	with := func(ctx context.Context, t target, h *IdempotencyHeader, body B) (*O, error) {
		key, err := h.keyOf(keyOf(body))
		if err != nil {
			return nil, err
		}
		return handle(ctx, t, body, key)
	}
	route(a, op, scope, func(ctx context.Context, in *keyed[B]) (*O, error) {
		return with(ctx, in.target(), &in.IdempotencyHeader, in.Body)
	})
	route(a, inEvent(op), scope, func(ctx context.Context, in *keyedInEvent[B]) (*O, error) {
		return with(ctx, in.target(), &in.IdempotencyHeader, in.Body)
	})
}

// registerAfterSaleRoutes adds the routes that change a booking after its sale.
func (a *api) registerAfterSaleRoutes() {
	tags := []string{"Bookings"}
	refusals := []int{http.StatusNotFound, http.StatusConflict, http.StatusGone}
	routeKeyedTwice(a, huma.Operation{
		OperationID: "change-booking-seats", Method: http.MethodPut, Path: "/api/bookings/{id}/seats", Tags: tags,
		Summary: "Change the seats of a booking", Errors: refusals,
		Description: "Of an open or CONFIRMED booking: gives a part back, exchanges, or adds seats. The booking gets all of the new seats, " +
			"or everything stays as it was. Its old seats count as free. A payment and a refund are part of the change. " +
			"A booking that has the seats already stays as it is. Send an idempotency key where a late repeat could undo a later change. " +
			"A booking takes at most 2,000 of them within 24 hours.",
	}, config.ScopeBooking, func(b bookingChangeBody) string { return b.IdempotencyKey },
		func(ctx context.Context, t target, body bookingChangeBody, key string) (*changed[bookingBody], error) {
			change, err := body.change(key)
			if err != nil {
				return nil, err
			}
			if change.EventID, err = t.eventOfBooking(); err != nil {
				return nil, err
			}
			b, replayed, err := a.Bookings.ChangeBooking(ctx, t.id, change)
			if err != nil {
				return nil, err
			}
			return newChanged(replayed, a.bookingBody(ctx, b)), nil
		})
	routeKeyedTwice(a, huma.Operation{
		OperationID: "transfer-booking", Method: http.MethodPost, Path: "/api/bookings/{id}/transfer", Tags: tags,
		Summary: "Give a booking to another customer", Errors: refusals,
		Description: "Of a CONFIRMED booking, under the limits of its next customer. A new lock has the seats; payments keep the " +
			"customer that paid.",
	}, config.ScopeBooking, func(b transferBody) string { return b.IdempotencyKey },
		func(ctx context.Context, t target, body transferBody, key string) (*changed[bookingBody], error) {
			c, err := body.customer()
			if err != nil {
				return nil, err
			}
			if err := a.admitCustomer(ctx, c); err != nil {
				return nil, err
			}
			event, err := t.eventOfBooking()
			if err != nil {
				return nil, err
			}
			b, replayed, err := a.Bookings.TransferBooking(ctx, t.id, holdfast.BookingTransfer{
				EventID: event, UserID: c.UserID, Holder: c.Holder, Key: key,
			})
			if err != nil {
				return nil, err
			}
			return newChanged(replayed, a.bookingBody(ctx, b)), nil
		})
}

// newSale sells seats at once.
type newSale struct {
	IdempotencyHeader
	PathEvent
	Body struct {
		EventID string `json:"eventId,omitempty" nullable:"true" pattern:"^[0-9a-fA-F]{24}$" doc:"The event of the path, or absent."`
		CustomerBody
		WishBody
		ChargeBody
		ShopTerms

		IdempotencyKey string `json:"idempotencyKey,omitempty" nullable:"true" minLength:"1" maxLength:"200" doc:"One of the customer's locks."`
	}
}

func (a *api) registerSaleRoute() {
	route(a, huma.Operation{
		OperationID: "sell-seats", Method: http.MethodPost, Path: "/api/events/{eventId}/sales", Tags: []string{"Bookings"},
		Summary: "Sell seats at once",
		Description: "Makes a CONSUMED lock, a CONFIRMED booking and, with a paymentReference, the payment, in one transaction: for a counter, " +
			"or an import. Also while the event is CLOSED and outside the times of its sale. A refused sale leaves nothing. " +
			"The idempotency key is one of the event's and customer's locks.",
		DefaultStatus: http.StatusCreated, Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, config.ScopeBooking, func(ctx context.Context, in *newSale) (*created[bookingBody], error) {
		key, err := in.keyOf(in.Body.IdempotencyKey)
		if err != nil {
			return nil, err
		}
		event, err := in.with(in.Body.EventID)
		if err != nil {
			return nil, err
		}
		seats, wish, err := in.Body.wish()
		if err != nil {
			return nil, err
		}
		c, err := in.Body.customer()
		if err != nil {
			return nil, err
		}
		charge := in.Body.charge()
		if err := charge.Check(); err != nil {
			return nil, err
		}
		shopData, err := in.Body.shopData(ctx)
		if err != nil {
			return nil, err
		}
		if err := a.admitCustomer(ctx, c); err != nil {
			return nil, err
		}
		b, replayed, err := a.Bookings.Sell(ctx, holdfast.SaleRequest{Charge: charge, LockRequest: holdfast.LockRequest{
			EventID: event, UserID: c.UserID, Holder: c.Holder, Seats: seats, Wish: wish, Key: key, ShopData: shopData,
		}})
		if err != nil {
			return nil, err
		}
		return newCreated("/api/bookings/", b.ID, replayed, a.bookingBody(ctx, b)), nil
	})
}
