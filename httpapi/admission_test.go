package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

var shopKey = []string{"Authorization", "Bearer s-shop"}

// openWithLimits opens a site with the keys shop and ops, and with tokens.
func openWithLimits(t *testing.T, limits httpapi.Limits) *site {
	t.Helper()
	tokens, err := httpapi.NewTokens(config.Access{JWTSecret: tokenSecret}, mongodb.SystemTime)
	if err != nil {
		t.Fatal(err)
	}
	return openWith(t, func(s *httpapi.Services, _ *core.Settings) {
		s.Keys = []config.Key{
			{Name: "shop", Scope: config.ScopeBooking, Secret: "s-shop"},
			{Name: "ops", Scope: config.ScopeAdmin, Secret: "s-ops"},
		}
		s.Tokens, s.Limits, s.Rates = tokens, limits, httpapi.NewRateLimiter(nil, mongodb.SystemTime, slog.New(slog.DiscardHandler))
	})
}

// rawRequest is a request whose bytes the test sends itself.
type rawRequest struct {
	t        *testing.T
	conn     net.Conn
	response *bufio.Reader
}

// begin sends the beginning of a request.
func (s *site) begin(t *testing.T, text string) *rawRequest {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	r := &rawRequest{t: t, conn: conn, response: bufio.NewReader(conn)}
	r.send(text)
	return r
}

func (r *rawRequest) send(text string) {
	r.t.Helper()
	if _, err := io.WriteString(r.conn, text); err != nil {
		r.t.Error(err)
	}
}

// answer reads the response. It has to come before the server gives up the request's body, which is
// after 15 s.
func (r *rawRequest) answer() answer {
	r.t.Helper()
	if err := r.conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		r.t.Error(err)
	}
	response, err := http.ReadResponse(r.response, nil)
	if err != nil {
		r.t.Error(err)
		return answer{}
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Error(err)
	}
	a := answer{status: response.StatusCode, header: response.Header, raw: string(raw), body: map[string]any{}}
	if response.Close { // ReadResponse removes the header
		a.header.Set("Connection", "close")
	}
	if err := json.Unmarshal(raw, &a.body); err != nil {
		r.t.Errorf("%v: %s", err, raw)
	}
	return a
}

// headOf returns the header of a request with a body of the given length.
func headOf(route, key string, length int) string {
	return route + " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + key + "\r\nContent-Type: application/json\r\n" +
		fmt.Sprintf("Content-Length: %d\r\n\r\n", length)
}

// A caller whose key or token is not sufficient gets its answer before it has sent a body.
func TestAdmission_KeyAndScopeAreCheckedBeforeTheBody(t *testing.T) {
	t.Parallel()
	s := openWithLimits(t, httpapi.Limits{})
	for name, c := range map[string]struct {
		route, key, code string
		status           int
	}{
		"no valid key":                   {route: "POST /api/locks", key: "wrong", status: 401, code: "UNAUTHENTICATED"},
		"no valid key, a body in GET":    {route: "GET /api/events", key: "wrong", status: 401, code: "UNAUTHENTICATED"},
		"no valid key, invalid query":    {route: "POST /api/locks?x=1", key: "wrong", status: 401, code: "UNAUTHENTICATED"},
		"no valid key, an invalid ID":    {route: "DELETE /api/locks/x", key: "wrong", status: 401, code: "UNAUTHENTICATED"},
		"insufficient scope":             {route: "POST /api/events", key: "s-shop", status: 403, code: "FORBIDDEN"},
		"insufficient scope, bad route":  {route: "PATCH /api/events/x", key: "s-shop", status: 403, code: "FORBIDDEN"},
		"body too large, by its header":  {route: "POST /api/locks", key: "s-shop", status: 413, code: "BODY_TOO_LARGE"},
		"no valid key, a body too large": {route: "POST /api/locks", key: "", status: 401, code: "UNAUTHENTICATED"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			length := 100
			if strings.Contains(name, "too large") {
				length = 10_000_000
			}
			s.want(s.begin(t, headOf(c.route, c.key, length)).answer(), c.status, c.code)
		})
	}
}

// A body that does not come holds no slot.
func TestAdmission_SlowBodiesHoldNoSlot(t *testing.T) {
	t.Parallel()
	const slots, slow = 2, 10
	s := openWithLimits(t, httpapi.Limits{InFlight: slots})
	for _, route := range []string{"POST /api/locks", "GET /api/events", "POST /api/bookings/" + mongodb.NewID().String() + "/cancel"} {
		for range slow {
			s.begin(t, headOf(route, "s-shop", 100))
		}
	}
	s.awaitArriving(3 * slow)
	for range 5 {
		s.want(s.call("POST", "/api/users", fields{"name": "A", "email": mongodb.NewID().String() + "@example.com"}, shopKey...), 201, "")
	}
}

// awaitArriving waits until as many bodies are on their way.
func (s *site) awaitArriving(n int) {
	s.t.Helper()
	testenv.WaitFor(s.t, func() bool {
		return strings.Contains(s.call("GET", "/metrics", nil).raw, fmt.Sprintf("holdfast_http_bodies_arriving %d\n", n))
	})
}

