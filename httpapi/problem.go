package httpapi

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/jobs"
)

// Codes of the refusals of this package.
const (
	codeMalformed        holdfast.Code = "MALFORMED_REQUEST"
	codeUnauthenticated  holdfast.Code = "UNAUTHENTICATED"
	codeForbidden        holdfast.Code = "FORBIDDEN"
	codeNotFound         holdfast.Code = "NOT_FOUND"
	codeMethodNotAllowed holdfast.Code = "METHOD_NOT_ALLOWED"
	codeBodyTooLarge     holdfast.Code = "BODY_TOO_LARGE"
	codeMediaType        holdfast.Code = "UNSUPPORTED_MEDIA_TYPE"
)

// statusByCode is the only place that maps codes to statuses.
var statusByCode = map[holdfast.Code]int{
	codeMalformed:        http.StatusBadRequest,
	codeUnauthenticated:  http.StatusUnauthorized,
	codeForbidden:        http.StatusForbidden,
	codeNotFound:         http.StatusNotFound,
	codeMethodNotAllowed: http.StatusMethodNotAllowed,
	codeBodyTooLarge:     http.StatusRequestEntityTooLarge,
	codeMediaType:        http.StatusUnsupportedMediaType,
	codeTooMany:          http.StatusTooManyRequests,

	holdfast.CodeInvalid: http.StatusUnprocessableEntity,

	holdfast.CodeUnavailable:    http.StatusServiceUnavailable,
	holdfast.CodeOutcomeUnknown: http.StatusServiceUnavailable,

	holdfast.CodeUserNotFound: http.StatusNotFound,
	holdfast.CodeEmailTaken:   http.StatusConflict,
	holdfast.CodeHoldsSeats:   http.StatusConflict,

	holdfast.CodeEventNotFound:        http.StatusNotFound,
	holdfast.CodeLockNotFound:         http.StatusNotFound,
	holdfast.CodeSeatingPlanNotFound:  http.StatusNotFound,
	holdfast.CodeSeatNotFound:         http.StatusNotFound,
	holdfast.CodeSeatsUnavailable:     http.StatusConflict,
	holdfast.CodeSeatOrphaned:         http.StatusConflict,
	holdfast.CodeSeatsNotAdjacent:     http.StatusConflict,
	holdfast.CodeLockHasBooking:       http.StatusConflict,
	holdfast.CodeSeatLimitReached:     http.StatusConflict,
	holdfast.CodeEventNotOnSale:       http.StatusConflict,
	holdfast.CodeSaleNotOpen:          http.StatusConflict,
	holdfast.CodeEventHasLocks:        http.StatusConflict,
	holdfast.CodeCapacityBelowTaken:   http.StatusConflict,
	holdfast.CodeLockConsumed:         http.StatusConflict,
	holdfast.CodeLockReleased:         http.StatusConflict,
	holdfast.CodeLockExpired:          http.StatusGone,
	holdfast.CodeIdempotencyKeyReused: http.StatusUnprocessableEntity,

	holdfast.CodeEntryNotFound:       http.StatusNotFound,
	holdfast.CodeEntryExists:         http.StatusConflict,
	holdfast.CodeWaitlistClosed:      http.StatusConflict,
	holdfast.CodeNotOffered:          http.StatusConflict,
	holdfast.CodeWaitlistFull:        http.StatusConflict,
	holdfast.CodeSeatsStillAvailable: http.StatusConflict,

	holdfast.CodeChangesGone: http.StatusGone,

	holdfast.CodeWebhookNotFound:     http.StatusNotFound,
	holdfast.CodeWebhookLimitReached: http.StatusConflict,

	jobs.CodeNotFound: http.StatusNotFound,
	jobs.CodeRunning:  http.StatusConflict,

	holdfast.CodeBookingNotFound:   http.StatusNotFound,
	holdfast.CodeBookingConfirmed:  http.StatusConflict,
	holdfast.CodeBookingCancelled:  http.StatusConflict,
	holdfast.CodeBookingNotPayable: http.StatusConflict,
	holdfast.CodeBookingExpired:    http.StatusGone,

	holdfast.CodePaymentNotFound:      http.StatusNotFound,
	holdfast.CodePaymentReferenceUsed: http.StatusConflict,
	holdfast.CodePaymentRefundDue:     http.StatusConflict,
	holdfast.CodePaymentRefunded:      http.StatusConflict,
	holdfast.CodePaymentAccepted:      http.StatusConflict,
	holdfast.CodeRefundNotFound:       http.StatusNotFound,
}

