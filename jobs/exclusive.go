package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// Result is what became of RunExclusive.
type Result struct {
	Record
	// Why is set if the job was not run, which makes the outcome Skipped: a
	// *lease.HeldError or a *lease.UnavailableError; nil if it needed no run.
	Why error
}

// ErrLeaseLost ends the context of a run whose lease is no longer its own.
var ErrLeaseLost = errors.New("the run's lease was lost")

// errStopped ends the runs of a process that stops.
var errStopped = errors.New("the process was stopped")

// RunExclusive acquires the job's lease, runs it and gives the lease back,
// whatever becomes of the run. A lease that is held, or can't be had, means
// that the job is skipped, which is no error. The error is the run's own.
func (r *Runner) RunExclusive(process context.Context, job Job, t Trigger) (Result, error) {
	return r.runExclusive(process, job, t, exclusive{alone: r.AloneWhenDown})
}

type exclusive struct {
	alone   bool                                // run although the store is unavailable
	unless  func(context.Context) (bool, error) // asked under the lease: no run is needed
	started func(Record)                        // hears of the run once it is under way
}

func (r *Runner) runExclusive(process context.Context, job Job, t Trigger, x exclusive) (Result, error) {
	run := r.newRun(job.Name, t)
	h, err := r.acquire(process, run, x.alone)
	if err != nil {
		r.Metrics.skipped(job.Name)
		return Result{Record: Record{Job: job.Name, Outcome: Skipped, Trigger: t}, Why: err}, nil
	}
	ctx, cancel := context.WithCancelCause(process)
	defer cancel(nil)
	release := r.keep(process, run, h, cancel)
	defer release()
	if x.unless != nil {
		if done, err := x.unless(ctx); err == nil && done {
			r.Metrics.skipped(job.Name)
			return Result{Record: Record{Job: job.Name, Outcome: Skipped, Trigger: t}}, nil
		}
	}
	record, err := r.execute(ctx, job, run, h, x.started)
	return Result{Record: record}, err
}

// holding is a lease of a run under way.
type holding struct {
	lease.Lease
	since    time.Time
	deadline time.Time
	solo     bool // of this process only: the store is unavailable
}

// acquire takes a job's lease and says so. Its errors are the store's.
func (r *Runner) acquire(ctx context.Context, run Run, alone bool) (holding, error) {
	key, sent := lease.Of(run.Job), r.Clock()
	l, err := r.Leases.Acquire(ctx, key, r.Holder)
	took := r.Clock.Since(sent)
	r.Metrics.acquired(key, err, took)
	line := []any{"lockKey", key, "acquired", err == nil, "ttlMs", ms(r.Terms.Term()), "durationMs", ms(took)}
	if err == nil {
		run.Log.InfoContext(ctx, "Lease acquired", append(line, "holder", r.Holder)...)
		return holding{Lease: l, since: sent, deadline: sent.Add(r.Terms.Valid())}, nil
	}
	if held, ok := lease.IsHeld(err); ok {
		run.Log.InfoContext(ctx, "Lease contention", append(line, "holder", held.Holder, "reason", "contention")...)
		r.History.contended(ctx, run.Job)
		return holding{}, err
	}
	if !alone {
		run.Log.WarnContext(ctx, "Lease unavailable", append(line, "reason", reasonOf(err), "fallbackMode", "disable", "error", err)...)
		return holding{}, err
	}
	l, heldHere := r.alone.Acquire(ctx, key, r.Holder)
	line[3] = heldHere == nil
	run.Log.WarnContext(ctx, "Lease unavailable", append(line, "reason", reasonOf(err), "fallbackMode", "single-instance", "error", err)...)
	return holding{Lease: l, since: sent, solo: true}, heldHere
}

func reasonOf(err error) string {
	if down, ok := lease.IsUnavailable(err); ok {
		return down.Reason
	}
	return "contention"
}

