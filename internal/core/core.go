// Package core assembles the engine. The API, the workers, seatctl, the benchmarks, the
// tests and package engine all open it here.
package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/recovery"
	"github.com/holdfast-dev/holdfast/seats"
	"github.com/holdfast-dev/holdfast/seats/plans"
	"github.com/holdfast-dev/holdfast/users"
	"github.com/holdfast-dev/holdfast/webhooks"
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
	// WebhookAllowPrivate: endpoints may be http, on any port, and at private addresses.
	WebhookAllowPrivate bool
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
	Changes   *changes.Log
	Audit     *audit.Log
	Webhooks  *webhooks.Service
	Pipeline  *pipeline.Pipeline
	Users     *users.Service
	Plans     *plans.Service
	Seats     *seats.Service
	Bookings  *booking.Service
	Sweeper   *expiry.Sweeper
	Retention *expiry.Retention
	Sealer    *expiry.Sealer
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
	db.LearnUpgrade(ctx)
	return New(db, o), nil
}

// New opens the engine on a connected database.
func New(db *mongodb.DB, o Options) *Core {
	o = o.withDefaults()
	c := &Core{DB: db, Users: users.New(db), Plans: plans.New(db), Audit: audit.New(db)}
	c.Store, c.Changes = store.New(db, c.Plans.Hall), changes.New(db)
	c.Webhooks = webhooks.New(db, c.Changes, o.WebhookAllowPrivate)
	lookup := o.Users
	if lookup == nil {
		lookup = c.Users.Unknown
	}
	c.Pipeline = pipeline.New(c.Store, pipeline.Options{
		Rules: o.rules(), Users: lookup, Paid: o.Observe.Bookings.Paid, WithoutMemory: o.WithoutMemory,
	})
	c.Seats = seats.New(c.Pipeline, c.Plans, o.LockMaxTTL)
	c.Bookings = booking.New(c.Pipeline, o.PaymentMaxTTL)
	c.Sweeper = &expiry.Sweeper{Pipeline: c.Pipeline, Batch: o.SweepBatch}
	c.Retention = &expiry.Retention{Store: c.Store, Batch: o.SweepBatch}
	c.Sealer = &expiry.Sealer{Store: c.Store}
	c.Recovery = &recovery.Recovery{
		Pipeline: c.Pipeline, Sweeper: c.Sweeper, ForeignUsers: c.Users.Foreign,
		Corrected: o.Observe.Corrected, OnProgress: recovery.LogProgress,
	}
	return c
}

// AllUsersExist is a UserLookup for programs that keep their users elsewhere.
func AllUsersExist(context.Context, []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
	return nil, nil
}

// Collections are the engine's collections, with their indexes and validators. Its last entry is the unique
// index of seats, which a new database gets unless it is left out; see WithoutSeatIndex.
func Collections() []mongodb.Collection {
	return slices.Concat(mongodb.Collections(), users.Collections(), plans.Collections(), store.Collections(), changes.Collections(),
		audit.Collections(), webhooks.Collections(), store.SeatIndex())
}

// WithoutSeatIndex are collections without the unique index of seats.
func WithoutSeatIndex(all []mongodb.Collection) []mongodb.Collection {
	return slices.DeleteFunc(slices.Clone(all), store.IsSeatIndex)
}

// withSeatIndex are collections with the unique index of seats, or without, as it is decided for the database.
func withSeatIndex(all []mongodb.Collection, decided bool) []mongodb.Collection {
	all = WithoutSeatIndex(all)
	if decided {
		all = append(all, store.SeatIndex()...)
	}
	return all
}

// sinceSeatIndex is the first version of the schema with the unique index of seats. Databases that were
// created with an earlier one have none, until an operator decides for it.
const sinceSeatIndex = 3

// SchemaVersion is the version of the schema that Collections describes. Raise it with each
// change of a validator or an index: a process leaves a database of a later version as it is.
const SchemaVersion = 6

