package seats

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// holding is what a user has of the event.
type holding struct {
	seats int64 // CONSUMED, and ACTIVE ones not due
	locks int64 // ACTIVE and not due
}

// readHeld sums what each user holds.
func (b *batchTx) readHeld(ctx context.Context, users []ID) error {
	active := bson.D{{Key: "$cond", Value: bson.A{bson.D{{Key: "$eq", Value: bson.A{"$status", string(Active)}}}, 1, 0}}}
	sums, err := mongodb.All[struct {
		User  ID            `bson:"_id"`
		Seats mongodb.Whole `bson:"seats"`
		Locks int64         `bson:"locks"`
	}](ctx, b.s.locks(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("eventId", b.eventID), mongodb.In("userId", users), mongodb.In("status", taking)),
		mongodb.Match(bson.D{{Key: "$or", Value: bson.A{mongodb.Is("status", string(Consumed)), notDue}}}),
		{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: "$userId"}, {Key: "seats", Value: bson.D{{Key: "$sum", Value: countedSeats}}},
			{Key: "locks", Value: bson.D{{Key: "$sum", Value: active}}},
		}}},
	})
	for _, sum := range sums {
		b.held[sum.User] = holding{sum.Seats.Or(0), sum.Locks}
	}
	return err
}

// beyondLimits refuses what would be more than one customer may hold.
func (b *batchTx) beyondLimits(q *LockRequest) error {
	held := b.held[q.UserID]
	if most := b.s.limits.MaxSeats; most > 0 && q.Seats > most {
		return fault.New(CodeSeatLimit, "A lock may claim %d seats at most.", most).With("limit", most)
	}
	if most := b.event.MaxSeatsPerUser.Or(0); most > 0 && held.seats+q.Seats > most {
		return fault.New(CodeSeatLimit, "A customer may hold %d seats of this event at most.", most).With("limit", most).With("held", held.seats)
	}
	if most := b.s.limits.MaxLocks; most > 0 && held.locks >= most {
		return fault.New(CodeSeatLimit, "A customer may hold %d locks of this event at a time.", most).With("limit", most).With("held", held.locks)
	}
	return nil
}

// letGo takes a released lock off what its user holds.
func (b *batchTx) letGo(lock Lock, now time.Time) {
	held, known := b.held[lock.UserID]
	switch {
	case !known:
	case lock.Status == Consumed:
		held.seats -= lock.Seats
	case !lock.Due(now):
		held.seats, held.locks = held.seats-lock.Seats, held.locks-1
	}
	if known {
		b.held[lock.UserID] = held
	}
}
