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

	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/recovery"
	"github.com/holdfast-dev/holdfast/seats"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/users"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// Options are the options of Connect and New. Zero values mean the defaults.
type Options struct {
	Settings

	URI string // of a replica set or a mongos
	// Client is used instead of URI. Close does not disconnect it.
	Client  *mongodb.Client
	Log     *slog.Logger
	Clock   mongodb.Clock
	Monitor *event.CommandMonitor
	Observe Observer

	// Users looks up which users do not exist. If it is nil, the lookup of package users is used.
	Users pipeline.UserLookup
	// WebhookAllowPrivate allows endpoints with http, on any port, and at private addresses.
	WebhookAllowPrivate bool
	// WithoutMemory is for tests: see pipeline.Options.
	WithoutMemory bool
	// Collections are those of other packages. They are searched for corrupt documents too.
	Collections []mongodb.Collection
}

// Observer has callbacks for metrics. Each of them may be nil.
type Observer struct {
	Database  mongodb.Observer
	Bookings  booking.Observer
	Corrected func() // called when a counter was corrected
	Corrupt   func(CorruptReport)
	// Listed is called with each plan that makes or changes entries of a waiting list, after its commit, and MissedOffers for the offers
	// that a pass made although nothing was due.
	Listed       func(inventory.Plan)
	MissedOffers func(offers int)
}

func (o Options) withDefaults() Options {
	o.Settings = o.Settings.withDefaults()
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Clock == nil {
		o.Clock = mongodb.SystemTime
	}
	return o
}

// Core has the parts of the engine on one database.
type Core struct {
	DB        *mongodb.DB
	Store     *store.Store
	Changes   *changes.Log
	Audit     *changes.AuditLog
	Webhooks  *webhooks.Service
	Pipeline  *pipeline.Pipeline
	Users     *users.Service
	Plans     *seats.Plans
	Seats     *seats.Service
	Bookings  *booking.Service
	Sweeper   *expiry.Sweeper
	Retention *expiry.Retention
	Archiver  *expiry.Archiver
	Eraser    *expiry.Eraser
	Recovery  *recovery.Recovery
	Corrupt   *CorruptWatch
}

// Connect checks the settings, and opens the database and the engine on it. It writes
// nothing. It fails with ErrLaterSchema if a later version has made the schema. The error says how to solve the
// problem.
func Connect(ctx context.Context, o Options) (*Core, error) {
	switch {
	case o.URI != "" && o.Client != nil:
		return nil, errors.New("the URI and the client are both set: leave one of them out")
	case o.URI == "" && o.Client == nil:
		return nil, errors.New("the URI is not set: set it to a replica set or a mongos, such as mongodb://localhost:27017/?replicaSet=rs0")
	}
	o = o.withDefaults()
	if err := o.Check(nil); err != nil {
		return nil, err
	}
	db, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkVersion(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close(context.WithoutCancel(ctx)))
	}
	return New(db, o), nil
}

func (o Options) connect(ctx context.Context) (*mongodb.DB, error) {
	options := mongodb.Options{Log: o.Log, Clock: o.Clock, Monitor: o.Monitor, Observe: o.Observe.Database}
	if o.Client != nil {
		return mongodb.Use(ctx, o.Client, o.Database, options)
	}
	return mongodb.Connect(ctx, o.URI, o.Database, options)
}

// New opens the engine on a connected database.
func New(db *mongodb.DB, o Options) *Core {
	o = o.withDefaults()
	c := &Core{DB: db, Users: users.New(db), Plans: seats.NewPlans(db), Audit: changes.NewAuditLog(db)}
	c.Store, c.Changes = store.New(db, c.Plans.Hall), changes.New(db)
	c.Webhooks = webhooks.New(db, c.Changes, o.WebhookAllowPrivate)
	lookup := o.Users
	if lookup == nil {
		lookup = c.Users.Unknown
	}
	c.Pipeline = pipeline.New(c.Store, pipeline.Options{
		Rules: o.rules(), Users: lookup, Paid: o.Observe.Bookings.Paid, Listed: o.Observe.Listed, WithoutMemory: o.WithoutMemory,
	})
	c.Seats = seats.New(c.Pipeline, c.Plans, o.LockMaxTTL)
	c.Bookings = booking.New(c.Pipeline, o.PaymentMaxTTL)
	c.Sweeper = &expiry.Sweeper{Pipeline: c.Pipeline, Batch: o.SweepBatch}
	c.Retention = &expiry.Retention{Store: c.Store, Batch: o.SweepBatch}
	c.Archiver = &expiry.Archiver{Pipeline: c.Pipeline}
	c.Eraser = &expiry.Eraser{Sweeper: c.Sweeper, Users: c.Users, Log: db.Log()}
	c.Recovery = &recovery.Recovery{
		Pipeline: c.Pipeline, Sweeper: c.Sweeper,
		Corrected: o.Observe.Corrected, MissedOffers: o.Observe.MissedOffers, OnProgress: recovery.LogProgress,
	}
	c.Corrupt = &CorruptWatch{
		db: db, collections: slices.Concat(Collections(), o.Collections),
		asked: make(chan struct{}, 1), repair: c.Recovery.RepairEvent, onNew: func(found CorruptReport) {
			c.Store.SetCorruptLocks(found.ids(store.LocksName))
			if o.Observe.Corrupt != nil {
				o.Observe.Corrupt(found)
			}
		},
	}
	return c
}

