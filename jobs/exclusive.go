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

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// Result is what RunExclusive did.
type Result struct {
	Record
	// SkipErr says why the job did not run, which makes the outcome Skipped: a
	// *HeldError or a *UnavailableError. It is nil if no run was needed.
	SkipErr error
}

// ErrLeaseLost is the cause that cancels a run which lost its lease.
var ErrLeaseLost = errors.New("the run's lease was lost")

// errTimeLimit is the cause that ends a run after its MaxDuration.
var errTimeLimit = errors.New("the run lasted longer than its limit")

// ErrLeftOver is in the error of a run that came to its end, but left documents as they
// are. The run has completed, and the reason in its record is that error.
var ErrLeftOver = errors.New("documents are left over")

// ErrOthersFirst is the error of a run of a job with Asked that has to wait, and lets another run go first. It goes on once
// Asked returns it again.
var ErrOthersFirst = errors.New("another run goes first")

// reasonTimeLimit is the reason of a run that its time limit ended although it advanced.
const reasonTimeLimit = "time_limit"

// errStopped is the cause that cancels the runs of a process that stops.
var errStopped = errors.New("the process was stopped")

// RunExclusive acquires the job's lease, runs the job and releases the lease,
// whatever the outcome. If the lease is held or unavailable, the job is skipped
// without an error. The returned error is the run's own.
func (r *Runner) RunExclusive(ctx context.Context, job Job, t Trigger) (Result, error) {
	return r.runExclusive(ctx, job, t, exclusive{runWithoutStore: r.RunWithoutStore})
}

// runAsked runs what callers have asked for, one run after the other, until nothing is left or a run fails. A failed run
// goes on later.
func (r *Runner) runAsked(ctx context.Context, job Job, t Trigger, o exclusive) error {
	for {
		var err error
		if o.runID, err = job.Asked(ctx); err != nil || o.runID == "" {
			return err
		}
		if result, err := r.runExclusive(ctx, job, t, o); !mayRunNext(result, err) {
			return err
		}
	}
}

// mayRunNext reports whether a run leaves the job to the next one that was asked for.
func mayRunNext(result Result, err error) bool {
	return result.Outcome == Completed || errors.Is(err, ErrOthersFirst)
}

// exclusive are the options of runExclusive.
type exclusive struct {
	leases          LeaseStore                          // nil means the runner's store
	runWithoutStore bool                                // run although the lease store is unavailable
	unneeded        func(context.Context) (bool, error) // asked under the lease; true skips the run
	onStart         func(Record)                        // called once the run has started
	needsNoLease    bool                                // run although the lease store rejects the lease
	runID           string                              // the run that a caller asked for; "" means a new one
}

