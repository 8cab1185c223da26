package store

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Load reads an event and the other needs of a decision in one snapshot: the one of the
// context's transaction, or of one aggregation that sees all writes acknowledged before. Without a
// transaction the sales of due locks are read after it, if a lock is due. A zero eventID means the
// event of the first booking or lock that is needed.
//
// If a fence is needed, the event is written first: see inventory.State.Fenced.
//
// The map of a seated event, if it is needed, is the remembered one if the event has not changed since. Then
// MongoDB does not send it. If MongoDB's one can't be read, or its plan does not exist, Load fails with
// RejectedEventError.
func (s *Store) Load(ctx context.Context, eventID ID, n inventory.Needs) (inventory.State, error) {
	return s.LoadKnowing(ctx, eventID, n, Known{})
}

// LoadKnowing is Load for a caller that remembers the event.
func (s *Store) LoadKnowing(ctx context.Context, eventID ID, n inventory.Needs, known Known) (inventory.State, error) {
	if n.Union {
		return s.loadUnion(ctx, eventID, n)
	}
	inTx := mongo.SessionFromContext(ctx) != nil
	found := loaded{Known: known}
	var fenced bool
	var err error
	switch {
	case eventID.IsZero() && len(n.Sold) > 0:
		err = s.loadEach(ctx, eventID, n, &found)
	case eventID.IsZero() && len(n.Bookings) == 1:
		err = s.loadByBooking(ctx, n, &found)
		for _, b := range found.Bookings { // its lock was looked up with it, and the lock's sales
			n.Locks, n.Sold = append(n.Locks, b.LockID), append(n.Sold, b.LockID)
		}
	case eventID.IsZero() && len(n.Locks) == 1 && len(n.Bookings) == 0:
		err = s.loadByLock(ctx, n, &found)
	case inTx || eventID.IsZero():
		err = s.loadEach(ctx, eventID, n, &found)
	default:
		fenced, err = s.loadJoined(ctx, eventID, n, &found)
	}
	if err != nil {
		return inventory.State{}, err
	}
	if err := s.loadSales(ctx, eventID, &found); err != nil {
		return inventory.State{}, err
	}
	if err := found.countable(); err != nil {
		return inventory.State{}, err
	}
	state := found.state(n, s.shared())
	state.Fenced = fenced
	if n.Seats && state.Event != nil && len(found.Events) == 0 {
		state.Seats, err = s.seatsOf(ctx, *state.Event, found.Seats, known)
	}
	return state, err
}

// EventsForDecision reads events without their maps. Those that do not exist are left out.
func (s *Store) EventsForDecision(ctx context.Context, eventIDs []ID) ([]inventory.Event, error) {
	docs, err := mongodb.All[eventDoc](ctx, s.snapshot(eventsName), mongo.Pipeline{mongodb.Match(mongodb.In("_id", eventIDs)), withoutMap})
	return all(docs, func(d eventDoc) inventory.Event { return d.inventory(s.shared()) }), err
}

// loadSales reads the sales of due locks, if there are any and they were not read with the locks. Most loads
// find none.
func (s *Store) loadSales(ctx context.Context, eventID ID, found *loaded) error {
	due := found.Holders
	if !found.HasSales {
		due = slices.Concat(found.Due, due)
	}
	if len(due) == 0 {
		return nil
	}
	sold, err := s.salesOfDue(ctx, eventID, due)
	found.DueSold = append(found.DueSold, sold...)
	return err
}

// loadJoined reads everything by one aggregation.
func (s *Store) loadJoined(ctx context.Context, eventID ID, n inventory.Needs, found *loaded) (fenced bool, err error) {
	var exists bool
	if n.Fence {
		fenced, exists, err = s.loadFenced(ctx, eventID, n, found)
	} else {
		exists, err = s.aggregate(ctx, eventID, n, nil, found)
	}
	if err == nil && !exists { // no event: its locks may exist
		return false, s.loadEach(ctx, eventID, n, found)
	}
	return fenced, err
}

