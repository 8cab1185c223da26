package httpapi_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

const shopOrigin = "https://shop.example"

var shopOrigins = []string{shopOrigin, "http://localhost:3000"}

// openWithOrigins opens a site with the keys shop and ops, with tokens, and with shopOrigins.
func openWithOrigins(t *testing.T, limits httpapi.Limits) *site {
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
		s.Tokens, s.Origins = tokens, shopOrigins
		s.Limits, s.Rates = limits, httpapi.NewRateLimiter(nil, mongodb.SystemTime, slog.New(slog.DiscardHandler))
	})
}

// preflightHeaders are those of a browser that asks for a request.
func preflightHeaders(origin, method string) []string {
	return []string{
		"Origin", origin, "Access-Control-Request-Method", method, "Access-Control-Request-Headers", "authorization,content-type",
		"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors",
	}
}

// wantShared fails unless the page of an origin can read the answer and all of its headers.
func (s *site) wantShared(a answer, origin string) {
	s.t.Helper()
	if got := a.header.Values("Access-Control-Allow-Origin"); !slices.Equal(got, []string{origin}) {
		s.t.Errorf("%d: Access-Control-Allow-Origin is %q, want %s", a.status, got, origin)
	}
	if vary := a.header.Values("Vary"); !slices.Contains(vary, "Origin") {
		s.t.Errorf("Vary is %q", vary)
	}
	if credentials := a.header.Get("Access-Control-Allow-Credentials"); credentials != "" {
		s.t.Errorf("Access-Control-Allow-Credentials is %q", credentials)
	}
	readable := strings.Split(a.header.Get("Access-Control-Expose-Headers"), ", ")
	readable = append(readable, "Cache-Control", "Content-Length", "Content-Type", "Expires", "Last-Modified", // as in the Fetch standard
		"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Connection", "Vary") // for browsers and proxies
	for name := range a.header {
		if !slices.ContainsFunc(readable, func(r string) bool { return http.CanonicalHeaderKey(r) == name }) {
			s.t.Errorf("%d: a page can't read the header %s", a.status, name)
		}
	}
}

// wantUnshared fails if a browser would let the page of any other origin read the answer.
func (s *site) wantUnshared(a answer) {
	s.t.Helper()
	for name := range a.header {
		if strings.HasPrefix(name, "Access-Control-") {
			s.t.Errorf("%d: %s is %q", a.status, name, a.header[name])
		}
	}
}

func TestOrigins_EveryRouteByEveryCallerOfEveryOrigin(t *testing.T) {
	t.Parallel()
	s := openWithOrigins(t, httpapi.Limits{})
	close(s.jobDone) // manual runs end at once
	none := mongodb.NewID().String()
	callers := map[string]string{
		"no key": "", "wrong key": "Bearer wrong", "customer": tokenFor(t, none), "booking": "Bearer s-shop", "admin": "Bearer s-ops",
	}
	origins := append([]string{
		"https://evil.example", "null", "*", "https://shop.example.evil.example", "https://evil-shop.example", "https://shop.example:8443",
		"http://shop.example", "https://shop.example/", "https://SHOP.example", "http://localhost:3001",
		"https://shop.example, https://evil.example",
	}, shopOrigins...)
	for _, r := range routeAccess(none) {
		method, path, _ := strings.Cut(r.route, " ")
		path = strings.NewReplacer("{id}", none, "{job}", "nothing").Replace(path)
		isCustomers := strings.Contains(r.callers, "customer")
		for caller, authorization := range callers {
			own := s.call(method, path, r.body, "Authorization", authorization)
			isKey := caller == "booking" || caller == "admin"
			for _, origin := range origins {
				t.Run(r.route+" by "+caller+" of "+origin, func(t *testing.T) {
					s := s.in(t)
					a := s.call(method, path, r.body, "Authorization", authorization, "Origin", origin, "Sec-Fetch-Site", "cross-site")
					isShared := isCustomers && slices.Contains(shopOrigins, origin)
					switch {
					case isShared && isKey, !isShared && method != "GET":
						s.want(a, 403, "FORBIDDEN")
						if !strings.Contains(a.text("detail"), "another origin") {
							t.Errorf("%s", a.raw)
						}
					case a.status != own.status || a.text("code") != own.text("code"):
						t.Errorf("%d %s, but without an origin %d %s", a.status, a.raw, own.status, own.raw)
					}
					if isShared {
						s.wantShared(a, origin)
					} else {
						s.wantUnshared(a)
					}
					if varies := slices.Contains(a.header.Values("Vary"), "Origin"); varies != isCustomers {
						t.Errorf("Vary is %q", a.header.Values("Vary"))
					}
				})
			}
			if s.wantUnshared(own); isCustomers && !slices.Contains(own.header.Values("Vary"), "Origin") {
				t.Errorf("%s without an origin: Vary is %q", r.route, own.header.Values("Vary"))
			}
		}
	}
}

