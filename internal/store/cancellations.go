package store

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// cancellationsName has the wishes to cancel all of an event, until they are carried out.
const cancellationsName = "eventcancels"

// Cancellation is a wish to cancel all of an event.
type Cancellation struct {
	EventID     ID
	RunID       string
	RequestedAt time.Time
	// ClosedAt is when no claim on the event could begin any more; zero: not yet.
	ClosedAt time.Time
	// IsDue tells that work is left which can be done now: no pass has ended all that the event had, or the last pass can begin.
	// Only NextCancellation sets it.
	IsDue bool
}

type cancellationDoc struct {
	EventID     ID           `bson:"_id"`
	RunID       mongodb.Text `bson:"runId"`
	RequestedAt mongodb.Date `bson:"requestedAt"`
	ClosedAt    mongodb.Date `bson:"closedAt"`
}

func (d cancellationDoc) cancellation() Cancellation {
	return Cancellation{EventID: d.EventID, RunID: string(d.RunID), RequestedAt: d.RequestedAt.Time, ClosedAt: d.ClosedAt.Time}
}

func (s *Store) cancellations() *mongo.Collection { return s.db.Collection(cancellationsName) }

// AskCancellation stores a wish, and returns it. If there is one for the event already, it returns that one.
func (s *Store) AskCancellation(ctx context.Context, eventID ID, runID string) (Cancellation, error) {
	return s.changeCancellation(ctx, mongodb.Is("_id", eventID), bson.D{
		{Key: "runId", Value: ifAbsent("runId", bson.D{{Key: "$literal", Value: runID}})},
		{Key: "requestedAt", Value: ifAbsent("requestedAt", "$$NOW")},
	}, true)
}

// CloseCancellation notes that no claim on the event can begin any more, and since when.
func (s *Store) CloseCancellation(ctx context.Context, c Cancellation) (Cancellation, error) {
	which := mongodb.And(mongodb.Is("_id", c.EventID), mongodb.Is("runId", c.RunID))
	return s.changeCancellation(ctx, which, bson.D{{Key: "closedAt", Value: ifAbsent("closedAt", "$$NOW")}}, false)
}

func ifAbsent(field string, value any) bson.D {
	return bson.D{{Key: "$ifNull", Value: bson.A{"$" + field, value}}}
}

func (s *Store) changeCancellation(ctx context.Context, which, set bson.D, create bool) (Cancellation, error) {
	var doc cancellationDoc
	err := s.cancellations().FindOneAndUpdate(ctx, which, mongo.Pipeline{{{Key: "$set", Value: set}}},
		options.FindOneAndUpdate().SetUpsert(create).SetReturnDocument(options.After)).Decode(&doc)
	if err != nil {
		return Cancellation{}, mongodb.UnknownOutcome(err)
	}
	return doc.cancellation(), nil
}

// TriedCancellation notes that a wish was tried, so that it comes behind the others, and whether a pass has ended all that
// the event had.
func (s *Store) TriedCancellation(ctx context.Context, c Cancellation, passed bool) error {
	set := bson.D{{Key: "triedAt", Value: "$$NOW"}}
	if passed {
		set = append(set, bson.E{Key: "passed", Value: true})
	}
	which := mongodb.And(mongodb.Is("_id", c.EventID), mongodb.Is("runId", c.RunID))
	if _, err := s.cancellations().UpdateOne(ctx, which, mongo.Pipeline{{{Key: "$set", Value: set}}}); err != nil {
		return mongodb.UnknownOutcome(err)
	}
	return nil
}

