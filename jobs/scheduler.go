package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// stopTimeout is how long runs in progress may take to end once they are told
// to; a transaction is the longest thing that they finish first.
const stopTimeout = 5 * time.Second

// Schedule runs the jobs at their intervals, as long as this process leads,
// until ctx ends; then it lets runs in progress end at their next transaction
// and gives all leases back.
func (r *Runner) Schedule(ctx context.Context) error {
	options := []gocron.SchedulerOption{
		gocron.WithClock(clock.Work()),
		gocron.WithStopTimeout(stopTimeout),
		gocron.WithLogger(quietly{r.Log}),
		gocron.WithGlobalJobOptions(gocron.WithSingletonMode(gocron.LimitModeReschedule)),
	}
	options = append(options, r.Metrics.gocron.Options()...)
	if r.Leases.Kind() != lease.KindNone {
		options = append(options, gocron.WithDistributedElector(r.elector))
	}
	scheduler, err := gocron.NewScheduler(options...)
	if err != nil {
		return err
	}
	for _, job := range r.jobs {
		if job.Interval == 0 {
			continue
		}
		if err := r.add(ctx, scheduler, job); err != nil {
			return fmt.Errorf("job %s: %w", job.Name, err)
		}
	}
	campaign, resign := context.WithCancel(context.WithoutCancel(ctx))
	defer resign()
	var electing sync.WaitGroup
	if r.Leases.Kind() != lease.KindNone {
		electing.Go(func() { r.elector.run(campaign) })
	} else {
		r.elector.sole.Store(true)
	}
	scheduler.Start()
	<-ctx.Done()
	err = scheduler.Shutdown() // first: who leads next should find no run of ours
	resign()
	electing.Wait()
	r.elector.sole.Store(false)
	return err
}

func (r *Runner) add(ctx context.Context, scheduler gocron.Scheduler, job Job) error {
	_, err := scheduler.NewJob(gocron.DurationJob(job.Interval),
		gocron.NewTask(func(ctx context.Context) error {
			_, err := r.runExclusive(ctx, job, Scheduled, exclusive{alone: r.AloneWhenDown, unless: r.ledByAnother})
			return err // logged and counted there
		}),
		gocron.WithName(job.Name), gocron.WithContext(ctx),
		gocron.WithStartAt(gocron.WithStartDateTime(nextTick(clock.System(), job.Interval))))
	if err == nil {
		r.Log.InfoContext(ctx, "Scheduled", "job", job.Name, "interval", job.Interval.String())
	}
	return err
}

// ledByAnother is asked again under a run's lease: this process may have been
// paused since its tick, and another one has run that.
func (r *Runner) ledByAnother(ctx context.Context) (bool, error) {
	return r.elector.IsLeader(ctx) != nil, nil
}

// nextTick is, by the clock that gocron goes by, the first multiple of the interval that leaves time to start.
func nextTick(now time.Time, interval time.Duration) time.Time {
	const lead = 50 * time.Millisecond // gocron refuses a start that has passed
	return now.Add(lead).Truncate(interval).Add(interval)
}

// quietly is gocron's log: what it reports as info is routine.
type quietly struct{ log *slog.Logger }

func (q quietly) Debug(msg string, args ...any) { q.log.Debug(msg, args...) }
func (q quietly) Info(msg string, args ...any)  { q.log.Debug(msg, args...) }
func (q quietly) Warn(msg string, args ...any)  { q.log.Warn(msg, args...) }
func (q quietly) Error(msg string, args ...any) { q.log.Error(msg, args...) }
