// Package app puts the parts of a process together, the API's and the worker's
// alike: the services on their database, recovery at the boot, the jobs, and
// what /readyz says of them.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/recovery"
	"github.com/holdfast-dev/holdfast/seats"
	"github.com/holdfast-dev/holdfast/users"
)

// App is one process's services.
type App struct {
	Config   *config.Config
	Log      *slog.Logger
	Metrics  *telemetry.Metrics
	DB       *mongodb.DB
	Users    *users.Service
	Seats    *seats.Service
	Bookings *booking.Service
	Recovery *recovery.Recovery

	sweeper  *expiry.Sweeper
	runner   *jobs.Runner
	degraded []string // what MongoDB refused of indexes and validators
	recovery atomic.Pointer[string]
	stopping atomic.Bool
}

// States of the recovery pass, as /readyz names them.
const (
	recoveryRunning   = "running"
	recoveryCompleted = "completed"
	recoveryFailed    = "failed"
)

// Open connects, and makes indexes and validators. Its error says what to do.
func Open(ctx context.Context, c *config.Config, log *slog.Logger) (*App, error) {
	metrics, now := telemetry.NewMetrics(), clock.Clock(clock.System)
	db, err := mongodb.Connect(ctx, c.MongoDBURI, c.MongoDBDatabase, mongodb.Options{
		Log: log, Clock: now,
		Observe: mongodb.Observer{
			Transaction: func(o mongodb.Outcome, attempts int) {
				metrics.Transactions.WithLabelValues(string(o)).Inc()
				metrics.Attempts.Observe(float64(attempts))
			},
			Orphans: func(n int) { metrics.OrphansEnded.Add(float64(n)) },
		},
	})
	if err != nil {
		return nil, err
	}
	a := &App{Config: c, Log: log, Metrics: metrics, DB: db, Users: users.New(db)}
	a.Seats = seats.New(db, seats.Limits{DefaultTTL: c.LockDefaultTTL, MaxTTL: c.LockMaxTTL})
	a.Bookings = booking.New(db, a.Seats, booking.Limits{MaxPaymentTTL: c.PaymentMaxTTL},
		booking.Observer{PaidAndRefused: metrics.PaidAndRefused.Inc})
	a.sweeper = &expiry.Sweeper{Seats: a.Seats, Bookings: a.Bookings, Batch: c.SweepBatch}
	a.Recovery = &recovery.Recovery{
		DB: db, Seats: a.Seats, Bookings: a.Bookings, Sweeper: a.sweeper, Clock: now, Corrected: metrics.Corrections.Inc,
	}
	a.runner = &jobs.Runner{Log: log, Clock: now, Observe: func(job string, o jobs.Outcome, n jobs.Counts, took time.Duration) {
		metrics.Run(job, string(o), n.Found, n.Applied, n.Skipped, n.Errors, n.SeatsRestored, took)
	}}
	a.setRecovery(recoveryRunning)
	if err := a.ensureSchema(ctx); err != nil {
		return nil, errors.Join(err, db.Close(context.WithoutCancel(ctx)))
	}
	return a, nil
}

func (a *App) ensureSchema(ctx context.Context) (err error) {
	var all []mongodb.Collection
	all = append(append(append(all, users.Collections()...), seats.Collections()...), booking.Collections()...)
	a.degraded, err = mongodb.EnsureSchema(ctx, a.DB, all...)
	for _, d := range a.degraded {
		a.Log.ErrorContext(ctx, "An index or a validator is missing", "advice", d)
	}
	if err != nil {
		return fmt.Errorf("making indexes and validators: %w", err)
	}
	return nil
}

func (a *App) setRecovery(state string) { a.recovery.Store(&state) }

