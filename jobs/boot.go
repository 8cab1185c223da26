package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// The delay between two polls for another process's run grows between these.
const (
	minBootPollDelay = 50 * time.Millisecond
	maxBootPollDelay = time.Second
)

// RunAtBoot runs a job that every process needs when it starts. If another
// process runs it, RunAtBoot waits for the end of that run and does not repeat
// it: a run that completed after since, by the database's clock, is enough.
// Unlike other runs, it does not wait for an unavailable lease store. The outcome
// Skipped means that another process completed the job.
func (r *Runner) RunAtBoot(ctx context.Context, job Job, since time.Time) (Result, error) {
	options := exclusive{runWithoutStore: true, unneeded: func(ctx context.Context) (bool, error) {
		return r.History.completedSince(ctx, job.Name, since)
	}}
	delay, logged := minBootPollDelay, false
	for {
		result, err := r.runExclusive(ctx, job, Startup, options)
		held, wait := lease.IsHeld(result.SkipErr)
		if !wait {
			if result.Outcome == Skipped {
				r.Log.InfoContext(ctx, "Another process has just completed the run; it is not repeated", slog.String("job", job.Name))
			}
			return result, err
		}
		if !logged {
			logged = true
			r.Log.InfoContext(ctx, "Another process runs this job; waiting for the run's end",
				slog.String("job", job.Name), holderAttr(held.Holder))
		}
		select {
		case <-ctx.Done():
			return result, ctx.Err()
		case <-time.After(jitter(delay)):
		}
		delay = min(maxBootPollDelay, delay+delay/2)
	}
}
