package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// newWork returns the engine's jobs with the settings and metrics of a process.
func newWork(engine *core.Core, c *config.Config, metrics *telemetry.Metrics) *core.Jobs {
	return &core.Jobs{
		Core: engine, JobSettings: c.Jobs(),
		Archived: func(events int) { metrics.EventsArchived.Add(float64(events)) },
		Oversold: func(events int) { metrics.OversoldEvents.Set(float64(events)) },
		ListChecked: func(c inventory.ListCheck) {
			for range c.Offers {
				metrics.WaitlistDelay.Observe(c.Late.Seconds())
			}
		},
		ListTotals: func(t *store.ListTotals) {
			if t == nil {
				metrics.ForgetWaitlist()
				return
			}
			metrics.WaitlistEntries.WithLabelValues("waiting").Set(float64(t.Waiting))
			metrics.WaitlistEntries.WithLabelValues("offered").Set(float64(t.Offered))
			metrics.WaitlistOldest.Set(t.OldestWaiting.Seconds())
		},
	}
}

// countEntries counts the changes of a plan's entries of waiting lists.
func countEntries(metrics *telemetry.Metrics, p inventory.Plan) {
	metrics.WaitlistChanges.WithLabelValues("joined").Add(float64(len(p.NewEntries)))
	for _, w := range p.Entries {
		metrics.WaitlistChanges.WithLabelValues(strings.ToLower(string(w.To))).Inc()
	}
}

// jobs lists all jobs.
func (a *App) jobs() []jobs.Job {
	return append(a.work.List(),
		jobs.Job{Name: "webhooks", Interval: time.Second, Resident: true, Do: a.tellWebhooks},
		a.recoveryJob())
}

// CancelEvent cancels an event at once, and requests the run that cancels its locks and bookings.
func (a *App) CancelEvent(ctx context.Context, eventID holdfast.ID) (jobs.Record, error) {
	runID, err := a.work.Canceller(jobs.Run{}).Ask(ctx, eventID)
	if err != nil {
		return jobs.Record{}, err
	}
	return a.Jobs.Await(ctx, expiry.EventCancel, runID), nil
}

// RunManually runs a job in this process, under its lease.
func (a *App) RunManually(ctx context.Context, name string) (jobs.Result, error) {
	for _, job := range a.jobs() {
		if job.Name == name {
			return a.Jobs.RunExclusive(ctx, job, jobs.Manual)
		}
	}
	return jobs.Result{}, fmt.Errorf("there is no job %s", name)
}

// recoveryJob runs at the start of a process, and manually.
func (a *App) recoveryJob() jobs.Job { return a.work.RecoveryJob(a.Recovery.Run) }

// RecoverAll runs the job recovery in this process, under its lease, over all events, including
// archived ones.
func (a *App) RecoverAll(ctx context.Context) (jobs.Result, error) {
	return a.Jobs.RunExclusive(ctx, a.work.RecoveryJob(a.Recovery.RunAll), jobs.Manual)
}
