package httpapi_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// The header and the body may have the key; a key belongs to one API key and one request.
func TestCreations_ReplayByKey(t *testing.T) {
	t.Parallel()
	site := openWithAccess(t)
	for path, c := range map[string]struct{ request, other fields }{
		"/api/users": {
			fields{"name": "Ada", "email": "ada@example.com"}, fields{"name": "Ada B.", "email": "ada@example.com"},
		},
		"/api/events": {
			fields{"name": "Ball", "totalSeats": 10, "eventDate": "2027-06-15T10:00:00Z"},
			fields{"name": "Ball", "totalSeats": 11, "eventDate": "2027-06-15T10:00:00Z"},
		},
		"/api/seating-plans": {smallPlan("Hall"), smallPlan("Other hall")},
	} {
		t.Run(path, func(t *testing.T) {
			s := site.in(t)
			ops := []string{"Authorization", "Bearer s-ops"}
			key := "k " + path
			inHeader := append(ops[:2:2], "Idempotency-Key", key)
			made := s.want(s.call("POST", path, c.request, inHeader...), 201, "")
			if replayed, given := made.header["Idempotent-Replayed"]; given {
				t.Errorf("the first answer has Idempotent-Replayed: %q", replayed)
			}
			c.request["idempotencyKey"] = key
			for name, headers := range map[string][]string{"body": ops, "both": inHeader} {
				again := s.want(s.call("POST", path, c.request, headers...), 201, "")
				if again.raw != made.raw || again.header.Get("Idempotent-Replayed") != "true" ||
					again.header.Get("Location") != path+"/"+made.text("id") {
					t.Errorf("%s: %v %s, want %s", name, again.header, again.raw, made.raw)
				}
			}
			s.want(s.call("POST", path, c.other, inHeader...), 422, "IDEMPOTENCY_KEY_REUSED")
			s.want(s.call("POST", path, c.request, append(ops[:2:2], "Idempotency-Key", "other")...), 422, "VALIDATION_FAILED")
			c.other["idempotencyKey"] = strings.Repeat("k", 201)
			s.want(s.call("POST", path, c.other, ops...), 422, "VALIDATION_FAILED")
			c.other["idempotencyKey"] = ""
			s.want(s.call("POST", path, c.other, ops...), 422, "VALIDATION_FAILED")
		})
	}
	// The same text is another key to another caller.
	bob := fields{"name": "Bob", "email": "bob@example.com"}
	s := site.want(site.call("POST", "/api/users", bob, "Authorization", "Bearer s-shop", "Idempotency-Key", "k /api/users"), 201, "")
	if s.header.Get("Idempotent-Replayed") != "" || s.text("email") != "bob@example.com" {
		t.Errorf("another caller: %v %s", s.header, s.raw)
	}
}

// A key belongs to the event that it created: after the deletion the same request creates another one.
func TestCreations_OfADeletedEvent(t *testing.T) {
	t.Parallel()
	s := open(t)
	request := func(key string) fields {
		return fields{"name": "Ball", "totalSeats": 10, "eventDate": "2027-06-15T10:00:00Z", "idempotencyKey": key}
	}
	create := func(key string) answer { return s.want(s.call("POST", "/api/events", request(key)), 201, "") }
	first, other := create("k"), create("other")
	s.want(s.call("DELETE", "/api/events/"+first.text("id"), nil), 204, "")
	second := create("k")
	if second.header.Get("Idempotent-Replayed") != "" || second.text("id") == first.text("id") {
		t.Errorf("after the deletion: %v %s", second.header, second.raw)
	}
	for made, again := range map[string]answer{second.text("id"): create("k"), other.text("id"): create("other")} {
		if again.header.Get("Idempotent-Replayed") != "true" || again.text("id") != made {
			t.Errorf("a repeat of the creation of %s: %v %s", made, again.header, again.raw)
		}
	}
}

func TestUsers_AreFoundByEmail(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	shop := []string{"Authorization", "Bearer s-shop"}
	made := s.want(s.call("POST", "/api/users", fields{"name": "Ada", "email": "ada+1@example.com"}, shop...), 201, "")
	find := func(email string) string { return "/api/users?email=" + url.QueryEscape(email) }
	for email, item := range map[string]string{
		"ada+1@example.com": strings.TrimSpace(made.raw), "ADA+1@example.COM": strings.TrimSpace(made.raw), "bob@example.com": "",
	} {
		want := fmt.Sprintf(`{"items":[%s],"nextPageToken":""}`+"\n", item)
		if a := s.want(s.call("GET", find(email), nil, shop...), 200, ""); a.raw != want {
			t.Errorf("%s: %s, want %s", email, a.raw, want)
		}
	}
	for _, path := range []string{
		"/api/users", "/api/users?email=", find("no address"), find("ada+1@example.com") + "&pageToken=" + made.text("id"),
	} {
		s.want(s.call("GET", path, nil, shop...), 422, "VALIDATION_FAILED")
	}
	s.want(s.call("GET", find("ada+1@example.com"), nil, "Authorization", tokenFor(t, made.text("id"))), 403, "FORBIDDEN")
	s.want(s.call("GET", find("ada+1@example.com"), nil), 401, "UNAUTHENTICATED")
}
