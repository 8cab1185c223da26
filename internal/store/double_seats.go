package store

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// DoubleSeat is a seat that several locks of an event take.
type DoubleSeat struct {
	EventID ID
	SeatID  string // "" if other software wrote one that is no text
	LockIDs []ID
}

type doubleSeatDoc struct {
	Seat struct {
		EventID ID           `bson:"eventId"`
		SeatID  mongodb.Text `bson:"seatId"`
	} `bson:"_id"`
	LockIDs []ID `bson:"locks"`
}

// DoubleSeats returns up to limit seats that several locks take: while there are any, the unique index of
// seats can't be made. It reads all locks that take named seats.
func (s *Store) DoubleSeats(ctx context.Context, limit int) ([]DoubleSeat, error) {
	exists := bson.E{Key: "$exists", Value: true}
	docs, err := mongodb.All[doubleSeatDoc](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(mongodb.In("status", holdfast.TakingStatuses()), bson.D{{Key: seatIDsField, Value: bson.D{exists}}}),
		mongodb.Only("eventId", seatIDsField),
		{{Key: "$unwind", Value: "$" + seatIDsField}},
		mongodb.Group(bson.D{{Key: "eventId", Value: "$eventId"}, {Key: "seatId", Value: "$" + seatIDsField}},
			bson.E{Key: "locks", Value: bson.D{{Key: "$addToSet", Value: "$_id"}}}),
		mongodb.Match(bson.D{{Key: "locks.1", Value: bson.D{exists}}}),
		mongodb.Sort("_id"), mongodb.Limit(limit),
	}, options.Aggregate().SetAllowDiskUse(true))
	return all(docs, func(d doubleSeatDoc) DoubleSeat {
		return DoubleSeat{EventID: d.Seat.EventID, SeatID: string(d.Seat.SeatID), LockIDs: d.LockIDs}
	}), mongodb.Translate(err)
}
