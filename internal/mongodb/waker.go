package mongodb

import (
	"context"
	"log/slog"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

const (
	// waitTimeout is how long Wait waits. streamTimeout is how long a change stream may take to answer, such as on a
	// server that hangs.
	waitTimeout   = time.Second
	streamTimeout = 3 * waitTimeout
	// closeTimeout bounds the time to close a change stream on the server.
	closeTimeout = time.Second
	// streamRetryDelay is the time between a failure of a change stream and the next attempt to open one.
	streamRetryDelay = time.Minute
)

// Waker wakes one goroutine when the documents that it reads may have been changed. It is only a hint: read after
// each call of Wait, whatever Wait returns.
type Waker struct {
	db         *DB
	collection *mongo.Collection
	event      bson.D
	interval   time.Duration
	failedAt   time.Time // of the last change stream
}

// NewWaker returns a waker for the change events of a collection that match a filter. Without a change stream it
// wakes after each interval: for a minute after a change stream has failed.
func (db *DB) NewWaker(collection string, event bson.D, interval time.Duration) *Waker {
	return &Waker{db: db, collection: db.Collection(collection), event: event, interval: interval}
}

// Wait waits for an event, and reports whether there was one. Unless the server is slow, it waits for a second or
// the interval at most. isThere reports whether the documents that the caller waits for exist already: the change
// stream has only events after it was opened.
func (w *Waker) Wait(ctx context.Context, isThere func(ctx context.Context) (bool, error)) (isWritten bool) {
	if w.failedAt.IsZero() || w.db.clock.Since(w.failedAt) >= streamRetryDelay {
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
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	stream, err := w.collection.Watch(ctx, mongo.Pipeline{Match(w.event), Only("_id")}, options.ChangeStream().SetMaxAwaitTime(waitTimeout))
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = stream.Close(ctx) // the server closes it by itself later
	}()
	begun, err := w.db.lastWrite(ctx)
	if err != nil {
		return false, err
	}
	if isWritten, err = isThere(WithReadTime(ctx, begun)); isWritten || err != nil {
		return isWritten, err
	}
	for range 2 { // the first call returns the events up to now, the second one waits
		isWritten = isWritten || stream.TryNext(ctx)
	}
	return isWritten, stream.Err()
}

// lastWrite returns the time of the primary's last write, which the majority may not have yet. A change stream
// begins after that write. A read that is not older finds what the stream does not have.
func (db *DB) lastWrite(ctx context.Context) (ReadTime, error) {
	session, err := db.client.StartSession(options.Session().SetCausalConsistency(false))
	if err != nil {
		return ReadTime{}, err
	}
	defer session.EndSession(ctx)
	if err := db.client.Ping(mongo.NewSessionContext(ctx, session), readpref.Primary()); err != nil {
		return ReadTime{}, err
	}
	return operationTime(session)
}
