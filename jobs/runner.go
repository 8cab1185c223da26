package jobs

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Options of a Runner.
type Options struct {
	Log    *slog.Logger
	Clock  mongodb.Clock
	Holder string // this process, as NewHolder names it
	Leases LeaseStore
	// Leader names the lease of the process that schedules these jobs; LeaderLease if it is empty.
	Leader  string
	Terms   LeaseTerms
	History *History
	Metrics *Metrics
	// RunWithoutStore makes this process run its jobs as a single instance while
	// the lease store is unavailable. Otherwise the jobs wait.
	RunWithoutStore bool
}

// Runner runs jobs: on schedule, on request and at startup.
type Runner struct {
	Options
	jobs        []Job
	elector     *elector
	localLeases *LocalLeases // while the lease store is unavailable
	told        sync.Map     // by job: why its lease was not acquired, as the log has it

	manualCtx  context.Context //nolint:containedctx // manual runs outlive the request that started them
	stopManual context.CancelFunc
	manualRuns sync.WaitGroup
	mu         sync.Mutex // no manual run starts after Stop
}

// New returns a runner of jobs.
func New(o Options, jobs ...Job) *Runner {
	o.Leader = cmp.Or(o.Leader, LeaderLease)
	r := &Runner{Options: o, jobs: jobs, localLeases: NewLocalLeases()}
	r.manualCtx, r.stopManual = context.WithCancel(context.Background())
	r.elector = &elector{runner: r}
	o.Metrics.registerGauges(r)
	return r
}

// Stop cancels the manual runs; Wait waits for their end.
func (r *Runner) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopManual()
}

// Wait waits, after Stop, until the manual runs have ended and released their
// leases, or until ctx ends.
func (r *Runner) Wait(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		r.manualRuns.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("manual runs have not ended: %w", ctx.Err())
	}
}

func (r *Runner) job(name string) (Job, bool) {
	for _, j := range r.jobs {
		if j.Name == name {
			return j, true
		}
	}
	return Job{}, false
}

// newRun gives a run its correlation ID, unless it has one, and its log.
func (r *Runner) newRun(job string, t Trigger, id string) Run {
	if id == "" {
		id = mongodb.NewRunID(job, r.Clock())
	}
	log := r.Log.With(slog.String("correlationId", id), slog.String("job", job))
	return Run{ID: id, Job: job, Trigger: t, Log: log, advanced: new(atomic.Bool)}
}

// Mode says how processes currently share the jobs.
type Mode string

// The modes. The first three are kinds of lease stores.
const (
	ModeRedis          Mode = StoreRedis
	ModeMongo          Mode = StoreMongo
	ModeNone           Mode = StoreNone
	ModeWaiting        Mode = "waiting"         // the store is unavailable, and jobs wait for it
	ModeSingleInstance Mode = "single-instance" // the store is unavailable, and this process runs its jobs without it
)

var modes = []Mode{ModeRedis, ModeMongo, ModeNone, ModeWaiting, ModeSingleInstance}

// Mode asks whether the lease store answers, and whether the leases can be acquired. The
// error is the store's.
func (r *Runner) Mode(ctx context.Context) (Mode, error) {
	names := []string{r.Leader}
	for _, j := range r.jobs {
		names = append(names, LeaseOf(j.Name))
	}
	err := r.Leases.Ping(ctx, names...)
	if last := r.elector.storeErr.Load(); err == nil && last != nil {
		err = *last
	}
	switch {
	case err == nil:
		return Mode(r.Leases.Kind()), nil
	case r.RunWithoutStore:
		return ModeSingleInstance, err
	default:
		return ModeWaiting, err
	}
}
