package httpapi

import (
	"cmp"
	"context"
	"math"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
)

type bookingBody struct {
	ID               string `json:"id"`
	UserID           string `json:"userId,omitempty" doc:"Absent if a holder has the booking."`
	Holder           string `json:"holder,omitempty"`
	EventID          string `json:"eventId"`
	LockID           string `json:"lockId"`
	Seats            int64  `json:"seats"`
	Status           string `json:"status" enum:"INITIATED,PAYMENT_PENDING,CONFIRMED,EXPIRED,CANCELLED"`
	PaymentExpiresAt string `json:"paymentExpiresAt,omitempty" format:"date-time" doc:"Absent while INITIATED."`
	PaymentReference string `json:"paymentReference,omitempty"`
	Late             bool   `json:"late,omitempty" doc:"A payment confirmed the booking after it had expired. Its seats are in a new lock."`
	CreatedAt        string `json:"createdAt" format:"date-time"`
	UpdatedAt        string `json:"updatedAt,omitempty" format:"date-time"`

	Payments []bookingPaymentBody `json:"payments,omitempty" nullable:"false" doc:"Oldest first. For keys only."`
	Places   []placeBody          `json:"places,omitempty" nullable:"false" doc:"In plan order. General admission has one, for all seats."`
	ShopBody
}

// bookingPaymentBody is a payment in the list of its booking.
type bookingPaymentBody struct {
	ID     string `json:"id"`
	Status string `json:"status" enum:"ACCEPTED,REFUND_DUE,REFUNDED"`
	Amount *int64 `json:"amount,omitempty"`
}

func (a *api) bookingBody(ctx context.Context, b holdfast.Booking) bookingBody {
	b.ShopData = shopDataFor(ctx, b.ShopData)
	if requestInfoOf(ctx).scope == scopeCustomer {
		b.Payments = nil
	}
	return newBookingBody(b, a.places(ctx, b.EventID, b.SeatIDs, b.Section))
}

func newBookingBody(b holdfast.Booking, places []placeBody) bookingBody {
	var payments []bookingPaymentBody
	for _, p := range b.Payments {
		payments = append(payments, bookingPaymentBody{p.ID.String(), string(p.Status), p.Amount})
	}
	return bookingBody{
		Payments:         payments,
		Places:           places,
		ID:               b.ID.String(),
		UserID:           Customer{b.UserID, b.Holder}.userID(),
		Holder:           b.Holder,
		EventID:          formatID(b.EventID),
		LockID:           formatID(b.LockID),
		Seats:            b.Seats,
		Status:           string(b.Status),
		PaymentExpiresAt: formatTime(b.PaymentExpiresAt),
		PaymentReference: b.PaymentReference,
		Late:             b.Late,
		CreatedAt:        formatTime(b.CreatedAt),
		UpdatedAt:        formatTime(b.UpdatedAt),
		ShopBody:         ShopBody(b.ShopData),
	}
}

type newBooking struct {
	Body struct {
		BookingTerms
		EventID string `json:"eventId" pattern:"^[0-9a-fA-F]{24}$"`
	}
}

type newBookingInEvent struct {
	PathEvent
	Body struct {
		BookingTerms
		EventID string `json:"eventId,omitempty" nullable:"true" pattern:"^[0-9a-fA-F]{24}$" doc:"The event of the path, or absent."`
	}
}

// BookingTerms has the fields of a request for a booking, except its event.
type BookingTerms struct {
	CustomerBody
	LockID           string     `json:"lockId" pattern:"^[0-9a-fA-F]{24}$"`
	PaymentExpiresAt *timestamp `json:"paymentExpiresAt,omitempty" nullable:"true" doc:"A past time makes the booking due at once."`
	PaymentTTL       *int64     `json:"paymentTtlSeconds,omitempty" nullable:"true" minimum:"1" maximum:"31536000" doc:"Seconds from now."`
	ShopTerms
}

// createdBooking has the status 201, or 200 with the booking that the lock already has.
type createdBooking struct {
	Status   int
	Location string `header:"Location"`
	Body     bookingBody
}

type bookingFilter struct {
	PageQuery
	FilterQuery
	EventID string `query:"eventId" pattern:"^[0-9a-fA-F]{24}$"`
	CustomerQuery
	Status string `query:"status" enum:"INITIATED,PAYMENT_PENDING,CONFIRMED,EXPIRED,CANCELLED"`
	ReferenceQuery
}