// keep renews the run's lease in the background and cancels the run if it is
// lost. The returned function ends that and gives the lease back.
func (r *Runner) keep(process context.Context, run Run, h holding, cancel context.CancelCauseFunc) (release func()) {
	key, last := lease.Of(run.Job), context.WithoutCancel(process)
	ctx, done := context.WithCancel(last)
	var keeping sync.WaitGroup
	lost := false
	if !h.solo {
		keeping.Go(func() {
			err := lease.Keeper{Terms: r.Terms, Clock: r.Clock}.Keep(ctx, h, h.deadline)
			if err == nil {
				return
			}
			line := []any{"lockKey", key, "acquired", false, "ttlMs", ms(r.Terms.Term()), "durationMs", ms(r.Clock.Since(h.since)), "reason", reasonOf(err), "error", err}
			if down, ok := lease.IsUnavailable(err); ok && r.AloneWhenDown {
				line[3] = true
				run.Log.WarnContext(ctx, "Lease unavailable", append(line, "fallbackMode", "single-instance", "error", down)...)
				return
			}
			lost = true
			run.Log.WarnContext(ctx, "Lease lost", line...)
			cancel(fmt.Errorf("%w: %w", ErrLeaseLost, err))
		})
	}
	return func() {
		done()
		keeping.Wait()
		err := h.Release(last) // also after a loss that may only be feared
		if lost {
			return
		}
		line := []any{"lockKey", key, "acquired", false, "ttlMs", ms(r.Terms.Term()), "durationMs", ms(r.Clock.Since(h.since)), "holder", r.Holder}
		if err != nil {
			run.Log.WarnContext(last, "Lease not given back; it ends with its term", append(line, "reason", reasonOf(err), "error", err)...)
			return
		}
		run.Log.InfoContext(last, "Lease released", line...)
	}
}

// execute runs the job once, in this goroutine, and writes its history.
func (r *Runner) execute(process context.Context, job Job, run Run, h holding, started func(Record)) (Record, error) {
	start := r.Clock()
	record := r.History.start(process, Record{ID: run.ID, Job: job.Name, Pod: r.Holder, Trigger: run.Trigger, StartedAt: start.UTC(), Outcome: Running}, !h.solo)
	if started != nil {
		started(record)
	}
	limit := fmt.Errorf("the run lasted longer than %v, which is its limit", job.MaxDuration)
	ctx, cancel := context.WithTimeoutCause(process, job.MaxDuration, limit)
	defer cancel()
	ctx, ended := telemetry.TraceRun(ctx, job.Name, run.ID)
	counts, err := guarded(ctx, job, run)
	ended(err)
	took := r.Clock.Since(start)
	record.Counts, record.Outcome, record.FinishedAt = counts, Completed, r.Clock().UTC()
	if err != nil {
		record.Outcome = Failed
		cause := context.Cause(ctx)
		if errors.Is(cause, context.Canceled) { // nothing is wrong: the next process goes on
			cause = errStopped
		}
		if cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		record.Reason = reasonFor(err)
		level, line := slog.LevelError, "Run failed"
		if errors.Is(err, errStopped) {
			level, line = slog.LevelInfo, "Run ended by the process's stop"
		}
		run.Log.Log(ctx, level, line, "error", err, "durationMs", ms(took),
			"found", counts.Found, "applied", counts.Applied, "errors", counts.Errors)
		r.Metrics.overrun(job.Name, errors.Is(err, limit))
	}
	r.Metrics.ran(record, took, r.Clock())
	return r.History.finish(process, record), err
}

var errPanicked = errors.New("the run panicked")

// guarded turns a panic into an error: a job must not end the process.
func guarded(ctx context.Context, job Job, run Run) (counts Counts, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanicked, p, debug.Stack())
		}
	}()
	return job.Do(ctx, run)
}

// reasonFor is what the history tells of a failure; the log tells the rest.
func reasonFor(err error) string {
	const longest = 300 // bytes
	var f *fault.Error
	text, _, _ := strings.Cut(err.Error(), "\n")
	for _, known := range []error{errStopped, ErrLeaseLost, errPanicked} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if errors.As(err, &f) {
		return string(f.Code) + ": " + f.Message
	}
	return strings.ToValidUTF8(text[:min(len(text), longest)], "")
}
