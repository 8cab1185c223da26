package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/seats"
)

// side is one way to lock seats of an event for a user under a key.
type side interface {
	lock(ctx context.Context, event, user ids.ID, n int64, key string) (granted bool, err error)
}

// engine is what this is about.
type engine struct{ seats *seats.Service }

func (e engine) lock(ctx context.Context, event, user ids.ID, n int64, key string) (bool, error) {
	_, _, err := e.seats.Take(ctx, seats.LockRequest{EventID: event, UserID: user, Seats: n, Key: key})
	if fault.Is(err, seats.CodeSeatsUnavailable) {
		return false, nil
	}
	return err == nil, err
}

// transaction takes a transaction for each request, in the shape of the source's
// code: the counter is moved if it suffices, then the lock is inserted.
type transaction struct{ db *mongo.Database }

var errSoldOut = errors.New("sold out")

func (t transaction) lock(ctx context.Context, event, user ids.ID, n int64, key string) (bool, error) {
	session, err := t.db.Client().StartSession()
	if err != nil {
		return false, err
	}
	defer session.EndSession(ctx)
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		moved, err := t.db.Collection("events").UpdateOne(ctx, suffices(event, n), less(n))
		if err != nil {
			return nil, err
		}
		if moved.ModifiedCount == 0 {
			return nil, errSoldOut
		}
		_, err = t.db.Collection("seatlocks").InsertOne(ctx, lockDocument(event, user, n, key))
		return nil, err
	})
	if errors.Is(err, errSoldOut) {
		return false, nil
	}
	return err == nil, err
}

// mutex is transaction, one at a time for each event.
type mutex struct {
	transaction
	events sync.Map // by ID
}

func (m *mutex) lock(ctx context.Context, event, user ids.ID, n int64, key string) (bool, error) {
	held, _ := m.events.LoadOrStore(event, &sync.Mutex{})
	held.(*sync.Mutex).Lock()
	defer held.(*sync.Mutex).Unlock()
	return m.transaction.lock(ctx, event, user, n, key)
}

// increment moves the counter and keeps no lock: less work, for comparison.
type increment struct{ db *mongo.Database }

func (i increment) lock(ctx context.Context, event, _ ids.ID, n int64, _ string) (bool, error) {
	moved, err := i.db.Collection("events").UpdateOne(ctx, suffices(event, n), less(n))
	if err != nil {
		return false, err
	}
	return moved.ModifiedCount == 1, nil
}

// insertMany inserts the locks of all who wait, and does nothing else: no
// counter, no rule, no transaction. No engine that keeps the same documents in
// the same indexes can be faster.
type insertMany struct {
	db      *mongo.Database
	waiting chan insertion
}

type insertion struct {
	document bson.D
	done     chan error
}

func newInsertMany(ctx context.Context, db *mongo.Database) *insertMany {
	const most = 500
	i := &insertMany{db, make(chan insertion, 100*most)}
	go func() {
		for {
			batch := make([]insertion, 0, most)
			select {
			case <-ctx.Done():
				return
			case first := <-i.waiting:
				batch = append(batch, first)
			}
			for len(batch) < most && len(i.waiting) > 0 {
				batch = append(batch, <-i.waiting)
			}
			documents := make([]any, 0, len(batch))
			for _, b := range batch {
				documents = append(documents, b.document)
			}
			_, err := db.Collection("seatlocks").InsertMany(ctx, documents, options.InsertMany().SetOrdered(false))
			for _, b := range batch {
				b.done <- err
			}
		}
	}()
	return i
}

func (i *insertMany) lock(_ context.Context, event, user ids.ID, n int64, key string) (bool, error) {
	done := make(chan error, 1)
	i.waiting <- insertion{lockDocument(event, user, n, key), done}
	err := <-done
	return err == nil, err
}

func suffices(event ids.ID, n int64) bson.D {
	return bson.D{{Key: "_id", Value: event}, {Key: "availableSeats", Value: bson.D{{Key: "$gte", Value: n}}}}
}

func less(n int64) bson.D {
	return bson.D{{Key: "$inc", Value: bson.D{{Key: "availableSeats", Value: -n}}}}
}

// lockDocument is what the engine keeps of a lock.
func lockDocument(event, user ids.ID, n int64, key string) bson.D {
	now := time.Now().UTC() //nolint:forbidigo // a baseline reckons by its pod's clock, as its source does
	return bson.D{
		{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
		{Key: "seats", Value: n}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: now.Add(10 * time.Minute)},
		{Key: "requestHash", Value: "0123456789abcdef0123456789abcdef"}, {Key: "rev", Value: int64(0)},
		{Key: "createdAt", Value: now}, {Key: "updatedAt", Value: now}, {Key: "idempotencyKey", Value: key},
	}
}
