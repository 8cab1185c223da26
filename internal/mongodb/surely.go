package mongodb

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/holdfast-dev/holdfast/internal/fault"
)

// A primary that was frozen, or cut off, and doesn't know yet that there is
// another one still answers reads, from before; and one that has just been elected
// may not know yet what is committed. What is written is safe from both: a commit
// needs the majority. A refusal writes nothing, so it is proved.

// Surely does what was refused a second time, once the primary has proved that it
// is one. doubt says which refusals are worth it: Refusal, or Absence. Within a
// transaction, whose owner does so, it does it once.
func Surely[T any](ctx context.Context, db *DB, doubt func(error) bool, do func(ctx context.Context) (T, error)) (T, error) {
	value, err := do(ctx)
	if err == nil || !doubt(err) || mongo.SessionFromContext(ctx) != nil {
		return value, err
	}
	if err := db.barrier(ctx); err != nil {
		var zero T
		return zero, Translate(err)
	}
	return do(ctx)
}

// barrierTime bounds the wait of a primary that has no majority.
const barrierTime = 5 * time.Second

// Absence doubts that something is not there.
func Absence(err error) bool { return fault.IsAbsent(err) }

// Refusal doubts every rule's refusal.
func Refusal(err error) bool {
	code := fault.CodeOf(err)
	return code != "" && code != CodeUnavailable && code != CodeOutcomeUnknown && code != fault.CodeInvalid
}

// Sure waits until the primary has proved that it is one: what it tells next is
// not from before this.
func (db *DB) Sure(ctx context.Context) error { return Translate(db.barrier(ctx)) }

// barrier is a linearizable read, for which a primary asks the majority whether it
// still is one.
func (db *DB) barrier(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, barrierTime)
	defer cancel()
	err := db.Collection("events", options.Collection().SetReadConcern(readconcern.Linearizable())).
		FindOne(ctx, bson.D{{Key: "_id", Value: nil}}).Err()
	if err == mongo.ErrNoDocuments { //nolint:errorlint // the driver returns it as it is
		return nil
	}
	return err
}
