package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/config"
)

// audited lists method, path, actor and status of the entries, newest first.
func (s *site) audited(query string, headers ...string) (entries []string, next string) {
	s.t.Helper()
	a := s.want(s.call("GET", "/api/admin/audit?"+query, nil, headers...), 200, "")
	for _, item := range a.body["items"].([]any) {
		e := item.(map[string]any)
		entries = append(entries, fmt.Sprint(e["method"], " ", e["path"], " by ", e["actor"], ": ", e["status"], " ", e["body"]))
	}
	return entries, a.text("nextPageToken")
}

func TestAudit_KeepsWhatTheConsoleDid(t *testing.T) {
	t.Parallel()
	s := open(t, config.Key{Name: "shop", Scope: config.ScopeBooking, Secret: "1"},
		config.Key{Name: "ann", Scope: config.ScopeAdmin, Secret: "2"}, config.Key{Name: "bob", Scope: config.ScopeAdmin, Secret: "3"})
	by := func(secret, request string) []string {
		return []string{"Authorization", "Bearer " + secret, "X-Request-Id", request}
	}
	event := s.want(s.call("POST", "/api/events", fields{"name": "Show", "totalSeats": 5, "eventDate": "2030-01-02T03:04:05Z"},
		by("2", "backend-1")...), 201, "").text("id") // not of the console
	path := "/api/events/" + event
	s.want(s.call("PATCH", path, `{"status":"CLOSED"}`, by("2", "console-1")...), 200, "")
	s.want(s.call("PATCH", path, `{"totalSeats":0}`, by("3", "console-2")...), 422, "VALIDATION_FAILED")
	s.want(s.call("POST", "/api/admin/jobs/recovery/run", nil, by("3", "console-3")...), 200, "")
	s.want(s.call("DELETE", "/api/admin/jobs/leader/lease", nil, by("3", "console-4")...), 200, "")
	s.want(s.call("GET", path, nil, by("2", "console-5")...), 200, "")
	s.want(s.call("POST", "/api/events", `{"name":"Second"}`, by("3", "console-0")...), 422, "VALIDATION_FAILED")
	s.want(s.call("POST", "/api/admin/seating-plans/convert", hallPlan, by("2", "console-6")...), 200, "") // it stores nothing
	s.want(s.call("POST", "/api/users", fields{"name": "A", "email": "a@example.com"}, by("1", "console-7")...), 201, "")
	s.want(s.call("PATCH", path, `{"status":"CLOSED"}`, by("1", "console-8")...), 403, "FORBIDDEN")
	s.want(s.call("PATCH", path, `{"status":"ON_SALE"}`, by("2", "consol-9")...), 200, "")

	all := []string{
		`POST /api/events by bob: 422 {"name":"Second"}`,
		"DELETE /api/admin/jobs/leader/lease by bob: 200 <nil>",
		"POST /api/admin/jobs/recovery/run by bob: 200 <nil>",
		"PATCH " + path + ` by bob: 422 {"totalSeats":0}`,
		"PATCH " + path + ` by ann: 200 {"status":"CLOSED"}`,
	}
	boss := by("2", "r")
	if got, next := s.audited("", boss...); !slices.Equal(got, all) || next != "" {
		t.Errorf("kept %q, want %q; then %q", got, all, next)
	}
	if got, _ := s.audited("actor=ann", boss...); !slices.Equal(got, all[4:]) {
		t.Errorf("by ann: %q", got)
	}
	if got, _ := s.audited("targetId="+event, boss...); !slices.Equal(got, all[3:]) {
		t.Errorf("of the event: %q", got)
	}
	first, next := s.audited("pageSize=3", boss...)
	second, end := s.audited("pageSize=3&pageToken="+next, boss...)
	if !slices.Equal(slices.Concat(first, second), all) || len(first) != 3 || end != "" {
		t.Errorf("in pages: %q, %q", first, second)
	}
	for _, query := range []string{
		"actor=", "targetId=x", "targetId=" + strings.Repeat("0", 24), "pageToken=x", "pageSize=501", "status=200",
	} {
		s.want(s.call("GET", "/api/admin/audit?"+query, nil, boss...), 422, "VALIDATION_FAILED")
	}
}

// The audit keeps the beginning of a large body, and only the text of a body that is partly binary.
func TestAudit_BoundsTheBody(t *testing.T) {
	t.Parallel()
	s := open(t)
	console := []string{"X-Request-Id", "console-1"}
	s.want(s.call("POST", "/api/seating-plans", strings.Replace(hallPlan, "Small", strings.Repeat("é", 1900), 1), console...), 422, "")
	s.want(s.call("PATCH", "/api/events/"+strings.Repeat("1", 24), "\xff{", console...), 400, "")
	got, _ := s.audited("")
	if len(got) != 2 {
		t.Fatalf("kept %.100q", got)
	}
	invalid, large := got[0], got[1]
	if !strings.HasSuffix(invalid, ": 400 {") || !strings.Contains(large, ": 422 {") || !strings.HasSuffix(large, "é…") || len(large) > 2100 {
		t.Errorf("kept %.100q", got)
	}
}

