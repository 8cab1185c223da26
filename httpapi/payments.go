package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
)

type paymentBody struct {
	ID              string `json:"id"`
	Provider        string `json:"provider"`
	Reference       string `json:"reference" doc:"The provider's ID of the payment."`
	PaymentPart     string `json:"paymentPart,omitempty" doc:"Distinguishes the bookings that one charge pays for."`
	BookingID       string `json:"bookingId"`
	EventID         string `json:"eventId,omitempty"`
	UserID          string `json:"userId,omitempty"`
	Holder          string `json:"holder,omitempty"`
	Amount          *int64 `json:"amount,omitempty" doc:"The amount in whole minor units, as the shop reported it."`
	Currency        string `json:"currency,omitempty" doc:"A currency of ISO 4217."`
	Status          string `json:"status" enum:"ACCEPTED,REFUND_DUE,REFUNDED"`
	Reason          string `json:"reason,omitempty" doc:"Why the payment must be refunded."`
	RefundReference string `json:"refundReference,omitempty"`
	CreatedAt       string `json:"createdAt" format:"date-time"`
	UpdatedAt       string `json:"updatedAt,omitempty" format:"date-time"`

	Refunds   []refundBody `json:"refunds,omitempty" nullable:"false" doc:"The parts of it that have to be refunded, or were, oldest first."`
	AmountDue *int64       `json:"amountDue,omitempty" doc:"What has to be refunded now; absent if the amount is not known."`
}

// refundBody is a part of a payment.
type refundBody struct {
	ID              string `json:"id"`
	Amount          int64  `json:"amount" doc:"Whole minor units."`
	Reason          string `json:"reason" enum:"seats_changed,other"`
	Status          string `json:"status" enum:"DUE,REFUNDED"`
	RefundReference string `json:"refundReference,omitempty"`
	CreatedAt       string `json:"createdAt" format:"date-time"`
}

func newPaymentBody(p holdfast.Payment) paymentBody {
	var refunds []refundBody
	for _, r := range p.Refunds {
		refunds = append(refunds, refundBody{
			ID: r.ID.String(), Amount: r.Amount, Reason: string(r.Reason), Status: string(r.Status), RefundReference: r.Reference,
			CreatedAt: formatTime(r.CreatedAt),
		})
	}
	var amountDue *int64
	if due, known := p.AmountDue(); known {
		amountDue = &due
	}
	return paymentBody{
		Refunds: refunds, AmountDue: amountDue,
		ID: p.ID.String(), Provider: p.Provider, Reference: p.Reference, PaymentPart: p.Part, BookingID: formatID(p.BookingID),
		EventID: formatID(p.EventID), UserID: Customer{p.UserID, p.Holder}.userID(), Holder: p.Holder,
		Amount: p.Amount, Currency: p.Currency, Status: string(p.Status),
		Reason: string(p.Reason), RefundReference: p.RefundReference, CreatedAt: formatTime(p.CreatedAt), UpdatedAt: formatTime(p.UpdatedAt),
	}
}

type paymentFilter struct {
	PageQuery
	FilterQuery
	EventID   string `query:"eventId" pattern:"^[0-9a-fA-F]{24}$"`
	BookingID string `query:"bookingId" pattern:"^[0-9a-fA-F]{24}$"`
	Status    string `query:"status" enum:"ACCEPTED,REFUND_DUE,REFUNDED"`
	Reference string `query:"reference" maxLength:"200"`
	Provider  string `query:"provider" maxLength:"64"`
	RefundDue string `query:"refundDue" enum:"true" doc:"true: only those that are REFUND_DUE, or have a part that is DUE."`
}

// newPart asks for the refund of a part of a payment.
type newPart struct {
	PathID
	IdempotencyHeader
	Body struct {
		Amount         int64  `json:"amount" minimum:"1" maximum:"9007199254740991" doc:"Whole minor units."`
		IdempotencyKey string `json:"idempotencyKey,omitempty" nullable:"true" minLength:"1" maxLength:"200" doc:"Unique per payment."`
	}
}

