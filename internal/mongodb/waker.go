package mongodb

import (
	"context"
	"log/slog"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// awaitTime is how long Wait waits, and awaitTimeout how long a change stream may take, such as on a server that hangs.
	awaitTime    = time.Second
	awaitTimeout = 3 * awaitTime
	// closeTimeout bounds the time in which the server is told that a change stream is not needed any more.
	closeTimeout = time.Second
	// pollTime is how long no change stream is tried after one has failed.
	pollTime = time.Minute
)

// Waker tells one goroutine when to look again for what others write to a collection. It only wakes: look after each call
// of Wait, whatever it says.
type Waker struct {
	db         *DB
	collection *mongo.Collection
	event      bson.D
	interval   time.Duration
	failedAt   time.Time // of the last change stream
}

// NewWaker returns a waker for the change events of a collection that match a filter. Without a change stream it wakes after
// each interval: behind a mongos, which holds events back until all shards have passed their time, and for a minute after
// a change stream has failed.
func (db *DB) NewWaker(collection string, event bson.D, interval time.Duration) *Waker {
	return &Waker{db: db, collection: db.Collection(collection), event: event, interval: interval}
}

// Wait waits for an event, a second or the interval at most unless the server is slow, and reports whether there was one. isThere
// says whether what the caller waits for is there already: the change stream has only what is written after it began.
func (w *Waker) Wait(ctx context.Context, isThere func(ctx context.Context) (bool, error)) (isWritten bool) {
	if !w.db.sharded && (w.failedAt.IsZero() || w.db.clock.Since(w.failedAt) >= pollTime) {
		isWritten, err := w.await(ctx, isThere)
		if err == nil || ctx.Err() != nil {
			return isWritten
		}
		w.failedAt = w.db.clock()
		w.db.log.WarnContext(ctx, "Waiting by a change stream has failed; polling for a minute",
			slog.String("collection", w.collection.Name()), slog.Any("error", err))
	}
	timer := time.NewTimer(w.interval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}

func (w *Waker) await(ctx context.Context, isThere func(ctx context.Context) (bool, error)) (isWritten bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, awaitTimeout)
	defer cancel()
	stream, err := w.collection.Watch(ctx, mongo.Pipeline{Match(w.event), Only("_id")}, options.ChangeStream().SetMaxAwaitTime(awaitTime))
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = stream.Close(ctx) // the server forgets it by itself
	}()
	begun, err := w.db.lastWrite(ctx)
	if err != nil {
		return false, err
	}
	if isWritten, err = isThere(WithReadTime(ctx, begun)); isWritten || err != nil {
		return isWritten, err
	}
	for range 2 { // the first call reads what the stream began with, the second one waits
		isWritten = isWritten || stream.TryNext(ctx)
	}
	return isWritten, stream.Err()
}

// lastWrite is the time of the last write that the primary has, which the majority may not have yet. A change stream begins
// behind that write. So what it does not have is found by a read that is not older.
func (db *DB) lastWrite(ctx context.Context) (ReadTime, error) {
	session, err := db.client.StartSession(options.Session().SetCausalConsistency(false))
	if err != nil {
		return ReadTime{}, err
	}
	defer session.EndSession(ctx)
	if err := db.client.Ping(mongo.NewSessionContext(ctx, session), nil); err != nil {
		return ReadTime{}, err
	}
	return operationTime(session)
}
