package jobs

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Job is work that recurs every Interval.
type Job struct {
	Name        string
	Interval    time.Duration // 0 if it is not scheduled
	MaxDuration time.Duration // a run that exceeds it is ended; 0 means no limit
	// NeedsNoLease runs the job also while MongoDB answers, but rejects its lease: several processes may
	// then run it at the same time.
	NeedsNoLease bool
	// Resident is set if a scheduled run lasts as long as this process leads. Interval is how soon another process
	// takes over.
	Resident bool
	// Asked returns the run that a caller has asked for and that has not come to its end; "" if there is none. A job with
	// Asked is scheduled only for such a run, which goes on under its ID if its process ends, and counts on.
	Asked func(ctx context.Context) (runID string, err error)
	Do    func(ctx context.Context, run Run) (Counts, error)
}

// Run is one execution of a job.
type Run struct {
	ID      string // correlation ID: <job>-<UTC time>-<random>
	Job     string
	Trigger Trigger
	Log     *slog.Logger // carries correlationId and job

	// Earlier has the counts of a run that goes on, as they were written last.
	Earlier Counts

	advanced *atomic.Bool
	report   func(context.Context, Counts)
}

// Report writes the counts of a run that is in progress.
func (r Run) Report(ctx context.Context, c Counts) { r.report(ctx, c) }

// Advanced records that the run made progress, though it may have applied nothing.
func (r Run) Advanced() { r.advanced.Store(true) }

// Counts are the numbers that a run reports.
type Counts struct {
	Found, Applied, Skipped, Errors int
	SeatsRestored                   int64 `bson:"seatsRestored"`
}

// Add sums two counts.
func (c Counts) Add(o Counts) Counts {
	return Counts{
		Found: c.Found + o.Found, Applied: c.Applied + o.Applied, Skipped: c.Skipped + o.Skipped, Errors: c.Errors + o.Errors,
		SeatsRestored: c.SeatsRestored + o.SeatsRestored,
	}
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

// A run fails by an error, a panic, its time limit if it made no progress, or the loss of
// its lease. A run that does not start is skipped: it is counted, but not stored.
const (
	Running   Outcome = "running"
	Completed Outcome = "completed"
	Failed    Outcome = "failed"
	Skipped   Outcome = "skipped"
)

// Record is a run as it is stored. Its times are from the database's clock.
type Record struct {
	ID         string `bson:"_id"` // correlation ID
	Job        string
	Pod        string // the holder
	Trigger    Trigger
	StartedAt  time.Time `bson:"startedAt"`
	FinishedAt time.Time `bson:"finishedAt"` // zero while the run is in progress
	Outcome    Outcome
	Reason     string // why the run failed, or what it left to the next one
	Contended  int    // how often another process tried to run the job during the run
	Counts     `bson:",inline"`
}

// Error codes.
const (
	CodeNotFound holdfast.Code = "JOB_NOT_FOUND"
	CodeRunning  holdfast.Code = "JOB_RUNNING" // the field holder names the process
)

// Codes returns all codes of this package, in a new slice.
func Codes() []holdfast.Code { return []holdfast.Code{CodeNotFound, CodeRunning} }
