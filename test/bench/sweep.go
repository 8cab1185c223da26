package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

const (
	sweptEvents   = 100
	dueLocks      = 100_000
	dueLocksAlone = 5000 // enough to measure the rate of single transactions
)

// sweep compares ways to expire due locks: the engine's, a transaction for each
// lock, and one update that returns no seat.
func sweep(s settings) (rows []*result) {
	for _, run := range []struct {
		variant  string
		locks    int
		counters bool // it returns the seats to the events' counters
		do       func(context.Context, *env) error
	}{
		{engineName, dueLocks, true, sweepByEngine},
		{"one by one, of 5,000", dueLocksAlone, true, sweepOneByOne},
		{"updateMany alone", dueLocks, false, sweepByUpdate},
	} {
		load := fmt.Sprintf("%d events", sweptEvents)
		rows = append(rows, s.row(run.variant, load, func(ctx context.Context, e *env) (m measurement, err error) {
			if err := e.insertDueLocks(ctx, run.locks); err != nil {
				return m, err
			}
			start := wallClock()
			if err := run.do(ctx, e); err != nil {
				return m, err
			}
			m = measurement{Granted: run.locks, Seconds: wallClock.Since(start).Seconds()}
			return m, e.check(ctx, expectation{counters: run.counters, locks: true})
		}))
	}
	return rows
}

// insertDueLocks inserts events, and due locks of one seat spread evenly over them.
func (e *env) insertDueLocks(ctx context.Context, locks int) error {
	firstExpiry := mongodb.SystemTime().Add(-time.Hour)
	b := e.newBulkInsert()
	events := make([]holdfast.ID, sweptEvents)
	for i := range events {
		events[i] = b.addEvent(ctx, 200_000, locks/sweptEvents)
	}
	for i := range locks {
		b.addLock(ctx, events[i%sweptEvents], 1, "ACTIVE", firstExpiry.Add(time.Duration(i)*time.Millisecond))
	}
	return b.flush(ctx)
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
	defer func() { _ = cursor.Close(ctx) }() // the cursor only reads
	for cursor.Next(ctx) {
		var lock struct {
			ID    holdfast.ID `bson:"_id"`
			Event holdfast.ID `bson:"eventId"`
			Seats int64       `bson:"seats"`
		}
		if err := cursor.Decode(&lock); err != nil {
			return err
		}
		if err := inTransaction(ctx, e.DB.Database, func(ctx context.Context) error {
			ended, err := e.DB.Collection("seatlocks").UpdateOne(ctx, mongodb.And(mongodb.Is("_id", lock.ID), mongodb.Is("status", "ACTIVE")),
				bson.D{{Key: "$set", Value: mongodb.Is("status", "EXPIRED")}})
			if err != nil || ended.ModifiedCount == 0 {
				return err
			}
			_, err = e.DB.Collection("events").UpdateOne(ctx, mongodb.Is("_id", lock.Event), addAvailable(lock.Seats))
			return err
		}); err != nil {
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
