package webhooks

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/idna"

	"github.com/holdfast-dev/holdfast/internal/clock"
)

// target is where a URL leads, with the connections to it. Of fasthttp it uses the pool of connections, and what
// writes requests and reads answers: HTTP/1.1 in the goroutine of the try, for less than half of the processor time of net/http's
// three. The pool's own client would not say which connection an error is of.
type target struct {
	url  string
	host string // in a request
	path string // with the query
	pool *fasthttp.HostClient
}

// newTarget fails with errPrivate if no endpoint may have the URL. The connections end with the context.
func (s *sender) newTarget(ctx context.Context, text string) (*target, error) {
	if checkURL(text, s.allowPrivate) != nil { // it was stored while private ones were allowed
		return nil, errPrivate
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	host, err := httpguts.PunycodeHostPort(u.Host)
	if err != nil {
		return nil, err
	}
	name := u.Hostname()
	if strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) {
		if name, err = idna.Lookup.ToASCII(name); err != nil {
			return nil, err
		}
	}
	isTLS, config := u.Scheme == "https", s.tls.Clone()
	config.ServerName = cmp.Or(config.ServerName, name)
	port := "80"
	if isTLS {
		port = "443"
	}
	address := net.JoinHostPort(name, cmp.Or(u.Port(), port))
	return &target{url: text, host: host, path: u.RequestURI(), pool: &fasthttp.HostClient{
		Addr: address, MaxConns: maxInFlight, MaxConnWaitTimeout: s.timeout, MaxIdleConnDuration: idleConnTimeout,
		ReadBufferSize: maxAnswerHeader,
		DialTimeout: func(_ string, timeout time.Duration) (net.Conn, error) {
			inTime, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			plain, err := s.dialer.DialContext(inTime, "tcp", address)
			if err != nil {
				return nil, err
			}
			c := &connection{Conn: plain, forget: context.AfterFunc(ctx, func() { _ = plain.Close() })}
			if isTLS {
				secured := tls.Client(plain, config)
				if err := secured.HandshakeContext(inTime); err != nil {
					_ = c.Close()
					return nil, err
				}
				c.Conn = secured
			}
			return c, nil
		},
	}}, nil
}

// connection to a target.
type connection struct {
	net.Conn

	isUsed bool // it has brought an answer
	forget func() bool
}

func (c *connection) Close() error {
	c.forget()
	return c.Conn.Close()
}

// exchange sends a request and reads the answer until the deadline. A connection that the endpoint has closed since its last
// answer, as servers do after some seconds, is replaced. So the endpoint may get the request twice, with the same ID.
func (t *target) exchange(request *fasthttp.Request, answer *fasthttp.Response, deadline time.Time) error {
	request.Header.SetHost(t.host)
	request.Header.SetRequestURI(t.path)
	for {
		isStale, err := t.tryConnection(request, answer, deadline)
		if !isStale {
			return err
		}
		t.pool.CloseIdleConnections() // they are as old
	}
}

// tryConnection is exchange by one connection. isStale: it was used before, and nothing came.
func (t *target) tryConnection(request *fasthttp.Request, answer *fasthttp.Response, deadline time.Time) (isStale bool, err error) {
	left := deadline.Sub(clock.Deadline(0))
	if left <= 0 {
		return false, fasthttp.ErrTimeout
	}
	pooled, err := t.pool.AcquireConn(left, false)
	if err != nil {
		return false, err
	}
	c, isReusable := pooled.Conn().(*connection), false
	defer func() {
		if isReusable {
			c.isUsed = true
			t.pool.ReleaseConn(pooled)
		} else {
			t.pool.CloseConn(pooled)
		}
	}()
	if err := c.SetDeadline(deadline); err != nil {
		return c.isUsed, err
	}
	w := t.pool.AcquireWriter(c)
	defer t.pool.ReleaseWriter(w)
	if err := cmp.Or(request.Write(w), w.Flush()); err != nil {
		return c.isUsed && !isTimeout(err), err
	}
	r := t.pool.AcquireReader(c)
	defer t.pool.ReleaseReader(r)
	answer.StreamBody = true
	if err := answer.ReadLimitBody(r, maxAnswer); err != nil {
		return c.isUsed && errors.Is(err, io.EOF), err // EOF: of any error but a timeout, before the first byte
	}
	// No time limit ends a read of a connection that 101 hands over.
	isReusable = answer.StatusCode() >= http.StatusOK && readBody(answer) && !answer.ConnectionClose()
	return false, nil
}

// readBody reads the body of an answer if it is short, so that the connection can be used again.
func readBody(answer *fasthttp.Response) (isWhole bool) {
	body := answer.BodyStream()
	if body == nil {
		return true
	}
	n, err := io.Copy(io.Discard, io.LimitReader(body, maxAnswer))
	return err == nil && n < maxAnswer
}

func isTimeout(err error) bool {
	var slow interface{ Timeout() bool }
	return errors.As(err, &slow) && slow.Timeout()
}