// A preflight for another route or of another origin is answered as if CORS_ORIGINS were not set.
func TestOrigins_PreflightsOfEveryRoute(t *testing.T) {
	t.Parallel()
	s, without := openWithOrigins(t, httpapi.Limits{}), openWithAccess(t)
	none := mongodb.NewID().String()
	shared := map[string]bool{} // by method and path
	var paths []string
	for _, r := range routeAccess(none) {
		method, path, _ := strings.Cut(strings.NewReplacer("{id}", none, "{job}", "nothing").Replace(r.route), " ")
		paths = append(paths, path)
		if strings.Contains(r.callers, "customer") {
			shared[method+" "+path] = true
			shared["HEAD "+path] = shared["HEAD "+path] || method == "GET"
		}
	}
	paths = append(paths, "/", "/nothing", "/api/events/", "//api/events", "/metrics", "/livez", "/openapi.json", "/console")
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get", "*", "NOTHING"} {
			for _, origin := range []string{shopOrigin, "http://localhost:3000", "https://evil.example", "null"} {
				t.Run(method+" "+path+" of "+origin, func(t *testing.T) {
					s, without := s.in(t), without.in(t)
					a := s.call("OPTIONS", path, nil, preflightHeaders(origin, method)...)
					if shared[method+" "+path] && slices.Contains(shopOrigins, origin) {
						s.wantPreflight(a, origin, method)
						return
					}
					s.wantUnshared(a)
					if b := without.call("OPTIONS", path, nil, preflightHeaders(origin, method)...); a.status != b.status || a.raw != b.raw {
						t.Errorf("%d %s, but without CORS_ORIGINS %d %s", a.status, a.raw, b.status, b.raw)
					}
				})
			}
		}
	}
	for name, headers := range map[string][]string{ // no preflights
		"no method":    {"Origin", shopOrigin},
		"empty method": {"Origin", shopOrigin, "Access-Control-Request-Method", ""},
		"no origin":    {"Access-Control-Request-Method", "GET"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.wantUnshared(s.want(s.call("OPTIONS", "/api/events", nil, headers...), 405, "METHOD_NOT_ALLOWED"))
		})
	}
}

