package mongodb

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/holdfast-dev/holdfast"
)

// A primary that was paused or partitioned while another one was elected answers reads with old data. A primary that
// has just been elected may not know yet what is committed. A write is safe in both cases, because a commit needs
// the majority. A refusal writes nothing, so it has to be confirmed.

// ConfirmRefusal calls do. If do refuses, and doubtful says that the refusal may come from old data, ConfirmRefusal
// waits until the primary has confirmed its role (see Barrier), and calls do again with reads that are not older
// (see WithReadTime). Within a transaction do is called once: the commit confirms the role.
func ConfirmRefusal[T any](
	ctx context.Context, db *DB, doubtful func(error) bool, do func(ctx context.Context) (T, error),
) (T, error) {
	value, err := do(ctx)
	if err == nil || !doubtful(err) || mongo.SessionFromContext(ctx) != nil {
		return value, err
	}
	at, err := db.Barrier(ctx)
	if err != nil {
		var zero T
		return zero, err
	}
	return do(WithReadTime(ctx, at))
}

// IsRefusal reports whether a rule refuses because of the stored state. A failure of the database is not a refusal,
// and neither is invalid input.
func IsRefusal(err error) bool {
	code := holdfast.CodeOf(err)
	return code != "" && code != holdfast.CodeUnavailable && code != holdfast.CodeOutcomeUnknown && code != holdfast.CodeInvalid
}

// barrierTimeout bounds the wait for a primary that has no majority.
const barrierTimeout = 5 * time.Second

// Barrier is a linearizable read: the majority confirms the role of the primary. It returns the time of the read.
// WithReadTime ties later reads to that time, because another primary may answer them, or the same one after it was
// deposed. Barrier reads one fixed document, because one primary has all documents.
func (db *DB) Barrier(ctx context.Context) (ReadTime, error) {
	ctx, cancel := context.WithTimeout(ctx, barrierTimeout)
	defer cancel()
	// A causally consistent session would name the time of the first read in the second.
	session, err := db.client.StartSession(options.Session().SetCausalConsistency(false))
	if err != nil {
		return ReadTime{}, Translate(err)
	}
	defer session.EndSession(ctx)
	err = db.Collection(metaCollection, options.Collection().SetReadConcern(readconcern.Linearizable())).
		FindOne(mongo.NewSessionContext(ctx, session), Is("_id", metaSchema), options.FindOne().SetProjection(Keys("_id"))).Err()
	if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
		return ReadTime{}, Translate(err)
	}
	at, err := operationTime(session)
	return at, Translate(err)
}

// operationTime is the time of a session's last command.
func operationTime(session *mongo.Session) (ReadTime, error) {
	at := session.OperationTime()
	if at == nil { // every replica set and mongos returns it
		return ReadTime{}, errors.New("MongoDB returned no time of the read")
	}
	return ReadTime{*at}, nil
}
