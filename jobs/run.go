package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/clock"
)

// Job is work that is done every Interval.
type Job struct {
	Name        string
	Interval    time.Duration
	MaxDuration time.Duration // a run past it is cancelled
	Do          func(ctx context.Context, run Run) (Counts, error)
}

// Run is one execution of a job.
type Run struct {
	ID  string // correlation ID: <job>-<UTC time>-<random>
	Job string
	Log *slog.Logger // carries correlationId and job
}

// Counts are what a run reports.
type Counts struct {
	Found, Applied, Skipped, Errors int
	SeatsRestored                   int64
}

// Outcome of a run.
type Outcome string

// A run is completed, or it failed: by an error, a panic or its time.
const (
	Completed Outcome = "completed"
	Failed    Outcome = "failed"
)

// Runner executes jobs.
type Runner struct {
	Log   *slog.Logger
	Clock clock.Clock
	// Observe hears of each run's end; nil is not called.
	Observe func(job string, o Outcome, c Counts, took time.Duration)
}

// NewRun gives a run its identity.
func (r *Runner) NewRun(job string) Run {
	const enough = 8
	id := fmt.Sprintf("%s-%s-%s", job, r.Clock().UTC().Format("20060102T150405.000Z"), strings.ToLower(rand.Text()[:enough]))
	return Run{ID: id, Job: job, Log: r.Log.With("correlationId", id, "job", job)}
}

// Execute runs the job once, in this goroutine, and returns what it reports.
func (r *Runner) Execute(process context.Context, job Job) (Counts, error) {
	run, start := r.NewRun(job.Name), r.Clock()
	ctx, cancel := context.WithTimeoutCause(process, job.MaxDuration,
		fmt.Errorf("the run lasted longer than %v, which is its limit", job.MaxDuration))
	defer cancel()
	counts, err := guarded(ctx, job, run)
	outcome, took := Completed, r.Clock.Since(start)
	if err != nil {
		outcome = Failed
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		level, line := slog.LevelError, "Run failed"
		if process.Err() != nil { // nothing is wrong: the next process goes on
			level, line = slog.LevelInfo, "Run ended by the process's stop"
		}
		run.Log.Log(ctx, level, line, "error", err, "durationMs", took.Milliseconds(),
			"found", counts.Found, "applied", counts.Applied, "errors", counts.Errors)
	}
	if r.Observe != nil {
		r.Observe(job.Name, outcome, counts, took)
	}
	return counts, err
}

// guarded turns a panic into an error: a job must not end the process.
func guarded(ctx context.Context, job Job, run Run) (counts Counts, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the run panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return job.Do(ctx, run)
}