type paymentWindowBody struct {
	PaymentExpiresAt *timestamp `json:"paymentExpiresAt,omitempty" nullable:"true"`
	PaymentTTL       *int64     `json:"paymentTtlSeconds,omitempty" nullable:"true" minimum:"1" maximum:"31536000"`
}

func (a *api) registerBookingRoutes() {
	tags := []string{"Bookings"}
	refusals := []int{http.StatusNotFound, http.StatusConflict, http.StatusGone}
	create := huma.Operation{
		OperationID: "create-booking", Method: http.MethodPost, Path: "/api/bookings", Tags: tags, Summary: "Create a booking",
		Description: "Books the seats of a lock. The booking is PAYMENT_PENDING, or INITIATED if the request gives no payment time. " +
			"A payment window that ends before the lock ends both. " +
			"If the lock already has a booking, the answer is 200 with that booking. " +
			"The lock is extended to the end of the payment window if that is later.",
		DefaultStatus: http.StatusCreated, Errors: refusals,
		Responses: otherSuccess[bookingBody](a.huma.OpenAPI().Components.Schemas, http.StatusOK, "The lock had this booking already."),
	}
	route(a, create, scopeCustomer, func(ctx context.Context, in *newBooking) (*createdBooking, error) {
		return a.createBooking(ctx, parseID(in.Body.EventID), in.Body.BookingTerms)
	})
	route(a, inEvent(create), scopeCustomer, func(ctx context.Context, in *newBookingInEvent) (*createdBooking, error) {
		event, err := in.with(in.Body.EventID)
		if err != nil {
			return nil, err
		}
		return a.createBooking(ctx, event, in.Body.BookingTerms)
	})
	route(a, huma.Operation{
		OperationID: "list-bookings", Method: http.MethodGet, Path: "/api/bookings", Tags: tags, Summary: "List bookings",
		Description: "With the filter status alone, a page may have fewer items than pageSize although more pages follow.",
	}, scopeCustomer, func(ctx context.Context, in *bookingFilter) (*list[bookingBody], error) {
		user, holder, err := in.filter(ctx)
		if err = cmp.Or(err, requireKey(ctx, in.Reference != "")); err != nil {
			return nil, err
		}
		bookings, next, err := a.Bookings.ListBookings(ctx, holdfast.BookingFilter{
			EventID: parseFilter(in.EventID), UserID: user, Holder: holder, Status: holdfast.BookingStatus(in.Status),
			Reference: in.Reference,
		}, in.page())
		return newList(bookings, next, func(b holdfast.Booking) bookingBody { return a.bookingBody(ctx, b) }), err
	})
	routeTwice(a, huma.Operation{
		OperationID: "get-booking", Method: http.MethodGet, Path: "/api/bookings/{id}", Tags: tags, Summary: "Get a booking",
		Errors: []int{http.StatusNotFound},
	}, scopeCustomer, func(ctx context.Context, t target) (*found[bookingBody], error) {
		if err := a.requireBooking(ctx, t); err != nil {
			return nil, err
		}
		b, err := a.Bookings.GetBooking(ctx, t.id)
		return &found[bookingBody]{Body: a.bookingBody(ctx, b)}, err
	})
	a.registerBookingChanges()
	a.registerAfterSaleRoutes()
	a.registerSaleRoute()
}

