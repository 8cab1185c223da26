package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// sweep compares ways to expire due locks: the engine's, a transaction for each
// lock, and one update that returns no seat.
func sweep(s settings) (rows []*result) {
	const (
		dueLocks      = 100_000
		dueLocksAlone = 5000 // enough to measure the rate of single transactions
	)
	for _, events := range []int{1, 100, 10_000} {
		load := fmt.Sprintf("%d events", events)
		for _, run := range []sweepRun{
			{variant: engineName, locks: dueLocks, counters: true, do: sweepByEngine},
			{variant: "one by one, of 5,000", locks: dueLocksAlone, counters: true, do: sweepOneByOne},
			{variant: "updateMany alone", locks: dueLocks, do: sweepByUpdate},
		} {
			rows = append(rows, &result{Variant: run.variant, Load: load, measure: func(ctx context.Context) (measurement, error) {
				return run.measure(ctx, s, events)
			}})
		}
	}
	return rows
}

// sweepRun is one way to expire due locks.
type sweepRun struct {
	variant  string
	locks    int
	counters bool // it returns the seats to the events' counters
	do       func(context.Context, *env) error
}

func (r sweepRun) measure(ctx context.Context, s settings, events int) (measurement, error) {
	e, err := newEnv(ctx, s.mongoURI)
	if err != nil {
		return measurement{}, err
	}
	if _, err := e.insertDueLocks(ctx, events, r.locks); err != nil {
		return measurement{}, err
	}
	start := wallClock()
	if err := r.do(ctx, e); err != nil {
		return measurement{}, err
	}
	m := measurement{Granted: r.locks, Seconds: wallClock.Since(start).Seconds()}
	if err := e.check(ctx, expectation{counters: r.counters, locks: true}); err != nil {
		return m, err
	}
	return m, e.drop(ctx)
}

// sweepOnSale measures how much a sale of an event and a sweep of its due locks
// slow each other down.
func sweepOnSale(s settings) []*result {
	const due = 50_000
	alone := func(ctx context.Context) (measurement, error) {
		return sellDuring(ctx, s, due, func(ctx context.Context, _ *env) error {
			sleep(ctx, s.duration)
			return ctx.Err()
		})
	}
	withSweep := func(ctx context.Context) (m measurement, err error) {
		var took time.Duration
		m, err = sellDuring(ctx, s, due, func(ctx context.Context, e *env) error {
			start := wallClock()
			err := sweepByEngine(ctx, e)
			took = wallClock.Since(start)
			return err
		})
		m.note = fmt.Sprintf("the sweep took %.1f s", took.Seconds())
		return m, err
	}
	return []*result{
		{Variant: "the sale alone", Load: clientsLoad(saleClients), measure: alone},
		{Variant: fmt.Sprintf("the sale beside a sweep of %d", due), Load: clientsLoad(saleClients), measure: withSweep},
	}
}

const saleClients = 256

// sellDuring sells seats of an event that has due locks, until work returns. work
// gets its own connections to the same database.
func sellDuring(ctx context.Context, s settings, due int, work func(context.Context, *env) error) (measurement, error) {
	e, err := newEnv(ctx, s.mongoURI)
	if err != nil {
		return measurement{}, err
	}
	events, err := e.insertDueLocks(ctx, 1, due)
	if err != nil {
		return measurement{}, err
	}
	if _, err := e.DB.Collection("events").UpdateMany(ctx, bson.D{}, bson.D{{Key: "$inc", Value: bson.D{
		{Key: "totalSeats", Value: ampleSeats}, {Key: "availableSeats", Value: ampleSeats}}}}); err != nil {
		return measurement{}, err
	}
	worker, err := openEnv(ctx, s.mongoURI, e.DB.Name())
	if err != nil {
		return measurement{}, err
	}
	selling, stop := context.WithCancelCause(ctx)
	workDone := make(chan error, 1)
	go func() {
		workDone <- work(ctx, worker)
		stop(errLoadDone)
	}()
	user := ids.New()
	const saleTimeout = time.Hour // the work ends first
	m, err := closedLoop(selling, saleClients, saleTimeout, func(_ context.Context, client, n int) (bool, error) {
		return engine{e.Seats}.lock(ctx, events[0], user, 1, requestKey(client, n))
	})
	if err != nil {
		return m, err
	}
	if err := <-workDone; err != nil {
		return m, err
	}
	stillDue, err := e.DB.Collection("seatlocks").CountDocuments(ctx, dueLocksFilter())
	if err != nil {
		return m, err
	}
	if err := e.check(ctx, expectation{seats: int64(m.Granted) + stillDue, counters: true, locks: true}); err != nil {
		return m, err
	}
	return m, errors.Join(worker.DB.Close(ctx), e.drop(ctx))
}

