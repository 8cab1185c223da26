package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Client calls one API. It is safe for concurrent use.
type Client struct {
	baseURL      string
	secret       string
	http         *http.Client
	retryTimeout time.Duration
	event        string // in the paths of locks and bookings; "" means none
}

// Option configures a client.
type Option func(*Client)

// WithKey sends the secret of an API key, or a customer's token, without the white space around it. With characters that
// neither has, all calls fail with ErrInvalidKey.
func WithKey(secret string) Option { return func(c *Client) { c.secret = strings.TrimSpace(secret) } }

// WithHTTPClient replaces the HTTP client, whose timeout is DefaultTimeout. Without a CheckRedirect of its own it follows no
// redirects.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithRetryTimeout limits the total time of a call with its retries; 0 disables
// retries.
func WithRetryTimeout(d time.Duration) Option { return func(c *Client) { c.retryTimeout = d } }

const (
	// DefaultTimeout limits one request and its response.
	DefaultTimeout = 15 * time.Second
	// DefaultRetryTimeout limits a call with its retries.
	DefaultRetryTimeout = time.Minute

	initialRetryDelay = 50 * time.Millisecond
	maxRetryDelay     = 2 * time.Second
	// maxResponseBytes is ten times the size of a page of 500 items.
	maxResponseBytes = 16 << 20
	// maxPlanBytes is more than the largest seating plan, and planTimeout the time for one, in either
	// direction, over a slow line.
	maxPlanBytes = 256 << 20
	planTimeout  = 5 * time.Minute
	// longTimeout is more than the 40 s in which the server answers in any case.
	longTimeout = 45 * time.Second
)

// New returns a client of the API at baseURL, such as http://127.0.0.1:8080.
func New(baseURL string, options ...Option) *Client {
	c := &Client{
		baseURL:      strings.TrimRight(baseURL, "/"),
		http:         &http.Client{Timeout: DefaultTimeout},
		retryTimeout: DefaultRetryTimeout,
	}
	for _, o := range options {
		o(c)
	}
	if c.http.CheckRedirect == nil { // it would repeat a POST as a GET, and return what that finds
		own := *c.http
		own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		c.http = &own
	}
	return c
}

// InEvent returns a client that names an event in the paths of its calls on locks and bookings, so that a load balancer
// can send all of an event's requests to one process, which is faster. To it, a lock or a booking of another event is
// LockNotFound or BookingNotFound. AcquireLock and CreateBooking name the event of their request in any case.
func (c *Client) InEvent(id string) *Client {
	in := *c
	in.event = id
	return &in
}

// inEvent is the path of a lock or a booking below its event, if there is one.
func inEvent(event, path string) string {
	if event == "" {
		return "/api" + path
	}
	return "/api/events/" + url.PathEscape(event) + path
}

// request describes one call.
type request struct {
	method, path string
	query        url.Values
	header       http.Header
	body         any    // a []byte is sent as it is; other values as JSON
	etag         string // of a previous response; the response to a request that has one may have no body
	// isPlan is set if the body or the response may be as large as a seating plan.
	isPlan bool
	// isLong is set if the server may take longer than DefaultTimeout for an answer.
	isLong bool
	// notIdempotent requests are retried only if they were certainly not executed.
	notIdempotent bool
}

// call sends a request, with retries, and decodes the response into out. It
// returns the response's headers.
func (c *Client) call(ctx context.Context, r request, out any) (header http.Header, err error) {
	body, isText := r.body.([]byte)
	if !isText && r.body != nil {
		if body, err = json.Marshal(r.body); err != nil {
			return nil, err
		}
	}
	ready, err := c.newRequest(ctx, r, body)
	if err != nil {
		return nil, err
	}
	unknown := false // whether an attempt may have been executed
	attempt := func() (http.Header, error) {
		header, err := c.send(r, ready, out)
		if err == nil {
			return header, nil
		}
		mayRetry := r.mayRetry(err)
		if unknown {
			err = notSettled(err)
		}
		unknown = unknown || r.mayHaveWritten(err)
		if ctx.Err() != nil || c.retryTimeout == 0 || !mayRetry {
			return header, backoff.Permanent(err)
		}
		var refusal *Error
		if errors.As(err, &refusal) && refusal.RetryAfter > 0 {
			return header, errors.Join(err, backoff.RetryAfter(int(refusal.RetryAfter/time.Second)))
		}
		return header, err
	}
	delays := backoff.NewExponentialBackOff()
	delays.InitialInterval, delays.MaxInterval = initialRetryDelay, maxRetryDelay
	return backoff.Retry(ctx, attempt, backoff.WithBackOff(delays), backoff.WithMaxElapsedTime(c.retryTimeout))
}

