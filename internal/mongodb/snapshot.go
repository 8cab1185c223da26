package mongodb

import (
	"context"
	"log/slog"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
)

// snapshotAttempts bounds the attempts of AtSnapshot, each with a later snapshot.
const snapshotAttempts = 3

// historyCodes are the errors of MongoDB if it no longer has a snapshot, or does not have it yet.
var historyCodes = []int{239, 246} // SnapshotTooOld, SnapshotUnavailable

// AtSnapshot calls read with a context in which all reads see one snapshot, which includes all writes acknowledged
// before. It is not a transaction, so the time limit of transactions does not apply, and it holds no document. All
// reads together may take as long as MongoDB keeps the history: minSnapshotHistoryWindowInSeconds, which is 300 s by
// default. After that AtSnapshot calls read again, with a later snapshot. It translates the driver's errors.
// The context must not be used for writes or for InTx.
func AtSnapshot[T any](ctx context.Context, db *DB, read func(ctx context.Context) (T, error)) (T, error) {
	var zero T
	for attempt := 1; ; attempt++ {
		value, err := readAtSnapshot(ctx, db, read)
		switch {
		case err == nil:
			return value, nil
		case !isBeyondHistory(err):
			return zero, Translate(err)
		case attempt == snapshotAttempts:
			return zero, holdfast.Refuse(holdfast.CodeUnavailable,
				"The read took longer than MongoDB keeps its history; raise minSnapshotHistoryWindowInSeconds.").By(err)
		}
		db.log.WarnContext(ctx, "A read took longer than MongoDB keeps its history (minSnapshotHistoryWindowInSeconds); it begins again",
			slog.Int("attempt", attempt), slog.Any("error", err))
	}
}

func readAtSnapshot[T any](ctx context.Context, db *DB, read func(ctx context.Context) (T, error)) (value T, err error) {
	session, err := db.client.StartSession(options.Session().SetSnapshot(true))
	if err != nil {
		return value, err
	}
	defer endSession(ctx, session)
	return read(mongo.NewSessionContext(ctx, session))
}

func isBeyondHistory(err error) bool {
	return hasCode(err, historyCodes...)
}
