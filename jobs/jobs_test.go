package jobs_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

var terms = lease.Terms{TTL: 2 * time.Second}

// Whatever becomes of a run: it is counted and kept, and its lease is given back.
func TestRunExclusive_EveryEndIsKeptAndGivesTheLeaseBack(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	late := job("late", func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	late.MaxDuration = 50 * time.Millisecond
	all := map[string]struct {
		job    jobs.Job
		want   jobs.Outcome
		reason string
	}{
		"done":   {job("done", nothing), jobs.Completed, ""},
		"error":  {job("error", func(context.Context) error { return errors.New("$broken") }), jobs.Failed, "$broken"},
		"panics": {job("panics", func(context.Context) error { panic("ouch") }), jobs.Failed, "the run panicked"},
		"late":   {late, jobs.Failed, "the run lasted longer than 50ms"},
		"coded": {job("coded", func(context.Context) error {
			return fault.New("UNAVAILABLE", "No answer.").By(errors.New("mongodb://secret"))
		}), jobs.Failed, "UNAVAILABLE: No answer."},
	}
	jobList := make([]jobs.Job, 0, len(all))
	for _, c := range all {
		jobList = append(jobList, c.job)
	}
	p := open(t, w, jobList)
	for name, c := range all {
		result, err := p.RunExclusive(t.Context(), c.job, jobs.Scheduled)
		if (err == nil) != (c.want == jobs.Completed) || result.Outcome != c.want || result.Why != nil {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
		kept := p.runs(t, name)
		if len(kept) != 1 || kept[0] != result.Record {
			t.Fatalf("%s: kept as %+v, returned as %+v", name, kept, result.Record)
		}
		r := kept[0]
		if r.Outcome != c.want || !strings.HasPrefix(r.Reason, c.reason) || (c.reason == "") != (r.Reason == "") || strings.Contains(r.Reason, "secret") {
			t.Errorf("%s: %s because of %q", name, r.Outcome, r.Reason)
		}
		if !strings.HasPrefix(r.ID, name+"-2") || r.Pod != p.Holder || r.Trigger != jobs.Scheduled || r.StartedAt.IsZero() || r.FinishedAt.Before(r.StartedAt) {
			t.Errorf("%s: %+v", name, r)
		}
		if n := p.count(t, "holdfast_job_runs_total", "job="+name, "outcome="+string(c.want)); n != 1 {
			t.Errorf("%s: counted %v times", name, n)
		}
	}
	if n := p.leases(t); n != 0 {
		t.Errorf("%d leases are left", n)
	}
	if n := p.count(t, "holdfast_job_overruns_total"); n != 1 {
		t.Errorf("%v runs over time", n)
	}
	for _, line := range []string{"INFO Lease acquired", "INFO Lease released", "ERROR Run failed"} {
		if len(w.Log.Lines(line)) == 0 {
			t.Errorf("no line %q", line)
		}
	}
}

// A job that is held elsewhere is skipped: no error, nothing kept, but counted.
func TestRunExclusive_HeldMeansSkipped(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var runs atomic.Int32
	j := job("j", func(context.Context) error {
		runs.Add(1)
		return nil
	})
	p := open(t, w, []jobs.Job{j})
	l, err := p.Leases.Acquire(t.Context(), lease.Of("j"), "other/1/x")
	if err != nil {
		t.Fatal(err)
	}
	result, err := p.RunExclusive(t.Context(), j, jobs.Scheduled)
	if held, ok := lease.IsHeld(result.Why); err != nil || result.Outcome != jobs.Skipped || !ok || held.Holder != "other/1/x" {
		t.Errorf("%+v, %v", result, err)
	}
	if runs.Load() != 0 || len(p.runs(t, "j")) != 0 || p.count(t, "holdfast_job_runs_total", "outcome=skipped") != 1 ||
		p.count(t, "holdfast_lease_acquisitions_total", "lease=j", "outcome=contention") != 1 || len(w.Log.Lines("Lease contention")) != 1 {
		t.Errorf("%d runs, kept %v", runs.Load(), p.runs(t, "j"))
	}
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if result, err = p.RunExclusive(t.Context(), j, jobs.Scheduled); err != nil || result.Outcome != jobs.Completed || runs.Load() != 1 {
		t.Errorf("once it is free: %+v, %v", result, err)
	}
}

// A lease that is lost ends the run at once and not its process.
// A run tells how many others wanted to run the job meanwhile.
func TestRunExclusive_ContentionIsNotedOnTheRunThatIsUnderWay(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	begun, end := make(chan struct{}), make(chan struct{})
	j := job("j", func(context.Context) error {
		close(begun)
		<-end
		return nil
	})
	p, rival := open(t, w, []jobs.Job{j}), open(t, w, []jobs.Job{j})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.RunExclusive(t.Context(), j, jobs.Scheduled) //nolint:errcheck // its record tells
	}()
	<-begun
	for range 2 {
		if result, err := rival.RunExclusive(t.Context(), j, jobs.Scheduled); err != nil || result.Outcome != jobs.Skipped {
			t.Errorf("%+v, %v", result, err)
		}
	}
	close(end)
	<-ended
	if runs := p.runs(t, "j"); len(runs) != 1 || runs[0].Contended != 2 || runs[0].Outcome != jobs.Completed {
		t.Errorf("kept %+v", runs)
	}
}

func TestRunExclusive_ALostLeaseCancelsTheRun(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	begun := make(chan struct{})
	j := job("j", func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	})
	p := open(t, w, []jobs.Job{j})
	done := make(chan jobs.Result, 1)
	go func() {
		result, err := p.RunExclusive(t.Context(), j, jobs.Scheduled)
		if !errors.Is(err, jobs.ErrLeaseLost) {
			t.Error(err)
		}
		done <- result
	}()
	<-begun
	if freed, err := p.FreeLease(t.Context(), "j"); err != nil || freed.Holder != p.Holder {
		t.Errorf("%+v, %v", freed, err)
	}
	if r := <-done; r.Outcome != jobs.Failed || r.Reason != "the run's lease was lost" || len(w.Log.Lines("WARN Lease lost")) != 1 {
		t.Errorf("%+v", r)
	}
	if len(w.Log.Lines("Lease freed by hand")) != 1 {
		t.Error("not logged")
	}
	if _, err := p.FreeLease(t.Context(), "nonsense"); !fault.Is(err, jobs.CodeNotFound) {
		t.Error(err)
	}
}

