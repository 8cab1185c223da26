package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// cacheGB is the cache of a mongod, in GiB. It has room for all data of a run, as on a server that has enough
// memory. A mongod of the tests has less, and by default MongoDB uses half of the machine's memory.
const cacheGB = 4

// env is the environment of one measurement: a new database and the services on it.
type env struct {
	*core.Core

	uri string
}

// newEnv opens an empty database with these indexes and validators.
func newEnv(ctx context.Context, uri string, collections []mongodb.Collection) (*env, error) {
	e, err := openEnv(ctx, uri, "bench_"+strings.ToLower(rand.Text()[:12]))
	if err != nil {
		return nil, err
	}
	if degraded, err := core.EnsureSchema(ctx, e.DB, e.DB.Log(), collections...); err != nil || len(degraded) > 0 {
		return nil, fmt.Errorf("indexes and validators: %w %v", err, degraded)
	}
	return e, nil
}

// openEnv opens a database as it is.
func openEnv(ctx context.Context, uri, name string) (*env, error) {
	c, err := core.Connect(ctx, core.Options{
		URI: uri, Settings: core.Settings{Database: name}, Users: core.AllUsersExist,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return nil, err
	}
	return &env{Core: c, uri: uri}, nil
}

// row returns a row that is measured on a new database in each round. The database is dropped unless the measurement
// fails.
func (s settings) row(variant, load string, measure func(context.Context, *env) (measurement, error)) *result {
	return s.rowWith(core.Collections(), variant, load, measure)
}

// rowWith is row on a database with these indexes and validators.
func (s settings) rowWith(
	collections []mongodb.Collection, variant, load string, measure func(context.Context, *env) (measurement, error),
) *result {
	return &result{Variant: variant, Load: load, measure: func(ctx context.Context) (m measurement, err error) {
		e, err := newEnv(ctx, s.mongoURI, collections)
		if err != nil {
			return m, err
		}
		if m, err = measure(ctx, e); err != nil {
			return m, err
		}
		return m, e.drop(context.WithoutCancel(ctx))
	}}
}

// drop drops the database and closes the connection.
func (e *env) drop(ctx context.Context) error {
	if err := e.Pipeline.Close(ctx); err != nil {
		return err
	}
	if err := e.DB.Drop(ctx); err != nil {
		return err
	}
	return e.DB.Close(ctx)
}

// createEvents creates unseated events.
func (e *env) createEvents(ctx context.Context, n int, seats int64) (events []holdfast.ID, err error) {
	for range n {
		event, err := e.createEvent(ctx, seats)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}

// createEvent creates an event that is on sale.
func (e *env) createEvent(ctx context.Context, totalSeats int64) (holdfast.ID, error) {
	event, err := e.Seats.CreateEvent(ctx, holdfast.NewEvent{Name: "Event", TotalSeats: totalSeats, EventDate: mongodb.SystemTime().UTC()})
	return event.ID, err
}

// expectation is what the database must show after a measurement.
type expectation struct {
	seats    int64 // granted
	unknown  int64 // seats of operations with unknown outcome
	counters bool  // the variant moves the events' counters
	locks    bool  // the variant stores locks
	grants   int64 // the locks granted; 0: each lock has one seat
}

// check returns an error if counters or locks contradict the expectation.
func (e *env) check(ctx context.Context, want expectation) error {
	sums, err := mongodb.All[struct {
		Taken    int64 `bson:"taken"`
		Negative int64 `bson:"negative"`
	}](ctx, e.DB.Collection("events"), mongo.Pipeline{{{Key: "$group", Value: bson.D{
		{Key: "_id", Value: nil},
		{Key: "taken", Value: sum(bson.D{{Key: "$subtract", Value: bson.A{"$totalSeats", "$availableSeats"}}})},
		{Key: "negative", Value: sum(bson.D{{Key: "$cond", Value: bson.A{bson.D{{Key: "$lt", Value: bson.A{"$availableSeats", 0}}}, 1, 0}}})},
	}}}})
	if err != nil {
		return fmt.Errorf("sum the events: %w", err)
	}
	if len(sums) != 1 {
		return fmt.Errorf("sum the events: the database has none")
	}
	locks, err := mongodb.All[struct {
		Seats int64 `bson:"seats"`
		Count int64 `bson:"count"`
	}](ctx, e.DB.Collection("seatlocks"), mongo.Pipeline{
		mongodb.Match(mongodb.In("status", []string{"ACTIVE", "CONSUMED"})),
		{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil}, {Key: "seats", Value: sum("$seats")}, {Key: "count", Value: sum(1)}}}},
	})
	if err != nil {
		return fmt.Errorf("sum the locks: %w", err)
	}
	held, count := int64(0), int64(0)
	if len(locks) == 1 {
		held, count = locks[0].Seats, locks[0].Count
	}
	taken := sums[0].Taken
	plausible := func(n, granted int64) bool { return n >= granted && n <= granted+want.unknown }
	grants := cmp.Or(want.grants, want.seats)
	switch {
	case sums[0].Negative > 0:
		return fmt.Errorf("%d events have fewer than 0 seats available", sums[0].Negative)
	case want.counters && !plausible(taken, want.seats):
		return fmt.Errorf("%d seats were granted; by the counters, %d are taken", want.seats, taken)
	case want.counters && want.locks && taken != held:
		return fmt.Errorf("by the counters, %d seats are taken; the locks hold %d", taken, held)
	case want.locks && (!plausible(held, want.seats) || !plausible(count, grants)):
		return fmt.Errorf("%d locks of %d seats were granted; %d locks hold %d seats", grants, want.seats, count, held)
	}
	return nil
}

func sum(expression any) bson.D { return bson.D{{Key: "$sum", Value: expression}} }

// checkGranted checks that each granted operation has a lock of one seat.
func (e *env) checkGranted(ctx context.Context, granted int) error {
	return e.check(ctx, expectation{seats: int64(granted), counters: true, locks: true})
}

// checkHalls returns an error if counters, locks and maps contradict each other or the grants.
func (e *env) checkHalls(ctx context.Context, seats, locks int64) error {
	if err := e.check(ctx, expectation{seats: seats, grants: locks, counters: true, locks: true}); err != nil {
		return err
	}
	return e.reconcile(ctx)
}

// reconcile returns an error if counters, locks and maps contradict each other.
func (e *env) reconcile(ctx context.Context) error {
	report, err := e.Recovery.Reconcile(ctx, mongodb.NewRunID("bench", mongodb.SystemTime()), slog.New(slog.DiscardHandler))
	if err == nil && report.Corrections+report.Reported > 0 {
		err = fmt.Errorf("%d counters or maps were wrong, and %d contradictions were found", report.Corrections, report.Reported)
	}
	return err
}
