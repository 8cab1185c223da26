package httpapi

import (
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfast-dev/holdfast"
)

// PathID is the ID in a path.
type PathID struct {
	ID string `path:"id" pattern:"^[0-9a-fA-F]{24}$" doc:"24 hex digits."`
}

// PageQuery selects one page of a list.
type PageQuery struct {
	PageSize  int    `query:"pageSize" minimum:"1" maximum:"500" default:"50" doc:"Maximum number of items."`
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
	for _, filter := range []string{"eventId", "userId", "status", "behind"} {
		if value := query.Get(filter); query.Has(filter) && (value == "" || value == zeroID) {
			errs = append(errs, &huma.ErrorDetail{
				Location: "query." + filter, Message: "the filter is empty, or the zero ID: give it a value, or leave it out",
			})
		}
	}
	return errs
}

var zeroID = holdfast.ID{}.String()

// readableQuery refuses a query that can't be read whole: what was left out may have been
// a filter.
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
	for name, values := range query {
		if len(values) > 1 {
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
		Pattern:     `^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$`,
		Description: "Not blank, no control characters.",
	}
}

// emailAddress is an address without a display name.
type emailAddress string

// Schema implements huma.SchemaProvider.
func (emailAddress) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, MaxLength: new(254), Format: "email",
		Pattern:     `^[^@\s<>\x00-\x1f\x7f-\x9f]+@[^@\s<>*,;:()\x00-\x1f\x7f-\x9f]+$`,
		Description: "Unique, case-insensitively.",
	}
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

// parseUntil reads the two ways to give a deadline: a time, or seconds from now.
func parseUntil(at *time.Time, seconds *int64) holdfast.Until {
	var u holdfast.Until
	if at != nil {
		u.At = at.UTC()
		if u.At.IsZero() { // Go's zero time would mean "not given"; the year 1 is a valid time in the past
			u.At = u.At.Add(time.Millisecond)
		}
	}
	if seconds != nil {
		u.For = time.Duration(*seconds) * time.Second
	}
	return u
}