// registerBookingChanges adds the routes that change a booking.
func (a *api) registerBookingChanges() {
	tags := []string{"Bookings"}
	refusals := []int{http.StatusNotFound, http.StatusConflict, http.StatusGone}
	routeCommandTwice(a, huma.Operation{
		OperationID: "pay-booking", Method: http.MethodPost, Path: "/api/bookings/{id}/pay", Tags: tags,
		Summary: "Open the payment window of a booking", Errors: refusals,
	}, scopeCustomer, func(ctx context.Context, t target, body paymentWindowBody) (*found[bookingBody], error) {
		if err := a.requireBooking(ctx, t); err != nil {
			return nil, err
		}
		b, err := a.Bookings.PayBooking(ctx, t.id, parseUntil(ctx, body.PaymentExpiresAt, body.PaymentTTL))
		return &found[bookingBody]{Body: a.bookingBody(ctx, b)}, err
	})
	routeCommandTwice(a, huma.Operation{
		OperationID: "confirm-booking", Method: http.MethodPost, Path: "/api/bookings/{id}/confirm", Tags: tags,
		Summary: "Confirm a booking", Errors: refusals,
		Description: "Asserts that the payment was received; the seats are sold. A customer's token can't confirm. " +
			"A refusal with a paymentReference leaves a payment that is REFUND_DUE, which the problem names in payment; 404, 422, 503, " +
			"BOOKING_NOT_PAYABLE and PAYMENT_REFERENCE_USED leave none. " +
			"If the event has latePayments ACCEPT, a booking that has expired gets its seats again while they are free.",
	}, config.ScopeBooking, func(ctx context.Context, t target, body *ChargeBody) (*found[bookingBody], error) {
		if err := a.requireBooking(ctx, t); err != nil {
			return nil, err
		}
		var charge holdfast.Charge
		if body != nil {
			charge = body.charge()
		}
		b, err := a.Bookings.ConfirmBooking(ctx, t.id, charge)
		return &found[bookingBody]{Body: a.bookingBody(ctx, b)}, err
	})
	routeCommandTwice(a, huma.Operation{
		OperationID: "update-booking", Method: http.MethodPatch, Path: "/api/bookings/{id}", Tags: tags,
		Summary: "Update the reference and metadata of a booking", Description: "In any status.", Errors: []int{http.StatusNotFound},
		Metadata: map[string]any{metadataScopeLate: true},
	}, config.ScopeBooking, func(ctx context.Context, t target, body ShopChange) (*found[bookingBody], error) {
		change, err := body.shopDataOfKey(ctx)
		if err != nil {
			return nil, err
		}
		if err := a.requireBooking(ctx, t); err != nil {
			return nil, err
		}
		b, err := a.Bookings.UpdateBooking(ctx, t.id, change)
		return &found[bookingBody]{Body: a.bookingBody(ctx, b)}, err
	})
	routeTwice(a, huma.Operation{
		OperationID: "cancel-booking", Method: http.MethodPost, Path: "/api/bookings/{id}/cancel", Tags: tags,
		Summary:     "Cancel a booking",
		Description: "Its seats go back on sale. A customer's token can't cancel a CONFIRMED booking.",
		Errors:      refusals,
	}, scopeCustomer, func(ctx context.Context, t target) (*found[bookingBody], error) {
		b, err := a.cancelBooking(ctx, t)
		return &found[bookingBody]{Body: a.bookingBody(ctx, b)}, err
	})
}

// cancelBooking lets a customer cancel an open booking; only a key may cancel what was sold.
func (a *api) cancelBooking(ctx context.Context, t target) (holdfast.Booking, error) {
	if err := a.requireBooking(ctx, t); err != nil {
		return holdfast.Booking{}, err
	}
	if requestInfoOf(ctx).scope != scopeCustomer {
		return a.Bookings.CancelBooking(ctx, t.id)
	}
	b, err := a.Bookings.CancelOpenBooking(ctx, t.id)
	if holdfast.HasCode(err, holdfast.CodeBookingConfirmed) {
		err = newProblem(http.StatusForbidden, codeForbidden, "The booking is confirmed. Only the shop can cancel it now.")
	}
	return b, err
}

func (a *api) createBooking(ctx context.Context, event holdfast.ID, terms BookingTerms) (*createdBooking, error) {
	c, err := terms.customer()
	if err != nil {
		return nil, err
	}
	window := parseUntil(ctx, terms.PaymentExpiresAt, terms.PaymentTTL)
	if err := window.Check(holdfast.PaymentFields, math.MaxInt64); err != nil {
		return nil, err
	}
	shopData, err := terms.shopData(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.admitCustomer(ctx, c); err != nil {
		return nil, err
	}
	if c.Holder == "" {
		if _, err := a.Users.GetUser(ctx, c.UserID); err != nil {
			return nil, err
		}
	}
	b, isNew, err := a.Bookings.CreateBooking(ctx, holdfast.BookingRequest{
		UserID: c.UserID, Holder: c.Holder, EventID: event, LockID: parseID(terms.LockID),
		Window: window, ShopData: shopData,
	})
	if err != nil {
		return nil, err
	}
	answer := &createdBooking{Status: http.StatusCreated, Location: "/api/bookings/" + b.ID.String(), Body: a.bookingBody(ctx, b)}
	if !isNew {
		answer.Status = http.StatusOK
	}
	return answer, nil
}