// When too many bodies are on their way, the one that has been on its way for the longest time is
// given up. A body that is there at once is always read.
func TestAdmission_TheOldestBodyIsGivenUp(t *testing.T) {
	t.Parallel()
	s := openWithLimits(t, httpapi.Limits{Bodies: 2})
	body := func(i int) string { return fmt.Sprintf(`{"name":"A","email":"%d@example.com"}`, i) }
	var slow []*rawRequest
	for i := range 2 {
		slow = append(slow, s.begin(t, headOf("POST /api/users", "s-shop", len(body(i)))+body(i)[:5]))
		s.awaitArriving(i + 1)
	}
	s.want(s.call("POST", "/api/users", body(2), shopKey...), 201, "")
	given := s.want(slow[0].answer(), 503, "UNAVAILABLE")
	if given.header.Get("Retry-After") == "" || given.header.Get("Connection") != "close" {
		t.Errorf("the body that was given up: %v", given.header)
	}
	for i := 3; i < 6; i++ {
		s.want(s.call("POST", "/api/users", body(i), shopKey...), 201, "")
	}
	slow[1].send(body(1)[5:])
	s.want(slow[1].answer(), 201, "")
	s.awaitArriving(0)
}

// A body that ends early, or that is not chunked as it says, is the client's mistake.
func TestAdmission_IncompleteBodiesAreMalformed(t *testing.T) {
	t.Parallel()
	s := openWithLimits(t, httpapi.Limits{})
	chunked := "POST /api/locks HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer s-shop\r\nContent-Type: application/json\r\n" +
		"Transfer-Encoding: chunked\r\n\r\n"
	for name, text := range map[string]string{
		"shorter than its length":      headOf("POST /api/locks", "s-shop", 100) + `{"seats":1`,
		"in a GET":                     headOf("GET /api/events", "s-shop", 100) + `{`,
		"a chunk without a number":     chunked + "zz\r\n{}\r\n0\r\n\r\n",
		"a chunk that ends early":      chunked + "5\r\n{}",
		"a chunk longer than its size": chunked + "1\r\n{}\r\n0\r\n\r\n",
		"no last chunk":                chunked + "2\r\n{}\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := s.begin(t, text)
			if err := r.conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			s.in(t).want(r.answer(), 400, "MALFORMED_REQUEST")
		})
	}
}

// A request above its key's rate is refused before its body is looked at; a request that is
// invalid counts.
func TestAdmission_TheRateComesBeforeTheShape(t *testing.T) {
	t.Parallel()
	s := openWithLimits(t, httpapi.Limits{PerKey: config.Rate{Count: 4, Per: time.Hour}})
	refused := []answer{
		s.want(s.call("POST", "/api/locks", fields{"seats": 0}, shopKey...), 422, "VALIDATION_FAILED"),
		s.want(s.call("GET", "/api/locks?x=1", nil, shopKey...), 422, "VALIDATION_FAILED"),
		s.want(s.call("POST", "/api/locks", "{", shopKey...), 400, ""),
		s.want(s.call("GET", "/api/locks/"+mongodb.NewID().String(), nil, shopKey...), 404, "LOCK_NOT_FOUND"),
		s.want(s.call("POST", "/api/locks", "{", shopKey...), 429, "TOO_MANY_REQUESTS"),
	}
	for i, a := range refused {
		s.wantRate(a, "key", 4, max(0, 3-i))
	}
	s.want(s.call("POST", "/api/locks", "{", "Authorization", "Bearer wrong"), 401, "UNAUTHENTICATED")
	s.want(s.call("GET", "/api/admin/jobs", nil, shopKey...), 403, "FORBIDDEN")
}

// wantRate fails unless the answer tells the rate, per hour, and how many requests remain.
func (s *site) wantRate(a answer, kind string, count, remaining int) {
	s.t.Helper()
	policy, rate := fmt.Sprintf(`"%s";q=%d;w=3600`, kind, count), fmt.Sprintf(`"%s";r=%d;t=`, kind, remaining)
	if a.header.Get("RateLimit-Policy") != policy || !strings.HasPrefix(a.header.Get("RateLimit"), rate) {
		s.t.Errorf("got %v, want %s and %s", a.header, policy, rate)
	}
}

// Callers without a valid key count against the rate of their address. IPv6 addresses of one
// network are one address. A valid key is accepted from every address.
func TestAdmission_UnauthenticatedCallersHaveARatePerAddress(t *testing.T) {
	t.Parallel()
	s := openWithLimits(t, httpapi.Limits{PerAddress: config.Rate{Count: 3, Per: time.Hour}})
	call := func(path, address, key string) answer {
		request := httptest.NewRequestWithContext(t.Context(), "GET", path, http.NoBody)
		request.RemoteAddr = address
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("X-Forwarded-For", mongodb.NewID().String()) // any client can send it, so it is not read
		recorder := httptest.NewRecorder()
		s.server.Config.Handler.ServeHTTP(recorder, request)
		a := answer{status: recorder.Code, header: recorder.Result().Header, raw: recorder.Body.String()}
		_ = json.Unmarshal([]byte(a.raw), &a.body)
		return a
	}
	for name, addresses := range map[string][]string{
		"IPv4":          {"192.0.2.1:1", "192.0.2.1:2", "[::ffff:192.0.2.1]:3", "192.0.2.1:4"},
		"IPv6, one /64": {"[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8:0:0:ffff::1]:1", "[2001:db8::1%eth0]:1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			paths := []string{"/api/events", "/metrics", "/api/locks", "/metrics"}
			for i, address := range addresses {
				a := call(paths[i], address, "wrong")
				if i < 3 {
					s.want(a, 401, "UNAUTHENTICATED")
				} else if s.want(a, 429, "TOO_MANY_REQUESTS"); a.header.Get("Retry-After") != "1200" {
					t.Errorf("Retry-After is %s", a.header.Get("Retry-After"))
				}
				s.wantRate(a, "address", 3, max(0, 2-i))
			}
			s.want(call("/api/events", addresses[0], "s-shop"), 200, "")
		})
	}
	s.want(call("/api/events", "192.0.2.2:1", "wrong"), 401, "UNAUTHENTICATED")
	s.want(call("/api/events", "[2001:db8:0:1::1]:1", "wrong"), 401, "UNAUTHENTICATED")
}