// While Redis is down, fail-closed runs nothing and says so; single-instance
// runs, says so, and still runs a job once at a time. It comes back by itself.
func TestRunExclusive_WithoutRedisTheSettingDecides(t *testing.T) {
	t.Parallel()
	r := testenv.OwnRedis(t)
	for _, alone := range []bool{false, true} {
		w := testenv.New(t)
		var again func()
		j := job("j", func(context.Context) error {
			again()
			return nil
		})
		p := open(t, w, []jobs.Job{j}, withRedis(t, r.URL, alone))
		again = func() {
			if result, err := p.RunExclusive(t.Context(), j, jobs.Scheduled); err != nil || result.Outcome != jobs.Skipped {
				t.Errorf("two runs at once: %+v %v", result, err)
			}
		}
		r.Stop()
		result, err := p.RunExclusive(t.Context(), j, jobs.Scheduled)
		if err != nil {
			t.Fatal(err)
		}
		mode, down := p.Mode(t.Context())
		if alone {
			if result.Outcome != jobs.Completed || mode != jobs.ModeAlone || down == nil {
				t.Errorf("single-instance: %+v in mode %s", result, mode)
			}
		} else if _, ok := lease.IsUnavailable(result.Why); !ok || result.Outcome != jobs.Skipped || mode != jobs.ModeWaiting {
			t.Errorf("fail-closed: %+v in mode %s", result, mode)
		}
		if len(w.Log.Lines("WARN Lease unavailable")) == 0 || p.count(t, "holdfast_redis_up") != 0 || p.count(t, "holdfast_lease_mode", "mode="+string(mode)) != 1 {
			t.Error("nobody is told")
		}
		r.Restart()
		if result, err := p.RunExclusive(t.Context(), j, jobs.Scheduled); err != nil || result.Outcome != jobs.Completed {
			t.Errorf("with Redis back: %+v, %v", result, err)
		}
		if mode, err := p.Mode(t.Context()); err != nil || mode != jobs.ModeRedis || p.count(t, "holdfast_redis_up") != 1 {
			t.Errorf("with Redis back: mode %s, %v", mode, err)
		}
	}
}

