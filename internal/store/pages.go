package store

import (
	"bytes"
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Scope says which events a pass compares with their locks and bookings.
type Scope bool

// The scopes.
const (
	Unsealed  Scope = false
	AllEvents Scope = true // sealed or not
)

func (s Scope) filter() bson.D {
	if s == Unsealed {
		return isUnsealed
	}
	return nil
}

// EventPage is a page of events, of an interval of IDs. If no other event is in the interval, the
// page's locks and bookings are all that name an ID of the interval, whether or not there is such
// an event. Otherwise they are those that name an event of the page.
type EventPage struct {
	events       []eventDoc
	after, until ID // after < ID ≤ until
	isWhole      bool
}

// lastID is the greatest ID.
var lastID = ID(slices.Repeat([]byte{0xff}, len(ID{})))

// Len is the number of events in the page.
func (p EventPage) Len() int { return len(p.events) }

// Until is the position of the next page.
func (p EventPage) Until() ID { return p.until }

// IsLast reports whether no page follows.
func (p EventPage) IsLast() bool { return p.until == lastID }

// IDs are the events.
func (p EventPage) IDs() []ID {
	return all(p.events, func(d eventDoc) ID { return d.ID })
}

// of matches the documents that belong to the page, by the field that names their event.
func (p EventPage) of(field string) bson.D {
	if p.isWhole {
		return p.interval(field)
	}
	return mongodb.In(field, p.IDs())
}

func (p EventPage) interval(field string) bson.D {
	return mongodb.Is(field, bson.D{{Key: "$gt", Value: p.after}, {Key: "$lte", Value: p.until}})
}

// minRun is the number of events without a sealed one between them that are worth a page of
// their own: an interval is read faster than a list of events.
const minRun = 100

// EventPage reads up to limit events after a position. The last page may be empty.
func (s *Store) EventPage(ctx context.Context, scope Scope, after ID, limit int) (EventPage, error) {
	behind := mongodb.Is("_id", bson.D{{Key: "$gt", Value: after}})
	events, err := s.eventCounters(ctx, mongodb.Match(scope.filter(), behind), mongodb.Sort("_id"), mongodb.Limit(limit))
	page := EventPage{events: events, after: after, until: lastID, isWhole: scope == AllEvents}
	if err != nil {
		return page, mongodb.Translate(err)
	}
	if len(events) == limit {
		page.until = events[limit-1].ID
	}
	if scope == Unsealed {
		err = s.cutRun(ctx, &page)
	}
	return page, mongodb.Translate(err)
}

// cutRun looks for a sealed event in the interval of a page. If there is one, it cuts the page to
// the events before the next sealed one, unless they are too few.
func (s *Store) cutRun(ctx context.Context, page *EventPage) error {
	after := page.after
	next, err := s.nextSealed(ctx, after)
	if err == nil && len(page.events) > 0 && isBetween(next, after, page.events[0].ID) {
		after = before(page.events[0].ID)
		next, err = s.nextSealed(ctx, after)
	}
	if err != nil {
		return err
	}
	if !isBetween(next, after, page.until) {
		page.after, page.isWhole = after, true
		return nil
	}
	run := slices.IndexFunc(page.events, func(d eventDoc) bool { return isBetween(next, after, d.ID) })
	if run < 0 {
		run = len(page.events)
	}
	if run >= min(minRun, len(page.events)) && run > 0 {
		page.events, page.after, page.until, page.isWhole = page.events[:run], after, before(next), true
	}
	return nil
}

// nextSealed is the first sealed event after a position; zero if there is none.
func (s *Store) nextSealed(ctx context.Context, after ID) (ID, error) {
	doc, _, err := mongodb.First[eventDoc](ctx, s.events(), mongo.Pipeline{
		mongodb.Match(mongodb.Is(sealFlag, true), mongodb.Is("_id", bson.D{{Key: "$gt", Value: after}})),
		mongodb.Sort("_id"), mongodb.Only("_id"),
	})
	return doc.ID, err
}

// isBetween reports whether after < id < until. The zero ID is not.
func isBetween(id, after, until ID) bool {
	return bytes.Compare(id[:], after[:]) > 0 && bytes.Compare(id[:], until[:]) < 0
}

// before is the ID before another one, which is not zero.
func before(id ID) ID {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]--; id[i] != 0xff {
			break
		}
	}
	return id
}

// PageOf is a page of certain events.
func (s *Store) PageOf(ctx context.Context, eventIDs []ID) (EventPage, error) {
	events, err := s.eventCounters(ctx, mongodb.Match(mongodb.In("_id", eventIDs)))
	return EventPage{events: events}, mongodb.Translate(err)
}

