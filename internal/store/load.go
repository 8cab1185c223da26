package store

import (
	"context"
	"slices"
	"time"

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
func (s *Store) Load(ctx context.Context, eventID ID, n inventory.Needs) (inventory.State, error) {
	inTx := mongo.SessionFromContext(ctx) != nil
	var found loaded
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
	if len(found.Due) > 0 && !found.HasSales { // most loads find no due lock
		if found.DueSold, err = s.salesOfDue(ctx, eventID, found.Due); err != nil {
			return inventory.State{}, err
		}
	}
	if slices.ContainsFunc(found.Taken, func(t takenDoc) bool { return t.Seats.Wrong }) {
		return inventory.State{}, RejectedEventError{errUncountable}
	}
	state := found.state(n, s.shared())
	state.Fenced = fenced
	return state, nil
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
	exists, err = s.aggregateParts(ctx, eventID, s.parts(eventID, n, nil), at, found)
	if err == nil && !s.areEndable(found.Due) {
		exists, err = s.aggregateParts(ctx, eventID, s.parts(eventID, n, endable(s.shared())), at, found)
	}
	return exists, err
}

func (s *Store) aggregateParts(ctx context.Context, eventID ID, parts []part, at *bson.Timestamp, found *loaded) (exists bool, err error) {
	snapshot := mongodb.Snapshot(ctx)
	if at != nil {
		snapshot = bson.D{{Key: "level", Value: "snapshot"}, {Key: "atClusterTime", Value: *at}}
	}
	pipeline := mongo.Pipeline{mongodb.Match(mongodb.Is("_id", eventID))}
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
	*found = loaded{}
	if err != nil || len(answer.Cursor.First) == 0 {
		return false, err
	}
	return true, found.decodeEvent(answer.Cursor.First[0], parts)
}

// decodeEvent decodes an event and the lists that were joined to it.
func (l *loaded) decodeEvent(doc bson.Raw, parts []part) error {
	if err := mongodb.Unmarshal(doc, &l.Event); err != nil {
		return err
	}
	return l.decodeLists(doc, parts)
}

// decodeLists decodes the lists that were joined to a document. Where a list was not joined, other software
// may have a field of that name.
func (l *loaded) decodeLists(doc bson.Raw, parts []part) error {
	for _, p := range parts {
		if err := mongodb.UnmarshalValue(doc.Lookup(p.as), p.into(l)); err != nil {
			return err
		}
	}
	return nil
}

// loaded has the documents that were read.
type loaded struct {
	Event    eventDoc
	Events   []eventDoc // the event, if it was found by a lock
	Locks    []lockDoc
	Live     []bookingDoc
	Bookings []bookingDoc
	Keys     []lockDoc
	Holdings []holdingDoc
	Due      []dueDoc
	DueSold  []soldDoc // the sales of the due locks
	HasSales bool      // DueSold was read with the due locks
	Sold     []soldDoc
	Taken    []takenDoc
}

type holdingDoc struct {
	User  ID            `bson:"_id"`
	Seats mongodb.Whole `bson:"seats"`
	Locks int64         `bson:"locks"`
}

type dueDoc struct {
	ID    ID            `bson:"_id"`
	Seats mongodb.Whole `bson:"seats"`

	Internal  internalDoc `bson:"internal"`
	FormerRev formerDoc   `bson:"rev"`
}

// isEndable is the rule of endable.
func (d dueDoc) isEndable(shared bool) bool {
	return !d.ID.IsZero() && d.Seats.Valid && d.Seats.N >= 1 && !d.Internal.Wrong && isRaisableNumber(d.Internal.Rev) &&
		(!shared || isRaisableNumber(d.FormerRev.Whole))
}

func (s *Store) areEndable(due []dueDoc) bool {
	return !slices.ContainsFunc(due, func(d dueDoc) bool { return !d.isEndable(s.shared()) })
}

func isRaisableNumber(n mongodb.Whole) bool { return !n.Wrong && n.N < mongodb.MaxWhole }

// soldDoc is a CONFIRMED booking.
type soldDoc struct {
	LockID ID `bson:"seatLockId"`
}

type takenDoc struct {
	Seats mongodb.Whole `bson:"seats"`
}

const (
	dueName   = "due"
	salesName = "dueSold"
)

// part is one of the reads: the name of its list, and its source.
type part struct {
	as, collection string
	stages         mongo.Pipeline
	into           func(*loaded) any
}

// parts are the reads apart from the event. A filter keeps some of the due locks; nil: all.
func (s *Store) parts(eventID ID, n inventory.Needs, ofDue bson.D) []part {
	var list []part
	add := func(as, collection string, into func(*loaded) any, stages ...bson.D) {
		list = append(list, part{as, collection, stages, into})
	}
	ofEvent, events := mongodb.Is("eventId", eventID), s.eventsOf(eventID, n)
	if len(n.Locks) > 0 {
		add("locks", locksName, func(l *loaded) any { return &l.Locks }, mongodb.Match(mongodb.In("_id", n.Locks), ofEvents(events)))
	}
	if len(n.LiveOf) > 0 {
		add("live", bookingsName, func(l *loaded) any { return &l.Live },
			mongodb.Match(mongodb.In("seatLockId", n.LiveOf), mongodb.In("status", holdfast.LiveStatuses()), bookingsOf(events)))
	}
	if len(n.Bookings) > 0 {
		add("bookings", bookingsName, func(l *loaded) any { return &l.Bookings },
			mongodb.Match(mongodb.In("_id", n.Bookings), bookingsOf(events)))
	}
	if len(n.Keys) > 0 {
		users, keys := make([]ID, 0, len(n.Keys)), make([]string, 0, len(n.Keys))
		for _, k := range n.Keys {
			users, keys = append(users, k.User), append(keys, k.Key)
		}
		add("keys", locksName, func(l *loaded) any { return &l.Keys },
			mongodb.Match(ofEvent, mongodb.In("userId", users), mongodb.In("idempotencyKey", keys)))
	}
	if len(n.Holdings) > 0 {
		add("holdings", locksName, func(l *loaded) any { return &l.Holdings }, holdingsOf(ofEvent, n.Holdings)...)
	}
	if n.NeedsDue() {
		add(dueName, locksName, func(l *loaded) any { return &l.Due }, s.dueOf(eventID, n, ofDue)...)
	}
	if len(n.Sold) > 0 {
		add("sold", bookingsName, func(l *loaded) any { return &l.Sold }, salesOf(n.Sold, events)...)
	}
	if n.Taken {
		add("taken", locksName, func(l *loaded) any { return &l.Taken }, mongodb.Match(ofEvent, mongodb.In("status", holdfast.TakingStatuses())),
			mongodb.Group(nil, bson.E{Key: "seats", Value: mongodb.Sum(countedSeats)}))
	}
	return list
}

// dueOf reads the due locks of the event that match a filter.
func (s *Store) dueOf(eventID ID, n inventory.Needs, filter bson.D) []bson.D {
	isDue := []bson.D{mongodb.Is("status", string(holdfast.LockActive)), mongodb.Is("eventId", eventID), due}
	if refused := s.spared.refused(eventID); n.Reclaim && len(refused) > 0 {
		isDue = append(isDue, mongodb.Not("_id", bson.E{Key: "$in", Value: refused}))
	}
	if len(n.DueAmong) > 0 {
		return []bson.D{mongodb.Match(append(isDue, mongodb.In("_id", n.DueAmong), filter)...), dueFields}
	}
	return []bson.D{
		mongodb.Match(append(isDue, filter)...), mongodb.Sort("expiresAt", "_id"), mongodb.Limit(n.Due), dueFields,
	}
}

var dueFields = mongodb.Only("seats", internalName, formerRev)

// salesOfDue reads the sales of due locks. Without a transaction it may read a later state than the
// locks: the plan that ends them looks once more, see checkSales.
func (s *Store) salesOfDue(ctx context.Context, eventID ID, due []dueDoc) ([]soldDoc, error) {
	return mongodb.All[soldDoc](ctx, s.bookings(), salesOf(all(due, func(d dueDoc) ID { return d.ID }), s.named(eventID)))
}

// sales keeps the CONFIRMED ones of bookings, and of them the lock's ID. An index covers it.
var sales = []bson.D{
	mongodb.Match(mongodb.Is("status", string(holdfast.BookingConfirmed)), namesLock),
	{{Key: "$project", Value: bson.D{{Key: "_id", Value: 0}, {Key: "seatLockId", Value: 1}}}},
}

// namesLock leaves out bookings that name no lock. A $lookup finds them all where it has no lock to look for.
var namesLock = bson.D{{Key: "seatLockId", Value: bson.D{{Key: "$gt", Value: ID{}}}}}

// salesOf reads the sales of locks of some events.
func salesOf(lockIDs, eventIDs []ID) []bson.D {
	return append([]bson.D{mongodb.Match(mongodb.In("seatLockId", lockIDs), bookingsOf(eventIDs))}, sales...)
}

// holdingsOf sums the seats and locks that users hold of the event.
func holdingsOf(ofEvent bson.D, users []ID) []bson.D {
	isActive := bson.D{{Key: "$cond", Value: bson.A{bson.D{{Key: "$eq", Value: bson.A{"$status", string(holdfast.LockActive)}}}, 1, 0}}}
	return []bson.D{
		mongodb.Match(ofEvent, mongodb.In("userId", users), mongodb.In("status", holdfast.TakingStatuses())),
		mongodb.Match(bson.D{{Key: "$or", Value: bson.A{mongodb.Is("status", string(holdfast.LockConsumed)), notDue}}}),
		mongodb.Group("$userId", bson.E{Key: "seats", Value: mongodb.Sum(countedSeats)}, bson.E{Key: "locks", Value: mongodb.Sum(isActive)}),
	}
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
		if found.Due, err = mongodb.All[dueDoc](ctx, s.locks(), endable); err != nil {
			return err
		}
	}
	if !exists && len(found.Locks) > 0 {
		found.Event.Now = found.Locks[0].Now
	} else if !exists && len(found.Bookings) > 0 {
		found.Event.Now = found.Bookings[0].Now
	}
	return nil
}

