package inventory

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Plan contains the writes of a decision, in one transaction and in this order: the event, the locks that change,
// new locks, bookings, payments, entries of the waiting list. If one of its guards does not match at the write, the whole plan is
// stale, nothing is written, and the commands are decided again.
type Plan struct {
	Event       *EventWrite // nil: the event is not written
	Locks       []LockWrite
	Acquired    []holdfast.Lock // new locks; a zero ExpiresAt means the time of the write plus TTL
	TTL         []time.Duration // parallel to Acquired
	Bookings    []BookingWrite
	NewBookings []holdfast.Booking // a zero CreatedAt means that all their times are that of the write
	Payments    []PaymentWrite
	NewPayments []holdfast.Payment
	Entries     []EntryWrite
	NewEntries  []NewEntry
	// NotBefore and Before are guards: at the write of the event, the database's clock is not before NotBefore and,
	// unless Before is zero, it is before Before.
	NotBefore, Before time.Time

	// Changes are the visible changes of the writes above, in their order; see also EventChanges.
	Changes []Change
	// Told are the changes of the event, except for those that follow from its counter.
	Told []holdfast.ChangeType
	// ToldBy is the index of the command that made the changes in Told, and CountedBy that of the last command that
	// moved the counter.
	ToldBy, CountedBy int
	// DecidedAt is the database's clock at the decision. It is zero if the event came from the cache.
	DecidedAt time.Time
	// PlanID is the seating plan of the event after the plan.
	PlanID ID
}

// IsEmpty reports whether there is nothing to write.
func (p Plan) IsEmpty() bool {
	return p.Event == nil && len(p.Locks)+len(p.Acquired)+len(p.Bookings)+len(p.NewBookings)+len(p.Payments)+len(p.NewPayments) == 0 &&
		len(p.Entries)+len(p.NewEntries) == 0
}

// EventWrite changes an event and raises its revision, so that it conflicts with every other change. Only a Touch
// and a Drift do not raise the revision. A Touch conflicts with transactions that run at the same time. A Drift
// changes the counter, which an IfUnchanged guard notices.
type EventWrite struct {
	// IfUnchanged is a guard: the event has this revision, total, counter, status, limit, times of the sale, seating
	// plan and rules.
	IfUnchanged *Event
	// AtLeast is the guard if IfUnchanged is nil: the event is on sale, at these times, has no limit per user and no entry that
	// waits, and has at least this many available seats. The guard of a Drift is in Drift.
	AtLeast                  int64
	SaleStartsAt, SaleEndsAt time.Time
	// Touch says that the write changes no visible field, and does not raise the revision. A refusal uses it.
	Touch bool

	// Raise is how much the revision is raised. If it is below 1, the revision is raised by 1. A restored or
	// manually changed event may have an old revision, with which a process may have cached another map. So a repair
	// raises the revision to the time in milliseconds: an event has fewer than a thousand transactions in a second.
	Raise int64

	Available, Oversold int64  // added to the counter
	Blocked             *int64 // replaces the number of seats that the venue has blocked
	Maps                []SectionMap
	AllMaps             bool                        // Maps has all sections, and replaces the stored ones
	Sections            *[]holdfast.SectionCapacity // replaces the capacities of general admission
	Counter             *Counter
	Drift               *Drift
	Fields              holdfast.EventChange // its ShopData is in ShopData
	ShopData            *holdfast.ShopData   // replaces both fields
	RunID               string               // of the run that made the change
	SweptAtRev          *int64
	List                *List // replaces the state of the waiting list
}

// SectionMap is the occupancy of a section after the plan.
type SectionMap struct {
	Section int    // the number of the section in the plan
	Bits    []byte // see seating.Occupancy.Bytes; nil for general admission
	Taken   int64  // of general admission
}

// Counter replaces an event's counter, which was wrong.
type Counter struct{ AvailableSeats, Oversold int64 }

// Drift is subtracted from the counter's value at the time of the write. Sales change counter and locks together, so
// they do not change the drift. Another repair does.
type Drift struct {
	Amount int64
	// Repairs is a guard: the event was not repaired since the drift was measured.
	Repairs int64
	// Quiet is a guard too: the event has available seats both before and after, or neither. Otherwise the change
	// would have to be reported.
	Quiet bool
}

// LockWrite changes a lock that has the status From.
type LockWrite struct {
	ID        ID
	EventID   ID // of the lock as it was read; zero if it names none
	From, To  holdfast.LockStatus
	Guard     LockGuard
	Revision  int64     // for all guards except AnyRevision
	Before    time.Time // for LiveAtRevision: the clock at the write is before this; zero: at any time
	ExpiresAt time.Time // zero: unchanged
	BookingID ID        // unchanged if it is zero
	EndedBy   holdfast.EndedBy
	RunID     string
	Seats     *LockSeats         // nil: unchanged
	ShopData  *holdfast.ShopData // replaces both fields; nil: unchanged
}

// LockSeats replaces the seats of a lock.
type LockSeats struct {
	Seats   int64
	SeatIDs []string // in plan order
	Section string
}

// LockGuard is the condition on a lock in addition to its status.
type LockGuard int

// These are the guards of a lock. A guard by time is evaluated by the database's clock at the write.
const (
	AnyRevision    LockGuard = iota // the status is enough, because the transaction has read the lock
	IsDue                           // the lock is due, and has not changed since it was read
	AtRevision                      // the lock has not changed since it was read
	LiveAtRevision                  // the lock has not changed, and is not due
)

