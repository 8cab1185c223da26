package store

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// An event that is over and settled is sealed: recovery and reconcile skip it. The seal has
// the event's final counts and its revision:
//
//	internal.sealed: {is: true, at, rev, totalSeats, availableSeats}
//
// Every plan that writes an event removes the seal in the same update, so a sealed event is
// changed like any other. A fence keeps the seal, because it changes nothing that is counted.
const (
	sealName = internalName + ".sealed"
	sealFlag = sealName + ".is"
)

// isSealed and isUnsealed match by the index that begins with the flag.
var (
	isSealed   = bson.D{{Key: sealFlag, Value: bson.D{{Key: "$ne", Value: nil}}}}
	isUnsealed = mongodb.Is(sealFlag, nil)
)

// unseal is part of every update of an event by a plan.
var unseal = bson.E{Key: "$unset", Value: bson.D{{Key: sealName, Value: ""}}}

// sealPage is the number of locks or bookings in one read of a proof.
const sealPage = 5000

// OverEvents reads up to limit events that are not sealed and whose date is not after a time,
// in the order of their IDs, after a position.
func (s *Store) OverEvents(ctx context.Context, until time.Time, after ID, limit int) ([]inventory.Event, error) {
	docs, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{
		mongodb.Match(isUnsealed, isOver(until), behind(after)),
		mongodb.Sort("_id"), mongodb.Limit(limit), withoutMap,
	})
	return all(docs, func(d eventDoc) inventory.Event { return d.inventory(s.shared()) }), mongodb.Translate(err)
}

func isOver(until time.Time) bson.D {
	date := bson.D{{Key: "$type", Value: "date"}, {Key: "$lte", Value: until}}
	return mongodb.And(mongodb.Is("eventDate", date), isNoList("eventDate"))
}

// SealResult says whether an event was sealed.
type SealResult struct {
	Sealed bool
	// Contradiction says what has to be repaired first. It is empty if the event is sealed, has
	// an open lock or booking, or has changed since it was read.
	Contradiction string
}

// Seal seals an event that is over, if it proves that nothing of it is open, that the counter
// agrees with the locks, and that sold locks and CONFIRMED bookings agree. event is what
// OverEvents has read.
//
// The proof reads locks and bookings before the transaction that writes the seal, because an
// event may have more locks than a transaction can read. It holds at the time of the seal: locks
// and bookings can't change without an ACTIVE lock, an open booking or a write of the event. The
// proof begins by finding none of the first two. The transaction writes the event if its
// revision has not changed since, and looks for open locks and bookings once more.
func (s *Store) Seal(ctx context.Context, event inventory.Event, until time.Time) (SealResult, error) {
	if event.Unguarded || !event.HasTotal || !event.Valid() || event.Oversold > 0 {
		return SealResult{Contradiction: "its counter or its revision can't be relied on"}, nil
	}
	if open, err := s.isOpen(ctx, event.ID); err != nil || open {
		return SealResult{}, mongodb.Translate(err)
	}
	contradiction, err := s.proveUnchanged(ctx, event, isUnsealed)
	if err != nil || contradiction != "" {
		return SealResult{Contradiction: contradiction}, err
	}
	err = mongodb.Do(ctx, s.db, func(ctx context.Context) error { return s.writeSeal(ctx, event, until) })
	if errors.Is(err, ErrStale) {
		return SealResult{}, nil
	}
	return SealResult{Sealed: err == nil}, err
}

// proveUnchanged is prove for an event that must be as it was read, sealed or not. It returns "" if it is
// not: a change during the proof, such as a new lock, looks like a contradiction.
func (s *Store) proveUnchanged(ctx context.Context, event inventory.Event, seal bson.D) (contradiction string, err error) {
	contradiction, err = s.prove(ctx, event)
	if err != nil || contradiction == "" {
		return "", err
	}
	n, err := s.events().CountDocuments(ctx, mongodb.And(eventGuard(event.ID, inventory.EventWrite{IfUnchanged: &event}), seal))
	if err != nil || n == 0 {
		return "", mongodb.Translate(err)
	}
	return contradiction, nil
}

