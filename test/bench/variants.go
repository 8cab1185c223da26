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
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// locker is one way to lock n seats of an event for a user under an idempotency
// key.
type locker func(ctx context.Context, event, user holdfast.ID, n int64, key string) (granted bool, err error)

// variant is a locker with its name in the report, and the documents that it
// stores, which are checked afterwards.
type variant struct {
	name     string
	open     func(context.Context, *env) locker
	counters bool // it moves the events' counters
	locks    bool // it stores locks
}

// These are the names of variants in the report. engineName begins the names of all variants that measure the
// engine.
const (
	engineName      = "engine"
	keylessName     = "engine, without keys"
	holdersName     = "engine, by holders"
	sellingName     = "engine, with seats"
	transactionName = "a transaction each"
	mutexName       = "… behind a mutex"
	emptyName       = "an empty handler"
	postgresName    = "PostgreSQL, row lock" // opened on another database
)

var (
	engineVariant  = complete(engineName, func(e *env) locker { return e.lock })
	keylessVariant = complete(keylessName, func(e *env) locker {
		return func(ctx context.Context, event, user holdfast.ID, n int64, _ string) (bool, error) {
			return e.lock(ctx, event, user, n, "")
		}
	})
	holdersVariant = complete(holdersName, func(e *env) locker {
		return func(ctx context.Context, event, _ holdfast.ID, n int64, key string) (bool, error) {
			return e.lockSeats(ctx, holdfast.LockRequest{EventID: event, Holder: "cart of a customer", Seats: n, Key: key})
		}
	})
	transactionVariant = complete(transactionName, func(e *env) locker { return transactionPerLock(e.DB.Database) })
	mutexVariant       = complete(mutexName, func(e *env) locker { return mutexPerEvent(e.DB.Database) })

	// completeVariants move counters and store locks.
	completeVariants = []variant{engineVariant, transactionVariant, mutexVariant}
	// allVariants are all variants on MongoDB.
	allVariants = []variant{
		engineVariant,
		{
			name: "insertMany alone", locks: true,
			open: func(ctx context.Context, e *env) locker { return batchInsert(ctx, e.DB.Database) },
		},
		{
			name: "guarded $inc alone", counters: true,
			open: func(_ context.Context, e *env) locker { return counterOnly(e.DB.Database) },
		},
		transactionVariant, mutexVariant,
	}
)

// complete returns a variant that moves counters and stores locks.
func complete(name string, open func(*env) locker) variant {
	return variant{name: name, counters: true, locks: true, open: func(_ context.Context, e *env) locker { return open(e) }}
}

// lock is the engine, the subject of all measurements.
func (e *env) lock(ctx context.Context, event, user holdfast.ID, n int64, key string) (bool, error) {
	return e.lockSeats(ctx, holdfast.LockRequest{EventID: event, UserID: user, Seats: n, Key: key})
}

var errSoldOut = errors.New("the seats are taken")

// transactionPerLock runs a transaction for each request, as hand-written code
// does: it moves the counter if enough seats are available, then inserts the lock.
func transactionPerLock(db *mongo.Database) locker {
	return func(ctx context.Context, event, user holdfast.ID, n int64, key string) (bool, error) {
		return isGranted(inTransaction(ctx, db, func(ctx context.Context) error {
			moved, err := db.Collection("events").UpdateOne(ctx, hasAvailable(event, n), addAvailable(-n))
			if err != nil {
				return err
			}
			if moved.ModifiedCount == 0 {
				return errSoldOut
			}
			_, err = db.Collection("seatlocks").InsertOne(ctx, newLockDocument(event, user, n, key))
			return err
		}))
	}
}

// inTransaction runs do in a transaction, which the driver repeats after a conflict.
func inTransaction(ctx context.Context, db *mongo.Database, do func(context.Context) error) error {
	return db.Client().UseSession(ctx, func(ctx context.Context) error {
		_, err := mongo.SessionFromContext(ctx).WithTransaction(ctx, func(ctx context.Context) (any, error) { return nil, do(ctx) })
		return err
	})
}

// isGranted returns the outcome of a transaction of a baseline.
func isGranted(err error) (bool, error) {
	if errors.Is(err, errSoldOut) {
		return false, nil
	}
	return err == nil, err
}

// mutexPerEvent runs the transactions of an event one after the other.
func mutexPerEvent(db *mongo.Database) locker {
	lock := transactionPerLock(db)
	var mutexes sync.Map // *sync.Mutex by the event's ID
	return func(ctx context.Context, event, user holdfast.ID, n int64, key string) (bool, error) {
		value, _ := mutexes.LoadOrStore(event, &sync.Mutex{})
		mutex := value.(*sync.Mutex)
		mutex.Lock()
		defer mutex.Unlock()
		return lock(ctx, event, user, n, key)
	}
}

// counterOnly moves the counter and stores no lock: less work than the engine's.
func counterOnly(db *mongo.Database) locker {
	return func(ctx context.Context, event, _ holdfast.ID, n int64, _ string) (bool, error) {
		moved, err := db.Collection("events").UpdateOne(ctx, hasAvailable(event, n), addAvailable(-n))
		return err == nil && moved.ModifiedCount == 1, err
	}
}

// batchInsert inserts the locks of all waiting requests together, and does nothing
// else: no counter, no rule, no transaction. An engine that stores the same
// documents in the same indexes can't be faster. It ends with ctx.
func batchInsert(ctx context.Context, db *mongo.Database) locker {
	type insertion struct {
		document bson.D
		done     chan error
	}
	const maxBatch = 500
	pending := make(chan insertion, 100*maxBatch)
	go func() {
		for {
			batch := make([]insertion, 0, maxBatch)
			select {
			case <-ctx.Done():
				return
			case first := <-pending:
				batch = append(batch, first)
			}
			for len(batch) < maxBatch && len(pending) > 0 {
				batch = append(batch, <-pending)
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
	return func(_ context.Context, event, user holdfast.ID, n int64, key string) (bool, error) {
		done := make(chan error, 1)
		pending <- insertion{newLockDocument(event, user, n, key), done}
		err := <-done
		return err == nil, err
	}
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
	now := mongodb.SystemTime().UTC()
	return bson.D{
		{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
		{Key: "seats", Value: n}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: now.Add(10 * time.Minute)},
		{Key: "requestHash", Value: requestHash}, {Key: "internal", Value: bson.D{{Key: "rev", Value: int64(0)}}},
		{Key: "createdAt", Value: now}, {Key: "updatedAt", Value: now}, {Key: "idempotencyKey", Value: key},
	}
}
