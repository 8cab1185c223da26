package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/config"
)

type bookingBody struct {
	ID               string `json:"id"`
	UserID           string `json:"userId"`
	EventID          string `json:"eventId"`
	LockID           string `json:"lockId"`
	Seats            int64  `json:"seats"`
	Status           string `json:"status" enum:"INITIATED,PAYMENT_PENDING,CONFIRMED,EXPIRED,CANCELLED"`
	PaymentExpiresAt string `json:"paymentExpiresAt,omitempty" format:"date-time" doc:"Absent while INITIATED."`
	PaymentReference string `json:"paymentReference,omitempty"`
	CreatedAt        string `json:"createdAt" format:"date-time"`
	UpdatedAt        string `json:"updatedAt,omitempty" format:"date-time"`
}

func shapeBooking(b booking.Booking) bookingBody {
	return bookingBody{
		b.ID.String(), orEmpty(b.UserID), orEmpty(b.EventID), orEmpty(b.LockID), b.Seats, string(b.Status),
		stamp(b.PaymentExpiresAt), b.PaymentReference, stamp(b.CreatedAt), stamp(b.UpdatedAt),
	}
}

type newBooking struct {
	Body struct {
		UserID            string     `json:"userId" pattern:"^[0-9a-fA-F]{24}$"`
		LockID            string     `json:"lockId" pattern:"^[0-9a-fA-F]{24}$"`
		EventID           string     `json:"eventId" pattern:"^[0-9a-fA-F]{24}$"`
		PaymentExpiresAt  *time.Time `json:"paymentExpiresAt,omitempty" nullable:"true" doc:"A time in the past makes a booking that is due at once."`
		PaymentTTLSeconds *int64     `json:"paymentTtlSeconds,omitempty" nullable:"true" minimum:"1" maximum:"31536000" doc:"From now, by the database's clock."`
	}
}

// bookingMade is 201, or 200 with the booking that the lock has already.
type bookingMade struct {
	Status   int
	Location string `header:"Location"`
	Body     bookingBody
}

type bookingFilter struct {
	PageQuery
	FilterQuery
	EventID string `query:"eventId" pattern:"^[0-9a-fA-F]{24}$"`
	UserID  string `query:"userId" pattern:"^[0-9a-fA-F]{24}$"`
	Status  string `query:"status" enum:"INITIATED,PAYMENT_PENDING,CONFIRMED,EXPIRED,CANCELLED"`
}

type payment struct {
	PathID
	Body struct {
		PaymentExpiresAt  *time.Time `json:"paymentExpiresAt,omitempty" nullable:"true"`
		PaymentTTLSeconds *int64     `json:"paymentTtlSeconds,omitempty" nullable:"true" minimum:"1" maximum:"31536000"`
	}
}

type confirmation struct {
	PathID
	Body *struct {
		PaymentReference string `json:"paymentReference,omitempty" nullable:"true" maxLength:"200" doc:"What the payment is known by elsewhere."`
	}
}

