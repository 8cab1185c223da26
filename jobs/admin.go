package jobs

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// State is a job as operators see it.
type State struct {
	Job
	Last  *Record // nil: never run, or long ago
	Lease Holder
}

// Holder is who has a lease, if that is known.
type Holder struct {
	Name  string
	Known bool // false: the store of leases is unavailable
	lease.Holding
}

// States are all jobs, and who schedules them. A store of leases that does not
// answer is asked once, not for each job.
func (r *Runner) States(ctx context.Context) (states []State, leader Holder, err error) {
	leader = r.holder(ctx, lease.Leader)
	for _, job := range r.jobs {
		s := State{Job: job, Lease: Holder{Name: lease.Of(job.Name)}}
		if leader.Known {
			s.Lease = r.holder(ctx, s.Lease.Name)
		}
		last, found, err := r.History.last(ctx, job.Name)
		if err != nil {
			return nil, Holder{}, err
		}
		if found {
			s.Last = &last
		}
		states = append(states, s)
	}
	return states, leader, nil
}

func (r *Runner) holder(ctx context.Context, name string) Holder {
	h, err := r.Leases.Look(ctx, name)
	return Holder{Name: name, Known: err == nil, Holding: h}
}

// Runs lists a job's runs, newest first, and the token of the next page.
func (r *Runner) Runs(ctx context.Context, job string, page mongodb.Page) ([]Record, string, error) {
	if _, found := r.job(job); !found {
		return nil, "", noSuchJob()
	}
	return r.History.list(ctx, job, page)
}

// Failures lists the latest runs that failed, of all jobs, newest first.
func (r *Runner) Failures(ctx context.Context, limit int) ([]Record, error) {
	return r.History.failed(ctx, limit)
}

// RunNow runs a job at once, on this process, whoever leads, and returns its
// run: ended, or, once patience is over or ctx ends, still under way. The run
// goes on until its end, or until Stop. CodeRunning: somebody runs it, who is
// named in the field holder. mongodb.CodeUnavailable: its lease can't be had.
func (r *Runner) RunNow(ctx context.Context, name string, patience time.Duration) (Record, error) {
	job, found := r.job(name)
	if !found {
		return Record{}, noSuchJob()
	}
	started, ended := make(chan Record, 1), make(chan Result, 1)
	r.mu.Lock()
	if r.process.Err() != nil {
		r.mu.Unlock()
		return Record{}, fault.New(mongodb.CodeUnavailable, "This process is stopping; ask again.")
	}
	r.byHand.Go(func() {
		result, _ := r.runExclusive(r.process, job, Manual, exclusive{ //nolint:errcheck // it is in the record
			alone: r.AloneWhenDown, started: func(run Record) { started <- run }})
		ended <- result
	})
	r.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case result := <-ended:
		return result.Record, refusal(result.Why)
	case <-timer.C:
	case <-ctx.Done():
	}
	select {
	case run := <-started:
		return run, nil
	case result := <-ended:
		return result.Record, refusal(result.Why)
	default: // it still asks for its lease
		return Record{}, fault.New(mongodb.CodeUnavailable, "The job has not started yet; look at its runs.").By(ctx.Err())
	}
}

// refusal tells a client why its run was skipped.
func refusal(why error) error {
	if why == nil {
		return nil
	}
	if held, ok := lease.IsHeld(why); ok {
		return fault.New(CodeRunning, "The job is being run; see holder.").With(RunningBy{Holder: held.Holder}).By(why)
	}
	return fault.New(mongodb.CodeUnavailable, "The job's lease can't be had at present, so the job waits; ask again.").By(why)
}

// FreeLease takes a lease away from its holder, dead or alive, and returns who
// that was; nobody is fine too. name is a job's, or that of a lease which
// belongs to none, such as leader. A run that lives is cancelled when its
// process next renews the lease.
func (r *Runner) FreeLease(ctx context.Context, name string) (Holder, error) {
	if _, found := r.job(name); !found && lease.Of(name) != lease.Leader {
		return Holder{}, noSuchJob()
	}
	key := lease.Of(name)
	h, err := r.Leases.Free(ctx, key)
	if err != nil {
		return Holder{}, fault.New(mongodb.CodeUnavailable, "The store of leases does not answer; ask again.").By(err)
	}
	r.Log.WarnContext(ctx, "Lease freed by hand", "lockKey", key, "holder", h.Holder)
	return Holder{key, true, h}, nil
}

func noSuchJob() error { return fault.New(CodeNotFound, "There is no such job.") }

// RunningBy says who runs a job.
type RunningBy struct{ Holder string }
