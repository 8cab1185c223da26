package changes

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// AwaitRecord waits until there is a record without a number, for a second at most, and reports whether there is one.
// It only wakes: call Number whatever it says. It fails with UNAVAILABLE.
func (l *Log) AwaitRecord(ctx context.Context) (bool, error) {
	return mongodb.AwaitWrite(ctx, l.collection(), mongodb.Is("operationType", "insert"), func(ctx context.Context) (bool, error) {
		_, isAny, err := l.oldest(ctx)
		return isAny, mongodb.Translate(err)
	})
}

// AwaitNumber waits until a record at a position or behind it has a number, for a second at most, and reports whether
// one has. It only wakes: read whatever it says. It fails with UNAVAILABLE.
func (l *Log) AwaitNumber(ctx context.Context, from Position) (bool, error) {
	return mongodb.AwaitWrite(ctx, l.meta(), mongodb.Is("documentKey._id", endsID), func(ctx context.Context) (bool, error) {
		at, err := l.ends(ctx)
		return at.Last >= from.Seq, mongodb.Translate(err)
	})
}
