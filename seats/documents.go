package seats

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	eventsName = "events"
	locksName  = "seatlocks"
)

// Collections is what this package wants MongoDB to hold. Locks shard by event:
// unique indexes begin with it.
func Collections() []mongodb.Collection {
	active := bson.D{{Key: "status", Value: string(Active)}}
	return []mongodb.Collection{
		{
			Name: eventsName,
			Validator: bson.D{{Key: "$expr", Value: bson.D{{Key: "$and", Value: bson.A{
				bson.D{{Key: "$gte", Value: bson.A{"$availableSeats", 0}}},
				bson.D{{Key: "$lte", Value: bson.A{"$availableSeats", "$totalSeats"}}},
			}}}}},
			Indexes: []mongodb.Index{
				// Oversold events, of which there should be none.
				{Keys: mongodb.Keys("oversold"), Partial: bson.D{{Key: "oversold", Value: bson.D{{Key: "$gt", Value: 0}}}}},
			},
		},
		{
			Name:      locksName,
			Validator: mongodb.OneOf("status", Statuses...),
			Indexes: []mongodb.Index{
				// Sums by event, covered; lists by event.
				{Keys: mongodb.Keys("eventId", "status", "_id", "seats")},
				// Lists by user; what a user holds of an event.
				{Keys: mongodb.Keys("userId", "eventId", "status", "_id")},
				{Keys: mongodb.Keys("eventId", "userId", "idempotencyKey"), Unique: true,
					Partial: bson.D{{Key: "idempotencyKey", Value: bson.D{{Key: "$exists", Value: true}}}}},
				// The sweep, and the reclaim of one event's due locks.
				{Keys: mongodb.Keys("expiresAt", "_id"), Partial: active},
				{Keys: mongodb.Keys("eventId", "expiresAt", "_id"), Partial: active},
			},
		},
	}
}

// RetentionIndexes is what Forgettable wants besides: only where ended locks are
// removed is it worth its writes.
func RetentionIndexes() []mongodb.Collection {
	ended := mongodb.Collection{Name: locksName, Validator: mongodb.OneOf("status", Statuses...)}
	for _, s := range forgettable {
		ended.Indexes = append(ended.Indexes, mongodb.Index{
			Keys: mongodb.Keys(byChange, byExpiry, "_id"), Partial: mongodb.Is("status", string(s))})
	}
	return []mongodb.Collection{ended}
}

// eventDoc and lockDoc read what is there, whoever wrote it.
type eventDoc struct {
	ID              ID            `bson:"_id"`
	Name            mongodb.Text  `bson:"name"`
	TotalSeats      mongodb.Whole `bson:"totalSeats"`
	AvailableSeats  mongodb.Whole `bson:"availableSeats"`
	Oversold        mongodb.Whole `bson:"oversold"`
	EventDate       mongodb.Date  `bson:"eventDate"`
	Status          mongodb.Text  `bson:"status"`
	MaxSeatsPerUser mongodb.Whole `bson:"maxSeatsPerUser"`
	CreatedAt       mongodb.Date  `bson:"createdAt"`
	UpdatedAt       mongodb.Date  `bson:"updatedAt"`
	Fixes           mongodb.Whole `bson:"fixes"`    // raised by every repair of the counter
	Rev             mongodb.Whole `bson:"rev"`      // raised by every transaction
	SweptRev        mongodb.Whole `bson:"sweptRev"` // rev after the last sweep's transaction

	Now mongodb.Date `bson:"now"` // the database's clock, where it was asked for
}

func (d eventDoc) event() Event {
	status := SaleStatus(d.Status)
	if status == "" {
		status = OnSale
	}
	return Event{
		ID: d.ID, Name: string(d.Name),
		TotalSeats: d.TotalSeats.Or(0), AvailableSeats: d.AvailableSeats.Or(0), Oversold: d.Oversold.Or(0),
		EventDate: d.EventDate.Time, Status: status, MaxSeatsPerUser: d.MaxSeatsPerUser.Or(0),
		CreatedAt: madeAt(d.CreatedAt, d.ID), UpdatedAt: d.UpdatedAt.Time,
	}
}

