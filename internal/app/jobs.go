package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/recovery"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Retention is not urgent. Its only settings are ages.
const (
	retentionInterval = 10 * time.Minute
	retentionTimeout  = 30 * time.Minute
)

// jobs lists all jobs. A job is a name, an interval and a function.
func (a *App) jobs() []jobs.Job {
	c := a.Config
	return []jobs.Job{
		{Name: "lock-expiry", Interval: c.LockExpiryInterval, MaxDuration: c.LockExpiryMaxDuration, Do: a.sweepLocks},
		{Name: "booking-expiry", Interval: c.BookingExpiryInterval, MaxDuration: c.BookingExpiryMaxDuration, Do: a.sweepBookings},
		{Name: "reconcile", Interval: c.ReconcileInterval, MaxDuration: c.ReconcileMaxDuration, Do: a.reconcile},
		{Name: "retention", Interval: retentionInterval, MaxDuration: retentionTimeout, Do: a.retain},
		{Name: "changes", Interval: time.Second, Resident: true, Do: a.numberChanges},
		{Name: expiry.EventCancel, Interval: time.Second, Asked: a.canceller(jobs.Run{}).Next, Do: a.cancelEvent},
		{Name: "webhooks", Interval: time.Second, Resident: true, Do: a.tellWebhooks},
		a.recoveryJob(),
	}
}

// canceller reports its progress to a run.
func (a *App) canceller(run jobs.Run) *expiry.Canceller {
	return &expiry.Canceller{Sweeper: a.Sweeper, TakesTurns: true, OnProgress: func(ctx context.Context, report expiry.Report) {
		run.Report(ctx, run.Earlier.Add(jobs.Counts(report)))
	}}
}

// cancelRetryDelay passes after a failure of a run that cancels all of an event.
const cancelRetryDelay = time.Second

// cancelEvent carries out the wish of a run. It tries again until that is done, or until the wish of another run goes first.
func (a *App) cancelEvent(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
	for {
		report, err := a.canceller(run).Run(ctx, expiry.Run{Run: inventory.Run{ID: run.ID}, Log: run.Log})
		run.Earlier = run.Earlier.Add(jobs.Counts(report))
		if err == nil || ctx.Err() != nil {
			return run.Earlier, err
		}
		if errors.Is(err, expiry.ErrOthersFirst) {
			return run.Earlier, jobs.ErrOthersFirst
		}
		run.Log.WarnContext(ctx, "[EVENT CANCEL JOB] Failed; trying again", slog.Any("error", err))
		select {
		case <-ctx.Done():
			return run.Earlier, ctx.Err()
		case <-time.After(cancelRetryDelay):
		}
	}
}

// CancelEvent cancels an event at once, and asks for the run that cancels all that it has.
func (a *App) CancelEvent(ctx context.Context, eventID holdfast.ID) (jobs.Record, error) {
	runID, err := a.canceller(jobs.Run{}).Ask(ctx, eventID)
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

const recoveryName = "recovery"

// recoveryJob runs at the start of a process, and manually.
func (a *App) recoveryJob() jobs.Job { return a.recoveryJobOf(a.Recovery.Run) }

func (a *App) recoveryJobOf(pass func(context.Context, string, *slog.Logger) (recovery.Report, error)) jobs.Job {
	return jobs.Job{Name: recoveryName, MaxDuration: a.Config.RecoveryMaxDuration,
		Do: func(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
			report, err := pass(ctx, run.ID, run.Log)
			return a.recovered(run, report, err)
		}}
}

// RecoverAll runs the job recovery in this process, under its lease, over all events: also over
// the sealed ones.
func (a *App) RecoverAll(ctx context.Context) (jobs.Result, error) {
	return a.Jobs.RunExclusive(ctx, a.recoveryJobOf(a.Recovery.RunAll), jobs.Manual)
}

func (a *App) sweepLocks(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
	report, err := a.Sweeper.SweepLocks(ctx, sweep(run, holdfast.EndedByLockExpiry))
	return jobs.Counts(report), err
}

func (a *App) sweepBookings(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
	bookings := sweep(run, holdfast.EndedByBookingExpiry)
	bookings.Initiated = true
	report, err := a.Sweeper.SweepBookings(ctx, bookings)
	return jobs.Counts(report), err
}

func sweep(run jobs.Run, by holdfast.EndedBy) expiry.Run {
	return expiry.Run{Run: inventory.Run{By: by, ID: run.ID}, Log: run.Log}
}

func (a *App) reconcile(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
	report, err := a.Recovery.Reconcile(ctx, run.ID, run.Log)
	return a.recovered(run, report, err)
}

// recovered reports a pass of recovery to its run.
func (a *App) recovered(run jobs.Run, report recovery.Report, err error) (jobs.Counts, error) {
	a.Metrics.OversoldEvents.Set(float64(report.Oversold))
	if report.Checked+report.Consumed > 0 {
		run.Advanced()
	}
	if errors.Is(err, recovery.ErrLeftOver) {
		err = fmt.Errorf("%w: %w", jobs.ErrLeftOver, err)
	}
	return jobs.Counts(report.Report), err
}

// retain removes what ended long ago, seals events that are over, and removes old records of changes and deliveries.
func (a *App) retain(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
	var purged expiry.Report
	var err error
	if a.retention > 0 || run.Trigger == jobs.Manual { // the log of a manual run says that it is off
		purged, err = a.Retention.Run(ctx, a.retention, run.Log)
	}
	sealed, sealErr := a.Sealer.Run(ctx, a.Config.SealAfter, run.Log)
	a.Metrics.EventsSealed.Add(float64(sealed.Applied))
	if sealed.Found > 0 {
		run.Advanced()
	}
	removed, purgeErr := a.purgeChanges(ctx, run)
	if removed > 0 {
		run.Log.InfoContext(ctx, fmt.Sprintf("[RETENTION JOB] Removed %d records of changes", removed), slog.Int64("records", removed))
	}
	return jobs.Counts(purged.Add(sealed)), errors.Join(err, sealErr, purgeErr, a.purgeDeliveries(ctx, run))
}
