package seats

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// The operations of this file run within the caller's transaction, for whoever
// keeps bookings. Each raises the lock's rev: an update that changes nothing
// would not conflict with another transaction on the same lock.

// Claim is a lock with the database's time at which it was read.
type Claim struct {
	Lock
	Now time.Time
}

// Claim reads a lock in the caller's transaction, or CodeLockNotFound.
func (s *Service) Claim(ctx context.Context, id ID) (Claim, error) {
	lock, doc, err := s.lockNow(ctx, id)
	return Claim{lock, doc.Now.Time}, err
}

// CheckNotCancelled refuses with CodeNotOnSale if the event is cancelled, and
// with CodeEventNotFound if there is none.
func (s *Service) CheckNotCancelled(ctx context.Context, id ID) error {
	doc, found, err := s.readEvent(ctx, id)
	switch {
	case err != nil:
		return err
	case !found:
		return eventNotFound()
	case doc.event().Status == Cancelled:
		return notOnSale()
	default:
		return nil
	}
}

// Attach names the live lock's booking and moves its expiry to until if that is
// later. A lock that has ended meanwhile makes the transaction start again.
func (s *Service) Attach(ctx context.Context, lock Lock, booking ID, until time.Time) (Lock, error) {
	return s.claim(ctx, lock, later(lock.ExpiresAt, until), booking)
}

// claim writes a live lock's expiry and booking, guarded by status and time.
func (s *Service) claim(ctx context.Context, lock Lock, expires time.Time, booking ID) (Lock, error) {
	set := bson.D{{Key: "expiresAt", Value: expires}}
	if !booking.IsZero() {
		set = append(set, bson.E{Key: "bookingId", Value: booking})
	}
	result, err := s.locks().UpdateOne(ctx, mongodb.And(mongodb.Is("_id", lock.ID), mongodb.Is("status", string(Active)), notDue), bson.D{
		{Key: "$set", Value: set}, raiseRev, mongodb.TouchDate,
	})
	if err == nil && result.MatchedCount != 1 {
		err = mongodb.ErrAgain
	}
	lock.ExpiresAt, lock.BookingID = expires, booking
	return lock, err
}

// Consume sells the lock's seats: ACTIVE and not due by the database's clock at
// the moment of writing, it becomes CONSUMED. A lock that has ended meanwhile
// makes the transaction start again.
func (s *Service) Consume(ctx context.Context, id ID) error {
	return s.endLocks(ctx, []ID{id}, Active, Consume, ending{}, notDue)
}

// RefuseDue returns the refusal of an action on a lock that is ACTIVE although
// its time has passed, once no transaction that began in time can still come
// through: its write to the lock conflicts with this one, which is made and
// rolled back with the refusal. Other refusals are returned as they are.
func (s *Service) RefuseDue(ctx context.Context, lock Lock, refusal error) error {
	if lock.Status != Active {
		return refusal
	}
	if err := s.witness(ctx, []ID{lock.ID}); err != nil {
		return err
	}
	return refusal
}

// witness writes locks without changing what they say.
func (s *Service) witness(ctx context.Context, lockIDs []ID) error {
	if len(lockIDs) == 0 {
		return nil
	}
	_, err := s.locks().UpdateMany(ctx, mongodb.In("_id", lockIDs), bson.D{raiseRev})
	return err
}

// ending says what ended a lock; By "" for one that is consumed.
type ending struct {
	By    EndedBy
	RunID string // the correlation ID, where a run ended it
}

var raiseRev = bson.E{Key: "$inc", Value: bson.D{{Key: "rev", Value: int64(1)}}}

// endLocks moves locks that all have the status from. If one of them has moved
// meanwhile, the transaction starts again.
func (s *Service) endLocks(ctx context.Context, lockIDs []ID, from Status, action Action, by ending, guards ...bson.D) error {
	to, allowed := from.Next(action)
	if len(lockIDs) == 0 || !allowed {
		return nil
	}
	set := bson.D{{Key: "status", Value: string(to)}}
	if by.By != "" {
		set = append(set, bson.E{Key: "endedBy", Value: string(by.By)})
	}
	if by.RunID != "" {
		set = append(set, bson.E{Key: "runId", Value: by.RunID})
	}
	update := bson.D{{Key: "$set", Value: set}, raiseRev, mongodb.TouchDate}
	if to == Released {
		update = append(update, bson.E{Key: "$unset", Value: bson.D{{Key: "bookingId", Value: ""}}})
	}
	filter := mongodb.And(mongodb.In("_id", lockIDs), mongodb.Is("status", string(from)), mongodb.And(guards...))
	result, err := s.locks().UpdateMany(ctx, filter, update)
	if err == nil && result.ModifiedCount != int64(len(lockIDs)) {
		err = mongodb.ErrAgain
	}
	return err
}

// Detach takes ended bookings off the locks that name them.
func (s *Service) Detach(ctx context.Context, lockIDs, bookings []ID) error {
	_, err := s.locks().UpdateMany(ctx, mongodb.And(mongodb.In("_id", lockIDs), mongodb.In("bookingId", bookings)), bson.D{
		{Key: "$unset", Value: bson.D{{Key: "bookingId", Value: ""}}}, raiseRev,
	})
	return err
}
