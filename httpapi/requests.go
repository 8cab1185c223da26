package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/holdfast-dev/holdfast"
)

// PathID is the ID in a path.
type PathID struct {
	ID string `path:"id" pattern:"^[0-9a-fA-F]{24}$" doc:"24 hex digits."`
}

// PageQuery selects one page of a list.
type PageQuery struct {
	PageSize  int    `query:"pageSize" minimum:"1" maximum:"500" default:"50" doc:"Maximum number of items; a page may have fewer."`
	PageToken string `query:"pageToken" maxLength:"64" doc:"nextPageToken of the previous page."`
}

func (q PageQuery) page() holdfast.Page { return holdfast.Page{Size: q.PageSize, Token: q.PageToken} }

// FilterQuery refuses empty filters and the zero ID. They would mean no filter, and a
// client that lost its ID must not get everything.
type FilterQuery struct{}

// Resolve is called by huma after it has read the request.
func (FilterQuery) Resolve(ctx huma.Context) (errs []error) {
	u := ctx.URL()
	query := u.Query()
	for _, filter := range []string{
		"eventId", "userId", "holder", "reference", "status", "behind", "type", "subject", "since", "until", "actor", "targetId", "name",
		"from", "to",
	} {
		if value := query.Get(filter); query.Has(filter) && (value == "" || value == zeroID && filter != "holder" && filter != "reference") {
			errs = append(errs, &huma.ErrorDetail{
				Location: "query." + filter, Message: "the filter is empty, or the zero ID: give it a value, or leave it out",
			})
		}
	}
	return errs
}

var zeroID = holdfast.ID{}.String()

// readableQuery refuses a query that can't be read completely, because the unread part may be
// a filter. Only the parameter that an operation names in its metadata may be repeated.
func readableQuery(ctx huma.Context, next func(huma.Context)) {
	u := ctx.URL()
	if u.RawQuery == "" {
		next(ctx)
		return
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		err = holdfast.RefuseInput("query", "The query can't be read: separate its parameters by &, and escape them.")
	}
	repeats, _ := ctx.Operation().Metadata[metadataRepeats].(string)
	for name, values := range query {
		if len(values) > 1 && name != repeats {
			err = holdfast.RefuseInput("query."+name, "The parameter is given more than once.")
		}
	}
	if err != nil {
		_, w := humago.Unwrap(ctx)
		writeProblem(w, problemOf(err))
		return
	}
	next(ctx)
}

// displayName is the name of a user or an event.
type displayName string

// Schema implements huma.SchemaProvider.
func (displayName) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, MinLength: new(1), MaxLength: new(200),
		Pattern:     `^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$`,
		Description: "Not blank, no control characters.", PatternDescription: "text that is not blank and has no control characters",
	}
}

// emailAddress is an address without a display name.
type emailAddress string

// Schema implements huma.SchemaProvider.
func (emailAddress) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, MaxLength: new(254), Format: "email",
		Pattern:            `^[^@\s<>\x00-\x1f\x7f-\x9f]+@[^@\s<>*,;:()\x00-\x1f\x7f-\x9f]+$`,
		Description:        "One mailbox, in any case and spelling of its domain, has one user.",
		PatternDescription: "an email address alone, without blanks, such as ada@example.com",
	}
}

// patternTexts say in words what the pattern of a field's tag requires, for refusals.
var patternTexts = map[string]string{
	`^[0-9a-fA-F]{24}$`:            "an ID of 24 hex digits",
	`^[A-Z]{3}$`:                   "a currency of ISO 4217, such as EUR",
	`^[A-Za-z0-9][A-Za-z0-9._-]*$`: "a key that begins with a letter or a digit, and has only these, dots, hyphens and underscores",
}

// formatRefusal replaces huma.ErrorFormatter, which repeats the pattern.
func formatRefusal(format string, values ...any) string {
	if format == validation.MsgExpectedMatchPattern {
		if text := patternTexts[fmt.Sprint(values...)]; text != "" {
			return fmt.Sprintf(validation.MsgExpectedBePattern, text)
		}
	}
	return fmt.Sprintf(format, values...)
}

// parseID reads an ID whose format was checked before. An empty or invalid text
// gives the zero ID.
func parseID(s string) holdfast.ID {
	id, err := holdfast.ParseID(s)
	if err != nil {
		return holdfast.ID{}
	}
	return id
}

