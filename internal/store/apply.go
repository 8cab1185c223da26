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
	// ErrStale says that a guard of the plan did not match, or that MongoDB rejected an event whose guard was to be
	// checked after the write. Nothing was written; the commands have to be decided again.
	ErrStale = mongodb.AbortError("what the plan was decided on has changed")
	// ErrClock says that a guard by the database's clock did not match: the decision has to know the time. Nothing
	// was written.
	ErrClock = mongodb.AbortError("the plan was decided for another time")
	// ErrKeyInUse says that a new lock has an idempotency key that is in use. Nothing was written.
	ErrKeyInUse = mongodb.AbortError("an idempotency key is in use")
	// ErrSeatTaken says that a seat of a new lock is in another lock that takes seats, although the event's map
	// shows it as free: the unique index of seats has refused the lock. Nothing was written.
	ErrSeatTaken = mongodb.AbortError("a seat is in another lock")
)

// UsedKey returns the key of an ErrKeyInUse. found is false if the index of another field has refused the lock.
func UsedKey(err error) (key inventory.UserKey, found bool) {
	value := mongodb.DuplicateValue(err)
	text, found := value.Lookup("idempotencyKey").StringValueOK()
	return inventory.UserKey{User: mongodb.IDOf(value, "userId"), Key: text}, found
}

// TakenSeat returns the seat of an ErrSeatTaken.
func TakenSeat(err error) (seatID string, found bool) {
	return mongodb.DuplicateValue(err).Lookup(seatIDsField).StringValueOK()
}

// EventPlan is a plan for one event.
type EventPlan struct {
	EventID ID
	inventory.Plan

	// Writer identifies the process. The event notes it if IsContended is set, or if the transaction meets a
	// conflict.
	Writer      int32
	IsContended bool
	// IsExpected says that the guard of the event is likely to match. It may then be checked after the write of the
	// event, which costs less. If it does not match, the write is undone, and holds up other processes until then.
	IsExpected bool
	// Origins are the origins of the commands, in their order. Tests may leave them empty.
	Origins []holdfast.Origin
}

// Applied is the event after a plan was applied, if the plan writes it.
type Applied struct {
	Event *inventory.Event
	Now   time.Time     // the database's clock when the event was written
	Took  time.Duration // by the last attempt of the transaction
	// Contended says that an earlier attempt of the transaction met a conflict.
	Contended bool
	// Writers are the processes of the event's last changes, the latest one last, as far as the event notes them.
	Writers []int32
}

