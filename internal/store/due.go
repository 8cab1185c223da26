package store

import (
	"context"

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
	const longest = 100 // an _id may be a whole document
	id := d.ID.String()
	if oid, ok := d.ID.ObjectIDOK(); ok {
		id = oid.Hex()
	}
	return Poison{ID: id[:min(longest, len(id))], Why: string(d.Why)}
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

// UnendableLocks returns up to limit ACTIVE locks that are due and that no sweep can end.
func (s *Store) UnendableLocks(ctx context.Context, limit int) ([]Poison, error) {
	docs, err := mongodb.All[poisonDoc](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("status", string(holdfast.LockActive)), due),
		{{Key: "$project", Value: bson.D{{Key: "why", Value: unendable(s.shared())}}}},
		mongodb.Match(bson.D{{Key: "why", Value: bson.D{{Key: "$ne", Value: ""}}}}),
		mongodb.Limit(limit),
	})
	return all(docs, poisonDoc.poison), mongodb.Translate(err)
}

// CountDueLocks counts the ACTIVE locks that are due and can be ended, up to limit; 0 is no
// limit.
func (s *Store) CountDueLocks(ctx context.Context, limit int64) (int64, error) {
	filter := mongodb.And(mongodb.Is("status", string(holdfast.LockActive)), due, endable(s.shared()))
	n, err := s.locks().CountDocuments(ctx, filter, upTo(limit))
	return n, mongodb.Translate(err)
}

// DueBooking is a due booking that a sweep found.
type DueBooking struct {
	inventory.BookingRef
	ExpiresAt bson.DateTime // of its payment window; zero for an INITIATED one
	// EventID is the event whose seats its lock still takes. It is zero if the lock has
	// ended or does not exist.
	EventID ID
	// Poison: its lock's seats are no whole number ≥ 1, so no sweep may end it.
	Poison bool
}

// Name is the booking in a log line.
func (d DueBooking) Name() string { return "booking " + d.Booking.String() }

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

// UnendableBookings returns up to limit PAYMENT_PENDING bookings whose payment window has
// passed, and that no sweep can end.
func (s *Store) UnendableBookings(ctx context.Context, limit int) ([]Poison, error) {
	docs, err := mongodb.All[poisonDoc](ctx, s.bookings(), mongo.Pipeline{
		mongodb.Match(duePending),
		{{Key: "$project", Value: bson.D{{Key: "why", Value: unendableBooking}}}},
		mongodb.Match(bson.D{{Key: "why", Value: bson.D{{Key: "$ne", Value: ""}}}}), mongodb.Limit(limit),
	})
	return all(docs, poisonDoc.poison), mongodb.Translate(err)
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
		mongodb.Only("seatLockId"),
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
