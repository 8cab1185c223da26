package store

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// SeatLocks has an event with the locks that take its seats, at one moment.
type SeatLocks struct {
	Free   *seating.Occupancy // of the event without a lock; nil: it is unseated
	Stored *seating.Occupancy // the event's map; nil: it can't be read
	Locks  []holdfast.Lock    // ACTIVE, CONSUMED and BLOCKED, by ID
	Now    time.Time          // by the database's clock
}

// SeatLocks reads an event with all locks that take its seats, at one snapshot. It refuses with
// EVENT_NOT_FOUND. An unseated event comes without its locks.
func (s *Store) SeatLocks(ctx context.Context, eventID ID) (SeatLocks, error) {
	var locks []holdfast.Lock
	all, err := s.EachSeatLock(ctx, eventID, func(SeatLocks) { locks = nil },
		func(l holdfast.Lock, _ holdfast.SeatState) { locks = append(locks, l) })
	all.Locks = locks
	return all, err
}

// EachSeatLock is SeatLocks for a caller that keeps no lock: begin gets the event, and visit each lock with the state of
// its seats, by ID. Both are called anew if the snapshot is read again.
func (s *Store) EachSeatLock(
	ctx context.Context, eventID ID, begin func(SeatLocks), visit func(holdfast.Lock, holdfast.SeatState),
) (SeatLocks, error) {
	return mongodb.AtSnapshot(ctx, s.db, func(ctx context.Context) (SeatLocks, error) {
		found := loaded{}
		if err := s.loadEach(ctx, eventID, inventory.Needs{Event: true, Seats: true}, &found); err != nil {
			return SeatLocks{}, err
		}
		switch {
		case found.Event.ID.IsZero():
			return SeatLocks{}, holdfast.NotFound(holdfast.CodeEventNotFound)
		case found.Event.SeatingPlanID.ID.IsZero():
			return SeatLocks{}, nil
		}
		hall, err := s.hall(ctx, found.Event.SeatingPlanID.ID)
		if err != nil {
			return SeatLocks{}, err
		}
		all := SeatLocks{Free: found.Seats.empty(hall), Now: found.Event.Now.Time}
		if all.Stored, err = found.Seats.occupancy(hall); err != nil {
			all.Stored = nil // it is damaged: recovery repairs it
		}
		begin(all)
		return all, s.eachTakingLock(ctx, eventID, func(d lockDoc) { visit(d.lock(), s.stateOfSeats(d, all.Now)) })
	})
}

func (s *Store) eachTakingLock(ctx context.Context, eventID ID, visit func(lockDoc)) error {
	taking := mongodb.And(mongodb.Is("eventId", eventID), mongodb.In("status", holdfast.TakingStatuses()))
	fields := mongodb.Keys("userId", "status", "seats", seatIDsField, sectionField, "expiresAt", "bookingId", internalName, formerRev)
	return mongodb.Each(ctx, s.locks(), taking, fields, unionPage, func(doc bson.Raw) (l lockDoc) {
		if mongodb.Unmarshal(doc, &l) != nil {
			l = lockDoc{ID: mongodb.IDOf(doc, "_id")}
		}
		return l
	}, func(page []lockDoc) error {
		for _, d := range page {
			visit(d)
		}
		return nil
	})
}

// LocksByID reads locks of any status, also the venue's, and the time of the database's clock. Those that do
// not exist are left out.
func (s *Store) LocksByID(ctx context.Context, ids []ID) (locks map[ID]holdfast.Lock, now time.Time, err error) {
	docs, err := mongodb.All[lockDoc](ctx, s.locks(), mongo.Pipeline{mongodb.Match(mongodb.In("_id", ids)), mongodb.WithNow})
	locks = make(map[ID]holdfast.Lock, len(docs))
	for _, d := range docs {
		locks[d.ID], now = d.lock(), d.Now.Time
	}
	return locks, now, mongodb.Translate(err)
}
