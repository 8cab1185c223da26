package httpapi_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A bot with 200 connections gets no more seats than its limits allow. It can
// acquire a lock again after it has released one.
func TestLimits_BotStaysWithinItsLimits(t *testing.T) {
	t.Parallel()
	s := openWith(t, func(_ *httpapi.Services, l *core.Settings) { l.MaxSeatsPerLock, l.MaxActiveLocksPerUser = 4, 3 })
	bot, event := s.user(), s.event(10_000)
	var mu sync.Mutex
	var locks []string
	granted := 0
	var connections sync.WaitGroup
	for i := range 200 {
		connections.Go(func() {
			for n := range 5 {
				a := s.call("POST", "/api/locks", fields{"eventId": event, "userId": bot, "seats": 1 + n, "idempotencyKey": fmt.Sprint(i, n)})
				if a.status != 201 {
					s.want(a, 409, "SEAT_LIMIT_REACHED")
					continue
				}
				mu.Lock()
				locks, granted = append(locks, a.text("id")), granted+1+n
				mu.Unlock()
			}
		})
	}
	connections.Wait()
	if len(locks) != 3 || granted > 3*4 {
		t.Errorf("the bot has %d locks with %d seats", len(locks), granted)
	}
	large := s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": s.user(), "seats": 5}), 409, "SEAT_LIMIT_REACHED")
	if large.text("limit") != "4" {
		t.Errorf("a lock of five seats: %s", large.raw)
	}
	fourth := s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": bot, "seats": 1}), 409, "SEAT_LIMIT_REACHED")
	if fourth.text("limit") != "3" || fourth.text("held") != "3" {
		t.Errorf("a fourth lock: %s", fourth.raw)
	}
	s.want(s.call("POST", "/api/locks", fields{"eventId": s.event(10), "userId": bot, "seats": 1}), 201, "") // the limit is per event
	s.want(s.call("DELETE", "/api/locks/"+locks[0], nil), 200, "")
	s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": bot, "seats": 1}), 201, "")
	testenv.CheckInvariants(t, s.w.DB.Database)
}

// MaxSeats works without MaxLocks.
func TestLimits_LockHasAMaximumOfSeats(t *testing.T) {
	t.Parallel()
	s := openWith(t, func(_ *httpapi.Services, l *core.Settings) { l.MaxSeatsPerLock = 4 })
	user, event := s.user(), s.event(10)
	s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 5}), 409, "SEAT_LIMIT_REACHED")
	s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 4}), 201, "")
}

// A replay gets its lock although the limit is reached.
func TestLimits_ReplayDoesNotCountAsANewLock(t *testing.T) {
	t.Parallel()
	s := openWith(t, func(_ *httpapi.Services, l *core.Settings) { l.MaxActiveLocksPerUser = 1 })
	user, event := s.user(), s.event(10)
	wanted := fields{"eventId": event, "userId": user, "seats": 2, "idempotencyKey": "k"}
	first := s.want(s.call("POST", "/api/locks", wanted), 201, "")
	if replay := s.want(s.call("POST", "/api/locks", wanted), 201, ""); replay.text("id") != first.text("id") {
		t.Errorf("the replay: %s", replay.raw)
	}
	due := fields{"eventId": event, "userId": user, "seats": 2, "expiresAt": "2020-01-01T00:00:00Z"}
	s.want(s.call("POST", "/api/locks", due), 409, "SEAT_LIMIT_REACHED")
}

// Requests count against the rate of their key and of their user, and against no other.
func TestLimits_KeysAndUsersHaveRates(t *testing.T) {
	t.Parallel()
	tokens, err := httpapi.NewTokens(config.Access{JWTSecret: tokenSecret}, mongodb.SystemTime)
	if err != nil {
		t.Fatal(err)
	}
	s := openWith(t, func(s *httpapi.Services, _ *core.Settings) {
		s.Keys = []config.Key{
			{Name: "shop", Scope: config.ScopeBooking, Secret: "s-shop"}, {Name: "kiosk", Scope: config.ScopeBooking, Secret: "s-kiosk"},
			{Name: "ops", Scope: config.ScopeAdmin, Secret: "s-ops"},
		}
		s.Tokens, s.Rates = tokens, httpapi.NewRateLimiter(nil, mongodb.SystemTime, slog.New(slog.DiscardHandler))
		s.Limits = httpapi.Limits{PerKey: config.Rate{Count: 10, Per: time.Hour}, PerUser: config.Rate{Count: 3, Per: time.Hour}}
	})
	shop, kiosk := []string{"Authorization", "Bearer s-shop"}, []string{"Authorization", "Bearer s-kiosk"}
	for i := range 10 {
		a := s.want(s.call("GET", "/api/events", nil, shop...), 200, "")
		if a.header.Get("RateLimit-Policy") != `"key";q=10;w=3600` || a.header.Get("RateLimit") == "" {
			t.Errorf("request %d: %v", i, a.header)
		}
	}
	refused := s.want(s.call("GET", "/api/events", nil, shop...), 429, "TOO_MANY_REQUESTS")
	if wait, err := strconv.Atoi(refused.header.Get("Retry-After")); err != nil || wait < 300 || wait > 360 {
		t.Errorf("Retry-After is %q", refused.header.Get("Retry-After"))
	}
	none := mongodb.NewID().String()
	wanted := fields{"eventId": none, "userId": none, "seats": 1}
	for range 3 {
		s.want(s.call("POST", "/api/locks", wanted, kiosk...), 404, "USER_NOT_FOUND")
	}
	// The user's rate is used up, for the user that a key names and for the user's token.
	s.want(s.call("POST", "/api/locks", wanted, kiosk...), 429, "TOO_MANY_REQUESTS")
	s.want(s.call("GET", "/api/events", nil, "Authorization", tokenFor(t, none)), 429, "TOO_MANY_REQUESTS")
	s.want(s.call("GET", "/api/events", nil, "Authorization", tokenFor(t, mongodb.NewID().String())), 200, "")
	// An invalid request counts. What is refused because of its key is not counted.
	s.want(s.call("POST", "/api/locks", fields{"eventId": none, "userId": none, "seats": 0}, kiosk...), 422, "")
	s.want(s.call("POST", "/api/locks", wanted, "Authorization", "Bearer wrong"), 401, "UNAUTHENTICATED")
	s.want(s.call("GET", "/api/admin/jobs", nil, kiosk...), 403, "FORBIDDEN")
	for range 5 {
		s.want(s.call("GET", "/api/events", nil, kiosk...), 200, "")
	}
	s.want(s.call("GET", "/api/events", nil, kiosk...), 429, "TOO_MANY_REQUESTS")
}

