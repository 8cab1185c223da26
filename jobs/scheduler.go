package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-co-op/gocron/v2"
)

// stopTimeout is how long runs in progress may take to end once they are told to.
const stopTimeout = 10 * time.Second

// Schedule runs the jobs at their intervals until ctx ends, then lets runs in
// progress end at their next transaction. The options are gocron's; an elector
// is given there.
func Schedule(ctx context.Context, r *Runner, jobs []Job, options ...gocron.SchedulerOption) error {
	scheduler, err := gocron.NewScheduler(append([]gocron.SchedulerOption{
		gocron.WithStopTimeout(stopTimeout),
		gocron.WithLogger(quietly{r.Log}),
		gocron.WithGlobalJobOptions(gocron.WithSingletonMode(gocron.LimitModeReschedule)),
	}, options...)...)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		_, err := scheduler.NewJob(gocron.DurationJob(job.Interval), gocron.NewTask(func(ctx context.Context) {
			r.Execute(ctx, job) //nolint:errcheck // logged and counted there
		}), gocron.WithName(job.Name), gocron.WithContext(ctx))
		if err != nil {
			return fmt.Errorf("job %s: %w", job.Name, err)
		}
		r.Log.InfoContext(ctx, "Scheduled", "job", job.Name, "interval", job.Interval.String())
	}
	scheduler.Start()
	<-ctx.Done()
	return scheduler.Shutdown()
}

// quietly is gocron's log: what it reports as info is routine.
type quietly struct{ log *slog.Logger }

func (q quietly) Debug(msg string, args ...any) { q.log.Debug(msg, args...) }
func (q quietly) Info(msg string, args ...any)  { q.log.Debug(msg, args...) }
func (q quietly) Warn(msg string, args ...any)  { q.log.Warn(msg, args...) }
func (q quietly) Error(msg string, args ...any) { q.log.Error(msg, args...) }