// NextCancellation is the wish to go on with: one that is due before one that has to wait, then the one that was tried
// least recently. lifetime is that of a transaction: so long after ClosedAt the last pass can begin.
func (s *Store) NextCancellation(ctx context.Context, lifetime time.Duration) (c Cancellation, found bool, err error) {
	type dueDoc struct {
		Wish  cancellationDoc `bson:"wish"`
		IsDue bool            `bson:"isDue"`
	}
	end := bson.D{{Key: "$subtract", Value: bson.A{"$$NOW", lifetime.Milliseconds()}}}
	doc, found, err := mongodb.First[dueDoc](ctx, s.cancellations(), mongo.Pipeline{
		mongodb.Match(namedByUs),
		{{Key: "$project", Value: bson.D{{Key: "wish", Value: "$$ROOT"}, {Key: "isDue", Value: bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: "$ne", Value: bson.A{"$passed", true}}},
			bson.D{{Key: "$lte", Value: bson.A{"$closedAt", end}}},
		}}}}}}},
		{{Key: "$sort", Value: append(bson.D{{Key: "isDue", Value: -1}}, mongodb.Keys("wish.triedAt", "wish.requestedAt", "_id")...)}},
	})
	c = doc.Wish.cancellation()
	c.IsDue = doc.IsDue
	return c, found, mongodb.Translate(err)
}

// CancellationOf is the wish that a run carries out.
func (s *Store) CancellationOf(ctx context.Context, runID string) (c Cancellation, found bool, err error) {
	doc, found, err := mongodb.First[cancellationDoc](ctx, s.cancellations(), mongo.Pipeline{
		mongodb.Match(namedByUs, mongodb.Is("runId", runID)),
	})
	return doc.cancellation(), found, mongodb.Translate(err)
}

// CancelRun is the run that cancels all of an event; "": none is left to do so.
func (s *Store) CancelRun(ctx context.Context, eventID ID) (runID string, err error) {
	docs, err := mongodb.All[cancellationDoc](ctx, s.cancellations(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("_id", eventID)), mongodb.Limit(1),
	})
	if err != nil || len(docs) == 0 {
		return "", mongodb.Translate(err)
	}
	return string(docs[0].RunID), nil
}

// EndCancellation removes a wish that is carried out.
func (s *Store) EndCancellation(ctx context.Context, c Cancellation) error {
	_, err := s.cancellations().DeleteOne(ctx, mongodb.And(mongodb.Is("_id", c.EventID), mongodb.Is("runId", c.RunID)))
	if err != nil {
		return mongodb.UnknownOutcome(err)
	}
	return nil
}

// EventLock is a lock of an event that takes seats.
type EventLock struct{ ID ID }

// Name is the lock in a log line.
func (l EventLock) Name() string { return "lock " + l.ID.String() }

// Position is behind the lock.
func (l EventLock) Position() After { return After{ID: l.ID} }

// TakingLocks reads up to limit locks of an event that have a status, by ID, after a position.
func (s *Store) TakingLocks(ctx context.Context, eventID ID, status holdfast.LockStatus, after ID, limit int) ([]EventLock, error) {
	docs, err := mongodb.All[lockDoc](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("eventId", eventID), mongodb.Is("status", string(status)), behind(after)),
		mongodb.Sort("_id"), mongodb.Limit(limit), mongodb.Only("eventId"),
	})
	return all(docs, func(d lockDoc) EventLock { return EventLock{d.ID} }), mongodb.Translate(err)
}

// EventBooking is a booking of an event.
type EventBooking struct {
	inventory.BookingRef
	EventID ID
}

// Name is the booking in a log line.
func (b EventBooking) Name() string { return "booking " + b.Booking.String() }

// Position is behind the booking.
func (b EventBooking) Position() After { return After{ID: b.Booking} }

// BookingsIn reads up to limit bookings of an event that have a status, by ID, after a position. Bookings of other
// software name their event by another field.
func (s *Store) BookingsIn(
	ctx context.Context, eventID ID, foreign bool, status holdfast.BookingStatus, after ID, limit int,
) ([]EventBooking, error) {
	field := "eventId"
	if foreign {
		field = foreignEvent
	}
	docs, err := mongodb.All[bookingDoc](ctx, s.bookings(), mongo.Pipeline{
		mongodb.Match(mongodb.Is(field, eventID), mongodb.Is("status", string(status)), behind(after)),
		mongodb.Sort("_id"), mongodb.Limit(limit), mongodb.Only("seatLockId", "eventId", foreignEvent),
	})
	return all(docs, func(d bookingDoc) EventBooking {
		return EventBooking{inventory.BookingRef{Booking: d.ID, Lock: d.LockID}, d.booking().EventID}
	}), mongodb.Translate(err)
}
