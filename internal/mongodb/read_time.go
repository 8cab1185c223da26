package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// ReadTime is a time of the cluster. A read that names it waits until the majority has that time. A primary that was
// deposed before that time never answers such a read.
type ReadTime struct{ at bson.Timestamp }

// After reports whether t is later than u.
func (t ReadTime) After(u ReadTime) bool { return t.at.After(u.at) }

type readTimeKey struct{}

// ReadTimeOf returns the time that WithReadTime has set; it is zero if none was set.
func ReadTimeOf(ctx context.Context) ReadTime {
	t, _ := ctx.Value(readTimeKey{}).(ReadTime)
	return t
}

// WithReadTime returns a context whose reads are not older than t. This applies to the reads of this package, to its
// transactions, and to reads with the ReadConcern of Snapshot.
func WithReadTime(ctx context.Context, t ReadTime) context.Context {
	if !t.After(ReadTimeOf(ctx)) {
		return ctx
	}
	return context.WithValue(ctx, readTimeKey{}, t)
}

// Snapshot returns the read concern of a command outside of a transaction: one snapshot, not older than the
// context's time.
func Snapshot(ctx context.Context) bson.D {
	concern := bson.D{{Key: "level", Value: "snapshot"}}
	if t := ReadTimeOf(ctx); !t.at.IsZero() {
		concern = append(concern, bson.E{Key: "afterClusterTime", Value: t.at})
	}
	return concern
}

// readAfter returns a context for one read, which is not older than the time of ctx. The reads of a transaction are
// tied to a time where it begins.
func readAfter(ctx context.Context, client *mongo.Client) (tied context.Context, end func(), err error) {
	if ReadTimeOf(ctx).at.IsZero() || mongo.SessionFromContext(ctx) != nil {
		return ctx, func() {}, nil
	}
	session, err := client.StartSession()
	if err != nil {
		return nil, nil, err
	}
	if err := advance(ctx, session); err != nil {
		session.EndSession(ctx)
		return nil, nil, err
	}
	return mongo.NewSessionContext(ctx, session), func() { session.EndSession(ctx) }, nil
}

// advance makes the reads of a session not older than the time of ctx.
func advance(ctx context.Context, session *mongo.Session) error {
	t := ReadTimeOf(ctx)
	if t.at.IsZero() {
		return nil
	}
	return session.AdvanceOperationTime(&t.at)
}