func (r *Runner) runExclusive(ctx context.Context, job Job, t Trigger, o exclusive) (Result, error) {
	if o.runID != "" {
		t = Manual
	}
	run := r.newRun(job.Name, t, o.runID)
	o.needsNoLease = job.NeedsNoLease
	skipped := Result{Record: Record{Job: job.Name, Outcome: Skipped, Trigger: t}}
	l, err := r.acquire(ctx, run, o)
	if err != nil {
		r.Metrics.skipped(job.Name)
		skipped.SkipErr = err
		return skipped, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	release := r.keep(ctx, run, l, cancel)
	defer release()
	if o.unneeded != nil {
		if unneeded, err := o.unneeded(ctx); err == nil && unneeded {
			r.Metrics.skipped(job.Name)
			return skipped, nil
		}
	}
	record, err := r.execute(ctx, job, run, l, o.onStart)
	return Result{Record: record}, err
}

// runLease is the lease of a run.
type runLease struct {
	Lease
	acquiredAt time.Time
	deadline   time.Time
	local      bool // known to this process alone, because the store is unavailable
}

// acquire acquires a job's lease and logs the result. Its errors are the store's.
func (r *Runner) acquire(ctx context.Context, run Run, o exclusive) (runLease, error) {
	key, sent, store := LeaseOf(run.Job), r.Clock(), r.Leases
	if o.leases != nil {
		store = o.leases
	}
	l, err := store.Acquire(ctx, key, r.Holder)
	took := r.Clock.Since(sent)
	r.Metrics.acquired(key, err, took)
	line := leaseLine{key: key, acquired: err == nil, duration: took}
	if err == nil {
		r.told.Delete(run.Job)
		r.logLease(ctx, run.Log, slog.LevelInfo, "Lease acquired", line, holderAttr(r.Holder))
		return runLease{Lease: l, acquiredAt: sent, deadline: sent.Add(r.Terms.HolderTTL())}, nil
	}
	if held, ok := IsHeld(err); ok {
		r.logLease(ctx, run.Log, r.level(run, slog.LevelInfo, held.Holder), "Lease contention", line, holderAttr(held.Holder), reasonAttr(err))
		r.History.countContention(ctx, run.Job)
		return runLease{}, err
	}
	runsWithout := o.runWithoutStore || o.needsNoLease && isRejected(err)
	if !runsWithout {
		level := r.level(run, slog.LevelWarn, DescribeUnavailable(err))
		r.logLease(ctx, run.Log, level, "Lease unavailable", line, reasonAttr(err), fallbackDisable, errorAttr(err))
		return runLease{}, err
	}
	l, heldHere := r.localLeases.Acquire(ctx, key, r.Holder)
	line.acquired = heldHere == nil
	r.logLease(ctx, run.Log, slog.LevelWarn, "Lease unavailable", line, reasonAttr(err), fallbackSingleInstance, errorAttr(err))
	return runLease{Lease: l, acquiredAt: sent, local: true}, heldHere
}

// level is the level of a line about a lease that was not acquired. A process that starts tries several
// times a second, and one that schedules tries at each tick, so it says the same only once.
func (r *Runner) level(run Run, level slog.Level, state string) slog.Level {
	if before, _ := r.told.Swap(run.Job, state); run.Trigger != Manual && before == state {
		return slog.LevelDebug
	}
	return level
}

// keep renews the run's lease in the background and cancels the run if the lease
// is lost. The returned function ends the renewals and releases the lease.
func (r *Runner) keep(ctx context.Context, run Run, l runLease, cancel context.CancelCauseFunc) (release func()) {
	key, detached := LeaseOf(run.Job), context.WithoutCancel(ctx)
	renewing, stop := context.WithCancel(detached)
	var renewals sync.WaitGroup
	lost := false
	if !l.local {
		renewals.Go(func() {
			err := Keeper{Terms: r.Terms, Clock: r.Clock}.Keep(renewing, l, l.deadline)
			if err == nil {
				return
			}
			line := leaseLine{key: key, duration: r.Clock.Since(l.acquiredAt)}
			if _, ok := IsUnavailable(err); ok && r.RunWithoutStore {
				line.acquired = true
				r.logLease(detached, run.Log, slog.LevelWarn, "Lease unavailable", line, reasonAttr(err), fallbackSingleInstance, errorAttr(err))
				return
			}
			lost = true
			r.logLease(detached, run.Log, slog.LevelWarn, "Lease lost", line, reasonAttr(err), errorAttr(err))
			cancel(fmt.Errorf("%w: %w", ErrLeaseLost, err))
		})
	}
	return func() {
		stop()
		renewals.Wait()
		// A lease that seems lost may still be stored under this holder.
		err := l.Release(detached)
		if lost {
			return
		}
		line := leaseLine{key: key, duration: r.Clock.Since(l.acquiredAt)}
		if err != nil {
			r.logLease(detached, run.Log, slog.LevelWarn, releaseFailed, line, holderAttr(r.Holder), reasonAttr(err), errorAttr(err))
			return
		}
		r.logLease(detached, run.Log, slog.LevelInfo, "Lease released", line, holderAttr(r.Holder))
	}
}

// execute runs the job once, in this goroutine, and writes its record.
func (r *Runner) execute(ctx context.Context, job Job, run Run, l runLease, onStart func(Record)) (Record, error) {
	start := r.Clock()
	if !l.local && job.Asked == nil { // what was asked for goes on
		r.History.failAbandoned(ctx, run)
	}
	record := r.History.start(ctx, Record{
		ID: run.ID, Job: job.Name, Pod: r.Holder, Trigger: run.Trigger, StartedAt: start.UTC(), Outcome: Running,
	})
	if onStart != nil {
		onStart(record)
	}
	run.Earlier = record.Counts
	run.report = func(ctx context.Context, c Counts) {
		record.Counts = c
		r.History.progress(ctx, record)
	}
	runCtx, cancel := withLimit(ctx, job.MaxDuration)
	defer cancel()
	runCtx, endTrace := telemetry.TraceRun(runCtx, job.Name, run.ID)
	runCtx = holdfast.WithOrigin(runCtx, holdfast.Origin{Actor: job.Name, RunID: run.ID})
	counts, err := recoverPanic(runCtx, job, run)
	endTrace(err)
	took := r.Clock.Since(start)
	record.Counts, record.Outcome, record.FinishedAt = counts, Completed, r.Clock().UTC()
	if err != nil {
		err = withCause(err, context.Cause(runCtx))
		record.Outcome, record.Reason = outcomeOf(err, counts.Applied > 0 || run.advanced.Load())
		logEnd(runCtx, run.Log, err, record, took)
		if errors.Is(err, errTimeLimit) {
			r.Metrics.overran(job.Name)
		}
	}
	if err != nil && job.Asked != nil { // another run goes on with it
		record.Outcome, record.FinishedAt = Running, time.Time{}
		r.History.progress(context.WithoutCancel(ctx), record)
		return record, err
	}
	r.Metrics.finished(record, took, r.Clock())
	return r.History.finish(ctx, record), err
}

// withCause adds the cause that cancelled the run to the run's error.
func withCause(err, cause error) error {
	if errors.Is(cause, context.Canceled) {
		cause = errStopped
	}
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// withLimit ends a run after its limit; 0 means none.
func withLimit(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w of %v", errTimeLimit, limit))
}

// outcomeOf is the outcome of a run that ended with an error. A run that its time limit ended
// has completed if it advanced: the next run goes on.
func outcomeOf(err error, advanced bool) (outcome Outcome, reason string) {
	switch {
	case errors.Is(err, errTimeLimit) && advanced:
		return Completed, reasonTimeLimit
	case errors.Is(err, ErrLeftOver):
		return Completed, reasonOf(err)
	default:
		return Failed, reasonOf(err)
	}
}

func logEnd(ctx context.Context, log *slog.Logger, err error, r Record, took time.Duration) {
	level, message := slog.LevelError, "Run failed"
	switch {
	case errors.Is(err, errStopped): // no fault: the next leader continues
		level, message = slog.LevelInfo, "Run ended because the process stops"
	case errors.Is(err, ErrOthersFirst):
		level, message = slog.LevelInfo, "Run waits, and another one goes first"
	case r.Outcome == Completed:
		level, message = slog.LevelWarn, "Run completed, but left documents for the next run"
	}
	log.LogAttrs(ctx, level, message, errorAttr(err), slog.Int64("durationMs", took.Milliseconds()),
		slog.Int("found", r.Found), slog.Int("applied", r.Applied), slog.Int("errors", r.Errors))
}

var errPanicked = errors.New("the run panicked")

// recoverPanic turns a panic of the job into an error, so that the process goes on.
func recoverPanic(ctx context.Context, job Job, run Run) (counts Counts, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanicked, p, debug.Stack())
		}
	}()
	return job.Do(ctx, run)
}

// reasonOf is the part of an error that the run's record keeps. It holds no
// cause, which may name servers; the log has the whole error.
func reasonOf(err error) string {
	const maxBytes = 300
	for _, known := range []error{errStopped, ErrLeaseLost, errPanicked} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	var f *holdfast.Error
	if errors.As(err, &f) {
		return string(f.Code) + ": " + f.Message
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return strings.ToValidUTF8(text[:min(len(text), maxBytes)], "")
}
