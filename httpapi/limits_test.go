package httpapi_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/ratelimit"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats"
)

// A bot that hoards on 200 connections holds no more than its caps, and what it
// lets go it may take again.
func TestLimits_ABotHoldsNoMoreThanItsCaps(t *testing.T) {
	t.Parallel()
	s := openWith(t, func(_ *httpapi.Services, l *seats.Limits) { l.MaxSeats, l.MaxLocks = 4, 3 })
	bot, event := s.user(), s.event(10_000)
	var granted atomic.Int64
	var mu sync.Mutex
	var locks []string
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			for n := range 5 {
				a := s.call("POST", "/api/locks", fields{"eventId": event, "userId": bot, "seats": 1 + n%5, "idempotencyKey": fmt.Sprint(i, n)})
				switch a.status {
				case 201:
					granted.Add(int64(1 + n%5))
					mu.Lock()
					locks = append(locks, a.text("id"))
					mu.Unlock()
				default:
					s.want(a, 409, "SEAT_LIMIT_REACHED")
				}
			}
		})
	}
	all.Wait()
	if len(locks) != 3 || granted.Load() > 3*4 {
		t.Errorf("the bot holds %d locks with %d seats", len(locks), granted.Load())
	}
	if a := s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": s.user(), "seats": 5}), 409, "SEAT_LIMIT_REACHED"); a.text("limit") != "4" {
		t.Errorf("a lock of five seats: %s", a.raw)
	}
	if a := s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": bot, "seats": 1}), 409, "SEAT_LIMIT_REACHED"); a.text("limit") != "3" || a.text("held") != "3" {
		t.Errorf("a fourth lock: %s", a.raw)
	}
	s.want(s.call("POST", "/api/locks", fields{"eventId": s.event(10), "userId": bot, "seats": 1}), 201, "") // the cap is per event
	s.want(s.call("DELETE", "/api/locks/"+locks[0], nil), 200, "")
	s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": bot, "seats": 1}), 201, "")
	testenv.CheckInvariants(t, s.w.DB.Database)
}

// The cap of one lock holds by itself too.
func TestLimits_SeatsOfOneLock(t *testing.T) {
	t.Parallel()
	s := openWith(t, func(_ *httpapi.Services, l *seats.Limits) { l.MaxSeats = 4 })
	user, event := s.user(), s.event(10)
	s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 5}), 409, "SEAT_LIMIT_REACHED")
	s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 4}), 201, "")
}

// A repeat is answered whatever the caps say since.
func TestLimits_ARepeatIsNoNewLock(t *testing.T) {
	t.Parallel()
	s := openWith(t, func(_ *httpapi.Services, l *seats.Limits) { l.MaxLocks = 1 })
	user, event := s.user(), s.event(10)
	wanted := fields{"eventId": event, "userId": user, "seats": 2, "idempotencyKey": "k"}
	first := s.want(s.call("POST", "/api/locks", wanted), 201, "")
	if again := s.want(s.call("POST", "/api/locks", wanted), 201, ""); again.text("id") != first.text("id") {
		t.Errorf("the repeat: %s", again.raw)
	}
	s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 2, "expiresAt": "2020-01-01T00:00:00Z"}), 409, "SEAT_LIMIT_REACHED")
}

// A key and a user have as many requests as their rates; neither is the other's.
func TestLimits_RatesPerKeyAndPerUser(t *testing.T) {
	t.Parallel()
	tokens, err := httpapi.NewTokens(config.Access{JWTSecret: tokenSecret}, clock.System)
	if err != nil {
		t.Fatal(err)
	}
	s := openWith(t, func(s *httpapi.Services, _ *seats.Limits) {
		s.Keys = []config.Key{
			{Name: "shop", Scope: config.ScopeBooking, Secret: "s-shop"}, {Name: "kiosk", Scope: config.ScopeBooking, Secret: "s-kiosk"},
			{Name: "ops", Scope: config.ScopeAdmin, Secret: "s-ops"},
		}
		s.Tokens, s.Rates = tokens, ratelimit.New(nil, clock.System, slog.New(slog.DiscardHandler))
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
	none := ids.New().String()
	wanted := fields{"eventId": none, "userId": none, "seats": 1}
	for range 3 {
		s.want(s.call("POST", "/api/locks", wanted, kiosk...), 404, "USER_NOT_FOUND")
	}
	s.want(s.call("POST", "/api/locks", wanted, kiosk...), 429, "TOO_MANY_REQUESTS")                             // a user, by name
	s.want(s.call("GET", "/api/events", nil, "Authorization", tokenFor(t, none)), 429, "TOO_MANY_REQUESTS")      // the same one, by token
	s.want(s.call("GET", "/api/events", nil, "Authorization", tokenFor(t, ids.New().String())), 200, "")         // another
	s.want(s.call("POST", "/api/locks", fields{"eventId": none, "userId": none, "seats": 0}, kiosk...), 422, "") // shape comes first
	s.want(s.call("POST", "/api/locks", wanted, "Authorization", "Bearer wrong"), 401, "UNAUTHENTICATED")        // and so does the key
	s.want(s.call("GET", "/api/admin/jobs", nil, kiosk...), 403, "FORBIDDEN")                                    // which a refusal does not count
	for range 6 {
		s.want(s.call("GET", "/api/events", nil, kiosk...), 200, "")
	}
	s.want(s.call("GET", "/api/events", nil, kiosk...), 429, "TOO_MANY_REQUESTS")
}

// More requests than can be in flight are turned away at once, with what to do;
// the process tells of itself all the same, and serves when it can again.
func TestLimits_InFlight(t *testing.T) {
	t.Parallel()
	s := openWith(t, func(s *httpapi.Services, _ *seats.Limits) { s.Limits.InFlight = 5 })
	user, event := s.user(), s.event(1000)
	release := s.w.HoldEvent(event)
	var all sync.WaitGroup
	answers := make(chan answer, 100)
	for range 5 {
		all.Go(func() { answers <- s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1}) })
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
		if a := s.call("GET", path, nil); a.status != http.StatusOK {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	release()
	all.Wait()
	close(answers)
	for a := range answers {
		s.want(a, 201, "")
	}
	s.want(s.call("GET", "/api/events", nil), 200, "")
}
