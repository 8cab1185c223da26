package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/recovery"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// JobSettings are the intervals and limits of the jobs, and how long documents are kept.
type JobSettings struct {
	LockExpiryInterval, LockExpiryMaxDuration       time.Duration
	BookingExpiryInterval, BookingExpiryMaxDuration time.Duration
	ReconcileInterval, ReconcileMaxDuration         time.Duration
	RecoveryMaxDuration                             time.Duration
	EndedRetention, ChangesRetention                time.Duration // 0 keeps them for ever
	ArchiveAfter                                    time.Duration
}

// DefaultJobs returns the default settings.
func DefaultJobs() JobSettings {
	const sweeps, passes, month = 5 * time.Minute, 30 * time.Minute, 30 * 24 * time.Hour
	return JobSettings{
		LockExpiryInterval: time.Minute, BookingExpiryInterval: time.Minute, ReconcileInterval: 15 * time.Minute,
		LockExpiryMaxDuration: sweeps, BookingExpiryMaxDuration: sweeps, ReconcileMaxDuration: passes, RecoveryMaxDuration: passes,
		EndedRetention: month, ChangesRetention: month, ArchiveAfter: month,
	}
}

// MinRetention is longer than the payment windows and the retries of clients.
const MinRetention = 24 * time.Hour

// Retention is not urgent. Its only settings are ages.
const (
	retentionInterval = 10 * time.Minute
	retentionTimeout  = 30 * time.Minute
)

// Jobs are the jobs of one engine.
type Jobs struct {
	*Core
	JobSettings

	// Callbacks for metrics. Each of them may be nil.
	Archived func(events int)
	Oversold func(events int)
	// ListChecked is called with each check of a waiting list that has done something, and ListTotals with the number of open entries,
	// while the job waitlist runs in this process. When it ends, ListTotals is called with nil.
	ListChecked func(inventory.ListCheck)
	ListTotals  func(*store.ListTotals)
}

// List lists the jobs that a process schedules. A job is a name, an interval and a function.
func (s *Jobs) List() []jobs.Job {
	return []jobs.Job{
		{Name: "lock-expiry", Interval: s.LockExpiryInterval, MaxDuration: s.LockExpiryMaxDuration, Do: s.searched(s.sweepLocks)},
		{Name: "booking-expiry", Interval: s.BookingExpiryInterval, MaxDuration: s.BookingExpiryMaxDuration, Do: s.searched(s.sweepBookings)},
		{Name: "reconcile", Interval: s.ReconcileInterval, MaxDuration: s.ReconcileMaxDuration, Do: s.searched(s.reconcile)},
		{Name: "retention", Interval: retentionInterval, MaxDuration: retentionTimeout, Do: s.retain},
		{Name: "changes", Interval: time.Second, Resident: true, Do: s.numberChanges},
		{Name: expiry.Waitlist, Interval: time.Second, Resident: true, Do: s.checkLists},
		{Name: expiry.EventCancel, Interval: time.Second, Asked: s.Canceller(jobs.Run{}).Next, Do: s.cancelEvent},
	}
}

// searched wraps a job: before each run it loads the corrupt documents that are known, and after the run it asks for a search.
func (s *Jobs) searched(
	do func(context.Context, jobs.Run) (jobs.Counts, error),
) func(context.Context, jobs.Run) (jobs.Counts, error) {
	return func(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
		defer s.Corrupt.Ask()
		if err := s.Corrupt.Load(ctx); err != nil {
			run.Log.DebugContext(ctx, "Could not read which documents are corrupt", slog.Any("error", err))
		}
		return do(ctx, run)
	}
}

// Canceller reports its progress to a run.
func (s *Jobs) Canceller(run jobs.Run) *expiry.Canceller {
	return &expiry.Canceller{Sweeper: s.Sweeper, TakesTurns: true, OnProgress: func(ctx context.Context, report expiry.Report) {
		run.Report(ctx, run.Earlier.Add(jobs.Counts(report)))
	}}
}

// cancelRetryDelay passes after a failure of a run that cancels all of an event.
const cancelRetryDelay = time.Second

