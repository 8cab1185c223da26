package store

import (
	"context"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// DueLock is a due lock that a sweep found.
type DueLock struct {
	ID, EventID ID
	ExpiresAt   bson.DateTime
}

// Name is the lock in a log line.
func (d DueLock) Name() string { return "lock " + d.ID.String() }

// Position is behind the lock.
func (d DueLock) Position() After { return After{At: d.ExpiresAt, ID: d.ID} }

// Poison is a document of other software that no sweep can end.
type Poison struct {
	ID  string // as MongoDB's extended JSON, cut
	Why string
}

type poisonDoc struct {
	ID  bson.RawValue `bson:"_id"`
	Why mongodb.Text  `bson:"why"`
}

func (d poisonDoc) poison() Poison {
	return Poison{ID: string(mongodb.NameOf(d.ID)), Why: string(d.Why)}
}

// After is a position in the order (time, ID) of a sweep's pages.
type After struct {
	At bson.DateTime
	ID ID
}

// filter matches the documents after the position, in the order of field and _id.
func (a After) filter(field string) bson.D {
	if a == (After{}) {
		return nil
	}
	return bson.D{
		{Key: field, Value: bson.D{{Key: "$gte", Value: a.At}}},
		{Key: "$or", Value: bson.A{
			bson.D{{Key: field, Value: bson.D{{Key: "$gt", Value: a.At}}}},
			bson.D{{Key: field, Value: a.At}, {Key: "_id", Value: bson.D{{Key: "$gt", Value: a.ID}}}},
		}},
	}
}

// DueLocks returns up to limit ACTIVE locks that are due and can be ended, soonest expiry
// first, after a position.
func (s *Store) DueLocks(ctx context.Context, after After, limit int) ([]DueLock, error) {
	docs, err := mongodb.All[lockDoc](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("status", string(holdfast.LockActive)), due, after.filter("expiresAt")),
		mongodb.Match(endable(s.shared())),
		mongodb.Sort("expiresAt", "_id"),
		mongodb.Limit(limit),
	})
	return all(docs, func(d lockDoc) DueLock {
		return DueLock{ID: d.ID, EventID: d.EventID, ExpiresAt: d.ExpiresAt.Stored}
	}), mongodb.Translate(err)
}

// Turns are where the next search for documents that no sweep can end goes on, for each kind of them.
type Turns [3]mongodb.Turn

// UnendableLocks returns up to limit ACTIVE locks that are due and that no sweep can end, and up
// to limit ACTIVE locks whose expiry is no date: they are never due. The next call goes on behind them.
func (s *Store) UnendableLocks(ctx context.Context, turns *Turns, limit int) ([]Poison, error) {
	active := mongodb.Is("status", string(holdfast.LockActive))
	return s.poison(ctx, s.locks(), turns, limit,
		poisonKind{mongodb.And(active, due), unendable(s.shared())},
		poisonKind{mongodb.And(active, noDate("expiresAt")), literally("its expiry is no date")})
}

// poisonKind is a kind of documents that no sweep can end: a filter, and an expression that says
// why; "" if a sweep can.
type poisonKind struct{ which, why bson.D }

// poison searches for up to limit documents of each kind whose turn it is, in the order of _id.
func (s *Store) poison(
	ctx context.Context, c *mongo.Collection, turns *Turns, limit int, kinds ...poisonKind,
) (found []Poison, err error) {
	for i, kind := range kinds {
		err := turns[i].Next(limit, func(isNext bson.D) ([]bson.RawValue, error) {
			docs, err := mongodb.All[poisonDoc](ctx, c, mongo.Pipeline{
				mongodb.Match(kind.which), withWhy(isNext, kind.why), hasWhy, mongodb.Sort("_id"), mongodb.Limit(limit),
			})
			found = append(found, all(docs, poisonDoc.poison)...)
			return all(docs, func(d poisonDoc) bson.RawValue { return d.ID }), err
		})
		if err != nil {
			return nil, mongodb.Translate(err)
		}
	}
	return found, nil
}

