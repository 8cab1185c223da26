package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Code identifies an error. Callers should decide by the code.
type Code string

// The codes that the API answers with.
const (
	Malformed            Code = "MALFORMED_REQUEST"
	Unauthenticated      Code = "UNAUTHENTICATED"
	Forbidden            Code = "FORBIDDEN"
	NotFound             Code = "NOT_FOUND"
	EventNotFound        Code = "EVENT_NOT_FOUND"
	UserNotFound         Code = "USER_NOT_FOUND"
	LockNotFound         Code = "LOCK_NOT_FOUND"
	BookingNotFound      Code = "BOOKING_NOT_FOUND"
	PaymentNotFound      Code = "PAYMENT_NOT_FOUND"
	RefundNotFound       Code = "REFUND_NOT_FOUND" // of a part of a payment
	SeatingPlanNotFound  Code = "SEATING_PLAN_NOT_FOUND"
	SeatNotFound         Code = "SEAT_NOT_FOUND"
	JobNotFound          Code = "JOB_NOT_FOUND"
	MethodNotAllowed     Code = "METHOD_NOT_ALLOWED"
	BodyTooLarge         Code = "BODY_TOO_LARGE"
	UnsupportedMediaType Code = "UNSUPPORTED_MEDIA_TYPE"
	SeatsUnavailable     Code = "SEATS_UNAVAILABLE"  // Error.Requested, Available and Unavailable
	SeatOrphaned         Code = "SEAT_ORPHANED"      // Error.Orphans
	SeatsNotAdjacent     Code = "SEATS_NOT_ADJACENT" // Error.Longest
	LockHasBooking       Code = "LOCK_HAS_BOOKING"
	ChangesGone          Code = "CHANGES_GONE"
	WebhookNotFound      Code = "WEBHOOK_NOT_FOUND"
	WebhookLimitReached  Code = "WEBHOOK_LIMIT_REACHED"
	SeatLimitReached     Code = "SEAT_LIMIT_REACHED"
	EventNotOnSale       Code = "EVENT_NOT_ON_SALE"
	SaleNotOpen          Code = "SALE_NOT_OPEN" // Error.OpensAt and RetryAfter
	EventHasLocks        Code = "EVENT_HAS_LOCKS"
	EmailTaken           Code = "EMAIL_TAKEN"
	HoldsSeats           Code = "HOLDS_SEATS"
	CapacityBelowTaken   Code = "CAPACITY_BELOW_TAKEN" // Error.Taken, Missing and MissingSeats
	LockConsumed         Code = "LOCK_CONSUMED"
	LockReleased         Code = "LOCK_RELEASED"
	LockExpired          Code = "LOCK_EXPIRED"
	EntryNotFound        Code = "WAITLIST_ENTRY_NOT_FOUND"
	EntryExists          Code = "WAITLIST_ENTRY_EXISTS" // with another wish
	WaitlistClosed       Code = "WAITLIST_CLOSED"
	NotOffered           Code = "WAITLIST_NOT_OFFERED" // the entry waits
	WaitlistFull         Code = "WAITLIST_FULL"
	SeatsStillAvailable  Code = "SEATS_STILL_AVAILABLE" // lock them
	BookingConfirmed     Code = "BOOKING_CONFIRMED"
	BookingCancelled     Code = "BOOKING_CANCELLED"
	BookingNotPayable    Code = "BOOKING_NOT_PAYABLE"
	BookingExpired       Code = "BOOKING_EXPIRED"
	PaymentReferenceUsed Code = "PAYMENT_REFERENCE_USED" // by another booking, or before
	PaymentRefundDue     Code = "PAYMENT_REFUND_DUE"     // it was refused before
	PaymentRefunded      Code = "PAYMENT_REFUNDED"
	PaymentAccepted      Code = "PAYMENT_ACCEPTED"
	JobRunning           Code = "JOB_RUNNING"
	ValidationFailed     Code = "VALIDATION_FAILED" // Error.Fields
	IdempotencyKeyReused Code = "IDEMPOTENCY_KEY_REUSED"
	TooManyRequests      Code = "TOO_MANY_REQUESTS"
	Unavailable          Code = "UNAVAILABLE"     // the request had no effect; retry later
	OutcomeUnknown       Code = "OUTCOME_UNKNOWN" // the request may have been executed; repeat it with the same idempotency key
)