// prove looks for what contradicts an event without open locks and bookings: in its counter, its
// map, its taking locks and its CONFIRMED bookings. It returns "" if nothing does.
func (s *Store) prove(ctx context.Context, event inventory.Event) (contradiction string, err error) {
	taken, contradiction, err := s.proveLocks(ctx, event.ID)
	if err == nil && contradiction == "" {
		contradiction, err = s.proveSales(ctx, event.ID)
	}
	if err == nil && contradiction == "" && event.Drift(taken) != 0 {
		contradiction = "its counter does not agree with its locks"
	}
	if err == nil && contradiction == "" && !event.Seating.PlanID.IsZero() {
		contradiction, err = s.proveMap(ctx, event.ID)
	}
	return contradiction, mongodb.Translate(err)
}

// SealedEvents reads up to limit sealed events after a position, in the order of their IDs.
func (s *Store) SealedEvents(ctx context.Context, after ID, limit int) ([]inventory.Event, error) {
	docs, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{
		mongodb.Match(mongodb.Is(sealFlag, true), behind(after)),
		mongodb.Sort("_id"), mongodb.Limit(limit), withoutMap,
	})
	return all(docs, func(d eventDoc) inventory.Event { return d.inventory(s.shared()) }), mongodb.Translate(err)
}

// ProveSeal repeats the proof of a sealed event, which SealedEvents has read. It returns what
// contradicts the seal: other software has written it. It returns "" if nothing does, or if the event
// is not as it was read any more: each change by Holdfast removes the seal.
func (s *Store) ProveSeal(ctx context.Context, event inventory.Event) (contradiction string, err error) {
	return s.proveUnchanged(ctx, event, isSealed)
}

// openStatuses are the bookings that may still be confirmed.
func openStatuses() []holdfast.BookingStatus {
	return slices.DeleteFunc(holdfast.LiveStatuses(), func(s holdfast.BookingStatus) bool { return s == holdfast.BookingConfirmed })
}

// isOpen reports whether an event has an ACTIVE lock or an open booking.
func (s *Store) isOpen(ctx context.Context, id ID) (bool, error) {
	active, err := s.locks().CountDocuments(ctx,
		mongodb.And(mongodb.Is("eventId", id), mongodb.Is("status", string(holdfast.LockActive))), upTo(1))
	if err != nil || active > 0 {
		return true, err
	}
	for _, field := range []string{"eventId", foreignEvent} {
		open, err := s.bookings().CountDocuments(ctx, mongodb.And(mongodb.Is(field, id), mongodb.In("status", openStatuses())), upTo(1))
		if err != nil || open > 0 {
			return true, err
		}
	}
	return false, nil
}

type takingLock struct {
	id     ID
	status holdfast.LockStatus
	seats  mongodb.Whole
}

func readTakingLock(doc bson.Raw) takingLock {
	lock := takingLock{id: mongodb.IDOf(doc, "_id")}
	status, _ := doc.Lookup("status").StringValueOK()
	lock.status = holdfast.LockStatus(status)
	if seats, err := doc.LookupErr("seats"); err == nil {
		_ = lock.seats.UnmarshalBSONValue(byte(seats.Type), seats.Value) // it never fails
	}
	return lock
}

// proveLocks adds up the locks that take seats of an event, by a covered index. Each CONSUMED
// one has to have one CONFIRMED booking.
func (s *Store) proveLocks(ctx context.Context, id ID) (taken int64, contradiction string, err error) {
	taking := mongodb.And(mongodb.Is("eventId", id), mongodb.In("status", holdfast.TakingStatuses()))
	fields := mongodb.Keys("_id", "status", "seats")
	err = mongodb.Each(ctx, s.locks(), taking, fields, sealPage, readTakingLock, func(page []takingLock) error {
		var consumed []ID
		for _, lock := range page {
			switch {
			case lock.id.IsZero():
				contradiction = "the _id of a lock is no ObjectID"
			case !lock.seats.Valid || lock.seats.N < 1 || taken > mongodb.MaxWhole-lock.seats.N:
				contradiction = "the seats of its locks can't be added up"
			}
			if contradiction != "" {
				return errProved
			}
			taken += lock.seats.N
			if lock.status == holdfast.LockConsumed {
				consumed = append(consumed, lock.id)
			}
		}
		orphans, doubles, err := s.OrphanConsumed(ctx, consumed)
		if len(orphans)+len(doubles) > 0 {
			contradiction = "a CONSUMED lock does not have one CONFIRMED booking"
			return errProved
		}
		return err
	})
	if errors.Is(err, errProved) {
		err = nil
	}
	return taken, contradiction, err
}