// BookingWrite changes a booking that has the status From and the revision, and raises the revision.
type BookingWrite struct {
	ID               ID
	EventID          ID // of the booking as it was read; zero if it names none
	From, To         holdfast.BookingStatus
	Revision         int64                     // a guard: the booking has not changed since it was read
	WindowOpen       bool                      // a guard: its payment window has not passed at the write
	PaymentExpiresAt time.Time                 // zero: unchanged
	PaymentReference string                    // unchanged if it is empty
	LockID           ID                        // unchanged if it is zero
	Late             bool                      // with LockID: a late payment was accepted
	ShopData         *holdfast.ShopData        // replaces both fields; nil: unchanged
	Seats            *LockSeats                // nil: unchanged
	Customer         *Customer                 // nil: unchanged
	Payments         *[]holdfast.ListedPayment // nil: unchanged
	Done             *[]holdfast.DoneRequest   // nil: unchanged
	UpdatedAt        time.Time                 // zero: unchanged
	RunID            string
}

// Customer is a user, or a holder with the ID that is derived from it.
type Customer struct {
	UserID ID
	Holder string
}

// StillDue returns those of some due locks, soonest expiry first, that the plan does not end, up to MaxReclaim seats. It
// returns none if others may be due before them: a new lock, or one of them that the plan changes.
func (p Plan) StillDue(due []Lock) []Lock {
	if len(due) == 0 {
		return nil
	}
	last := due[len(due)-1].ExpiresAt
	if slices.ContainsFunc(p.Acquired, func(l holdfast.Lock) bool { return l.ExpiresAt.Before(last) && !l.ExpiresAt.IsZero() }) {
		return nil
	}
	ended := make(map[ID]bool, len(p.Locks))
	for _, w := range p.Locks {
		if w.To == w.From {
			return nil
		}
		ended[w.ID] = true
	}
	var left []Lock
	for seats := 0; len(due) > 0 && seats < MaxReclaim; due = due[1:] {
		if !ended[due[0].ID] {
			left, seats = append(left, due[0]), seats+max(1, len(due[0].SeatIDs))
		}
	}
	return left
}

// endBefore adds a guard: the plan is written before a time.
func (p *Plan) endBefore(t time.Time) {
	if p.Before.IsZero() || t.Before(p.Before) {
		p.Before = t
	}
}

// InTime reports whether the guards by the clock match at now.
func (p Plan) InTime(now time.Time) bool {
	return !now.Before(p.NotBefore) && (p.Before.IsZero() || now.Before(p.Before))
}

// Result is the outcome of a command. Unless the command is refused, it contains the lock, the booking or the event
// of the command.
type Result struct {
	Err      error // a refusal
	Lock     *holdfast.Lock
	Booking  *holdfast.Booking
	Event    *holdfast.Event
	Payment  *holdfast.Payment // of a refused confirmation too
	Entry    *holdfast.WaitlistEntry
	Replayed bool // an earlier request created the lock or the booking
	// IsLate says that the payment is late, and that nothing is decided: the confirmation has to be submitted to the
	// queue of the event.
	IsLate bool
	// Undecided says that the command has no result yet. It goes first in the next batch.
	Undecided bool
	// MoreOffers says that offers are left to be made, or entries to be closed, by a further command.
	MoreOffers bool
	List       ListCheck // by CheckList

	Ended      []Ended     // by a sweep
	Busy       bool        // other processes wrote the event since the previous sweep
	Correction *Correction // by a repair
	Corrected  int64       // number of seats of a map that a repair has corrected
	Union      *Union      // by a repair of a map
	WrongMap   bool        // by a repair of a map: it was wrong, or blockedSeats was
	WrongList  bool        // by a RecountList: it has corrected the number
	WrongTotal bool        // by a repair of a map: totalSeats differs from the plan and the capacities

	acquired   int // 1 + the index in Plan.Acquired
	booked     int // 1 + the index in Plan.NewBookings, of a sale
	joined     int // 1 + the index in Plan.NewEntries
	checksList bool
	isGranted  bool // a change of a booking that moves seats, customer or money
}

// Grants reports whether the command grants what its caller may have asked another process for, once it has given up:
// a new lock, or a change of a booking.
func (r Result) Grants() bool { return r.acquired > 0 && !r.Replayed || r.isGranted }

// Ended is a lock or a booking that a sweep expired.
type Ended struct {
	Booking, Lock ID
	Seats         int64 // that came back
}

// Correction is a counter that was repaired. Before and After are available seats.
type Correction struct {
	EventID                 ID
	Before, After, Oversold int64
}

// Complete fills in the data that is known only after the write: the database's clock, and the event. Results point
// to the plan's locks.
func Complete(plan Plan, results []Result, now time.Time, event holdfast.Event) {
	for i := range plan.Acquired {
		plan.Acquired[i] = plan.AcquiredAt(i, now)
	}
	for i := range plan.NewBookings {
		plan.NewBookings[i] = plan.BookedAt(i, now)
	}
	for i := range plan.NewEntries {
		plan.NewEntries[i] = plan.JoinedAt(i, now)
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

// BookedAt returns a new booking as it is written at now.
func (p Plan) BookedAt(i int, now time.Time) holdfast.Booking {
	b := p.NewBookings[i]
	if b.CreatedAt.IsZero() {
		b.CreatedAt, b.UpdatedAt, b.PaymentExpiresAt = now, now, now
	}
	return b
}

// AcquiredAt returns a new lock as it is written at now.
func (p Plan) AcquiredAt(i int, now time.Time) holdfast.Lock {
	lock := p.Acquired[i]
	if lock.ExpiresAt.IsZero() && lock.Status != holdfast.LockBlocked {
		lock.ExpiresAt = now.Add(p.TTL[i])
	}
	lock.CreatedAt = now
	return lock
}

// JoinedAt returns a new entry as it is written at now.
func (p Plan) JoinedAt(i int, now time.Time) NewEntry {
	e := p.NewEntries[i]
	e.CreatedAt, e.UpdatedAt = now, now
	return e
}