// Recover is the recovery pass of the boot. If it fails, the process goes on
// and /readyz says so.
func (a *App) Recover(ctx context.Context) {
	start := a.DB.Clock()()
	state := recoveryFailed
	_, err := a.runner.Execute(ctx, a.recoveryJob())
	if err == nil {
		state = recoveryCompleted
		a.Metrics.RecoveryComplete.Set(1)
	} else if ctx.Err() == nil {
		a.Log.ErrorContext(ctx, "[RECOVERY] System recovery failed; proceeding with the start", "error", err)
	}
	a.Metrics.RecoverySeconds.Set(a.DB.Clock().Since(start).Seconds())
	a.setRecovery(state)
}

func (a *App) recoveryJob() jobs.Job {
	return jobs.Job{Name: "recovery", MaxDuration: a.Config.RecoveryMaxDuration,
		Do: func(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
			report, err := a.Recovery.Run(ctx, run.ID, run.Log)
			a.Metrics.OversoldEvents.Set(float64(report.Oversold))
			return counts(report.Report), err
		}}
}

func counts(r expiry.Report) jobs.Counts { return jobs.Counts(r) }

// Jobs are the scheduled ones.
func (a *App) Jobs() []jobs.Job {
	c := a.Config
	return []jobs.Job{
		{Name: "lock-expiry", Interval: c.LockExpiryInterval, MaxDuration: c.LockExpiryMaxDuration,
			Do: func(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
				report, err := a.sweeper.SweepLocks(ctx, expiry.Pass{RunID: run.ID, By: seats.ByLockExpiry, Log: run.Log, Words: expiry.LockWords})
				return counts(report), err
			}},
		{Name: "booking-expiry", Interval: c.BookingExpiryInterval, MaxDuration: c.BookingExpiryMaxDuration,
			Do: func(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
				report, err := a.sweeper.SweepBookings(ctx, expiry.Pass{RunID: run.ID, By: seats.ByBookingExpiry, Log: run.Log, Words: expiry.BookingWords}, true)
				return counts(report), err
			}},
		{Name: "reconcile", Interval: c.ReconcileInterval, MaxDuration: c.ReconcileMaxDuration,
			Do: func(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
				report, err := a.Recovery.Reconcile(ctx, run.Log)
				a.Metrics.OversoldEvents.Set(float64(report.Oversold))
				return counts(report.Report), err
			}},
	}
}

// Schedule runs the jobs until ctx ends.
func (a *App) Schedule(ctx context.Context) error { return jobs.Schedule(ctx, a.runner, a.Jobs()) }

// Stopping makes /readyz fail, so that no new traffic is sent here.
func (a *App) Stopping() { a.stopping.Store(true) }

// Close waits for what is under way, and ends the connections.
func (a *App) Close(ctx context.Context) error {
	return errors.Join(a.Seats.Close(ctx), a.DB.Close(ctx))
}

// Serving reports whether the boot's recovery pass has ended.
func (a *App) Serving() bool { return *a.recovery.Load() != recoveryRunning }

const checkTime = 2 * time.Second

// Ready is what /readyz answers.
func (a *App) Ready(ctx context.Context) httpapi.Readiness {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	state := *a.recovery.Load()
	ready := httpapi.Readiness{Ready: a.Serving() && !a.stopping.Load(), Checks: map[string]string{
		"mongo": "ok", "redis": "not used", "leases": "none: every process that schedules runs every job",
		"recovery": state, "oversold": "none", "schema": "ok",
	}}
	ready.Degraded = state == recoveryFailed
	if len(a.degraded) > 0 {
		ready.Degraded = true
		ready.Checks["schema"] = strconv.Itoa(len(a.degraded)) + " indexes or validators missing; the log says which and what to do"
	}
	if a.stopping.Load() {
		ready.Checks["process"] = "stopping"
	}
	if err := a.DB.Ping(ctx); err != nil {
		ready.Ready = false
		ready.Checks["mongo"] = "no writable primary answers"
		return ready
	}
	n, err := a.Seats.OversoldEvents(ctx)
	if err != nil {
		ready.Checks["oversold"] = "unknown"
		return ready
	}
	a.Metrics.OversoldEvents.Set(float64(n))
	if n > 0 {
		ready.Degraded = true
		ready.Checks["oversold"] = strconv.FormatInt(n, 10) + " events"
	}
	return ready
}
