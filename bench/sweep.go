package main

import (
	"context"
	"errors"
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

// sweepOnSale asks what a sale of an event and a sweep of its due locks cost each other.
func sweepOnSale(s settings) []*result {
	const due = 50_000
	alone := &result{Side: "the sale alone", Load: "256 clients", turn: func(ctx context.Context) (measure, error) {
		return saleTurn(ctx, s, due, func(ctx context.Context, _ *world) error {
			select {
			case <-ctx.Done():
			case <-time.After(s.lasting):
			}
			return ctx.Err()
		})
	}}
	beside := &result{Side: fmt.Sprintf("the sale beside a sweep of %d", due), Load: "256 clients", turn: func(ctx context.Context) (m measure, err error) {
		var took time.Duration
		m, err = saleTurn(ctx, s, due, func(ctx context.Context, w *world) error {
			start := clock.System()
			err := sweepByEngine(ctx, w)
			took = clock.Clock(clock.System).Since(start)
			return err
		})
		m.note = fmt.Sprintf("the sweep took %.1f s", took.Seconds())
		return m, err
	}}
	return []*result{alone, beside}
}

// saleTurn sells seats of an event that has due locks, for as long as meanwhile
// lasts, which has connections of its own.
func saleTurn(ctx context.Context, s settings, due int, meanwhile func(context.Context, *world) error) (measure, error) {
	w, err := newWorld(ctx, s.uri)
	if err != nil {
		return measure{}, err
	}
	events, err := w.fillDue(ctx, 1, due)
	if err != nil {
		return measure{}, err
	}
	if _, err := w.db.Collection("events").UpdateMany(ctx, bson.D{}, bson.D{{Key: "$inc", Value: bson.D{
		{Key: "totalSeats", Value: plenty}, {Key: "availableSeats", Value: plenty}}}}); err != nil {
		return measure{}, err
	}
	worker, err := openWorld(ctx, s.uri, w.db.Name())
	if err != nil {
		return measure{}, err
	}
	selling, enough := context.WithCancelCause(ctx)
	var failed error
	go func() {
		failed = meanwhile(ctx, worker)
		enough(errEnough)
	}()
	user := ids.New()
	m, err := closedLoop(selling, clock.System, 256, time.Hour, 0, func(_ context.Context, client, n int) (bool, error) {
		return engine{w.seats}.lock(ctx, events[0], user, 1, fmt.Sprintf("%d-%d", client, n))
	})
	if err = errors.Join(err, failed); err != nil {
		return m, err
	}
	held := int64(m.Granted)
	if left, err := w.db.Collection("seatlocks").CountDocuments(ctx, mongodb.And(mongodb.Is("status", "ACTIVE"), mongodb.Passed("expiresAt"))); err == nil {
		held += left
	}
	if err := w.prove(ctx, held, 0, true, true); err != nil {
		return m, err
	}
	return m, errors.Join(worker.db.Close(ctx), w.close(ctx))
}

func sweepTurn(ctx context.Context, s settings, events, locks int, counter bool, do func(context.Context, *world) error) (measure, error) {
	w, err := newWorld(ctx, s.uri)
	if err != nil {
		return measure{}, err
	}
	if _, err := w.fillDue(ctx, events, locks); err != nil {
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
func (w *world) fillDue(ctx context.Context, events, locks int) ([]ids.ID, error) {
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
				return nil, err
			}
		}
	}
	for i := range locks {
		documents = append(documents, bson.D{{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: all[i%events]}, {Key: "userId", Value: ids.New()},
			{Key: "seats", Value: 1}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: at.Add(time.Duration(i) * time.Millisecond)}})
		if len(documents) == most || i == locks-1 {
			if err := flush("seatlocks"); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
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
