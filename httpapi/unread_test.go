package httpapi_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// from is the site for callers at another address.
func (s *site) from(address string) *site {
	return s.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = address
		s.server.Config.Handler.ServeHTTP(w, r)
	}))
}

// serve is the site with another handler.
func (s *site) serve(h http.Handler) *site {
	other := *s
	other.server = httptest.NewUnstartedServer(nil)
	other.server.Config = httpapi.NewServer(h, slog.New(s.w.Log))
	other.server.Start()
	s.t.Cleanup(other.server.Close)
	return &other
}

// A response that needs no body comes although a body is announced and does not come. The server
// would read the body first, for as long as a request may take.
func TestUnread_NoResponseWaitsForABody(t *testing.T) {
	t.Parallel()
	once := config.Rate{Count: 1, Per: time.Hour}
	keyed, customer := openWithLimits(t, httpapi.Limits{PerKey: once, PerUser: once}), tokenFor(t, mongodb.NewID().String())
	keyed.want(keyed.call("GET", "/api/events", nil, shopKey...), 200, "") // uses the rate up
	keyed.want(keyed.call("GET", "/api/events", nil, "Authorization", customer), 200, "")
	local, starting := open(t), open(t)
	starting.serving.Store(false)
	ready := func(context.Context) httpapi.Readiness { return httpapi.Readiness{Ready: true} }
	operations := keyed.serve(httpapi.Operations(ready, telemetry.NewMetrics().Registry))
	const length, chunked = "Content-Length: 100", "Transfer-Encoding: chunked"
	for name, c := range map[string]struct {
		site        *site
		route, code string
		status      int
		change, to  string // of the request's header
	}{
		"the key's rate":          {site: keyed, route: "POST /api/users", status: 429, code: "TOO_MANY_REQUESTS"},
		"the key's rate, chunked": {site: keyed, route: "POST /api/users", status: 429, code: "TOO_MANY_REQUESTS", change: length, to: chunked},
		"the rate of a token's user": {site: keyed, route: "POST /api/locks", status: 429, code: "TOO_MANY_REQUESTS",
			change: "Bearer s-shop", to: customer},
		"no valid key": {site: keyed, route: "POST /api/users", status: 401, code: "UNAUTHENTICATED", change: "s-shop", to: "wrong"},
		"no scope":     {site: keyed, route: "POST /api/events", status: 403, code: "FORBIDDEN"},
		"a body too large": {site: local, route: "POST /api/users", status: 413, code: "BODY_TOO_LARGE",
			change: length, to: length + "000"},
		"no such path":             {site: keyed, route: "POST /nothing", status: 404, code: "NOT_FOUND"},
		"a path that is not clean": {site: keyed, route: "POST /api//users", status: 404, code: "NOT_FOUND"},
		"no such method":           {site: keyed, route: "PUT /api/users", status: 405, code: "METHOD_NOT_ALLOWED"},
		"another origin": {site: keyed, route: "POST /api/users", status: 403, code: "FORBIDDEN",
			change: length, to: length + "\r\nSec-Fetch-Site: cross-site"},
		"another host, no keys": {site: local, route: "POST /api/users", status: 403, code: "FORBIDDEN",
			change: "127.0.0.1", to: "example.com"},
		"recovery runs": {site: starting, route: "POST /api/users", status: 503, code: "UNAVAILABLE"},
		"metrics, from elsewhere": {site: keyed.from("192.0.2.1:1"), route: "GET /metrics", status: 401, code: "UNAUTHENTICATED",
			change: "s-shop", to: "x"},
		"metrics, another scope":   {site: keyed.from("192.0.2.1:1"), route: "GET /metrics", status: 403, code: "FORBIDDEN"},
		"a probe":                  {site: keyed, route: "GET /livez", status: 200},
		"readiness":                {site: keyed, route: "GET /readyz", status: 200},
		"the OpenAPI document":     {site: keyed, route: "GET /openapi.json", status: 200},
		"operations, a probe":      {site: operations, route: "GET /livez", status: 200},
		"operations, no such path": {site: operations, route: "POST /api/users", status: 404, code: "NOT_FOUND"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.site.in(t)
			head := headOf(c.route, "s-shop", 100)
			if c.change != "" {
				head = strings.Replace(head, c.change, c.to, 1)
			}
			a := s.want(s.begin(t, head).answer(), c.status, c.code)
			if a.header.Get("Connection") != "close" {
				t.Errorf("the rest of the body would be read as a request: %v", a.header)
			}
		})
	}
}

// The server closes the connection soon, whatever the client does. Otherwise a client could hold as
// many as it likes.
func TestUnread_ConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	s := openWithLimits(t, httpapi.Limits{})
	r := s.begin(t, headOf("POST /api/users", "wrong", 100))
	s.want(r.answer(), 401, "UNAUTHENTICATED") // and waits up to 10 s; the server's own limit for a body is 15 s
	var timeout net.Error
	if _, err := r.response.ReadByte(); err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("the connection is open: %v", err)
	}
}

// A connection is used again after a body that was read.
func TestUnread_ABodyThatWasReadClosesNoConnection(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, text := range map[string]string{
		"a length": headOf("POST /api/users", "", 2) + "{}",
		"chunks": strings.Replace(headOf("POST /api/users", "", 2), "Content-Length: 2", "Transfer-Encoding: chunked", 1) +
			"2\r\n{}\r\n0\r\n\r\n",
		"no length": strings.Replace(headOf("GET /nothing", "", 2), "Content-Length: 2\r\n", "", 1),
	} {
		t.Run(name, func(t *testing.T) {
			r := s.in(t).begin(t, text)
			for range 2 {
				if a := r.answer(); a.status < 400 || a.header.Get("Connection") != "" {
					t.Errorf("%d %v", a.status, a.header)
				}
				r.send(text)
			}
		})
	}
}
