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
}

func newPaymentBody(p holdfast.Payment) paymentBody {
	return paymentBody{
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
}

type refund struct {
	PathID
	Body struct {
		RefundReference string `json:"refundReference" minLength:"1" maxLength:"200" doc:"The provider's ID of the refund or the void."`
	}
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
			Reference: in.Reference, Provider: in.Provider,
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
		Description: "Of a payment that is REFUND_DUE: the shop has given it back, or voided it. " +
			"The same request again gets the same answer.",
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, config.ScopeBooking, func(ctx context.Context, in *refund) (*found[paymentBody], error) {
		p, err := a.Bookings.RefundPayment(ctx, parseID(in.ID), in.Body.RefundReference)
		return &found[paymentBody]{Body: newPaymentBody(p)}, err
	})
}
