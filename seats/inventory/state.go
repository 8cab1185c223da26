package inventory

import (
	"cmp"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// ID names an event, a user, a lock or a booking.
type ID = holdfast.ID

// State has the known data of one event. A map has an entry for every ID or key that was
// looked up; the entry is nil if nothing was found.
type State struct {
	// Now is the database's clock at the read. It is zero if the event is remembered from
	// the process's last commit.
	Now time.Time
	// Fenced: the event was written before the read. A transaction that has not committed
	// yet conflicts with that write, and checks its callers again before it commits.
	Fenced bool
	// Held: this transaction wrote the event before the read. Until it ends, no other
	// transaction can change the event.
	Held bool

	Event   *Event // nil: not read, or missing
	Missing bool   // there is no such event
	// Seats is the map of a seated event, at the event's revision; nil: not read. Decide leaves it as
	// the plan leaves it. If the plan is not carried out, it must not be used again.
	Seats *seating.Occupancy

	Locks    map[ID]*Lock
	Bookings map[ID]*holdfast.Booking
	LiveOf   map[ID][]ID         // the live bookings of a lock
	Keys     map[UserKey]*Lock   // the lock that was made with a key
	Holdings map[ID]Holding      // of a user, in this event
	Due      *[]DueLock          // due locks that a sweep or a reclaim may end
	Holders  map[string]*DueLock // by seat ID: the due lock with the seat that may be ended; nil: there is none
	Blocks   map[string]*Lock    // by seat ID: the venue's lock on the seat; nil: there is none
	Sold     map[ID]int          // how many CONFIRMED bookings name the lock; 1 at most, unless other software made them
	Union    *Union              // of the seats of all live locks
	Taken    *int64              // Σ seats of the locks that take seats
	// Payments are by ID, Charged the IDs of the payments with a reference and part; zero: there is none.
	Payments map[ID]*holdfast.Payment
	Charged  map[PaymentKey]ID
	// Unrecorded are CONFIRMED bookings with a reference that have no payment: an earlier version confirmed them.
	// There are two at most, which says that there are several.
	Unrecorded map[string][]ID
	// Recorded are bookings that have a payment with a reference: two at most, which says that there are several.
	Recorded map[string][]ID
	Unknown  map[ID]*holdfast.Error // users that do not exist, with the refusal
}

// Union is what the ACTIVE, CONSUMED and BLOCKED locks of a seated event take.
type Union struct {
	PlanID  ID                 // of the hall of Seats: the event's plan, or Needs.UnionIn
	Seats   *seating.Occupancy // nil: the event is unseated
	NoMap   bool               // the event has no map at all
	Blocked int64              // seats of BLOCKED locks
	Taken   int64              // seats of all locks, also of those that are in no place
	Uneven  bool               // a lock has no whole number ≥ 1 of seats, or they are too many to add up
	// What the hall does not have: seats that locks name, and sections of general admission.
	Missing, MissingSections []string
	// What contradicts, which is reported and never changed: seats that several locks have, and locks that do
	// not say where their seats are, or name places that the plan does not have.
	Doubles  []string
	Holders  map[string]int // of Doubles: how many locks have the seat
	Unplaced []ID
}

// Event is an event as it was read. Other software may have left values that can't be used
// as they are. Five flags say which:
//
//	HasTotal      totalSeats is a whole number ≥ 0. Otherwise no seat is sold, and the
//	              counter is not written until an operator sets totalSeats.
//	Countable     availableSeats and oversold are whole numbers. Otherwise the next command
//	              that moves seats replaces the counter by the sum of the locks.
//	BadLimit      maxSeatsPerUser is no whole number ≥ 0. No seat is sold until an operator
//	              sets it.
//	Incomparable  a field has a value that a condition in MongoDB compares differently than
//	              this program. A guard compares the revision and the number of repairs only.
//	Unguarded     the revision is such a value too, so no guard can match. Only a transaction
//	              that holds the event can change it. Unguarded implies Incomparable.
type Event struct {
	holdfast.Event
	Revision   int64
	Repairs    *int64 // how often its counter was repaired; nil: never
	Former     Former
	SweptAtRev *int64 // the revision after the last sweep's transaction

	HasTotal, Countable, BadLimit, Incomparable, Unguarded bool
}

// Lock is a lock as it was read.
type Lock struct {
	holdfast.Lock
	Revision *int64 // nil if the document has none
	Former   Former
}

// Former is what the former version of Holdfast keeps in fields of its own. Guards compare it
// as well as the revision: its processes raise these fields alone.
type Former struct {
	// Shared: processes of the former version may change the document too. Otherwise their
	// fields are left over.
	Shared            bool
	Revision, Repairs *int64 // nil if the document has none
}

// DueLock is a due lock whose seats are a whole number ≥ 1.
type DueLock struct {
	Lock

	// Sold: a CONFIRMED booking names it. Other software crashed before it marked the lock.
	Sold bool
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
}

// Rules are the limits that the operator sets.
type Rules struct {
	DefaultLockTTL time.Duration // of a lock whose request gives no time
	MaxLockTTL     time.Duration // from the lock's creation
	MaxPaymentTTL  time.Duration // from the booking's creation
	// MaxLocksPerUser counts a user's ACTIVE locks of one event. 0 means no limit.
	MaxSeatsPerLock, MaxLocksPerUser int64
}

// Needs are the data that a decision still has to read. The event is read with every need.
type Needs struct {
	Event    bool
	Fence    bool
	Taken    bool
	Locks    []ID
	LiveOf   []ID // locks whose live bookings are needed
	Bookings []ID
	Holdings []ID
	Keys     []UserKey
	Due      int  // up to this many due locks of the event, soonest expiry first
	Reclaim  bool // of Due, none that MongoDB refused to end
	DueAmong []ID // the locks among these that are due
	Seats    bool // the map of the event, if it is seated
	Union    bool
	UnionIn  ID       // of Union: the plan whose hall it is made in; zero: the event's
	Holders  []string // seats whose due locks are needed
	Blocks   []string // seats whose blocks are needed
	Sold     []ID     // locks whose CONFIRMED bookings are to be counted

	Payments   []ID
	Charged    []PaymentKey // whose payments are needed
	Unrecorded []string     // references
	Recorded   []string     // references

	// Events are the events of these locks and bookings, in addition to the event of the
	// commands. It is no need by itself: the reads name them, because an event's documents are
	// on one shard.
	Events []ID
	// Everywhere: bookings of LiveOf count that name another event than their lock, too.
	Everywhere bool
}

// None reports whether nothing is needed.
func (n Needs) None() bool {
	return !n.Event && !n.Fence && !n.Taken && !n.Seats && !n.Union && n.Due == 0 && len(n.Holders)+len(n.Blocks) == 0 &&
		len(n.Locks)+len(n.LiveOf)+len(n.Bookings)+len(n.Holdings)+len(n.Keys)+len(n.DueAmong)+len(n.Sold) == 0 && !n.NeedsPayments()
}

// IsMap reports whether the event and its map are needed, and nothing else.
func (n Needs) IsMap() bool {
	needsMap := n.Seats
	n.Event, n.Fence, n.Seats = false, false, false
	return needsMap && n.None()
}

// NeedsPayments reports whether payments are needed, or bookings without one.
func (n Needs) NeedsPayments() bool {
	return len(n.Payments)+len(n.Charged)+len(n.Unrecorded)+len(n.Recorded) > 0
}

// NeedsDue reports whether due locks are needed.
func (n Needs) NeedsDue() bool { return n.Due > 0 || len(n.DueAmong) > 0 }

// And joins two needs. Everything is then read again together, so that a state is always
// of one snapshot.
func (n Needs) And(o Needs) Needs {
	return Needs{
		Event: n.Event || o.Event, Fence: n.Fence || o.Fence, Taken: n.Taken || o.Taken, Due: max(n.Due, o.Due), Reclaim: n.Reclaim || o.Reclaim,
		Locks: union(n.Locks, o.Locks), LiveOf: union(n.LiveOf, o.LiveOf), Bookings: union(n.Bookings, o.Bookings),
		Holdings: union(n.Holdings, o.Holdings), Keys: union(n.Keys, o.Keys), DueAmong: union(n.DueAmong, o.DueAmong),
		Seats: n.Seats || o.Seats, Union: n.Union || o.Union, Holders: union(n.Holders, o.Holders), Blocks: union(n.Blocks, o.Blocks),
		UnionIn: cmp.Or(n.UnionIn, o.UnionIn), Sold: union(n.Sold, o.Sold), Events: union(n.Events, o.Events),
		Everywhere: n.Everywhere || o.Everywhere,
		Payments:   union(n.Payments, o.Payments), Charged: union(n.Charged, o.Charged), Unrecorded: union(n.Unrecorded, o.Unrecorded),
		Recorded: union(n.Recorded, o.Recorded),
	}
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
