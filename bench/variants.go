package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/seats"
)

// locker is one way to lock n seats of an event for a user under an idempotency
// key.
type locker interface {
	lock(ctx context.Context, event, user holdfast.ID, n int64, key string) (granted bool, err error)
}

// variant is a locker with its name in the report, and the documents that it
// stores, which are checked afterwards.
type variant struct {
	name     string
	open     func(context.Context, *env) locker
	counters bool // it moves the events' counters
	locks    bool // it stores locks
}

// Names of variants in the report. engineName begins the names of all variants
// that measure the engine.
const (
	engineName      = "engine"
	keylessName     = "engine, without keys" // a comparison looks for it in the source of other revisions
	transactionName = "a transaction each"
	mutexName       = "… behind a mutex"
	emptyName       = "an empty handler"
	postgresName    = "PostgreSQL, row lock" // opened on another database
)

var (
	engineVariant = variant{
		name: engineName, counters: true, locks: true,
		open: func(_ context.Context, e *env) locker { return engine{e.Seats} },
	}
	keylessVariant = variant{
		name: keylessName, counters: true, locks: true,
		open: func(_ context.Context, e *env) locker { return keylessEngine{engine{e.Seats}} },
	}
	transactionVariant = variant{
		name: transactionName, counters: true, locks: true,
		open: func(_ context.Context, e *env) locker { return transactionPerLock{e.DB.Database} },
	}
	mutexVariant = variant{
		name: mutexName, counters: true, locks: true,
		open: func(_ context.Context, e *env) locker {
			return &mutexPerEvent{transactionPerLock: transactionPerLock{e.DB.Database}}
		},
	}
	insertVariant = variant{
		name: "insertMany alone", locks: true,
		open: func(ctx context.Context, e *env) locker { return newBatchInsert(ctx, e.DB.Database) },
	}
	counterVariant = variant{
		name: "guarded $inc alone", counters: true,
		open: func(_ context.Context, e *env) locker { return counterOnly{e.DB.Database} },
	}
)

var (
	// allVariants are all variants on MongoDB.
	allVariants = []variant{engineVariant, insertVariant, counterVariant, transactionVariant, mutexVariant}
	// completeVariants move counters and store locks.
	completeVariants = []variant{engineVariant, transactionVariant, mutexVariant}
)

// engine is the subject of all measurements.
type engine struct{ seats *seats.Service }

func (e engine) lock(ctx context.Context, event, user holdfast.ID, n int64, key string) (bool, error) {
	_, _, err := e.seats.AcquireLock(ctx, holdfast.LockRequest{EventID: event, UserID: user, Seats: n, Key: key})
	if holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
		return false, nil
	}
	return err == nil, err
}

// keylessEngine locks without idempotency keys.
type keylessEngine struct{ engine }

func (e keylessEngine) lock(ctx context.Context, event, user holdfast.ID, n int64, _ string) (bool, error) {
	return e.engine.lock(ctx, event, user, n, "")
}

// transactionPerLock runs a transaction for each request, as hand-written code
// does: it moves the counter if enough seats are available, then inserts the lock.
type transactionPerLock struct{ db *mongo.Database }

var errSoldOut = errors.New("sold out")

func (t transactionPerLock) lock(ctx context.Context, event, user holdfast.ID, n int64, key string) (bool, error) {
	session, err := t.db.Client().StartSession()
	if err != nil {
		return false, err
	}
	defer session.EndSession(ctx)
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		moved, err := t.db.Collection("events").UpdateOne(ctx, hasAvailable(event, n), addAvailable(-n))
		if err != nil {
			return nil, err
		}
		if moved.ModifiedCount == 0 {
			return nil, errSoldOut
		}
		_, err = t.db.Collection("seatlocks").InsertOne(ctx, newLockDocument(event, user, n, key))
		return nil, err
	})
	if errors.Is(err, errSoldOut) {
		return false, nil
	}
	return err == nil, err
}

// mutexPerEvent runs the transactions of an event one after the other.
type mutexPerEvent struct {
	transactionPerLock
	mutexes sync.Map // *sync.Mutex by the event's ID
}

func (m *mutexPerEvent) lock(ctx context.Context, event, user holdfast.ID, n int64, key string) (bool, error) {
	value, _ := m.mutexes.LoadOrStore(event, &sync.Mutex{})
	mutex := value.(*sync.Mutex)
	mutex.Lock()
	defer mutex.Unlock()
	return m.transactionPerLock.lock(ctx, event, user, n, key)
}

// counterOnly moves the counter and stores no lock: less work than the engine's.
type counterOnly struct{ db *mongo.Database }

func (c counterOnly) lock(ctx context.Context, event, _ holdfast.ID, n int64, _ string) (bool, error) {
	moved, err := c.db.Collection("events").UpdateOne(ctx, hasAvailable(event, n), addAvailable(-n))
	if err != nil {
		return false, err
	}
	return moved.ModifiedCount == 1, nil
}

// batchInsert inserts the locks of all waiting requests together, and does nothing
// else: no counter, no rule, no transaction. An engine that stores the same
// documents in the same indexes can't be faster.
type batchInsert struct {
	db      *mongo.Database
	pending chan insertion
}

type insertion struct {
	document bson.D
	done     chan error
}

// newBatchInsert starts the goroutine that inserts; it ends with ctx.
func newBatchInsert(ctx context.Context, db *mongo.Database) *batchInsert {
	const maxBatch = 500
	b := &batchInsert{db: db, pending: make(chan insertion, 100*maxBatch)}
	go func() {
		for {
			batch := make([]insertion, 0, maxBatch)
			select {
			case <-ctx.Done():
				return
			case first := <-b.pending:
				batch = append(batch, first)
			}
			for len(batch) < maxBatch && len(b.pending) > 0 {
				batch = append(batch, <-b.pending)
			}
			documents := make([]any, 0, len(batch))
			for _, i := range batch {
				documents = append(documents, i.document)
			}
			_, err := db.Collection("seatlocks").InsertMany(ctx, documents, options.InsertMany().SetOrdered(false))
			for _, i := range batch {
				i.done <- err
			}
		}
	}()
	return b
}

func (b *batchInsert) lock(_ context.Context, event, user holdfast.ID, n int64, key string) (bool, error) {
	done := make(chan error, 1)
	b.pending <- insertion{newLockDocument(event, user, n, key), done}
	err := <-done
	return err == nil, err
}

// hasAvailable matches the event if n seats are available.
func hasAvailable(event holdfast.ID, n int64) bson.D {
	return bson.D{{Key: "_id", Value: event}, {Key: "availableSeats", Value: bson.D{{Key: "$gte", Value: n}}}}
}

func addAvailable(n int64) bson.D {
	return bson.D{{Key: "$inc", Value: bson.D{{Key: "availableSeats", Value: n}}}}
}

// newLockDocument has the fields that the engine stores.
func newLockDocument(event, user holdfast.ID, n int64, key string) bson.D {
	now := clock.System().UTC()
	return bson.D{
		{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
		{Key: "seats", Value: n}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: now.Add(10 * time.Minute)},
		{Key: "requestHash", Value: "0123456789abcdef0123456789abcdef"}, {Key: "internal", Value: bson.D{{Key: "rev", Value: int64(0)}}},
		{Key: "createdAt", Value: now}, {Key: "updatedAt", Value: now}, {Key: "idempotencyKey", Value: key},
	}
}
