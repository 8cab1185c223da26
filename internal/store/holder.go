package store

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// SeatHolder says which lock has a seat, if it is not AVAILABLE. Its Place is left empty. Of several locks, which
// only other software can make, a sold one counts first, then a block.
func (s *Store) SeatHolder(ctx context.Context, eventID ID, seatID string) (holdfast.SeatHolder, error) {
	live := bson.A{string(holdfast.LockActive), string(holdfast.LockConsumed), string(holdfast.LockBlocked)}
	docs, err := mongodb.All[lockDoc](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(mongodb.And(mongodb.Is("eventId", eventID), mongodb.Is("seatIds", seatID), bson.D{
			{Key: "status", Value: bson.D{{Key: "$in", Value: live}}},
		})), mongodb.WithNow,
	})
	if err != nil {
		return holdfast.SeatHolder{}, mongodb.Translate(err)
	}
	best := holdfast.SeatHolder{State: holdfast.SeatAvailable}
	for _, d := range docs {
		state := s.stateOfSeats(d, d.Now.Time)
		if !state.Outranks(best.State) {
			continue
		}
		best = holdfast.SeatHolder{State: state}
		if state != holdfast.SeatBlocked {
			best.LockID, best.BookingID = d.ID, d.BookingID
		}
	}
	return best, nil
}

// stateOfSeats is the state of the seats of a lock that is ACTIVE, CONSUMED or BLOCKED. Those of a due lock are AVAILABLE,
// unless it can't be ended. A lock whose expiry is no date is never due.
func (s *Store) stateOfSeats(d lockDoc, now time.Time) holdfast.SeatState {
	switch lock := d.lock(); {
	case lock.Status == holdfast.LockConsumed:
		return holdfast.SeatSold
	case lock.Status == holdfast.LockBlocked:
		return holdfast.SeatBlocked
	case !d.ExpiresAt.IsZero() && lock.Due(now) && d.isEndable(s.shared()):
		return holdfast.SeatAvailable
	default:
		return holdfast.SeatLocked
	}
}