// What is refused for its body is kept, like other refusals. What is refused because there is too much to do is not: it
// costs no write.
func TestAudit_OfRequestsRefusedBeforeTheirRoute(t *testing.T) {
	t.Parallel()
	s := openWithLimits(t, httpapi.Limits{PerKey: config.Rate{Count: 5, Per: time.Hour}})
	path := "/api/events/" + strings.Repeat("1", 24)
	by := func(key string, more ...string) []string {
		return append([]string{"Authorization", "Bearer " + key, "X-Request-Id", "console-1"}, more...)
	}
	large := `{"name":"` + strings.Repeat("x", 70_000) + `"}`
	s.want(s.call("PATCH", path, large, by("s-ops")...), 413, "")
	s.want(s.call("PATCH", path, `{"status":"CLOSED"}`, by("s-ops", "Content-Encoding", "gzip")...), 415, "")
	s.want(s.call("DELETE", "/api/locks/"+strings.Repeat("2", 24), `{}`, by("s-ops")...), 422, "")
	s.want(s.call("PATCH", path, `{"status":"CLOSED"}`, by("s-ops")...), 404, "")
	got, _ := s.audited("", by("s-ops")...)
	want := []string{
		"PATCH " + path + ` by ops: 404 {"status":"CLOSED"}`,
		"DELETE /api/locks/" + strings.Repeat("2", 24) + " by ops: 422 <nil>",
		"PATCH " + path + ` by ops: 415 {"status":"CLOSED"}`,
		"PATCH " + path + " by ops: 413 <nil>",
	}
	if !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
	s.want(s.call("PATCH", path, `{"status":"CLOSED"}`, by("s-ops")...), 429, "")
	entries, _, err := s.w.Audit.List(t.Context(), changes.AuditFilter{}, holdfast.Page{Size: 100})
	if err != nil || len(entries) != len(want) {
		t.Errorf("kept %d entries, %v; want %d", len(entries), err, len(want))
	}
}

// A path is kept as valid text of a limited length.
func TestAudit_BoundsThePath(t *testing.T) {
	t.Parallel()
	s := open(t)
	run := func(job string) answer {
		return s.call("POST", "/api/admin/jobs/"+job+"/run", nil, "X-Request-Id", "console-1")
	}
	s.want(run("%ff%fe"), 404, "")
	s.want(run(strings.Repeat("%C3%A9", 4000)), 422, "VALIDATION_FAILED")
	got, _ := s.audited("")
	if len(got) != 2 {
		t.Fatalf("kept %.100q", got)
	}
	long, invalid := got[0], got[1]
	if invalid != "POST /api/admin/jobs//run by <nil>: 404 <nil>" || !strings.Contains(long, "éé… by") || len(long) > 260 {
		t.Errorf("kept %.300q", got)
	}
}

// Endpoints have no change records with an actor, so the audit keeps their requests of every program, not only of the console. It has
// no secret, nor what may be one in a URL: its path too.
func TestAudit_OfWebhooksHasNoSecrets(t *testing.T) {
	t.Parallel()
	s := open(t, config.Key{Name: "ann", Scope: config.ScopeAdmin, Secret: "2"},
		config.Key{Name: "shop", Scope: config.ScopeBooking, Secret: "1"})
	by := func(request string) []string { return []string{"Authorization", "Bearer 2", "X-Request-Id", request} }
	wanted := fields{"url": "https://example.com/hooks/T0/pa7h-secret?token=t0ken", "types": []string{"*"}}
	made := s.want(s.call("POST", "/api/webhooks", wanted, by("console-1")...), 201, "")
	path := "/api/webhooks/" + made.text("id")
	s.want(s.call("POST", path+"/rotate-secret", fields{"overlapSeconds": 60}, by("backend-1")...), 200, "")
	s.want(s.call("PATCH", path, `{"url":"https:\/\/ann:pa55@example.com\/"}`, by("backend-2")...), 422, "VALIDATION_FAILED")
	s.want(s.call("PATCH", path, `{"url":["https://ann:pa55@example.com/"]}`, by("backend-3")...), 422, "VALIDATION_FAILED")
	s.want(s.call("PATCH", path, `{"url":"https://ann:pa55@example.com/"`, by("backend-4")...), 400, "MALFORMED_REQUEST")
	s.want(s.call("PATCH", path, `{"state":"DISABLED"}`, by("backend-5")...), 200, "")
	s.want(s.call("PATCH", path, `{"state":"ENABLED"}`, "Authorization", "Bearer 1", "X-Request-Id", "console-2"), 403, "FORBIDDEN")
	s.want(s.call("GET", path, nil, by("console-3")...), 200, "")
	s.want(s.call("POST", path+"/replay", fields{"state": "DEAD"}, by("backend-6")...), 202, "")
	s.want(s.call("DELETE", path, nil, by("backend-7")...), 204, "")
	got, _ := s.audited("", by("console-4")...)
	want := []string{
		"DELETE " + path + " by ann: 204 <nil>",
		"POST " + path + `/replay by ann: 202 {"state":"DEAD"}`,
		"PATCH " + path + ` by ann: 200 {"state":"DISABLED"}`,
		"PATCH " + path + " by ann: 400 <nil>",
		"PATCH " + path + ` by ann: 422 {"url":"…"}`,
		"PATCH " + path + ` by ann: 422 {"url":"example.com"}`,
		"POST " + path + `/rotate-secret by ann: 200 {"overlapSeconds":60}`,
		`POST /api/webhooks by ann: 201 {"types":["*"],"url":"example.com"}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
	for _, entry := range got {
		for _, secret := range []string{"whsec_", made.text("secret"), "pa55", "pa7h", "t0ken"} {
			if strings.Contains(entry, secret) {
				t.Errorf("%s has a secret", entry)
			}
		}
	}
}
