package store

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// loaded has the documents that were read.
type loaded struct {
	Event      eventDoc
	Events     []eventDoc // the event, if it was found by a lock
	Locks      []lockDoc
	Live       []bookingDoc
	Bookings   []bookingDoc
	Keys       []lockDoc
	Holdings   []holdingDoc
	Due        []lockDoc
	Holders    []lockDoc
	Blocks     []lockDoc
	Seats      seatsDoc  // if it is needed
	Known      Known     // as the caller remembers it
	DueSold    []soldDoc // the sales of the due locks and the holders
	HasSales   bool      // DueSold was read with the due locks
	Sold       []soldDoc
	Taken      []takenDoc
	Payments   []paymentDoc
	Unrecorded []unrecordedDoc
	Recorded   []recordedDoc
}

// countable returns an error if the sum of an event's locks was read and is no number that can be relied on.
func (l loaded) countable() error {
	if slices.ContainsFunc(l.Taken, func(t takenDoc) bool { return t.Seats.Wrong }) {
		return RejectedEventError{errUncountable}
	}
	return nil
}

// errUncountable says that a sum of seats is beyond the numbers that are exact.
const errUncountable = mongodb.AbortError("the event's locks have too many seats to add up")

// readEvent begins the read of an event.
func (l *loaded) readEvent(id ID, withSeats bool) mongo.Pipeline {
	pipeline := mongo.Pipeline{mongodb.Match(mongodb.Is("_id", id))}
	if !withSeats {
		return append(pipeline, withoutMap)
	}
	return append(pipeline, l.Known.mapUnless()...)
}

// decodeEvent decodes an event and the lists that were joined to it.
func (l *loaded) decodeEvent(doc bson.Raw, withSeats bool, parts []part) error {
	if err := mongodb.Unmarshal(doc, &l.Event); err != nil {
		return err
	}
	if withSeats {
		l.Seats = readSeats(doc)
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

type holdingDoc struct {
	User  ID            `bson:"_id"`
	Seats mongodb.Whole `bson:"seats"`
	Locks int64         `bson:"locks"`
}

// isEndable is the rule of endable.
func (d lockDoc) isEndable(shared bool) bool {
	return !d.ID.IsZero() && d.Seats.Valid && d.Seats.N >= 1 && !d.Internal.Wrong && isRaisableNumber(d.Internal.Rev) &&
		(!shared || isRaisableNumber(d.FormerRev.Whole))
}

func (s *Store) areEndable(due []lockDoc) bool {
	return !slices.ContainsFunc(due, func(d lockDoc) bool { return !d.isEndable(s.shared()) })
}

func isRaisableNumber(n mongodb.Whole) bool { return !n.Wrong && n.N < mongodb.MaxWhole }

// soldDoc is a CONFIRMED booking.
type soldDoc struct {
	LockID ID `bson:"seatLockId"`
}

type takenDoc struct {
	Seats mongodb.Whole `bson:"seats"`
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
	l.fillDue(&s, n, shared)
	l.fillPayments(&s, n)
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

// fillDue fills in the due locks, and the locks that are looked up by their seats.
func (l loaded) fillDue(s *inventory.State, n inventory.Needs, shared bool) {
	sold := countByLock(l.DueSold)
	due := func(d lockDoc) inventory.DueLock {
		lock := d.inventory(shared)
		lock.Status, lock.EventID = holdfast.LockActive, l.Event.ID // as they were looked up: a list that has the value matches too
		return inventory.DueLock{Lock: *lock, Sold: sold[d.ID] > 0}
	}
	if n.NeedsDue() {
		list := all(l.Due, due)
		s.Due = &list
	}
	if len(n.Holders) > 0 {
		s.Holders = holders(n.Holders, l.Holders, shared, due)
	}
	if len(n.Blocks) > 0 {
		s.Blocks = make(map[string]*inventory.Lock, len(n.Blocks))
		for _, id := range n.Blocks {
			s.Blocks[id] = nil
		}
		for _, d := range l.Blocks {
			for _, id := range d.SeatIDs {
				if _, needed := s.Blocks[id]; needed && !d.ID.IsZero() {
					s.Blocks[id] = d.inventory(shared)
				}
			}
		}
	}
}

// holders finds the locks of seats among due locks. A lock that can't be ended keeps its seats, and so do
// several locks with the same seat: if one of them ended, the seat would still be in another.
func holders(seatIDs []string, due []lockDoc, shared bool, lock func(lockDoc) inventory.DueLock) map[string]*inventory.DueLock {
	found, first := make(map[string]*inventory.DueLock, len(seatIDs)), map[string]int{}
	for _, id := range seatIDs {
		found[id] = nil
	}
	for n, d := range due {
		holder := lock(d)
		for _, id := range d.SeatIDs {
			if _, needed := found[id]; !needed {
				continue
			}
			before, isAnother := first[id]
			switch {
			case !isAnother && d.isEndable(shared):
				found[id] = &holder
			case isAnother && before != n: // not the same lock, which names the seat twice
				found[id] = nil
			}
			if !isAnother {
				first[id] = n
			}
		}
	}
	return found
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
