package store

import (
	"bytes"
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sync/errgroup"

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

// EventPage is a page of events, of an interval of IDs. If no other event is in the interval, the
// page's locks and bookings are all that name an ID of the interval, whether or not there is such
// an event. Otherwise they are those that name an event of the page.
type EventPage struct {
	ids          []ID
	after, until ID // after < ID ≤ until
	isWhole      bool
	next         ID   // the position of the next page: from until to it there are sealed events only
	sealed       []ID // the other events of the interval
}

// lastID is the greatest ID.
var lastID = ID(slices.Repeat([]byte{0xff}, len(ID{})))

// Len is the number of events in the page.
func (p EventPage) Len() int { return len(p.ids) }

// IDs are the events.
func (p EventPage) IDs() []ID { return p.ids }

// Has reports whether an event is in the page.
func (p EventPage) Has(id ID) bool {
	_, has := slices.BinarySearchFunc(p.ids, id, compareIDs)
	return has
}

// PageOf is a page of certain events.
func PageOf(eventIDs ...ID) EventPage { return EventPage{ids: eventIDs} }

// of matches the documents that belong to the page, by the field that names their event.
func (p EventPage) of(field string) bson.D {
	if p.isWhole {
		return p.interval(field)
	}
	return mongodb.In(field, p.ids)
}

func (p EventPage) interval(field string) bson.D { return isBetween(field, p.after, p.until) }

// sealedOf matches the documents of sealed events before the next page; isAny is false if there are none.
func (p EventPage) sealedOf(field string) (filter bson.D, isAny bool) {
	if p.isWhole {
		return isBetween(field, p.until, p.next), p.until != p.next
	}
	return mongodb.In(field, p.sealed), len(p.sealed) > 0
}

func isBetween(field string, after, until ID) bson.D {
	return mongodb.Is(field, bson.D{{Key: "$gt", Value: after}, {Key: "$lte", Value: until}})
}

// minRun is the number of events without a sealed one between them that are worth a page of
// their own: an interval is read faster than a list of events.
const minRun = 100

// EventPageSize is the number of events in a page of a pass and of the check of seals. They have to agree on
// what is in a page.
const EventPageSize = 1000

// EachEventPage calls handle with the events of a scope, in pages of up to limit. It reads the next page
// meanwhile. The last page may be empty.
func (s *Store) EachEventPage(ctx context.Context, scope Scope, limit int, handle func(EventPage) error) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	var reader errgroup.Group
	pages := make(chan EventPage)
	reader.Go(func() error {
		defer close(pages)
		for after := (ID{}); after != lastID; {
			page, err := s.eventPage(within, scope, after, limit)
			if err != nil {
				return mongodb.Translate(err)
			}
			select {
			case pages <- page:
			case <-within.Done():
				return context.Cause(within)
			}
			after = page.next
		}
		return nil
	})
	for page := range pages {
		if err := handle(page); err != nil {
			cancel()
			_ = reader.Wait() // it says that it was ended
			return err
		}
	}
	return reader.Wait()
}

// eventPage reads the IDs of up to limit events after a position.
func (s *Store) eventPage(ctx context.Context, scope Scope, after ID, limit int) (EventPage, error) {
	if scope == AllEvents {
		ids, err := mongodb.FirstIDs(ctx, s.events(), behind(after), limit)
		return wholePage(ids, after, limit), err
	}
	return s.unsealedPage(ctx, after, limit)
}

func wholePage(ids []ID, after ID, limit int) EventPage {
	end := endOf(ids, limit)
	return EventPage{ids: ids, after: after, until: end, isWhole: true, next: end}
}

// unsealedPage is one of these:
//
//   - the next events, if none of them is sealed;
//   - a run: the events before the next sealed one, if there are many or none;
//   - a mixed page: the unsealed ones among the next events.
func (s *Store) unsealedPage(ctx context.Context, after ID, limit int) (EventPage, error) {
	ids, sealed, err := s.eventsAndSealed(ctx, after, limit+1) // a run may be as long as the page
	if err != nil {
		return EventPage{}, err
	}
	run := len(ids)
	if !sealed.IsZero() {
		run, _ = slices.BinarySearchFunc(ids, sealed, compareIDs)
	}
	page := wholePage(ids[:min(len(ids), limit)], after, limit)
	switch {
	case run == len(ids):
	case run == 0 || run >= minRun:
		page.ids, page.until = ids[:run], before(sealed)
		page.next, err = s.endOfSealed(ctx, sealed)
	default:
		all := page.ids
		page.isWhole = false
		page.ids, err = mongodb.FirstIDs(ctx, s.events(), mongodb.And(isUnsealed, page.interval("_id")), limit)
		page.sealed = slices.DeleteFunc(all, page.Has)
	}
	return page, err
}

// eventsAndSealed reads up to limit events after a position, sealed or not, and the next sealed event; zero
// if there is none.
func (s *Store) eventsAndSealed(ctx context.Context, after ID, limit int) (ids []ID, sealed ID, err error) {
	if ids, err = mongodb.FirstIDs(ctx, s.events(), behind(after), limit); err != nil {
		return nil, sealed, err
	}
	next, err := mongodb.FirstIDs(ctx, s.events(), mongodb.And(mongodb.Is(sealFlag, true), isSealed, behind(after)), 1)
	return ids, append(next, ID{})[0], err
}

// endOfSealed is the position before the first event after a sealed one that is not sealed.
func (s *Store) endOfSealed(ctx context.Context, sealed ID) (ID, error) {
	first, err := mongodb.FirstIDs(ctx, s.events(), mongodb.And(isUnsealed, behind(sealed)), 1)
	if err != nil || len(first) == 0 {
		return lastID, err
	}
	return before(first[0]), nil
}

// behind matches the documents after a position.
func behind(after ID) bson.D { return mongodb.Is("_id", bson.D{{Key: "$gt", Value: after}}) }

// endOf is the position after a page of up to limit IDs.
func endOf(ids []ID, limit int) ID {
	if len(ids) < limit {
		return lastID
	}
	return ids[limit-1]
}

func compareIDs(a, b ID) int { return bytes.Compare(a[:], b[:]) }

// before is the ID before another one, which is not zero.
func before(id ID) ID {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]--; id[i] != 0xff {
			break
		}
	}
	return id
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

// EachDueLock calls handle with the IDs of all ACTIVE locks that are due, in batches of up to size. The
// ID of a lock that we can't name is zero.
func (s *Store) EachDueLock(ctx context.Context, size int, handle func([]ID) error) error {
	filter := mongodb.And(mongodb.Is("status", string(holdfast.LockActive)), due)
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