// aggregate reads the event and its parts at a time; nil: at the latest that is acknowledged. It
// reads all of them again if locks are due that can't be ended: the others may be more than it read.
func (s *Store) aggregate(ctx context.Context, eventID ID, n inventory.Needs, at *bson.Timestamp, found *loaded) (exists bool, err error) {
	exists, err = s.aggregateParts(ctx, eventID, n.Seats, s.parts(eventID, n, nil), at, found)
	if err == nil && !s.areEndable(found.Due) {
		exists, err = s.aggregateParts(ctx, eventID, n.Seats, s.parts(eventID, n, endable(s.shared())), at, found)
	}
	return exists, err
}

func (s *Store) aggregateParts(
	ctx context.Context, eventID ID, withSeats bool, parts []part, at *bson.Timestamp, found *loaded,
) (exists bool, err error) {
	snapshot := mongodb.Snapshot(ctx)
	if at != nil {
		snapshot = bson.D{{Key: "level", Value: "snapshot"}, {Key: "atClusterTime", Value: *at}}
	}
	pipeline := found.readEvent(eventID, withSeats)
	for _, p := range parts {
		pipeline = append(pipeline, mongodb.Join(p.as, p.collection, p.stages...))
	}
	var answer struct {
		Cursor struct {
			First []bson.Raw `bson:"firstBatch"`
		} `bson:"cursor"`
	}
	err = s.db.RunCommand(ctx, bson.D{
		{Key: "aggregate", Value: eventsName}, {Key: "pipeline", Value: append(pipeline, mongodb.WithNow)},
		{Key: "cursor", Value: bson.D{}}, {Key: "readConcern", Value: snapshot},
	}).Decode(&answer)
	*found = loaded{Known: found.Known}
	if err != nil || len(answer.Cursor.First) == 0 {
		return false, err
	}
	return true, found.decodeEvent(answer.Cursor.First[0], withSeats, parts)
}

// loadEach reads one part after the other: in a transaction, or if there is no event to
// join them to.
func (s *Store) loadEach(ctx context.Context, eventID ID, n inventory.Needs, found *loaded) error {
	var exists bool
	var err error
	if !eventID.IsZero() {
		if exists, err = s.loadWithDue(ctx, eventID, n, found); err != nil {
			return err
		}
	}
	for _, p := range s.parts(eventID, n, nil) {
		if p.as == dueName && found.HasSales {
			continue
		}
		if !exists { // no event gives the time: a document does
			p.stages = append(p.stages, mongodb.WithNow)
		}
		if err := mongodb.AllInto(ctx, s.db.Collection(p.collection), p.stages, p.into(found)); err != nil {
			return err
		}
	}
	if !s.areEndable(found.Due) {
		found.HasSales = false // the others may be other locks
		endable := s.dueOf(eventID, n, endable(s.shared()))
		if found.Due, err = mongodb.All[lockDoc](ctx, s.locks(), endable); err != nil {
			return err
		}
	}
	if !exists && len(found.Locks) > 0 {
		found.Event.Now = found.Locks[0].Now
	} else if !exists && len(found.Bookings) > 0 {
		found.Event.Now = found.Bookings[0].Now
	} else if !exists && len(found.Payments) > 0 {
		found.Event.Now = found.Payments[0].Now
	}
	return nil
}

// loadWithDue reads an event, with the due locks that are needed and their sales: by one command instead of
// three, while the transaction holds the event. On a sharded cluster the due locks are left to the caller,
// because earlier versions of MongoDB refuse a $lookup in a transaction.
func (s *Store) loadWithDue(ctx context.Context, eventID ID, n inventory.Needs, found *loaded) (exists bool, err error) {
	pipeline, parts := found.readEvent(eventID, n.Seats), []part{}
	if found.HasSales = n.NeedsDue() && !s.db.Sharded(); found.HasSales {
		pipeline = append(pipeline, mongodb.Join(dueName, locksName, s.dueOf(eventID, n, nil)...),
			mongodb.JoinBy(salesName, bookingsName, dueName+"._id", "seatLockId", sales...))
		parts = []part{
			{as: dueName, into: func(l *loaded) any { return &l.Due }}, {as: salesName, into: func(l *loaded) any { return &l.DueSold }},
		}
	}
	doc, exists, err := mongodb.First[bson.Raw](ctx, s.events(), append(pipeline, mongodb.WithNow))
	if err != nil || !exists {
		found.HasSales = false
		return false, err
	}
	return true, found.decodeEvent(doc, n.Seats, parts)
}

