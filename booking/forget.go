package booking

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Forgotten counts what was removed.
type Forgotten struct{ Locks, Bookings int }

// Forget removes ended locks together with their ended bookings, in one
// transaction. A lock stays that has not ended, or that a booking names which has
// not: somebody has to look at that.
func (s *Service) Forget(ctx context.Context, lockIDs []ID) (Forgotten, error) {
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (Forgotten, error) {
		all, err := s.find(ctx, mongodb.In("seatLockId", lockIDs))
		if err != nil {
			return Forgotten{}, err
		}
		named, over := map[ID]bool{}, make([]ID, 0, len(all))
		for _, b := range all {
			named[b.LockID] = named[b.LockID] || !slices.Contains(ended, b.Status)
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
		for _, b := range all {
			if !named[b.LockID] {
				over = append(over, b.ID)
			}
		}
		result, err := s.bookings().DeleteMany(ctx, mongodb.In("_id", over))
		if err != nil {
			return Forgotten{}, err
		}
		return Forgotten{Locks: locks, Bookings: int(result.DeletedCount)}, nil
	})
}
