package booking

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats"
)

// Cancel ends a booking and gives its seats back, through the event's queue and
// in one transaction. A CONFIRMED booking can be cancelled too. On a cancelled
// one it changes nothing. It refuses with CodeNotFound, CodeExpired, or the code
// of a lock that outside hands ended.
func (s *Service) Cancel(ctx context.Context, id ID) (Booking, error) {
	b, err := s.Get(ctx, id)
	if err != nil {
		return Booking{}, err
	}
	permit := func(ctx context.Context, lock seats.Lock, now time.Time) (bool, error) {
		var err error
		if b, err = s.get(ctx, id); err != nil || b.Status == Cancelled {
			return false, err
		}
		b.UpdatedAt = now
		if err := b.check(Cancel, seats.Claim{Lock: lock, Now: now}); err != nil {
			return false, err
		}
		if _, held := lock.Status.Next(seats.Release); !held { // outside hands ended it
			return false, lock.Ended(now)
		}
		return true, nil
	}
	also := func(ctx context.Context, _ seats.Lock) (err error) {
		b, err = s.move(ctx, b, Cancel)
		return err
	}
	if _, err := s.seats.GiveBack(ctx, b.LockID, permit, also); err != nil {
		if fault.Is(err, seats.CodeLockNotFound) {
			return s.cancelWithoutLock(ctx, id)
		}
		return Booking{}, err
	}
	return b, nil
}

// cancelWithoutLock ends a booking whose lock is gone: there are no seats.
func (s *Service) cancelWithoutLock(ctx context.Context, id ID) (Booking, error) {
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (Booking, error) {
		b, lock, err := s.withLock(ctx, id)
		if err != nil || b.Status == Cancelled {
			return b, err
		}
		if err := b.check(Cancel, lock); err != nil {
			return Booking{}, err
		}
		return s.move(ctx, b, Cancel)
	})
}

// ReleaseLock releases a lock for its customer, and cancels its open booking in
// the same transaction. On a released lock it changes nothing. It refuses with
// seats.CodeLockNotFound, seats.CodeLockExpired, or seats.CodeLockConsumed, also
// where the lock's booking is CONFIRMED and a crash left the lock ACTIVE.
func (s *Service) ReleaseLock(ctx context.Context, lockID ID) (seats.Lock, error) {
	permit := func(ctx context.Context, lock seats.Lock, now time.Time) (bool, error) {
		ended := lock.Ended(now)
		if fault.Is(ended, seats.CodeLockReleased) {
			return false, nil
		}
		if ended != nil {
			return false, ended
		}
		sold, err := s.find(ctx, mongodb.And(mongodb.Is("seatLockId", lockID), mongodb.Is("status", string(Confirmed))))
		if err == nil && len(sold) > 0 {
			err = fault.New(seats.CodeLockConsumed, "The lock's booking is confirmed.")
		}
		return err == nil, err
	}
	also := func(ctx context.Context, lock seats.Lock) error {
		bookings, err := s.find(ctx, mongodb.And(mongodb.Is("seatLockId", lock.ID), mongodb.In("status", open)))
		if err != nil || len(bookings) == 0 {
			return err
		}
		_, err = s.moveAll(ctx, idsOf(bookings), open, Cancelled)
		return err
	}
	return s.seats.GiveBack(ctx, lockID, permit, also)
}

func idsOf(bookings []Booking) []ID {
	list := make([]ID, 0, len(bookings))
	for _, b := range bookings {
		list = append(list, b.ID)
	}
	return list
}
