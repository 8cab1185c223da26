package httpapi

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/seats"
	"github.com/holdfast-dev/holdfast/users"
)

// Codes of the refusals of this package.
const (
	codeMalformed        fault.Code = "MALFORMED_REQUEST"
	codeUnauthenticated  fault.Code = "UNAUTHENTICATED"
	codeForbidden        fault.Code = "FORBIDDEN"
	codeNotFound         fault.Code = "NOT_FOUND"
	codeMethodNotAllowed fault.Code = "METHOD_NOT_ALLOWED"
	codeBodyTooLarge     fault.Code = "BODY_TOO_LARGE"
	codeMediaType        fault.Code = "UNSUPPORTED_MEDIA_TYPE"
)

// statusByCode is the only place that maps codes to statuses.
var statusByCode = map[fault.Code]int{
	codeMalformed:        http.StatusBadRequest,
	codeUnauthenticated:  http.StatusUnauthorized,
	codeForbidden:        http.StatusForbidden,
	codeNotFound:         http.StatusNotFound,
	codeMethodNotAllowed: http.StatusMethodNotAllowed,
	codeBodyTooLarge:     http.StatusRequestEntityTooLarge,
	codeMediaType:        http.StatusUnsupportedMediaType,
	codeTooMany:          http.StatusTooManyRequests,

	fault.CodeInvalid: http.StatusUnprocessableEntity,

	mongodb.CodeUnavailable:    http.StatusServiceUnavailable,
	mongodb.CodeOutcomeUnknown: http.StatusServiceUnavailable,

	users.CodeNotFound:   http.StatusNotFound,
	users.CodeEmailTaken: http.StatusConflict,

	seats.CodeEventNotFound:     http.StatusNotFound,
	seats.CodeLockNotFound:      http.StatusNotFound,
	seats.CodeSeatsUnavailable:  http.StatusConflict,
	seats.CodeSeatLimit:         http.StatusConflict,
	seats.CodeNotOnSale:         http.StatusConflict,
	seats.CodeCapacity:          http.StatusConflict,
	seats.CodeLockConsumed:      http.StatusConflict,
	seats.CodeLockReleased:      http.StatusConflict,
	seats.CodeLockExpired:       http.StatusGone,
	seats.CodeIdempotencyReused: http.StatusUnprocessableEntity,

	jobs.CodeNotFound: http.StatusNotFound,
	jobs.CodeRunning:  http.StatusConflict,

	booking.CodeNotFound:   http.StatusNotFound,
	booking.CodeConfirmed:  http.StatusConflict,
	booking.CodeCancelled:  http.StatusConflict,
	booking.CodeNotPayable: http.StatusConflict,
	booking.CodeExpired:    http.StatusGone,
}

// codeByStatus gives a code to the errors that huma reports by status only.
var codeByStatus = map[int]fault.Code{
	http.StatusBadRequest:            codeMalformed,
	http.StatusRequestTimeout:        codeMalformed, // the body did not arrive in time
	http.StatusUnauthorized:          codeUnauthenticated,
	http.StatusForbidden:             codeForbidden,
	http.StatusNotFound:              codeNotFound,
	http.StatusMethodNotAllowed:      codeMethodNotAllowed,
	http.StatusRequestEntityTooLarge: codeBodyTooLarge,
	http.StatusUnsupportedMediaType:  codeMediaType,
	http.StatusUnprocessableEntity:   fault.CodeInvalid,
}

// defaultRetryAfter is the value of Retry-After where a problem has no other, in seconds.
const defaultRetryAfter = "1"

// detailInternal answers errors that have no code. The cause may be anything, so
// the text claims nothing about it.
const detailInternal = "The server could not process the request. Retry it; if it fails again, report the X-Request-Id to the operator."

// Problem is an error response (RFC 9457).
type Problem struct {
	Type   string             `json:"type" example:"about:blank" doc:"Always about:blank; see code."`
	Title  string             `json:"title" doc:"The text of the status."`
	Status int                `json:"status"`
	Code   fault.Code         `json:"code" example:"SEATS_UNAVAILABLE" doc:"Identifies the error. Clients decide by it."`
	Detail string             `json:"detail" doc:"Explains the error to people. The text may change."`
	Errors []fault.FieldError `json:"errors,omitempty" doc:"The invalid parts of the request."`

	Requested *int64 `json:"requested,omitempty" doc:"Seats requested."`
	Available *int64 `json:"available,omitempty" doc:"Seats available."`
	Limit     *int64 `json:"limit,omitempty" doc:"The limit that was reached."`
	Held      *int64 `json:"held,omitempty" doc:"How much of the limit the customer uses."`
	Taken     *int64 `json:"taken,omitempty" doc:"Seats taken. The capacity can't be lower."`
	Holder    string `json:"holder,omitempty" doc:"The process that runs the job: <pod>/<pid>/<random>."`
	LockID    string `json:"lockId,omitempty" doc:"The lock that may have been created."`

	cause      error
	retryAfter string // seconds; "" means defaultRetryAfter
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

func newProblem(status int, code fault.Code, detail string) *Problem {
	return &Problem{
		Type:   "about:blank",
		Title:  http.StatusText(status),
		Status: status,
		Code:   code,
		Detail: detail,
	}
}

// problemOf turns an error of a service into a response. Nothing of an error
// without a known code is sent to the client.
func problemOf(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var f *fault.Error
	if !errors.As(err, &f) || statusByCode[f.Code] == 0 {
		p = newProblem(http.StatusServiceUnavailable, mongodb.CodeUnavailable, detailInternal)
		p.cause = err
		return p
	}
	p = newProblem(statusByCode[f.Code], f.Code, f.Detail)
	p.cause = f.Cause
	for name, field := range map[string]**int64{
		"requested": &p.Requested,
		"available": &p.Available,
		"limit":     &p.Limit,
		"held":      &p.Held,
		"taken":     &p.Taken,
	} {
		if n, ok := f.Fields[name].(int64); ok {
			*field = &n
		}
	}
	p.Errors, _ = f.Fields["errors"].([]fault.FieldError)
	p.Holder, _ = f.Fields["holder"].(string)
	p.LockID, _ = f.Fields["lockId"].(string)
	return p
}

// newHumaError builds the responses to requests that huma refuses. It repeats no
// input of the client.
func newHumaError(status int, detail string, errs ...error) huma.StatusError {
	code, known := codeByStatus[status]
	if !known {
		code, status, detail = mongodb.CodeUnavailable, http.StatusServiceUnavailable, detailInternal
	} else if status != statusByCode[code] {
		status = statusByCode[code]
	}
	if len(errs) > 0 && status < http.StatusInternalServerError {
		detail = "The request is invalid. Correct the parts listed in errors."
	}
	p := newProblem(status, code, detail)
	for _, err := range errs {
		var d huma.ErrorDetailer
		switch {
		case errors.As(err, &d):
			p.Errors = append(p.Errors, fault.FieldError{Where: d.ErrorDetail().Location, What: d.ErrorDetail().Message})
		case err != nil && status < http.StatusInternalServerError:
			p.Errors = append(p.Errors, fault.FieldError{Where: "body", What: err.Error()})
		}
	}
	return p
}

// Codes returns every code that a response may have.
func Codes() []fault.Code { return slices.Sorted(maps.Keys(statusByCode)) }
