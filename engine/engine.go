// Package engine is Holdfast for use in a Go program, without HTTP: open it on a MongoDB
// replica set, make seating plans and events, acquire seats and book them.
//
// Call Recover at the start, and then Run until the program ends, in a goroutine. Run does
// the work that recurs: it expires due locks and bookings, checks the counters, numbers the
// changes, makes offers to waiting lists that are due, and removes what is old. Without it, and without a worker of Holdfast, the
// database grows without end. Run sends no webhooks: a worker does.
//
// Engines on one database may run in any number of processes, together with Holdfast's API
// and workers: MongoDB's transactions keep the seats consistent. The packages seats and
// booking say what each operation guarantees. Errors have a code and details, see
// holdfast.Error.
package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/recovery"
	"github.com/holdfast-dev/holdfast/seats"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/users"
)

// Engine is the inventory, the bookings and their expiry on one database.
type Engine struct {
	Users    *users.Service
	Plans    *seats.Plans
	Seats    *seats.Service
	Bookings *booking.Service

	core    *core.Core
	log     *slog.Logger
	metrics metrics
}

// Open checks the options, connects, and makes missing indexes and validators. The error
// says how to solve the problem.
func Open(ctx context.Context, o Options) (_ *Engine, err error) {
	o.Log = cmp.Or(o.Log, slog.Default())
	e := &Engine{log: o.Log}
	if e.metrics, err = newMetrics(o.Metrics); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.metrics.unregister(e.metrics.own)
		}
	}()
	c, err := core.Connect(ctx, core.Options{
		URI: o.URI, Client: o.Client, Log: o.Log, Clock: o.Clock, Collections: jobs.Collections(),
		Observe: core.Observe(e.metrics.engine, jobs.Collections()...), Settings: o.settings(),
	})
	if err != nil {
		return nil, err
	}
	if _, err = core.EnsureSchema(ctx, c.DB, o.Log, collections()...); err != nil {
		return nil, errors.Join(err, c.Close(context.WithoutCancel(ctx)))
	}
	e.Users, e.Plans, e.Seats, e.Bookings, e.core = c.Users, c.Plans, c.Seats, c.Bookings, c
	return e, nil
}

// collections returns the collections that a worker has too.
func collections() []mongodb.Collection { return slices.Concat(core.Collections(), jobs.Collections()) }

// Close waits for commands in flight, at most until ctx ends, and unregisters the metrics. It disconnects from MongoDB, unless
// the client is the program's own (Options.Client): that one stays connected, and the program disconnects it after Close.
func (e *Engine) Close(ctx context.Context) error {
	e.metrics.unregister(e.metrics.own)
	return e.core.Close(ctx)
}

// Sweep expires due locks and bookings. A program that does not call Run calls it about every minute.
// Several sweeps may run at the same time, in any process. It neither numbers changes nor
// removes what is old.
func (e *Engine) Sweep(ctx context.Context) (expiry.Report, error) {
	locks, err := e.core.Sweeper.SweepLocks(ctx, e.newRun(holdfast.EndedByLockExpiry))
	if err != nil {
		return locks, err
	}
	run := e.newRun(holdfast.EndedByBookingExpiry)
	run.Initiated = true
	bookings, err := e.core.Sweeper.SweepBookings(ctx, run)
	e.findCorrupt(ctx)
	return locks.Add(bookings), err
}

// Recover expires stale locks and bookings, and compares each counter with its locks and
// corrects it. Call it at the start.
func (e *Engine) Recover(ctx context.Context) (recovery.Report, error) {
	id := mongodb.NewRunID("recovery", e.core.DB.Clock()())
	if err := e.core.Corrupt.Load(ctx); err != nil { // the sums leave these out
		return recovery.Report{}, err
	}
	defer e.findCorrupt(ctx)
	return e.core.Recovery.Run(ctx, id, e.log.With(slog.String("correlationId", id), slog.String("job", "recovery")))
}

// findCorrupt logs corrupt documents, and corrects the events of corrupt locks. It takes at most a twentieth of the time.
func (e *Engine) findCorrupt(ctx context.Context) {
	if err := e.core.Corrupt.RefreshIfDue(ctx); err != nil {
		e.log.WarnContext(ctx, "Could not search for corrupt documents", slog.Any("error", err))
	}
}

// CancelEvent cancels an event at once, then ends its locks and bookings and makes their payments REFUND_DUE, and returns
// when that is done: at least a transaction's lifetime of MongoDB later, which is a minute by default. It refuses with
// EVENT_NOT_FOUND. After any other error call it again; a worker of Holdfast carries it out too.
func (e *Engine) CancelEvent(ctx context.Context, id holdfast.ID) (expiry.Report, error) {
	canceller := &expiry.Canceller{Sweeper: e.core.Sweeper}
	run := e.newRun(holdfast.EndedByEventCancel)
	var err error
	if run.ID, err = canceller.Ask(ctx, id); err != nil {
		return expiry.Report{}, err
	}
	return canceller.Run(ctx, run)
}

// Erase erases what is known about a user or, unless holder is "", a holder: see expiry.Eraser.
func (e *Engine) Erase(ctx context.Context, user holdfast.ID, holder string) (expiry.Erased, error) {
	return e.core.Eraser.Erase(ctx, user, holder)
}

func (e *Engine) newRun(job holdfast.EndedBy) expiry.Run {
	id := mongodb.NewRunID(string(job), e.core.DB.Clock()())
	return expiry.Run{Run: inventory.Run{By: job, ID: id}, Log: e.log.With(slog.String("correlationId", id), slog.String("job", string(job)))}
}