// loadWithDue reads an event, with the due locks that are needed and their sales: by one command instead of
// three, while the transaction holds the event. On a sharded cluster the due locks are left to the caller,
// because earlier versions of MongoDB refuse a $lookup in a transaction.
func (s *Store) loadWithDue(ctx context.Context, eventID ID, n inventory.Needs, found *loaded) (exists bool, err error) {
	pipeline, parts := mongo.Pipeline{mongodb.Match(mongodb.Is("_id", eventID))}, []part{}
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
	return true, found.decodeEvent(doc, parts)
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
		mongodb.JoinBy("events", eventsName, "eventId", "_id"), live, mongodb.WithNow,
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

// loadByBooking reads a booking with its lock, that lock's event and its sales. Other software may
// name no event, or another one than the lock's: the lock is then looked up by its ID alone.
func (s *Store) loadByBooking(ctx context.Context, n inventory.Needs, found *loaded) error {
	err := s.loadByBookingAnd(ctx, n.Bookings[0], s.joinOfEvent("locks", locksName, "seatLockId", "_id", eventOfBooking), found)
	if err == nil && len(found.Bookings) > 0 && len(found.Locks) == 0 && s.db.Sharded() {
		err = s.loadByBookingAnd(ctx, n.Bookings[0], mongodb.JoinBy("locks", locksName, "seatLockId", "_id"), found)
	}
	return err
}

func (s *Store) loadByBookingAnd(ctx context.Context, id ID, itsLock bson.D, found *loaded) error {
	doc, exists, err := mongodb.First[struct {
		Booking bookingDoc `bson:",inline"`
		Locks   []lockDoc  `bson:"locks"`
		Events  []eventDoc `bson:"events"`
		Sold    []soldDoc  `bson:"sold"`
	}](ctx, s.snapshot(bookingsName), mongo.Pipeline{
		mongodb.Match(mongodb.Is("_id", id)), itsLock,
		mongodb.JoinBy("events", eventsName, "locks.eventId", "_id"),
		s.joinOfEvent("sold", bookingsName, "seatLockId", "seatLockId", bson.D{{Key: "$first", Value: "$locks.eventId"}}, sales...),
		mongodb.WithNow,
	})
	if exists {
		*found = loaded{Events: doc.Events, Locks: doc.Locks, Bookings: []bookingDoc{doc.Booking}, Sold: doc.Sold}
		found.Event.Now = doc.Booking.Now
	}
	return err
}

// state converts the documents for a decision. A document that was not found is nil in the
// maps.
func (l loaded) state(n inventory.Needs, shared bool) inventory.State {
	if len(l.Events) > 0 {
		now := l.Event.Now
		l.Event = l.Events[0]
		l.Event.Now = now
	}
	s := inventory.State{Now: l.Event.Now.Time, Missing: l.Event.ID.IsZero()}
	if s.Now.IsZero() {
		s.Now = time.Unix(0, 0) // nothing was found: no decision asks for the time
	}
	if !s.Missing {
		event := l.Event.inventory(shared)
		s.Event = &event
	}
	l.fillLocks(&s, n, shared)
	if n.NeedsDue() {
		list := []inventory.DueLock{}
		sold := countByLock(l.DueSold)
		for _, d := range l.Due {
			list = append(list, inventory.DueLock{ID: d.ID, Seats: d.Seats.N, Sold: sold[d.ID] > 0})
		}
		s.Due = &list
	}
	if n.Taken {
		var taken int64
		for _, t := range l.Taken {
			taken = t.Seats.Or(0)
		}
		s.Taken = &taken
	}
	if len(n.Holdings) > 0 {
		s.Holdings = make(map[ID]inventory.Holding, len(n.Holdings))
		for _, user := range n.Holdings {
			s.Holdings[user] = inventory.Holding{}
		}
		for _, h := range l.Holdings {
			s.Holdings[h.User] = inventory.Holding{Seats: h.Seats.Or(mongodb.MaxWhole), Locks: h.Locks}
		}
	}
	return s
}

func countByLock(docs []soldDoc) map[ID]int {
	sold := make(map[ID]int, len(docs))
	for _, d := range docs {
		sold[d.LockID]++
	}
	return sold
}

func (l loaded) fillLocks(s *inventory.State, n inventory.Needs, shared bool) {
	s.Locks = make(map[ID]*inventory.Lock, len(n.Locks))
	for _, id := range n.Locks {
		s.Locks[id] = nil
	}
	s.Bookings = make(map[ID]*holdfast.Booking, len(n.Bookings)+len(l.Live))
	for _, id := range n.Bookings {
		s.Bookings[id] = nil
	}
	for _, d := range l.Bookings {
		b := d.booking()
		s.Bookings[d.ID] = &b
	}
	for _, d := range l.Locks {
		s.Locks[d.ID] = d.inventory(shared)
	}
	s.Locks[ID{}], s.Bookings[ID{}] = nil, nil // documents that have no ID of ours can't be named
	sold := countByLock(l.Sold)
	s.Sold = make(map[ID]int, len(n.Sold))
	for _, id := range n.Sold {
		s.Sold[id] = sold[id]
	}
	s.LiveOf = make(map[ID][]ID, len(n.LiveOf))
	for _, id := range n.LiveOf {
		s.LiveOf[id] = nil
	}
	for _, d := range l.Live {
		b := d.booking()
		if d.ID.IsZero() && b.Status != holdfast.BookingConfirmed {
			continue // no command can name it, or change it
		}
		s.Bookings[d.ID] = &b
		s.LiveOf[d.LockID] = append(s.LiveOf[d.LockID], d.ID)
	}
	if len(n.Keys) > 0 {
		s.Keys = make(map[inventory.UserKey]*inventory.Lock, len(n.Keys))
		for _, key := range n.Keys {
			s.Keys[key] = nil
		}
		for _, d := range l.Keys {
			s.Keys[inventory.UserKey{User: d.UserID, Key: string(d.Key)}] = d.inventory(shared)
		}
	}
}
