// Package holdfast is the engine for a Go program of one's own, without HTTP: open
// it on a MongoDB replica set, take seats, book them, and let it sweep.
//
// Engines on one database, in whatever process, are safe beside each other and
// beside Holdfast's own API and workers: what makes a seat safe is MongoDB's
// transaction. What each operation guarantees is told in the packages seats and
// booking; errors carry a code, which CodeOf reads.
package holdfast

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/recovery"
	"github.com/holdfast-dev/holdfast/seats"
	"github.com/holdfast-dev/holdfast/users"
)

// Options of Open; all but URI may be left empty.
type Options struct {
	URI      string // of a replica set or a mongos
	Database string // "holdfast"
	Log      *slog.Logger

	LockDefaultTTL time.Duration // 10m
	LockMaxTTL     time.Duration // 2h, from a lock's creation
	PaymentMaxTTL  time.Duration // 24h, from a booking's creation
	SweepBatch     int           // 500 documents in one transaction
	// MaxSeatsPerLock and MaxActiveLocksPerUser are no limits where they are 0.
	MaxSeatsPerLock, MaxActiveLocksPerUser int64
}

func (o Options) withDefaults() Options {
	const batch = 500
	for d, otherwise := range map[*time.Duration]time.Duration{
		&o.LockDefaultTTL: 10 * time.Minute, &o.LockMaxTTL: 2 * time.Hour, &o.PaymentMaxTTL: 24 * time.Hour,
	} {
		if *d == 0 {
			*d = otherwise
		}
	}
	if o.Database == "" {
		o.Database = "holdfast"
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.SweepBatch == 0 {
		o.SweepBatch = batch
	}
	return o
}

// Engine is the inventory, the bookings and their expiry on one database.
type Engine struct {
	Users    *users.Service
	Seats    *seats.Service
	Bookings *booking.Service

	db       *mongodb.DB
	log      *slog.Logger
	sweeper  *expiry.Sweeper
	recovery *recovery.Recovery
}

// Open connects, and makes the indexes and validators that are missing. The error
// says what to do.
func Open(ctx context.Context, o Options) (*Engine, error) {
	o = o.withDefaults()
	db, err := mongodb.Connect(ctx, o.URI, o.Database, mongodb.Options{Log: o.Log, Clock: clock.System})
	if err != nil {
		return nil, err
	}
	var all []mongodb.Collection
	all = append(append(append(all, users.Collections()...), seats.Collections()...), booking.Collections()...)
	degraded, err := mongodb.EnsureSchema(ctx, db, all...)
	if err != nil {
		return nil, errors.Join(err, db.Close(context.WithoutCancel(ctx)))
	}
	for _, d := range degraded {
		o.Log.ErrorContext(ctx, "An index or a validator is missing", "advice", d)
	}
	e := &Engine{Users: users.New(db), db: db, log: o.Log}
	e.Seats = seats.New(db, seats.Limits{
		DefaultTTL: o.LockDefaultTTL, MaxTTL: o.LockMaxTTL, MaxSeats: o.MaxSeatsPerLock, MaxLocks: o.MaxActiveLocksPerUser,
	}, e.Users.Unknown)
	e.Bookings = booking.New(db, e.Seats, booking.Limits{MaxPaymentTTL: o.PaymentMaxTTL}, booking.Observer{})
	e.sweeper = &expiry.Sweeper{Seats: e.Seats, Bookings: e.Bookings, Batch: o.SweepBatch}
	e.recovery = &recovery.Recovery{DB: db, Seats: e.Seats, Bookings: e.Bookings, Sweeper: e.sweeper, Clock: clock.System}
	return e, nil
}

// Close waits for what is under way, at most until ctx ends, and disconnects.
func (e *Engine) Close(ctx context.Context) error {
	return errors.Join(e.Seats.Close(ctx), e.db.Close(ctx))
}

// Sweep expires the locks and bookings that are due. Call it now and then, each
// minute or so; several at once, wherever, do each other no harm.
func (e *Engine) Sweep(ctx context.Context) (expiry.Report, error) {
	locks, err := e.sweeper.SweepLocks(ctx, e.pass("lock-expiry", seats.ByLockExpiry, expiry.LockWords))
	if err != nil {
		return locks, err
	}
	bookings, err := e.sweeper.SweepBookings(ctx, e.pass("booking-expiry", seats.ByBookingExpiry, expiry.BookingWords), true)
	return locks.Add(bookings), err
}

// Recover expires what went stale, and proves each counter against its locks and
// mends it. Call it at the start.
func (e *Engine) Recover(ctx context.Context) (recovery.Report, error) {
	id := runID("recovery")
	return e.recovery.Run(ctx, id, e.log.With("correlationId", id, "job", "recovery"))
}

func (e *Engine) pass(job string, by seats.EndedBy, words expiry.Words) expiry.Pass {
	id := runID(job)
	return expiry.Pass{RunID: id, By: by, Log: e.log.With("correlationId", id, "job", job), Words: words}
}

func runID(job string) string {
	const enough = 8
	return job + "-" + clock.System().UTC().Format("20060102T150405.000Z") + "-" + strings.ToLower(rand.Text()[:enough])
}

// ID names an event, a user, a lock or a booking.
type ID = ids.ID

// ParseID reads 24 hex digits.
func ParseID(text string) (ID, error) { return ids.Parse(text) }

// CodeOf is an error's code, such as seats.CodeSeatsUnavailable, "" for none.
func CodeOf(err error) string { return string(fault.CodeOf(err)) }