func (d eventDoc) tally() tally {
	return tally{total: d.TotalSeats.Or(0), available: d.AvailableSeats.Or(0), oversold: d.Oversold.Or(0)}
}

// sound reports whether the counter is one that may be committed.
func (d eventDoc) sound() bool {
	return d.AvailableSeats.Valid && !d.Oversold.Wrong && d.tally().sound()
}

type lockDoc struct {
	ID        ID            `bson:"_id"`
	EventID   ID            `bson:"eventId"`
	UserID    ID            `bson:"userId"`
	Seats     mongodb.Whole `bson:"seats"`
	Status    mongodb.Text  `bson:"status"`
	ExpiresAt mongodb.Date  `bson:"expiresAt"`
	Key       mongodb.Text  `bson:"idempotencyKey"`
	Hash      mongodb.Text  `bson:"requestHash"`
	BookingID ID            `bson:"bookingId"`
	CreatedAt mongodb.Date  `bson:"createdAt"`

	Now mongodb.Date `bson:"now"`
}

func (d lockDoc) lock() Lock {
	return Lock{
		ID: d.ID, EventID: d.EventID, UserID: d.UserID, Seats: max(0, d.Seats.Or(0)), Status: Status(d.Status),
		ExpiresAt: d.ExpiresAt.Time, Key: string(d.Key), BookingID: d.BookingID,
		CreatedAt: madeAt(d.CreatedAt, d.ID), hash: string(d.Hash),
	}
}

// madeAt is the creation by the document, or by its ID where it says none.
func madeAt(created mongodb.Date, id ID) time.Time {
	if created.IsZero() {
		return bson.ObjectID(id).Timestamp().UTC()
	}
	return created.Time
}

// due and notDue tell by the database's clock.
var (
	due    = mongodb.Passed("expiresAt")
	notDue = mongodb.Ahead("expiresAt")
)

// wholeSeats is true of locks whose seats are a whole number ≥ 1; no sweep may
// end another one. Values of all types compare, numbers with numbers only.
var wholeSeats = bson.D{{Key: "$and", Value: bson.A{
	bson.D{{Key: "$gte", Value: bson.A{"$seats", 1}}},
	bson.D{{Key: "$lte", Value: bson.A{"$seats", mongodb.MaxWhole}}},
	bson.D{{Key: "$eq", Value: bson.A{bson.D{{Key: "$mod", Value: bson.A{"$seats", 1}}}, 0}}},
}}}

// countedSeats is a lock's weight in every sum: its seats if they are a whole
// number ≥ 1, else 0.
var countedSeats = bson.D{{Key: "$cond", Value: bson.A{wholeSeats, "$seats", 0}}}

// withWholeSeats keeps the others out.
var withWholeSeats = bson.D{{Key: "$expr", Value: wholeSeats}}

func (s *Service) events() *mongo.Collection { return s.db.Collection(eventsName) }
func (s *Service) locks() *mongo.Collection  { return s.db.Collection(locksName) }

// readEvent reads an event with the database's clock.
func (s *Service) readEvent(ctx context.Context, id ID) (doc eventDoc, found bool, err error) {
	return mongodb.First[eventDoc](ctx, s.events(), mongo.Pipeline{mongodb.Match(mongodb.Is("_id", id)), mongodb.WithNow})
}

// readLocks reads locks with the database's clock, by _id.
func (s *Service) readLocks(ctx context.Context, filters ...bson.D) (map[ID]lockDoc, error) {
	docs, err := mongodb.All[lockDoc](ctx, s.locks(), mongo.Pipeline{mongodb.Match(filters...), mongodb.WithNow})
	if err != nil {
		return nil, err
	}
	byID := make(map[ID]lockDoc, len(docs))
	for _, d := range docs {
		byID[d.ID] = d
	}
	return byID, nil
}