// mayRetry reports whether a repeated request may succeed and has no second effect.
func (r request) mayRetry(err error) bool {
	var refusal *Error
	if !errors.As(err, &refusal) { // no response
		if errors.Is(err, errUnexpected) {
			return false
		}
		return !r.notIdempotent || errors.Is(err, syscall.ECONNREFUSED)
	}
	switch refusal.Status {
	case http.StatusTooManyRequests:
		return true
	case http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return !r.notIdempotent || refusal.Code == Unavailable
	default:
		return false
	}
}

// mayHaveWritten reports whether a request that failed may have been executed.
func (r request) mayHaveWritten(err error) bool {
	if r.method == http.MethodGet || errors.Is(err, syscall.ECONNREFUSED) {
		return false
	}
	code := CodeOf(err)
	return code == "" || code == OutcomeUnknown
}

// notSettled is the error of an attempt that was not executed, after an attempt with an unknown outcome,
// so the outcome of the call is unknown.
func notSettled(err error) error {
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Code != Unavailable && refusal.Code != TooManyRequests {
		return err
	}
	e := *refusal
	e.Code, e.Detail = OutcomeUnknown, "An earlier attempt may have been executed, and this one was not: "+e.Detail
	return &e
}

// isNoName reports whether a segment of a path is none: proxies resolve dots, which then name another route.
func isNoName(segment string) bool { return segment == "" || segment == "." || segment == ".." }

// newRequest makes the HTTP request of a call. It fails if none could be sent.
func (c *Client) newRequest(ctx context.Context, r request, body []byte) (*http.Request, error) {
	base, err := url.Parse(c.baseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" {
		return nil, errInvalidURL // err may contain a password
	}
	if strings.ContainsFunc(c.secret, func(r rune) bool { return r < '!' || r > '~' }) {
		return nil, ErrInvalidKey
	}
	if strings.HasPrefix(r.path, "/api/") && slices.ContainsFunc(strings.Split(r.path, "/")[1:], isNoName) {
		return nil, fmt.Errorf("an ID is empty or dots in the path %s", r.path)
	}
	target := c.baseURL + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.etag != "" {
		req.Header.Set("If-None-Match", r.etag)
	}
	if c.secret != "" {
		req.Header.Set("Authorization", "Bearer "+c.secret)
	}
	maps.Copy(req.Header, r.header)
	return req, nil
}

// send sends a request once, and decodes the response into out.
func (c *Client) send(r request, ready *http.Request, out any) (header http.Header, err error) {
	req := ready.Clone(ready.Context())
	if req.Body, err = ready.GetBody(); err != nil {
		return nil, err
	}
	limit := int64(maxResponseBytes)
	if r.isPlan {
		limit = maxPlanBytes
	}
	response, err := c.sender(r).Do(req)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	_ = response.Body.Close() // the body was read; a close error has no meaning
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusNotModified && r.etag != "" {
		return response.Header, nil
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return response.Header, newError(response, text)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s %s: %w: it has more than %d bytes", r.method, r.path, errUnexpected, limit)
	}
	if err := decode(response, text, out); err != nil {
		return nil, fmt.Errorf("%s %s: %w (status %d, content type %q): %w",
			r.method, r.path, errUnexpected, response.StatusCode, response.Header.Get("Content-Type"), err)
	}
	return response.Header, nil
}

// decode reads the text of a successful response. All values of the API are objects, in place of which json would accept null.
func decode(response *http.Response, text []byte, out any) error {
	if raw, isRaw := out.(*[]byte); isRaw {
		*raw = text
		return nil
	}
	if out == nil && response.StatusCode == http.StatusNoContent {
		return nil
	}
	if out == nil || !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return errors.New("it is not the expected JSON")
	}
	return json.Unmarshal(text, out)
}

// sender is the HTTP client for a request, with time for its answer.
func (c *Client) sender(r request) *http.Client {
	least := time.Duration(0)
	switch {
	case r.isPlan:
		least = planTimeout
	case r.isLong:
		least = longTimeout
	}
	if c.http.Timeout == 0 || c.http.Timeout >= least {
		return c.http
	}
	patient := *c.http
	patient.Timeout = least
	return &patient
}