func (s *site) wantPreflight(a answer, origin, method string) {
	s.t.Helper()
	if a.status != http.StatusNoContent || a.raw != "" {
		s.t.Errorf("%d %q", a.status, a.raw)
	}
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": origin, "Access-Control-Allow-Methods": method, "Access-Control-Max-Age": "7200",
		"Access-Control-Allow-Credentials": "",
		"Access-Control-Allow-Headers":     "Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, X-Request-Id",
	} {
		if got := a.header.Get(name); got != want {
			s.t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if vary := a.header.Values("Vary"); !slices.Equal(vary, []string{"Origin", "Access-Control-Request-Method"}) {
		s.t.Errorf("Vary is %q", vary)
	}
}

// A header that a customers' route reads can be sent by a page.
func TestOrigins_PagesMaySendEveryHeaderOfCustomersRoutes(t *testing.T) {
	t.Parallel()
	s := openWithOrigins(t, httpapi.Limits{})
	preflight := s.call("OPTIONS", "/api/events", nil, preflightHeaders(shopOrigin, "GET")...)
	allowed := strings.Split(preflight.header.Get("Access-Control-Allow-Headers"), ", ")
	var document struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal([]byte(s.call("GET", "/openapi.json", nil).raw), &document); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, r := range routeAccess("") {
		method, path, _ := strings.Cut(r.route, " ")
		for _, p := range document.Paths[path][strings.ToLower(method)].Parameters {
			if p.In != "header" || !strings.Contains(r.callers, "customer") {
				continue
			}
			if seen++; !slices.Contains(allowed, p.Name) {
				t.Errorf("%s reads %s, which a page can't send", r.route, p.Name)
			}
		}
	}
	if seen < 4 {
		t.Errorf("only %d headers", seen)
	}
}

// A page can read why a request was refused, whatever refused it.
func TestOrigins_PagesCanReadErrors(t *testing.T) {
	t.Parallel()
	rate := func(count int) config.Rate { return config.Rate{Count: count, Per: time.Hour} }
	s := openWithOrigins(t, httpapi.Limits{InFlight: 1, PerUser: rate(100), PerAddress: rate(1)})
	ops := []string{"Authorization", "Bearer s-ops"}
	user := s.want(s.call("POST", "/api/users", fields{"name": "A", "email": "a@example.com"}, ops...), 201, "").text("id")
	request := fields{"name": "E", "totalSeats": 3, "eventDate": "2027-06-15T10:00:00Z"}
	event := s.want(s.call("POST", "/api/events", request, ops...), 201, "").text("id")
	page := []string{"Origin", shopOrigin, "Sec-Fetch-Site", "cross-site", "Authorization", tokenFor(t, user)}
	other := append(page[:4:4], "Authorization", tokenFor(t, mongodb.NewID().String()))
	call := func(method, path string, body any, headers []string, status int, code string) answer {
		t.Helper()
		a := s.want(s.call(method, path, body, headers...), status, code)
		s.wantShared(a, shopOrigin)
		return a
	}
	wanted := fields{"eventId": event, "userId": user, "seats": 2}
	withKey := append(page, "Idempotency-Key", "k")
	lock := call("POST", "/api/locks", wanted, withKey, 201, "")
	if again := call("POST", "/api/locks", wanted, withKey, 201, ""); again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%v", again.header)
	}
	call("POST", "/api/locks", wanted, page, 409, "SEATS_UNAVAILABLE")
	call("GET", "/api/locks/"+lock.text("id"), nil, other, 404, "LOCK_NOT_FOUND")
	call("POST", "/api/locks", "{", page, 400, "MALFORMED_REQUEST")
	call("POST", "/api/locks", fields{}, page, 422, "VALIDATION_FAILED")
	call("POST", "/api/locks", `{"x":"`+strings.Repeat("x", 70_000)+`"}`, page, 413, "BODY_TOO_LARGE")
	call("POST", "/api/locks", wanted, append(page, "Content-Encoding", "gzip"), 415, "UNSUPPORTED_MEDIA_TYPE")
	call("GET", "/api/events?x=1", nil, page, 422, "VALIDATION_FAILED")
	book := fields{"eventId": event, "userId": user, "lockId": lock.text("id"), "paymentTtlSeconds": 60}
	booking := "/api/bookings/" + call("POST", "/api/bookings", book, page, 201, "").text("id")
	s.want(s.call("POST", booking+"/confirm", fields{"paymentReference": "r"}, ops...), 200, "")
	call("POST", booking+"/cancel", nil, page, 403, "FORBIDDEN")
	call("POST", "/api/locks", wanted, append(page[:4:4], "Authorization", "Bearer wrong"), 401, "UNAUTHENTICATED")
	call("POST", "/api/locks", wanted, page[:4], 429, "TOO_MANY_REQUESTS") // the rate of the address

	release := s.w.HoldEvent(event)
	done := make(chan answer)
	go func() {
		done <- s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1}, page...)
	}()
	testenv.WaitFor(t, func() bool {
		return strings.Contains(s.call("GET", "/metrics", nil).raw, "holdfast_http_requests_in_flight 1\n")
	})
	call("GET", "/api/events", nil, page, 503, "UNAVAILABLE") // too many requests in flight
	release()
	s.want(<-done, 201, "")

	s.serving.Store(false)
	call("GET", "/api/events", nil, page, 503, "UNAVAILABLE")
	s.wantPreflight(s.call("OPTIONS", "/api/events", nil, preflightHeaders(shopOrigin, "GET")...), shopOrigin, "GET")
	s.serving.Store(true)
	for range 100 { // the rate of the user
		if a := s.call("GET", "/api/events", nil, page...); a.status != 200 {
			break
		}
	}
	call("GET", "/api/events", nil, page, 429, "TOO_MANY_REQUESTS")
}

