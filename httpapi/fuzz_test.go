package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Any input gets a valid answer that is not a server error. scripts/test runs each
// target for a few seconds. To run one for longer:
// .build/devserver with go test ./httpapi -fuzz FuzzBody -fuzztime 10m

func checkAnswer(t *testing.T, input string, a answer) {
	t.Helper()
	if a.status == 0 || a.status >= http.StatusInternalServerError {
		t.Errorf("%q: %d %s", input, a.status, a.raw)
	}
	if a.status >= http.StatusBadRequest && (a.text("code") == "<nil>" || a.header.Get("Content-Type") != "application/problem+json") {
		t.Errorf("%q: an error without a code: %d %s", input, a.status, a.raw)
	}
	if !json.Valid([]byte(a.raw)) {
		t.Errorf("%q: the answer is not JSON: %s", input, a.raw)
	}
}

// maxFuzzedText keeps a request's header, which carries an input up to four times and each byte
// escaped as three, below maxHeaderBytes. net/http refuses a larger one itself, and not in JSON.
const maxFuzzedText = 1 << 10

// FuzzBody sends any bytes as a body.
func FuzzBody(f *testing.F) {
	s := open(f)
	user, event := s.user(), s.event(10_000_000)
	for _, seed := range []string{
		`{"eventId":"E","userId":"U","seats":1}`, `{"eventId":{"$ne":null},"userId":"U","seats":1}`, `{"eventId":"E","userId":"U","seats":1e400}`,
		`{"eventId":"E","userId":"U","seats":2.0,"idempotencyKey":"\u0000"}`, `{"eventId":"E","userId":"U","seats":1,"$where":"sleep(1)"}`,
		`[]`, `null`, `"`, "\xff\xfe", `{"seats":9223372036854775808}`, `{"eventId":"E","eventId":"E","userId":"U","seats":1,"ttlSeconds":-1}`,
		`{"eventId":"E","userId":"U","seats":1,"idempotencyKey":"` + strings.Repeat("é", 150) + `"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s := s.in(t)
		text := strings.NewReplacer(`"E"`, `"`+event+`"`, `"U"`, `"`+user+`"`).Replace(string(body))
		checkAnswer(t, text, s.call("POST", "/api/locks", text))
		checkAnswer(t, text, s.call("POST", "/api/bookings", text))
		checkAnswer(t, text, s.call("PATCH", "/api/events/"+mongodb.NewID().String(), text))
	})
}

// FuzzID sends any text as an ID in paths and queries.
func FuzzID(f *testing.F) {
	s := open(f)
	for _, seed := range []string{
		"6b0166d19f73b711049e40f3", "", "..", "%00", "$ne", "{}", "6B0166D19F73B711049E40F3", strings.Repeat("f", 25), "é", "a/b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		s, id := s.in(t), id[:min(len(id), maxFuzzedText)]
		for _, path := range []string{"/api/locks/", "/api/bookings/", "/api/users/", "/api/events/", "/api/admin/jobs/"} {
			checkAnswer(t, id, s.call("GET", path+url.PathEscape(id), nil))
		}
		checkAnswer(t, id, s.call("GET", "/api/locks?"+url.Values{"eventId": {id}, "userId": {id}, "status": {id}}.Encode(), nil))
	})
}

// FuzzTime sends any text and number as a time.
func FuzzTime(f *testing.F) {
	s := open(f)
	user, event := s.user(), s.event(10_000_000)
	for _, seed := range []string{
		"2026-06-15T10:00:00Z", "0000-00-00T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2026-02-30T00:00:00Z", "2026-06-15T10:00:00+14:00",
		"-0001-01-01T00:00:00Z", "now", "10000-01-01T00:00:00Z", "2026-06-15t10:00:00z", "",
	} {
		f.Add(seed, int64(60))
	}
	f.Add("2026-06-15T10:00:00Z", int64(1)<<62)
	f.Fuzz(func(t *testing.T, at string, seconds int64) {
		s := s.in(t)
		checkAnswer(t, at, s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1, "expiresAt": at}))
		checkAnswer(t, at, s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1, "ttlSeconds": seconds}))
		checkAnswer(t, at, s.call("POST", "/api/events", fields{"name": "E", "totalSeats": 1, "eventDate": at}))
	})
}

// FuzzPage sends any page token and page size.
func FuzzPage(f *testing.F) {
	s := open(f)
	s.event(1)
	for _, seed := range []string{"", "AAAAAAAAAAAAAAAA", "!", "====", strings.Repeat("A", 100), "$gt"} {
		f.Add(seed, "50")
	}
	f.Add("", "1e2")
	f.Fuzz(func(t *testing.T, token, size string) {
		s, token, size := s.in(t), token[:min(len(token), maxFuzzedText)], size[:min(len(size), maxFuzzedText)]
		checkAnswer(t, token, s.call("GET", "/api/events?"+url.Values{"pageToken": {token}, "pageSize": {size}}.Encode(), nil))
	})
}

// FuzzKey sends any Authorization header: only the right key is accepted.
func FuzzKey(f *testing.F) {
	s := open(f, config.Key{Name: "shop", Scope: config.ScopeBooking, Secret: "s-shop"})
	for _, seed := range []string{
		"Bearer s-shop", "Bearer", "Bearer s-shop\x00", "bearer  s-shop ", "Basic czpz", "Bearer eyJhbGciOiJub25lIn0.e30.", "s-shop",
		" bearer s-shop",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, authorization string) {
		s, authorization := s.in(t), authorization[:min(len(authorization), maxFuzzedText)]
		if strings.ContainsFunc(authorization, func(r rune) bool { return r < ' ' || r == 0x7f || r > 0x7e }) {
			return // not a valid header; the client refuses to send it
		}
		a := s.call("GET", "/api/events", nil, "Authorization", authorization)
		checkAnswer(t, authorization, a)
		scheme, secret, _ := strings.Cut(strings.TrimSpace(authorization), " ") // as HTTP reads a header
		isKey := strings.EqualFold(strings.TrimSpace(scheme), "Bearer") && strings.TrimSpace(secret) == "s-shop"
		if !isKey && a.status != http.StatusUnauthorized {
			t.Errorf("%q: %d", authorization, a.status)
		}
	})
}
