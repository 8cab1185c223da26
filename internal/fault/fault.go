// Package fault is the shape of every error that a caller may act on: a code
// that CONTRACT fixes, a sentence for people, and the cause, which is logged
// and never sent.
//
// Each domain package declares its own codes; httpapi maps them to statuses.
package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Code names what went wrong; clients decide by it.
type Code string

// Error is a refusal or a failure with its code.
type Error struct {
	Code   Code
	Detail string         // for people; holds nothing of another client's
	Fields map[string]any // further facts for the client, such as requested and available
	Cause  error          // logged, never sent
}

// New returns a refusal: nothing was changed.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// With adds a fact for the client and returns the error.
func (e *Error) With(key string, value any) *Error {
	if e.Fields == nil {
		e.Fields = map[string]any{}
	}
	e.Fields[key] = value
	return e
}

// By names the cause and returns the error.
func (e *Error) By(cause error) *Error {
	e.Cause = cause
	return e
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Detail)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// CodeOf returns the code of err, or "" if it has none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Is reports whether err carries code.
func Is(err error, code Code) bool { return err != nil && CodeOf(err) == code }

// IsAbsent reports whether err says that something is not there.
func IsAbsent(err error) bool {
	return err != nil && strings.HasSuffix(string(CodeOf(err)), "_NOT_FOUND")
}

// CodeInvalid refuses input whose shape is right and whose content is not; its
// field errors says where.
const CodeInvalid Code = "VALIDATION_FAILED"

// FieldError says what is wrong, and where in the request.
type FieldError struct {
	Where string `json:"location"`
	What  string `json:"message"`
}

// Invalid refuses one input value; where is its path, such as body.seats.
func Invalid(where, format string, args ...any) *Error {
	e := New(CodeInvalid, format, args...)
	return e.With("errors", []FieldError{{Where: where, What: e.Detail}})
}
