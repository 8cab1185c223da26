package store

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// DeleteEvent removes an event without locks, blocks, bookings and entries of its waiting list, together with a request to
// cancel it and with the idempotency key of its creation. It refuses with CodeEventNotFound or CodeEventHasLocks; refusals are
// confirmed. For other errors see mongodb.InTx.
func (s *Store) DeleteEvent(ctx context.Context, id ID) error {
	_, err := mongodb.ConfirmRefusal(ctx, s.db, mongodb.IsRefusal, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, mongodb.Do(ctx, s.db, func(ctx context.Context) error { return s.deleteEvent(ctx, id) })
	})
	return err
}

// deleteEvent removes the event before it reads: whatever makes a lock or an entry writes the event, so of the two transactions one begins
// again. A booking needs a lock.
func (s *Store) deleteEvent(ctx context.Context, id ID) error {
	raw, err := s.events().FindOneAndDelete(ctx, mongodb.Is("_id", id), options.FindOneAndDelete().SetProjection(noMap)).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return holdfast.NotFound(holdfast.CodeEventNotFound)
	}
	var doc eventDoc
	if err == nil {
		err = unmarshalEvent(raw, &doc)
	}
	if err != nil {
		return err
	}
	for _, of := range []struct {
		collection *mongo.Collection
		filter     bson.D
	}{
		{s.locks(), mongodb.And(mongodb.Is("eventId", id), notLifted)}, // a block that was lifted does not count
		{s.bookings(), mongodb.Is("eventId", id)}, {s.bookings(), mongodb.Is(sourceEvent, id)},
		{s.entries(), mongodb.Is("eventId", id)},
	} {
		n, err := of.collection.CountDocuments(ctx, of.filter, upTo(1))
		if err != nil {
			return err
		}
		if n > 0 {
			return holdfast.Refuse(holdfast.CodeEventHasLocks,
				"The event has locks, blocked seats, bookings or entries of its waiting list. Close or cancel it instead.")
		}
	}
	if _, err := s.cancellations().DeleteOne(ctx, mongodb.Is("_id", id)); err != nil {
		return err
	}
	if err := s.db.ForgetCreation(ctx, id, doc.CreatedAt); err != nil {
		return err
	}
	event, revision := doc.answer(), doc.Internal.Rev+1
	record := changes.Record{EventID: id, PlanID: event.Seating.PlanID, Revision: revision}
	if record.At, err = s.db.Now(mongodb.WithoutTx(ctx)); err != nil {
		return err
	}
	record.Add(&holdfast.Change{Type: holdfast.ChangeEventDeleted, Revision: revision, Origin: holdfast.OriginOf(ctx), Event: &event})
	return changes.Insert(ctx, s.db, &record)
}
