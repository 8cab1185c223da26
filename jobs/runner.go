package jobs

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// Options of a Runner.
type Options struct {
	Log     *slog.Logger
	Clock   clock.Clock
	Holder  string // this process, as lease.NewHolder names it
	Leases  lease.Store
	Terms   lease.Terms
	History *History
	Metrics *Metrics
	// AloneWhenDown: while the store of leases is unavailable, this process runs
	// its jobs as if it were the only one. Else they wait.
	AloneWhenDown bool
}

// Runner runs jobs: on schedule, by hand and at the boot.
type Runner struct {
	Options
	jobs    []Job
	elector *elector
	alone   *lease.Local // leases of this process, while the store is away

	process context.Context //nolint:containedctx // ends runs by hand, which outlive their request
	stop    context.CancelFunc
	byHand  sync.WaitGroup
	mu      sync.Mutex // guards the start of runs by hand against Stop
}

// New returns a runner of jobs.
func New(o Options, jobs ...Job) *Runner {
	r := &Runner{Options: o, jobs: jobs, alone: lease.NewLocal()}
	r.process, r.stop = context.WithCancel(context.Background())
	r.elector = &elector{runner: r}
	o.Metrics.watch(r)
	return r
}

// Stop cancels the runs by hand; Wait waits for their end.
func (r *Runner) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop()
}

// Wait waits, after Stop, until runs by hand have ended and given their leases
// back, or ctx ends.
func (r *Runner) Wait(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		r.byHand.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("runs by hand have not ended: %w", ctx.Err())
	}
}

// job finds a job by its name.
func (r *Runner) job(name string) (Job, bool) {
	for _, j := range r.jobs {
		if j.Name == name {
			return j, true
		}
	}
	return Job{}, false
}

// newRun gives a run its identity.
func (r *Runner) newRun(job string, t Trigger) Run {
	const enough = 8
	id := fmt.Sprintf("%s-%s-%s", job, r.Clock().UTC().Format("20060102T150405.000Z"), strings.ToLower(rand.Text()[:enough]))
	return Run{ID: id, Job: job, Trigger: t, Log: r.Log.With("correlationId", id, "job", job)}
}

// Mode is how jobs are kept apart at present.
type Mode string

// The modes. The first three are kinds of stores.
const (
	ModeRedis   Mode = lease.KindRedis
	ModeMongo   Mode = lease.KindMongo
	ModeNone    Mode = lease.KindNone
	ModeWaiting Mode = "waiting"         // the store is away, and jobs wait for it
	ModeAlone   Mode = "single-instance" // the store is away, and this process runs its jobs all the same
)

var modes = []Mode{ModeRedis, ModeMongo, ModeNone, ModeWaiting, ModeAlone}

// Mode asks the store of leases whether it is there.
func (r *Runner) Mode(ctx context.Context) (Mode, error) {
	err := r.Leases.Ping(ctx)
	switch {
	case err == nil:
		return Mode(r.Leases.Kind()), nil
	case r.AloneWhenDown:
		return ModeAlone, err
	default:
		return ModeWaiting, err
	}
}

// ms is a duration as log lines give it.
func ms(d time.Duration) int64 { return d.Milliseconds() }
