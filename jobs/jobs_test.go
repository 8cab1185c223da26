package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// lateWith is a job that its time limit ends, after it has counted something.
func lateWith(name string, counts jobs.Counts, advanced bool) jobs.Job {
	return jobs.Job{Name: name, MaxDuration: 50 * time.Millisecond, Do: func(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
		if advanced {
			run.Advanced()
		}
		<-ctx.Done()
		return counts, ctx.Err()
	}}
}

var terms = jobs.LeaseTerms{TTL: 2 * time.Second}

// Whatever its outcome, a run is counted and recorded, and its lease is released.
func TestRunExclusive_RecordsEveryOutcomeAndReleasesTheLease(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	late := lateWith("late", jobs.Counts{Found: 2}, false)
	cases := map[string]struct {
		job    jobs.Job
		want   jobs.Outcome
		reason string
	}{
		"done":      {job("done", succeed), jobs.Completed, ""},
		"error":     {job("error", func(context.Context) error { return errors.New("$broken") }), jobs.Failed, "$broken"},
		"panics":    {job("panics", func(context.Context) error { panic("ouch") }), jobs.Failed, "the run panicked"},
		"late":      {late, jobs.Failed, "the run lasted longer than its limit of 50ms"},
		"working":   {lateWith("working", jobs.Counts{Applied: 1}, false), jobs.Completed, "time_limit"},
		"advancing": {lateWith("advancing", jobs.Counts{Found: 1}, true), jobs.Completed, "time_limit"},
		"left over": {job("left over", func(context.Context) error {
			return fmt.Errorf("%w: 1 event", jobs.ErrLeftOver)
		}), jobs.Completed, "documents are left over: 1 event"},
		"coded": {job("coded", func(context.Context) error {
			return holdfast.Refuse("UNAVAILABLE", "No answer.").By(errors.New("mongodb://secret"))
		}), jobs.Failed, "UNAVAILABLE: No answer."},
	}
	jobList := make([]jobs.Job, 0, len(cases))
	for _, c := range cases {
		jobList = append(jobList, c.job)
	}
	p := open(t, env, jobList)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			result, err := p.RunExclusive(t.Context(), c.job, jobs.Scheduled)
			if (err == nil) != (c.reason == "") || result.Outcome != c.want || result.SkipErr != nil {
				t.Errorf("%+v, %v", result, err)
			}
			records := p.runs(t, name)
			if len(records) != 1 || records[0] != result.Record {
				t.Fatalf("stored as %+v, returned as %+v", records, result.Record)
			}
			r := records[0]
			if r.Outcome != c.want || !strings.HasPrefix(r.Reason, c.reason) || (c.reason == "") != (r.Reason == "") ||
				strings.Contains(r.Reason, "secret") {
				t.Errorf("%s because of %q", r.Outcome, r.Reason)
			}
			if !strings.HasPrefix(r.ID, name+"-2") || r.Pod != p.Holder || r.Trigger != jobs.Scheduled ||
				r.StartedAt.IsZero() || r.FinishedAt.Before(r.StartedAt) {
				t.Errorf("%+v", r)
			}
			if n := p.count(t, "holdfast_job_runs_total", "job="+name, "outcome="+string(c.want)); n != 1 {
				t.Errorf("counted %v times", n)
			}
		})
	}
	if n := p.leases(t); n != 0 {
		t.Errorf("%d leases are left", n)
	}
	if n := p.count(t, "holdfast_job_overruns_total"); n != 3 {
		t.Errorf("%v overruns", n)
	}
	for _, line := range []string{"INFO Lease acquired", "INFO Lease released", "ERROR Run failed"} {
		if len(env.Log.Lines(line)) == 0 {
			t.Errorf("no line %q", line)
		}
	}
}

