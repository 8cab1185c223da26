package booking

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Forgotten counts what was removed.
type Forgotten struct{ Locks, Bookings int }

// Forget removes ended locks together with their ended bookings, in one
// transaction. A lock that a live or confirmed booking names stays, whatever its
// status: somebody has to look at it.
func (s *Service) Forget(ctx context.Context, lockIDs []ID) (Forgotten, error) {
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (Forgotten, error) {
		counts, err := s.find(ctx, mongodb.And(mongodb.In("seatLockId", lockIDs), mongodb.In("status", live)))
		if err != nil {
			return Forgotten{}, err
		}
		named := make(map[ID]bool, len(counts))
		for _, b := range counts {
			named[b.LockID] = true
		}
		gone := make([]ID, 0, len(lockIDs))
		for _, id := range lockIDs {
			if !named[id] {
				gone = append(gone, id)
			}
		}
		if len(gone) == 0 {
			return Forgotten{}, nil
		}
		locks, err := s.seats.Forget(ctx, gone)
		if err != nil {
			return Forgotten{}, err
		}
		result, err := s.bookings().DeleteMany(ctx, mongodb.And(mongodb.In("seatLockId", gone), mongodb.In("status", ended)))
		if err != nil {
			return Forgotten{}, err
		}
		return Forgotten{Locks: locks, Bookings: int(result.DeletedCount)}, nil
	})
}
