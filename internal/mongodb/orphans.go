package mongodb

import (
	"context"
	"log/slog"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
)

const (
	// OrphanIdleTimeout is how long a transaction must have been idle to count as orphaned. The transaction of a
	// live process is idle for milliseconds between two commands.
	OrphanIdleTimeout = 5 * time.Second
	endOrphansTimeout = 5 * time.Second
)

// EndOrphans ends the transactions of our application, on this database and by this user, that have been idle for
// more than OrphanIdleTimeout. It returns their number. If the process of an ended transaction is alive, it retries
// its transaction.
func (db *DB) EndOrphans(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, endOrphansTimeout)
	defer cancel()
	admin := db.admin()
	cursor, err := admin.Aggregate(ctx, mongo.Pipeline{
		{{Key: "$currentOp", Value: bson.D{{Key: "idleSessions", Value: true}, {Key: "allUsers", Value: false}}}},
		{{Key: "$match", Value: bson.D{
			{Key: "type", Value: "idleSession"},
			{Key: "appName", Value: db.appName},
			{Key: "transaction.timeInactiveMicros", Value: bson.D{{Key: "$gt", Value: OrphanIdleTimeout.Microseconds()}}},
		}}},
		{{Key: "$project", Value: bson.D{{Key: "id", Value: "$lsid.id"}}}},
	})
	if err != nil {
		return 0, err
	}
	var found []struct {
		ID bson.Binary `bson:"id"`
	}
	if err := cursor.All(ctx, &found); err != nil || len(found) == 0 {
		return 0, err
	}
	sessions := make(bson.A, 0, len(found))
	for _, f := range found {
		sessions = append(sessions, bson.D{{Key: "id", Value: f.ID}})
	}
	if err := admin.RunCommand(ctx, bson.D{{Key: "killSessions", Value: sessions}}).Err(); err != nil {
		return 0, err
	}
	if db.observe.Orphans != nil {
		db.observe.Orphans(len(found))
	}
	db.log.WarnContext(ctx, "Ended orphaned transactions", slog.Int("count", len(found)))
	return len(found), nil
}

// defaultLifetime is MongoDB's default limit on the duration of a transaction.
const defaultLifetime = time.Minute

// TransactionLifetime returns the server's limit on the duration of a transaction, or MongoDB's default if the
// server does not say it.
func (db *DB) TransactionLifetime(ctx context.Context) time.Duration {
	var answer struct {
		Seconds int64 `bson:"transactionLifetimeLimitSeconds"`
	}
	ask := bson.D{{Key: "getParameter", Value: 1}, {Key: "transactionLifetimeLimitSeconds", Value: 1}}
	err := db.admin().RunCommand(ctx, ask).Decode(&answer)
	if err == nil && answer.Seconds > 0 {
		return time.Duration(answer.Seconds) * time.Second
	}
	return defaultLifetime
}

// admin is for $currentOp, which MongoDB refuses under the majority read concern.
func (db *DB) admin() *mongo.Database {
	return db.client.Database("admin", databaseOptions().SetReadConcern(readconcern.Local()))
}

// endOrphansQuietly is for a transaction that keeps meeting conflicts. It only logs errors, and skips the search if
// another one is running.
func (db *DB) endOrphansQuietly(ctx context.Context) {
	if !db.orphans.TryLock() {
		return
	}
	defer db.orphans.Unlock()
	if _, err := db.EndOrphans(context.WithoutCancel(ctx)); err != nil {
		db.log.WarnContext(ctx, "Could not search for orphaned transactions", slog.Any("error", err))
	}
}
