package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/jobs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type seen struct {
	outcome jobs.Outcome
	counts  jobs.Counts
}

func runner(ends chan seen) *jobs.Runner {
	return &jobs.Runner{Log: slog.New(slog.DiscardHandler), Clock: clock.System,
		Observe: func(_ string, o jobs.Outcome, c jobs.Counts, _ time.Duration) { ends <- seen{o, c} }}
}

func TestExecute_EveryEndIsCounted(t *testing.T) {
	t.Parallel()
	ends := make(chan seen, 1)
	r := runner(ends)
	for name, c := range map[string]struct {
		do   func(context.Context, jobs.Run) (jobs.Counts, error)
		want jobs.Outcome
		says string
	}{
		"done":  {func(context.Context, jobs.Run) (jobs.Counts, error) { return jobs.Counts{Found: 2}, nil }, jobs.Completed, ""},
		"error": {func(context.Context, jobs.Run) (jobs.Counts, error) { return jobs.Counts{}, errors.New("broken") }, jobs.Failed, "broken"},
		"panic": {func(context.Context, jobs.Run) (jobs.Counts, error) { panic("ouch") }, jobs.Failed, "ouch"},
		"too long": {func(ctx context.Context, _ jobs.Run) (jobs.Counts, error) {
			<-ctx.Done()
			return jobs.Counts{}, ctx.Err()
		}, jobs.Failed, "its limit"},
	} {
		_, err := r.Execute(t.Context(), jobs.Job{Name: "j", MaxDuration: 50 * time.Millisecond, Do: c.do})
		if got := <-ends; got.outcome != c.want || (err == nil) != (c.says == "") || (err != nil && !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %s, %v", name, got.outcome, err)
		}
	}
}

func TestExecute_ARunHasItsOwnCorrelationID(t *testing.T) {
	t.Parallel()
	r := runner(make(chan seen, 1))
	a, b := r.NewRun("lock-expiry"), r.NewRun("lock-expiry")
	if a.ID == b.ID || !strings.HasPrefix(a.ID, "lock-expiry-2") {
		t.Errorf("%s and %s", a.ID, b.ID)
	}
}

// A run that outlasts its interval is alone, a panic ends nothing, and the end
// waits for the run in progress.
func TestSchedule_RunsAloneAndEndsInOrder(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	var beside, runs atomic.Int32
	ends := make(chan seen, 100)
	job := jobs.Job{Name: "j", Interval: 5 * time.Millisecond, MaxDuration: time.Minute,
		Do: func(context.Context, jobs.Run) (jobs.Counts, error) {
			if beside.Add(1) > 1 {
				t.Error("two runs at once")
			}
			defer beside.Add(-1)
			<-time.After(20 * time.Millisecond)
			if runs.Add(1) == 2 {
				panic("x")
			}
			return jobs.Counts{}, nil
		}}
	done := make(chan error, 1)
	go func() { done <- jobs.Schedule(ctx, runner(ends), []jobs.Job{job}) }()
	for range 4 {
		<-ends
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if beside.Load() != 0 {
		t.Error("a run was left behind")
	}
}
