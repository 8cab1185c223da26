package httpapi

import (
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats"
)

// PathID is the ID in a path.
type PathID struct {
	ID string `path:"id" pattern:"^[0-9a-fA-F]{24}$" doc:"24 hex digits."`
}

// PageQuery asks for a part of a list.
type PageQuery struct {
	PageSize  int    `query:"pageSize" minimum:"1" maximum:"500" default:"50" doc:"Items at most."`
	PageToken string `query:"pageToken" maxLength:"64" doc:"nextPageToken of the page before."`
}

func (q PageQuery) page() mongodb.Page { return mongodb.Page{Size: q.PageSize, Token: q.PageToken} }

// FilterQuery is a filter given and empty, which would be none at all: a client
// that lost its ID must not be shown everything.
type FilterQuery struct{}

// Resolve refuses an empty filter.
func (FilterQuery) Resolve(ctx huma.Context) (errs []error) {
	u := ctx.URL()
	query := u.Query()
	for _, filter := range []string{"eventId", "userId", "status", "behind"} {
		if query.Has(filter) && query.Get(filter) == "" {
			errs = append(errs, &huma.ErrorDetail{Location: "query." + filter, Message: "a filter is not empty; leave it out for all"})
		}
	}
	return errs
}

// list is a page of items.
type list[T any] struct {
	Body struct {
		Items         []T    `json:"items" nullable:"false"`
		NextPageToken string `json:"nextPageToken" doc:"Empty at the end."`
	}
}

func listOf[D, T any](items []D, next string, shape func(D) T) *list[T] {
	var l list[T]
	l.Body.Items, l.Body.NextPageToken = shapeAll(items, shape), next
	return &l
}

// shapeAll is never nil, so that no list is null in JSON.
func shapeAll[D, T any](items []D, shape func(D) T) []T {
	shaped := make([]T, 0, len(items))
	for _, item := range items {
		shaped = append(shaped, shape(item))
	}
	return shaped
}

// created answers a POST that made something.
type created[T any] struct {
	Location string `header:"Location"`
	Body     T
}

// found answers with what there is.
type found[T any] struct{ Body T }

// parseID reads an ID whose shape was checked; "" names none.
func parseID(s string) ids.ID {
	id, err := ids.Parse(s)
	if err != nil {
		return ids.ID{}
	}
	return id
}

// stamp writes a time as every answer does; the zero time is left out.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func orEmpty(id ids.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

// until reads the two ways to ask for a time.
func until(at *time.Time, seconds *int64) seats.Until {
	var u seats.Until
	if at != nil {
		u.At = at.UTC()
		if u.At.IsZero() { // the year 1 is a time like any other; it is past
			u.At = u.At.Add(time.Millisecond)
		}
	}
	if seconds != nil {
		u.For = time.Duration(*seconds) * time.Second
	}
	return u
}