// Apply writes the plans of one or several events in one transaction, or joins the
// caller's. It calls beforeCommit when everything is written; an error of beforeCommit ends
// the transaction.
//
// With ErrStale, ErrClock, ErrKeyInUse or ErrSeatTaken nothing was written. For other errors see mongodb.InTx.
func (s *Store) Apply(ctx context.Context, o mongodb.TxOptions, plans []EventPlan, beforeCommit func() error) ([]Applied, error) {
	attempts := 0
	return mongodb.InTxWith(ctx, s.db, o, func(ctx context.Context) ([]Applied, error) {
		// After a conflict, an event that the plan does not write may have changed, so it has to be read again. If
		// there are several events, only one of them is in conflict, and the others should not wait for it.
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
			after := doc.inventory()
			applied[i].Event, applied[i].Now, applied[i].Writers = &after, doc.UpdatedAt, doc.Internal.Writers
			if !p.InTime(applied[i].Now) {
				return nil, ErrClock
			}
			if !wasValid(after, *p.Event) {
				return nil, ErrStale
			}
		}
		recorded := startRecords(plans, applied)
		defer recorded() // the plans must not be read by a goroutine after the attempt
		for _, write := range []func(context.Context, []EventPlan, []Applied) error{
			s.writeLocks, s.insertLocks, s.writeBookings, s.insertBookings, s.writePayments,
			s.insertEntries, s.writeEntries,
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

// touch is an update of an event that changes no visible field. Of several transactions that write an event at the
// same time, one commits.
var touch = bson.E{Key: "$inc", Value: bson.D{{Key: fence, Value: int64(1)}}}

// Hold writes an event in the caller's transaction. No other transaction can change the event until this one ends.
// The revision stays, so cached events of other processes stay valid.
func (s *Store) Hold(ctx context.Context, eventID ID) error {
	_, err := s.events().UpdateOne(ctx, mongodb.Is("_id", eventID), bson.D{touch})
	return rejectedEvent(err)
}

// HoldSeats is Hold for a decision that needs nothing but the event's map: the write returns the event with its map
// and the database's clock, which saves a read. exists is false if the event does not exist.
func (s *Store) HoldSeats(ctx context.Context, eventID ID) (state inventory.State, exists bool, err error) {
	update := bson.D{touch, {Key: "$currentDate", Value: bson.D{{Key: heldAt, Value: true}}}}
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
	found.Event.Now.Time = found.Event.Internal.HeldAt
	state = found.state(inventory.Needs{Seats: true})
	state.Seats, err = s.seatsOf(ctx, *state.Event, found.Seats, Known{})
	return state, true, err
}

// ErrUnusable says that commands can't change the event until an operator corrects it: the event is corrupt, or its
// seating plan or its map can't be read. It is the cause of a refusal with CodeUnavailable. Nothing was written.
const ErrUnusable = mongodb.AbortError("the event can't be changed until it is corrected")

func unusable(message string, cause error) error {
	return holdfast.Refuse(holdfast.CodeUnavailable, "%s", message).By(fmt.Errorf("%w: %w", ErrUnusable, cause))
}

func corruptEvent(cause error) error {
	return unusable("The event can't be read; an operator has to correct it.", cause)
}

// rejectedEvent translates the error of a write of the event. MongoDB refuses to change a corrupt event.
func rejectedEvent(err error) error {
	if mongodb.RejectedForDocument(err) {
		return corruptEvent(fmt.Errorf("%w: %w", mongodb.ErrCorrupt, err))
	}
	return err
}

// reliesOnUnwrittenEvent reports whether a plan relies on an event that it does not write and so does not guard: it
// relies on the event not being cancelled.
func reliesOnUnwrittenEvent(plans []EventPlan) bool {
	return slices.ContainsFunc(plans, func(p EventPlan) bool { return p.Event == nil })
}

// writeLocks changes locks by one command. Equal changes share a statement.
// The unique index checks each statement. So locks that release seats come before locks that take them, and locks
// that exchange seats with each other first release theirs.
func (s *Store) writeLocks(ctx context.Context, plans []EventPlan, _ []Applied) error {
	var equal groups[inventory.LockWrite]
	for _, p := range plans {
		for _, w := range p.Locks {
			same := w
			if w.Guard == inventory.AnyRevision || w.Guard == inventory.IsDue {
				same.ID = ID{}
			}
			equal.add(same, w.ID)
		}
	}
	given, extra := givenUp(&equal)
	statements := append(given, equal.statements(lockGuard, lockUpdate)...)
	err := s.update(ctx, locksName, statements, equal.count+extra)
	if mongodb.IsDuplicate(err, seatIndex.Keys) {
		return fmt.Errorf("%w: %w", ErrSeatTaken, err)
	}
	return err
}

// givenUp moves the locks that take other seats to the end. If there are several, it returns a statement that
// removes their present seats, and the number of these locks.
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

// groups collects writes that differ only in the IDs of their documents.
type groups[W comparable] struct {
	ids   map[W][]ID
	order []W
	count int
}

func (g *groups[W]) add(same W, id ID) {
	if g.ids == nil {
		g.ids = map[W][]ID{}
	}
	if _, known := g.ids[same]; !known {
		g.order = append(g.order, same)
	}
	g.ids[same] = append(g.ids[same], id)
	g.count++
}

// groupsOf groups the writes of the plans, except those of a document that changes several times: each of its changes relies on the
// one before.
func groupsOf[W comparable](plans []EventPlan, writes func(EventPlan) []W, id func(*W) *ID) (equal groups[W]) {
	times := map[ID]int{}
	for _, p := range plans {
		for _, w := range writes(p) {
			times[*id(&w)]++
		}
	}
	for _, p := range plans {
		for _, w := range writes(p) {
			own := *id(&w)
			if times[own] == 1 {
				*id(&w) = ID{}
			}
			equal.add(w, own)
		}
	}
	return equal
}

func (g *groups[W]) statements(guard func([]ID, W) bson.D, update func(W) bson.D) []bson.D {
	list := make([]bson.D, 0, len(g.order))
	for _, w := range g.order {
		list = append(list, statement(guard(g.ids[w], w), update(w)))
	}
	return list
}

// statement updates documents by their IDs.
func statement(filter, update bson.D) bson.D {
	return bson.D{{Key: "q", Value: filter}, {Key: "u", Value: update}, {Key: "multi", Value: true}, {Key: "hint", Value: mongodb.ByID}}
}

// update runs the statements by one command. It returns ErrStale if a statement matches fewer documents than it
// names.
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
	var locks newDocuments
	for i, p := range plans {
		locks.reserve(len(p.Acquired))
		for j := range p.Acquired {
			if len(locks.items) > maxInserted {
				if err := s.insertArray(ctx, locksName, &locks); err != nil {
					return err
				}
				locks.reserve(len(p.Acquired) - j)
			}
			lock := p.AcquiredAt(j, applied[i].Now)
			locks.addLock(&lock)
		}
	}
	return s.insertArray(ctx, locksName, &locks)
}

// insertArray inserts the documents and empties the array.
func (s *Store) insertArray(ctx context.Context, collection string, docs *newDocuments) error {
	if docs.n == 0 {
		return nil
	}
	err := s.db.InsertArray(ctx, collection, docs.array())
	*docs = newDocuments{}
	if mongodb.IsDuplicate(err, mongodb.ByID, lockKey.Keys) {
		err = fmt.Errorf("%w: %w", ErrKeyInUse, err)
	}
	if mongodb.IsDuplicate(err, seatIndex.Keys) {
		err = fmt.Errorf("%w: %w", ErrSeatTaken, err)
	}
	return err
}

// writeBookings changes bookings by one command. Equal changes without lists share a statement.
func (s *Store) writeBookings(ctx context.Context, plans []EventPlan, _ []Applied) error {
	equal := groupsOf(plans, func(p EventPlan) []inventory.BookingWrite { return p.Bookings },
		func(w *inventory.BookingWrite) *ID { return &w.ID })
	return s.update(ctx, bookingsName, equal.statements(bookingGuard, bookingUpdate), equal.count)
}

func (s *Store) insertBookings(ctx context.Context, plans []EventPlan, applied []Applied) error {
	var docs newDocuments
	for i, p := range plans {
		docs.reserve(len(p.NewBookings))
		for j := range p.NewBookings {
			if len(docs.items) > maxInserted {
				if err := s.insertArray(ctx, bookingsName, &docs); err != nil {
					return err
				}
				docs.reserve(len(p.NewBookings) - j)
			}
			b := p.BookedAt(j, applied[i].Now)
			docs.addBooking(&b)
		}
	}
	return s.insertArray(ctx, bookingsName, &docs)
}
