package mongodb

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/holdfast-dev/holdfast"
)

// A primary that was frozen or cut off, and does not know yet that there is another one,
// still answers reads with old data. One that has just been elected may not know yet
// what is committed. Neither can harm a write, because a commit needs the majority. A
// refusal writes nothing, so it has to be confirmed.

// ConfirmRefusal calls do. Where do refuses, and doubtful says that the refusal could
// come from old data, it waits until the primary has proved that it is one, and calls
// do again. Within a transaction, which confirms it as it commits, do is called once.
func ConfirmRefusal[T any](ctx context.Context, db *DB, doubtful func(error) bool, do func(ctx context.Context) (T, error)) (T, error) {
	value, err := do(ctx)
	if err == nil || !doubtful(err) || mongo.SessionFromContext(ctx) != nil {
		return value, err
	}
	if err := db.Barrier(ctx); err != nil {
		var zero T
		return zero, err
	}
	return do(ctx)
}

// IsRefusal reports whether a rule refuses, rather than the database.
func IsRefusal(err error) bool {
	code := holdfast.CodeOf(err)
	return code != "" && code != holdfast.CodeUnavailable && code != holdfast.CodeOutcomeUnknown && code != holdfast.CodeInvalid
}

// barrierTimeout bounds the wait of a primary that has no majority.
const barrierTimeout = 5 * time.Second

// Barrier waits until the primary has proved that it is one: what it answers next is
// not older than this call. It is a linearizable read, for which the primary asks the
// majority.
func (db *DB) Barrier(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, barrierTimeout)
	defer cancel()
	err := db.Collection(db.barrierCollection, options.Collection().SetReadConcern(readconcern.Linearizable())).
		FindOne(ctx, bson.D{{Key: "_id", Value: nil}}).Err()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	return Translate(err)
}
