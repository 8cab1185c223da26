package app

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/jobs"
)

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