// AllUsersExist is a UserLookup for programs that keep their users elsewhere.
func AllUsersExist(context.Context, []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
	return nil, nil
}

// Collections returns the engine's collections, with their indexes and validators. The last entry is the unique
// index of seats, which a new database gets unless it is left out; see WithoutSeatIndex.
func Collections() []mongodb.Collection {
	return slices.Concat(mongodb.Collections(), users.Collections(), seats.Collections(), store.Collections(), changes.Collections(),
		webhooks.Collections(), store.SeatIndex())
}

// WithoutSeatIndex returns the collections without the unique index of seats.
func WithoutSeatIndex(all []mongodb.Collection) []mongodb.Collection {
	return slices.DeleteFunc(slices.Clone(all), store.IsSeatIndex)
}

// withSeatIndex returns the collections with or without the unique index of seats, as decided for the database.
func withSeatIndex(all []mongodb.Collection, decided bool) []mongodb.Collection {
	all = WithoutSeatIndex(all)
	if decided {
		all = append(all, store.SeatIndex()...)
	}
	return all
}

// SchemaVersion is the version of the schema that Collections describes. Raise it with each change that makes
// processes of the previous version fail.
const SchemaVersion = 1

// ErrLaterSchema says that a later version of Holdfast has made the schema of the database. It is left as it is.
var ErrLaterSchema = errors.New("the database has the schema of a later version of Holdfast: start that version, or one after it")

// checkVersion fails with ErrLaterSchema if this version does not know the schema.
func checkVersion(ctx context.Context, db *mongodb.DB) error {
	found, err := db.ReadVersion(ctx)
	if err != nil {
		return fmt.Errorf("the version of the schema could not be read: %w", err)
	}
	return known(found)
}

func known(v mongodb.Version) error {
	if v.Version > SchemaVersion {
		return fmt.Errorf("%w (schema version %d; this one knows version %d)", ErrLaterSchema, v.Version, SchemaVersion)
	}
	return nil
}

// EnsureSchema creates missing collections, indexes and validators, and replaces those that differ. It logs and
// returns each change that MongoDB refuses. With ErrLaterSchema it has changed nothing.
func EnsureSchema(ctx context.Context, db *mongodb.DB, log *slog.Logger, all ...mongodb.Collection) (degraded []string, err error) {
	found, err := db.RaiseVersion(ctx, SchemaVersion) // before the first change
	if err == nil {
		err = known(found)
	}
	if err != nil {
		return nil, err
	}
	decided := found.SeatIndex
	if !found.SeatIndexDecided {
		if decided, err = db.DecideSeatIndex(ctx, slices.ContainsFunc(all, store.IsSeatIndex)); err != nil {
			return nil, err
		}
	}
	degraded, err = mongodb.EnsureSchema(ctx, db, withSeatIndex(all, decided)...)
	for _, advice := range degraded {
		log.ErrorContext(ctx, "An index or a validator is missing", slog.String("advice", advice))
	}
	return degraded, err
}

// SchemaGaps lists the changes that EnsureSchema would make. It lists none if a later version has made the schema.
// It only reads.
func SchemaGaps(ctx context.Context, db *mongodb.DB, all ...mongodb.Collection) (gaps []string, err error) {
	found, err := db.ReadVersion(ctx)
	if err != nil || found.Version > SchemaVersion {
		return nil, err
	}
	if found.Version < SchemaVersion {
		gaps = append(gaps, "the version of the schema is missing; the API or a worker writes it at its start")
	}
	missing, err := mongodb.SchemaGaps(ctx, db, withSeatIndex(all, found.SeatIndex)...)
	return append(gaps, missing...), err
}

// Close waits for commands in flight, at most until ctx ends, and disconnects.
func (c *Core) Close(ctx context.Context) error {
	return errors.Join(c.Pipeline.Close(ctx), c.DB.Close(ctx))
}
