package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Client calls one API. Its methods are safe for use by many goroutines.
type Client struct {
	base     string
	secret   string
	http     *http.Client
	patience time.Duration
}

// Option changes a client.
type Option func(*Client)

// WithKey sends the secret of a key, or a customer's token.
func WithKey(secret string) Option { return func(c *Client) { c.secret = secret } }

// WithHTTP calls by another HTTP client than one with a timeout of DefaultTimeout.
func WithHTTP(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithPatience asks for so long until there is an answer; 0 asks once.
func WithPatience(d time.Duration) Option { return func(c *Client) { c.patience = d } }

// Defaults.
const (
	// DefaultTimeout is for one request, with its answer.
	DefaultTimeout = 15 * time.Second
	// DefaultPatience is for a call, with all that is asked again.
	DefaultPatience = time.Minute
)

// New returns a client of the API at base, such as http://127.0.0.1:8080.
func New(base string, options ...Option) *Client {
	c := &Client{base: strings.TrimRight(base, "/"), http: &http.Client{Timeout: DefaultTimeout}, patience: DefaultPatience}
	for _, o := range options {
		o(c)
	}
	return c
}

// request is one call.
type request struct {
	method, path string
	query        url.Values
	body         any
	// once: it must not be done twice, so it is not asked again in doubt.
	once bool
}

// call asks until there is an answer, which it reads into out. header is that of
// the answer.
func (c *Client) call(ctx context.Context, r request, out any) (header http.Header, err error) {
	var body []byte
	if r.body != nil {
		if body, err = json.Marshal(r.body); err != nil {
			return nil, err
		}
	}
	ask := func() (http.Header, error) {
		header, err := c.ask(ctx, r, body, out)
		var refused *Error
		switch {
		case err == nil:
			return header, nil
		case ctx.Err() != nil || c.patience == 0:
			return header, backoff.Permanent(err)
		case errors.As(err, &refused):
			if !refused.again(r.once) {
				return header, backoff.Permanent(err)
			}
			if refused.RetryAfter > 0 {
				return header, errors.Join(err, backoff.RetryAfter(int(refused.RetryAfter/time.Second)))
			}
		case r.once && !errors.Is(err, syscall.ECONNREFUSED):
			return header, backoff.Permanent(err)
		}
		return header, err
	}
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 50*time.Millisecond, 2*time.Second
	return backoff.Retry(ctx, ask, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(c.patience))
}

// again reports whether the answer says to come again, and that may be done.
func (e *Error) again(once bool) bool {
	switch e.Status {
	case http.StatusTooManyRequests:
		return true
	case http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return !once || e.Code == Unavailable
	default:
		return false
	}
}

func (c *Client) ask(ctx context.Context, r request, body []byte, out any) (http.Header, error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.secret != "" {
		request.Header.Set("Authorization", "Bearer "+c.secret)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	const most = 16 << 20       // bytes; a page of 500 has a tenth
	text, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return response.Header, refusal(response, text)
	}
	if out == nil {
		return response.Header, nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("%s %s was answered with something else than JSON: %w", r.method, r.path, err)
	}
	return response.Header, nil
}

// refusal reads a problem. One that something in between made has no code.
func refusal(response *http.Response, text []byte) *Error {
	var b answerBody
	if json.Unmarshal(text, &b) != nil || b.Detail == "" {
		b.Detail = response.Status
	}
	e := &Error{
		Status: response.StatusCode, Code: b.Code, Detail: b.Detail, Requested: b.Requested, Available: b.Available, Holder: b.Holder,
		RequestID: response.Header.Get("X-Request-Id"), Fields: b.Errors,
	}
	if after, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(after) * time.Second
	}
	return e
}