// withWhy keeps the _id of documents, and says why they can't be ended; hasWhy keeps those of
// which it says something. The turn is a part of the expression, so that the index is chosen by the
// filter of the kind.
func withWhy(isNext, why bson.D) bson.D {
	which := bson.D{{Key: "$cond", Value: bson.A{isNext, why, ""}}}
	return bson.D{{Key: "$project", Value: bson.D{{Key: "why", Value: which}}}}
}

var hasWhy = mongodb.Match(bson.D{{Key: "why", Value: bson.D{{Key: "$ne", Value: ""}}}})

func literally(why string) bson.D { return bson.D{{Key: "$literal", Value: why}} }

// noDate matches a field that is no date. MongoDB compares values of all types in an expression,
// so an index bounds both ranges.
func noDate(field string) bson.D {
	return bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: "$expr", Value: bson.D{{Key: "$lt", Value: bson.A{"$" + field, bson.DateTime(math.MinInt64)}}}}},
		bson.D{{Key: "$expr", Value: bson.D{{Key: "$gt", Value: bson.A{"$" + field, bson.DateTime(math.MaxInt64)}}}}},
	}}}
}

// CountDueLocks counts the ACTIVE locks that are due and can be ended, up to limit; 0 is no
// limit.
func (s *Store) CountDueLocks(ctx context.Context, limit int64) (int64, error) {
	filter := mongodb.And(mongodb.Is("status", string(holdfast.LockActive)), due, endable(s.shared()))
	n, err := s.locks().CountDocuments(ctx, filter, upTo(limit))
	return n, mongodb.Translate(err)
}

// MissingEvent is an event that does not exist, although due locks name it.
type MissingEvent struct {
	ID    ID    `bson:"_id"`
	Locks int64 `bson:"locks"`
}

// MissingEvents returns up to limit events that due locks name, and that do not exist. No sweep
// ends these locks.
func (s *Store) MissingEvents(ctx context.Context, limit int) ([]MissingEvent, error) {
	missing, err := mongodb.All[MissingEvent](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("status", string(holdfast.LockActive)), due), mongodb.Match(endable(s.shared())),
		mongodb.Group("$eventId", bson.E{Key: "locks", Value: mongodb.Sum(int64(1))}),
		mongodb.JoinBy("events", eventsName, "_id", "_id", mongodb.Only("_id")),
		mongodb.Match(mongodb.Is("events", bson.A{})), mongodb.Sort("_id"), mongodb.Limit(limit),
	})
	return missing, mongodb.Translate(err)
}

// DueBooking is a due booking that a sweep found.
type DueBooking struct {
	inventory.BookingRef
	ExpiresAt bson.DateTime // of its payment window; zero for an INITIATED one
	// EventID is the event whose seats its lock still takes. It is zero if the lock has
	// ended or does not exist.
	EventID ID
	Events  []ID // that the booking and its lock name
	// Poison: its lock's seats are no whole number ≥ 1, so no sweep may end it.
	Poison bool
}

// Name is the booking in a log line.
func (d DueBooking) Name() string { return "booking " + d.Booking.String() }

// Position is behind the booking.
func (d DueBooking) Position() After { return After{At: d.ExpiresAt, ID: d.Booking} }

// DuePending returns up to limit PAYMENT_PENDING bookings whose payment window has passed,
// in the order of its end, after a position.
func (s *Store) DuePending(ctx context.Context, after After, limit int) ([]DueBooking, error) {
	docs, err := mongodb.All[bookingDoc](ctx, s.bookings(), mongo.Pipeline{
		mongodb.Match(duePending, endableBooking, after.filter("paymentExpiresAt")),
		mongodb.Sort("paymentExpiresAt", "_id"),
		mongodb.Limit(limit),
	})
	if err != nil {
		return nil, mongodb.Translate(err)
	}
	found, _, err := s.withLocks(ctx, docs)
	return found, err
}

var duePending = mongodb.And(mongodb.Is("status", string(holdfast.BookingPending)), mongodb.Passed("paymentExpiresAt"))

