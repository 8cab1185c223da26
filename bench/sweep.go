package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats"
)

const dueLocks = 100_000

// sweep compares ways to expire due locks: the engine's, a transaction for each
// lock, and one update that gives no seat back.
func sweep(s settings) (rows []*result) {
	for _, events := range []int{1, 100, 10_000} {
		for _, way := range []struct {
			name    string
			counter bool
			do      func(context.Context, *world) error
		}{
			{engineName, true, sweepByEngine},
			{"one by one, of 5,000", true, sweepOneByOne},
			{"updateMany alone", false, sweepByUpdate},
		} {
			n := dueLocks
			if way.name != engineName && way.counter {
				n = 5000 // enough to tell its rate
			}
			rows = append(rows, &result{Side: way.name, Load: fmt.Sprintf("%d events", events), turn: func(ctx context.Context) (measure, error) {
				return sweepTurn(ctx, s, events, n, way.counter, way.do)
			}})
		}
	}
	return rows
}

func sweepTurn(ctx context.Context, s settings, events, locks int, counter bool, do func(context.Context, *world) error) (measure, error) {
	w, err := newWorld(ctx, s.uri)
	if err != nil {
		return measure{}, err
	}
	if err := w.fillDue(ctx, events, locks); err != nil {
		return measure{}, err
	}
	start := clock.System()
	if err := do(ctx, w); err != nil {
		return measure{}, err
	}
	m := measure{Granted: locks, Seconds: clock.Clock(clock.System).Since(start).Seconds()}
	if err := w.prove(ctx, 0, 0, counter, true); err != nil {
		return m, err
	}
	return m, w.close(ctx)
}

// fillDue puts due locks of one seat into the database, by turns over events.
func (w *world) fillDue(ctx context.Context, events, locks int) error {
	const most = 10_000
	at := clock.System().Add(-time.Hour)
	documents := make([]any, 0, most)
	flush := func(collection string) error {
		_, err := w.db.Collection(collection).InsertMany(ctx, documents)
		documents = documents[:0]
		return err
	}
	all := make([]ids.ID, events)
	for i := range all {
		all[i] = ids.New()
		taken := locks / events
		if i < locks%events {
			taken++
		}
		documents = append(documents, bson.D{{Key: "_id", Value: all[i]}, {Key: "name", Value: "Event"},
			{Key: "totalSeats", Value: 200_000}, {Key: "availableSeats", Value: 200_000 - taken}})
		if len(documents) == most || i == events-1 {
			if err := flush("events"); err != nil {
				return err
			}
		}
	}
	for i := range locks {
		documents = append(documents, bson.D{{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: all[i%events]}, {Key: "userId", Value: ids.New()},
			{Key: "seats", Value: 1}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: at.Add(time.Duration(i) * time.Millisecond)}})
		if len(documents) == most || i == locks-1 {
			if err := flush("seatlocks"); err != nil {
				return err
			}
		}
	}
	return nil
}

func sweepByEngine(ctx context.Context, w *world) error {
	const batch = 500 // SWEEP_BATCH's default
	sweeper := &expiry.Sweeper{Seats: w.seats, Bookings: w.bookings, Batch: batch}
	report, err := sweeper.SweepLocks(ctx, expiry.Pass{RunID: "bench", By: seats.ByLockExpiry, Log: slog.New(slog.DiscardHandler), Words: expiry.LockWords})
	if err == nil && (report.Errors > 0 || report.Skipped > 0) {
		err = fmt.Errorf("the sweep left some: %+v", report)
	}
	return err
}

func sweepOneByOne(ctx context.Context, w *world) error {
	cursor, err := w.db.Collection("seatlocks").Find(ctx, mongodb.And(mongodb.Is("status", "ACTIVE"), mongodb.Passed("expiresAt")))
	if err != nil {
		return err
	}
	defer cursor.Close(ctx) //nolint:errcheck // read only
	for cursor.Next(ctx) {
		var lock struct {
			ID    ids.ID `bson:"_id"`
			Event ids.ID `bson:"eventId"`
			Seats int64  `bson:"seats"`
		}
		if err := cursor.Decode(&lock); err != nil {
			return err
		}
		session, err := w.db.Client().StartSession()
		if err != nil {
			return err
		}
		_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
			ended, err := w.db.Collection("seatlocks").UpdateOne(ctx, bson.D{{Key: "_id", Value: lock.ID}, {Key: "status", Value: "ACTIVE"}},
				bson.D{{Key: "$set", Value: bson.D{{Key: "status", Value: "EXPIRED"}}}})
			if err != nil || ended.ModifiedCount == 0 {
				return nil, err
			}
			_, err = w.db.Collection("events").UpdateOne(ctx, bson.D{{Key: "_id", Value: lock.Event}}, less(-lock.Seats))
			return nil, err
		})
		session.EndSession(ctx)
		if err != nil {
			return err
		}
	}
	return cursor.Err()
}

func sweepByUpdate(ctx context.Context, w *world) error {
	_, err := w.db.Collection("seatlocks").UpdateMany(ctx, mongodb.And(mongodb.Is("status", "ACTIVE"), mongodb.Passed("expiresAt")),
		mongo.Pipeline{{{Key: "$set", Value: bson.D{{Key: "status", Value: "EXPIRED"}, {Key: "updatedAt", Value: "$$NOW"}}}}})
	return err
}
