package inventory

import (
	"time"

	"github.com/holdfast-dev/holdfast"
)

// ID names an event, a user, a lock or a booking.
type ID = holdfast.ID

// State is what is known of one event. A map has an entry for each thing that was
// looked for; what does not exist is nil in it.
type State struct {
	// Now is the database's clock at the read; zero where the event is remembered
	// from the process's last commit.
	Now time.Time
	// Fenced: before the read, the event was written. What was not committed by then
	// can't be granted any more without this process noticing.
	Fenced bool
	// Held: this transaction has written the event before the read, so that no other
	// can change it any more.
	Held bool
	// Settling: an earlier commit of the same commands may have happened, or happen yet.
	Settling bool
	// KeyClash: a key of the commands turned out to be in use.
	KeyClash bool

	Event   *Event // nil: not known, or missing
	Missing bool   // there is no such event

	Locks    map[ID]*Lock
	Bookings map[ID]*holdfast.Booking
	LiveOf   map[ID][]ID            // the live bookings of a lock
	Keys     map[UserKey]*Lock      // the lock that was made with a key
	Holdings map[ID]Holding         // what a user holds of the event
	Due      *[]DueLock             // due locks that a sweep or a reclaim may end
	Taken    *int64                 // Σ seats of the ACTIVE and CONSUMED locks
	Unknown  map[ID]*holdfast.Error // users that do not exist, with the refusal
}

// Event is an event as it was read.
type Event struct {
	holdfast.Event
	Revision   int64
	HasTotal   bool   // totalSeats is a whole number ≥ 0
	Countable  bool   // availableSeats and oversold are whole numbers
	Fixes      *int64 // how often its counter was repaired; nil: never
	SweptAtRev *int64 // the revision after the last sweep's transaction
	// Unguarded: its revision is no whole number, so that no condition can match it. Only
	// a transaction that holds the event can change it.
	Unguarded bool
	// Odd: other software left a field of a type that a condition in MongoDB would
	// read otherwise than we do. Only the revision guards such an event.
	Odd bool
}

// Lock is a lock as it was read.
type Lock struct {
	holdfast.Lock
	Revision *int64 // nil where the document has none
}

// DueLock is a lock that is due and has whole seats.
type DueLock struct {
	ID    ID
	Seats int64
}

// UserKey is an idempotency key, which is unique per user of an event.
type UserKey struct {
	User ID
	Key  string
}

// Holding is what a user has of an event.
type Holding struct {
	Seats int64 // of CONSUMED locks, and of ACTIVE ones that are not due
	Locks int64 // ACTIVE and not due
}

// Rules are the limits that the operator sets.
type Rules struct {
	DefaultLockTTL time.Duration // of a lock that asks for no time
	MaxLockTTL     time.Duration // from the lock's creation
	MaxPaymentTTL  time.Duration // from the booking's creation
	// MaxSeatsPerLock, and MaxLocksPerUser ACTIVE at a time of one event; 0: no limit.
	MaxSeatsPerLock, MaxLocksPerUser int64
}

// Needs is what a decision has to know besides. The event itself is read with any need.
type Needs struct {
	Event    bool
	Fence    bool
	Taken    bool
	Locks    []ID
	LiveOf   []ID // locks whose live bookings are needed
	Bookings []ID
	Holdings []ID
	Keys     []UserKey
	Due      int  // so many due locks of the event, soonest expiry first
	DueAmong []ID // the due ones of these locks
}

// None reports whether nothing is needed.
func (n Needs) None() bool {
	return !n.Event && !n.Fence && !n.Taken && n.Due == 0 &&
		len(n.Locks)+len(n.LiveOf)+len(n.Bookings)+len(n.Holdings)+len(n.Keys)+len(n.DueAmong) == 0
}

// And joins two needs. What was needed once is read again with the rest, so that a
// state is always of one moment.
func (n Needs) And(o Needs) Needs {
	return Needs{
		Event: n.Event || o.Event, Fence: n.Fence || o.Fence, Taken: n.Taken || o.Taken, Due: max(n.Due, o.Due),
		Locks: union(n.Locks, o.Locks), LiveOf: union(n.LiveOf, o.LiveOf), Bookings: union(n.Bookings, o.Bookings),
		Holdings: union(n.Holdings, o.Holdings), Keys: union(n.Keys, o.Keys), DueAmong: union(n.DueAmong, o.DueAmong),
	}
}

func union[T comparable](a, b []T) []T {
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