func (a *api) bookingRoutes() {
	tags := []string{"Bookings"}
	moved := []int{http.StatusNotFound, http.StatusConflict, http.StatusGone}
	route(a, huma.Operation{
		OperationID: "create-booking", Method: http.MethodPost, Path: "/api/bookings", Tags: tags, Summary: "Book a lock's seats",
		Description:   "PAYMENT_PENDING; with neither time, INITIATED. 200 with its booking where the lock has one. The lock lives at least as long as the payment window.",
		DefaultStatus: http.StatusCreated, Errors: moved,
	}, scopeCustomer, a.createBooking)
	route(a, huma.Operation{
		OperationID: "list-bookings", Method: http.MethodGet, Path: "/api/bookings", Tags: tags, Summary: "List bookings",
		Description: "By status alone, a page may hold fewer items than asked for and still have a next one.",
	}, scopeCustomer, func(ctx context.Context, in *bookingFilter) (*list[bookingBody], error) {
		user, err := filterUser(ctx, parseID(in.UserID))
		if err != nil {
			return nil, err
		}
		bookings, next, err := a.Bookings.List(ctx, booking.Filter{
			EventID: parseID(in.EventID), UserID: user, Status: booking.Status(in.Status),
		}, in.page())
		return listOf(bookings, next, shapeBooking), err
	})
	route(a, huma.Operation{
		OperationID: "get-booking", Method: http.MethodGet, Path: "/api/bookings/{id}", Tags: tags, Summary: "Get a booking",
		Errors: []int{http.StatusNotFound},
	}, scopeCustomer, func(ctx context.Context, in *PathID) (*found[bookingBody], error) {
		if err := a.ownBooking(ctx, parseID(in.ID)); err != nil {
			return nil, err
		}
		b, err := a.Bookings.Get(ctx, parseID(in.ID))
		return &found[bookingBody]{shapeBooking(b)}, err
	})
	route(a, huma.Operation{
		OperationID: "pay-booking", Method: http.MethodPost, Path: "/api/bookings/{id}/pay", Tags: tags,
		Summary: "Open a booking's payment window", Errors: moved,
	}, scopeCustomer, func(ctx context.Context, in *payment) (*found[bookingBody], error) {
		if err := a.ownBooking(ctx, parseID(in.ID)); err != nil {
			return nil, err
		}
		b, err := a.Bookings.Pay(ctx, parseID(in.ID), until(in.Body.PaymentExpiresAt, in.Body.PaymentTTLSeconds))
		return &found[bookingBody]{shapeBooking(b)}, err
	})
	route(a, huma.Operation{
		OperationID: "confirm-booking", Method: http.MethodPost, Path: "/api/bookings/{id}/confirm", Tags: tags,
		Summary: "Confirm a booking: its seats are sold", Errors: moved,
		Description: "It says that the booking is paid for, which a customer's token can't.",
	}, config.ScopeBooking, func(ctx context.Context, in *confirmation) (*found[bookingBody], error) {
		reference := ""
		if in.Body != nil {
			reference = in.Body.PaymentReference
		}
		b, err := a.Bookings.Confirm(ctx, parseID(in.ID), reference)
		return &found[bookingBody]{shapeBooking(b)}, err
	})
	route(a, huma.Operation{
		OperationID: "cancel-booking", Method: http.MethodPost, Path: "/api/bookings/{id}/cancel", Tags: tags,
		Summary: "Cancel a booking: its seats come back", Errors: moved,
	}, scopeCustomer, func(ctx context.Context, in *PathID) (*found[bookingBody], error) {
		if err := a.ownBooking(ctx, parseID(in.ID)); err != nil {
			return nil, err
		}
		b, err := a.Bookings.Cancel(ctx, parseID(in.ID))
		return &found[bookingBody]{shapeBooking(b)}, err
	})
}

func (a *api) createBooking(ctx context.Context, in *newBooking) (*bookingMade, error) {
	r := booking.Request{
		UserID: parseID(in.Body.UserID), EventID: parseID(in.Body.EventID), LockID: parseID(in.Body.LockID),
		Window: until(in.Body.PaymentExpiresAt, in.Body.PaymentTTLSeconds),
	}
	if err := asUser(ctx, r.UserID); err != nil {
		return nil, err
	}
	if err := a.limitNamed(ctx, r.UserID); err != nil {
		return nil, err
	}
	if _, err := a.Users.Get(ctx, r.UserID); err != nil {
		return nil, err
	}
	b, made, err := a.Bookings.Create(ctx, r)
	if err != nil {
		return nil, err
	}
	answer := &bookingMade{Status: http.StatusCreated, Location: "/api/bookings/" + b.ID.String(), Body: shapeBooking(b)}
	if !made {
		answer.Status = http.StatusOK
	}
	return answer, nil
}
