package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast/internal/fault"
)

// Job is work that is done every Interval.
type Job struct {
	Name        string
	Interval    time.Duration // 0: not scheduled
	MaxDuration time.Duration // a run past it is cancelled
	Do          func(ctx context.Context, run Run) (Counts, error)
}

// Run is one execution of a job.
type Run struct {
	ID      string // correlation ID: <job>-<UTC time>-<random>
	Job     string
	Trigger Trigger
	Log     *slog.Logger // carries correlationId and job
}

// Counts are what a run reports.
type Counts struct {
	Found, Applied, Skipped, Errors int
	SeatsRestored                   int64
}

// Trigger is what caused a run.
type Trigger string

// The triggers.
const (
	Scheduled Trigger = "schedule"
	Manual    Trigger = "manual"
	Startup   Trigger = "startup"
)

// Outcome of a run.
type Outcome string

// A run is completed, or it failed: by an error, a panic, its time, or the loss
// of its lease. One that was not begun is skipped: counted, never stored.
const (
	Running   Outcome = "running"
	Completed Outcome = "completed"
	Failed    Outcome = "failed"
	Skipped   Outcome = "skipped"
)

// Record is what the history keeps of a run. Its times are the database's.
type Record struct {
	ID         string // correlation ID
	Job        string
	Pod        string // the holder
	Trigger    Trigger
	StartedAt  time.Time
	FinishedAt time.Time // zero while it runs
	Outcome    Outcome
	Reason     string // why it failed
	Contended  int    // tries of others to run the job meanwhile
	Counts
}

// Codes of what this package refuses.
const (
	CodeNotFound fault.Code = "JOB_NOT_FOUND"
	CodeRunning  fault.Code = "JOB_RUNNING" // with holder
)

// Codes lists this package's codes.
var Codes = []fault.Code{CodeNotFound, CodeRunning}