// codeByStatus gives a code to the errors that huma reports by status only.
var codeByStatus = map[int]holdfast.Code{
	http.StatusBadRequest:            codeMalformed,
	http.StatusRequestTimeout:        codeMalformed, // the body did not arrive in time
	http.StatusUnauthorized:          codeUnauthenticated,
	http.StatusForbidden:             codeForbidden,
	http.StatusNotFound:              codeNotFound,
	http.StatusMethodNotAllowed:      codeMethodNotAllowed,
	http.StatusRequestEntityTooLarge: codeBodyTooLarge,
	http.StatusUnsupportedMediaType:  codeMediaType,
	http.StatusUnprocessableEntity:   holdfast.CodeInvalid,
}

// defaultRetryAfter is the value of Retry-After if a problem has no other, in seconds.
const defaultRetryAfter = "1"

// detailInternal answers errors that have no code. The cause is not known, so
// the text does not mention one.
const detailInternal = "The server could not process the request. Retry it; if it fails again, report the X-Request-Id to the operator."

// detailUnknown is detailInternal for a request that writes.
const detailUnknown = "It is not known whether the request was executed. Repeat it with the same idempotency key; " +
	"if it fails again, report the X-Request-Id to the operator."

// detailInvalid is the detail of a request whose errors[] has the invalid parts.
const detailInvalid = "The request is invalid. Correct the parts listed in errors."

// Problem is an error response (RFC 9457).
type Problem struct {
	Type   string                `json:"type" example:"about:blank" doc:"Always about:blank; see code."`
	Title  string                `json:"title" doc:"The text of the status."`
	Status int                   `json:"status"`
	Code   holdfast.Code         `json:"code" example:"SEATS_UNAVAILABLE" doc:"Identifies the error. Clients should decide by it."`
	Detail string                `json:"detail" doc:"Explains the error to people. The text may change."`
	Errors []holdfast.FieldError `json:"errors,omitempty" nullable:"false" doc:"The invalid parts of the request."`

	Requested *int64 `json:"requested,omitempty" doc:"Number of seats requested."`
	Available *int64 `json:"available,omitempty" doc:"Number of seats available."`

	Unavailable []string `json:"unavailable,omitempty" nullable:"false" doc:"The named seats that are not available, in plan order."`
	Orphans     []string `json:"orphans,omitempty" nullable:"false" doc:"The seats that would be left without a free neighbour."`
	Longest     *int64   `json:"longest,omitempty" doc:"How many of the seats requested are together."`

	Limit *int64 `json:"limit,omitempty" doc:"The limit that was reached."`
	Held  *int64 `json:"held,omitempty" doc:"How much of the limit the customer uses."`
	Taken *int64 `json:"taken,omitempty" doc:"Number of taken seats. The capacity can't be lower."`
	// Of a change of an event's seating plan.
	Missing      []string `json:"missing,omitempty" nullable:"false" doc:"The first 100 taken seats that the new plan lacks, in plan order."`
	MissingSeats int64    `json:"missingSeats,omitempty" doc:"How many taken seats the new plan lacks."`

	Holder string `json:"holder,omitempty" doc:"The process that runs the job: <pod>/<pid>/<random>."`
	LockID string `json:"lockId,omitempty" doc:"The lock that may have been created."`

	OpensAt string `json:"opensAt,omitempty" format:"date-time" doc:"When the sale begins."`

	Payment *refusedPayment `json:"payment,omitempty" doc:"The payment of a confirmation that was refused."`

	cause      error
	retryAfter string // seconds; "" means defaultRetryAfter with 429 and 503, and none with others
}

// refusedPayment is the payment of a refused confirmation.
type refusedPayment struct {
	ID     string `json:"id"`
	Status string `json:"status" enum:"ACCEPTED,REFUND_DUE,REFUNDED"`
	Reason string `json:"reason,omitempty"`
}

