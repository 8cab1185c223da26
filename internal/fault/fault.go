// Package fault: to be removed.
package fault

import "github.com/holdfast-dev/holdfast"

type (
	Code       = holdfast.Code
	Error      = holdfast.Error
	FieldError = holdfast.FieldError
)

const CodeInvalid = holdfast.CodeInvalid

var (
	New      = holdfast.Refuse
	Invalid  = holdfast.RefuseInput
	CodeOf   = holdfast.CodeOf
	Is       = holdfast.HasCode
	IsAbsent = holdfast.IsNotFound
)
