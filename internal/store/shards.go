package store

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// In a sharded cluster locks and bookings are sharded by eventId, and events by _id. A query that
// names the event goes to the shard of the event. Any other query goes to all shards. In a replica
// set no query needs the event, and a booking is found by its lock whatever event it names.

// ofEvents matches the locks of events; it matches every lock if there is no event.
func ofEvents(eventIDs []ID) bson.D {
	if len(eventIDs) == 0 {
		return nil
	}
	return mongodb.In("eventId", eventIDs)
}

// noEventID matches bookings of other software, whose eventId is missing or no ObjectID: they may
// be of any event. In a sharded cluster they are in the first or the last chunk.
var noEventID = mongodb.Not("eventId", bson.E{Key: "$gt", Value: ID{}})

// bookingsOf matches the bookings of events, but not those that name another event; it matches
// every booking if there is no event.
func bookingsOf(eventIDs []ID) bson.D {
	if len(eventIDs) == 0 {
		return nil
	}
	return bson.D{{Key: "$or", Value: bson.A{mongodb.In("eventId", eventIDs), noEventID}}}
}

// eventsOf are the events of the locks and bookings that are needed, for queries.
func (s *Store) eventsOf(eventID ID, n inventory.Needs) []ID {
	return s.named(append(slices.Clone(n.Events), eventID)...)
}

// named are the events that a query has to name.
func (s *Store) named(eventIDs ...ID) []ID {
	if !s.db.Sharded() {
		return nil
	}
	return known(eventIDs...)
}

// known are the IDs that are not zero.
func known(eventIDs ...ID) []ID {
	list := make([]ID, 0, len(eventIDs))
	for _, id := range eventIDs {
		if !id.IsZero() {
			list = append(list, id)
		}
	}
	return list
}

// joinOfEvent is mongodb.JoinBy for documents with the event that the document names.
func (s *Store) joinOfEvent(as, collection, local, foreign string, event any, stages ...bson.D) bson.D {
	if !s.db.Sharded() {
		return mongodb.JoinBy(as, collection, local, foreign, stages...)
	}
	sameEvent := bson.D{{Key: "$expr", Value: bson.D{{Key: "$eq", Value: bson.A{"$eventId", "$$event"}}}}}
	if collection == bookingsName {
		sameEvent = bson.D{{Key: "$or", Value: bson.A{sameEvent, noEventID}}}
	}
	return bson.D{{Key: "$lookup", Value: bson.D{
		{Key: "from", Value: collection}, {Key: "as", Value: as},
		{Key: "localField", Value: local}, {Key: "foreignField", Value: foreign},
		{Key: "let", Value: bson.D{{Key: "event", Value: event}}},
		{Key: "pipeline", Value: append([]bson.D{mongodb.Match(sameEvent)}, stages...)},
	}}}
}

// eventOfBooking is the event that a booking names.
var eventOfBooking = bson.D{{Key: "$cond", Value: bson.A{isObjectID("$eventId"), "$eventId", "$" + foreignEvent}}}

// PlacesOf are the places of an event and of its locks and bookings.
func PlacesOf(eventID ID) []mongodb.Place {
	return []mongodb.Place{
		{Collection: eventsName, Filter: mongodb.Is("_id", eventID)},
		{Collection: locksName, Filter: mongodb.Is("eventId", eventID)},
		{Collection: bookingsName, Filter: mongodb.Is("eventId", eventID)},
	}
}

// PlaceOfLock is the place of a lock whose event is not known.
func PlaceOfLock(id ID) mongodb.Place {
	return mongodb.Place{Collection: locksName, Filter: mongodb.Is("_id", id)}
}

// PlaceOfBooking is the place of a booking whose event is not known.
func PlaceOfBooking(id ID) mongodb.Place {
	return mongodb.Place{Collection: bookingsName, Filter: mongodb.Is("_id", id)}
}
