package store

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// This file erases what locks, bookings, payments and entries of waiting lists say about a customer. The documents
// themselves say what is left to erase, so what was interrupted is continued by the same calls.

// LocksToEnd returns up to limit ACTIVE locks of a customer that are due, by ID, after a position.
func (s *Store) LocksToEnd(ctx context.Context, c Customer, after ID, limit int) ([]DueLock, error) {
	docs, err := mongodb.All[lockDoc](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("userId", c.ID), mongodb.Is("status", string(holdfast.LockActive)), due, c.own(), lockSchema, behind(after)),
		mongodb.Sort("_id"), mongodb.Limit(limit), mongodb.Only("eventId"),
	})
	return all(docs, func(d lockDoc) DueLock { return DueLock{ID: d.ID, EventID: d.EventID} }), mongodb.Translate(err)
}

// BookingsToEnd reads up to limit open bookings of a customer after a position, by ID, and returns those that are due. last is
// the position of the next page. It is zero after the last page. isLive says that another of them is not due.
func (s *Store) BookingsToEnd(ctx context.Context, c Customer, after ID, limit int) (due []DueBooking, last ID, isLive bool, err error) {
	docs, err := mongodb.All[bookingDoc](ctx, s.bookings(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("userId", c.ID), mongodb.In("status", openStatuses), c.own(), bookingSchema, behind(after)),
		mongodb.Sort("_id"), mongodb.Limit(limit), dueFields, mongodb.WithNow,
	})
	if err != nil || len(docs) == 0 {
		return nil, ID{}, false, mongodb.Translate(err)
	}
	found, locks, err := s.withLocks(ctx, docs)
	if err != nil {
		return nil, ID{}, false, err
	}
	isDue := map[ID]bool{}
	for _, d := range docs {
		isDue[d.ID] = d.isDue(locks)
		isLive = isLive || !isDue[d.ID]
	}
	for _, b := range found {
		if isDue[b.Booking] {
			due = append(due, b)
		}
	}
	if len(docs) == limit {
		last = docs[limit-1].ID
	}
	return due, last, isLive, nil
}

var openStatuses = []holdfast.BookingStatus{holdfast.BookingInitiated, holdfast.BookingPending}

// isDue reports whether an open booking is due: its payment window has passed, or its lock is not live. The document was read
// with the database's clock.
func (d bookingDoc) isDue(locks map[ID]lockDoc) bool {
	lock, exists := locks[d.LockID]
	return !exists || d.booking().WindowPassed(d.Now.Time) || lock.lock().Ended(d.Now.Time) != nil
}

// HoldsLock reports whether a customer has an ACTIVE lock that is not due.
func (s *Store) HoldsLock(ctx context.Context, c Customer) (bool, error) {
	_, found, err := mongodb.First[lockDoc](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("userId", c.ID), mongodb.Is("status", string(holdfast.LockActive)), notDue, c.own(), lockSchema),
		mongodb.Only("eventId"),
	})
	return found, mongodb.Translate(err)
}

// EraseLocks erases the customer in its locks, batch by batch, and returns the number of locks that it has changed. It leaves
// locks that are live.
func (s *Store) EraseLocks(ctx context.Context, c Customer, batch int) (int, error) {
	hasEnded := bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: "status", Value: bson.D{{Key: "$ne", Value: string(holdfast.LockActive)}}}}, due,
	}}}
	filter := mongodb.And(mongodb.Is("userId", c.ID), c.toErase(keyField, hashField), hasEnded)
	return s.erase(ctx, s.locks(), filter, batch, func(ctx context.Context, filter bson.D) (int, error) {
		docs, err := allValid[lockDoc](ctx, s.locks(), &lockRules, mongodb.Match(filter), project(withoutMetadata(lockRules)), mongodb.WithNow)
		records, lockIDs := recordsByEvent{}, make([]ID, 0, len(docs))
		for _, d := range docs {
			lock := d.lock()
			lock.Key, lock.RequestHash, lock.Holder, lock.Metadata = "", "", c.erased(), nil
			records.add(d.EventID, d.Now, holdfast.Change{
				Type: holdfast.ChangeLockChanged, Revision: d.Internal.Rev + 1, Origin: holdfast.OriginOf(ctx), Lock: &lock,
			})
			lockIDs = append(lockIDs, d.ID)
		}
		if err != nil || len(docs) == 0 {
			return 0, err
		}
		if err := s.update(ctx, locksName, []bson.D{statement(mongodb.In("_id", lockIDs), c.erasure(keyField, hashField))},
			len(docs)); err != nil {
			return 0, err
		}
		return len(docs), s.insertChanges(ctx, records)
	})
}