// parseFilter reads the ID of a filter; nil if there is none.
func parseFilter(s string) *holdfast.ID {
	if s == "" {
		return nil
	}
	return new(parseID(s))
}

// timestamp is a time as RFC 3339 writes it, in any zone.
type timestamp struct{ time.Time }

// Schema implements huma.SchemaProvider.
func (timestamp) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Format: "date-time",
		Pattern:            `^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`,
		PatternDescription: "a time of RFC 3339 without a leap second, such as 2026-06-15T10:00:00Z",
	}
}

// utc returns the time in UTC. Go's zero time would mean that none was given; see holdfast.Instant.
func (t timestamp) utc() time.Time {
	if t.IsZero() {
		return t.UTC().Add(1)
	}
	return t.UTC()
}

// parseUntil reads the two ways to give a deadline: a time, or seconds from now. A
// customer's token must give a time in the future.
func parseUntil(ctx context.Context, at *timestamp, seconds *int64) holdfast.Until {
	u := holdfast.Until{Ahead: requestInfoOf(ctx).scope == scopeCustomer}
	if at != nil {
		u.At = at.utc()
	}
	if seconds != nil {
		const most = int64(math.MaxInt64 / time.Second)
		u.For = time.Duration(max(-1, min(*seconds, most))) * time.Second
	}
	return u
}

// changeOf is a field that may be absent, but not null: null could mean to keep the value, or to clear it.
type changeOf[T any] struct {
	to   *T
	null bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *changeOf[T]) UnmarshalJSON(text []byte) error {
	c.null = string(text) == "null"
	return json.Unmarshal(text, &c.to)
}

// Schema implements huma.SchemaProvider.
func (changeOf[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// Resolve is called by huma after it has read the request.
func (c *changeOf[T]) Resolve(_ huma.Context, path *huma.PathBuffer) []error {
	if !c.null {
		return nil
	}
	return []error{&huma.ErrorDetail{Location: path.String(), Message: "null is not a valid value: give a value, or leave the field out"}}
}

// removable is a field of a PATCH that null removes.
type removable[T any] struct {
	to      *T
	removed bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *removable[T]) UnmarshalJSON(text []byte) error {
	r.removed = string(text) == "null"
	return json.Unmarshal(text, &r.to)
}

// Schema implements huma.SchemaProvider.
func (removable[T]) Schema(r huma.Registry) *huma.Schema {
	s := *r.Schema(reflect.TypeFor[T](), true, "")
	s.Nullable = true
	return &s
}

const headerKey = "Idempotency-Key"

// IdempotencyHeader is the header that may replace idempotencyKey in the body.
type IdempotencyHeader struct {
	Key string `header:"Idempotency-Key" maxLength:"200" doc:"May replace idempotencyKey in the body."`
}

// Resolve is called by huma after it has read the request. It refuses a header that is
// empty, that has two different values, or whose text is invalid.
func (h *IdempotencyHeader) Resolve(ctx huma.Context) []error {
	const where = "header." + headerKey
	r, _ := humago.Unwrap(ctx)
	for _, key := range r.Header[headerKey] {
		message := ""
		var refusal *holdfast.Error
		switch {
		case key == "":
			message = "the key is empty: give one, or leave the header out"
		case key != h.Key:
			message = "two headers have different keys: send one of them"
		case errors.As(holdfast.CheckText(where, key, holdfast.MaxKeyLength), &refusal):
			message = refusal.Message
		default:
			continue
		}
		return []error{&huma.ErrorDetail{Location: where, Message: message}}
	}
	return nil
}

// keyOf returns the idempotency key of the header or the body.
func (h *IdempotencyHeader) keyOf(inBody string) (string, error) {
	if inBody != "" && h.Key != "" && inBody != h.Key {
		return "", holdfast.RefuseInput("header."+headerKey, "The header and the body have different idempotency keys. Send one of them.")
	}
	return cmp.Or(inBody, h.Key), nil
}

// creationKey is keyOf for the creation of a user or an event.
func (h *IdempotencyHeader) creationKey(ctx context.Context, inBody string) (holdfast.CreationKey, error) {
	key, err := h.keyOf(inBody)
	return holdfast.CreationKey{Caller: requestInfoOf(ctx).key, Key: key}, err
}