// UnendableBookings returns bookings that no sweep can end, up to limit of each kind: due ones,
// INITIATED ones that nothing can name, and PAYMENT_PENDING ones with a payment window that is no
// date. Without a window the lock's expiry counts. The next call goes on behind them.
func (s *Store) UnendableBookings(ctx context.Context, turns *Turns, limit int) ([]Poison, error) {
	initiated, pending := mongodb.Is("status", string(holdfast.BookingInitiated)), mongodb.Is("status", string(holdfast.BookingPending))
	noWindow := mongodb.Not("paymentExpiresAt", bson.E{Key: "$in", Value: bson.A{nil}})
	return s.poison(ctx, s.bookings(), turns, limit,
		poisonKind{duePending, unendableBooking},
		poisonKind{mongodb.And(initiated, mongodb.Not("_id", bson.E{Key: "$gt", Value: ID{}})), unendableBooking},
		poisonKind{mongodb.And(pending, noDate("paymentExpiresAt"), noWindow), literally("its payment window is no date")})
}

// CountDueBookings counts the PAYMENT_PENDING bookings whose payment window has passed.
func (s *Store) CountDueBookings(ctx context.Context) (int64, error) {
	n, err := s.bookings().CountDocuments(ctx, mongodb.And(duePending, endableBooking))
	return n, mongodb.Translate(err)
}

// DueInitiated reads up to limit INITIATED bookings after a position, and returns the ones
// whose lock has ended or is due. last is the position of the next page, zero at the end.
func (s *Store) DueInitiated(ctx context.Context, after ID, limit int) (found []DueBooking, last ID, err error) {
	docs, err := mongodb.All[bookingDoc](ctx, s.bookings(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("status", string(holdfast.BookingInitiated)), mongodb.Is("_id", bson.D{{Key: "$gt", Value: after}})),
		mongodb.Sort("_id"),
		mongodb.Limit(limit),
		mongodb.Only("seatLockId", "eventId", foreignEvent),
	})
	if err != nil || len(docs) == 0 {
		return nil, ID{}, mongodb.Translate(err)
	}
	refs, locks, err := s.withLocks(ctx, docs)
	for _, d := range refs {
		if lock, exists := locks[d.Lock]; !exists || lock.lock().Ended(lock.Now.Time) != nil {
			found = append(found, d)
		}
	}
	if len(docs) == limit {
		last = docs[limit-1].ID
	}
	return found, last, err
}

// withLocks looks up the locks of bookings.
func (s *Store) withLocks(ctx context.Context, docs []bookingDoc) ([]DueBooking, map[ID]lockDoc, error) {
	if len(docs) == 0 {
		return nil, nil, nil
	}
	lockIDs := make([]ID, 0, len(docs))
	for _, d := range docs {
		lockIDs = append(lockIDs, d.LockID)
	}
	locks, err := s.readLocks(ctx, lockIDs)
	if err != nil {
		return nil, nil, mongodb.Translate(err)
	}
	found := make([]DueBooking, 0, len(docs))
	for _, d := range docs {
		b := DueBooking{BookingRef: inventory.BookingRef{Booking: d.ID, Lock: d.LockID}, ExpiresAt: d.PaymentExpiresAt.Stored}
		b.Events = known(d.booking().EventID, locks[d.LockID].EventID)
		if lock, exists := locks[d.LockID]; exists && lock.lock().Status == holdfast.LockActive {
			b.EventID, b.Poison = lock.EventID, lock.lock().Seats == 0
		}
		found = append(found, b)
	}
	return found, locks, nil
}

// readLocks reads locks by ID, with the database's clock.
func (s *Store) readLocks(ctx context.Context, lockIDs []ID) (map[ID]lockDoc, error) {
	docs, err := mongodb.All[lockDoc](ctx, s.locks(), mongo.Pipeline{mongodb.Match(mongodb.In("_id", lockIDs)), mongodb.WithNow})
	byID := make(map[ID]lockDoc, len(docs))
	for _, d := range docs {
		byID[d.ID] = d
	}
	delete(byID, ID{}) // it names no lock
	return byID, err
}
