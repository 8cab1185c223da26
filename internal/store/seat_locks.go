package store

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// EachSeatLock reads an event with all locks that take its seats, at one snapshot. begin receives the event, and the
// occupancy of a seated one without locks; visit receives each lock, without its metadata, with the state of its seats, by
// the database's clock. If the snapshot is read again, both are called again. It refuses with EVENT_NOT_FOUND, and as begin does.
func (s *Store) EachSeatLock(
	ctx context.Context, eventID ID, begin func(holdfast.Event, *seating.Occupancy) error, visit func(holdfast.Lock, holdfast.SeatState),
) error {
	_, err := mongodb.AtSnapshot(ctx, s.db, func(ctx context.Context) (struct{}, error) {
		event, exists, err := s.readEvent(ctx, eventID)
		switch {
		case err != nil:
			return struct{}{}, err
		case !exists:
			return struct{}{}, holdfast.NotFound(holdfast.CodeEventNotFound)
		}
		var free *seating.Occupancy
		if planID := event.SeatingPlanID; !planID.IsZero() {
			hall, err := s.hall(ctx, planID)
			if err != nil {
				return struct{}{}, err
			}
			free = seatsDoc{Sections: event.CapacitySections()}.empty(hall)
		}
		if err := begin(withWaiting(event.event(), event.Now.Time), free); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, s.eachTakingLock(ctx, eventID, func(d lockDoc) { visit(d.lock(), stateOfSeats(d, event.Now.Time)) })
	})
	return err
}

// eachTakingLock reads the locks that take seats of an event, without metadata.
func (s *Store) eachTakingLock(ctx context.Context, eventID ID, visit func(lockDoc)) error {
	taking := mongodb.And(mongodb.Is("eventId", eventID), mongodb.In("status", holdfast.TakingStatuses()))
	return mongodb.EachRaw(ctx, s.locks(), taking, withoutMetadata(lockRules), unionPage, func(doc bson.Raw) error {
		if !lockRules.Holds(doc) {
			return nil
		}
		var d lockDoc
		err := mongodb.Unmarshal(doc, &d)
		visit(d)
		return err
	})
}
