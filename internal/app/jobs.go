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
		{Name: "lock-expiry", Interval: c.LockExpiryInterval, MaxDuration: c.LockExpiryMaxDuration, Do: a.searched(a.sweepLocks)},
		{Name: "booking-expiry", Interval: c.BookingExpiryInterval, MaxDuration: c.BookingExpiryMaxDuration, Do: a.searched(a.sweepBookings)},
		{Name: "reconcile", Interval: c.ReconcileInterval, MaxDuration: c.ReconcileMaxDuration, Do: a.searched(a.reconcile)},
		{Name: "retention", Interval: retentionInterval, MaxDuration: retentionTimeout, Do: a.retain},
		{Name: "changes", Interval: time.Second, Resident: true, Do: a.numberChanges},
		{Name: expiry.EventCancel, Interval: time.Second, Asked: a.canceller(jobs.Run{}).Next, Do: a.cancelEvent},
		{Name: "webhooks", Interval: time.Second, Resident: true, Do: a.tellWebhooks},
		a.recoveryJob(),
	}
}

// searched wraps a job: before each run it loads the corrupt documents that are known, and after the run it asks for a search.
func (a *App) searched(
	do func(context.Context, jobs.Run) (jobs.Counts, error),
) func(context.Context, jobs.Run) (jobs.Counts, error) {
	return func(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
		defer a.Corrupt.Ask()
		if err := a.Corrupt.Load(ctx); err != nil {
			run.Log.DebugContext(ctx, "Could not read which documents are corrupt", slog.Any("error", err))
		}
		return do(ctx, run)
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

// cancelEvent cancels the event of a run. It retries until that is done, or until another run has precedence.
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
		run.Log.WarnContext(ctx, "[EVENT CANCEL JOB] Failed; retrying", slog.Any("error", err))
		select {
		case <-ctx.Done():
			return run.Earlier, ctx.Err()
		case <-time.After(cancelRetryDelay):
		}
	}
}

// CancelEvent cancels an event at once, and requests the run that cancels its locks and bookings.
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
		Do: a.searched(func(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
			report, err := pass(ctx, run.ID, run.Log)
			return a.recovered(run, report, err)
		})}
}

// RecoverAll runs the job recovery in this process, under its lease, over all events, including
// archived ones.
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

// recovered reports the result of a recovery pass to its run.
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

// retain removes locks and bookings that ended long ago, archives past events, and removes old records of changes and deliveries.
func (a *App) retain(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
	var purged expiry.Report
	var err error
	if a.Config.EndedRetention.Age > 0 || run.Trigger == jobs.Manual { // the log of a manual run says that it is off
		purged, err = a.Retention.Run(ctx, a.Config.EndedRetention.Age, run.Log)
	}
	archived, archiveErr := a.Archiver.Run(ctx, a.Config.ArchiveAfter, run.Log)
	a.Metrics.EventsArchived.Add(float64(archived.Applied))
	if archived.Found > 0 {
		run.Advanced()
	}
	removed, purgeErr := a.purgeChanges(ctx, run)
	if removed > 0 {
		run.Log.InfoContext(ctx, fmt.Sprintf("[RETENTION JOB] Removed %d records of changes", removed), slog.Int64("records", removed))
	}
	return jobs.Counts(purged.Add(archived)), errors.Join(err, archiveErr, purgeErr, a.purgeDeliveries(ctx, run))
}
