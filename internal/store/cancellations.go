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

// Cancellations are the wishes that are not carried out, oldest first, up to limit.
func (s *Store) Cancellations(ctx context.Context, limit int) ([]Cancellation, error) {
	docs, err := mongodb.All[cancellationDoc](ctx, s.cancellations(), mongo.Pipeline{
		mongodb.Match(namedByUs), mongodb.Sort("requestedAt", "_id"), mongodb.Limit(limit),
	})
	return all(docs, cancellationDoc.cancellation), mongodb.Translate(err)
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
