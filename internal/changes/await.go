package changes

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// RecordWaker returns a function that waits until there is a record without a number, for about a second at most, and
// reports whether there may be one. The caller should call Number whatever the result is. Without a change stream the
// function returns after each interval.
func (l *Log) RecordWaker(interval time.Duration) func(ctx context.Context) bool {
	waker := l.db.NewWaker(name, mongodb.Is("operationType", "insert"), interval)
	return func(ctx context.Context) bool {
		return waker.Wait(ctx, func(ctx context.Context) (bool, error) {
			_, isAny, err := l.oldest(ctx)
			return isAny, err
		})
	}
}

// NumberWaker returns a function that waits until a record at a position or behind it has a number, for about a second at
// most, and reports whether one may have. The caller should read whatever the result is. Without a change stream the
// function returns after each interval.
func (l *Log) NumberWaker(interval time.Duration) func(ctx context.Context, from Position) bool {
	waker := l.db.NewWaker(mongodb.MetaCollection, mongodb.Is("documentKey._id", endsID), interval)
	return func(ctx context.Context, from Position) bool {
		return waker.Wait(ctx, func(ctx context.Context) (bool, error) {
			at, err := l.ends(ctx)
			return at.Last >= from.Seq, err
		})
	}
}
