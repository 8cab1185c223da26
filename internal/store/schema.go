package store

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// EventsCollection exists in every database that has been used.
const EventsCollection = eventsName

// Collections are the indexes and validators. Locks shard by event: unique indexes
// begin with it.
func Collections() []mongodb.Collection {
	active := bson.D{{Key: "status", Value: string(holdfast.LockActive)}}
	possibleCounter := bson.D{{Key: "$expr", Value: bson.D{{Key: "$and", Value: bson.A{
		bson.D{{Key: "$gte", Value: bson.A{"$availableSeats", 0}}},
		bson.D{{Key: "$lte", Value: bson.A{"$availableSeats", "$totalSeats"}}},
	}}}}}
	return []mongodb.Collection{
		{
			Name:      eventsName,
			Validator: possibleCounter,
			Upgraded:  withoutFormer(possibleCounter, formerEventNumbers...),
			Indexes: []mongodb.Index{
				// Oversold events; there should be none.
				{Keys: mongodb.Keys("oversold"), Partial: bson.D{{Key: "oversold", Value: bson.D{{Key: "$gt", Value: 0}}}}},
				// Passes over the events that are not sealed, or that are.
				{Keys: mongodb.Keys(sealFlag, "_id")},
			},
		},
		{
			Name:      locksName,
			Validator: lockStatuses,
			Upgraded:  withoutFormer(lockStatuses, formerRev),
			Indexes: []mongodb.Index{
				// Sums by event, covered; lists by event.
				{Keys: mongodb.Keys("eventId", "status", "_id", "seats")},
				// Lists by user; a user's seats and locks of an event.
				{Keys: mongodb.Keys("userId", "eventId", "status", "_id")},
				lockKey,
				// The sweep, and the reclaim of one event's due locks.
				{Keys: mongodb.Keys("expiresAt", "_id"), Partial: active},
				{Keys: mongodb.Keys("eventId", "expiresAt", "_id"), Partial: active},
			},
		},
		{
			Name:      bookingsName,
			Validator: mongodb.OneOf("status", holdfast.BookingStatuses()...),
			Indexes: []mongodb.Index{
				{Keys: mongodb.Keys("seatLockId", "status")},
				// Lists by event; sales of the events that are not sealed, covered.
				{Keys: mongodb.Keys("eventId", "status", "_id", "seatLockId")},
				{Keys: mongodb.Keys(foreignEvent, "status", "_id"), Partial: bson.D{{Key: foreignEvent, Value: bson.D{{Key: "$exists", Value: true}}}}},
				{Keys: mongodb.Keys("userId", "eventId", "status", "_id")},
				// Sales that name no event.
				{Keys: mongodb.Keys("status", "_id", "seatLockId"), Partial: unnamed},
				// The sweep of due bookings; passes over one status.
				{Keys: mongodb.Keys("paymentExpiresAt", "_id"), Partial: mongodb.Is("status", string(holdfast.BookingPending))},
				{Keys: mongodb.Keys("status", "_id", "seatLockId")},
				byReference,
			},
		},
		payments(),
	}
}

// lockKey makes the idempotency keys of a user and an event unique.
var lockKey = mongodb.Index{Keys: mongodb.Keys("eventId", "userId", "idempotencyKey"), Unique: true,
	Partial: bson.D{{Key: "idempotencyKey", Value: bson.D{{Key: "$exists", Value: true}}}}}

var lockStatuses = mongodb.OneOf("status", append(holdfast.LockStatuses(), holdfast.LockBlocked)...)

// seatIndex makes a seat unique among the locks that take seats of an event. It does not see a seat that one
// lock names twice.
var seatIndex = mongodb.Index{Keys: mongodb.Keys("eventId", seatIDsField), Unique: true, Partial: bson.D{
	{Key: seatIDsField, Value: bson.D{{Key: "$exists", Value: true}}},
	{Key: "status", Value: bson.D{{Key: "$in", Value: holdfast.TakingStatuses()}}},
}}

// SeatIndex is the unique index of seats, which a database has or not: it costs about a third of the locks of
// a busy seated event, and MongoDB itself then refuses to sell a seat twice.
func SeatIndex() []mongodb.Collection {
	return []mongodb.Collection{{Name: locksName, Indexes: []mongodb.Index{seatIndex}}}
}

// withoutFormer is a validator that also refuses fields of the former version.
func withoutFormer(validator bson.D, fields ...string) bson.D {
	return slices.Concat(validator, without(fields...))
}

// IsSeatIndex reports whether an entry is that of SeatIndex.
func IsSeatIndex(c mongodb.Collection) bool {
	return len(c.Indexes) == 1 && c.Indexes[0].Unique && slices.Equal(c.Indexes[0].Keys, seatIndex.Keys)
}

// RetentionIndexes are the indexes of EachPurgeable. They are made only if ended locks are
// removed, because each index costs writes.
func RetentionIndexes() []mongodb.Collection {
	ended := mongodb.Collection{Name: locksName}
	for _, s := range purgeable {
		ended.Indexes = append(ended.Indexes, mongodb.Index{
			Keys: mongodb.Keys(byChange, byExpiry, "_id"), Partial: mongodb.Is("status", string(s))})
	}
	return []mongodb.Collection{ended}
}
