package inventory

import (
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Plan is what a decision writes, in one transaction and in this order: the event,
// the locks that change, new locks, bookings. A condition that does not hold when it
// is written makes the whole plan stale, and the commands are decided again.
type Plan struct {
	Event       *EventWrite // nil: the event is not written
	Locks       []LockWrite
	Acquired    []holdfast.Lock // new; where ExpiresAt is zero, it is the write's time plus TTL
	TTL         []time.Duration // parallel to Acquired
	Bookings    []BookingWrite
	NewBookings []holdfast.Booking
	// NotBefore is a bound on the database's clock as the event is written.
	NotBefore time.Time
}

// IsEmpty reports whether there is nothing to write.
func (p Plan) IsEmpty() bool {
	return p.Event == nil && len(p.Locks)+len(p.Acquired)+len(p.Bookings)+len(p.NewBookings) == 0
}

// EventWrite changes an event. It raises the event's revision, whatever else it does, so
// that it conflicts with every other change. A Drift is the exception: it does not raise
// the revision. Its guard is the number of repairs, and AsRead notices it by the counter.
type EventWrite struct {
	// The guard. AsRead: the event has the revision, counter and status that the state has.
	// Else it is on sale,
	// limits no customer, and has AtLeast seats; or, for a Drift, no repair came first.
	AsRead  *Event
	AtLeast int64

	Available, Oversold int64 // added to the counter
	Counter             *Counter
	Drift               *Drift
	Fields              holdfast.EventChange
	RunID               string // of the run that made the change
	SweptAtRev          *int64
}

// Counter replaces an event's counter, which was wrong.
type Counter struct{ AvailableSeats, Oversold int64 }

// Drift is taken off an event's counter, whatever it says by then: traffic moves
// counter and locks together, so it does not change the drift. Another repair does.
type Drift struct {
	Amount int64
	Fixes  *int64 // as it was when the drift was measured
}

// LockWrite changes a lock that has the status From.
type LockWrite struct {
	ID           ID
	From, To     holdfast.LockStatus
	Guard        LockGuard
	Revision     *int64    // for AtRevision and LiveAtRevision
	ExpiresAt    time.Time // zero: as it is
	BookingID    ID        // zero: as it is
	ClearBooking bool
	EndedBy      holdfast.EndedBy
	RunID        string
}

// LockGuard is the condition on a lock, besides its status.
type LockGuard int

// The guards of a lock.
const (
	AnyRevision    LockGuard = iota // its status is enough: the transaction holds the event
	IsDue                           // by the database's clock, as it is written
	AtRevision                      // it has not changed since it was read
	LiveAtRevision                  // it has not changed, and it is not due as it is written
)

// BookingWrite changes a booking that has the status From.
type BookingWrite struct {
	ID               ID
	From, To         holdfast.BookingStatus
	WindowOpen       bool      // guard: its payment window has not passed as it is written
	PaymentExpiresAt time.Time // zero: as it is
	PaymentReference string    // "": as it is
	RunID            string
}

// Result is what became of a command. Of Lock, Booking and Event it has the one that
// the command is about, unless it is refused.
type Result struct {
	Err      error // a refusal
	Lock     *holdfast.Lock
	Booking  *holdfast.Booking
	Event    *holdfast.Event
	Replayed bool // an earlier request made the lock or the booking
	// Again: the command is undecided; it goes first in the next batch.
	Again bool

	Ended      []Ended     // by a sweep
	Busy       bool        // others wrote the event since the sweep's transaction before
	Correction *Correction // by a repair

	acquired int // 1 + the index in Plan.Acquired
}

// Acquires reports whether the command makes a lock.
func (r Result) Acquires() bool { return r.acquired > 0 && !r.Replayed }

// Ended is a lock or a booking that a sweep expired.
type Ended struct {
	Booking, Lock ID
	Seats         int64 // that came back
}

// Correction is a counter that was repaired; Before and After are available seats.
type Correction struct {
	EventID                 ID
	Before, After, Oversold int64
}

// Complete fills in what is known only once the plan is written: the database's
// clock, and the event after it. Results point to the plan's locks.
func Complete(plan Plan, results []Result, now time.Time, event holdfast.Event) {
	for i := range plan.Acquired {
		plan.Acquired[i] = plan.AcquiredAt(i, now)
	}
	for i := range results {
		r := &results[i]
		if r.Event != nil {
			r.Event = &event
		}
		if c := r.Correction; c != nil && plan.Event.Drift != nil {
			net := event.AvailableSeats - event.Oversold
			*c = Correction{EventID: c.EventID, Before: net + plan.Event.Drift.Amount, After: event.AvailableSeats, Oversold: event.Oversold}
		}
	}
}

// AcquiredAt is a new lock as it is written at now.
func (p Plan) AcquiredAt(i int, now time.Time) holdfast.Lock {
	lock := p.Acquired[i]
	if lock.ExpiresAt.IsZero() {
		lock.ExpiresAt = now.Add(p.TTL[i])
	}
	lock.CreatedAt = now
	return lock
}