func (p *Problem) Error() string { return string(p.Code) + ": " + p.Detail }

// Unwrap returns the cause, for the log.
func (p *Problem) Unwrap() error { return p.cause }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	switch p.Status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		h.Set("Retry-After", cmp.Or(p.retryAfter, defaultRetryAfter))
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	default:
		if p.retryAfter != "" {
			h.Set("Retry-After", p.retryAfter)
		}
	}
	return h
}

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// writeProblem writes an error response outside of huma.
func writeProblem(w http.ResponseWriter, p *Problem) {
	for key, values := range p.GetHeaders() {
		w.Header()[key] = values
	}
	writeJSON(w, p.Status, p.ContentType(""), p)
}

func newProblem(status int, code holdfast.Code, detail string) *Problem {
	return &Problem{
		Type:   "about:blank",
		Title:  http.StatusText(status),
		Status: status,
		Code:   code,
		Detail: detail,
	}
}

// problemOf turns an error into a response, if nothing was written before it: the error of a
// read, or of a check. Nothing of an error without a known code is sent to the client.
func problemOf(err error) *Problem { return outcomeOf(http.MethodGet, err) }

// outcomeOf is problemOf for the error of a request that may have written. After an error without a
// known code the outcome is unknown.
func outcomeOf(method string, err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var f *holdfast.Error
	if !errors.As(err, &f) || statusByCode[f.Code] == 0 {
		p = newFailure(method)
		p.cause = err
		return p
	}
	p = newProblem(statusByCode[f.Code], f.Code, f.Message)
	p.cause = f.Cause
	p.addDetails(f.Details)
	return p
}

// newFailure answers a request that failed for an unknown reason.
func newFailure(method string) *Problem {
	code, detail := holdfast.CodeOutcomeUnknown, detailUnknown
	if method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions {
		code, detail = holdfast.CodeUnavailable, detailInternal
	}
	return newProblem(http.StatusServiceUnavailable, code, detail)
}

// addDetails adds the typed details of an error as members of the problem.
func (p *Problem) addDetails(details any) {
	switch d := details.(type) {
	case holdfast.SeatsUnavailable:
		p.Requested, p.Available, p.Unavailable = &d.Requested, &d.Available, d.Unavailable
	case holdfast.SeatOrphaned:
		p.Orphans = d.Orphans
	case holdfast.SeatsNotAdjacent:
		p.Longest = &d.Longest
	case holdfast.LimitReached:
		p.Limit, p.Held = &d.Limit, d.Held
	case holdfast.CapacityBelowTaken:
		p.Taken, p.Missing, p.MissingSeats = &d.Taken, d.Missing, d.MissingSeats
	case holdfast.SaleNotOpen:
		p.OpensAt, p.retryAfter = formatTime(d.OpensAt), formatSeconds(min(max(d.After, time.Second), time.Hour))
	case holdfast.RefusedPayment:
		p.Payment = &refusedPayment{ID: d.ID.String(), Status: string(d.Status), Reason: string(d.Reason)}
	case holdfast.UnknownLock:
		p.LockID = d.LockID.String()
	case holdfast.Invalid:
		p.Errors = d
	case jobs.RunningBy:
		p.Holder = d.Holder
	}
}

// newHumaError builds the responses to requests that huma refuses. It repeats no
// input of the client. A status without a code is a failure, perhaps one after the handler.
func newHumaError(ctx huma.Context, status int, detail string, errs ...error) huma.StatusError {
	code, known := codeByStatus[status]
	if !known {
		return newFailure(ctx.Method())
	}
	if len(errs) > 0 {
		detail = detailInvalid
	}
	p := newProblem(statusByCode[code], code, detail)
	for _, err := range errs {
		var d huma.ErrorDetailer
		switch {
		case errors.As(err, &d):
			p.Errors = append(p.Errors, holdfast.FieldError{Where: d.ErrorDetail().Location, What: d.ErrorDetail().Message})
		case err != nil:
			p.Errors = append(p.Errors, holdfast.FieldError{Where: "body", What: err.Error()})
		}
	}
	return p
}

// Codes returns every code that a response may have.
func Codes() []holdfast.Code { return slices.Sorted(maps.Keys(statusByCode)) }
