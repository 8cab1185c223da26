package seats

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Counters is a page of events, to be proved against their locks.
type Counters struct{ events []eventDoc }

// Len is how many events the page has; 0 behind the last one.
func (c Counters) Len() int { return len(c.events) }

// Last is the place to go on behind.
func (c Counters) Last() ID { return c.events[len(c.events)-1].ID }

// Counters reads up to limit events behind a place.
func (s *Service) Counters(ctx context.Context, after ID, limit int) (Counters, error) {
	events, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{
		mongodb.Match(bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: after}}}}),
		mongodb.Sort("_id"), mongodb.Limit(limit),
		mongodb.Only("totalSeats", "availableSeats", "oversold"),
	})
	return Counters{events}, mongodb.Translate(err)
}

// EventCount is about how many events there are.
func (s *Service) EventCount(ctx context.Context) (int64, error) {
	n, err := s.events().EstimatedDocumentCount(ctx)
	return n, mongodb.Translate(err)
}

// Audit is what the proof of a page of counters against locks found.
type Audit struct {
	Suspects    []ID // events whose counter and locks did not agree when looked at
	PoisonLocks []PoisonLocks
}

// PoisonLocks are an event's ACTIVE and CONSUMED locks whose seats are no whole
// number ≥ 1. They count 0 and are left for people to mend.
type PoisonLocks struct {
	EventID ID
	Count   int64
}

// Audit compares a page of events with their locks. Live traffic moves between
// the two reads, so a suspect has to be measured.
func (s *Service) Audit(ctx context.Context, page Counters) (Audit, error) {
	sums, err := s.sums(ctx, bson.D{{Key: "eventId", Value: bson.D{{Key: "$gte", Value: page.events[0].ID}, {Key: "$lte", Value: page.Last()}}}})
	if err != nil {
		return Audit{}, mongodb.Translate(err)
	}
	var found Audit
	for _, e := range page.events {
		sum := sums[e.ID]
		if sum.Poison > 0 {
			found.PoisonLocks = append(found.PoisonLocks, PoisonLocks{e.ID, sum.Poison})
		}
		if !e.TotalSeats.Valid || !e.sound() || e.tally() != tallyOf(e.TotalSeats.N, sum.Seats.Or(0)) {
			found.Suspects = append(found.Suspects, e.ID)
		}
	}
	return found, nil
}

// EachConsumed walks all CONSUMED locks, and hands their IDs over in batches of
// up to size.
func (s *Service) EachConsumed(ctx context.Context, size int, visit func([]ID) error) error {
	filter := bson.D{{Key: "eventId", Value: bson.D{{Key: "$gte", Value: ID{}}}}, {Key: "status", Value: string(Consumed)}}
	return mongodb.Translate(mongodb.Each(ctx, s.locks(), filter, mongodb.Keys("_id"), size,
		func(doc bson.Raw) ID { return mongodb.IDOf(doc, "_id") }, visit))
}

// AllConsumed reports whether each of the locks is there, and CONSUMED.
func (s *Service) AllConsumed(ctx context.Context, lockIDs []ID) (bool, error) {
	n, err := s.locks().CountDocuments(ctx, mongodb.And(mongodb.In("_id", lockIDs), mongodb.Is("status", string(Consumed))))
	return n == int64(len(lockIDs)), mongodb.Translate(err)
}

type lockSum struct {
	Event  ID            `bson:"_id"`
	Seats  mongodb.Whole `bson:"seats"`
	Poison int64         `bson:"poison"`
}

// sums adds the locks up for some events, by a covered index.
func (s *Service) sums(ctx context.Context, ofEvents bson.D) (map[ID]lockSum, error) {
	poison := bson.D{{Key: "$cond", Value: bson.A{wholeSeats, int64(0), int64(1)}}}
	found, err := mongodb.All[lockSum](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(ofEvents, mongodb.In("status", taking)),
		{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: "$eventId"},
			{Key: "seats", Value: bson.D{{Key: "$sum", Value: countedSeats}}},
			{Key: "poison", Value: bson.D{{Key: "$sum", Value: poison}}},
		}}},
	})
	sums := make(map[ID]lockSum, len(found))
	for _, sum := range found {
		sums[sum.Event] = sum
	}
	return sums, err
}
