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

// cancellationsName is the collection of requests to cancel an event with its locks and bookings, until they are
// carried out.
const cancellationsName = "eventcancels"

// Cancellation is a request to cancel an event with its locks and bookings.
type Cancellation struct {
	EventID     ID
	RunID       string
	RequestedAt time.Time
	// ClosedAt is when claims on the event could no longer begin. It is zero before that.
	ClosedAt time.Time
	// Left counts the locks and bookings that the last pass could not end. Why says what prevents it.
	Left int
	Why  string
	// IsDue says that some work can be done now: no pass has ended everything that the event had, or the last pass
	// can begin. Only NextCancellation sets it.
	IsDue bool
}

// LeftoverInterval passes between two passes that could not end some locks and bookings.
const LeftoverInterval = 15 * time.Second

var cancellationRules = mongodb.Schema{
	Required: []string{"_id", "runId", "requestedAt"},
	Fields: []mongodb.Field{
		mongodb.ObjectIDField("_id"), mongodb.TextField("runId"), mongodb.DateField("requestedAt"), mongodb.DateField("closedAt"),
		mongodb.DateField("triedAt"), mongodb.BoolField("passed"), countOrNone.Field("left"), mongodb.TextField("why"),
	},
}

var cancellationSchema = cancellationRules.Filter()

type cancellationDoc struct {
	EventID     ID        `bson:"_id"`
	RunID       string    `bson:"runId"`
	RequestedAt time.Time `bson:"requestedAt"`
	ClosedAt    time.Time `bson:"closedAt"`
	Left        int       `bson:"left"`
	Why         string    `bson:"why"`
}

func (d cancellationDoc) cancellation() Cancellation {
	return Cancellation{EventID: d.EventID, RunID: d.RunID, RequestedAt: d.RequestedAt, ClosedAt: d.ClosedAt, Left: d.Left, Why: d.Why}
}

func (s *Store) cancellations() *mongo.Collection { return s.db.Collection(cancellationsName) }

// AskCancellation stores a request, and returns it. If a request for the event is stored already, it returns that
// one.
func (s *Store) AskCancellation(ctx context.Context, eventID ID, runID string) (Cancellation, error) {
	return s.changeCancellation(ctx, mongodb.Is("_id", eventID), bson.D{
		{Key: "runId", Value: ifAbsent("runId", bson.D{{Key: "$literal", Value: runID}})},
		{Key: "requestedAt", Value: ifAbsent("requestedAt", "$$NOW")},
	}, true)
}

// CloseCancellation notes that claims on the event can no longer begin, and since when.
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

// TriedCancellation notes that a request was tried, so that it comes after the others. passed says that a pass has
// ended everything that the event had, except c.Left.
func (s *Store) TriedCancellation(ctx context.Context, c Cancellation, passed bool) error {
	set := bson.D{{Key: "triedAt", Value: "$$NOW"}}
	if passed {
		set = append(set, bson.E{Key: "passed", Value: true}, bson.E{Key: "left", Value: c.Left},
			bson.E{Key: "why", Value: bson.D{{Key: "$literal", Value: c.Why}}})
	}
	which := mongodb.And(mongodb.Is("_id", c.EventID), mongodb.Is("runId", c.RunID))
	if _, err := s.cancellations().UpdateOne(ctx, which, mongo.Pipeline{{{Key: "$set", Value: set}}}); err != nil {
		return mongodb.UnknownOutcome(err)
	}
	return nil
}

// NextCancellation returns the request to continue: requests that are due before those that have to wait, and then
// the one that was tried least recently. lifetime is that of a transaction: the last pass can begin that long after
// ClosedAt.
func (s *Store) NextCancellation(ctx context.Context, lifetime time.Duration) (c Cancellation, found bool, err error) {
	type dueDoc struct {
		Wish  cancellationDoc `bson:"wish"`
		IsDue bool            `bson:"isDue"`
	}
	end := bson.D{{Key: "$subtract", Value: bson.A{"$$NOW", lifetime.Milliseconds()}}}
	again := bson.D{{Key: "$subtract", Value: bson.A{"$$NOW", LeftoverInterval.Milliseconds()}}}
	doc, found, err := mongodb.First[dueDoc](ctx, s.cancellations(), mongo.Pipeline{
		mongodb.Match(cancellationSchema),
		{{Key: "$project", Value: bson.D{{Key: "wish", Value: "$$ROOT"}, {Key: "isDue", Value: bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: "$ne", Value: bson.A{"$passed", true}}},
			bson.D{{Key: "$and", Value: bson.A{
				bson.D{{Key: "$lte", Value: bson.A{"$closedAt", end}}},
				bson.D{{Key: "$or", Value: bson.A{
					bson.D{{Key: "$not", Value: bson.D{{Key: "$gt", Value: bson.A{"$left", 0}}}}},
					bson.D{{Key: "$lte", Value: bson.A{"$triedAt", again}}},
				}}},
			}}},
		}}}}}}},
		{{Key: "$sort", Value: append(bson.D{{Key: "isDue", Value: -1}}, mongodb.Keys("wish.triedAt", "wish.requestedAt", "_id")...)}},
	})
	c = doc.Wish.cancellation()
	c.IsDue = doc.IsDue
	return c, found, mongodb.Translate(err)
}