// A job whose lease another process holds is skipped: no error, no record, but counted.
func TestRunExclusive_SkipsAJobWhoseLeaseIsHeld(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	var runs atomic.Int32
	j := job("j", func(context.Context) error {
		runs.Add(1)
		return nil
	})
	p := open(t, env, []jobs.Job{j})
	l, err := p.Leases.Acquire(t.Context(), jobs.LeaseOf("j"), "other/1/x")
	if err != nil {
		t.Fatal(err)
	}
	result, err := p.RunExclusive(t.Context(), j, jobs.Scheduled)
	if held, ok := jobs.IsHeld(result.SkipErr); err != nil || result.Outcome != jobs.Skipped || !ok || held.Holder != "other/1/x" {
		t.Errorf("%+v, %v", result, err)
	}
	if runs.Load() != 0 || len(p.runs(t, "j")) != 0 || p.count(t, "holdfast_job_runs_total", "outcome=skipped") != 1 ||
		p.count(t, "holdfast_lease_acquisitions_total", "lease=j", "outcome=contention") != 1 || len(env.Log.Lines("Lease contention")) != 1 {
		t.Errorf("%d runs, records %v", runs.Load(), p.runs(t, "j"))
	}
	if _, err = p.RunExclusive(t.Context(), j, jobs.Scheduled); err != nil || len(env.Log.Lines("INFO Lease contention")) != 1 {
		t.Errorf("the next tick says it again: %v", err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if result, err = p.RunExclusive(t.Context(), j, jobs.Scheduled); err != nil || result.Outcome != jobs.Completed || runs.Load() != 1 {
		t.Errorf("after the release: %+v, %v", result, err)
	}
}

// A run in progress counts the other processes' attempts to run the job.
func TestRunExclusive_CountsContentionOnTheRunInProgress(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	started, finish := make(chan struct{}), make(chan struct{})
	j := job("j", func(context.Context) error {
		close(started)
		<-finish
		return nil
	})
	p, contender := open(t, env, []jobs.Job{j}), open(t, env, []jobs.Job{j})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, err := p.RunExclusive(t.Context(), j, jobs.Scheduled); err != nil {
			t.Error(err)
		}
	}()
	<-started
	for range 2 {
		if result, err := contender.RunExclusive(t.Context(), j, jobs.Scheduled); err != nil || result.Outcome != jobs.Skipped {
			t.Errorf("%+v, %v", result, err)
		}
	}
	close(finish)
	<-ended
	if runs := p.runs(t, "j"); len(runs) != 1 || runs[0].Contended != 2 || runs[0].Outcome != jobs.Completed {
		t.Errorf("records: %+v", runs)
	}
}

func TestRunExclusive_LosingTheLeaseCancelsTheRun(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	started := make(chan struct{})
	j := job("j", func(ctx context.Context) error {
		close(started)
		<-ctx.Done()
		return ctx.Err()
	})
	p := open(t, env, []jobs.Job{j})
	done := make(chan jobs.Result, 1)
	go func() {
		result, err := p.RunExclusive(t.Context(), j, jobs.Scheduled)
		if !errors.Is(err, jobs.ErrLeaseLost) {
			t.Error(err)
		}
		done <- result
	}()
	<-started
	if freed, err := p.FreeLease(t.Context(), "j"); err != nil || freed.Holder != p.Holder {
		t.Errorf("%+v, %v", freed, err)
	}
	if r := <-done; r.Outcome != jobs.Failed || r.Reason != "the run's lease was lost" || len(env.Log.Lines("WARN Lease lost")) != 1 {
		t.Errorf("%+v", r)
	}
	if len(env.Log.Lines("Lease freed manually")) != 1 {
		t.Error("not logged")
	}
	if _, err := p.FreeLease(t.Context(), "nonsense"); !holdfast.HasCode(err, jobs.CodeNotFound) {
		t.Error(err)
	}
}

// While Redis is down, either the job waits, or this process runs it as a single
// instance, but never twice at the same time. Both are logged and measured. Once
// Redis is back, its leases are used again.
func TestRunExclusive_SettingDecidesWhileRedisIsDown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		whileDown func(t *testing.T, url string) func(*jobs.Options)
		mode      jobs.Mode
		outcome   jobs.Outcome
	}{
		"fail-closed":     {whileDown: waitForRedis, mode: jobs.ModeWaiting, outcome: jobs.Skipped},
		"single-instance": {whileDown: runWithoutRedis, mode: jobs.ModeSingleInstance, outcome: jobs.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, r := testenv.New(t), testenv.OwnRedis(t)
			var runAgain func()
			j := job("j", func(context.Context) error {
				runAgain()
				return nil
			})
			p := open(t, env, []jobs.Job{j}, c.whileDown(t, r.URL))
			runAgain = func() {
				if result, err := p.RunExclusive(t.Context(), j, jobs.Scheduled); err != nil || result.Outcome != jobs.Skipped {
					t.Errorf("two runs at the same time: %+v %v", result, err)
				}
			}
			r.Stop()
			result, err := p.RunExclusive(t.Context(), j, jobs.Scheduled)
			_, unavailable := jobs.IsUnavailable(result.SkipErr)
			if err != nil || result.Outcome != c.outcome || unavailable == p.RunWithoutStore {
				t.Errorf("with Redis down: %+v, %v", result, err)
			}
			if mode, err := p.Mode(t.Context()); mode != c.mode || err == nil {
				t.Errorf("with Redis down: mode %s, %v", mode, err)
			}
			if len(env.Log.Lines("WARN Lease unavailable")) == 0 {
				t.Error("no log line")
			}
			if p.count(t, "holdfast_redis_up") != 0 || p.count(t, "holdfast_lease_mode", "mode="+string(c.mode)) != 1 {
				t.Error("the metrics do not show it")
			}
			r.Restart()
			if result, err := p.RunExclusive(t.Context(), j, jobs.Scheduled); err != nil || result.Outcome != jobs.Completed {
				t.Errorf("with Redis back: %+v, %v", result, err)
			}
			if mode, err := p.Mode(t.Context()); err != nil || mode != jobs.ModeRedis || p.count(t, "holdfast_redis_up") != 1 {
				t.Errorf("with Redis back: mode %s, %v", mode, err)
			}
		})
	}
}

