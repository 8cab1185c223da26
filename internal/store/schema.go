package store

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Collections returns the collections of this package, with indexes and validators. Locks can be sharded by event:
// their unique indexes begin with it.
func Collections() []mongodb.Collection {
	active := bson.D{{Key: "status", Value: string(holdfast.LockActive)}}
	return []mongodb.Collection{
		{
			Name:   eventsName,
			Schema: &eventRules,
			Bounds: possibleCounter,
			Indexes: []mongodb.Index{
				// This index finds oversold events. There should be none.
				{Keys: mongodb.Keys("oversold"), Partial: bson.D{{Key: "oversold", Value: bson.D{{Key: "$gt", Value: 0}}}}},
				// This index serves passes over the events that are not archived.
				{Keys: mongodb.Keys(archivedAt, "_id")},
				// These indexes serve lists by status, by date, and by both.
				{Keys: mongodb.Keys("status", "_id")},
				{Keys: mongodb.Keys("eventDate", "_id")},
				{Keys: mongodb.Keys("status", "eventDate", "_id")},
				byShopReference,
				// This index serves passes over the waiting lists.
				{Keys: mongodb.Keys("waitlist", archivedAt, "_id"), Partial: bson.D{{Key: "waitlist", Value: bson.D{{Key: "$exists", Value: true}}}}},
				// This index serves the job of the waiting lists.
				{Keys: mongodb.Keys(listCheckAt), Partial: bson.D{{Key: listCheckAt, Value: bson.D{{Key: "$exists", Value: true}}}}},
			},
		},
		{
			Name:   locksName,
			Schema: &lockRules,
			Indexes: []mongodb.Index{
				// This index serves sums by event, which it covers, and lists by event.
				{Keys: mongodb.Keys("eventId", "status", "_id", "seats")},
				// This index serves lists by user, and the seats and locks of a user in an event.
				{Keys: mongodb.Keys("userId", "eventId", "status", "_id")},
				lockKey,
				// This index serves the sweep, and the reclaim of the due locks of one event.
				{Keys: mongodb.Keys("expiresAt", "_id"), Partial: active},
				{Keys: mongodb.Keys("eventId", "expiresAt", "_id"), Partial: active},
				byShopReference,
			},
		},
		{
			Name:   bookingsName,
			Schema: &bookingRules,
			Indexes: []mongodb.Index{
				{Keys: mongodb.Keys("seatLockId", "status")},
				// These indexes serve lists by event and, covered, the sales of the events that are not archived.
				{Keys: mongodb.Keys("eventId", "status", "_id", "seatLockId")},
				{Keys: mongodb.Keys(sourceEvent, "status", "_id"), Partial: bson.D{{Key: sourceEvent, Value: bson.D{{Key: "$exists", Value: true}}}}},
				{Keys: mongodb.Keys("userId", "eventId", "status", "_id")},
				// This index serves the sales that name no event.
				{Keys: mongodb.Keys("status", "_id", "seatLockId"), Partial: unnamed},
				// This index serves the sweep of due bookings, and passes over one status.
				{Keys: mongodb.Keys("paymentExpiresAt", "_id"), Partial: mongodb.Is("status", string(holdfast.BookingPending))},
				{Keys: mongodb.Keys("status", "_id", "seatLockId")},
				byReference,
				byShopReference,
			},
		},
		payments(),
		entries(),
		{Name: cancellationsName, Schema: &cancellationRules},
	}
}

// byShopReference serves lists by reference, and by reference and status. A document without one is not in it.
var byShopReference = mongodb.Index{Keys: mongodb.Keys(shopReference, "status", "_id"),
	Partial: bson.D{{Key: shopReference, Value: bson.D{{Key: "$exists", Value: true}}}}}

// lockKey makes the idempotency keys of a user and an event unique.
var lockKey = mongodb.Index{Keys: mongodb.Keys("eventId", "userId", "idempotencyKey"), Unique: true,
	Partial: bson.D{{Key: "idempotencyKey", Value: bson.D{{Key: "$exists", Value: true}}}}}

// seatIndex makes a seat unique among the locks that take seats of an event. It does not detect a lock that names a
// seat twice.
var seatIndex = mongodb.Index{Keys: mongodb.Keys("eventId", seatIDsField), Unique: true, Partial: bson.D{
	{Key: seatIDsField, Value: bson.D{{Key: "$exists", Value: true}}},
	{Key: "status", Value: bson.D{{Key: "$in", Value: holdfast.TakingStatuses()}}},
}}

// SeatIndex returns the unique index of seats. A database may or may not have it: it reduces the locks per second of
// a busy seated event by about a third, and makes MongoDB itself refuse to sell a seat twice.
func SeatIndex() []mongodb.Collection {
	return []mongodb.Collection{{Name: locksName, Indexes: []mongodb.Index{seatIndex}}}
}

// IsSeatIndex reports whether an entry is the one of SeatIndex.
func IsSeatIndex(c mongodb.Collection) bool {
	return len(c.Indexes) == 1 && c.Indexes[0].Unique && slices.Equal(c.Indexes[0].Keys, seatIndex.Keys)
}

// RetentionIndexes returns the indexes of EachPurgeable and PurgeEntries. They are created only if ended locks are removed, because
// each index makes writes more expensive.
func RetentionIndexes() []mongodb.Collection {
	ended := mongodb.Collection{Name: locksName}
	for _, s := range purgeable {
		ended.Indexes = append(ended.Indexes, mongodb.Index{
			Keys: mongodb.Keys(byChange, byExpiry, "_id"), Partial: mongodb.Is("status", string(s))})
	}
	entries := mongodb.Collection{Name: entriesName}
	for _, s := range purgeableEntries {
		entries.Indexes = append(entries.Indexes, mongodb.Index{Keys: mongodb.Keys(byChange, "_id"), Partial: mongodb.Is("status", string(s))})
	}
	return []mongodb.Collection{ended, entries}
}
