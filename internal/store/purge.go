package store

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// purgeable are the statuses of locks that have ended and take no seats. CONSUMED locks are sold and stay.
var purgeable = []holdfast.LockStatus{holdfast.LockExpired, holdfast.LockReleased}

// The age of an ended lock counts from its last change or, if it has no date of change, from its expiry.
const (
	byChange = "updatedAt"
	byExpiry = "expiresAt"
)

// EachPurgeable calls handle with the IDs of the locks that became EXPIRED or RELEASED before a time, in batches. It
// passes each ID once, even if the lock is not removed.
func (s *Store) EachPurgeable(ctx context.Context, before time.Time, batch int, handle func(context.Context, []ID) error) error {
	for _, status := range purgeable {
		for _, age := range []string{byChange, byExpiry} {
			if err := s.walkEnded(ctx, status, age, before, batch, handle); err != nil {
				return err
			}
		}
	}
	return nil
}

// endedDoc is the position of a lock in the order of the walk.
type endedDoc struct {
	ID        ID        `bson:"_id"`
	UpdatedAt time.Time `bson:"updatedAt"`
	ExpiresAt time.Time `bson:"expiresAt"`
}

func (s *Store) walkEnded(
	ctx context.Context, status holdfast.LockStatus, age string, before time.Time, batch int,
	handle func(context.Context, []ID) error,
) error {
	old := mongodb.And(isDate(age), bson.D{{Key: age, Value: bson.D{{Key: "$lte", Value: before}}}}, isDate(byExpiry))
	if age == byExpiry {
		old = mongodb.And(old, mongodb.Is(byChange, nil))
	}
	var behind bson.D
	for {
		docs, err := mongodb.All[endedDoc](ctx, s.locks(), mongo.Pipeline{
			mongodb.Match(mongodb.Is("status", string(status)), old, behind, lockSchema),
			mongodb.Sort(byChange, byExpiry, "_id"), mongodb.Limit(batch), mongodb.Only(byChange, byExpiry),
		})
		if err != nil || len(docs) == 0 {
			return mongodb.Translate(err)
		}
		found := make([]ID, 0, len(docs))
		for _, d := range docs {
			found = append(found, d.ID)
		}
		if err := handle(ctx, found); err != nil || len(docs) < batch {
			return err
		}
		behind = docs[len(docs)-1].behind(age)
	}
}

// isDate matches a date. The walk continues after a date.
func isDate(field string) bson.D { return mongodb.Is(field, bson.D{{Key: "$type", Value: "date"}}) }

// behind continues the walk after the lock.
func (d endedDoc) behind(age string) bson.D {
	byID := After{At: bson.NewDateTimeFromTime(d.ExpiresAt), ID: d.ID}.filter(byExpiry)
	if age == byExpiry {
		return byID
	}
	return bson.D{
		{Key: byChange, Value: bson.D{{Key: "$gte", Value: d.UpdatedAt}}},
		{Key: "$or", Value: bson.A{
			bson.D{{Key: byChange, Value: bson.D{{Key: "$gt", Value: d.UpdatedAt}}}},
			mongodb.And(mongodb.Is(byChange, d.UpdatedAt), byID),
		}},
	}
}

// Purged counts the removed documents.
type Purged struct{ Locks, Bookings int }

// Purge removes ended locks together with their ended bookings and the entries whose offers they were, in one
// transaction. A lock stays in these cases: it has not ended, or has changed since before; it has a booking that has not
// ended, which an operator has to check; the payment of its booking has to be refunded; or the event may still accept a
// late payment of its booking at now, by the database's clock.
func (s *Store) Purge(ctx context.Context, lockIDs []ID, before, now time.Time) (Purged, error) {
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (Purged, error) {
		bookings, err := s.findBookings(ctx, mongodb.In("seatLockId", lockIDs))
		if err != nil {
			return Purged{}, err
		}
		inUse, err := s.payable(ctx, bookings, now)
		if err != nil {
			return Purged{}, err
		}
		for _, b := range bookings {
			inUse[b.LockID] = inUse[b.LockID] || !b.Status.HasEnded()
		}
		locks := slices.DeleteFunc(slices.Clone(lockIDs), func(id ID) bool { return inUse[id] })
		if len(locks) == 0 {
			return Purged{}, nil
		}
		offers, err := s.offersAmong(ctx, locks)
		if err != nil {
			return Purged{}, err
		}
		isOld := mongodb.Not(byChange, bson.E{Key: "$gt", Value: before}) // its reference may have changed after it was listed
		removedLocks, err := s.locks().DeleteMany(ctx, mongodb.And(mongodb.In("_id", locks), mongodb.In("status", purgeable), isOld))
		if err == nil && int(removedLocks.DeletedCount) < len(locks) {
			err = s.addExisting(ctx, locks, inUse)
		}
		if err != nil {
			return Purged{}, err
		}
		ended := make([]ID, 0, len(bookings))
		for _, b := range bookings {
			if !inUse[b.LockID] {
				ended = append(ended, b.ID)
			}
		}
		removedBookings, err := s.bookings().DeleteMany(ctx, mongodb.In("_id", ended))
		if err == nil {
			err = s.removeEntries(ctx, offers, inUse)
		}
		if err != nil {
			return Purged{}, err
		}
		return Purged{Locks: int(removedLocks.DeletedCount), Bookings: int(removedBookings.DeletedCount)}, nil
	})
}

