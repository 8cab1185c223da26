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

// A primary that was paused or partitioned, while another one was elected, answers reads
// with old data. A primary that has just been elected may not know yet what is committed.
// Neither can harm a write, because a commit needs the majority. A refusal writes nothing,
// so it has to be confirmed.

// Place is where documents are: in a sharded cluster, on the shards that the filter matches.
type Place struct {
	Collection string
	Filter     bson.D
}

// At returns the places for ConfirmRefusal, where they are known from the start.
func At(places ...Place) func() []Place { return func() []Place { return places } }

// ConfirmRefusal calls do. If do refuses, and doubtful says that the refusal may come from
// old data, it waits until the primaries of the places have confirmed their role (see Barrier),
// and calls do again, with reads that are not older (see WithReadTime). places are of the
// documents that the refusal is about; they are asked for after do. Within a transaction do is
// called once: the commit confirms the role.
func ConfirmRefusal[T any](
	ctx context.Context, db *DB, doubtful func(error) bool, places func() []Place, do func(ctx context.Context) (T, error),
) (T, error) {
	value, err := do(ctx)
	if err == nil || !doubtful(err) || mongo.SessionFromContext(ctx) != nil {
		return value, err
	}
	at, err := db.Barrier(ctx, places())
	if err != nil {
		var zero T
		return zero, err
	}
	return do(WithReadTime(ctx, at))
}

// IsRefusal reports whether a rule refuses because of the stored state. A failure of the
// database and invalid input are no refusals.
func IsRefusal(err error) bool {
	code := holdfast.CodeOf(err)
	return code != "" && code != holdfast.CodeUnavailable && code != holdfast.CodeOutcomeUnknown && code != holdfast.CodeInvalid
}

// barrierTimeout bounds the wait for a primary that has no majority.
const barrierTimeout = 5 * time.Second

// Barrier is a linearizable read: the majority confirms the primary's role. It returns the
// time of the read. WithReadTime ties the reads that follow to it: another primary may answer
// them, or the same one after it was deposed.
//
// In a replica set one primary has all documents, so the first place is enough. In a sharded
// cluster each place is read, because its shard has a primary of its own.
func (db *DB) Barrier(ctx context.Context, places []Place) (ReadTime, error) {
	ctx, cancel := context.WithTimeout(ctx, barrierTimeout)
	defer cancel()
	// A causally consistent session would name the time of the first read in the second.
	session, err := db.client.StartSession(options.Session().SetCausalConsistency(false))
	if err != nil {
		return ReadTime{}, Translate(err)
	}
	defer session.EndSession(ctx)
	if !db.sharded {
		places = places[:1]
	}
	for _, p := range places {
		err := db.Collection(p.Collection, options.Collection().SetReadConcern(readconcern.Linearizable())).
			FindOne(mongo.NewSessionContext(ctx, session), p.Filter, options.FindOne().SetProjection(Keys("_id"))).Err()
		if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
			return ReadTime{}, Translate(err)
		}
	}
	at, err := operationTime(session)
	return at, Translate(err)
}

// operationTime is the time of a session's last command.
func operationTime(session *mongo.Session) (ReadTime, error) {
	at := session.OperationTime()
	if at == nil { // every replica set and mongos gives it
		return ReadTime{}, errors.New("MongoDB gave no time of the read")
	}
	return ReadTime{*at}, nil
}
