package inventory

import (
	"cmp"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// ID names an event, a user, a lock or a booking.
type ID = holdfast.ID

// State contains the known data of one event. A map has an entry for every ID or key that was looked up; the entry
// is nil if nothing was found.
type State struct {
	// Now is the database's clock at the read. It is zero if the event comes from the process's cache.
	Now time.Time
	// Held says that this transaction wrote the event before the read. Until it ends, no other transaction can
	// change the event.
	Held bool
	// Measured says that the state was read before the transaction. A plan that only refuses then writes the event
	// too, so that it is guarded like a change.
	Measured bool
	// Rounds is how often this state was read for the same commands before.
	Rounds int

	Event   *Event // nil: not read, or missing
	Missing bool   // the event does not exist
	// Seats is the map of a seated event, at the event's revision. It is nil if it was not read. Decide changes it
	// as the plan does. If the plan is not carried out, it must not be used again.
	Seats *seating.Occupancy

	Locks    map[ID]*Lock
	Bookings map[ID]*holdfast.Booking
	LiveOf   map[ID][]ID       // the live bookings of a lock
	Keys     map[UserKey]*Lock // the lock that was made with a key
	Holdings map[ID]Holding    // of a user, in this event
	Due      *[]Lock           // due locks that a sweep or a reclaim may end
	SomeDue  []Lock            // due locks that an earlier batch has read, soonest expiry first; unused if Held is set
	DueOf    map[ID][]Lock     // due locks of a user, in this event: all of them, unless MoreDueOf is set
	Holders  map[string]*Lock  // by seat ID: the due lock with the seat, if it may be ended; otherwise nil
	Blocks   map[string]*Lock  // by seat ID: the venue's lock on the seat; nil if there is none
	Union    *Union            // of the seats of all live locks
	// DueUpTo is how many of the event's due locks were asked for: if Due has fewer, it has all. It is 0 if Due has only locks that
	// were asked for by their IDs.
	DueUpTo int
	// MoreDueOf says that there may be further due locks of the users of DueOf.
	MoreDueOf bool
	Taken     *int64 // the sum of the seats of all locks that take seats
	// Payments are by ID. Charged has the IDs of the payments with a reference and part; an ID is zero if there is
	// none.
	Payments map[ID]*holdfast.Payment
	Charged  map[PaymentKey]ID
	// Corrupt has the IDs of the corrupt documents among those that were read. A lock or payment that is corrupt is nil
	// in Locks and Payments.
	Corrupt map[ID]bool
	// Entries are entries of the waiting list by ID; nil: it does not exist, or is corrupt. OpenOf has a customer's open entries of
	// the event, also those that count as CLOSED.
	Entries map[ID]*Entry
	OpenOf  map[ID][]Entry
	// Heads has the first WAITING entry of each wish with at most HeadsUpTo seats, in any order. Waiting has the first WAITING
	// entries in order, of the wishes in WaitingOf; of all wishes if that is nil. WaitingIsAll says that there are no others of them.
	// All are of the list's present epoch.
	Heads        []Entry
	HeadsUpTo    int64
	Waiting      []Entry
	WaitingOf    []string
	WaitingIsAll bool
	// ToClose has entries that wait and count as CLOSED.
	ToClose *[]Entry
	Unknown map[ID]*holdfast.Error // users that do not exist, with the refusal; a holder may have the same ID
	// Unusable has the keys, and Unsellable the IDs of the seats, that a unique index refuses, although they are not in
	// a lock that counts.
	Unusable   map[UserKey]bool
	Unsellable []string
}

// Union has the seats that the ACTIVE, CONSUMED and BLOCKED locks of a seated event take.
type Union struct {
	PlanID  ID                 // the plan of the hall of Seats: the event's plan, or Needs.UnionIn
	Seats   *seating.Occupancy // nil: the event is unseated
	NoMap   bool               // the event has no map at all
	Blocked int64              // the number of seats of BLOCKED locks
	Taken   int64              // the number of seats of all locks, placed or not
	// Missing and MissingSections are not in the hall: seats that locks name, and sections of general admission.
	Missing, MissingSections []string
	// These are contradictions, which are reported and never changed: seats that several locks have, and locks that
	// do not say where their seats are, or name places that the plan does not have.
	Doubles  []string
	Unplaced []ID
}

// Event is an event as it was read.
type Event struct {
	holdfast.Event
	// SeenAt is a time that the database's clock had reached when the event was read or written. It is zero if that is not known.
	SeenAt     time.Time
	Revision   int64
	Repairs    int64 // how often its counter was repaired
	List       List
	SweptAtRev *int64 // the revision after the last sweep's transaction
}

// Lock is a lock as it was read.
type Lock struct {
	holdfast.Lock
	Revision int64
}

// UserKey is an idempotency key, which is unique per user of an event.
type UserKey struct {
	User ID
	Key  string
}

// Holding counts a user's seats and locks of an event.
type Holding struct {
	Seats int64 // of CONSUMED locks, and of ACTIVE locks that are not due
	Locks int64 // ACTIVE and not due
	Due   int64 // locks that are ACTIVE and due
}

// Rules are the limits that the operator sets.
type Rules struct {
	DefaultLockTTL time.Duration // of a lock whose request gives no time
	MaxLockTTL     time.Duration // from the lock's creation
	MaxPaymentTTL  time.Duration // from the booking's creation
	// MaxLocksPerUser bounds a user's ACTIVE locks of one event. A limit of 0 means no limit.
	MaxSeatsPerLock, MaxLocksPerUser int64
}

// Needs is the data that a decision still has to read. Every need includes the event.
type Needs struct {
	Event    bool
	Hold     bool // that the transaction writes the event before the state is read: see decision.refuse
	Taken    bool
	Locks    []ID
	LiveOf   []ID // locks whose live bookings are needed
	Bookings []ID
	Holdings []ID
	Keys     []UserKey
	Due      int  // up to this many due locks of the event, soonest expiry first
	DueAmong []ID // the locks among these that are due
	DueOf    []ID // users whose due locks are needed
	Seats    bool // the map of the event, if it is seated
	Union    bool
	UnionIn  ID       // of Union: the plan of the hall in which it is made; zero means the event's plan
	Holders  []string // seats whose due locks are needed
	Blocks   []string // seats whose blocks are needed

	Payments []ID
	Charged  []PaymentKey // whose payments are needed

	Entries []ID  // of the waiting list
	OpenOf  []ID  // customers whose open entries of the event are needed
	Heads   int64 // the first WAITING entry of each wish with up to this many seats
	// Waiting is how many WAITING entries are needed, the first ones in order: of the wishes in WaitingOf or, if that is empty, of all.
	Waiting   int
	WaitingOf []string
	ToClose   int // up to this many entries that wait and count as CLOSED

	// Apart says that the documents are too large for one answer, so they are read one kind after the other.
	Apart bool

	// Events are the events of these locks and bookings, in addition to the event of the commands. They are not a
	// need by themselves: the reads name them, because the documents of an event are on one shard.
	Events []ID
}

// None reports whether nothing is needed.
func (n Needs) None() bool {
	return !n.Event && !n.Hold && !n.Taken && !n.Seats && !n.Union && n.Due == 0 && len(n.Holders)+len(n.Blocks)+len(n.DueOf) == 0 &&
		len(n.Locks)+len(n.LiveOf)+len(n.Bookings)+len(n.Holdings)+len(n.Keys)+len(n.DueAmong) == 0 && !n.NeedsPayments() && !n.needsList()
}

// IsMap reports whether nothing but the event and its map is needed.
func (n Needs) IsMap() bool {
	needsMap := n.Seats
	n.Event, n.Hold, n.Seats = false, false, false
	return needsMap && n.None()
}

// NeedsPayments reports whether payments are needed.
func (n Needs) NeedsPayments() bool {
	return len(n.Payments)+len(n.Charged) > 0
}

// needsList reports whether entries of the waiting list are needed.
func (n Needs) needsList() bool {
	return len(n.Entries)+len(n.OpenOf)+n.Waiting+n.ToClose > 0 || n.Heads > 0
}

// NeedsDue reports whether due locks are needed.
func (n Needs) NeedsDue() bool { return n.Due > 0 || len(n.DueAmong) > 0 }

// And joins two needs. Everything is then read again together, so that a state always comes from one snapshot.
func (n Needs) And(o Needs) Needs {
	return Needs{
		Event: n.Event || o.Event, Hold: n.Hold || o.Hold, Taken: n.Taken || o.Taken, Due: max(n.Due, o.Due),
		Locks: union(n.Locks, o.Locks), LiveOf: union(n.LiveOf, o.LiveOf), Bookings: union(n.Bookings, o.Bookings),
		Holdings: union(n.Holdings, o.Holdings), Keys: union(n.Keys, o.Keys),
		DueAmong: union(n.DueAmong, o.DueAmong), DueOf: union(n.DueOf, o.DueOf),
		Seats: n.Seats || o.Seats, Union: n.Union || o.Union, Holders: union(n.Holders, o.Holders), Blocks: union(n.Blocks, o.Blocks),
		UnionIn: cmp.Or(n.UnionIn, o.UnionIn), Events: union(n.Events, o.Events), Apart: n.Apart || o.Apart,
		Payments: union(n.Payments, o.Payments), Charged: union(n.Charged, o.Charged),
		Entries: union(n.Entries, o.Entries), OpenOf: union(n.OpenOf, o.OpenOf), Heads: max(n.Heads, o.Heads),
		Waiting: max(n.Waiting, o.Waiting), WaitingOf: bothWishes(n, o), ToClose: max(n.ToClose, o.ToClose),
	}
}

// bothWishes returns the wishes of entries that either needs. That is none, which means all, if one of them needs all.
func bothWishes(n, o Needs) []string {
	if n.Waiting > 0 && len(n.WaitingOf) == 0 || o.Waiting > 0 && len(o.WaitingOf) == 0 {
		return nil
	}
	return union(n.WaitingOf, o.WaitingOf)
}

func union[T comparable](a, b []T) []T {
	if len(a)+len(b) == 0 {
		return nil
	}
	seen := make(map[T]bool, len(a)+len(b))
	all := make([]T, 0, len(a)+len(b))
	for _, list := range [][]T{a, b} {
		for _, item := range list {
			if !seen[item] {
				seen[item] = true
				all = append(all, item)
			}
		}
	}
	return all
}