// cancelEvent cancels the event of a run. It retries until that is done, or until another run has precedence.
func (s *Jobs) cancelEvent(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
	for {
		report, err := s.Canceller(run).Run(ctx, expiry.Run{Run: inventory.Run{ID: run.ID}, Log: run.Log})
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

// RecoveryName is the name of the job that runs at the start of a process, and manually.
const RecoveryName = "recovery"

// RecoveryJob returns the job recovery with one of its passes.
func (s *Jobs) RecoveryJob(pass func(context.Context, string, *slog.Logger) (recovery.Report, error)) jobs.Job {
	return jobs.Job{Name: RecoveryName, MaxDuration: s.RecoveryMaxDuration,
		Do: s.searched(func(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
			report, err := pass(ctx, run.ID, run.Log)
			return s.recovered(run, report, err)
		})}
}

func (s *Jobs) sweepLocks(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
	report, err := s.Sweeper.SweepLocks(ctx, sweep(run, holdfast.EndedByLockExpiry))
	return jobs.Counts(report), err
}

func (s *Jobs) sweepBookings(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
	bookings := sweep(run, holdfast.EndedByBookingExpiry)
	bookings.Initiated = true
	report, err := s.Sweeper.SweepBookings(ctx, bookings)
	return jobs.Counts(report), err
}

func sweep(run jobs.Run, by holdfast.EndedBy) expiry.Run {
	return expiry.Run{Run: inventory.Run{By: by, ID: run.ID}, Log: run.Log}
}

// checkLists does what is due for waiting lists, as long as its process leads. A manual run ends when nothing is due.
func (s *Jobs) checkLists(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
	checker := &expiry.ListChecker{Pipeline: s.Pipeline, Batch: s.Sweeper.Batch, Checked: s.ListChecked}
	if s.ListTotals != nil {
		checker.Totals = func(t store.ListTotals) { s.ListTotals(&t) }
		defer s.ListTotals(nil) // another process may lead
	}
	report, err := checker.Run(ctx, run.Log, run.Trigger == jobs.Manual)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, jobs.ErrLeaseLost):
		return jobs.Counts(report), cause
	case ctx.Err() != nil: // the next leader goes on
		return jobs.Counts(report), nil
	default:
		return jobs.Counts(report), err
	}
}

func (s *Jobs) reconcile(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
	report, err := s.Recovery.Reconcile(ctx, run.ID, run.Log)
	return s.recovered(run, report, err)
}

// recovered reports the result of a recovery pass to its run.
func (s *Jobs) recovered(run jobs.Run, report recovery.Report, err error) (jobs.Counts, error) {
	if s.Oversold != nil {
		s.Oversold(report.Oversold)
	}
	if report.Checked+report.Consumed > 0 {
		run.Advanced()
	}
	if errors.Is(err, recovery.ErrLeftOver) {
		err = fmt.Errorf("%w: %w", jobs.ErrLeftOver, err)
	}
	return jobs.Counts(report.Report), err
}

// retain removes locks and bookings that ended long ago, archives past events, and removes old records of changes and deliveries.
func (s *Jobs) retain(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
	var purged expiry.Report
	var err error
	if s.EndedRetention > 0 || run.Trigger == jobs.Manual { // the log of a manual run says that it is off
		purged, err = s.Retention.Run(ctx, s.EndedRetention, run.Log)
	}
	archived, archiveErr := s.Archiver.Run(ctx, s.ArchiveAfter, run.Log)
	if s.Archived != nil {
		s.Archived(archived.Applied)
	}
	if archived.Found > 0 {
		run.Advanced()
	}
	removed, purgeErr := s.purgeChanges(ctx, run)
	if removed > 0 {
		run.Log.InfoContext(ctx, fmt.Sprintf("[RETENTION JOB] Removed %d records of changes", removed), slog.Int64("records", removed))
	}
	return jobs.Counts(purged.Add(archived)), errors.Join(err, archiveErr, purgeErr, s.purgeDeliveries(ctx, run))
}
