package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

const (
	// ErrStale says that a guard of the plan did not match, or that MongoDB rejected an event whose guard was to be checked
	// after the write. Nothing was written; the commands have to be decided again.
	ErrStale = mongodb.AbortError("what the plan was decided on has changed")
	// ErrClock says that a guard by the database's clock did not hold: the decision has to know the time. Nothing
	// was written.
	ErrClock = mongodb.AbortError("the plan was decided for another time")
	// ErrKeyInUse says that a new lock has an idempotency key that is in use. Nothing was written.
	ErrKeyInUse = mongodb.AbortError("an idempotency key is in use")
	// ErrSeatTaken says that a seat of a new lock is in another lock that takes seats, although the map of
	// the event has it as free: the unique index of seats has refused the lock. Nothing was written.
	ErrSeatTaken = mongodb.AbortError("a seat is in another lock")
)

// EventPlan is a plan for an event.
type EventPlan struct {
	EventID ID
	inventory.Plan

	// Writer is the process. The event notes it, if IsContended or if the transaction meets a conflict.
	Writer      int32
	IsContended bool
	// IsExpected: the guard of the event is likely to hold. It may then be checked after the event's write, which costs less. A
	// write that is undone holds up other processes meanwhile.
	IsExpected bool
	// Origin says who gave a command, by its index; nil: it is not known.
	Origin func(command int) holdfast.Origin
}

// Applied is the event after a plan was applied, if the plan writes it.
type Applied struct {
	Event *inventory.Event
	Now   time.Time     // the database's clock, as the event was written
	Took  time.Duration // by the last attempt of the transaction
	// Contended: a former attempt of the transaction met a conflict.
	Contended bool
	// Writers are the processes of the event's last changes, the last one last, as far as they were noted.
	Writers []int32
}

// Apply writes the plans of one or several events in one transaction, or joins the
// caller's. It calls beforeCommit when everything is written; an error of beforeCommit ends
// the transaction.
//
// With ErrStale, ErrClock, ErrKeyInUse or ErrSeatTaken nothing was written. For other errors see mongodb.InTx.
func (s *Store) Apply(ctx context.Context, plans []EventPlan, beforeCommit func() error) ([]Applied, error) {
	attempts := 0
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) ([]Applied, error) {
		// After a conflict an event that is not written may have changed: it is read again. Of several events one is
		// in conflict, and the others don't wait for it.
		if attempts++; attempts > 1 && (len(plans) > 1 || reliesOnUnwrittenEvent(plans)) {
			return nil, ErrStale
		}
		began := s.db.Clock()()
		applied := make([]Applied, len(plans))
		contended := attempts > 1
		if contended {
			plans = slices.Clone(plans)
			for i := range plans {
				plans[i].IsContended, plans[i].IsExpected = true, false
			}
		}
		written, err := s.writeEvents(ctx, plans)
		if err != nil {
			return nil, err
		}
		for i, p := range plans {
			if p.Event == nil {
				continue
			}
			doc := written[p.EventID]
			after := doc.inventory(s.shared())
			applied[i].Event, applied[i].Now, applied[i].Writers = &after, doc.UpdatedAt.Time, doc.Internal.Writers
			if !p.InTime(applied[i].Now) {
				return nil, ErrClock
			}
			if !wasValid(after, *p.Event) {
				return nil, ErrStale
			}
		}
		recorded := startRecords(plans, applied)
		defer recorded() // nothing reads the plans after an attempt
		for _, write := range []func(context.Context, []EventPlan, []Applied) error{
			s.checkSales, s.writeLocks, s.insertLocks, s.writeBookings, s.insertBookings, s.writePayments,
		} {
			if err := write(ctx, plans, applied); err != nil {
				return nil, err
			}
		}
		if err := s.insertChanges(ctx, recorded()); err != nil {
			return nil, err
		}
		if err := beforeCommit(); err != nil {
			return nil, err
		}
		for i := range applied {
			applied[i].Contended = contended
			applied[i].Took = s.db.Clock().Since(began)
		}
		return applied, nil
	})
}

// Hold writes an event in the caller's transaction: it raises the revision and removes the
// seal. Until the transaction ends, no other one can change the event.
func (s *Store) Hold(ctx context.Context, eventID ID) error {
	_, err := s.events().UpdateOne(ctx, mongodb.Is("_id", eventID), bson.D{raiseRevision(s.shared()), unseal})
	return rejectedEvent(err)
}