// loadByLock reads a lock with its event and its live bookings.
func (s *Store) loadByLock(ctx context.Context, n inventory.Needs, found *loaded) error {
	isLive := mongodb.Match(mongodb.In("status", holdfast.LiveStatuses()))
	live := s.joinOfEvent("live", bookingsName, "_id", "seatLockId", "$eventId", isLive)
	if n.Everywhere {
		live = mongodb.JoinBy("live", bookingsName, "_id", "seatLockId", isLive)
	}
	parts := []part{
		{as: "events", into: func(l *loaded) any { return &l.Events }}, {as: "live", into: func(l *loaded) any { return &l.Live }},
	}
	doc, exists, err := mongodb.First[bson.Raw](ctx, s.snapshot(locksName), mongo.Pipeline{
		mongodb.Match(mongodb.Is("_id", n.Locks[0]), ofEvents(s.named(n.Events...))),
		mongodb.JoinBy("events", eventsName, "eventId", "_id"), live, withoutMaps, mongodb.WithNow,
	})
	if err != nil || !exists {
		return err
	}
	var lock lockDoc
	if err := mongodb.Unmarshal(doc, &lock); err != nil {
		return err
	}
	*found = loaded{Event: eventDoc{Now: lock.Now}, Locks: []lockDoc{lock}}
	return found.decodeLists(doc, parts)
}

// loadByBooking reads a booking with its lock, that lock's event and its sales, and payments. Other software may
// name no event, or another one than the lock's: the lock is then looked up by its ID alone.
func (s *Store) loadByBooking(ctx context.Context, n inventory.Needs, found *loaded) error {
	err := s.loadByBookingAnd(ctx, n, s.joinOfEvent("locks", locksName, "seatLockId", "_id", eventOfBooking), found)
	if err == nil && len(found.Bookings) > 0 && len(found.Locks) == 0 && s.db.Sharded() {
		err = s.loadByBookingAnd(ctx, n, mongodb.JoinBy("locks", locksName, "seatLockId", "_id"), found)
	}
	if isPurged := len(found.Bookings) > 0 && len(found.Locks) == 0; err != nil || !isPurged || len(n.Charged) == 0 {
		return err
	}
	event, exists, err := s.readEvent(ctx, found.Bookings[0].booking().EventID) // it says whether late payments are accepted
	if exists {
		found.Events = []eventDoc{event}
	}
	return err
}

func (s *Store) loadByBookingAnd(ctx context.Context, n inventory.Needs, itsLock bson.D, found *loaded) error {
	pipeline := mongo.Pipeline{
		mongodb.Match(mongodb.Is("_id", n.Bookings[0])), itsLock,
		mongodb.JoinBy("events", eventsName, "locks.eventId", "_id"),
		s.joinOfEvent("sold", bookingsName, "seatLockId", "seatLockId", bson.D{{Key: "$first", Value: "$locks.eventId"}}, sales...),
	}
	parts := paymentParts(n)
	for _, p := range parts {
		pipeline = append(pipeline, mongodb.Join(p.as, p.collection, p.stages...))
	}
	doc, exists, err := mongodb.First[bson.Raw](ctx, s.snapshot(bookingsName), append(pipeline, withoutMaps, mongodb.WithNow))
	if err != nil || !exists {
		return err
	}
	var b bookingDoc
	if err := mongodb.Unmarshal(doc, &b); err != nil {
		return err
	}
	*found = loaded{Event: eventDoc{Now: b.Now}, Bookings: []bookingDoc{b}}
	return found.decodeLists(doc, append([]part{
		{as: "locks", into: func(l *loaded) any { return &l.Locks }}, {as: "events", into: func(l *loaded) any { return &l.Events }},
		{as: "sold", into: func(l *loaded) any { return &l.Sold }},
	}, parts...))
}
