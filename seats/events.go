package seats

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// NewEvent is an event to be made; MaxSeatsPerUser 0 means no limit, a zero ID a
// new one.
type NewEvent struct {
	ID              ID
	Name            string
	TotalSeats      int64
	EventDate       time.Time
	MaxSeatsPerUser int64
}

// ErrEventExists says that there is an event with the ID that was asked for.
var ErrEventExists = errors.New("there is an event with this ID")

// CreateEvent puts an event on sale with all its seats, or fails with
// ErrEventExists.
func (s *Service) CreateEvent(ctx context.Context, n NewEvent) (Event, error) {
	if n.ID.IsZero() {
		n.ID = ids.New()
	}
	now := s.db.Clock()().UTC().Truncate(time.Millisecond)
	doc := bson.D{
		{Key: "_id", Value: n.ID}, {Key: "name", Value: n.Name},
		{Key: "totalSeats", Value: n.TotalSeats}, {Key: "availableSeats", Value: n.TotalSeats},
		{Key: "eventDate", Value: n.EventDate}, {Key: "status", Value: string(OnSale)},
		{Key: "createdAt", Value: now}, {Key: "updatedAt", Value: now},
	}
	if n.MaxSeatsPerUser > 0 {
		doc = append(doc, bson.E{Key: "maxSeatsPerUser", Value: n.MaxSeatsPerUser})
	}
	_, err := s.events().InsertOne(ctx, doc)
	if mongodb.IsDuplicate(err) {
		return Event{}, ErrEventExists
	}
	if err != nil {
		return Event{}, mongodb.TranslateWrite(err)
	}
	return s.Event(ctx, n.ID)
}

// Event returns an event, or CodeEventNotFound.
func (s *Service) Event(ctx context.Context, id ID) (Event, error) {
	return mongodb.Surely(ctx, s.db, mongodb.Absence, func(ctx context.Context) (Event, error) {
		doc, found, err := s.readEvent(ctx, id)
		switch {
		case err != nil:
			return Event{}, mongodb.Translate(err)
		case !found:
			return Event{}, eventNotFound()
		}
		return doc.event(), nil
	})
}

func eventNotFound() error { return fault.New(CodeEventNotFound, "There is no such event.") }

// LockNotFound is the refusal CodeLockNotFound.
func LockNotFound() error { return fault.New(CodeLockNotFound, "There is no such lock.") }

// Events lists events by ID, and the token of the next page.
func (s *Service) Events(ctx context.Context, page mongodb.Page) ([]Event, string, error) {
	docs, next, err := mongodb.List(ctx, s.events(), nil, true, page, func(d eventDoc) ID { return d.ID })
	if err != nil {
		return nil, "", err
	}
	events := make([]Event, 0, len(docs))
	for _, d := range docs {
		events = append(events, d.event())
	}
	return events, next, nil
}

// OversoldEvents counts the events with seats taken beyond their total.
func (s *Service) OversoldEvents(ctx context.Context) (int64, error) {
	n, err := s.events().CountDocuments(ctx, bson.D{{Key: "oversold", Value: bson.D{{Key: "$gt", Value: 0}}}})
	return n, mongodb.Translate(err)
}

// EventChange changes the fields that are not nil.
type EventChange struct {
	Name            *string
	TotalSeats      *int64
	EventDate       *time.Time
	Status          *SaleStatus
	MaxSeatsPerUser *int64 // 0 takes the limit away
}

// UpdateEvent changes an event in one guarded update, in mid-sale too: the
// seats taken stay taken. It refuses a capacity below them (CodeCapacity) and
// to put a cancelled event on sale again (CodeNotOnSale).
func (s *Service) UpdateEvent(ctx context.Context, id ID, c EventChange) (Event, error) {
	taken := bson.D{{Key: "$subtract", Value: bson.A{"$totalSeats", net}}}
	filter := mongodb.Is("_id", id)
	set := bson.D{{Key: "updatedAt", Value: "$$NOW"}}
	if c.Name != nil {
		set = append(set, bson.E{Key: "name", Value: literal(*c.Name)})
	}
	if c.EventDate != nil {
		set = append(set, bson.E{Key: "eventDate", Value: literal(*c.EventDate)})
	}
	if c.MaxSeatsPerUser != nil {
		set = append(set, bson.E{Key: "maxSeatsPerUser", Value: limitOrNone(*c.MaxSeatsPerUser)})
	}
	if c.Status != nil {
		set = append(set, bson.E{Key: "status", Value: literal(string(*c.Status))})
		if *c.Status != Cancelled {
			filter = append(filter, bson.E{Key: "status", Value: bson.D{{Key: "$ne", Value: string(Cancelled)}}})
		}
	}
	if c.TotalSeats != nil {
		filter = append(filter, bson.E{Key: "$expr", Value: bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: "$eq", Value: bson.A{"$totalSeats", *c.TotalSeats}}},
			bson.D{{Key: "$lte", Value: bson.A{taken, *c.TotalSeats}}},
		}}}})
		netThen := bson.D{{Key: "$subtract", Value: bson.A{*c.TotalSeats, taken}}}
		set = append(set, bson.E{Key: "totalSeats", Value: *c.TotalSeats})
		set = append(set, counterSet(netThen)...)
	}
	doc, updated, err := s.updateEvent(ctx, filter, set)
	switch {
	case err != nil:
		return Event{}, mongodb.TranslateWrite(err)
	case !updated:
		return Event{}, s.whyNotUpdated(ctx, id, c)
	}
	return doc.event(), nil
}

// updateEvent evaluates set on the event that matches; updated is false if none does.
func (s *Service) updateEvent(ctx context.Context, filter, set bson.D) (after eventDoc, updated bool, err error) {
	err = s.events().FindOneAndUpdate(ctx, filter, mongo.Pipeline{{{Key: "$set", Value: set}}},
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&after)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return eventDoc{}, false, nil
	}
	return after, err == nil, err
}

func (s *Service) whyNotUpdated(ctx context.Context, id ID, c EventChange) error {
	event, err := s.Event(ctx, id)
	if err != nil {
		return err
	}
	if c.Status != nil && *c.Status != Cancelled && event.Status == Cancelled {
		return fault.New(CodeNotOnSale, "The event is cancelled, which is final.")
	}
	taken := event.TotalSeats - event.AvailableSeats + event.Oversold
	return fault.New(CodeCapacity, "More seats are taken than the capacity asked for.").With("taken", taken)
}

// net is what an event has to sell, below zero where it is oversold.
var net = bson.D{{Key: "$subtract", Value: bson.A{
	"$availableSeats", bson.D{{Key: "$ifNull", Value: bson.A{"$oversold", 0}}},
}}}

// counterSet sets availableSeats and oversold so that net is what it evaluates to.
func counterSet(net bson.D) bson.D {
	return bson.D{
		{Key: "availableSeats", Value: bson.D{{Key: "$max", Value: bson.A{net, 0}}}},
		{Key: "oversold", Value: bson.D{{Key: "$cond", Value: bson.A{
			bson.D{{Key: "$lt", Value: bson.A{net, 0}}},
			bson.D{{Key: "$subtract", Value: bson.A{0, net}}},
			"$$REMOVE",
		}}}},
	}
}

// literal keeps a client's text from being read as an expression.
func literal(value any) bson.D { return bson.D{{Key: "$literal", Value: value}} }

func limitOrNone(limit int64) any {
	if limit == 0 {
		return "$$REMOVE"
	}
	return limit
}