func (s *Store) eventCounters(ctx context.Context, stages ...bson.D) ([]eventDoc, error) {
	return mongodb.All[eventDoc](ctx, s.events(), append(mongo.Pipeline(stages), mongodb.Only("totalSeats", "availableSeats", "oversold")))
}

// EventCount estimates how many events a scope has.
func (s *Store) EventCount(ctx context.Context, scope Scope) (n int64, err error) {
	if scope == AllEvents {
		n, err = s.events().EstimatedDocumentCount(ctx)
	} else {
		n, err = s.events().CountDocuments(ctx, isUnsealed)
	}
	return n, mongodb.Translate(err)
}

// EachLock calls handle with the IDs of all locks of a status, in batches of up to size.
func (s *Store) EachLock(ctx context.Context, status holdfast.LockStatus, size int, handle func([]ID) error) error {
	return s.EachLockOf(ctx, EventPage{until: lastID, isWhole: true}, status, size, handle)
}

// EachLockOf is EachLock for the locks of a page.
func (s *Store) EachLockOf(ctx context.Context, page EventPage, status holdfast.LockStatus, size int, handle func([]ID) error) error {
	filter := mongodb.And(page.of("eventId"), mongodb.Is("status", string(status)), namedByUs)
	return mongodb.Translate(mongodb.Each(ctx, s.locks(), filter, mongodb.Keys("_id"), size,
		func(doc bson.Raw) ID { return mongodb.IDOf(doc, "_id") }, handle))
}

// EachDueLock calls handle with the IDs of all ACTIVE locks that are due, in batches of up to size.
func (s *Store) EachDueLock(ctx context.Context, size int, handle func([]ID) error) error {
	filter := mongodb.And(mongodb.Is("status", string(holdfast.LockActive)), due, namedByUs)
	return mongodb.Translate(mongodb.Each(ctx, s.locks(), filter, mongodb.Keys("_id"), size,
		func(doc bson.Raw) ID { return mongodb.IDOf(doc, "_id") }, handle))
}

// foreignEvent is the field in which bookings of other software name their event.
const foreignEvent = "event"

// namesNone matches documents whose field is no ObjectID.
func namesNone(field string) bson.D { return mongodb.Not(field, bson.E{Key: "$gt", Value: ID{}}) }

// EachSale calls handle with all CONFIRMED bookings, in batches of up to size.
func (s *Store) EachSale(ctx context.Context, size int, handle func([]inventory.BookingRef) error) error {
	return s.eachSale(ctx, size, handle, nil)
}

// EachSaleOf calls handle with the CONFIRMED bookings of a page, in batches of up to size.
func (s *Store) EachSaleOf(ctx context.Context, page EventPage, size int, handle func([]inventory.BookingRef) error) error {
	return s.eachSale(ctx, size, handle, page.of("eventId"), mongodb.And(page.of(foreignEvent), namesNone("eventId")))
}

// EachUnnamedSale calls handle with the CONFIRMED bookings that name no event. Three indexes
// serve it: usually neither field exists.
func (s *Store) EachUnnamedSale(ctx context.Context, size int, handle func([]inventory.BookingRef) error) error {
	none := func(field string) bson.D { return mongodb.Is(field, nil) }
	wrong := func(field string) bson.D {
		return mongodb.And(namesNone(field), bson.D{{Key: field, Value: bson.D{{Key: "$ne", Value: nil}}}})
	}
	return s.eachSale(ctx, size, handle,
		unnamed, mongodb.And(wrong("eventId"), namesNone(foreignEvent)), mongodb.And(none("eventId"), wrong(foreignEvent)))
}

// unnamed is also the condition of an index.
var unnamed = bson.D{{Key: "eventId", Value: nil}, {Key: foreignEvent, Value: nil}}

// eachSale calls handle with the CONFIRMED bookings that match one of the filters, each by its
// own index.
func (s *Store) eachSale(ctx context.Context, size int, handle func([]inventory.BookingRef) error, filters ...bson.D) error {
	for _, filter := range filters {
		confirmed := mongodb.And(filter, mongodb.Is("status", string(holdfast.BookingConfirmed)))
		err := mongodb.Each(ctx, s.bookings(), confirmed, mongodb.Keys("_id", "seatLockId"), size,
			func(doc bson.Raw) inventory.BookingRef {
				return inventory.BookingRef{Booking: mongodb.IDOf(doc, "_id"), Lock: mongodb.IDOf(doc, "seatLockId")}
			}, handle)
		if err != nil {
			return mongodb.Translate(err)
		}
	}
	return nil
}
