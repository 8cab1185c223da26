package webhooks

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/idna"

	"github.com/holdfast-dev/holdfast/internal/clock"
)

// target is where a URL leads, with the connections to it that are kept. Requests are written, and answers read, by fasthttp, in the
// goroutine of the try. That takes less than half of the processor time of net/http, which has two more goroutines for
// each connection. fasthttp's own client is not used: it would not say whether a connection is new, and it takes what came on an
// idle one for the answer of the next request.
type target struct {
	url  string
	host string // in a request
	path string // with the query
	dial func(deadline time.Time) (*connection, error)

	mu      sync.Mutex
	idle    []*connection
	isEnded bool
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
	host, err := httpguts.PunycodeHostPort(strings.TrimSuffix(u.Host, ":"))
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
	dial := func(deadline time.Time) (*connection, error) {
		inTime, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		plain, err := s.dialer.DialContext(inTime, "tcp", address)
		if err != nil {
			return nil, err
		}
		c, err := newConnection(ctx, plain)
		if err != nil {
			return nil, err
		}
		if isTLS {
			secured := tls.Client(plain, config)
			if err := secured.HandshakeContext(inTime); err != nil {
				_ = c.Close()
				return nil, err
			}
			c.Conn, c.isTLS = secured, true
		}
		return c, nil
	}
	return &target{url: text, host: host, path: u.RequestURI(), dial: dial}, nil
}

// exchange sends a request and reads the answer until the deadline. A kept connection that ends without an answer, as the endpoint
// closes it at that moment, is replaced once: then the endpoint may get the request twice, with the same ID.
func (t *target) exchange(request *fasthttp.Request, answer *fasthttp.Response, deadline time.Time) error {
	request.Header.SetHost(t.host)
	request.Header.SetRequestURI(t.path)
	if c := t.take(); c != nil {
		if isEnded, err := t.exchangeBy(c, request, answer, deadline); !isEnded {
			return err
		}
	}
	c, err := t.dial(deadline)
	if err == nil {
		_, err = t.exchangeBy(c, request, answer, deadline)
	}
	return err
}

// buffers are of an exchange. Between two of them a connection has none: an answer may have headers of maxAnswerHeader.
type buffers struct {
	r *bufio.Reader
	w *bufio.Writer
}

var buffersPool = sync.Pool{New: func() any {
	return &buffers{bufio.NewReaderSize(nil, maxAnswerHeader), bufio.NewWriter(nil)}
}}

// exchangeBy is exchange by one connection, which it keeps or closes. isEnded: the connection ended before an answer began.
func (t *target) exchangeBy(
	c *connection, request *fasthttp.Request, answer *fasthttp.Response, deadline time.Time,
) (isEnded bool, err error) {
	b, isReusable := buffersPool.Get().(*buffers), false //nolint:forcetypeassert // nothing else is put there
	b.r.Reset(c)
	b.w.Reset(c)
	defer func() {
		b.r.Reset(nil)
		b.w.Reset(nil)
		buffersPool.Put(b)
		if isReusable {
			t.keep(c)
		} else {
			_ = c.Close()
		}
	}()
	if err := c.SetDeadline(deadline); err != nil {
		return true, err
	}
	unsent := request.Write(b.w)
	if unsent == nil {
		unsent = b.w.Flush()
	}
	if isTimeout(unsent) {
		return false, unsent
	}
	if status, _ := b.r.Peek(len("HTTP/1.1 000")); bytes.HasSuffix(status, []byte(" 000")) { // fasthttp takes it for 200
		return false, errNoStatus
	}
	answer.StreamBody = true
	if err := answer.Read(b.r); err != nil { // an endpoint may answer before it has read all
		return unsent != nil || errors.Is(err, io.EOF), cmp.Or(unsent, err)
	}
	if rest := clock.System().Add(bodyTimeout); rest.Before(deadline) {
		if err := c.SetReadDeadline(rest); err != nil {
			return false, nil //nolint:nilerr // the status is known
		}
	}
	// No time limit ends a read of a connection that 101 hands over.
	isReusable = answer.StatusCode() >= http.StatusOK && readBody(answer) && b.r.Buffered() == 0 && unsent == nil && !answer.ConnectionClose()
	return false, nil
}

var errNoStatus = errors.New("the status of the answer is 000")

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

// keep keeps a connection for the next request, for idleConnTimeout at most.
func (t *target) keep(c *connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isEnded {
		_ = c.Close()
		return
	}
	t.idle = append(t.idle, c)
	if c.aged == nil {
		c.aged = time.AfterFunc(idleConnTimeout, func() { t.drop(c) })
	} else {
		c.aged.Reset(idleConnTimeout)
	}
}

// take returns the connection that was kept last, of those that the endpoint has sent nothing on since; nil: there is none.
func (t *target) take() *connection {
	for {
		c := t.pop()
		if c == nil || c.isQuiet() {
			return c
		}
		_ = c.Close()
	}
}

func (t *target) pop() *connection {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle) == 0 {
		return nil
	}
	last := len(t.idle) - 1
	c := t.idle[last]
	t.idle[last], t.idle = nil, t.idle[:last]
	c.aged.Stop()
	return c
}

// drop closes a connection that is still kept.
func (t *target) drop(c *connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.idle, c); i >= 0 {
		t.idle = slices.Delete(t.idle, i, i+1)
		_ = c.Close()
	}
}

// end closes what is kept. Tries in flight go on.
func (t *target) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.isEnded = true
	for _, c := range t.idle {
		c.aged.Stop()
		_ = c.Close()
	}
	t.idle = nil
}
