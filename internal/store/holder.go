package store

import (
	"context"

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
		lock := d.lock()
		h := holdfast.SeatHolder{LockID: lock.ID, BookingID: lock.BookingID}
		switch {
		case lock.Status == holdfast.LockConsumed:
			h.State = holdfast.SeatSold
		case lock.Status == holdfast.LockBlocked:
			h = holdfast.SeatHolder{State: holdfast.SeatBlocked}
		case !lock.Due(d.Now.Time):
			h.State = holdfast.SeatLocked
		default:
			continue
		}
		if h.State.Outranks(best.State) {
			best = h
		}
	}
	return best, nil
}
