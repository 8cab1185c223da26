package store

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// loaded contains the documents that were read.
type loaded struct {
	Event    eventDoc
	Events   []eventDoc // the event, if it was found by a lock
	Locks    []lockDoc
	Live     []bookingDoc
	Bookings []bookingDoc
	Keys     []lockDoc
	Holdings []holdingDoc
	Due      []lockDoc
	DueOf    []lockDoc
	// DueOfRead counts the locks of DueOf, corrupt ones included.
	DueOfRead int
	Holders   []lockDoc
	Blocks    []lockDoc
	Seats     seatsDoc // if it is needed
	Taken     []takenDoc
	Payments  []paymentDoc
	Entries   []entryDoc
	OpenOf    []entryDoc
	Heads     []entryDoc
	Waiting   []entryDoc
	ToClose   []entryDoc

	// Corrupt has the IDs of the documents that were left out because they are corrupt. Those of payments are also by
	// their reference and part.
	Corrupt        map[ID]bool
	CorruptCharges map[inventory.PaymentKey]ID
	// CorruptDue says that a due lock was left out because it is corrupt. There may be other due locks beyond the
	// limit of the read, so the read has to be repeated with MongoDB leaving out corrupt locks. CorruptEntry says the
	// same of the entries that wait.
	CorruptDue, CorruptEntry bool

	attempt
}

// attempt is what a read relies on.
type attempt struct {
	Known Known // the event as the caller has cached it
	Epoch int64 // of the event's waiting list
	// With these, MongoDB leaves out corrupt locks and entries.
	WithoutCorruptDue, WithoutCorruptEntries bool
}

// next returns what to rely on in a further read. isLast says that this one was right.
func (l *loaded) next(n inventory.Needs) (next attempt, isLast bool) {
	next = l.attempt
	next.WithoutCorruptDue = next.WithoutCorruptDue || l.CorruptDue
	next.WithoutCorruptEntries = next.WithoutCorruptEntries || l.CorruptEntry
	if needsEpoch(n) {
		next.Epoch = l.Event.Internal.List.inventory().Epoch
	}
	isLast = next.Epoch == l.Epoch && next.WithoutCorruptDue == l.WithoutCorruptDue && next.WithoutCorruptEntries == l.WithoutCorruptEntries
	return next, isLast
}

// readEvent decodes the event that was read first.
func (l *loaded) readEvent(id ID, withSeats bool) mongo.Pipeline {
	pipeline := mongo.Pipeline{mongodb.Match(mongodb.Is("_id", id))}
	if !withSeats {
		return append(pipeline, withoutMap)
	}
	return append(pipeline, l.Known.mapUnless()...)
}

// decodeEvent decodes an event and the lists that were joined to it. It fails with ErrCorrupt if the event is
// corrupt.
func (l *loaded) decodeEvent(doc bson.Raw, withSeats bool, parts []part) error {
	if err := unmarshalEvent(doc, &l.Event); err != nil {
		return err
	}
	if withSeats {
		l.Seats = readSeats(doc, l.Event)
	}
	return l.decodeLists(doc, parts)
}

// unmarshalEvent decodes an event. It fails with ErrUnusable if the event is corrupt.
func unmarshalEvent(doc bson.Raw, event *eventDoc) error {
	if !eventRules.Holds(doc) {
		return corruptEvent(mongodb.ErrCorrupt)
	}
	if err := mongodb.Unmarshal(doc, event); err != nil {
		return corruptEvent(err)
	}
	return nil
}

// decodeLists decodes the lists that were joined to a document.
func (l *loaded) decodeLists(doc bson.Raw, parts []part) error {
	for _, p := range parts {
		docs, err := doc.Lookup(p.as).Array().Values()
		if err != nil {
			return err
		}
		for _, d := range docs {
			if err := p.add(l, d.Document()); err != nil {
				return err
			}
		}
	}
	return nil
}

// to returns a function that adds a document to a list, unless it breaks the rules. If rules is nil, any document is
// valid.
func to[D any](list func(*loaded) *[]D, rules *mongodb.Schema) func(*loaded, bson.Raw) error {
	return func(l *loaded, doc bson.Raw) error {
		if rules != nil && !rules.Holds(doc) {
			l.addCorrupt(doc)
			return nil
		}
		var d D
		err := mongodb.Unmarshal(doc, &d)
		into := list(l)
		*into = append(*into, d)
		return err
	}
}

func (l *loaded) addCorrupt(doc bson.Raw) {
	if l.Corrupt == nil {
		l.Corrupt = map[ID]bool{}
	}
	l.Corrupt[mongodb.IDOf(doc, "_id")] = true
	delete(l.Corrupt, ID{})
}