// HoldSeats is Hold for an event whose map is all that a decision needs: the write returns it, with the database's
// clock, which saves a read. exists is false if there is no such event.
func (s *Store) HoldSeats(ctx context.Context, eventID ID) (state inventory.State, exists bool, err error) {
	update := bson.D{raiseRevision(s.shared()), unseal, {Key: "$currentDate", Value: bson.D{{Key: heldAt, Value: true}}}}
	doc, err := s.events().FindOneAndUpdate(ctx, mongodb.Is("_id", eventID), update,
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return inventory.State{}, false, nil
	}
	if err != nil {
		return inventory.State{}, false, rejectedEvent(err)
	}
	var found loaded
	if err := found.decodeEvent(doc, true, nil); err != nil {
		return inventory.State{}, false, err
	}
	found.Event.Now = found.Event.Internal.HeldAt
	state = found.state(inventory.Needs{Seats: true}, s.shared())
	state.Seats, err = s.seatsOf(ctx, *state.Event, found.Seats, Known{})
	return state, true, err
}

// RejectedEventError says that the event itself can't be changed: MongoDB rejects the write,
// for example because other software left a revision that can't be raised, or the seats of
// the event's locks can't be added up. Nothing was written.
type RejectedEventError struct{ cause error }

func (e RejectedEventError) Error() string { return "the event can't be changed: " + e.cause.Error() }

// Unwrap returns the driver's error.
func (e RejectedEventError) Unwrap() error { return e.cause }

func rejectedEvent(err error) error {
	if mongodb.RejectedForDocument(err) {
		return RejectedEventError{err}
	}
	return err
}

// reliesOnUnwrittenEvent reports whether a plan relies on an event that it does not write
// and so does not guard: on the event not being cancelled.
func reliesOnUnwrittenEvent(plans []EventPlan) bool {
	return slices.ContainsFunc(plans, func(p EventPlan) bool { return p.Event == nil })
}

// checkSales returns ErrStale if a plan ends a due lock that is sold. The plan was decided on an
// earlier read, and other software may have confirmed a booking since. A plan of a transaction
// that holds the event has read that in the transaction.
func (s *Store) checkSales(ctx context.Context, plans []EventPlan, _ []Applied) error {
	var ended, eventIDs []ID
	for _, p := range plans {
		eventIDs = append(eventIDs, p.EventID)
		for _, w := range p.Locks {
			if w.To == holdfast.LockExpired && w.Guard != inventory.AnyRevision {
				ended = append(ended, w.ID)
			}
		}
	}
	if len(ended) == 0 {
		return nil
	}
	found, err := mongodb.All[soldDoc](ctx, s.bookings(), salesOf(ended, s.named(eventIDs...)))
	sold := countByLock(found)
	if err == nil && slices.ContainsFunc(ended, func(id ID) bool { return sold[id] > 0 }) {
		err = ErrStale
	}
	return err
}

// writeLocks changes locks by one command. Equal changes that check no revision share a
// statement, but for locks of which MongoDB has refused one. Its error may be a RejectedLocksError.
//
// Locks that give seats up come before locks that take them, and locks that exchange seats with each other
// give theirs up first: the unique index checks each statement.
func (s *Store) writeLocks(ctx context.Context, plans []EventPlan, _ []Applied) error {
	var equal groups[inventory.LockWrite]
	revisions := map[int64]*int64{} // equal ones are one, so that their changes share a statement
	for _, p := range plans {
		for _, w := range p.Locks {
			if n := w.Revision; n != nil && revisions[*n] == nil {
				revisions[*n] = n
			} else if n != nil {
				w.Revision = revisions[*n]
			}
			shared := w
			noRevision := w.Guard == inventory.AnyRevision || w.Guard == inventory.IsDue
			if noRevision && !s.spared.has(p.EventID, w.ID) {
				shared.ID = ID{}
			}
			if !s.db.Sharded() {
				shared.EventID = ID{}
			}
			equal.add(shared, w.ID)
		}
	}
	given, extra := givenUp(&equal)
	statements := slices.Concat(given, equal.statements(lockGuard, func(w inventory.LockWrite) bson.D {
		return lockUpdate(w, s.shared())
	}))
	err := s.update(ctx, locksName, statements, equal.count+extra)
	if mongodb.IsDuplicate(err, seatIndex.Keys) {
		return fmt.Errorf("%w: %w", ErrSeatTaken, err)
	}
	var rejected mongo.WriteException
	if mongodb.RejectedForDocument(err) && errors.As(err, &rejected) && len(rejected.WriteErrors) > 0 {
		if n := rejected.WriteErrors[0].Index - len(given); n >= 0 {
			err = RejectedLocksError{equal.ids[equal.order[n]], err}
		}
	}
	return err
}