// runUntil starts a run that lasts until finish is closed or the run is cancelled.
func runUntil(t *testing.T, env *testenv.Env, finish <-chan struct{}, change func(*jobs.Options)) (result <-chan jobs.Result) {
	t.Helper()
	started, done := make(chan struct{}), make(chan jobs.Result, 1)
	j := job("j", func(ctx context.Context) error {
		close(started)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-finish:
			return nil
		}
	})
	p := open(t, env, []jobs.Job{j}, change)
	go func() {
		result, _ := p.RunExclusive(t.Context(), j, jobs.Scheduled) // the record has the outcome
		done <- result
	}()
	<-started
	return done
}

func TestRunExclusive_FailClosedCancelsTheRunWhenRedisStops(t *testing.T) {
	t.Parallel()
	env, r := testenv.New(t), testenv.OwnRedis(t)
	done := runUntil(t, env, nil, waitForRedis(t, r.URL))
	r.Stop()
	if result := <-done; result.Outcome != jobs.Failed || result.Reason != "the run's lease was lost" {
		t.Errorf("%+v", result)
	}
}

func TestRunExclusive_SingleInstanceFinishesTheRunWhenRedisStops(t *testing.T) {
	t.Parallel()
	env, r := testenv.New(t), testenv.OwnRedis(t)
	finish := make(chan struct{})
	done := runUntil(t, env, finish, runWithoutRedis(t, r.URL))
	r.Stop()
	testenv.WaitFor(t, func() bool { return len(env.Log.Lines("WARN Lease unavailable")) > 0 })
	close(finish)
	if result := <-done; result.Outcome != jobs.Completed {
		t.Errorf("%+v", result)
	}
}