// The headers of an answer are there before its handler runs.
func TestOrigins_PagesCanReadThatAHandlerFailed(t *testing.T) {
	t.Parallel()
	h := httpapi.New(httpapi.Services{ // without its services, each handler panics
		Log: slog.New(slog.DiscardHandler), Clock: mongodb.SystemTime, Metrics: telemetry.NewMetrics(), Origins: shopOrigins,
		Serving: func() bool { return true },
	})
	r := httptest.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1/api/events", http.NoBody)
	r.Header.Set("Origin", shopOrigin)
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 503 || w.Header().Get("Access-Control-Allow-Origin") != shopOrigin {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestOrigins_PagesReadStreams(t *testing.T) {
	t.Parallel()
	s := openWithOrigins(t, httpapi.Limits{})
	ops := []string{"Authorization", "Bearer s-ops"}
	plan := s.want(s.call("POST", "/api/seating-plans", smallPlan("P"), ops...), 201, "").text("id")
	request := fields{"name": "E", "seatingPlanId": plan, "eventDate": "2027-06-15T10:00:00Z"}
	event := s.want(s.call("POST", "/api/events", request, ops...), 201, "").text("id")
	for _, path := range []string{"/api/events/" + event + "/stream", "/api/events/" + event + "/seats/stream"} {
		for origin, isListed := range map[string]bool{shopOrigin: true, "https://evil.example": false} {
			t.Run(path+" by "+origin, func(t *testing.T) {
				s := s.in(t)
				r, err := http.NewRequestWithContext(t.Context(), "GET", s.server.URL+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Origin", origin)
				r.Header.Set("Authorization", tokenFor(t, mongodb.NewID().String()))
				response, err := s.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = response.Body.Close() }() // it has no end
				a := answer{status: response.StatusCode, header: response.Header}
				if a.status != 200 || a.header.Get("Content-Type") != "text/event-stream" || !slices.Contains(a.header.Values("Vary"), "Origin") {
					t.Errorf("%d %v", a.status, a.header)
				}
				// X-Accel-Buffering is for the proxy.
				if a.header.Del("X-Accel-Buffering"); isListed {
					s.wantShared(a, origin)
				} else {
					s.wantUnshared(a)
				}
				first := make([]byte, 5)
				if _, err := response.Body.Read(first); err != nil || string(first) != "retry" {
					t.Errorf("%q, %v", first, err)
				}
			})
		}
	}
}

// A page keeps its copy of a plan, of which no cache may give the answer for another origin.
func TestOrigins_PagesReadThatTheirCopyIsNew(t *testing.T) {
	t.Parallel()
	s := openWithOrigins(t, httpapi.Limits{})
	plan := s.want(s.call("POST", "/api/seating-plans", smallPlan("P"), "Authorization", "Bearer s-ops"), 201, "").text("id")
	page := []string{"Origin", shopOrigin, "Authorization", tokenFor(t, mongodb.NewID().String())}
	a := s.want(s.call("GET", "/api/seating-plans/"+plan, nil, page...), 200, "")
	s.wantShared(a, shopOrigin)
	withTag := append(page, "If-None-Match", a.header.Get("ETag"))
	s.wantShared(s.want(s.call("GET", "/api/seating-plans/"+plan, nil, withTag...), 304, ""), shopOrigin)
	if head := s.call("HEAD", "/api/seating-plans/"+plan, nil, page...); head.status != 200 {
		t.Errorf("HEAD: %d", head.status)
	} else {
		s.wantShared(head, shopOrigin)
	}
}

// Without keys, on loopback, a listed page may call customers' routes without a token. Other host
// names are refused all the same, and so are other routes.
func TestOrigins_WithoutKeysAListedPageNeedsNoToken(t *testing.T) {
	t.Parallel()
	s := openWith(t, func(s *httpapi.Services, _ *core.Settings) { s.Origins = shopOrigins })
	user, event := s.user(), s.event(10)
	wanted := fields{"eventId": event, "userId": user, "seats": 1}
	page := []string{"Origin", "http://localhost:3000", "Sec-Fetch-Site", "same-site"}
	s.wantPreflight(s.call("OPTIONS", "/api/locks", nil, preflightHeaders(page[1], "POST")...), page[1], "POST")
	s.wantShared(s.want(s.call("POST", "/api/locks", wanted, page...), 201, ""), page[1])
	s.wantShared(s.want(s.call("POST", "/api/locks", wanted, append(page, "Authorization", "Bearer anything")...), 201, ""), page[1])
	s.wantUnshared(s.want(s.call("POST", "/api/users", fields{"name": "A", "email": "a@example.com"}, page...), 403, "FORBIDDEN"))
	s.wantUnshared(s.want(s.call("POST", "/api/locks", wanted, "Origin", "http://localhost:3001"), 403, "FORBIDDEN"))
	s.wantUnshared(s.want(s.call("POST", "/api/locks", wanted, append(page, "Host", "evil.example")...), 403, "FORBIDDEN"))
	preflight := append(preflightHeaders(page[1], "POST"), "Host", "evil.example")
	s.wantUnshared(s.want(s.call("OPTIONS", "/api/locks", nil, preflight...), 403, "FORBIDDEN"))
}

// The console and back ends are of no other origin, even if their own is listed.
func TestOrigins_KeysWorkOnTheServersOwnOrigin(t *testing.T) {
	t.Parallel()
	s := openWithOrigins(t, httpapi.Limits{})
	none := mongodb.NewID().String()
	wanted := fields{"eventId": none, "userId": none, "seats": 1}
	for name, headers := range map[string][]string{
		"a back end":                   nil,
		"its own page":                 {"Origin", s.server.URL, "Sec-Fetch-Site", "same-origin"},
		"its own page, listed":         {"Origin", shopOrigin, "Sec-Fetch-Site", "same-origin"},
		"its own page, an old browser": {"Origin", shopOrigin, "Host", "shop.example"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			headers := append(headers[:len(headers):len(headers)], "Authorization", "Bearer s-shop")
			s.want(s.call("POST", "/api/locks", wanted, headers...), 404, "USER_NOT_FOUND")
			s.want(s.call("GET", "/api/events", nil, headers...), 200, "")
		})
	}
}

// Without the setting nothing is different from before.
func TestOrigins_AreNoneUnlessTheyAreSet(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	page := []string{"Origin", shopOrigin, "Sec-Fetch-Site", "cross-site", "Authorization", tokenFor(t, mongodb.NewID().String())}
	for _, a := range []answer{
		s.want(s.call("GET", "/api/events", nil, page...), 200, ""),
		s.want(s.call("POST", "/api/locks", fields{}, page...), 403, "FORBIDDEN"),
		s.want(s.call("OPTIONS", "/api/locks", nil, preflightHeaders(shopOrigin, "POST")...), 405, "METHOD_NOT_ALLOWED"),
	} {
		if s.wantUnshared(a); a.header.Get("Vary") != "" {
			t.Errorf("Vary is %q", a.header.Get("Vary"))
		}
	}
}