// givenUp puts the locks that take other seats at the end. If there are several, it returns a statement that
// makes them give up those that they have, and the number of them.
func givenUp(equal *groups[inventory.LockWrite]) (statements []bson.D, count int) {
	takes := func(w inventory.LockWrite) bool {
		return w.Seats != nil && slices.Contains(holdfast.TakingStatuses(), w.To)
	}
	if !slices.ContainsFunc(equal.order, takes) {
		return nil, 0
	}
	slices.SortStableFunc(equal.order, func(a, b inventory.LockWrite) int {
		return bitOf(takes(a)) - bitOf(takes(b))
	})
	var taking, eventIDs []ID
	for _, w := range equal.order {
		if takes(w) {
			taking, eventIDs = append(taking, equal.ids[w]...), append(eventIDs, w.EventID)
		}
	}
	if len(taking) < 2 { //nolint:mnd // one lock exchanges no seats with another
		return nil, 0
	}
	which := mongodb.And(mongodb.In("_id", taking), ofEvents(known(eventIDs...)))
	return []bson.D{statement(which, bson.D{{Key: "$unset", Value: bson.D{{Key: seatIDsField, Value: ""}}}})}, len(taking)
}

func bitOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// groups are writes that differ only in the IDs of their documents.
type groups[W comparable] struct {
	ids   map[W][]ID
	order []W
	count int
}

func (g *groups[W]) add(shared W, id ID) {
	if g.ids == nil {
		g.ids = map[W][]ID{}
	}
	if _, known := g.ids[shared]; !known {
		g.order = append(g.order, shared)
	}
	g.ids[shared] = append(g.ids[shared], id)
	g.count++
}

func (g *groups[W]) statements(guard func([]ID, W) bson.D, update func(W) bson.D) []bson.D {
	list := make([]bson.D, 0, len(g.order))
	for _, w := range g.order {
		list = append(list, statement(guard(g.ids[w], w), update(w)))
	}
	return list
}

// statement names its documents by their IDs.
func statement(filter, update bson.D) bson.D {
	return bson.D{{Key: "q", Value: filter}, {Key: "u", Value: update}, {Key: "multi", Value: true}, {Key: "hint", Value: mongodb.ByID}}
}

// update runs the statements by one command. It returns ErrStale if they match fewer
// documents than they name.
func (s *Store) update(ctx context.Context, collection string, statements []bson.D, named int) error {
	if len(statements) == 0 {
		return nil
	}
	var answer struct {
		N int `bson:"n"`
	}
	err := s.db.RunCommand(ctx, bson.D{{Key: "update", Value: collection}, {Key: "updates", Value: statements}}).Decode(&answer)
	if err == nil && answer.N != named {
		err = ErrStale
	}
	return err
}

func (s *Store) insertLocks(ctx context.Context, plans []EventPlan, applied []Applied) error {
	locks := newLocks{shared: s.shared()}
	for i, p := range plans {
		locks.reserve(len(p.Acquired))
		for j := range p.Acquired {
			lock := p.AcquiredAt(j, applied[i].Now)
			locks.add(&lock)
		}
	}
	if locks.n == 0 {
		return nil
	}
	err := s.db.InsertArray(ctx, locksName, locks.array())
	if mongodb.IsDuplicate(err, mongodb.ByID, lockKey.Keys) {
		err = fmt.Errorf("%w: %w", ErrKeyInUse, err)
	}
	if mongodb.IsDuplicate(err, seatIndex.Keys) {
		err = fmt.Errorf("%w: %w", ErrSeatTaken, err)
	}
	return err
}

// writeBookings changes bookings by one command.
func (s *Store) writeBookings(ctx context.Context, plans []EventPlan, _ []Applied) error {
	var equal groups[inventory.BookingWrite]
	for _, p := range plans {
		for _, w := range p.Bookings {
			shared := w
			shared.ID = ID{}
			if !s.db.Sharded() {
				shared.EventID = ID{}
			}
			equal.add(shared, w.ID)
		}
	}
	return s.update(ctx, bookingsName, equal.statements(bookingGuard, bookingUpdate), equal.count)
}

func (s *Store) insertBookings(ctx context.Context, plans []EventPlan, _ []Applied) error {
	var docs []bson.D
	for _, p := range plans {
		for _, b := range p.NewBookings {
			docs = append(docs, newBookingDoc(b))
		}
	}
	if len(docs) == 0 {
		return nil
	}
	return s.db.Insert(ctx, bookingsName, docs)
}
