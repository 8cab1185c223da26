package store

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Load reads an event and the other needs of a decision by one aggregation, in one snapshot: the snapshot of the
// context's transaction, or one that includes all writes acknowledged before. A zero eventID means the event of the
// first booking or lock that is needed.
// If the map of a seated event is needed, and the event has not changed since it was cached, Load uses the cached
// map, and MongoDB does not send it. If MongoDB's map can't be read, or its plan does not exist, Load fails with
// ErrUnusable, as for a corrupt event.
func (s *Store) Load(ctx context.Context, eventID ID, n inventory.Needs) (inventory.State, error) {
	return s.LoadKnowing(ctx, eventID, n, Known{})
}

// ErrTooLarge says that the needs do not fit into one document of MongoDB. Needs.Apart then reads them in a transaction.
const ErrTooLarge = mongodb.AbortError("the documents are too large to be read together")

// LoadKnowing is Load for a caller that has cached the event.
func (s *Store) LoadKnowing(ctx context.Context, eventID ID, n inventory.Needs, known Known) (inventory.State, error) {
	if n.Union {
		return s.loadUnion(ctx, eventID, n)
	}
	found := loaded{attempt: attempt{Known: known}}
	if known.Event != nil {
		found.Epoch = known.Event.List.Epoch
	}
	var err error
	switch {
	case eventID.IsZero() && len(n.Bookings) == 1:
		if err = s.loadByBooking(ctx, n, &found); err == nil && len(found.Bookings) == 0 && n.NeedsPayments() {
			err = s.loadEach(ctx, eventID, n, &found) // the payments of a booking that does not exist
		}
		for _, b := range found.Bookings { // the lock was read with its booking
			n.Locks = append(n.Locks, b.LockID)
		}
	case eventID.IsZero() && len(n.Locks) == 1 && len(n.Bookings) == 0:
		err = s.loadByLock(ctx, n, &found)
	case eventID.IsZero(), n.Apart:
		err = s.loadEach(ctx, eventID, n, &found)
	default:
		err = s.loadJoined(ctx, eventID, n, &found)
	}
	if err != nil {
		return inventory.State{}, err
	}
	state := found.state(n)
	if n.Seats && state.Event != nil && len(found.Events) == 0 {
		state.Seats, err = s.seatsOf(ctx, *state.Event, found.Seats, known)
	}
	return state, err
}

// EventsForDecision reads events without their maps. It leaves out events that do not exist or are corrupt.
func (s *Store) EventsForDecision(ctx context.Context, eventIDs []ID) ([]inventory.Event, error) {
	docs, err := mongodb.All[bson.Raw](ctx, s.snapshot(eventsName), mongo.Pipeline{
		mongodb.Match(mongodb.In("_id", eventIDs)), withoutMap, mongodb.WithNow,
	})
	events := make([]inventory.Event, 0, len(docs))
	for _, raw := range docs {
		var d eventDoc
		if unmarshalEvent(raw, &d) == nil {
			events = append(events, d.inventory())
		}
	}
	return events, err
}

// maxAttempts bounds the reads of loadJoined and loadEach. A corrupt lock and a corrupt entry need one more each, and so does a waiting
// list that was closed since the event was cached.
const maxAttempts = 5

// loadJoined reads everything by one aggregation.
func (s *Store) loadJoined(ctx context.Context, eventID ID, n inventory.Needs, found *loaded) error {
	for range maxAttempts {
		exists, err := s.aggregate(ctx, eventID, n.Seats, s.parts(eventID, n, found.attempt), found)
		if err == nil && !exists { // without the event, its locks may still exist
			return s.loadEach(ctx, eventID, n, found)
		}
		next, isLast := found.next(n)
		if err != nil || isLast {
			return err
		}
		found.attempt = next
	}
	return ErrStale // the list was closed again and again
}

