package httpapi_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/jobs"
)

// testJobs returns lock-expiry, which signals jobBegun and runs until jobDone is
// closed, and recovery, which fails.
func (s *site) testJobs() []jobs.Job {
	return []jobs.Job{
		{Name: "lock-expiry", Interval: time.Minute, MaxDuration: 5 * time.Minute, Do: s.runUntilDone},
		{Name: "recovery", MaxDuration: 30 * time.Minute, Do: func(context.Context, jobs.Run) (jobs.Counts, error) {
			return jobs.Counts{Errors: 1}, errors.New("broken")
		}},
	}
}

func (s *site) runUntilDone(ctx context.Context, _ jobs.Run) (jobs.Counts, error) {
	select {
	case s.jobBegun <- struct{}{}:
	case <-ctx.Done():
		return jobs.Counts{}, ctx.Err()
	}
	<-s.jobDone
	return jobs.Counts{Found: 3, Applied: 2, Skipped: 1, SeatsRestored: 7}, nil
}

// While a manual run lasts it is listed, and a second one is refused with the
// holder's name. Afterwards it is in the history.
func TestJobs_ManualRunIsExclusiveAndRecorded(t *testing.T) {
	t.Parallel()
	s := open(t)
	first := make(chan answer, 1)
	go func() { first <- s.call("POST", "/api/admin/jobs/lock-expiry/run", nil) }()
	<-s.jobBegun
	refused := s.want(s.call("POST", "/api/admin/jobs/lock-expiry/run", nil), 409, "JOB_RUNNING")
	if !strings.HasPrefix(refused.text("holder"), "pod/") {
		t.Errorf("JOB_RUNNING without the holder: %s", refused.raw)
	}
	all := s.want(s.call("GET", "/api/admin/jobs", nil), 200, "")
	for _, part := range []string{
		`"nextPageToken":""`,
		`"name":"lock-expiry","interval":"1m0s","maxDuration":"5m0s","lastRun":{"id":"lock-expiry-`,
		`"outcome":"running"`,
		`"lease":{"name":"locks:holdfast:lock-expiry","state":"held","holder":"pod/`,
		`"leader":{"name":"locks:holdfast:leader","state":"free"}`,
		`{"name":"recovery","interval":"","maxDuration":"30m0s","lease":{"name":"locks:holdfast:recovery","state":"free"}`,
	} {
		if !strings.Contains(all.raw, part) {
			t.Errorf("%s is not in %s", part, all.raw)
		}
	}
	close(s.jobDone)
	run := s.want(<-first, 200, "")
	for field, want := range map[string]string{"outcome": "completed", "found": "3", "seatsRestored": "7", "trigger": "manual"} {
		if run.text(field) != want {
			t.Errorf("%s is %s, want %s", field, run.text(field), want)
		}
	}
	if run.text("finishedAt") == "" {
		t.Errorf("finishedAt is empty: %s", run.raw)
	}
	runs := s.want(s.call("GET", "/api/admin/jobs/lock-expiry/runs?pageSize=1", nil), 200, "")
	if !strings.Contains(runs.raw, run.text("id")) {
		t.Errorf("the history is %s", runs.raw)
	}
	failed := s.want(s.call("POST", "/api/admin/jobs/recovery/run", nil), 200, "")
	if failed.text("outcome") != "failed" || failed.text("reason") != "broken" {
		t.Errorf("a failed run: %s", failed.raw)
	}
	freed := s.want(s.call("DELETE", "/api/admin/jobs/lock-expiry/lease", nil), 200, "")
	if !strings.Contains(freed.raw, `"lease":{"name":"locks:holdfast:lock-expiry","state":"free"},"freed":false`) {
		t.Errorf("freed: %s", freed.raw)
	}
}

func TestJobs_RefusesBadRequests(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, c := range []struct {
		method, path string
		status       int
		code         string
	}{
		{method: "POST", path: "/api/admin/jobs/x/run", status: 404, code: "JOB_NOT_FOUND"},
		{method: "GET", path: "/api/admin/jobs/x/runs", status: 404, code: "JOB_NOT_FOUND"},
		{method: "DELETE", path: "/api/admin/jobs/$ne/lease", status: 404, code: "JOB_NOT_FOUND"},
		{method: "GET", path: "/api/admin/jobs/recovery/runs?pageToken=x", status: 422, code: "VALIDATION_FAILED"},
		{method: "GET", path: "/api/admin/jobs/recovery/run", status: 405, code: "METHOD_NOT_ALLOWED"},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			s := s.in(t)
			s.want(s.call(c.method, c.path, nil), c.status, c.code)
		})
	}
}

func TestJobs_RequireTheScopeAdmin(t *testing.T) {
	t.Parallel()
	s := open(t,
		config.Key{Name: "shop", Scope: config.ScopeBooking, Secret: "shop"},
		config.Key{Name: "ops", Scope: config.ScopeAdmin, Secret: "ops"})
	for _, c := range []struct{ method, path string }{
		{"GET", "/api/admin/jobs"},
		{"POST", "/api/admin/jobs/recovery/run"},
		{"GET", "/api/admin/jobs/recovery/runs"},
		{"DELETE", "/api/admin/jobs/recovery/lease"},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			s := s.in(t)
			s.want(s.call(c.method, c.path, nil), 401, "UNAUTHENTICATED")
			s.want(s.call(c.method, c.path, nil, "Authorization", "Bearer shop"), 403, "FORBIDDEN")
			s.want(s.call(c.method, c.path, nil, "Authorization", "Bearer ops"), 200, "")
		})
	}
}

// The answer comes after 25 s although the server's ReadTimeout is shorter.
func TestJobs_LongRunIsAnsweredWith202(t *testing.T) {
	t.Parallel()
	s := open(t)
	start := time.Now()
	answers := make(chan answer, 1)
	go func() { answers <- s.call("POST", "/api/admin/jobs/lock-expiry/run", nil) }()
	<-s.jobBegun
	a := s.want(<-answers, 202, "")
	if took := time.Since(start); a.text("outcome") != "running" || took < 24*time.Second {
		t.Errorf("after %v: %s", took, a.raw)
	}
	close(s.jobDone)
}