// EraseBookings erases the customer in its bookings, as EraseLocks does in its locks.
func (s *Store) EraseBookings(ctx context.Context, c Customer, batch int) (int, error) {
	filter := mongodb.And(mongodb.Is("userId", c.ID), c.toErase())
	return s.erase(ctx, s.bookings(), filter, batch, func(ctx context.Context, filter bson.D) (int, error) {
		docs, err := allValid[bookingDoc](ctx, s.bookings(), &bookingRules,
			mongodb.Match(filter), project(withoutMetadata(bookingRules)), mongodb.WithNow)
		if err != nil {
			return 0, err
		}
		isOver := func(d bookingDoc) bool { return !d.Status.IsOpen() }
		_, locks, err := s.withLocks(ctx, slices.DeleteFunc(slices.Clone(docs), isOver))
		records, bookingIDs := recordsByEvent{}, make([]ID, 0, len(docs))
		for _, d := range docs {
			if !isOver(d) && !d.isDue(locks) {
				continue
			}
			b := d.booking()
			b.Holder, b.Metadata, b.UpdatedAt, b.Revision = c.erased(), nil, d.Now.Time, b.Revision+1
			records.add(b.EventID, d.Now, holdfast.Change{
				Type: holdfast.ChangeBookingChanged, Revision: b.Revision, Origin: holdfast.OriginOf(ctx), Booking: &b,
			})
			bookingIDs = append(bookingIDs, d.ID)
		}
		if err != nil || len(bookingIDs) == 0 {
			return 0, err
		}
		update := append(c.erasure(), bson.E{Key: "$max", Value: bson.D{{Key: "updatedAt", Value: docs[0].Now.Time}}})
		if err := s.update(ctx, bookingsName, []bson.D{statement(mongodb.In("_id", bookingIDs), update)}, len(bookingIDs)); err != nil {
			return 0, err
		}
		return len(bookingIDs), s.insertChanges(ctx, records)
	})
}

// ErasePayments erases a holder in its payments, and returns their number. There are no records of it: what a payment says
// of its money stays.
func (s *Store) ErasePayments(ctx context.Context, c Customer, batch int) (int, error) {
	if c.Holder == "" {
		return 0, nil
	}
	filter := mongodb.And(c.own(), paymentSchema)
	return s.erase(ctx, s.payments(), filter, batch, func(ctx context.Context, filter bson.D) (int, error) {
		result, err := s.payments().UpdateMany(ctx, filter, c.erasure())
		if err != nil {
			return 0, err
		}
		return int(result.ModifiedCount), nil
	})
}

// HoldsEntry reports whether a customer has an entry that waits, or has an offer.
func (s *Store) HoldsEntry(ctx context.Context, c Customer) (bool, error) {
	open, err := s.listedEntries(ctx, withoutMetadata(entryRules), mongodb.Is("userId", c.ID), mongodb.In("status", openEntries), c.own())
	return slices.ContainsFunc(open, listedEntry.isOpen), mongodb.Translate(err)
}

// EraseEntries erases the customer in its entries of waiting lists, and returns their number. It leaves those that are open. There are no
// records of it.
func (s *Store) EraseEntries(ctx context.Context, c Customer, batch int) (int, error) {
	filter := mongodb.And(mongodb.Is("userId", c.ID), c.toErase())
	return s.erase(ctx, s.entries(), filter, batch, func(ctx context.Context, filter bson.D) (int, error) {
		docs, err := s.listedEntries(ctx, withoutMetadata(entryRules), filter)
		var over []ID
		for _, d := range docs {
			if !d.isOpen() {
				over = append(over, d.Doc.ID)
			}
		}
		if err != nil || len(over) == 0 {
			return 0, err
		}
		return len(over), s.update(ctx, entriesName, []bson.D{statement(mongodb.In("_id", over), c.erasure())}, len(over))
	})
}

// erase changes the documents that match a filter in batches, each in a transaction. change gets the filter of a batch, and
// returns the number of documents that it has changed.
func (s *Store) erase(
	ctx context.Context, in *mongo.Collection, filter bson.D, batch int, change func(context.Context, bson.D) (int, error),
) (changed int, err error) {
	id := func(doc bson.Raw) ID { return mongodb.IDOf(doc, "_id") }
	err = mongodb.Each(ctx, in, filter, bson.D{{Key: "_id", Value: 1}}, nil, batch, id, func(ids []ID) error {
		n, err := mongodb.InTx(ctx, s.db, func(ctx context.Context) (int, error) {
			return change(ctx, mongodb.And(mongodb.In("_id", ids), filter))
		})
		changed += n
		return err
	})
	return changed, mongodb.Translate(err)
}

// toErase matches the customer's documents, among those with its ID, that still say something about it: by fields of a user.
func (c Customer) toErase(fields ...string) bson.D {
	if c.Holder != "" {
		return c.own()
	}
	said := bson.A{}
	for _, field := range append(fields, shopMetadata) {
		said = append(said, bson.D{{Key: field, Value: bson.D{{Key: "$exists", Value: true}}}})
	}
	return mongodb.And(c.own(), mongodb.Is("$or", said))
}

// erasure is the update of a document of the customer, which also removes fields.
func (c Customer) erasure(fields ...string) bson.D {
	unset := bson.D{}
	for _, field := range append(fields, shopMetadata) {
		unset = append(unset, bson.E{Key: field, Value: ""})
	}
	update := bson.D{raiseRevision, {Key: "$unset", Value: unset}}
	if c.Holder != "" {
		update = append(update, bson.E{Key: "$set", Value: bson.D{{Key: holderField, Value: c.erased()}}})
	}
	return update
}

// erased is the holder after the erasure; "" for a user.
func (c Customer) erased() string {
	if c.Holder == "" {
		return ""
	}
	return holdfast.ErasedHolder(c.ID)
}

// recordsByEvent are the records of a transaction that writes no event.
type recordsByEvent []*changes.Record

func (r *recordsByEvent) add(eventID ID, now mongodb.DatabaseNow, change holdfast.Change) {
	for _, record := range *r {
		if record.EventID == eventID {
			record.Add(&change)
			return
		}
	}
	record := &changes.Record{EventID: eventID, At: now.Time}
	record.Add(&change)
	*r = append(*r, record)
}
