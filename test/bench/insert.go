package main

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// bulkInsert inserts many documents. After an error it inserts nothing more.
type bulkInsert struct {
	db      *mongo.Database
	pending map[string][]any // by collection
	err     error            // the first one
}

func (e *env) newBulkInsert() *bulkInsert {
	return &bulkInsert{db: e.DB.Database, pending: map[string][]any{}}
}

// add inserts a document now or later.
func (b *bulkInsert) add(ctx context.Context, collection string, document bson.D) {
	const perInsert = 10_000
	b.pending[collection] = append(b.pending[collection], document)
	if len(b.pending[collection]) == perInsert {
		_ = b.flush(ctx) // the last call returns the error
	}
}

// flush inserts what is left, and returns the first error.
func (b *bulkInsert) flush(ctx context.Context) error {
	for name, documents := range b.pending {
		if b.err == nil {
			_, b.err = b.db.Collection(name).InsertMany(ctx, documents)
		}
	}
	clear(b.pending)
	return b.err
}

// addEvent adds an event of which some seats are taken, and returns its ID.
func (b *bulkInsert) addEvent(ctx context.Context, total, taken int) holdfast.ID {
	id := mongodb.NewID()
	b.add(ctx, "events", bson.D{{Key: "_id", Value: id}, {Key: "name", Value: "Event"}, {Key: "status", Value: "ON_SALE"},
		{Key: "totalSeats", Value: total}, {Key: "availableSeats", Value: total - taken}})
	return id
}

// addLock adds a lock with the fields that each lock has, and more.
func (b *bulkInsert) addLock(ctx context.Context, event holdfast.ID, seats int, status string, expiresAt time.Time, more ...bson.E) (
	id, user holdfast.ID,
) {
	id, user = mongodb.NewID(), mongodb.NewID()
	b.add(ctx, "seatlocks", append(bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
		{Key: "seats", Value: seats}, {Key: "status", Value: status}, {Key: "expiresAt", Value: expiresAt}}, more...))
	return id, user
}

// addSold adds a lock of a CONFIRMED booking, with more fields of both.
func (b *bulkInsert) addSold(
	ctx context.Context, event holdfast.ID, seats int, expiresAt time.Time, ofLock, ofBooking []bson.E,
) (booking, user holdfast.ID) {
	booking = mongodb.NewID()
	lock, user := b.addLock(ctx, event, seats, "CONSUMED", expiresAt, ofLock...)
	b.add(ctx, "bookings", append(bson.D{{Key: "_id", Value: booking}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
		{Key: "seatLockId", Value: lock}, {Key: "seats", Value: seats}, {Key: "status", Value: "CONFIRMED"}}, ofBooking...))
	return booking, user
}
