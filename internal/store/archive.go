package store

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// An event that is past and settled is archived: recovery and reconcile skip it. Each plan that writes an event
// removes the mark in the same update, so archiving never makes a command fail. A fence keeps the mark, because it
// changes nothing that is counted.
const archivedAt = internalName + ".archivedAt"

// isArchived and notArchived match by the index that begins with the mark.
var (
	isArchived  = mongodb.Is(archivedAt, bson.D{{Key: "$ne", Value: nil}})
	notArchived = mongodb.Is(archivedAt, nil)
)

// OverEvent is a past event that is not archived, as OverEvents has read it.
type OverEvent struct {
	ID       ID
	IsOpen   bool // it has an ACTIVE lock or an open booking, or is oversold
	Waits    bool // its waiting list has to be closed first, or is being closed
	Revision int64
}

// OverEvents reads up to limit events that are not archived and whose date is longer ago than age, by the database's
// clock, in the order of their IDs, after a position.
// It reads the locks and bookings after the events. A lock becomes ACTIVE only with a write that raises the revision
// of its event, and a booking becomes open only with an ACTIVE lock. So an event that was not open stays so as long
// as its revision stays.
func (s *Store) OverEvents(ctx context.Context, age time.Duration, after ID, limit int) ([]OverEvent, error) {
	docs, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{
		mongodb.Match(notArchived, isOver(age), behind(after), eventSchema),
		mongodb.Sort("_id"), mongodb.Limit(limit), mongodb.Only(rev, "oversold", listWaiting, listName+".closing"),
	})
	if err != nil {
		return nil, mongodb.Translate(err)
	}
	open, err := s.openAmong(ctx, all(docs, func(d eventDoc) ID { return d.ID }))
	return all(docs, func(d eventDoc) OverEvent {
		list := d.Internal.List.inventory()
		return OverEvent{ID: d.ID, IsOpen: open[d.ID] || d.Oversold > 0, Waits: list.Waiting > 0 || list.Closing,
			Revision: d.Internal.Rev}
	}), mongodb.Translate(err)
}

func isOver(age time.Duration) bson.D {
	latest := bson.D{{Key: "$subtract", Value: bson.A{"$$NOW", age.Milliseconds()}}}
	return mongodb.And(isDate("eventDate"),
		mongodb.Is("$expr", bson.D{{Key: "$lte", Value: bson.A{"$eventDate", latest}}}))
}

// openAmong returns the given events that have an ACTIVE lock or an open booking.
func (s *Store) openAmong(ctx context.Context, eventIDs []ID) (map[ID]bool, error) {
	active := mongodb.Is("status", string(holdfast.LockActive))
	open := mongodb.In("status", []holdfast.BookingStatus{holdfast.BookingInitiated, holdfast.BookingPending})
	found := map[ID]bool{}
	for _, in := range []struct {
		collection *mongo.Collection
		field      string
		isOpen     bson.D
	}{{s.locks(), "eventId", active}, {s.bookings(), "eventId", open}, {s.bookings(), sourceEvent, open}} {
		docs, err := mongodb.All[eventDoc](ctx, in.collection, mongo.Pipeline{
			mongodb.Match(mongodb.In(in.field, eventIDs), in.isOpen), mongodb.Group("$" + in.field),
		})
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			found[d.ID] = true
		}
	}
	return found, nil
}

// Archive marks an event that is not open and has no entry that waits, unless it has changed since OverEvents read it. The update is in a
// transaction only because a transaction ends an abandoned transaction that holds the event.
func (s *Store) Archive(ctx context.Context, event OverEvent, age time.Duration) (archived bool, err error) {
	unchanged := mongodb.And(mongodb.Is("_id", event.ID), numberOrAbsent(rev, event.Revision), isOver(age), noneWaits)
	mark := bson.D{{Key: "$currentDate", Value: bson.D{{Key: archivedAt, Value: true}}}}
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (bool, error) {
		result, err := s.events().UpdateOne(ctx, unchanged, mark)
		if err != nil {
			return false, err
		}
		return result.ModifiedCount > 0, nil
	})
}

// ArchivedCount counts the archived events.
func (s *Store) ArchivedCount(ctx context.Context) (int64, error) {
	n, err := s.events().CountDocuments(ctx, isArchived)
	return n, mongodb.Translate(err)
}