// Of five processes that start at the same time, one runs the job. The other four log
// that they wait, and do not repeat it. A process that starts later runs it again.
func TestRunAtBoot_OneOfFiveRunsTheJob(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	var runs atomic.Int32
	waiting := make(chan struct{})
	j := job("recovery", func(context.Context) error {
		if runs.Add(1) == 1 {
			<-waiting
		}
		return nil
	})
	booted, err := env.DB.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	var completed atomic.Int32
	const waitLine = "INFO Another process runs this job; waiting for the run's end"
	for range 5 {
		p := open(t, env, []jobs.Job{j})
		done.Go(func() {
			result, err := p.RunAtBoot(t.Context(), j, p.PassedSince(j.Name, booted))
			if err != nil {
				t.Error(err)
			}
			if result.Outcome == jobs.Completed {
				completed.Add(1)
			}
		})
	}
	testenv.WaitFor(t, func() bool { return len(env.Log.Lines(waitLine)) >= 4 })
	close(waiting)
	done.Wait()
	if runs.Load() != 1 || completed.Load() != 1 || len(env.Log.Lines(waitLine)) != 4 {
		t.Errorf("%d runs, %d processes completed it, %d waited", runs.Load(), completed.Load(), len(env.Log.Lines(waitLine)))
	}
	if booted, err = env.DB.Now(t.Context()); err != nil {
		t.Fatal(err)
	}
	later := open(t, env, []jobs.Job{j})
	result, err := later.RunAtBoot(t.Context(), j, later.PassedSince(j.Name, booted))
	if err != nil || result.Outcome != jobs.Completed || runs.Load() != 2 {
		t.Errorf("a later start: %+v, %v", result, err)
	}
}

// If the process that runs the job dies, another one takes over once the lease has
// expired. The abandoned run is marked as failed.
func TestRunAtBoot_TakesOverFromADeadProcess(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	j := job("recovery", succeed)
	p := open(t, env, []jobs.Job{j})
	start := time.Now()
	if _, err := p.Leases.Acquire(t.Context(), jobs.LeaseOf("recovery"), "dead/1/x"); err != nil {
		t.Fatal(err)
	}
	env.Insert("jobruns", bson.D{{Key: "_id", Value: "recovery-0"}, {Key: "job", Value: "recovery"}, {Key: "pod", Value: "dead/1/x"},
		{Key: "trigger", Value: "startup"}, {Key: "startedAt", Value: time.Now().Add(-time.Minute)}, {Key: "outcome", Value: "running"}})
	result, err := p.RunAtBoot(t.Context(), j, p.PassedSince(j.Name, start))
	if err != nil || result.Outcome != jobs.Completed {
		t.Fatalf("%+v, %v", result, err)
	}
	if took := time.Since(start); took < terms.StoreTTL() || took > 3*terms.TTL {
		t.Errorf("taken over after %v", took)
	}
	records := p.runs(t, "recovery")
	if len(records) != 2 {
		t.Fatalf("records: %+v", records)
	}
	abandoned := records[1]
	if abandoned.ID != "recovery-0" || abandoned.Outcome != jobs.Failed || abandoned.FinishedAt.IsZero() ||
		!strings.Contains(abandoned.Reason, "its process ended") {
		t.Errorf("the abandoned run: %+v", abandoned)
	}
}

// A run at startup does not wait for the lease store, even if other runs do.
func TestRunAtBoot_RunsWithoutRedis(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	j := job("recovery", succeed)
	p := open(t, env, []jobs.Job{j}, waitForRedis(t, "redis://127.0.0.1:1"))
	if result, err := p.RunAtBoot(t.Context(), j, p.PassedSince(j.Name, time.Now())); err != nil || result.Outcome != jobs.Completed {
		t.Errorf("%+v, %v", result, err)
	}
}
