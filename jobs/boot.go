package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// The delay between two polls for another process's run grows between these.
const (
	minBootPollDelay = 50 * time.Millisecond
	maxBootPollDelay = time.Second
)

// RunAtBoot runs a job that every process needs when it starts. done reports whether another process has done it; it is
// asked before each attempt, and under the lease. While another process runs the job, RunAtBoot waits for the end of that
// run, or until ctx ends. So it does if its own run loses the lease. Processes that wait for a run that does not suffice
// share the next one.
// It does not wait for Redis: if Redis does not answer, the lease is in MongoDB, without
// which no process could start anyway. The outcome Skipped means that the job was done.
func (r *Runner) RunAtBoot(ctx context.Context, job Job, done func(context.Context) (bool, error)) (Result, error) {
	leases, delay, logged := r.Leases, minBootPollDelay, false
	for {
		if yes, err := done(ctx); err == nil && yes {
			r.Metrics.skipped(job.Name)
			return Result{Record: Record{Job: job.Name, Outcome: Skipped, Trigger: Startup}}, nil
		}
		result, err := r.runExclusive(ctx, job, Startup, exclusive{leases: leases, unneeded: done})
		if errors.Is(err, ErrLeaseLost) && ctx.Err() == nil {
			continue // another process takes over, or this one does
		}
		if result.SkipErr == nil {
			return result, err
		}
		if held, ok := IsHeld(result.SkipErr); ok && !logged {
			logged = true
			r.Log.InfoContext(ctx, "Another process runs this job; waiting for the run's end",
				slog.String("job", job.Name), holderAttr(held.Holder))
		}
		if _, down := IsUnavailable(result.SkipErr); down && leases.Kind() == StoreRedis {
			leases = NewMongoLeases(r.History.DB, r.Terms)
			continue
		}
		select {
		case <-ctx.Done():
			return result, ctx.Err()
		case <-time.After(jitter(delay)):
		}
		delay = min(maxBootPollDelay, delay+delay/2)
	}
}

// PassedSince returns a condition for RunAtBoot: whether a pass of the job has ended that began after booted, by the
// database's clock. An earlier pass may have passed over what went wrong since.
func (r *Runner) PassedSince(job string, booted time.Time) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		_, found, err := r.History.passSince(ctx, job, booted)
		return found, err
	}
}

// LeftOver reports whether the latest run of a job since booted left documents over.
func (r *Runner) LeftOver(ctx context.Context, job string, booted time.Time) (bool, error) {
	latest, _, err := r.History.passSince(ctx, job, booted)
	return latest.Errors > 0, err
}