// errProved ends the reads of a proof that has found a contradiction.
const errProved = mongodb.AbortError("the event can't be sealed")

// proveSales looks for CONFIRMED bookings of an event whose lock is not CONSUMED.
func (s *Store) proveSales(ctx context.Context, id ID) (contradiction string, err error) {
	err = s.EachSaleOf(ctx, PageOf(id), sealPage, func(sales []inventory.BookingRef) error {
		active, ended, err := s.ActiveSales(ctx, sales)
		if len(active)+len(ended) > 0 {
			contradiction = "the lock of a CONFIRMED booking is not CONSUMED"
			return errProved
		}
		return err
	})
	if errors.Is(err, errProved) {
		err = nil
	}
	return contradiction, err
}

// writeSeal writes the seal in the caller's transaction, or returns ErrStale.
func (s *Store) writeSeal(ctx context.Context, event inventory.Event, until time.Time) error {
	unchanged := eventGuard(event.ID, inventory.EventWrite{IfUnchanged: &event})
	update := bson.D{
		{Key: "$set", Value: bson.D{
			{Key: sealFlag, Value: true}, {Key: sealName + ".rev", Value: event.Revision},
			{Key: sealName + ".totalSeats", Value: event.TotalSeats},
			{Key: sealName + ".availableSeats", Value: event.AvailableSeats},
		}},
		{Key: "$currentDate", Value: bson.D{{Key: sealName + ".at", Value: true}}},
	}
	if former := dropFormer(nil, s.shared(), event.Former); len(former) > 0 { // a new one shows a write of the former version
		update = append(update, bson.E{Key: "$unset", Value: former})
	}
	result, err := s.events().UpdateOne(ctx, mongodb.And(unchanged, isOver(until)), update)
	switch {
	case err != nil:
		return rejectedEvent(err)
	case result.MatchedCount == 0:
		return ErrStale
	}
	open, err := s.isOpen(ctx, event.ID)
	if err == nil && open {
		return ErrStale
	}
	return err
}

// Unseal removes the seals of events, and returns how many there were.
func (s *Store) Unseal(ctx context.Context, eventIDs []ID) (int, error) {
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (int, error) {
		result, err := s.events().UpdateMany(ctx, mongodb.And(mongodb.In("_id", eventIDs), isSealed), bson.D{unseal})
		if err != nil {
			return 0, err
		}
		return int(result.ModifiedCount), nil
	})
}

// HasSealed reports whether any event is sealed.
func (s *Store) HasSealed(ctx context.Context) (bool, error) {
	n, err := s.events().CountDocuments(ctx, isSealed, upTo(1))
	return n > 0, mongodb.Translate(err)
}

// SealedCount counts the sealed events.
func (s *Store) SealedCount(ctx context.Context) (int64, error) {
	n, err := s.events().CountDocuments(ctx, isSealed)
	return n, mongodb.Translate(err)
}

