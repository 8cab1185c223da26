package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// State is a job with its last run and its lease.
type State struct {
	Job
	Last  *Record // nil if the job never ran, or its record has expired
	Lease LeaseState
}

// LeaseState is the holder of a lease, if the lease store is available.
type LeaseState struct {
	Name  string
	Known bool // false: the lease store is unavailable
	Holding
}

// States returns the state of all jobs, and the leader's lease. If the lease
// store can't read the leader's lease, it is not asked for the jobs'.
func (r *Runner) States(ctx context.Context) (states []State, leader LeaseState, err error) {
	leader = r.leaseState(ctx, r.Leader)
	for _, job := range r.jobs {
		s := State{Job: job, Lease: LeaseState{Name: LeaseOf(job.Name)}}
		if leader.Known {
			s.Lease = r.leaseState(ctx, s.Lease.Name)
		}
		last, found, err := r.History.last(ctx, job.Name)
		if err != nil {
			return nil, LeaseState{}, err
		}
		if found {
			s.Last = &last
		}
		states = append(states, s)
	}
	return states, leader, nil
}

func (r *Runner) leaseState(ctx context.Context, name string) LeaseState {
	h, err := r.Leases.Read(ctx, name)
	return LeaseState{Name: name, Known: err == nil, Holding: h}
}

// Runs returns a page of a job's runs, newest first, and the next page's token.
func (r *Runner) Runs(ctx context.Context, job string, page holdfast.Page) ([]Record, string, error) {
	if _, found := r.job(job); !found {
		return nil, "", errNoSuchJob()
	}
	return r.History.list(ctx, job, page)
}

// Failures returns the latest failed runs of all jobs, newest first.
func (r *Runner) Failures(ctx context.Context, limit int) ([]Record, error) {
	return r.History.failed(ctx, limit)
}

// RunNow runs a job at once on this process, whether it leads or not. It returns
// the finished run or, after timeout or the end of ctx, the run in progress,
// which goes on until it ends or Stop is called. Of a job with Asked it runs what was asked for, until nothing is left, and
// returns the first run. CodeRunning: another run is in
// progress; the field holder names its process. holdfast.CodeUnavailable: the
// lease is unavailable, and the job did not run. holdfast.CodeOutcomeUnknown: the run had not
// acquired its lease in time; it may start later.
func (r *Runner) RunNow(ctx context.Context, name string, timeout time.Duration) (Record, error) {
	job, found := r.job(name)
	if !found {
		return Record{}, errNoSuchJob()
	}
	started, ended := make(chan Record, 1), make(chan Result, 1)
	r.mu.Lock()
	if r.manualCtx.Err() != nil {
		r.mu.Unlock()
		return Record{}, holdfast.Refuse(holdfast.CodeUnavailable, "This process is stopping; retry.")
	}
	r.manualRuns.Go(func() {
		o := exclusive{runWithoutStore: r.RunWithoutStore, onStart: func(run Record) { started <- run }}
		if job.Asked != nil {
			o.runID, _ = job.Asked(r.manualCtx) // without an answer the run finds nothing to do
		}
		result, err := r.runExclusive(r.manualCtx, job, Manual, o)
		ended <- result
		if o.runID != "" && mayRunNext(result, err) {
			o.onStart = nil
			_ = r.runAsked(r.manualCtx, job, Manual, o) // the records have the errors
		}
	})
	r.mu.Unlock()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case result := <-ended:
		return result.Record, refusal(result.SkipErr)
	case <-timer.C:
	case <-ctx.Done():
	}
	select {
	case run := <-started:
		return run, nil
	case result := <-ended:
		return result.Record, refusal(result.SkipErr)
	default: // it is still acquiring its lease
		return Record{}, holdfast.Refuse(holdfast.CodeOutcomeUnknown, "The job has not started yet, and may start; see its runs.").By(ctx.Err())
	}
}

// Await writes the record of a run that was asked for, unless it has one, and returns it. A process that schedules jobs
// carries it out.
func (r *Runner) Await(ctx context.Context, job, runID string) Record {
	return r.History.await(ctx, Record{ID: runID, Job: job, Trigger: Manual, StartedAt: r.Clock().UTC(), Outcome: Running})
}

// refusal returns the error for a client whose run was skipped.
func refusal(skipErr error) error {
	if skipErr == nil {
		return nil
	}
	if held, ok := IsHeld(skipErr); ok {
		return holdfast.Refuse(CodeRunning, "The job is already running; see holder.").With(RunningBy{Holder: held.Holder}).By(skipErr)
	}
	return holdfast.Refuse(holdfast.CodeUnavailable, "The job's lease is unavailable, so the job waits; retry.").By(skipErr)
}

// FreeLease removes a lease and returns its previous holder,
// which is empty if the lease was free. holdfast.CodeOutcomeUnknown: the lease may be removed. name is a job, or a lease that belongs to no
// job, such as leader. A run in progress is cancelled when its process next
// renews the lease.
func (r *Runner) FreeLease(ctx context.Context, name string) (LeaseState, error) {
	if _, found := r.job(name); !found && LeaseOf(name) != r.Leader {
		return LeaseState{}, errNoSuchJob()
	}
	key := LeaseOf(name)
	h, err := r.Leases.Free(ctx, key)
	if err != nil {
		return LeaseState{}, holdfast.Refuse(holdfast.CodeOutcomeUnknown,
			"The lease store %s, and the lease may be freed; retry.", DescribeUnavailable(err)).By(err)
	}
	r.Log.WarnContext(ctx, "Lease freed manually", slog.String("lockKey", key), slog.String("holder", h.Holder))
	return LeaseState{Name: key, Known: true, Holding: h}, nil
}

func errNoSuchJob() error { return holdfast.Refuse(CodeNotFound, "There is no such job.") }

// RunningBy says which process runs a job: <pod>/<pid>/<random>.
type RunningBy struct{ Holder string }
