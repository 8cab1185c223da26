package seats

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// moveCounter brings the event's counter from what was read to after, guarded
// so that it can't leave its bounds whatever was read.
func (s *Service) moveCounter(ctx context.Context, before eventDoc, after tally) error {
	filter, inc := mongodb.Is("_id", before.ID), bson.D{{Key: "rev", Value: int64(1)}}
	was := before.tally()
	if d := after.available - was.available; d != 0 {
		inc = append(inc, bson.E{Key: "availableSeats", Value: d})
		if d < 0 {
			filter = append(filter, bson.E{Key: "availableSeats", Value: bson.D{{Key: "$gte", Value: -d}}})
		} else {
			filter = append(filter, bson.E{Key: "$expr", Value: bson.D{{Key: "$lte", Value: bson.A{
				bson.D{{Key: "$add", Value: bson.A{"$availableSeats", d}}}, "$totalSeats",
			}}}})
		}
	}
	if d := after.oversold - was.oversold; d != 0 { // it only ever falls here
		inc = append(inc, bson.E{Key: "oversold", Value: d})
		filter = append(filter, bson.E{Key: "oversold", Value: bson.D{{Key: "$gte", Value: -d}}})
	}
	result, err := s.events().UpdateOne(ctx, filter, bson.D{{Key: "$inc", Value: inc}, mongodb.TouchDate})
	if err == nil && result.MatchedCount != 1 {
		err = mongodb.ErrAgain
	}
	return err
}

// touch writes the event without moving its counter, and reads it. Who writes
// the event first gets through on a selling event; who reads first does not.
func (s *Service) touch(ctx context.Context, id ID) (doc eventDoc, found bool, err error) {
	err = s.events().FindOneAndUpdate(ctx, mongodb.Is("_id", id), bson.D{raiseRev},
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&doc)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return eventDoc{}, false, nil
	}
	return doc, err == nil, err
}

// taken sums the seats of an event's ACTIVE and CONSUMED locks, by a covered index.
func (s *Service) taken(ctx context.Context, id ID) (int64, error) {
	sum, _, err := mongodb.First[struct {
		Seats mongodb.Whole `bson:"seats"`
	}](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("eventId", id), mongodb.In("status", taking)),
		{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: nil}, {Key: "seats", Value: bson.D{{Key: "$sum", Value: countedSeats}}},
		}}},
	})
	return sum.Seats.Or(0), err
}

// recount sets the counter of an event, which this transaction has written, to
// what its locks say. The counter of fixes tells a repair under way that its
// measurement no longer holds.
func (s *Service) recount(ctx context.Context, id ID, runID string) error {
	taken, err := s.taken(ctx, id)
	if err != nil {
		return err
	}
	_, err = s.events().UpdateOne(ctx, mongodb.And(mongodb.Is("_id", id), wholeTotal), mongo.Pipeline{{{
		Key: "$set", Value: append(counterSet(bson.D{{Key: "$subtract", Value: bson.A{"$totalSeats", taken}}}), fixed(runID)...),
	}}})
	return err
}

// wholeTotal keeps events out whose capacity says nothing.
var wholeTotal = bson.D{{Key: "totalSeats", Value: bson.D{{Key: "$type", Value: "number"}, {Key: "$gte", Value: 0}}}}

// fixed notes a repair of the counter, and the run that made it, if one did.
func fixed(runID string) bson.D {
	set := bson.D{
		{Key: "fixes", Value: bson.D{{Key: "$add", Value: bson.A{bson.D{{Key: "$ifNull", Value: bson.A{"$fixes", int64(0)}}}, int64(1)}}}},
		{Key: "updatedAt", Value: "$$NOW"},
	}
	if runID != "" {
		set = append(set, bson.E{Key: "runId", Value: runID})
	}
	return set
}