// insertDueLocks inserts events, and due locks of one seat spread evenly over them.
func (e *env) insertDueLocks(ctx context.Context, events, locks int) ([]holdfast.ID, error) {
	const maxBatch = 10_000
	firstExpiry := clock.System().Add(-time.Hour)
	documents := make([]any, 0, maxBatch)
	flush := func(collection string) error {
		_, err := e.DB.Collection(collection).InsertMany(ctx, documents)
		documents = documents[:0]
		return err
	}
	eventIDs := make([]holdfast.ID, events)
	for i := range eventIDs {
		eventIDs[i] = ids.New()
		taken := locks / events
		if i < locks%events {
			taken++
		}
		documents = append(documents, bson.D{{Key: "_id", Value: eventIDs[i]}, {Key: "name", Value: "Event"},
			{Key: "totalSeats", Value: 200_000}, {Key: "availableSeats", Value: 200_000 - taken}})
		if len(documents) == maxBatch || i == events-1 {
			if err := flush("events"); err != nil {
				return nil, err
			}
		}
	}
	for i := range locks {
		documents = append(documents, bson.D{
			{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: eventIDs[i%events]}, {Key: "userId", Value: ids.New()},
			{Key: "seats", Value: 1}, {Key: "status", Value: "ACTIVE"},
			{Key: "expiresAt", Value: firstExpiry.Add(time.Duration(i) * time.Millisecond)},
		})
		if len(documents) == maxBatch || i == locks-1 {
			if err := flush("seatlocks"); err != nil {
				return nil, err
			}
		}
	}
	return eventIDs, nil
}

// dueLocksFilter matches active locks that are due by the database's clock.
func dueLocksFilter() bson.D {
	return mongodb.And(mongodb.Is("status", "ACTIVE"), mongodb.Passed("expiresAt"))
}

func sweepByEngine(ctx context.Context, e *env) error {
	report, err := e.Sweeper.SweepLocks(ctx, expiry.Run{
		Run: inventory.Run{By: holdfast.EndedByLockExpiry, ID: "bench"}, Log: slog.New(slog.DiscardHandler),
	})
	if err == nil && (report.Errors > 0 || report.Skipped > 0) {
		err = fmt.Errorf("the sweep left locks behind: %+v", report)
	}
	return err
}

func sweepOneByOne(ctx context.Context, e *env) error {
	cursor, err := e.DB.Collection("seatlocks").Find(ctx, dueLocksFilter())
	if err != nil {
		return err
	}
	defer func() { _ = cursor.Close(ctx) }() // it only reads
	for cursor.Next(ctx) {
		var lock struct {
			ID    holdfast.ID `bson:"_id"`
			Event holdfast.ID `bson:"eventId"`
			Seats int64       `bson:"seats"`
		}
		if err := cursor.Decode(&lock); err != nil {
			return err
		}
		session, err := e.DB.Client().StartSession()
		if err != nil {
			return err
		}
		_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
			ended, err := e.DB.Collection("seatlocks").UpdateOne(ctx, bson.D{{Key: "_id", Value: lock.ID}, {Key: "status", Value: "ACTIVE"}},
				bson.D{{Key: "$set", Value: bson.D{{Key: "status", Value: "EXPIRED"}}}})
			if err != nil || ended.ModifiedCount == 0 {
				return nil, err
			}
			_, err = e.DB.Collection("events").UpdateOne(ctx, bson.D{{Key: "_id", Value: lock.Event}}, addAvailable(lock.Seats))
			return nil, err
		})
		session.EndSession(ctx)
		if err != nil {
			return err
		}
	}
	return cursor.Err()
}

func sweepByUpdate(ctx context.Context, e *env) error {
	_, err := e.DB.Collection("seatlocks").UpdateMany(ctx, dueLocksFilter(),
		mongo.Pipeline{{{Key: "$set", Value: bson.D{{Key: "status", Value: "EXPIRED"}, {Key: "updatedAt", Value: "$$NOW"}}}}})
	return err
}