// CancellationOf returns the request that a run carries out.
func (s *Store) CancellationOf(ctx context.Context, runID string) (c Cancellation, found bool, err error) {
	doc, found, err := mongodb.First[cancellationDoc](ctx, s.cancellations(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("runId", runID), cancellationSchema),
	})
	return doc.cancellation(), found, mongodb.Translate(err)
}

// CancellationOfEvent returns the request to cancel an event, if one is stored.
func (s *Store) CancellationOfEvent(ctx context.Context, eventID ID) (c Cancellation, found bool, err error) {
	doc, found, err := mongodb.First[cancellationDoc](ctx, s.cancellations(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("_id", eventID), cancellationSchema),
	})
	return doc.cancellation(), found, mongodb.Translate(err)
}

// StuckCancellations returns up to limit requests whose last pass could not end some locks and bookings.
func (s *Store) StuckCancellations(ctx context.Context, limit int) ([]Cancellation, error) {
	docs, err := mongodb.All[cancellationDoc](ctx, s.cancellations(), mongo.Pipeline{
		mongodb.Match(bson.D{{Key: "left", Value: bson.D{{Key: "$gt", Value: 0}}}}, cancellationSchema),
		mongodb.Sort("_id"), mongodb.Limit(limit),
	})
	return all(docs, cancellationDoc.cancellation), mongodb.Translate(err)
}

// EndCancellation removes a request that is carried out.
func (s *Store) EndCancellation(ctx context.Context, c Cancellation) error {
	_, err := s.cancellations().DeleteOne(ctx, mongodb.And(mongodb.Is("_id", c.EventID), mongodb.Is("runId", c.RunID)))
	if err != nil {
		return mongodb.UnknownOutcome(err)
	}
	return nil
}

// EventLock is a lock of an event that takes seats.
type EventLock struct{ ID ID }

// Name is the lock's name in a log line.
func (l EventLock) Name() string { return "lock " + l.ID.String() }

// Position is the position after the lock.
func (l EventLock) Position() After { return After{ID: l.ID} }

// TakingLocks reads up to limit locks of an event that have a status, by ID, after a position.
func (s *Store) TakingLocks(ctx context.Context, eventID ID, status holdfast.LockStatus, after ID, limit int) ([]EventLock, error) {
	docs, err := mongodb.All[lockDoc](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("eventId", eventID), mongodb.Is("status", string(status)), behind(after)),
		mongodb.Sort("_id"), mongodb.Limit(limit), mongodb.Only("_id"),
	})
	return all(docs, func(d lockDoc) EventLock { return EventLock{d.ID} }), mongodb.Translate(err)
}

// EventBooking is a booking of an event.
type EventBooking struct {
	inventory.BookingRef
	EventID ID
}

// Name is the booking's name in a log line.
func (b EventBooking) Name() string { return "booking " + b.Booking.String() }

// Position is the position after the booking.
func (b EventBooking) Position() After { return After{ID: b.Booking} }

// BookingsIn reads up to limit bookings of an event that have a status, by ID, after a position. It finds bookings
// that name the event by eventId, and those of the original schema, which name it by another field. Of a corrupt booking
// it returns the ID alone.
func (s *Store) BookingsIn(
	ctx context.Context, eventID ID, inSourceShape bool, status holdfast.BookingStatus, after ID, limit int,
) ([]EventBooking, error) {
	field := "eventId"
	if inSourceShape {
		field = sourceEvent
	}
	docs, err := mongodb.All[bson.Raw](ctx, s.bookings(), mongo.Pipeline{
		mongodb.Match(mongodb.Is(field, eventID), mongodb.Is("status", string(status)), behind(after)),
		mongodb.Sort("_id"), mongodb.Limit(limit),
	})
	return all(docs, func(raw bson.Raw) EventBooking {
		var d bookingDoc
		if !bookingRules.Holds(raw) || mongodb.Unmarshal(raw, &d) != nil {
			return EventBooking{BookingRef: inventory.BookingRef{Booking: ownID(raw)}}
		}
		return EventBooking{inventory.BookingRef{Booking: d.ID, Lock: d.LockID}, d.booking().EventID}
	}), mongodb.Translate(err)
}