// BrokenSeals returns the sealed events that were changed without removing the seal, by other
// software or by a process of a version without seals:
//
//   - the revision or the counter is not the one of the seal;
//   - a lock of the event is ACTIVE;
//   - a booking of the event is open.
//
// The cost is some microseconds for each sealed event and each open booking. Locks are looked for once in
// a run of sealed events. It does not read the ended and sold locks and bookings of sealed events, so it
// misses a write to these that leaves the event as it was. ProveSeal finds that.
func (s *Store) BrokenSeals(ctx context.Context) ([]ID, error) {
	var mu sync.Mutex
	broken := map[ID]bool{}
	add := func(eventIDs []ID) {
		mu.Lock()
		defer mu.Unlock()
		for _, id := range eventIDs {
			broken[id] = true
		}
	}
	checks, within := errgroup.WithContext(ctx)
	checks.Go(func() error {
		differs := mongodb.Match(isSealed, bson.D{{Key: "$expr", Value: not(isIntact)}})
		changed, err := mongodb.All[eventDoc](within, s.events(), mongo.Pipeline{differs, mongodb.Only("_id")})
		add(all(changed, func(d eventDoc) ID { return d.ID }))
		return err
	})
	addSealed := func(eventIDs []ID) error {
		sealed, err := s.SealedAmong(within, eventIDs)
		add(sealed)
		return err
	}
	checks.Go(func() error { return s.eachActiveEvent(within, addSealed) })
	checks.Go(func() error { return s.eachOpenEvent(within, addSealed) })
	if err := checks.Wait(); err != nil {
		return nil, mongodb.Translate(err)
	}
	delete(broken, ID{})
	return slices.Collect(maps.Keys(broken)), nil
}

// SealedAmong returns those of some events that are sealed.
func (s *Store) SealedAmong(ctx context.Context, eventIDs []ID) ([]ID, error) {
	docs, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{
		mongodb.Match(mongodb.In("_id", eventIDs), isSealed), mongodb.Only("_id"),
	})
	return all(docs, func(d eventDoc) ID { return d.ID }), mongodb.Translate(err)
}

// isIntact compares a sealed event with its seal.
var isIntact = bson.D{{Key: "$and", Value: bson.A{
	bson.D{{Key: "$eq", Value: bson.A{"$" + sealName + ".rev", orZero("$" + rev)}}},
	bson.D{{Key: "$ne", Value: bson.A{bson.D{{Key: "$type", Value: "$" + formerRev}}, formerType}}},
	bson.D{{Key: "$eq", Value: bson.A{"$" + sealName + ".totalSeats", "$totalSeats"}}},
	bson.D{{Key: "$eq", Value: bson.A{"$" + sealName + ".availableSeats", "$availableSeats"}}},
	bson.D{{Key: "$eq", Value: bson.A{orZero("$oversold"), 0}}},
}}}

// sealCheckPage is the number of events in one look-up.
const sealCheckPage = 1000

// eachActiveEvent calls handle with the events of ACTIVE locks where sealed events lie. A run of sealed
// events costs one seek of an index, a sealed event in a mixed page too.
func (s *Store) eachActiveEvent(ctx context.Context, handle func([]ID) error) error {
	return s.EachEventPage(ctx, Unsealed, EventPageSize, func(page EventPage) error {
		sealed, isAny := page.sealedOf("eventId")
		if !isAny {
			return nil
		}
		isActive := mongodb.And(mongodb.Is("status", string(holdfast.LockActive)), sealed)
		return mongodb.Each(ctx, s.locks(), isActive, mongodb.Keys("eventId"), sealCheckPage,
			func(doc bson.Raw) ID { return mongodb.IDOf(doc, "eventId") }, handle)
	})
}

// eachOpenEvent calls handle with the events of open bookings. A booking of other software may
// name its event only by its lock.
func (s *Store) eachOpenEvent(ctx context.Context, handle func([]ID) error) error {
	type openBooking struct{ event, lock ID }
	fields := mongodb.Keys("eventId", foreignEvent, "seatLockId")
	return mongodb.Each(ctx, s.bookings(), mongodb.In("status", openStatuses()), fields, sealCheckPage,
		func(doc bson.Raw) openBooking {
			event := cmp.Or(mongodb.IDOf(doc, "eventId"), mongodb.IDOf(doc, foreignEvent))
			return openBooking{event: event, lock: mongodb.IDOf(doc, "seatLockId")}
		}, func(page []openBooking) error {
			var eventIDs, lockIDs []ID
			for _, b := range page {
				if b.event.IsZero() {
					lockIDs = append(lockIDs, b.lock)
				} else {
					eventIDs = append(eventIDs, b.event)
				}
			}
			if len(lockIDs) > 0 {
				locks, err := s.readLocks(ctx, lockIDs)
				if err != nil {
					return err
				}
				for _, lock := range locks {
					eventIDs = append(eventIDs, lock.EventID)
				}
			}
			return handle(eventIDs)
		})
}
