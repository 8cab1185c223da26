package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// RawRequest is a request to any route of the API.
type RawRequest struct {
	Method string
	Path   string // escaped, such as /api/locks; it begins with one slash
	Query  url.Values
	Body   []byte      // nil means none
	Header http.Header // added to those of the client, or in their place
}

// Do sends a request to any route, and returns the body of the response as it was sent. GET, PUT, and requests with the header
// Idempotency-Key are retried as other calls are; others are retried only if they were certainly not executed. DELETE is among
// them, because a second one could free a job's lease of another process.
func (c *Client) Do(ctx context.Context, r RawRequest) (text []byte, err error) {
	if !strings.HasPrefix(r.Path, "/") || strings.HasPrefix(r.Path, "//") { // it could name another host
		return nil, errors.New("the path of a request must begin with one slash, such as /api/locks")
	}
	repeatable := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodPut
	_, err = c.call(ctx, request{
		method: r.Method, path: r.Path, query: r.Query, body: r.Body, header: r.Header, isPlan: true,
		notIdempotent: !repeatable && r.Header.Get("Idempotency-Key") == "",
	}, &text)
	return text, err
}
