package mongodb

import "github.com/holdfast-dev/holdfast"

type Page = holdfast.Page

const (
	CodeUnavailable    = holdfast.CodeUnavailable
	CodeOutcomeUnknown = holdfast.CodeOutcomeUnknown
	DefaultPageSize    = holdfast.DefaultPageSize
	MaxPageSize        = holdfast.MaxPageSize
)