type partRefunded struct {
	PathID
	RefundID string `path:"refundId" pattern:"^[0-9a-fA-F]{24}$" doc:"24 hex digits."`
	Body     refundReferenceBody
}

type refundReferenceBody struct {
	RefundReference string `json:"refundReference" minLength:"1" maxLength:"200" doc:"The provider's ID of the refund or the void."`
}

type refund struct {
	PathID
	Body refundReferenceBody
}

func (a *api) registerPaymentRoutes() {
	tags := []string{"Payments"}
	route(a, huma.Operation{
		OperationID: "list-payments", Method: http.MethodGet, Path: "/api/payments", Tags: tags, Summary: "List payments",
		Description: "With no other filter than provider, or the status ACCEPTED or REFUNDED, a page may have fewer items than pageSize " +
			"although more pages follow.",
	}, config.ScopeBooking, func(ctx context.Context, in *paymentFilter) (*list[paymentBody], error) {
		payments, next, err := a.Bookings.ListPayments(ctx, holdfast.PaymentFilter{
			EventID: parseFilter(in.EventID), BookingID: parseFilter(in.BookingID), Status: holdfast.PaymentStatus(in.Status),
			Reference: in.Reference, Provider: in.Provider, RefundDue: in.RefundDue == "true",
		}, in.page())
		return newList(payments, next, newPaymentBody), err
	})
	route(a, huma.Operation{
		OperationID: "get-payment", Method: http.MethodGet, Path: "/api/payments/{id}", Tags: tags, Summary: "Get a payment",
		Errors: []int{http.StatusNotFound},
	}, config.ScopeBooking, func(ctx context.Context, in *PathID) (*found[paymentBody], error) {
		p, err := a.Bookings.GetPayment(ctx, parseID(in.ID))
		return &found[paymentBody]{Body: newPaymentBody(p)}, err
	})
	route(a, huma.Operation{
		OperationID: "refund-payment", Method: http.MethodPost, Path: "/api/payments/{id}/refunded", Tags: tags,
		Summary: "Note that a payment was refunded",
		Description: "Of a payment that is REFUND_DUE: the shop has given it back, or voided it. This settles its parts that are DUE. " +
			"The same request again gets the same answer.",
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, config.ScopeBooking, func(ctx context.Context, in *refund) (*found[paymentBody], error) {
		p, err := a.Bookings.RefundPayment(ctx, parseID(in.ID), in.Body.RefundReference)
		return &found[paymentBody]{Body: newPaymentBody(p)}, err
	})
	route(a, huma.Operation{
		OperationID: "refund-part", Method: http.MethodPost, Path: "/api/payments/{id}/refunds", Tags: tags,
		Summary:       "Make a part of a payment due for refund",
		Description:   "Of a payment with an amount that is ACCEPTED or REFUND_DUE. The parts together are never more than the amount.",
		DefaultStatus: http.StatusCreated, Errors: []int{http.StatusNotFound},
	}, config.ScopeBooking, func(ctx context.Context, in *newPart) (*created[paymentBody], error) {
		key, err := in.keyOf(in.Body.IdempotencyKey)
		if err != nil {
			return nil, err
		}
		p, replayed, err := a.Bookings.RefundPart(ctx, parseID(in.ID), in.Body.Amount, key)
		if err != nil {
			return nil, err
		}
		return newCreated("/api/payments/", p.ID, replayed, newPaymentBody(p)), nil
	})
	route(a, huma.Operation{
		OperationID: "note-part-refunded", Method: http.MethodPost, Path: "/api/payments/{id}/refunds/{refundId}/refunded", Tags: tags,
		Summary:     "Note that a part of a payment was refunded",
		Description: "The same request again gets the same answer.",
		Errors:      []int{http.StatusNotFound, http.StatusConflict},
	}, config.ScopeBooking, func(ctx context.Context, in *partRefunded) (*found[paymentBody], error) {
		p, err := a.Bookings.RefundedPart(ctx, parseID(in.ID), parseID(in.RefundID), in.Body.RefundReference)
		return &found[paymentBody]{Body: newPaymentBody(p)}, err
	})
}
