package mongodb

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// awaitTime is how long AwaitWrite waits, and awaitTimeout how long it may take, such as on a server that hangs.
	awaitTime    = time.Second
	awaitTimeout = 3 * awaitTime
	// closeTimeout bounds the time in which the server is told that a change stream is not needed any more.
	closeTimeout = time.Second
)

// AwaitWrite waits until a collection has a change event that matches a filter, for a second at most, and reports
// whether there was one. First it asks whether there is already what the caller waits for: the change stream has only
// what is written after it began. It is a wake-up and no more: an event may come late in an election, so look
// again after each call, whatever it says. It fails with UNAVAILABLE; without a change stream, poll.
func AwaitWrite(
	ctx context.Context, c *mongo.Collection, event bson.D, isThere func(ctx context.Context) (bool, error),
) (isWritten bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, awaitTimeout)
	defer cancel()
	stream, err := c.Watch(ctx, mongo.Pipeline{Match(event), Only("_id")}, options.ChangeStream().SetMaxAwaitTime(awaitTime))
	if err != nil {
		return false, Translate(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = stream.Close(ctx) // the server forgets it by itself
	}()
	if isWritten, err = isThere(ctx); isWritten || err != nil {
		return isWritten, err
	}
	for range 2 { // the first call reads what the stream began with, the second one waits
		isWritten = isWritten || stream.TryNext(ctx)
	}
	return isWritten, Translate(stream.Err())
}
