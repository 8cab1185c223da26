package jobs

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// Waiting for another process's run: the pause between two looks.
const (
	firstLook = 50 * time.Millisecond
	lastLook  = time.Second
)

// RunAtBoot runs a job that every process wants done as it starts. If another
// process runs it, it waits for that run's end and doesn't repeat it: a run that
// completed after since, by the database's clock, is enough. Unlike other runs
// it goes on while the store of leases is unavailable. A result that is Skipped
// means that others have done it.
func (r *Runner) RunAtBoot(ctx context.Context, job Job, since time.Time) (Result, error) {
	x := exclusive{alone: true, unless: func(ctx context.Context) (bool, error) {
		return r.History.completedSince(ctx, job.Name, since)
	}}
	pause, said := firstLook, false
	for {
		result, err := r.runExclusive(ctx, job, Startup, x)
		held, waits := lease.IsHeld(result.Why)
		if !waits {
			if result.Outcome == Skipped {
				r.Log.InfoContext(ctx, "Another process has just completed the run; it is not repeated", "job", job.Name)
			}
			return result, err
		}
		if !said {
			said = true
			r.Log.InfoContext(ctx, "Another process runs this job; waiting for the run's end", "job", job.Name, "holder", held.Holder)
		}
		select {
		case <-ctx.Done():
			return result, ctx.Err()
		case <-time.After(pause/2 + rand.N(pause)): //nolint:gosec // a pause is no secret
		}
		pause = min(lastLook, pause+pause/2)
	}
}