// A run under way when Redis goes: fail-closed ends with its lease, single-instance goes on.
func TestRunExclusive_RedisGoesDuringARun(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{false, true} {
		w, r := testenv.New(t), testenv.OwnRedis(t)
		begun, end := make(chan struct{}), make(chan struct{})
		j := job("j", func(ctx context.Context) error {
			close(begun)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-end:
				return nil
			}
		})
		p := open(t, w, []jobs.Job{j}, withRedis(t, r.URL, alone))
		done := make(chan jobs.Result, 1)
		go func() {
			result, _ := p.RunExclusive(t.Context(), j, jobs.Scheduled) //nolint:errcheck // the record tells
			done <- result
		}()
		<-begun
		r.Stop()
		if alone {
			for len(w.Log.Lines("WARN Lease unavailable")) == 0 {
				<-time.After(10 * time.Millisecond)
			}
			close(end)
			if r := <-done; r.Outcome != jobs.Completed {
				t.Errorf("single-instance: %+v", r)
			}
			continue
		}
		if r := <-done; r.Outcome != jobs.Failed || r.Reason != "the run's lease was lost" {
			t.Errorf("fail-closed: %+v", r)
		}
	}
}

// Five processes boot at once: one does the work, the others wait for its end,
// say so, and don't repeat it. A later boot does it anew.
func TestRunAtBoot_OneOfFiveDoesTheWork(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var runs atomic.Int32
	waiting := make(chan struct{})
	j := job("recovery", func(context.Context) error {
		if runs.Add(1) == 1 {
			<-waiting
		}
		return nil
	})
	booted, err := w.DB.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	var did atomic.Int32
	const say = "INFO Another process runs this job; waiting for the run's end"
	for range 5 {
		p := open(t, w, []jobs.Job{j})
		done.Go(func() {
			result, err := p.RunAtBoot(t.Context(), j, booted)
			if err != nil {
				t.Error(err)
			}
			if result.Outcome == jobs.Completed {
				did.Add(1)
			}
		})
	}
	for len(w.Log.Lines(say)) < 4 {
		<-time.After(5 * time.Millisecond)
	}
	close(waiting)
	done.Wait()
	if runs.Load() != 1 || did.Load() != 1 || len(w.Log.Lines(say)) != 4 {
		t.Errorf("%d runs, %d say that they did it, %d that they waited", runs.Load(), did.Load(), len(w.Log.Lines(say)))
	}
	if booted, err = w.DB.Now(t.Context()); err != nil {
		t.Fatal(err)
	}
	if result, err := open(t, w, []jobs.Job{j}).RunAtBoot(t.Context(), j, booted); err != nil || result.Outcome != jobs.Completed || runs.Load() != 2 {
		t.Errorf("a later boot: %+v, %v", result, err)
	}
}

// The one who did the work died: another one takes over within the lease. What
// the dead one left as running is told as failed.
func TestRunAtBoot_TakesOverFromTheDead(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	j := job("recovery", nothing)
	p := open(t, w, []jobs.Job{j})
	if _, err := p.Leases.Acquire(t.Context(), lease.Of("recovery"), "dead/1/x"); err != nil {
		t.Fatal(err)
	}
	w.Insert("jobruns", bson.D{{Key: "_id", Value: "recovery-0"}, {Key: "job", Value: "recovery"}, {Key: "pod", Value: "dead/1/x"},
		{Key: "trigger", Value: "startup"}, {Key: "startedAt", Value: time.Now().Add(-time.Minute)}, {Key: "outcome", Value: "running"}})
	start := time.Now()
	result, err := p.RunAtBoot(t.Context(), j, start)
	if err != nil || result.Outcome != jobs.Completed {
		t.Fatalf("%+v, %v", result, err)
	}
	if took := time.Since(start); took < terms.Term() || took > 3*terms.TTL {
		t.Errorf("taken over after %v", took)
	}
	kept := p.runs(t, "recovery")
	if len(kept) != 2 || kept[1].ID != "recovery-0" || kept[1].Outcome != jobs.Failed || !strings.Contains(kept[1].Reason, "its process ended") || kept[1].FinishedAt.IsZero() {
		t.Errorf("kept: %+v", kept)
	}
}

// Recovery at the boot goes on without a store of leases, even fail-closed.
func TestRunAtBoot_GoesOnWithoutRedis(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	j := job("recovery", nothing)
	p := open(t, w, []jobs.Job{j}, withRedis(t, "redis://127.0.0.1:1", false))
	if result, err := p.RunAtBoot(t.Context(), j, time.Now()); err != nil || result.Outcome != jobs.Completed {
		t.Errorf("%+v, %v", result, err)
	}
}
