package store

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// SeatHolder returns the lock that has a seat, if the seat is not AVAILABLE. It leaves Place empty. If several locks
// have the seat, a sold lock comes first, then a block.
func (s *Store) SeatHolder(ctx context.Context, eventID ID, seatID string) (holdfast.SeatHolder, error) {
	live := bson.A{string(holdfast.LockActive), string(holdfast.LockConsumed), string(holdfast.LockBlocked)}
	docs, err := allValid[lockDoc](ctx, s.locks(), &lockRules,
		mongodb.Match(mongodb.Is("eventId", eventID), mongodb.Is("seatIds", seatID), mongodb.In("status", live)), mongodb.WithNow)
	if err != nil {
		return holdfast.SeatHolder{}, mongodb.Translate(err)
	}
	best := holdfast.SeatHolder{State: holdfast.SeatAvailable}
	for _, d := range docs {
		state := stateOfSeats(d, d.Now.Time)
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

// stateOfSeats returns the state of the seats of a lock that is ACTIVE, CONSUMED or BLOCKED. The seats of a due lock
// are AVAILABLE.
func stateOfSeats(d lockDoc, now time.Time) holdfast.SeatState {
	switch lock := d.lock(); {
	case lock.Status == holdfast.LockConsumed:
		return holdfast.SeatSold
	case lock.Status == holdfast.LockBlocked:
		return holdfast.SeatBlocked
	case lock.Due(now):
		return holdfast.SeatAvailable
	default:
		return holdfast.SeatLocked
	}
}
