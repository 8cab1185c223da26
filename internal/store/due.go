package store

import (
	"context"
	"time"

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

// Position is the position after the lock.
func (d DueLock) Position() After { return After{At: d.ExpiresAt, ID: d.ID} }

// After is a position in a sweep's pages, which are in the order of (time, ID).
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

// DueLocks returns up to limit ACTIVE locks that are due, soonest expiry first, after a position.
func (s *Store) DueLocks(ctx context.Context, after After, limit int) ([]DueLock, error) {
	docs, err := mongodb.All[lockDoc](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("status", string(holdfast.LockActive)), due, after.filter("expiresAt")),
		mongodb.Match(lockSchema),
		mongodb.Sort("expiresAt", "_id"),
		mongodb.Limit(limit),
		mongodb.Only("eventId", "expiresAt"),
	})
	return all(docs, func(d lockDoc) DueLock {
		return DueLock{ID: d.ID, EventID: d.EventID, ExpiresAt: bson.NewDateTimeFromTime(d.ExpiresAt)}
	}), mongodb.Translate(err)
}

// CountDueLocks counts the ACTIVE locks that are due, up to limit. A limit of 0 means no limit.
func (s *Store) CountDueLocks(ctx context.Context, limit int64) (int64, error) {
	filter := mongodb.And(mongodb.Is("status", string(holdfast.LockActive)), due, lockSchema)
	n, err := s.locks().CountDocuments(ctx, filter, upTo(limit))
	return n, mongodb.Translate(err)
}

// MissingEvent is an event that does not exist, although due locks name it.
type MissingEvent struct {
	ID    ID    `bson:"_id"`
	Locks int64 `bson:"locks"`
}

// MissingEvents returns up to limit events that due locks name, but that do not exist. Sweeps can't end these locks.
func (s *Store) MissingEvents(ctx context.Context, limit int) ([]MissingEvent, error) {
	missing, err := mongodb.All[MissingEvent](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("status", string(holdfast.LockActive)), due), mongodb.Match(lockSchema),
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
	// EventID is the event whose seats the booking's lock still takes. It is zero if the lock has ended or does not
	// exist.
	EventID ID
	Events  []ID // that the booking and its lock name
}

// Position is the position after the booking.
func (d DueBooking) Position() After { return After{At: d.ExpiresAt, ID: d.Booking} }

// DuePending returns up to limit PAYMENT_PENDING bookings whose payment window has passed, earliest end first, after
// a position.
func (s *Store) DuePending(ctx context.Context, after After, limit int) ([]DueBooking, error) {
	docs, err := mongodb.All[bookingDoc](ctx, s.bookings(), mongo.Pipeline{
		mongodb.Match(duePending, bookingSchema, after.filter("paymentExpiresAt")),
		mongodb.Sort("paymentExpiresAt", "_id"),
		mongodb.Limit(limit),
		dueFields,
	})
	if err != nil {
		return nil, mongodb.Translate(err)
	}
	found, _, err := s.withLocks(ctx, docs)
	return found, err
}

// dueFields are the fields of a booking that say whether it is due, and of which event.
var dueFields = mongodb.Only("seatLockId", "eventId", sourceEvent, "paymentExpiresAt")

var duePending = mongodb.And(mongodb.Is("status", string(holdfast.BookingPending)), mongodb.Passed("paymentExpiresAt"))

// CountDueBookings counts the PAYMENT_PENDING bookings whose payment window has passed.
func (s *Store) CountDueBookings(ctx context.Context) (int64, error) {
	n, err := s.bookings().CountDocuments(ctx, mongodb.And(duePending, bookingSchema))
	return n, mongodb.Translate(err)
}

// DueInitiated reads up to limit INITIATED bookings after a position, and returns those whose lock has ended or is
// due. last is the position of the next page. It is zero after the last page.
func (s *Store) DueInitiated(ctx context.Context, after ID, limit int) (found []DueBooking, last ID, err error) {
	docs, err := mongodb.All[bookingDoc](ctx, s.bookings(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("status", string(holdfast.BookingInitiated)), mongodb.Is("_id", bson.D{{Key: "$gt", Value: after}}),
			bookingSchema),
		mongodb.Sort("_id"),
		mongodb.Limit(limit),
		dueFields,
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

// withLocks looks up the locks of bookings. It leaves out bookings whose lock is corrupt.
func (s *Store) withLocks(ctx context.Context, docs []bookingDoc) ([]DueBooking, map[ID]lockDoc, error) {
	if len(docs) == 0 {
		return nil, nil, nil
	}
	lockIDs := make([]ID, 0, len(docs))
	for _, d := range docs {
		lockIDs = append(lockIDs, d.LockID)
	}
	locks, corrupt, err := s.readLocks(ctx, lockIDs)
	if err != nil {
		return nil, nil, mongodb.Translate(err)
	}
	found := make([]DueBooking, 0, len(docs))
	for _, d := range docs {
		if corrupt[d.LockID] {
			continue
		}
		b := DueBooking{BookingRef: inventory.BookingRef{Booking: d.ID, Lock: d.LockID}, ExpiresAt: dateTime(d.PaymentExpiresAt)}
		b.Events = known(d.booking().EventID, locks[d.LockID].EventID)
		if lock, exists := locks[d.LockID]; exists && lock.lock().Status == holdfast.LockActive {
			b.EventID = lock.EventID
		}
		found = append(found, b)
	}
	return found, locks, nil
}

// readLocks reads locks by ID, without metadata, and with the database's clock. It also returns which of them are corrupt.
func (s *Store) readLocks(ctx context.Context, lockIDs []ID) (byID map[ID]lockDoc, corrupt map[ID]bool, err error) {
	docs, err := mongodb.All[bson.Raw](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(mongodb.In("_id", lockIDs)), project(withoutMetadata(lockRules)), mongodb.WithNow,
	})
	byID, corrupt = make(map[ID]lockDoc, len(docs)), map[ID]bool{}
	for _, raw := range docs {
		var d lockDoc
		if !lockRules.Holds(raw) || mongodb.Unmarshal(raw, &d) != nil {
			corrupt[ownID(raw)] = true
		} else {
			byID[d.ID] = d
		}
	}
	return byID, corrupt, err
}

// dateTime converts a time for a condition. The zero time becomes zero.
func dateTime(t time.Time) bson.DateTime {
	if t.IsZero() {
		return 0
	}
	return bson.NewDateTimeFromTime(t)
}