func (s *Store) aggregate(ctx context.Context, eventID ID, withSeats bool, parts []part, found *loaded) (exists bool, err error) {
	pipeline := found.readEvent(eventID, withSeats)
	for _, p := range parts {
		pipeline = append(pipeline, mongodb.Join(p.as, p.collection, p.stages...))
	}
	var answer struct {
		Cursor struct {
			First []bson.Raw `bson:"firstBatch"`
		} `bson:"cursor"`
	}
	command := bson.D{
		{Key: "aggregate", Value: eventsName}, {Key: "pipeline", Value: append(pipeline, mongodb.WithNow)}, {Key: "cursor", Value: bson.D{}},
	}
	if mongo.SessionFromContext(ctx) == nil { // a transaction has a snapshot of its own
		command = append(command, bson.E{Key: "readConcern", Value: mongodb.Snapshot(ctx)})
	}
	if err = s.db.RunCommand(ctx, command).Decode(&answer); mongodb.IsTooLarge(err) {
		err = fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	*found = loaded{attempt: found.attempt}
	if err != nil || len(answer.Cursor.First) == 0 {
		return false, err
	}
	return true, found.decodeEvent(answer.Cursor.First[0], withSeats, parts)
}

// loadEach reads one part after the other, if there is no event to join the parts to, or they must not be joined.
func (s *Store) loadEach(ctx context.Context, eventID ID, n inventory.Needs, found *loaded) error {
	found.WithoutCorruptDue = true
	err := s.readEach(ctx, eventID, n, found)
	if err == nil && found.CorruptEntry {
		*found = loaded{attempt: found.attempt}
		found.WithoutCorruptEntries = true
		err = s.readEach(ctx, eventID, n, found)
	}
	return err
}

func (s *Store) readEach(ctx context.Context, eventID ID, n inventory.Needs, found *loaded) error {
	exists := false
	if !eventID.IsZero() {
		doc, isThere, err := mongodb.First[bson.Raw](ctx, s.events(), append(found.readEvent(eventID, n.Seats), mongodb.WithNow))
		if err != nil {
			return err
		}
		if exists = isThere; exists {
			if err := found.decodeEvent(doc, n.Seats, nil); err != nil {
				return err
			}
		}
	}
	if needsEpoch(n) {
		found.Epoch = found.Event.Internal.List.inventory().Epoch
	}
	for _, p := range s.parts(eventID, n, found.attempt) {
		if !exists { // another document returns the time, because there is no event to do it
			p.stages = append(p.stages, mongodb.WithNow)
		}
		docs, err := mongodb.All[bson.Raw](ctx, s.db.Collection(p.collection), p.stages)
		if err != nil {
			return err
		}
		for _, d := range docs {
			if err := p.add(found, d); err != nil {
				return err
			}
		}
	}
	if !exists && len(found.Locks) > 0 {
		found.Event.Now = found.Locks[0].Now
	} else if !exists && len(found.Bookings) > 0 {
		found.Event.Now = found.Bookings[0].Now
	} else if !exists && len(found.Payments) > 0 {
		found.Event.Now = found.Payments[0].Now
	} else if !exists && len(found.Entries) > 0 {
		found.Event.Now = found.Entries[0].Now
	}
	return nil
}

// addEvent adds the event of a lock.
func addEvent(l *loaded, doc bson.Raw) error {
	var d eventDoc
	err := unmarshalEvent(doc, &d)
	l.Events = append(l.Events, d)
	return err
}

// loadByLock reads a lock with its event, its live bookings, and entries of a waiting list.
func (s *Store) loadByLock(ctx context.Context, n inventory.Needs, found *loaded) error {
	isLive := mongodb.Match(mongodb.In("status", holdfast.LiveStatuses()))
	live := mongodb.JoinBy("live", bookingsName, "_id", "seatLockId", isLive)
	parts := []part{
		{as: "events", add: addEvent}, {as: "live", add: to(func(l *loaded) *[]bookingDoc { return &l.Live }, &bookingRules)},
	}
	pipeline := mongo.Pipeline{
		mongodb.Match(mongodb.Is("_id", n.Locks[0])), mongodb.JoinBy("events", eventsName, "eventId", "_id"), live,
	}
	for _, p := range entriesByID(ID{}, n) {
		pipeline, parts = append(pipeline, mongodb.Join(p.as, p.collection, p.stages...)), append(parts, p)
	}
	doc, exists, err := mongodb.First[bson.Raw](ctx, s.snapshot(locksName), append(pipeline, withoutMaps, mongodb.WithNow))
	if err != nil || !exists || !lockRules.Holds(doc) {
		return err
	}
	var lock lockDoc
	if err := mongodb.Unmarshal(doc, &lock); err != nil {
		return err
	}
	*found = loaded{Event: eventDoc{Now: lock.Now}, Locks: []lockDoc{lock}}
	return found.decodeLists(doc, parts)
}

// loadByBooking reads a booking with its lock, the event of the lock, payments, and entries of a waiting list. It looks up
// the lock by its ID alone, because a booking may name no event, or another one than the lock's.
func (s *Store) loadByBooking(ctx context.Context, n inventory.Needs, found *loaded) error {
	err := s.readBooking(ctx, n, found)
	if isPurged := len(found.Bookings) > 0 && len(found.Locks) == 0; err != nil || !isPurged || len(n.Charged) == 0 {
		return err
	}
	event, exists, err := s.readEvent(ctx, found.Bookings[0].booking().EventID) // the event says whether late payments are accepted
	if exists {
		found.Events = []eventDoc{event}
	}
	return err
}

func (s *Store) readBooking(ctx context.Context, n inventory.Needs, found *loaded) error {
	pipeline := mongo.Pipeline{
		mongodb.Match(mongodb.Is("_id", n.Bookings[0])), mongodb.JoinBy("locks", locksName, "seatLockId", "_id"),
		mongodb.JoinBy("events", eventsName, "locks.eventId", "_id"),
	}
	parts := append(paymentParts(n), entriesByID(ID{}, n)...)
	for _, p := range parts {
		pipeline = append(pipeline, mongodb.Join(p.as, p.collection, p.stages...))
	}
	doc, exists, err := mongodb.First[bson.Raw](ctx, s.snapshot(bookingsName), append(pipeline, withoutMaps, mongodb.WithNow))
	if err != nil || !exists || !bookingRules.Holds(doc) {
		return err
	}
	var b bookingDoc
	if err := mongodb.Unmarshal(doc, &b); err != nil {
		return err
	}
	*found = loaded{Event: eventDoc{Now: b.Now}, Bookings: []bookingDoc{b}}
	return found.decodeLists(doc, append([]part{
		{as: "locks", add: to(func(l *loaded) *[]lockDoc { return &l.Locks }, &lockRules)}, {as: "events", add: addEvent},
	}, parts...))
}