// offersAmong returns the entries whose offers some locks are, by lock.
func (s *Store) offersAmong(ctx context.Context, lockIDs []ID) (entries map[ID]ID, err error) {
	isOffer := mongodb.Is(entryField, bson.D{{Key: "$exists", Value: true}})
	docs, err := mongodb.All[struct {
		ID      ID `bson:"_id"`
		EntryID ID `bson:"waitlistEntryId"`
	}](ctx, s.locks(), mongo.Pipeline{mongodb.Match(mongodb.In("_id", lockIDs), isOffer), mongodb.Only(entryField)})
	entries = make(map[ID]ID, len(docs))
	for _, d := range docs {
		entries[d.ID] = d.EntryID
	}
	return entries, err
}

// removeEntries removes the entries whose offers were locks that are not in use.
func (s *Store) removeEntries(ctx context.Context, offers map[ID]ID, inUse map[ID]bool) error {
	var locks, found []ID
	for lock, entry := range offers {
		if !inUse[lock] {
			locks, found = append(locks, lock), append(found, entry)
		}
	}
	if len(found) == 0 {
		return nil
	}
	_, err := s.entries().DeleteMany(ctx, mongodb.And(mongodb.In("_id", found), mongodb.In("lockId", locks)))
	return err
}

// purgeableEntries are the statuses in which an entry may have ended without an offer.
var purgeableEntries = []holdfast.EntryStatus{holdfast.EntryLeft, holdfast.EntryClosed}

// PurgeEntries removes entries that ended before a time without an offer, in batches, and returns their number. Others are removed with
// the locks that were their offers.
func (s *Store) PurgeEntries(ctx context.Context, before time.Time, batch int) (removed int, err error) {
	for _, status := range purgeableEntries {
		old := mongodb.And(mongodb.Is("status", string(status)), isDate(byChange), mongodb.Is("lockId", nil),
			mongodb.Is(byChange, bson.D{{Key: "$lte", Value: before}}))
		for isLast := false; !isLast; {
			docs, err := mongodb.All[entryDoc](ctx, s.entries(), mongo.Pipeline{
				mongodb.Match(old), mongodb.Match(entrySchema), mongodb.Sort(byChange, "_id"), mongodb.Limit(batch), mongodb.Only("_id"),
			})
			if err != nil {
				return removed, mongodb.Translate(err)
			}
			n, err := mongodb.InTx(ctx, s.db, func(ctx context.Context) (int, error) {
				ids := all(docs, func(d entryDoc) ID { return d.ID })
				result, err := s.entries().DeleteMany(ctx, mongodb.And(mongodb.In("_id", ids), old))
				if err != nil {
					return 0, err
				}
				return int(result.DeletedCount), nil
			})
			if err != nil {
				return removed, err
			}
			removed, isLast = removed+n, len(docs) < batch || n == 0
		}
	}
	return removed, nil
}

// addExisting adds those of some locks that exist.
func (s *Store) addExisting(ctx context.Context, lockIDs []ID, to map[ID]bool) error {
	existing, err := mongodb.FirstIDs(ctx, s.locks(), mongodb.In("_id", lockIDs), len(lockIDs))
	for _, id := range existing {
		to[id] = true
	}
	return err
}

// payable returns the locks of those bookings whose payment has to be refunded, or that a late payment may still
// confirm.
func (s *Store) payable(ctx context.Context, bookings []holdfast.Booking, now time.Time) (map[ID]bool, error) {
	inUse := map[ID]bool{}
	if len(bookings) == 0 {
		return inUse, nil
	}
	all, events := make([]ID, 0, len(bookings)), make([]ID, 0, len(bookings))
	for _, b := range bookings {
		all, events = append(all, b.ID), append(events, b.EventID)
	}
	due, err := mongodb.All[struct {
		BookingID ID `bson:"bookingId"`
	}](ctx, s.payments(), mongo.Pipeline{
		mongodb.Match(mongodb.In("bookingId", all), refundDue), mongodb.Only("bookingId"),
	})
	if err != nil {
		return nil, err
	}
	hasDue := map[ID]bool{}
	for _, p := range due {
		hasDue[p.BookingID] = true
	}
	found, err := mongodb.All[bson.Raw](ctx, s.events(), mongo.Pipeline{mongodb.Match(mongodb.In("_id", events)), withoutMap})
	if err != nil {
		return nil, err
	}
	late, corrupt := map[ID]time.Duration{}, map[ID]bool{}
	for _, raw := range found {
		var d eventDoc
		if unmarshalEvent(raw, &d) != nil { // it is not known whether it accepts late payments
			corrupt[mongodb.IDOf(raw, "_id")] = true
			continue
		}
		late[d.ID] = d.Late().Window()
	}
	for _, b := range bookings {
		isExpired := b.Status == holdfast.BookingExpired && !b.PaymentExpiresAt.IsZero()
		if hasDue[b.ID] || isExpired && corrupt[b.EventID] || isExpired && now.Before(b.PaymentExpiresAt.Add(late[b.EventID])) {
			inUse[b.LockID] = true
		}
	}
	return inUse, nil
}
