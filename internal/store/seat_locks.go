package store

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// EachSeatLock reads an event with all locks that take its seats, at one snapshot. begin receives the occupancy of
// the event without locks, and visit each lock with the state of its seats, by ID. If the snapshot is read again,
// both are called again. For an unseated event neither is called. It refuses with EVENT_NOT_FOUND.
func (s *Store) EachSeatLock(
	ctx context.Context, eventID ID, begin func(*seating.Occupancy), visit func(holdfast.Lock, holdfast.SeatState),
) error {
	_, err := mongodb.AtSnapshot(ctx, s.db, func(ctx context.Context) (struct{}, error) {
		found := loaded{}
		if err := s.loadEach(ctx, eventID, inventory.Needs{Event: true, Seats: true}, &found); err != nil {
			return struct{}{}, err
		}
		switch {
		case found.Event.ID.IsZero():
			return struct{}{}, holdfast.NotFound(holdfast.CodeEventNotFound)
		case found.Event.SeatingPlanID.IsZero():
			return struct{}{}, nil
		}
		hall, err := s.hall(ctx, found.Event.SeatingPlanID)
		if err != nil {
			return struct{}{}, err
		}
		begin(found.Seats.empty(hall))
		return struct{}{}, s.eachTakingLock(ctx, eventID, func(d lockDoc) { visit(d.lock(), stateOfSeats(d, found.Event.Now.Time)) })
	})
	return err
}

func (s *Store) eachTakingLock(ctx context.Context, eventID ID, visit func(lockDoc)) error {
	taking := mongodb.And(mongodb.Is("eventId", eventID), mongodb.In("status", holdfast.TakingStatuses()))
	return mongodb.EachRaw(ctx, s.locks(), taking, bson.D{}, unionPage, func(doc bson.Raw) error {
		if !lockRules.Holds(doc) {
			return nil
		}
		var d lockDoc
		err := mongodb.Unmarshal(doc, &d)
		visit(d)
		return err
	})
}