// A request counts, and its response has the headers, if its key or token is sufficient. The user
// that a key names counts once the body was read.
func TestLimits_OnlyCountedRequestsHaveHeaders(t *testing.T) {
	t.Parallel()
	hundred := config.Rate{Count: 100, Per: time.Hour}
	s := openWithLimits(t, httpapi.Limits{PerKey: hundred, PerUser: hundred, PerAddress: hundred})
	none := mongodb.NewID().String()
	lock, book := fields{"eventId": none, "userId": none, "seats": 1}, fields{"eventId": none, "userId": none, "lockId": none}
	customer := []string{"Authorization", tokenFor(t, none)}
	count := map[string]int{} // requests by what they count against
	for _, c := range []struct {
		method, path string
		body         any
		caller       []string
		status       int
		counts       string // against which rates
	}{
		{"GET", "/api/events", nil, shopKey, 200, "key"},
		{"GET", "/api/locks?userId=" + none, nil, shopKey, 200, "key"},
		{"POST", "/api/locks", "{", shopKey, 400, "key"},
		{"POST", "/api/locks", fields{"userId": none}, shopKey, 422, "key"},
		{"POST", "/api/locks", lock, shopKey, 404, "key user"},
		{"POST", "/api/bookings", book, shopKey, 404, "key user"},
		{"POST", "/api/locks/" + none + "/extend", fields{"ttlSeconds": 5}, shopKey, 404, "key"},
		{"POST", "/api/locks", lock, customer, 404, "user"},
		{"POST", "/api/locks", "{", customer, 400, "user"},
		{"GET", "/api/admin/jobs", nil, shopKey, 403, ""},
		{"POST", "/api/users", fields{}, customer, 403, ""},
		{"GET", "/api/events", nil, []string{"Authorization", "Bearer wrong"}, 401, "address"},
		{"GET", "/nothing", nil, shopKey, 404, ""},
		{"PUT", "/api/locks", nil, shopKey, 405, ""},
		{"POST", "/api/locks", lock, append(shopKey[:2:2], "Sec-Fetch-Site", "cross-site"), 403, ""},
		{"GET", "/livez", nil, shopKey, 200, ""},
		{"GET", "/openapi.json", nil, shopKey, 200, ""},
	} {
		a := s.want(s.call(c.method, c.path, c.body, c.caller...), c.status, "")
		var policies, rates []string
		for _, kind := range strings.Fields(c.counts) {
			count[kind]++
			policies = append(policies, fmt.Sprintf(`"%s";q=100;w=3600`, kind))
			rates = append(rates, fmt.Sprintf(`"%s";r=%d;`, kind, 100-count[kind]))
		}
		if got := a.header.Values("RateLimit-Policy"); !slices.Equal(got, policies) {
			t.Errorf("%s %s counts against %v, want %v", c.method, c.path, got, policies)
		}
		got := a.header.Values("RateLimit")
		if !slices.EqualFunc(got, rates, strings.HasPrefix) {
			t.Errorf("%s %s: %v, want %v", c.method, c.path, got, rates)
		}
	}
}

// Above the limit of requests in flight, requests are refused at once with
// Retry-After; probes and metrics still answer, and so does the API afterwards.
func TestLimits_RefusesRequestsAboveTheInFlightLimit(t *testing.T) {
	t.Parallel()
	s := openWith(t, func(s *httpapi.Services, _ *core.Settings) { s.Limits.InFlight = 5 })
	user, event := s.user(), s.event(1000)
	release := s.w.HoldEvent(event)
	var blocked sync.WaitGroup
	answers := make(chan answer, 100)
	for range 5 {
		blocked.Go(func() { answers <- s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1}) })
	}
	testenv.WaitFor(t, func() bool {
		return strings.Contains(s.call("GET", "/metrics", nil).raw, "holdfast_http_requests_in_flight 5\n")
	})
	for range 50 {
		a := s.want(s.call("GET", "/api/events", nil), 503, "UNAVAILABLE")
		if a.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		t.Run(path, func(t *testing.T) {
			if a := s.in(t).call("GET", path, nil); a.status != http.StatusOK {
				t.Errorf("status %d", a.status)
			}
		})
	}
	release()
	blocked.Wait()
	close(answers)
	for a := range answers {
		s.want(a, 201, "")
	}
	s.want(s.call("GET", "/api/events", nil), 200, "")
}
