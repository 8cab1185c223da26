package holdfast

import (
	"strconv"
	"time"
)

// LockStatus is the state of a lock.
type LockStatus string

// A lock begins ACTIVE. It ends CONSUMED, RELEASED or EXPIRED; a CONSUMED lock is
// RELEASED when its confirmed booking is cancelled.
const (
	LockActive   LockStatus = "ACTIVE"
	LockConsumed LockStatus = "CONSUMED"
	LockExpired  LockStatus = "EXPIRED"
	LockReleased LockStatus = "RELEASED"
)

// LockBlocked is the venue's own lock: its seats are out of sale until it is RELEASED. It has no
// user and no expiry, and no list of locks has it.
const LockBlocked LockStatus = "BLOCKED"

// LockStatuses returns the statuses of customers' locks, in a new slice. The venue's own, LockBlocked, is
// none of them.
func LockStatuses() []LockStatus {
	return []LockStatus{LockActive, LockConsumed, LockExpired, LockReleased}
}

// TakingStatuses returns the statuses in which a lock takes seats, in a new slice.
func TakingStatuses() []LockStatus { return []LockStatus{LockActive, LockBlocked, LockConsumed} }

// LockAction changes the status of a lock.
type LockAction string

// The actions on a lock.
const (
	ConsumeLock LockAction = "consume" // its booking is confirmed
	ReleaseLock LockAction = "release" // by the client, or its booking is cancelled
	ExpireLock  LockAction = "expire"  // it is due
)

// nextLock has all transitions of a lock; every other pair is refused.
var nextLock = map[LockStatus]map[LockAction]LockStatus{
	LockActive:   {ConsumeLock: LockConsumed, ReleaseLock: LockReleased, ExpireLock: LockExpired},
	LockConsumed: {ReleaseLock: LockReleased},
	LockBlocked:  {ReleaseLock: LockReleased},
}

// Next is the status after the action; ok is false if the action is refused.
func (s LockStatus) Next(a LockAction) (to LockStatus, ok bool) {
	to, ok = nextLock[s][a]
	return to, ok
}

// EndedBy is the cause of a lock's end.
type EndedBy string

// The causes of a lock's end.
const (
	EndedByAPI           EndedBy = "api"
	EndedByLockExpiry    EndedBy = "lock-expiry"
	EndedByBookingExpiry EndedBy = "booking-expiry"
	EndedByRecovery      EndedBy = "recovery"
	EndedByReclaim       EndedBy = "reclaim"
	EndedByLatePayment   EndedBy = "late-payment" // a lock of the same booking has its seats
	EndedByEventCancel   EndedBy = "event-cancel"
)

// Lock is a customer's timed claim on seats of one event.
type Lock struct {
	ID          ID
	EventID     ID
	UserID      ID
	Seats       int64 // 0 if the document has no whole number ≥ 1
	Status      LockStatus
	ExpiresAt   time.Time
	Key         string // idempotency key, "" for none
	RequestHash string // of the request that made it, "" if that had no key, or other software made it
	BookingID   ID     // its live booking, zero for none
	CreatedAt   time.Time
	// SeatIDs are the numbered seats, in plan order; nil: none. They stay when the lock ends.
	SeatIDs []string
	Section string // of general admission in a seated event; "" for none
}

// Due reports whether the lock's time has passed at now, by the database's clock.
// A due lock counts as expired, even before a sweep ends it.
func (l Lock) Due(now time.Time) bool { return !l.ExpiresAt.After(now) }

// Ended returns the refusal for a lock that is not ACTIVE, or that is due at now, by
// the database's clock; nil for a live lock.
func (l Lock) Ended(now time.Time) error {
	switch {
	case l.Status == LockConsumed:
		return Refuse(CodeLockConsumed, "The lock's booking is confirmed.")
	case l.Status == LockReleased:
		return Refuse(CodeLockReleased, "The lock has been released.")
	case l.Status == LockActive && !l.Due(now):
		return nil
	default:
		return Refuse(CodeLockExpired, "The lock has expired.")
	}
}

// LockRequest asks for seats.
type LockRequest struct {
	EventID ID
	UserID  ID
	Seats   int64  // how many, in every form of the wish
	Wish    Wish   // which; zero: of an unseated event
	Until   Until  // zero: the default time
	Key     string // idempotency key, "" for none
}

// Hash is different for different requests with one idempotency key.
func (r LockRequest) Hash() string {
	const usual = 256 // bytes, for four named seats
	text := strconv.AppendInt(make([]byte, 0, usual), r.Seats, 10)
	text = strconv.AppendInt(append(text, '|'), r.Until.At.UnixMilli(), 10)
	text = strconv.AppendInt(append(text, '|'), r.Until.For.Milliseconds(), 10)
	if !r.Wish.IsZero() {
		text = r.Wish.appendCanonical(append(text, '|'))
	}
	return hashOf(text)
}

// Made reports whether this request made the lock. A lock of other software has no
// hash: the number of seats decides.
func (r LockRequest) Made(l Lock) bool {
	if l.RequestHash == "" {
		return l.Seats == r.Seats
	}
	return l.RequestHash == r.Hash()
}

// LockFilter selects locks of a list; a nil ID and the status "" match all.
type LockFilter struct {
	EventID, UserID *ID // the zero ID is refused: it may be an ID that was never set
	Status          LockStatus
}

// Check refuses a filter that no lock can match.
func (f LockFilter) Check() error { return checkFilter(f.EventID, f.UserID, f.Status, LockStatuses()) }
