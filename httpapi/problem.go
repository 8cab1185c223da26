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

// Codes of what this package refuses itself.
const (
	codeMalformed        fault.Code = "MALFORMED_REQUEST"
	codeUnauthenticated  fault.Code = "UNAUTHENTICATED"
	codeForbidden        fault.Code = "FORBIDDEN"
	codeNotFound         fault.Code = "NOT_FOUND"
	codeMethodNotAllowed fault.Code = "METHOD_NOT_ALLOWED"
	codeBodyTooLarge     fault.Code = "BODY_TOO_LARGE"
	codeMediaType        fault.Code = "UNSUPPORTED_MEDIA_TYPE"
)

// statusOf is the one place where codes become statuses.
var statusOf = map[fault.Code]int{
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

// codeFor names the refusals that the HTTP layer makes by status alone.
var codeFor = map[int]fault.Code{
	http.StatusBadRequest:            codeMalformed,
	http.StatusRequestTimeout:        codeMalformed, // the body did not come in time
	http.StatusUnauthorized:          codeUnauthenticated,
	http.StatusForbidden:             codeForbidden,
	http.StatusNotFound:              codeNotFound,
	http.StatusMethodNotAllowed:      codeMethodNotAllowed,
	http.StatusRequestEntityTooLarge: codeBodyTooLarge,
	http.StatusUnsupportedMediaType:  codeMediaType,
	http.StatusUnprocessableEntity:   fault.CodeInvalid,
}

// retryAfter is what a client waits before it asks again, in seconds.
const retryAfter = "1"

// Problem is an error answer, RFC 9457.
type Problem struct {
	Type   string             `json:"type" example:"about:blank" doc:"Always about:blank; the code tells problems apart."`
	Title  string             `json:"title" doc:"The status in words."`
	Status int                `json:"status"`
	Code   fault.Code         `json:"code" example:"SEATS_UNAVAILABLE" doc:"What clients decide by."`
	Detail string             `json:"detail" doc:"For people; its words may change."`
	Errors []fault.FieldError `json:"errors,omitempty" doc:"Where in the request, and what."`

	Requested *int64 `json:"requested,omitempty" doc:"Seats asked for."`
	Available *int64 `json:"available,omitempty" doc:"Seats available."`
	Limit     *int64 `json:"limit,omitempty" doc:"Seats of this event that a customer may hold."`
	Held      *int64 `json:"held,omitempty" doc:"Seats of this event that the customer holds."`
	Taken     *int64 `json:"taken,omitempty" doc:"Seats taken, below which the capacity can't go."`
	Holder    string `json:"holder,omitempty" doc:"Who runs the job: <pod>/<pid>/<random>."`
	LockID    string `json:"lockId,omitempty" doc:"The lock whose making has an unknown outcome."`

	cause      error
	retryAfter string // seconds; "" means the usual
}

func (p *Problem) Error() string { return string(p.Code) + ": " + p.Detail }

// Unwrap returns the cause, for the log.
func (p *Problem) Unwrap() error { return p.cause }

// GetStatus is the answer's status.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders is the answer's headers.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	switch p.Status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		h.Set("Retry-After", cmp.Or(p.retryAfter, retryAfter))
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	}
	return h
}

// ContentType replaces the media type of a success.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

func newProblem(status int, code fault.Code, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

// problemOf turns a service's error into an answer. What carries no code is a
// failure of ours: nothing of it is told.
func problemOf(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var f *fault.Error
	if !errors.As(err, &f) || statusOf[f.Code] == 0 {
		p = newProblem(http.StatusServiceUnavailable, mongodb.CodeUnavailable, "The request could not be answered; ask again.")
		p.cause = err
		return p
	}
	p = newProblem(statusOf[f.Code], f.Code, f.Detail)
	p.cause = f.Cause
	for field, into := range map[string]**int64{
		"requested": &p.Requested, "available": &p.Available, "limit": &p.Limit, "held": &p.Held, "taken": &p.Taken,
	} {
		if n, ok := f.Fields[field].(int64); ok {
			*into = &n
		}
	}
	p.Errors, _ = f.Fields["errors"].([]fault.FieldError)
	p.Holder, _ = f.Fields["holder"].(string)
	p.LockID, _ = f.Fields["lockId"].(string)
	return p
}

// refusedByShape builds the answers of the HTTP layer's own checks; what a
// client sent is not echoed.
func refusedByShape(status int, detail string, errs ...error) huma.StatusError {
	code, known := codeFor[status]
	if !known {
		code, status, detail = mongodb.CodeUnavailable, http.StatusServiceUnavailable, "The request could not be answered; ask again."
	} else if status != statusOf[code] {
		status = statusOf[code]
	}
	if len(errs) > 0 && status < http.StatusInternalServerError {
		detail = "The request is not well formed; errors says where."
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

// Codes lists every code that an answer may have.
func Codes() []fault.Code { return slices.Sorted(maps.Keys(statusOf)) }
