package inventory

import (
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Plan has the writes of a decision, in one transaction and in this order: the event, the
// locks that change, new locks, bookings, payments. If one of its guards does not hold at the write,
// the whole plan is stale, nothing is written, and the commands are decided again.
type Plan struct {
	Event       *EventWrite // nil: the event is not written
	Locks       []LockWrite
	Acquired    []holdfast.Lock // new locks; a zero ExpiresAt means the time of the write plus TTL
	TTL         []time.Duration // parallel to Acquired
	Bookings    []BookingWrite
	NewBookings []holdfast.Booking
	Payments    []PaymentWrite
	NewPayments []holdfast.Payment
	// NotBefore and Before are guards: the database's clock at the write of the event is not
	// earlier than the first and, unless it is zero, earlier than the second.
	NotBefore, Before time.Time
	// Unproven has what refusals of the plan rely on but is not read: that there is no lock with their keys, and
	// no due lock on their seats. Read it before the transaction commits, outside of it, and see IsProven.
	Unproven Needs
	// UnprovenAt is the revision of the event that the read must find.
	UnprovenAt int64
	// UnprovenOn is the event that the read must find, if the plan does not write the event, and so does not guard it.
	UnprovenOn *Event

	// Changes are what can be seen from outside of the writes above, in their order; see also EventChanges.
	Changes []Change
	// Told are the changes of the event, but for those that follow from its counter.
	Told []holdfast.ChangeType
	// ToldBy is the command that made the changes in Told, by its index, and CountedBy the last one that moved the
	// counter.
	ToldBy, CountedBy int
	// DecidedAt is the database's clock at the decision; zero if it was decided from memory.
	DecidedAt time.Time
	// PlanID is the seating plan of the event, as the plan leaves it.
	PlanID ID
}

// IsProven reports whether a read of Unproven proves the refusals: it found nothing, and the event is as it was
// when the plan was decided, or before its transaction held it. The plan's guard sees to it that it stays so. A plan
// without one needs no more than that it was so when it was read.
func (p Plan) IsProven(s State) bool {
	isGuarded := p.Event != nil && p.Event.IfUnchanged != nil
	switch {
	case s.Event == nil, !isGuarded && !s.Event.isAs(p.UnprovenOn):
		return false
	case isGuarded && s.Event.Seating != p.Event.IfUnchanged.Seating: // other software may change a rule and not the revision
		return false
	}
	for _, key := range p.Unproven.Keys { // the state may have other pairs of their users and keys
		if s.Keys[key] != nil {
			return false
		}
	}
	for _, lock := range p.Acquired { // the seats of one that is due at once are not taken
		if lock.Status == holdfast.LockActive && !lock.ExpiresAt.IsZero() && lock.Due(s.Now) {
			return false
		}
	}
	for _, id := range p.Unproven.Holders {
		if s.Holders[id] != nil {
			return false
		}
	}
	return !s.Event.Unguarded && s.Event.Revision == p.UnprovenAt
}

// IsEmpty reports whether there is nothing to write.
func (p Plan) IsEmpty() bool {
	return p.Event == nil && len(p.Locks)+len(p.Acquired)+len(p.Bookings)+len(p.NewBookings)+len(p.Payments)+len(p.NewPayments) == 0
}

// EventWrite changes an event and raises its revision, so that it conflicts with every
// other change. Only a Drift does not raise the revision: an IfUnchanged guard notices a
// drift by the counter or, for an Incomparable event, by the number of repairs.
type EventWrite struct {
	// IfUnchanged is a guard: the event has this revision, total, counter, status, limit, seating plan and rules. Of one that
	// is Incomparable, or whose counter is no number, the revision and the number of repairs.
	IfUnchanged *Event
	// AtLeast is the guard if IfUnchanged is nil: the event is on sale, has no limit per
	// user, and has at least this many available seats. The guard of a Drift is in Drift.
	AtLeast int64
	// Fence: the write raises the revision and changes nothing else, not even the event's updatedAt. It is of a
	// refusal.
	Fence bool

	// Raise is how much the revision is raised; below 1 it is raised by 1. Other software that has changed a map may
	// have set the revision back, to one that a process still remembers with another map. So a repair raises it to
	// the time, in milliseconds: no event has a thousand transactions in a second.
	Raise int64

	Available, Oversold int64  // added to the counter
	Blocked             *int64 // replaces the number of seats that the venue has blocked
	Maps                []SectionMap
	AllMaps             bool                        // Maps has all sections, and replaces what is there
	Sections            *[]holdfast.SectionCapacity // replaces the capacities of general admission
	Counter             *Counter
	Drift               *Drift
	Fields              holdfast.EventChange
	RunID               string // of the run that made the change
	SweptAtRev          *int64
}

// SectionMap is what is taken of a section, as the plan leaves it.
type SectionMap struct {
	Section int    // its number in the plan
	Bits    []byte // see seating.Occupancy.Bytes; nil for general admission
	Taken   int64  // of general admission
}

// Counter replaces an event's counter, which was wrong.
type Counter struct{ AvailableSeats, Oversold int64 }

// Drift is subtracted from the counter's value at the time of the write. Sales change
// counter and locks together, so they do not change the drift. Another repair does.
type Drift struct {
	Amount int64
	// Repairs is the guard: the event was not repaired since the drift was measured.
	Repairs *int64
	Former  Former
	// Quiet is a guard too: the event has available seats before and after, or neither. Otherwise it would have to
	// be told.
	Quiet bool
}

// LockWrite changes a lock that has the status From.
type LockWrite struct {
	ID           ID
	EventID      ID // of the lock as it was read; zero if it names none
	From, To     holdfast.LockStatus
	Guard        LockGuard
	Revision     *int64    // for all guards but AnyRevision
	Former       Former    // for AtRevision and LiveAtRevision
	Before       time.Time // for LiveAtRevision: the clock at the write is before this; zero: at any time
	ExpiresAt    time.Time // zero: unchanged
	BookingID    ID        // zero: unchanged
	ClearBooking bool
	EndedBy      holdfast.EndedBy
	RunID        string
	Seats        *LockSeats // nil: unchanged
}

// LockSeats replaces the seats of a lock.
type LockSeats struct {
	Seats   int64
	SeatIDs []string // in plan order
	Section string
}

// LockGuard is the condition on a lock in addition to its status.
type LockGuard int

// The guards of a lock. A guard by time is evaluated by the database's clock at the write.
const (
	AnyRevision    LockGuard = iota // the status is enough, because the transaction has read the lock
	IsDue                           // the lock is due, and has not changed since it was read
	AtRevision                      // the lock has not changed since it was read
	LiveAtRevision                  // the lock has not changed, and is not due
)

// BookingWrite changes a booking that has the status From.
type BookingWrite struct {
	ID               ID
	EventID          ID // of the booking as it was read; zero if it names none
	From, To         holdfast.BookingStatus
	WindowOpen       bool      // guard: its payment window has not passed at the write
	PaymentExpiresAt time.Time // zero: unchanged
	PaymentReference string    // "": unchanged
	PaymentID        ID        // zero: unchanged
	LockID           ID        // zero: unchanged
	Late             bool      // a late payment was accepted
	// Quiet: the write changes nothing that can be seen, and leaves the revision. It conflicts with other writes.
	Quiet bool
	// ChecksPayment is a guard: the booking is confirmed with the payment PaidBy; zero: with none that is recorded.
	ChecksPayment bool
	PaidBy        ID
	UpdatedAt     time.Time
	RunID         string
}

// InTime reports whether the guards by the clock hold at now.
func (p Plan) InTime(now time.Time) bool {
	return !now.Before(p.NotBefore) && (p.Before.IsZero() || now.Before(p.Before))
}

// Result is the outcome of a command. Unless the command is refused, it has the lock, the
// booking or the event that the command is about.
type Result struct {
	Err      error // a refusal
	Lock     *holdfast.Lock
	Booking  *holdfast.Booking
	Event    *holdfast.Event
	Payment  *holdfast.Payment // of a refused confirmation too
	Replayed bool              // an earlier request made the lock or the booking
	// IsLate: nothing is decided. The payment is late, so the confirmation has to be in the queue of the event.
	IsLate bool
	// Undecided: the command has no result yet. It goes first in the next batch.
	Undecided bool

	Ended      []Ended     // by a sweep
	Consumed   []ID        // sold locks that a sweep marked CONSUMED
	Busy       bool        // other processes wrote the event since the previous sweep
	Correction *Correction // by a repair
	Corrected  int64       // seats of a map, by a repair
	Union      *Union      // by a repair of a map
	IsSuspect  bool        // by a repair of a map: the counter may have to be repaired too
	WrongTotal bool        // by a repair of a map: totalSeats is not what the plan and the capacities have
	Overfull   bool        // by a repair of a map: more is taken of general admission than a section has

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

// Complete fills in the data that is known only after the plan was written: the database's
// clock, and the event. Results point to the plan's locks.
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
	if lock.ExpiresAt.IsZero() && lock.Status != holdfast.LockBlocked {
		lock.ExpiresAt = now.Add(p.TTL[i])
	}
	lock.CreatedAt = now
	return lock
}