// ErrInvalidKey is the error of a client whose key has characters that a key or a token never has. Nothing was sent.
var ErrInvalidKey = errors.New("the key or token of the client is not valid: it may have visible characters of ASCII only")

var (
	errInvalidURL = errors.New("the base URL of the client must be http:// or https:// with a host, such as http://127.0.0.1:8080")
	// errUnexpected is a successful response that the API would not send. A retry would get it too.
	errUnexpected = errors.New("the response is not that of a Holdfast API; the base URL may be wrong")
)

// Error is a response with an error status, or a redirect.
type Error struct {
	Status      int
	Code        Code     // "" if a proxy answered instead of the API, also with a code of its own
	Detail      string   // an English sentence
	Requested   int64    // seats requested, with SeatsUnavailable
	Available   int64    // seats available, with SeatsUnavailable
	Unavailable []string // named seats that are not available, with SeatsUnavailable
	Orphans     []string // seats that would be left without a free neighbour, with SeatOrphaned
	Longest     int64    // seats that are together, with SeatsNotAdjacent
	Taken       int64    // seats that are taken, with CapacityBelowTaken
	Missing     []string // the first 100 taken seats that a new plan lacks, with CapacityBelowTaken
	// MissingSeats is the number of taken seats that a new plan lacks, with CapacityBelowTaken.
	MissingSeats int64
	Holder       string        // process that runs the job, with JobRunning
	OpensAt      time.Time     // when the sale begins, with SaleNotOpen
	RetryAfter   time.Duration // delay before a retry; 0 if the response gives none
	RequestID    string        // in the server's log
	Fields       []FieldError  // with ValidationFailed
	// Payment is the payment of a refused confirmation; nil if there is none.
	Payment *RefusedPayment
}

// FieldError describes one invalid part of a request.
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

// CodeOf returns the code of err, or "" if it has none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Is reports whether err carries one of the codes.
func Is(err error, codes ...Code) bool {
	code := CodeOf(err)
	return code != "" && slices.Contains(codes, code)
}

// problem is the body of an error response (RFC 9457).
type problem struct {
	Code         Code            `json:"code"`
	Detail       string          `json:"detail"`
	Requested    int64           `json:"requested"`
	Available    int64           `json:"available"`
	Unavailable  []string        `json:"unavailable"`
	Orphans      []string        `json:"orphans"`
	Longest      int64           `json:"longest"`
	Taken        int64           `json:"taken"`
	Missing      []string        `json:"missing"`
	MissingSeats int64           `json:"missingSeats"`
	Holder       string          `json:"holder"`
	OpensAt      time.Time       `json:"opensAt"`
	Payment      *RefusedPayment `json:"payment"`
	Errors       []FieldError    `json:"errors"`
}

// redirected says where a redirect leads; it is "" for other responses. It leaves queries out, which may have personal data.
func redirected(response *http.Response) string {
	target, err := response.Location()
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		return ""
	}
	address := func(u *url.URL) string {
		return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
	}
	return fmt.Sprintf("%s redirects to %s, and the client follows no redirects: give it the base URL of that address",
		address(response.Request.URL), address(target))
}

// newError reads an error response. If a proxy answered instead of the API, the
// error has the status line as its detail and no code.
func newError(response *http.Response, body []byte) *Error {
	var p problem
	mediaType, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || mediaType != "application/problem+json" || json.Unmarshal(body, &p) != nil {
		p = problem{}
	}
	e := &Error{
		Status:       response.StatusCode,
		Code:         p.Code,
		Detail:       cmp.Or(redirected(response), p.Detail, response.Status),
		Requested:    p.Requested,
		Available:    p.Available,
		Unavailable:  p.Unavailable,
		Orphans:      p.Orphans,
		Longest:      p.Longest,
		Taken:        p.Taken,
		Missing:      p.Missing,
		MissingSeats: p.MissingSeats,
		Holder:       p.Holder,
		OpensAt:      p.OpensAt,
		RequestID:    response.Header.Get("X-Request-Id"),
		Fields:       p.Errors,
		Payment:      p.Payment,
	}
	e.RetryAfter = retryAfter(response.Header)
	return e
}

// retryAfter reads a delay, or a time, which it compares with the response's own Date: the clock of this machine may be wrong.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	now, dateErr := http.ParseTime(header.Get("Date"))
	if err != nil || dateErr != nil {
		return 0
	}
	return max(0, at.Sub(now))
}
