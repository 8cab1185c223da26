package seats

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Standing is an event with what customers hold of it.
type Standing struct {
	Event
	Locks  int64 // that are ACTIVE, due or not
	Locked int64 // their seats
}

// Sold is what is taken and not locked: the seats of CONSUMED locks, as long as
// the counter agrees with the locks. To sum them would cost more with every sale.
func (s Standing) Sold() int64 {
	return max(0, s.TotalSeats-s.AvailableSeats+s.Oversold-s.Locked)
}

// Standings reads up to limit events, newest first, behind a place; the zero ID
// is the start. Counters and locks are of one snapshot.
func (s *Service) Standings(ctx context.Context, behind ID, limit int) ([]Standing, error) {
	filter := bson.D{}
	if !behind.IsZero() {
		filter = bson.D{{Key: "_id", Value: bson.D{{Key: "$lt", Value: behind}}}}
	}
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) ([]Standing, error) {
		docs, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{
			mongodb.Match(filter), {{Key: "$sort", Value: bson.D{{Key: "_id", Value: -1}}}}, mongodb.Limit(limit),
		})
		if err != nil {
			return nil, err
		}
		eventIDs := make([]ID, 0, len(docs))
		for _, d := range docs {
			eventIDs = append(eventIDs, d.ID)
		}
		held, err := s.held(ctx, eventIDs)
		standings := make([]Standing, 0, len(docs))
		for _, d := range docs {
			h := held[d.ID]
			standings = append(standings, Standing{d.event(), h.Locks, h.Seats.Or(0)})
		}
		return standings, err
	})
}

type heldSum struct {
	Event ID            `bson:"_id"`
	Locks int64         `bson:"locks"`
	Seats mongodb.Whole `bson:"seats"`
}

// held adds the ACTIVE locks of events up, by a covered index.
func (s *Service) held(ctx context.Context, eventIDs []ID) (map[ID]heldSum, error) {
	found, err := mongodb.All[heldSum](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(mongodb.In("eventId", eventIDs), mongodb.Is("status", string(Active))),
		{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: "$eventId"},
			{Key: "locks", Value: bson.D{{Key: "$sum", Value: int64(1)}}},
			{Key: "seats", Value: bson.D{{Key: "$sum", Value: countedSeats}}},
		}}},
	})
	held := make(map[ID]heldSum, len(found))
	for _, h := range found {
		held[h.Event] = h
	}
	return held, err
}

// Expiring reads up to limit ACTIVE locks, the one that is due first first, and
// the database's clock.
func (s *Service) Expiring(ctx context.Context, limit int) ([]Lock, time.Time, error) {
	docs, err := mongodb.All[lockDoc](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("status", string(Active)), bson.D{{Key: "expiresAt", Value: bson.D{{Key: "$type", Value: "date"}}}}),
		mongodb.Sort("expiresAt", "_id"), mongodb.Limit(limit), mongodb.WithNow,
	})
	if err != nil {
		return nil, time.Time{}, mongodb.Translate(err)
	}
	locks := make([]Lock, 0, len(docs))
	for _, d := range docs {
		locks = append(locks, d.lock())
	}
	if len(docs) > 0 {
		return locks, docs[0].Now.Time, nil
	}
	now, err := s.db.Now(ctx)
	return locks, now, err
}

// CountDue counts the locks that are due and not expired yet, up to most; 0 is no
// bound.
func (s *Service) CountDue(ctx context.Context, most int64) (int64, error) {
	o := options.Count()
	if most > 0 {
		o.SetLimit(most)
	}
	n, err := s.locks().CountDocuments(ctx, mongodb.And(mongodb.Is("status", string(Active)), due), o)
	return n, mongodb.Translate(err)
}
