package store

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Scope says which events a pass compares with their locks and bookings.
type Scope bool

// These are the scopes.
const (
	NotArchived Scope = false
	AllEvents   Scope = true // archived or not
)

func (s Scope) filter() bson.D {
	if s == AllEvents {
		return nil
	}
	return notArchived
}

// EventPage is a page of events.
type EventPage struct {
	IDs []ID
	// interval matches the IDs of the events in the page, and no IDs of other events. It is nil if there are other
	// events between them.
	interval bson.D
}

// PageOf returns a page of the given events.
func PageOf(eventIDs ...ID) EventPage { return EventPage{IDs: eventIDs} }

// of matches the documents whose field names an event of the page. MongoDB reads an interval faster than a list.
func (p EventPage) of(field string) bson.D {
	if p.interval != nil {
		return mongodb.Is(field, p.interval)
	}
	return mongodb.In(field, p.IDs)
}

// EachEvent calls handle with the events of a scope in the order of their IDs, in pages of up to size.
func (s *Store) EachEvent(ctx context.Context, scope Scope, size int, handle func(EventPage) error) error {
	byID, after := mongodb.Keys("_id"), ID{}
	err := mongodb.Each(ctx, s.events(), mongodb.And(scope.filter(), behind(ID{})), byID, byID, size, ownID, func(eventIDs []ID) error {
		page := PageOf(eventIDs...)
		if scope == AllEvents {
			last := eventIDs[len(eventIDs)-1]
			page.interval = bson.D{{Key: "$gt", Value: after}, {Key: "$lte", Value: last}}
			after = last
		}
		return handle(page)
	})
	return mongodb.Translate(err)
}

// HasArchived reports whether any event is archived.
func (s *Store) HasArchived(ctx context.Context) (bool, error) {
	n, err := s.events().CountDocuments(ctx, isArchived, upTo(1))
	return n > 0, mongodb.Translate(err)
}

func ownID(doc bson.Raw) ID { return mongodb.IDOf(doc, "_id") }

// behind matches the documents after a position.
func behind(after ID) bson.D { return mongodb.Is("_id", bson.D{{Key: "$gt", Value: after}}) }

// EventCount estimates how many events a scope has.
func (s *Store) EventCount(ctx context.Context, scope Scope) (n int64, err error) {
	if scope == AllEvents {
		n, err = s.events().EstimatedDocumentCount(ctx)
	} else {
		n, err = s.events().CountDocuments(ctx, scope.filter())
	}
	return n, mongodb.Translate(err)
}

// EachLock calls handle with the IDs of the locks that have a status, in batches of up to size: the locks of the
// given events, or all locks if eventIDs is nil.
func (s *Store) EachLock(ctx context.Context, eventIDs []ID, status holdfast.LockStatus, size int, handle func([]ID) error) error {
	events := mongodb.Is("eventId", bson.D{{Key: "$gt", Value: ID{}}}) // for the covered index
	if eventIDs != nil {
		events = mongodb.In("eventId", eventIDs)
	}
	filter := mongodb.And(events, mongodb.Is("status", string(status)), behind(ID{}))
	return mongodb.Translate(mongodb.Each(ctx, s.locks(), filter, mongodb.Keys("_id"), nil, size, ownID, handle))
}

// EachDueLock calls handle with the IDs of all ACTIVE locks that are due, in batches of up to size.
func (s *Store) EachDueLock(ctx context.Context, size int, handle func([]ID) error) error {
	filter := mongodb.And(mongodb.Is("status", string(holdfast.LockActive)), due, behind(ID{}))
	return mongodb.Translate(mongodb.Each(ctx, s.locks(), filter, mongodb.Keys("_id"), nil, size, ownID, handle))
}

// sourceEvent and sourceUser are the fields that name the event and the user in bookings of the original schema.
const (
	sourceEvent = "event"
	sourceUser  = "user"
)

// unnamed matches bookings that name no event. It is also the condition of an index.
var unnamed = bson.D{{Key: "eventId", Value: nil}, {Key: sourceEvent, Value: nil}}

// EachSale calls handle with the CONFIRMED bookings of the given events, or with all of them if eventIDs is nil, in
// batches of up to size.
func (s *Store) EachSale(ctx context.Context, eventIDs []ID, size int, handle func([]inventory.BookingRef) error) error {
	if eventIDs == nil {
		return s.eachSale(ctx, nil, size, handle)
	}
	if err := s.eachSale(ctx, mongodb.In("eventId", eventIDs), size, handle); err != nil {
		return err
	}
	return s.eachSale(ctx, mongodb.And(mongodb.In(sourceEvent, eventIDs), mongodb.Is("eventId", nil)), size, handle)
}

// EachUnnamedSale calls handle with the CONFIRMED bookings that name no event.
func (s *Store) EachUnnamedSale(ctx context.Context, size int, handle func([]inventory.BookingRef) error) error {
	return s.eachSale(ctx, unnamed, size, handle)
}

func (s *Store) eachSale(ctx context.Context, which bson.D, size int, handle func([]inventory.BookingRef) error) error {
	confirmed := mongodb.And(which, mongodb.Is("status", string(holdfast.BookingConfirmed)))
	return mongodb.Translate(mongodb.Each(ctx, s.bookings(), confirmed, mongodb.Keys("_id", "seatLockId"), nil, size,
		func(doc bson.Raw) inventory.BookingRef {
			return inventory.BookingRef{Booking: ownID(doc), Lock: mongodb.IDOf(doc, "seatLockId")}
		}, handle))
}
