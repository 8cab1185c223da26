// Package core assembles the engine. The API, the workers, seatctl, the benchmarks, the
// tests and package engine all open it here.
package core

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"

	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/recovery"
	"github.com/holdfast-dev/holdfast/seats"
	"github.com/holdfast-dev/holdfast/users"
)

// Options of Connect and New. Zero values mean the defaults.
type Options struct {
	Settings

	URI     string // of a replica set or a mongos
	Log     *slog.Logger
	Clock   clock.Clock
	Monitor *event.CommandMonitor
	Observe Observer

	// Users finds the users that do not exist; nil means the lookup of package users.
	Users pipeline.UserLookup
	// WithoutMemory: see pipeline.Options.
	WithoutMemory bool
}

// Observer has callbacks for metrics; each may be nil.
type Observer struct {
	Database  mongodb.Observer
	Bookings  booking.Observer
	Corrected func() // a counter was corrected
}

func (o Options) withDefaults() Options {
	o.Settings = o.Settings.withDefaults()
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Clock == nil {
		o.Clock = clock.System
	}
	return o
}

// Core is the engine's parts on one database.
type Core struct {
	DB        *mongodb.DB
	Store     *store.Store
	Pipeline  *pipeline.Pipeline
	Users     *users.Service
	Seats     *seats.Service
	Bookings  *booking.Service
	Sweeper   *expiry.Sweeper
	Retention *expiry.Retention
	Recovery  *recovery.Recovery
}

// Connect checks the settings, and opens the database and the engine on it. It writes
// nothing. The error says how to solve the problem.
func Connect(ctx context.Context, o Options) (*Core, error) {
	if o.URI == "" {
		return nil, errors.New("the URI is not set: set it to a replica set or a mongos, such as mongodb://localhost:27017/?replicaSet=rs0")
	}
	o = o.withDefaults()
	if err := o.Check(nil); err != nil {
		return nil, err
	}
	db, err := mongodb.Connect(ctx, o.URI, o.Database, mongodb.Options{
		Log: o.Log, Clock: o.Clock, Monitor: o.Monitor, Observe: o.Observe.Database,
	})
	if err != nil {
		return nil, err
	}
	return New(db, o), nil
}

// New opens the engine on a connected database.
func New(db *mongodb.DB, o Options) *Core {
	o = o.withDefaults()
	c := &Core{DB: db, Store: store.New(db), Users: users.New(db)}
	lookup := o.Users
	if lookup == nil {
		lookup = c.Users.Unknown
	}
	c.Pipeline = pipeline.New(c.Store, pipeline.Options{Rules: o.rules(), Users: lookup, WithoutMemory: o.WithoutMemory})
	c.Seats = seats.New(c.Pipeline, o.LockMaxTTL)
	c.Bookings = booking.New(c.Pipeline, o.PaymentMaxTTL, o.Observe.Bookings)
	c.Sweeper = &expiry.Sweeper{Pipeline: c.Pipeline, Batch: o.SweepBatch}
	c.Retention = &expiry.Retention{Store: c.Store, Batch: o.SweepBatch}
	c.Recovery = &recovery.Recovery{Pipeline: c.Pipeline, Sweeper: c.Sweeper, Corrected: o.Observe.Corrected, OnProgress: recovery.LogProgress}
	return c
}

// AllUsersExist is a UserLookup for programs that keep their users elsewhere.
func AllUsersExist(context.Context, []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
	return nil, nil
}

// Collections are the engine's collections, with their indexes and validators.
func Collections() []mongodb.Collection {
	return slices.Concat(users.Collections(), store.Collections())
}

// EnsureSchema makes missing indexes and validators. It logs each one that MongoDB refuses,
// and returns advice for it; the engine works without it.
func EnsureSchema(ctx context.Context, db *mongodb.DB, log *slog.Logger, all ...mongodb.Collection) (degraded []string, err error) {
	degraded, err = mongodb.EnsureSchema(ctx, db, all...)
	for _, advice := range degraded {
		log.ErrorContext(ctx, "An index or a validator is missing", slog.String("advice", advice))
	}
	return degraded, err
}

// Close waits for commands in flight, at most until ctx ends, and disconnects.
func (c *Core) Close(ctx context.Context) error {
	return errors.Join(c.Pipeline.Close(ctx), c.DB.Close(ctx))
}
