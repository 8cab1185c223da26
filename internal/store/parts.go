package store

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

const (
	dueName   = "due"
	salesName = "dueSold"
)

// part is one of the reads: the name of its list, and its source.
type part struct {
	as, collection string
	stages         mongo.Pipeline
	into           func(*loaded) any
}

// parts are the reads apart from the event. A filter keeps some of the due locks; nil: all.
func (s *Store) parts(eventID ID, n inventory.Needs, ofDue bson.D) []part {
	var list []part
	add := func(as, collection string, into func(*loaded) any, stages ...bson.D) {
		list = append(list, part{as, collection, stages, into})
	}
	ofEvent, events := mongodb.Is("eventId", eventID), s.eventsOf(eventID, n)
	if len(n.Locks) > 0 {
		add("locks", locksName, func(l *loaded) any { return &l.Locks }, mongodb.Match(mongodb.In("_id", n.Locks), ofEvents(events)))
	}
	if len(n.LiveOf) > 0 {
		add("live", bookingsName, func(l *loaded) any { return &l.Live },
			mongodb.Match(mongodb.In("seatLockId", n.LiveOf), mongodb.In("status", holdfast.LiveStatuses()), bookingsOf(events)))
	}
	if len(n.Bookings) > 0 {
		add("bookings", bookingsName, func(l *loaded) any { return &l.Bookings },
			mongodb.Match(mongodb.In("_id", n.Bookings), bookingsOf(events)))
	}
	if len(n.Keys) > 0 {
		users, keys := make([]ID, 0, len(n.Keys)), make([]string, 0, len(n.Keys))
		for _, k := range n.Keys {
			users, keys = append(users, k.User), append(keys, k.Key)
		}
		add("keys", locksName, func(l *loaded) any { return &l.Keys },
			mongodb.Match(ofEvent, mongodb.In("userId", users), mongodb.In("idempotencyKey", keys)))
	}
	if len(n.Holdings) > 0 {
		add("holdings", locksName, func(l *loaded) any { return &l.Holdings }, holdingsOf(ofEvent, n.Holdings)...)
	}
	if n.NeedsDue() {
		add(dueName, locksName, func(l *loaded) any { return &l.Due }, s.dueOf(eventID, n, ofDue)...)
	}
	if len(n.Holders) > 0 {
		// Mostly there are none, so they are read as they are: a projection costs MongoDB a sixth of the whole read.
		add("holders", locksName, func(l *loaded) any { return &l.Holders },
			mongodb.Match(append(s.reclaimable(eventID), mongodb.In(seatIDsField, n.Holders))...))
	}
	if len(n.Blocks) > 0 {
		isBlock := mongodb.Is("status", string(holdfast.LockBlocked))
		add("blocks", locksName, func(l *loaded) any { return &l.Blocks },
			mongodb.Match(ofEvent, isBlock, mongodb.In(seatIDsField, n.Blocks)))
	}
	if len(n.Sold) > 0 {
		add("sold", bookingsName, func(l *loaded) any { return &l.Sold }, salesOf(n.Sold, events)...)
	}
	if n.Taken {
		add("taken", locksName, func(l *loaded) any { return &l.Taken }, mongodb.Match(ofEvent, mongodb.In("status", holdfast.TakingStatuses())),
			mongodb.Group(nil, bson.E{Key: "seats", Value: mongodb.Sum(countedSeats)}))
	}
	return append(list, paymentParts(n)...)
}

// dueOf reads the due locks of the event that match a filter.
func (s *Store) dueOf(eventID ID, n inventory.Needs, filter bson.D) []bson.D {
	isDue := isDueOf(eventID)
	if n.Reclaim {
		isDue = s.reclaimable(eventID)
	}
	if len(n.DueAmong) > 0 {
		return []bson.D{mongodb.Match(append(isDue, mongodb.In("_id", n.DueAmong), filter)...), dueFields}
	}
	return []bson.D{
		mongodb.Match(append(isDue, filter)...), mongodb.Sort("expiresAt", "_id"), mongodb.Limit(n.Due), dueFields,
	}
}

func isDueOf(eventID ID) []bson.D {
	return []bson.D{mongodb.Is("status", string(holdfast.LockActive)), mongodb.Is("eventId", eventID), due}
}

// reclaimable matches the due locks of the event, but none that MongoDB has refused to end.
func (s *Store) reclaimable(eventID ID) []bson.D {
	isDue := isDueOf(eventID)
	if refused := s.spared.refused(eventID, s.db.Clock()()); len(refused) > 0 {
		isDue = append(isDue, mongodb.Not("_id", bson.E{Key: "$in", Value: refused}))
	}
	return isDue
}

var dueFields = mongodb.Only("eventId", "userId", "seats", "status", "expiresAt", "bookingId", "createdAt",
	internalName, formerRev, seatIDsField, sectionField)

// salesOfDue reads the sales of due locks. Without a transaction it may read a later state than the
// locks: the plan that ends them looks once more, see checkSales.
func (s *Store) salesOfDue(ctx context.Context, eventID ID, due []lockDoc) ([]soldDoc, error) {
	return mongodb.All[soldDoc](ctx, s.bookings(), salesOf(all(due, func(d lockDoc) ID { return d.ID }), s.named(eventID)))
}

// sales keeps the CONFIRMED ones of bookings, and of them the lock's ID. An index covers it.
var sales = []bson.D{
	mongodb.Match(mongodb.Is("status", string(holdfast.BookingConfirmed)), namesLock),
	{{Key: "$project", Value: bson.D{{Key: "_id", Value: 0}, {Key: "seatLockId", Value: 1}}}},
}

// namesLock leaves out bookings that name no lock. A $lookup finds them all where it has no lock to look for.
var namesLock = bson.D{{Key: "seatLockId", Value: bson.D{{Key: "$gt", Value: ID{}}}}}

// salesOf reads the sales of locks of some events.
func salesOf(lockIDs, eventIDs []ID) []bson.D {
	return append([]bson.D{mongodb.Match(mongodb.In("seatLockId", lockIDs), bookingsOf(eventIDs))}, sales...)
}

// holdingsOf sums the seats and locks that users hold of the event.
func holdingsOf(ofEvent bson.D, users []ID) []bson.D {
	ofCustomers := []holdfast.LockStatus{holdfast.LockActive, holdfast.LockConsumed}
	isActive := bson.D{{Key: "$cond", Value: bson.A{bson.D{{Key: "$eq", Value: bson.A{"$status", string(holdfast.LockActive)}}}, 1, 0}}}
	return []bson.D{
		mongodb.Match(ofEvent, mongodb.In("userId", users), mongodb.In("status", ofCustomers)),
		mongodb.Match(bson.D{{Key: "$or", Value: bson.A{mongodb.Is("status", string(holdfast.LockConsumed)), notDue}}}),
		mongodb.Group("$userId", bson.E{Key: "seats", Value: mongodb.Sum(countedSeats)}, bson.E{Key: "locks", Value: mongodb.Sum(isActive)}),
	}
}
