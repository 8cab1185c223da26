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

// byReference finds bookings by their payment reference. A booking has an entry once it is confirmed with one.
var byReference = mongodb.Index{Keys: mongodb.Keys(referenceField, "_id"),
	Partial: bson.D{{Key: referenceField, Value: bson.D{{Key: "$exists", Value: true}}}}}

// BookingsByReference reads up to limit bookings with a payment reference, oldest first.
func (s *Store) BookingsByReference(ctx context.Context, reference string, limit int) ([]holdfast.Booking, error) {
	docs, err := mongodb.All[bookingDoc](ctx, s.bookings(), mongo.Pipeline{
		mongodb.Match(mongodb.Is(referenceField, reference), namedByUs), mongodb.Sort("_id"), mongodb.Limit(limit),
	})
	return all(docs, bookingDoc.booking), mongodb.Translate(err)
}

// EventSummary reads one event with the sums of its ACTIVE locks, of one snapshot, or fails with CodeEventNotFound.
func (s *Store) EventSummary(ctx context.Context, id ID) (EventSummary, error) {
	if _, err := s.Event(ctx, id); err != nil { // it confirms that there is none
		return EventSummary{}, err
	}
	found, err := s.summaries(ctx, mongodb.Is("_id", id), 1)
	if err == nil && len(found) == 0 {
		err = holdfast.NotFound(holdfast.CodeEventNotFound)
	}
	if err != nil {
		return EventSummary{}, err
	}
	return found[0], nil
}

// SaleBucket is what was sold in an hour or a day.
type SaleBucket struct {
	Start time.Time
	Locks int64
	Seats int64
}

// Sales are the CONSUMED locks of an event by the hour or day in which they were made.
type Sales struct {
	From, Until time.Time // Until is the database's clock
	Buckets     []SaleBucket
	// IsCut says that the event has more sales than are read. The newest ones are in Buckets.
	IsCut bool
}

type saleDoc struct {
	Start mongodb.Date  `bson:"_id"`
	Locks int64         `bson:"locks"`
	Seats mongodb.Whole `bson:"seats"`
}

// clockSkew is how far the clock of a process that names locks may be ahead.
const clockSkew = time.Hour

// SalesOf adds up the sold seats of an event by hour or day (unit), for a time up to now. It goes by the time
// in the locks' IDs, which is when the customer took the seats, so that a covered index has all that it reads.
// Sales whose lock other software named in another way are left out. It reads at most limit locks, the newest.
func (s *Store) SalesOf(ctx context.Context, event ID, unit string, span time.Duration, limit int) (Sales, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return Sales{}, mongodb.Translate(err)
	}
	sales := Sales{From: now.Add(-span), Until: now, Buckets: []SaleBucket{}}
	since := bson.NewObjectIDFromTimestamp(sales.From)
	clear(since[4:])
	until := bson.NewObjectIDFromTimestamp(now.Add(clockSkew)) // other software may have made up the times of its IDs
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
		sales.Buckets = append(sales.Buckets, SaleBucket{Start: d.Start.Time, Locks: d.Locks, Seats: d.Seats.Or(0)})
	}
	sales.IsCut = read >= int64(limit)
	return sales, nil
}
