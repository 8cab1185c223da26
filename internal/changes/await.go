package changes

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// RecordWaker tells a goroutine when to number.
type RecordWaker struct {
	log   *Log
	waker *mongodb.Waker
}

// NewRecordWaker returns a waker that without a change stream wakes after each interval.
func (l *Log) NewRecordWaker(interval time.Duration) RecordWaker {
	return RecordWaker{l, l.db.NewWaker(name, mongodb.Is("operationType", "insert"), interval)}
}

// Wait waits until there is a record without a number, for about a second at most, and reports whether there may be. Call Number
// whatever it says.
func (w RecordWaker) Wait(ctx context.Context) bool {
	return w.waker.Wait(ctx, func(ctx context.Context) (bool, error) {
		_, isAny, err := w.log.oldest(ctx)
		return isAny, err
	})
}

// NumberWaker tells a goroutine when to read what is numbered.
type NumberWaker struct {
	log   *Log
	waker *mongodb.Waker
}

// NewNumberWaker returns a waker that without a change stream wakes after each interval.
func (l *Log) NewNumberWaker(interval time.Duration) NumberWaker {
	return NumberWaker{l, l.db.NewWaker(mongodb.MetaCollection, mongodb.Is("documentKey._id", endsID), interval)}
}

// Wait waits until a record at a position or behind it has a number, for about a second at most, and reports whether one
// may have. Read whatever it says.
func (w NumberWaker) Wait(ctx context.Context, from Position) bool {
	return w.waker.Wait(ctx, func(ctx context.Context) (bool, error) {
		at, err := w.log.ends(ctx)
		return at.Last >= from.Seq, err
	})
}
