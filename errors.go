package holdfast

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code identifies a refusal or a failure. Clients decide by it.
type Code string

// The codes of the domain.
const (
	CodeEventNotFound   Code = "EVENT_NOT_FOUND"
	CodeUserNotFound    Code = "USER_NOT_FOUND"
	CodeLockNotFound    Code = "LOCK_NOT_FOUND"
	CodeBookingNotFound Code = "BOOKING_NOT_FOUND"

	CodeSeatingPlanNotFound Code = "SEATING_PLAN_NOT_FOUND"
	CodeSeatNotFound        Code = "SEAT_NOT_FOUND"

	CodeSeatsUnavailable     Code = "SEATS_UNAVAILABLE"  // Details: SeatsUnavailable
	CodeSeatOrphaned         Code = "SEAT_ORPHANED"      // Details: SeatOrphaned
	CodeSeatsNotAdjacent     Code = "SEATS_NOT_ADJACENT" // Details: SeatsNotAdjacent
	CodeLockHasBooking       Code = "LOCK_HAS_BOOKING"
	CodeSeatLimitReached     Code = "SEAT_LIMIT_REACHED"   // Details: LimitReached
	CodeCapacityBelowTaken   Code = "CAPACITY_BELOW_TAKEN" // Details: CapacityBelowTaken
	CodeEventNotOnSale       Code = "EVENT_NOT_ON_SALE"
	CodeSaleNotOpen          Code = "SALE_NOT_OPEN" // Details: SaleNotOpen
	CodeEventHasLocks        Code = "EVENT_HAS_LOCKS"
	CodeEmailTaken           Code = "EMAIL_TAKEN"
	CodeHoldsSeats           Code = "HOLDS_SEATS" // of a customer that is to be erased
	CodeIdempotencyKeyReused Code = "IDEMPOTENCY_KEY_REUSED"

	CodeLockConsumed Code = "LOCK_CONSUMED"
	CodeLockReleased Code = "LOCK_RELEASED"
	CodeLockExpired  Code = "LOCK_EXPIRED"

	CodeEntryNotFound       Code = "WAITLIST_ENTRY_NOT_FOUND"
	CodeEntryExists         Code = "WAITLIST_ENTRY_EXISTS"
	CodeWaitlistClosed      Code = "WAITLIST_CLOSED"
	CodeNotOffered          Code = "WAITLIST_NOT_OFFERED"
	CodeWaitlistFull        Code = "WAITLIST_FULL" // Details: LimitReached
	CodeSeatsStillAvailable Code = "SEATS_STILL_AVAILABLE"

	CodeChangesGone Code = "CHANGES_GONE"

	CodeWebhookNotFound     Code = "WEBHOOK_NOT_FOUND"
	CodeWebhookLimitReached Code = "WEBHOOK_LIMIT_REACHED" // Details: LimitReached

	CodeBookingConfirmed  Code = "BOOKING_CONFIRMED"
	CodeBookingCancelled  Code = "BOOKING_CANCELLED"
	CodeBookingNotPayable Code = "BOOKING_NOT_PAYABLE"
	CodeBookingExpired    Code = "BOOKING_EXPIRED"

	// A refusal of a booking that names a payment has the details RefusedPayment.
	CodePaymentNotFound      Code = "PAYMENT_NOT_FOUND"
	CodePaymentReferenceUsed Code = "PAYMENT_REFERENCE_USED"
	CodePaymentRefundDue     Code = "PAYMENT_REFUND_DUE" // Details: RefusedPayment
	CodePaymentRefunded      Code = "PAYMENT_REFUNDED"
	CodePaymentAccepted      Code = "PAYMENT_ACCEPTED"
	CodeRefundNotFound       Code = "REFUND_NOT_FOUND" // of a part of a payment

	// CodeInvalid refuses input with the right form but a wrong value.
	CodeInvalid Code = "VALIDATION_FAILED" // Details: Invalid

	// CodeUnavailable means that nothing was changed. The caller may retry.
	CodeUnavailable Code = "UNAVAILABLE"
	// CodeOutcomeUnknown means that the change may have been made. The caller should retry with the
	// same idempotency key.
	CodeOutcomeUnknown Code = "OUTCOME_UNKNOWN" // Details: UnknownLock, or none
)