type holdingDoc struct {
	User  ID    `bson:"_id"`
	Seats int64 `bson:"seats"`
	Locks int64 `bson:"locks"`
	Due   int64 `bson:"due"`
}

type takenDoc struct {
	Seats int64 `bson:"seats"`
}

// state converts the documents for a decision. A document that was not found is nil in the maps.
func (l loaded) state(n inventory.Needs) inventory.State {
	if len(l.Events) > 0 {
		now := l.Event.Now
		l.Event = l.Events[0]
		l.Event.Now = now
	}
	s := inventory.State{Now: l.Event.Now.Time, Missing: l.Event.ID.IsZero()}
	if s.Now.IsZero() {
		s.Now = time.Unix(0, 0) // nothing was found, so a decision does not use the time
	}
	if !s.Missing {
		event := l.Event.inventory()
		s.Event = &event
	}
	s.Corrupt = l.Corrupt
	l.fillLocks(&s, n)
	l.fillDue(&s, n)
	l.fillPayments(&s, n)
	l.fillEntries(&s, n)
	if n.Taken {
		var taken int64
		for _, t := range l.Taken {
			taken = t.Seats
		}
		s.Taken = &taken
	}
	if len(n.Holdings) > 0 {
		s.Holdings = make(map[ID]inventory.Holding, len(n.Holdings))
		for _, user := range n.Holdings {
			s.Holdings[user] = inventory.Holding{}
		}
		for _, h := range l.Holdings {
			s.Holdings[h.User] = inventory.Holding{Seats: h.Seats, Locks: h.Locks, Due: h.Due}
		}
	}
	return s
}

// fillDue fills in the due locks, and the locks that are looked up by their seats.
func (l loaded) fillDue(s *inventory.State, n inventory.Needs) {
	if n.NeedsDue() {
		list := all(l.Due, func(d lockDoc) inventory.Lock { return *d.inventory() })
		s.Due, s.DueUpTo = &list, n.Due
	}
	if len(n.DueOf) > 0 {
		s.MoreDueOf = l.DueOfRead >= inventory.MaxReclaim
		s.DueOf = make(map[ID][]inventory.Lock, len(n.DueOf))
		for _, user := range n.DueOf {
			s.DueOf[user] = nil
		}
		for _, d := range l.DueOf {
			s.DueOf[d.UserID] = append(s.DueOf[d.UserID], *d.inventory())
		}
	}
	if len(n.Holders) > 0 {
		s.Holders = holders(n.Holders, l.Holders)
	}
	if len(n.Blocks) > 0 {
		s.Blocks = make(map[string]*inventory.Lock, len(n.Blocks))
		for _, id := range n.Blocks {
			s.Blocks[id] = nil
		}
		for _, d := range l.Blocks {
			for _, id := range d.SeatIDs {
				if _, needed := s.Blocks[id]; needed {
					s.Blocks[id] = d.inventory()
				}
			}
		}
	}
}

// holders finds the locks of seats among due locks. If several locks have a seat, it leaves the seat out: after the
// end of one of them the seat would still be in another.
func holders(seatIDs []string, due []lockDoc) map[string]*inventory.Lock {
	found, first := make(map[string]*inventory.Lock, len(seatIDs)), map[string]int{}
	for _, id := range seatIDs {
		found[id] = nil
	}
	for n, d := range due {
		holder := d.inventory()
		for _, id := range d.SeatIDs {
			if _, needed := found[id]; !needed {
				continue
			}
			switch before, isAnother := first[id]; {
			case !isAnother:
				found[id], first[id] = holder, n
			case before != n: // not the same lock, which names the seat twice
				found[id] = nil
			}
		}
	}
	return found
}

func (l loaded) fillLocks(s *inventory.State, n inventory.Needs) {
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
		s.Locks[d.ID] = d.inventory()
	}
	s.LiveOf = make(map[ID][]ID, len(n.LiveOf))
	for _, id := range n.LiveOf {
		s.LiveOf[id] = nil
	}
	for _, d := range l.Live {
		b := d.booking()
		s.Bookings[d.ID] = &b
		s.LiveOf[d.LockID] = append(s.LiveOf[d.LockID], d.ID)
	}
	if len(n.Keys) > 0 {
		s.Keys = make(map[inventory.UserKey]*inventory.Lock, len(n.Keys))
		for _, key := range n.Keys {
			s.Keys[key] = nil
		}
		for _, d := range l.Keys {
			s.Keys[inventory.UserKey{User: d.UserID, Key: d.Key}] = d.inventory()
		}
	}
}
