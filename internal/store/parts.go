package store

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// part is one of the reads: the name of its list, and its source.
type part struct {
	as, collection string
	stages         mongo.Pipeline
	add            func(*loaded, bson.Raw) error // adds a document of the list
}

// parts returns the reads of everything except the event.
// MongoDB takes about two milliseconds to plan a query that has a schema, so the process checks the documents. If
// one of the due locks or of the entries that wait is corrupt, they are read again.
func (s *Store) parts(eventID ID, n inventory.Needs, a attempt) []part {
	var list []part
	add := func(as, collection string, to func(*loaded, bson.Raw) error, stages ...bson.D) {
		list = append(list, part{as, collection, stages, to})
	}
	ofEvent, events := mongodb.Is("eventId", eventID), append(slices.Clone(n.Events), known(eventID)...)
	if len(n.Locks) > 0 {
		add("locks", locksName, to(func(l *loaded) *[]lockDoc { return &l.Locks }, &lockRules),
			mongodb.Match(mongodb.In("_id", n.Locks), ofEvents(events)))
	}
	if len(n.LiveOf) > 0 {
		add("live", bookingsName, to(func(l *loaded) *[]bookingDoc { return &l.Live }, &bookingRules),
			mongodb.Match(mongodb.In("seatLockId", n.LiveOf), mongodb.In("status", holdfast.LiveStatuses()))) // whatever event they name
	}
	if len(n.Bookings) > 0 {
		add("bookings", bookingsName, to(func(l *loaded) *[]bookingDoc { return &l.Bookings }, &bookingRules),
			mongodb.Match(mongodb.In("_id", n.Bookings), bookingsOf(events)))
	}
	if len(n.Keys) > 0 {
		users, keys := make([]ID, 0, len(n.Keys)), make([]string, 0, len(n.Keys))
		for _, k := range n.Keys {
			users, keys = append(users, k.User), append(keys, k.Key)
		}
		add("keys", locksName, to(func(l *loaded) *[]lockDoc { return &l.Keys }, &lockRules),
			mongodb.Match(ofEvent, mongodb.In("userId", users), mongodb.In("idempotencyKey", keys)))
	}
	if len(n.Holdings) > 0 {
		add("holdings", locksName, to(func(l *loaded) *[]holdingDoc { return &l.Holdings }, nil),
			holdingsOf(mongodb.And(ofEvent, s.notCorrupt()), n.Holdings)...)
	}
	if n.NeedsDue() {
		add("due", locksName, addDue, dueOf(eventID, n, a.WithoutCorruptDue)...)
	}
	if len(n.DueOf) > 0 {
		add("dueOf", locksName, addDueOf, mongodb.Match(append(isDueOf(eventID), mongodb.In("userId", n.DueOf))...),
			mongodb.Sort("expiresAt", "_id"), mongodb.Limit(inventory.MaxReclaim))
	}
	if len(n.Holders) > 0 {
		// Usually there are none, so they are read without a projection: that would cost MongoDB a sixth of the
		// whole read.
		add("holders", locksName, to(func(l *loaded) *[]lockDoc { return &l.Holders }, &lockRules),
			mongodb.Match(append(isDueOf(eventID), mongodb.In(seatIDsField, n.Holders))...))
	}
	if len(n.Blocks) > 0 {
		isBlock := mongodb.Is("status", string(holdfast.LockBlocked))
		add("blocks", locksName, to(func(l *loaded) *[]lockDoc { return &l.Blocks }, &lockRules),
			mongodb.Match(ofEvent, isBlock, mongodb.In(seatIDsField, n.Blocks)))
	}
	if n.Taken {
		add("taken", locksName, to(func(l *loaded) *[]takenDoc { return &l.Taken }, nil),
			mongodb.Match(ofEvent, mongodb.In("status", holdfast.TakingStatuses()), s.notCorrupt()),
			mongodb.Group(nil, bson.E{Key: "seats", Value: mongodb.Sum(countedSeats)}))
	}
	return append(append(list, paymentParts(n)...), entryParts(eventID, n, a)...)
}

// dueOf reads the due locks of the event.
func dueOf(eventID ID, n inventory.Needs, withoutCorrupt bool) []bson.D {
	isDue := isDueOf(eventID)
	if withoutCorrupt {
		isDue = append(isDue, lockSchema)
	}
	if n.Due == 0 {
		return []bson.D{mongodb.Match(append(isDue, mongodb.In("_id", n.DueAmong))...)}
	}
	return []bson.D{mongodb.Match(isDue...), mongodb.Sort("expiresAt", "_id"), mongodb.Limit(n.Due)}
}

// addDue adds a due lock, unless it is corrupt.
func addDue(l *loaded, doc bson.Raw) error {
	if !lockRules.Holds(doc) {
		l.CorruptDue = true
		return nil
	}
	return to(func(l *loaded) *[]lockDoc { return &l.Due }, nil)(l, doc)
}

// addDueOf adds a due lock of a user, unless it is corrupt.
func addDueOf(l *loaded, doc bson.Raw) error {
	l.DueOfRead++
	return to(func(l *loaded) *[]lockDoc { return &l.DueOf }, &lockRules)(l, doc)
}

func isDueOf(eventID ID) []bson.D {
	return []bson.D{mongodb.Is("status", string(holdfast.LockActive)), mongodb.Is("eventId", eventID), due}
}

// holdingsOf sums the seats and locks that users hold in the event.
func holdingsOf(ofEvent bson.D, users []ID) []bson.D {
	ofCustomers := []holdfast.LockStatus{holdfast.LockActive, holdfast.LockConsumed}
	isActive := bson.D{{Key: "$eq", Value: bson.A{"$status", string(holdfast.LockActive)}}}
	isDue := bson.D{{Key: "$and", Value: bson.A{isActive, bson.D{{Key: "$lte", Value: bson.A{"$expiresAt", "$$NOW"}}}}}}
	choose := func(condition, then, otherwise any) bson.D {
		return bson.D{{Key: "$cond", Value: bson.A{condition, then, otherwise}}}
	}
	return []bson.D{
		mongodb.Match(ofEvent, mongodb.In("userId", users), mongodb.In("status", ofCustomers)),
		mongodb.Group("$userId",
			bson.E{Key: "seats", Value: mongodb.Sum(choose(isDue, 0, countedSeats))},
			bson.E{Key: "locks", Value: mongodb.Sum(choose(isDue, 0, choose(isActive, 1, 0)))},
			bson.E{Key: "due", Value: mongodb.Sum(choose(isDue, 1, 0))}),
	}
}

// ofEvents matches the locks of events. It matches every lock if no event is known. Every query of a sale names the
// event, so that all documents of an event can be on one shard.
func ofEvents(eventIDs []ID) bson.D {
	if len(eventIDs) == 0 {
		return nil
	}
	return mongodb.In("eventId", eventIDs)
}

// bookingsOf matches the bookings of events, and bookings that name their event in another field or not at all, but
// not bookings that name another event. It matches every booking if no event is known.
func bookingsOf(eventIDs []ID) bson.D {
	if len(eventIDs) == 0 {
		return nil
	}
	named := make(bson.A, 0, len(eventIDs)+1)
	for _, id := range eventIDs {
		named = append(named, id)
	}
	return mongodb.In("eventId", append(named, nil))
}

// known returns the IDs that are not zero.
func known(eventIDs ...ID) []ID {
	return slices.DeleteFunc(slices.Clone(eventIDs), ID.IsZero)
}
