package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/jonboulle/clockwork"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	// stopTimeout bounds the wait for cancelled runs. A run ends after its current transaction.
	stopTimeout = 5 * time.Second
	// shutdownTimeout is for what gocron does after them. It keeps a core busy while it waits.
	shutdownTimeout = 500 * time.Millisecond
)

// Schedule runs the jobs at their intervals while this process leads, until ctx
// ends. Then it waits until the runs in progress have ended after their current
// transaction, and releases all leases.
func (r *Runner) Schedule(ctx context.Context) error {
	options := []gocron.SchedulerOption{
		gocron.WithClock(systemClock{clockwork.NewRealClock()}),
		gocron.WithStopTimeout(shutdownTimeout),
		gocron.WithLogger(gocronLog{r.Log}),
		gocron.WithGlobalJobOptions(gocron.WithSingletonMode(gocron.LimitModeReschedule)),
	}
	options = append(options, r.Metrics.gocron.Options()...)
	if r.Leases.Kind() != StoreNone {
		options = append(options, gocron.WithDistributedElector(r.elector))
	}
	scheduler, err := gocron.NewScheduler(options...)
	if err != nil {
		return err
	}
	var running atomic.Int64
	for _, job := range r.jobs {
		if job.Interval == 0 {
			continue
		}
		if err := r.add(ctx, scheduler, job, &running); err != nil {
			return fmt.Errorf("job %s: %w", job.Name, err)
		}
	}
	electorCtx, stopElector := context.WithCancel(context.WithoutCancel(ctx))
	defer stopElector()
	var electors sync.WaitGroup
	if r.Leases.Kind() != StoreNone {
		electors.Go(func() { r.elector.run(electorCtx) })
	} else {
		r.elector.noLeases.Store(true)
	}
	scheduler.Start()
	<-ctx.Done()
	awaitRuns(&running)
	err = scheduler.Shutdown() // before the lease is released, so that the next leader's runs do not overlap these
	stopElector()
	electors.Wait()
	r.elector.noLeases.Store(false)
	return err
}

// awaitRuns waits until the cancelled runs have ended.
func awaitRuns(running *atomic.Int64) {
	timeout := time.After(stopTimeout)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for running.Load() > 0 {
		select {
		case <-timeout:
			return
		case <-tick.C:
		}
	}
}

// add schedules a job. running counts its runs.
func (r *Runner) add(ctx context.Context, scheduler gocron.Scheduler, job Job, running *atomic.Int64) error {
	_, err := scheduler.NewJob(gocron.DurationJob(job.Interval),
		gocron.NewTask(func(ctx context.Context) error {
			running.Add(1)
			defer running.Add(-1)
			if job.Resident {
				var stop context.CancelFunc
				ctx, stop = r.whileLeading(ctx)
				defer stop()
			}
			o := exclusive{runWithoutStore: r.RunWithoutStore, unneeded: r.notLeading}
			if job.Asked != nil {
				return r.runAsked(ctx, job, Scheduled, o)
			}
			_, err := r.runExclusive(ctx, job, Scheduled, o)
			return err
		}),
		gocron.WithName(job.Name), gocron.WithContext(ctx),
		gocron.WithStartAt(gocron.WithStartDateTime(nextTick(mongodb.SystemTime(), job.Interval))))
	if err == nil {
		r.Log.InfoContext(ctx, "Scheduled", slog.String("job", job.Name), slog.String("interval", job.Interval.String()))
	}
	return err
}

// notLeading is checked again under the run's lease. This process may have been
// paused since the tick, and another one may have run it.
func (r *Runner) notLeading(ctx context.Context) (bool, error) {
	return r.elector.IsLeader(ctx) != nil, nil
}

// whileLeading returns a context that ends soon after this process no longer leads.
func (r *Runner) whileLeading(ctx context.Context) (context.Context, context.CancelFunc) {
	const pollInterval = time.Second
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if r.elector.IsLeader(ctx) != nil {
					cancel()
				}
			}
		}
	}()
	return ctx, cancel
}

// nextTick returns the first multiple of the interval that gocron still accepts as
// a start.
func nextTick(now time.Time, interval time.Duration) time.Time {
	const startDelay = 50 * time.Millisecond // gocron refuses a start in the past
	return now.Add(startDelay).Truncate(interval).Add(interval)
}

// gocronLog logs what gocron reports as info at debug, because it is routine.
type gocronLog struct{ log *slog.Logger }

func (g gocronLog) Debug(msg string, args ...any) { g.log.Debug(msg, args...) }
func (g gocronLog) Info(msg string, args ...any)  { g.log.Debug(msg, args...) }
func (g gocronLog) Warn(msg string, args ...any)  { g.log.Warn(msg, args...) }
func (g gocronLog) Error(msg string, args ...any) { g.log.Error(msg, args...) }

// systemClock is the machine's clock for gocron.
type systemClock struct{ clockwork.Clock }

func (systemClock) Now() time.Time                      { return mongodb.SystemTime() }
func (systemClock) Since(start time.Time) time.Duration { return mongodb.SystemTime().Sub(start) }
func (systemClock) Until(t time.Time) time.Duration     { return t.Sub(mongodb.SystemTime()) }
