package booking

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats"
)

// SoldBy returns, of the locks given, those with a CONFIRMED booking, and that
// booking.
func (s *Service) SoldBy(ctx context.Context, lockIDs []ID) (map[ID]ID, error) {
	found, err := s.find(ctx, mongodb.And(mongodb.In("seatLockId", lockIDs), mongodb.Is("status", string(Confirmed))))
	sold := make(map[ID]ID, len(found))
	for _, b := range found {
		sold[b.LockID] = b.ID
	}
	return sold, mongodb.Translate(err)
}

// ConsumeSold marks a lock CONSUMED that is ACTIVE although its booking is
// CONFIRMED, as hand-written code leaves it when it dies in between. done is
// false where there is nothing to mend any more.
func (s *Service) ConsumeSold(ctx context.Context, lockID ID, runID string) (done bool, err error) {
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (bool, error) {
		lock, err := s.seats.Claim(ctx, lockID)
		if fault.Is(err, seats.CodeLockNotFound) || (err == nil && lock.Status != seats.Active) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		sold, err := s.SoldBy(ctx, []ID{lockID})
		if err != nil || len(sold) == 0 {
			return false, err
		}
		return true, s.seats.ConsumeSold(ctx, lockID, runID)
	})
}

// SoldWithoutLock looks at up to limit CONFIRMED bookings behind a place, and
// returns those whose lock is neither CONSUMED nor ACTIVE. last is the place to
// go on behind, zero at the end.
func (s *Service) SoldWithoutLock(ctx context.Context, after ID, limit int) (found []ID, last ID, err error) {
	docs, err := mongodb.All[bookingDoc](ctx, s.bookings(), mongo.Pipeline{
		mongodb.Match(mongodb.And(mongodb.Is("status", string(Confirmed)), mongodb.Is("_id", bson.D{{Key: "$gt", Value: after}}))),
		mongodb.Sort("_id"),
		mongodb.Limit(limit),
		mongodb.Only("seatLockId"),
	})
	if err != nil || len(docs) == 0 {
		return nil, ID{}, mongodb.Translate(err)
	}
	_, locks, err := s.withEvents(ctx, docs)
	if err != nil {
		return nil, ID{}, err
	}
	for _, d := range docs {
		if status := locks[d.LockID].Status; status != seats.Consumed && status != seats.Active {
			found = append(found, d.ID)
		}
	}
	if len(docs) == limit {
		last = docs[limit-1].ID
	}
	return found, last, nil
}

// CountInitiated counts the INITIATED bookings.
func (s *Service) CountInitiated(ctx context.Context) (int64, error) {
	n, err := s.bookings().CountDocuments(ctx, mongodb.Is("status", string(Initiated)))
	return n, mongodb.Translate(err)
}
