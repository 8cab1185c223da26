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

// testJobs are one that says when it has begun and waits to be ended, and one
// that fails.
func (s *site) testJobs() []jobs.Job {
	return []jobs.Job{
		{Name: "lock-expiry", Interval: time.Minute, MaxDuration: 5 * time.Minute, Do: func(ctx context.Context, _ jobs.Run) (jobs.Counts, error) {
			select {
			case s.begun <- struct{}{}:
			case <-ctx.Done():
				return jobs.Counts{}, ctx.Err()
			}
			<-s.end
			return jobs.Counts{Found: 3, Applied: 2, Skipped: 1, SeatsRestored: 7}, nil
		}},
		{Name: "recovery", MaxDuration: 30 * time.Minute, Do: func(context.Context, jobs.Run) (jobs.Counts, error) {
			return jobs.Counts{Errors: 1}, errors.New("broken")
		}},
	}
}

// A job is run by hand, told while it runs, refused to a second one with the
// holder's name, and found in the history.
func TestAPI_JobsAreRunAndToldToOperators(t *testing.T) {
	t.Parallel()
	s := open(t)
	first := make(chan answer, 1)
	go func() { first <- s.call("POST", "/api/admin/jobs/lock-expiry/run", nil) }()
	<-s.begun
	refused := s.want(s.call("POST", "/api/admin/jobs/lock-expiry/run", nil), 409, "JOB_RUNNING")
	if !strings.HasPrefix(refused.text("holder"), "pod/") {
		t.Errorf("refused without the holder: %s", refused.raw)
	}
	all := s.want(s.call("GET", "/api/admin/jobs", nil), 200, "")
	for _, part := range []string{`"nextPageToken":""`, `"name":"lock-expiry","interval":"1m0s","maxDuration":"5m0s","lastRun":{"id":"lock-expiry-`,
		`"outcome":"running"`, `"lease":{"name":"locks:holdfast:lock-expiry","state":"held","holder":"pod/`, `"leader":{"name":"locks:holdfast:leader","state":"free"}`,
		`{"name":"recovery","interval":"","maxDuration":"30m0s","lease":{"name":"locks:holdfast:recovery","state":"free"}`} {
		if !strings.Contains(all.raw, part) {
			t.Errorf("%s is not in %s", part, all.raw)
		}
	}
	close(s.end)
	run := s.want(<-first, 200, "")
	if run.text("outcome") != "completed" || run.text("found") != "3" || run.text("seatsRestored") != "7" || run.text("trigger") != "manual" || run.text("finishedAt") == "" {
		t.Errorf("the run is told as %s", run.raw)
	}
	runs := s.want(s.call("GET", "/api/admin/jobs/lock-expiry/runs?pageSize=1", nil), 200, "")
	if !strings.Contains(runs.raw, run.text("id")) {
		t.Errorf("the history is %s", runs.raw)
	}
	failed := s.want(s.call("POST", "/api/admin/jobs/recovery/run", nil), 200, "")
	if failed.text("outcome") != "failed" || failed.text("reason") != "broken" {
		t.Errorf("a run that failed is told as %s", failed.raw)
	}
	freed := s.want(s.call("DELETE", "/api/admin/jobs/lock-expiry/lease", nil), 200, "")
	if !strings.Contains(freed.raw, `"lease":{"name":"locks:holdfast:lock-expiry","state":"free"},"freed":false`) {
		t.Errorf("freed: %s", freed.raw)
	}
}

func TestAPI_UnknownJobsAreNotFound(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, call := range [][2]string{{"POST", "/api/admin/jobs/x/run"}, {"GET", "/api/admin/jobs/x/runs"}, {"DELETE", "/api/admin/jobs/$ne/lease"}} {
		s.want(s.call(call[0], call[1], nil), 404, "JOB_NOT_FOUND")
	}
	s.want(s.call("GET", "/api/admin/jobs/recovery/runs?pageToken=x", nil), 422, "VALIDATION_FAILED")
	s.want(s.call("GET", "/api/admin/jobs/recovery/run", nil), 405, "METHOD_NOT_ALLOWED")
}

// Operators' routes need the scope admin.
func TestAPI_JobsNeedTheScopeAdmin(t *testing.T) {
	t.Parallel()
	s := open(t, config.Key{Name: "shop", Scope: config.ScopeBooking, Secret: "shop"}, config.Key{Name: "ops", Scope: config.ScopeAdmin, Secret: "ops"})
	for _, call := range [][2]string{{"GET", "/api/admin/jobs"}, {"POST", "/api/admin/jobs/recovery/run"}, {"GET", "/api/admin/jobs/recovery/runs"}, {"DELETE", "/api/admin/jobs/recovery/lease"}} {
		s.want(s.call(call[0], call[1], nil), 401, "UNAUTHENTICATED")
		s.want(s.call(call[0], call[1], nil, "Authorization", "Bearer shop"), 403, "FORBIDDEN")
		s.want(s.call(call[0], call[1], nil, "Authorization", "Bearer ops"), 200, "")
	}
}

// A run that lasts over 25 s is told as one that goes on, also by a server with
// bounds on the time to read a request.
func TestAPI_ALongRunGoesOn(t *testing.T) {
	t.Parallel()
	s := open(t)
	asked := time.Now()
	answered := make(chan answer, 1)
	go func() { answered <- s.call("POST", "/api/admin/jobs/lock-expiry/run", nil) }()
	<-s.begun
	a := s.want(<-answered, 202, "")
	if took := time.Since(asked); a.text("outcome") != "running" || took < 24*time.Second {
		t.Errorf("after %v: %s", took, a.raw)
	}
	close(s.end)
}