// Codes returns the codes of the domain, in a new slice. A program that
// maps codes to answers can test with it that its table is complete.
func Codes() []Code {
	return []Code{
		CodeEventNotFound, CodeUserNotFound, CodeLockNotFound, CodeBookingNotFound, CodeSeatingPlanNotFound, CodeSeatNotFound,
		CodeSeatsUnavailable, CodeSeatOrphaned, CodeSeatsNotAdjacent, CodeLockHasBooking, CodeSeatLimitReached, CodeSaleNotOpen,
		CodeCapacityBelowTaken, CodeEventNotOnSale, CodeEventHasLocks, CodeEmailTaken, CodeIdempotencyKeyReused, CodeLockConsumed,
		CodeLockReleased, CodeHoldsSeats,
		CodeLockExpired, CodeBookingConfirmed, CodeBookingCancelled, CodeBookingNotPayable, CodeBookingExpired, CodeChangesGone,
		CodePaymentNotFound, CodePaymentReferenceUsed, CodePaymentRefundDue, CodePaymentRefunded, CodePaymentAccepted, CodeRefundNotFound,
		CodeWebhookNotFound, CodeWebhookLimitReached,
		CodeEntryNotFound, CodeEntryExists, CodeWaitlistClosed, CodeNotOffered, CodeWaitlistFull, CodeSeatsStillAvailable,
		CodeInvalid, CodeUnavailable, CodeOutcomeUnknown,
	}
}

// Error is a refusal or a failure. A refusal has changed nothing.
type Error struct {
	Code    Code
	Message string // an English sentence; has no data of other clients
	Details any    // one of the types below, or nil
	Cause   error  // for the log; clients never see it
}

// The details of errors.
type (
	// SeatsUnavailable has the number of seats that were requested, and how many of the seats that the request
	// could use were available. If seats were named, Unavailable lists the unavailable ones in plan order.
	SeatsUnavailable struct {
		Requested, Available int64
		Unavailable          []string
	}
	// SeatOrphaned has the seats that would be left without a free neighbour, in plan order.
	SeatOrphaned struct{ Orphans []string }
	// SeatsNotAdjacent has the largest number of the requested seats that are available together.
	SeatsNotAdjacent struct{ Longest int64 }
	// LimitReached has the limit that a request would exceed, and how much of it the user
	// holds already. Held is nil if the limit is for one lock.
	LimitReached struct {
		Limit int64
		Held  *int64
	}
	// SaleNotOpen has the start of the sale, and how long after the refusal that is.
	SaleNotOpen struct {
		OpensAt time.Time
		After   time.Duration
	}
	// CapacityBelowTaken has the number of taken seats of the event, or of the section that the refusal names. Missing has
	// the first MaxMissingSeats of the taken seats that a new plan lacks, in the order of the present plan, and MissingSeats is
	// the number of all of them.
	CapacityBelowTaken struct {
		Taken        int64
		Missing      []string
		MissingSeats int64
	}
	// RefusedPayment is the payment that a refused confirmation has left.
	RefusedPayment struct {
		ID     ID
		Status PaymentStatus
		Reason PaymentReason
	}
	// UnknownLock names the lock that may have been made.
	UnknownLock struct{ LockID ID }
	// Invalid lists the errors of the input.
	Invalid []FieldError
)

// FieldError is an error of the input, and its location, such as body.seats.
type FieldError struct {
	Where string `json:"location"`
	What  string `json:"message"`
}

// Refuse returns an error without details.
func Refuse(code Code, format string, args ...any) *Error {
	message := format
	if len(args) > 0 {
		message = fmt.Sprintf(format, args...)
	}
	return &Error{Code: code, Message: message}
}

// NotFound refuses with one of the codes that end in _NOT_FOUND.
func NotFound(code Code) *Error {
	what := strings.ToLower(strings.TrimSuffix(string(code), notFound))
	return Refuse(code, "There is no such %s.", strings.ReplaceAll(what, "_", " "))
}

const notFound = "_NOT_FOUND"

// RefuseInput refuses one value of the input.
func RefuseInput(where, format string, args ...any) *Error {
	e := Refuse(CodeInvalid, format, args...)
	e.Details = Invalid{{Where: where, What: e.Message}}
	return e
}

// With sets the details and returns the error.
func (e *Error) With(details any) *Error {
	e.Details = details
	return e
}

// By sets the cause and returns the error.
func (e *Error) By(cause error) *Error {
	e.Cause = cause
	return e
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// CodeOf returns the code of err, or "" if it has none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok { // without an allocation: every refusal comes by here
		return e.Code
	}
	return ""
}

// HasCode reports whether err has this code.
func HasCode(err error, code Code) bool { return err != nil && CodeOf(err) == code }

// DetailsOf returns the details of err if they are of type T.
func DetailsOf[T any](err error) (details T, ok bool) {
	if e, has := errors.AsType[*Error](err); has {
		details, ok = e.Details.(T)
	}
	return details, ok
}

// IsNotFound reports whether err says that something does not exist.
func IsNotFound(err error) bool { return strings.HasSuffix(string(CodeOf(err)), notFound) }
