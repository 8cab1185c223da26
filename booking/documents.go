package booking

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const name = "bookings"

// Collections is what this package wants MongoDB to hold.
func Collections() []mongodb.Collection {
	return []mongodb.Collection{{
		Name:      name,
		Validator: mongodb.OneOf("status", Statuses...),
		Indexes: []mongodb.Index{
			{Keys: mongodb.Keys("seatLockId", "status")},
			{Keys: mongodb.Keys("eventId", "status", "_id")},
			{Keys: mongodb.Keys("userId", "eventId", "status", "_id")},
			// The sweep of due bookings; passes over one status.
			{Keys: mongodb.Keys("paymentExpiresAt", "_id"), Partial: mongodb.Is("status", string(Pending))},
			{Keys: mongodb.Keys("status", "_id", "seatLockId")},
		},
	}}
}

// bookingDoc reads what is there, whoever wrote it: other tools name the user
// and the event user and event.
type bookingDoc struct {
	ID               ID            `bson:"_id"`
	UserID           ID            `bson:"userId"`
	User             ID            `bson:"user"`
	EventID          ID            `bson:"eventId"`
	Event            ID            `bson:"event"`
	LockID           ID            `bson:"seatLockId"`
	Seats            mongodb.Whole `bson:"seats"`
	Status           mongodb.Text  `bson:"status"`
	PaymentExpiresAt mongodb.Date  `bson:"paymentExpiresAt"`
	PaymentReference mongodb.Text  `bson:"paymentReference"`
	CreatedAt        mongodb.Date  `bson:"createdAt"`
	UpdatedAt        mongodb.Date  `bson:"updatedAt"`

	Now mongodb.Date `bson:"now"` // the database's clock, where it was asked for
}

func (d bookingDoc) booking() Booking {
	b := Booking{
		ID: d.ID, UserID: d.UserID, EventID: d.EventID, LockID: d.LockID, Seats: d.Seats.Or(0), Status: Status(d.Status),
		PaymentExpiresAt: d.PaymentExpiresAt.Time, PaymentReference: string(d.PaymentReference),
		CreatedAt: d.CreatedAt.Time, UpdatedAt: d.UpdatedAt.Time,
	}
	if b.UserID.IsZero() {
		b.UserID = d.User
	}
	if b.EventID.IsZero() {
		b.EventID = d.Event
	}
	if b.CreatedAt.IsZero() {
		b.CreatedAt = bson.ObjectID(d.ID).Timestamp().UTC()
	}
	return b
}

func insertOf(b Booking) bson.D {
	doc := bson.D{
		{Key: "_id", Value: b.ID}, {Key: "userId", Value: b.UserID}, {Key: "eventId", Value: b.EventID},
		{Key: "seatLockId", Value: b.LockID}, {Key: "seats", Value: b.Seats}, {Key: "status", Value: string(b.Status)},
		{Key: "createdAt", Value: b.CreatedAt}, {Key: "updatedAt", Value: b.CreatedAt},
	}
	if !b.PaymentExpiresAt.IsZero() {
		doc = append(doc, bson.E{Key: "paymentExpiresAt", Value: b.PaymentExpiresAt})
	}
	return doc
}

func (s *Service) bookings() *mongo.Collection { return s.db.Collection(name) }

// find returns the bookings that match, in the caller's transaction if there is one.
func (s *Service) find(ctx context.Context, filter bson.D) ([]Booking, error) {
	docs, err := mongodb.All[bookingDoc](ctx, s.bookings(), mongo.Pipeline{mongodb.Match(filter)})
	found := make([]Booking, 0, len(docs))
	for _, d := range docs {
		found = append(found, d.booking())
	}
	return found, err
}

func (s *Service) get(ctx context.Context, id ID) (Booking, error) {
	found, err := s.find(ctx, mongodb.Is("_id", id))
	if err != nil {
		return Booking{}, err
	}
	if len(found) == 0 {
		return Booking{}, NotFound()
	}
	return found[0], nil
}

// move writes a booking's new status, guarded by the one it had. If it has
// moved meanwhile, the transaction starts again.
func (s *Service) move(ctx context.Context, b Booking, a Action, also ...bson.E) (Booking, error) {
	to, allowed := b.Status.Next(a)
	if !allowed {
		return Booking{}, b.refusal()
	}
	moved, err := s.moveAll(ctx, []ID{b.ID}, []Status{b.Status}, to, also...)
	if err == nil && moved != 1 {
		err = mongodb.ErrAgain
	}
	b.Status = to
	return b, err
}

func (s *Service) moveAll(ctx context.Context, bookings []ID, from []Status, to Status, also ...bson.E) (int64, error) {
	result, err := s.bookings().UpdateMany(ctx,
		mongodb.And(mongodb.In("_id", bookings), mongodb.In("status", from)),
		bson.D{
			{Key: "$set", Value: append(bson.D{{Key: "status", Value: string(to)}}, also...)},
			mongodb.TouchDate,
		})
	if err != nil {
		return 0, err
	}
	return result.ModifiedCount, nil
}

func dateField(field string, t time.Time) bson.E { return bson.E{Key: field, Value: t} }

// NotFound is the refusal CodeNotFound.
func NotFound() error { return fault.New(CodeNotFound, "There is no such booking.") }
