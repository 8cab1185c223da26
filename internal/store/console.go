package store

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const referenceField = "paymentReference"

// byReference finds bookings by their payment reference. A booking is in this index once it is confirmed with a
// reference.
var byReference = mongodb.Index{Keys: mongodb.Keys(referenceField, "_id"),
	Partial: bson.D{{Key: referenceField, Value: bson.D{{Key: "$exists", Value: true}}}}}

// BookingsByReference reads up to limit bookings with a payment reference, oldest first.
func (s *Store) BookingsByReference(ctx context.Context, reference string, limit int) ([]holdfast.Booking, error) {
	docs, err := mongodb.All[bookingDoc](ctx, s.bookings(), mongo.Pipeline{
		mongodb.Match(mongodb.Is(referenceField, reference), bookingSchema), mongodb.Sort("_id"), mongodb.Limit(limit),
		bson.D{{Key: "$project", Value: noDone}},
	})
	return all(docs, bookingDoc.booking), mongodb.Translate(err)
}

// SaleBucket has the sales of an hour or a day.
type SaleBucket struct {
	Start time.Time
	Locks int64
	Seats int64
}

// Sales has the CONSUMED locks of an event by the hour or day of their creation.
type Sales struct {
	From, Until time.Time // Until is the database's clock
	Buckets     []SaleBucket
	// IsCut says that the event has more sales than were read. Buckets then has the newest ones.
	IsCut bool
}

type saleDoc struct {
	Start time.Time `bson:"_id"`
	Locks int64     `bson:"locks"`
	Seats int64     `bson:"seats"`
}

// clockSkew bounds how far the clock of a process that creates the IDs of locks may be ahead.
const clockSkew = time.Hour

// SalesOf sums the sold seats of an event by hour or day (unit), for a period that ends now. It uses the time in the
// IDs of the locks, which is when the customer acquired the seats, so that a covered index has everything that it
// reads. It reads at most limit locks, the newest ones.
func (s *Store) SalesOf(ctx context.Context, event ID, unit string, span time.Duration, limit int) (Sales, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return Sales{}, mongodb.Translate(err)
	}
	sales := Sales{From: now.Add(-span), Until: now, Buckets: []SaleBucket{}}
	since := bson.NewObjectIDFromTimestamp(sales.From)
	clear(since[4:])
	until := bson.NewObjectIDFromTimestamp(now.Add(clockSkew))
	sold := mongodb.Match(mongodb.Is("eventId", event), mongodb.Is("status", string(holdfast.LockConsumed)),
		bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: since}, {Key: "$lt", Value: until}}}})
	newest := bson.D{{Key: "$sort", Value: bson.D{{Key: "_id", Value: -1}}}}
	docs, err := mongodb.All[saleDoc](ctx, s.locks(), mongo.Pipeline{
		sold, newest, mongodb.Limit(limit), mongodb.Only("seats"),
		mongodb.Group(bson.D{{Key: "$dateTrunc", Value: bson.D{
			{Key: "date", Value: bson.D{{Key: "$toDate", Value: "$_id"}}}, {Key: "unit", Value: unit},
		}}}, bson.E{Key: "locks", Value: mongodb.Sum(int64(1))}, bson.E{Key: "seats", Value: mongodb.Sum(countedSeats)}),
		mongodb.Sort("_id"),
	})
	if err != nil {
		return Sales{}, mongodb.Translate(err)
	}
	read := int64(0)
	for _, d := range docs {
		read += d.Locks
		sales.Buckets = append(sales.Buckets, SaleBucket(d))
	}
	sales.IsCut = read >= int64(limit)
	return sales, nil
}
