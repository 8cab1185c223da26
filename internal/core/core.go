// Package core assembles the engine. The API, the workers, seatctl, the benchmarks, the
// tests and package engine all open it here.
package core

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

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
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/users"
)

// Options of Connect and New. Zero values mean the defaults.
type Options struct {
	URI      string // of a replica set or a mongos
	Database string // "holdfast"
	Log      *slog.Logger
	Clock    clock.Clock
	Monitor  *event.CommandMonitor
	Observe  Observer

	Rules      inventory.Rules // 10 min, 2 h and 24 h; no limits
	SweepBatch int             // 500 documents in one transaction
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

const (
	defaultLockTTL    = 10 * time.Minute
	defaultMaxLockTTL = 2 * time.Hour
	defaultPaymentTTL = 24 * time.Hour
	defaultSweepBatch = 500
)

func (o Options) withDefaults() Options {
	o.Database = cmp.Or(o.Database, "holdfast")
	o.Log = cmp.Or(o.Log, slog.Default())
	o.SweepBatch = cmp.Or(o.SweepBatch, defaultSweepBatch)
	o.Rules.DefaultLockTTL = cmp.Or(o.Rules.DefaultLockTTL, defaultLockTTL)
	o.Rules.MaxLockTTL = cmp.Or(o.Rules.MaxLockTTL, defaultMaxLockTTL)
	o.Rules.MaxPaymentTTL = cmp.Or(o.Rules.MaxPaymentTTL, defaultPaymentTTL)
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

// Connect opens the database and the engine on it. It writes nothing. The error says how to
// solve the problem.
func Connect(ctx context.Context, o Options) (*Core, error) {
	o = o.withDefaults()
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
	c.Pipeline = pipeline.New(c.Store, pipeline.Options{Rules: o.Rules, Users: lookup, WithoutMemory: o.WithoutMemory})
	c.Seats = seats.New(c.Pipeline, o.Rules.MaxLockTTL)
	c.Bookings = booking.New(c.Pipeline, o.Rules.MaxPaymentTTL, o.Observe.Bookings)
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

// Close waits for commands in flight, at most until ctx ends, and disconnects.
func (c *Core) Close(ctx context.Context) error {
	return errors.Join(c.Pipeline.Close(ctx), c.DB.Close(ctx))
}
