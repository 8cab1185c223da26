package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/recovery"
)

// Text that is an expression or an operator of MongoDB is stored and found as it is, or refused.
func TestInput_IsNeverAQuery(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, id := s.event(10), mongodb.NewID().String()
	for _, text := range []string{"$totalSeats", "$$ROOT", "{$ne: ''}"} {
		t.Run(text, func(t *testing.T) {
			s := s.in(t)
			user := s.want(s.call("POST", "/api/users", fields{"name": text, "email": "u" + mongodb.NewID().String() + "@example.com"}), 201, "")
			lock := s.want(s.call("POST", "/api/locks",
				fields{"eventId": event, "userId": user.text("id"), "seats": 1, "idempotencyKey": text}), 201, "")
			booking := s.want(s.call("POST", "/api/bookings",
				fields{"userId": user.text("id"), "lockId": lock.text("id"), "eventId": event, "paymentTtlSeconds": 60}), 201, "")
			confirmed := s.want(s.call("POST", "/api/bookings/"+booking.text("id")+"/confirm", fields{"paymentReference": text}), 200, "")
			renamed := s.want(s.call("PATCH", "/api/events/"+event, fields{"name": text}), 200, "")
			if user.text("name") != text || confirmed.text("paymentReference") != text || renamed.text("name") != text {
				t.Errorf("%s\n%s\n%s", user.raw, confirmed.raw, renamed.raw)
			}
		})
	}
	operator := fields{"$ne": ""}
	for _, body := range []fields{
		{"eventId": operator, "userId": id, "seats": 1}, {"eventId": event, "userId": operator, "seats": 1},
		{"eventId": event, "userId": id, "seats": operator}, {"eventId": event, "userId": id, "seats": 1, "idempotencyKey": operator},
	} {
		s.want(s.call("POST", "/api/locks", body), 422, "VALIDATION_FAILED")
	}
	for _, query := range []string{"userId[$ne]=" + id, "userId={$ne:''}", "status[$ne]=ACTIVE", "status=$ne"} {
		if a := s.call("GET", "/api/locks?"+query, nil); a.status != 422 && a.status != 400 {
			t.Errorf("%s: %d %s", query, a.status, a.raw)
		}
	}
}

// What a client sends by mistake, such as a secret in the wrong place, is in no error, and no
// answer sets a cookie.
func TestErrors_DoNotRepeatValues(t *testing.T) {
	t.Parallel()
	s := open(t)
	seated, user := s.seatedEvent(nil), s.user()
	const mark = "zqx7mark"
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"GET", "/" + mark, nil},
		{"GET", "/api/events/" + mark, nil},
		{"GET", "/api/locks?userId=" + mark, nil},
		{"GET", "/api/locks?status=" + mark, nil},
		{"GET", "/api/locks?pageToken=" + mark, nil},
		{"POST", "/api/locks", mark},
		{"POST", "/api/locks", fields{"eventId": mark, "userId": mark, "seats": mark, "idempotencyKey": mark + "\x00"}},
		{"POST", "/api/users", fields{"name": mark, "email": mark}},
		{"POST", "/api/users", fields{"name": "A", "email": "a@example.com", "colour": mark}},
		{"GET", "/api/locks?colour=" + mark, nil},
		{"PATCH", "/api/events/" + mongodb.NewID().String(), fields{"status": mark}},
		{"GET", "/api/events/" + seated + "/seats?section=" + mark, nil},
		{"GET", "/api/events/" + seated + "/seats/stream?section=" + mark, nil},
		{"GET", "/api/events/" + seated + "/seats/" + mark, nil},
		{"POST", "/api/locks", fields{"eventId": seated, "userId": user, "seatIds": []string{mark}}},
		{"POST", "/api/locks", fields{"eventId": seated, "userId": user, "seatIds": []string{"A-1-1", "A-1-1"}, "reference": mark}},
		{"POST", "/api/locks", fields{"eventId": seated, "userId": user, "bestAvailable": fields{"seats": 1, "categories": []string{mark}}}},
		{"POST", "/api/admin/jobs/" + mark + "/run", nil},
		{mark, "/api/events", nil},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			a := s.in(t).call(c.method, c.path, c.body, "Authorization", "Bearer "+mark, "Cookie", "a="+mark)
			if a.status < 400 || strings.Contains(a.raw, mark) {
				t.Errorf("%d %s", a.status, a.raw)
			}
			if cookie := a.header.Get("Set-Cookie"); cookie != "" {
				t.Errorf("the cookie %q", cookie)
			}
		})
	}
}

// The stack of a panic is for the log.
func TestErrors_OfAPanicHaveNoStack(t *testing.T) {
	t.Parallel()
	s := openWith(t, func(services *httpapi.Services, _ *core.Settings) {
		services.Plan = func(context.Context) (recovery.Plan, error) { panic("zqx7mark") }
	})
	a := s.want(s.call("GET", "/api/admin/survey", nil), 503, "UNAVAILABLE")
	if strings.Contains(a.raw, "zqx7mark") || strings.Contains(a.raw, "goroutine") {
		t.Errorf("%s", a.raw)
	}
	if len(s.w.Log.Lines("A request panicked")) != 1 {
		t.Error("the log has no line of the panic")
	}
}

// METRICS_ADDR is for operators: it needs no key, from any address.
func TestOperations_NeedNoKey(t *testing.T) {
	t.Parallel()
	h := httpapi.Operations(func(context.Context) httpapi.Readiness { return httpapi.Readiness{Ready: true} }, telemetry.NewMetrics().Registry)
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), "GET", path, http.NoBody)
			r.RemoteAddr = "192.0.2.1:1"
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != 200 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}

// A page is a file of the binary, so that it has no data and needs no key. What an operator
// enters is kept for the tab only.
func TestPages_AreFilesWithoutDataOrCookies(t *testing.T) {
	t.Parallel()
	s := openWith(t, func(services *httpapi.Services, _ *core.Settings) { services.Demo = true })
	s.event(10)
	kept := regexp.MustCompile(`localStorage|indexedDB|\.cookie|caches\.|serviceWorker`)
	for path, file := range map[string]string{
		"/console": "console.html", "/demo": "demo.html", "/assets/api.js": "assets/api.js",
		"/assets/console.js": "assets/console.js", "/assets/demo.js": "assets/demo.js",
	} {
		t.Run(path, func(t *testing.T) {
			text, err := os.ReadFile("pages/" + file)
			if err != nil {
				t.Fatal(err)
			}
			a := s.in(t).call("GET", path, nil)
			if a.status != 200 || a.raw != string(text) || a.header.Get("Set-Cookie") != "" {
				t.Errorf("%d %v, %d bytes instead of %d", a.status, a.header, len(a.raw), len(text))
			}
			if found := kept.FindString(a.raw); found != "" {
				t.Errorf("the page uses %s", found)
			}
			for _, part := range []string{"connect-src 'self'", "trusted-types 'none'"} {
				if policy := a.header.Get("Content-Security-Policy"); !strings.Contains(policy, part) {
					t.Errorf("the policy %q lacks %s", policy, part)
				}
			}
		})
	}
}
