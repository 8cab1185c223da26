package client

import (
	"errors"
	"fmt"
	"time"
)

// Code says what went wrong; decide by it.
type Code string

// The codes of refusals.
const (
	Malformed            Code = "MALFORMED_REQUEST"
	Unauthenticated      Code = "UNAUTHENTICATED"
	Forbidden            Code = "FORBIDDEN"
	NotFound             Code = "NOT_FOUND"
	EventNotFound        Code = "EVENT_NOT_FOUND"
	UserNotFound         Code = "USER_NOT_FOUND"
	LockNotFound         Code = "LOCK_NOT_FOUND"
	BookingNotFound      Code = "BOOKING_NOT_FOUND"
	JobNotFound          Code = "JOB_NOT_FOUND"
	MethodNotAllowed     Code = "METHOD_NOT_ALLOWED"
	BodyTooLarge         Code = "BODY_TOO_LARGE"
	UnsupportedMediaType Code = "UNSUPPORTED_MEDIA_TYPE"
	SeatsUnavailable     Code = "SEATS_UNAVAILABLE" // Error.Requested and Available
	SeatLimitReached     Code = "SEAT_LIMIT_REACHED"
	EventNotOnSale       Code = "EVENT_NOT_ON_SALE"
	EmailTaken           Code = "EMAIL_TAKEN"
	CapacityBelowTaken   Code = "CAPACITY_BELOW_TAKEN"
	LockConsumed         Code = "LOCK_CONSUMED"
	LockReleased         Code = "LOCK_RELEASED"
	LockExpired          Code = "LOCK_EXPIRED"
	BookingConfirmed     Code = "BOOKING_CONFIRMED"
	BookingCancelled     Code = "BOOKING_CANCELLED"
	BookingNotPayable    Code = "BOOKING_NOT_PAYABLE"
	BookingExpired       Code = "BOOKING_EXPIRED"
	JobRunning           Code = "JOB_RUNNING"
	ValidationFailed     Code = "VALIDATION_FAILED" // Error.Fields
	IdempotencyKeyReused Code = "IDEMPOTENCY_KEY_REUSED"
	TooManyRequests      Code = "TOO_MANY_REQUESTS"
	Unavailable          Code = "UNAVAILABLE"     // nothing was done
	OutcomeUnknown       Code = "OUTCOME_UNKNOWN" // it may have been done
)

// Error is an answer that is none of success.
type Error struct {
	Status     int
	Code       Code
	Detail     string
	Requested  int64 // of SEATS_UNAVAILABLE, as Available
	Available  int64
	Holder     string        // of JOB_RUNNING
	RetryAfter time.Duration // 0 for none
	RequestID  string        // by which the server's log tells more
	Fields     []FieldError
}

// FieldError says what is wrong, and where in the request.
type FieldError struct {
	Location string `json:"location"`
	Message  string `json:"message"`
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s (status %d, request %s)", e.Code, e.Detail, e.Status, e.RequestID)
	for _, f := range e.Fields {
		text += fmt.Sprintf("; %s: %s", f.Location, f.Message)
	}
	return text
}

// CodeOf is err's code, "" for none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Is reports whether err carries one of the codes.
func Is(err error, codes ...Code) bool {
	of := CodeOf(err)
	for _, c := range codes {
		if of == c && of != "" {
			return true
		}
	}
	return false
}

// answerBody is a problem as it is sent.
type answerBody struct {
	Code      Code         `json:"code"`
	Detail    string       `json:"detail"`
	Requested int64        `json:"requested"`
	Available int64        `json:"available"`
	Holder    string       `json:"holder"`
	Errors    []FieldError `json:"errors"`
}