// EnsureSchema makes missing indexes and validators, and drops indexes of former versions. It
// logs each change that MongoDB refuses, and returns these. A schema of a later version is left
// as it is.
func EnsureSchema(ctx context.Context, db *mongodb.DB, log *slog.Logger, all ...mongodb.Collection) (degraded []string, err error) {
	before, isNew, err := db.SchemaVersion(ctx, store.EventsCollection)
	if err != nil || before.Version > SchemaVersion {
		return nil, err
	}
	upgrade, isLost := mongodb.UpgradeRunning, false
	if isNew {
		upgrade = mongodb.UpgradeFinished
	} else if !before.Upgrade.IsState() {
		if isLost, err = mongodb.RefusesFormer(ctx, db, all...); err != nil {
			return nil, err
		}
	}
	if isLost { // the validators know it still
		log.WarnContext(ctx, "The state of the upgrade can't be read, and the validators are those of its end: it counts as finished")
		upgrade = mongodb.UpgradeFinished
		if err := db.ResetPosition(ctx); err != nil { // perhaps not all fields were moved
			return nil, err
		}
	}
	found, err := db.RaiseVersion(ctx, SchemaVersion, isNew, upgrade) // before the first change
	if err != nil || found.Version > SchemaVersion {
		return nil, err
	}
	decided := found.SeatIndex
	if !found.SeatIndexDecided {
		wanted := found.Created >= sinceSeatIndex && slices.ContainsFunc(all, store.IsSeatIndex)
		if decided, err = db.DecideSeatIndex(ctx, wanted); err != nil {
			return nil, err
		}
	}
	all = withSeatIndex(all, decided)
	if degraded, err = mongodb.EnsureSchema(ctx, db, all...); err != nil {
		return degraded, err
	}
	for _, advice := range degraded {
		log.ErrorContext(ctx, "An index or a validator is missing", slog.String("advice", advice))
	}
	if db.Shared() { // the former version needs its indexes
		return degraded, nil
	}
	return degraded, mongodb.DropRetired(ctx, db, slices.Concat(all, store.RetentionIndexes(), store.SeatIndex())...)
}

// SchemaGaps lists the changes that EnsureSchema would make. It only reads.
func SchemaGaps(ctx context.Context, db *mongodb.DB, all ...mongodb.Collection) (gaps []string, err error) {
	found, _, err := db.SchemaVersion(ctx, store.EventsCollection)
	if err != nil || found.Version > SchemaVersion {
		return nil, err
	}
	if found.Version < SchemaVersion {
		gaps = append(gaps, fmt.Sprintf("the schema has version %d, not %d; the API or a worker raises it at its start",
			found.Version, SchemaVersion))
	}
	missing, err := mongodb.SchemaGaps(ctx, db, withSeatIndex(all, found.SeatIndex)...)
	return append(gaps, missing...), err
}

// ForeignSetup lists what other software has set up on the collections; see mongodb.ForeignSetup. A later
// version knows better what is its own.
func ForeignSetup(ctx context.Context, db *mongodb.DB, all ...mongodb.Collection) (advice []string, err error) {
	found, _, err := db.SchemaVersion(ctx, store.EventsCollection)
	if err != nil || found.Version > SchemaVersion {
		return nil, err
	}
	return mongodb.ForeignSetup(ctx, db, withSeatIndex(all, true)...)
}

// Close waits for commands in flight, at most until ctx ends, and disconnects.
func (c *Core) Close(ctx context.Context) error {
	return errors.Join(c.Pipeline.Close(ctx), c.DB.Close(ctx))
}

// defaultEndedRetention is how long ended locks stay in a database that was created with a
// version of the schema.
const defaultEndedRetention = 720 * time.Hour

// EndedRetention is how long ended locks stay unless it is set; 0 is for ever. Databases of
// versions without this default keep everything.
func EndedRetention(ctx context.Context, db *mongodb.DB) (time.Duration, error) {
	v, isNew, err := db.SchemaVersion(ctx, store.EventsCollection)
	if err != nil || !isNew && v.Created == 0 {
		return 0, err
	}
	return defaultEndedRetention, nil
}
