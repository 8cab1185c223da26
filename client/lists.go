package client

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
)

// Filter selects items of a list. A nil field does not filter; an empty one is refused,
// because it may be an ID that was never set.
type Filter struct{ EventID, UserID, Holder, Status, Reference *string }

// MaxPageSize is the largest number of items that the API returns at once.
const MaxPageSize = 500

// ListItems iterates over a list of the API by its path, such as /api/locks, as ListEvents does. The items are JSON as the API
// has sent it, with the fields that this version of the client does not know. query has the filters of the list, and may have
// a pageSize.
func (c *Client) ListItems(ctx context.Context, path string, query url.Values) iter.Seq2[json.RawMessage, error] {
	return listPages[json.RawMessage](ctx, c, path, query)
}

func get[T any](ctx context.Context, c *Client, path, id string) (v T, err error) {
	_, err = c.call(ctx, request{method: http.MethodGet, path: path + url.PathEscape(id)}, &v)
	return v, err
}

func post[T any](ctx context.Context, c *Client, path, id, action string, body any) (v T, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: path + url.PathEscape(id) + action, body: body}, &v)
	return v, err
}

func list[T any](ctx context.Context, c *Client, path string, f Filter) iter.Seq2[T, error] {
	return listBy[T](ctx, c, path, map[string]*string{
		"eventId": f.EventID, "userId": f.UserID, "holder": f.Holder, "status": f.Status, "reference": f.Reference,
	})
}

func listBy[T any](ctx context.Context, c *Client, path string, filters map[string]*string) iter.Seq2[T, error] {
	query := url.Values{}
	for name, value := range filters {
		if value != nil {
			query.Set(name, *value)
		}
	}
	return listPages[T](ctx, c, path, query)
}

func listPages[T any](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		page := url.Values{"pageSize": {strconv.Itoa(MaxPageSize)}}
		maps.Copy(page, query)
		for {
			var found struct {
				Items []T    `json:"items"`
				Next  string `json:"nextPageToken"`
			}
			if _, err := c.call(ctx, request{method: http.MethodGet, path: path, query: page}, &found); err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, item := range found.Items {
				if !yield(item, nil) {
					return
				}
			}
			if found.Next == "" {
				return
			}
			page.Set("pageToken", found.Next)
		}
	}
}
