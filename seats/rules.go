package seats

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/ids"
)

// ID names an event, a lock or a user.
type ID = ids.ID

// Status of a lock.
type Status string

// A lock begins ACTIVE and ends in one of the others; a CONSUMED one, whose
// booking is confirmed, can still be RELEASED when that is cancelled.
const (
	Active   Status = "ACTIVE"
	Consumed Status = "CONSUMED"
	Expired  Status = "EXPIRED"
	Released Status = "RELEASED"
)

// Action moves a lock.
type Action string

// The actions on a lock.
const (
	Consume Action = "consume" // its booking is confirmed
	Release Action = "release" // by the client, or its booking is cancelled
	Expire  Action = "expire"  // it is due
)

// next is the whole life of a lock; a pair that is absent is refused.
var next = map[Status]map[Action]Status{
	Active:   {Consume: Consumed, Release: Released, Expire: Expired},
	Consumed: {Release: Released},
}

// Next is the status that the action leads to; ok is false where it is refused.
func (s Status) Next(a Action) (to Status, ok bool) {
	to, ok = next[s][a]
	return to, ok
}

// Statuses lists a lock's statuses.
var Statuses = []Status{Active, Consumed, Expired, Released}

// taking are the statuses that count against the capacity.
var taking = []Status{Active, Consumed}

// SaleStatus says whether an event sells.
type SaleStatus string

// CLOSED refuses new locks only. CANCELLED also refuses to extend, book, pay
// and confirm; it is final and cancels nothing by itself. Any other value, which
// foreign tools may write, counts as not on sale.
const (
	OnSale    SaleStatus = "ON_SALE"
	Closed    SaleStatus = "CLOSED"
	Cancelled SaleStatus = "CANCELLED"
)

// EndedBy says what ended a lock.
type EndedBy string

// What ends locks.
const (
	ByAPI           EndedBy = "api"
	ByLockExpiry    EndedBy = "lock-expiry"
	ByBookingExpiry EndedBy = "booking-expiry"
	ByRecovery      EndedBy = "recovery"
	ByReclaim       EndedBy = "reclaim"
)

// Codes of the refusals of this package.
const (
	CodeEventNotFound     fault.Code = "EVENT_NOT_FOUND"
	CodeLockNotFound      fault.Code = "LOCK_NOT_FOUND"
	CodeSeatsUnavailable  fault.Code = "SEATS_UNAVAILABLE" // with requested and available
	CodeSeatLimit         fault.Code = "SEAT_LIMIT_REACHED"
	CodeNotOnSale         fault.Code = "EVENT_NOT_ON_SALE"
	CodeCapacity          fault.Code = "CAPACITY_BELOW_TAKEN"
	CodeLockConsumed      fault.Code = "LOCK_CONSUMED"
	CodeLockReleased      fault.Code = "LOCK_RELEASED"
	CodeLockExpired       fault.Code = "LOCK_EXPIRED"
	CodeIdempotencyReused fault.Code = "IDEMPOTENCY_KEY_REUSED"
)

// Codes lists them.
var Codes = []fault.Code{
	CodeEventNotFound, CodeLockNotFound, CodeSeatsUnavailable, CodeSeatLimit, CodeNotOnSale, CodeCapacity,
	CodeLockConsumed, CodeLockReleased, CodeLockExpired, CodeIdempotencyReused,
}

// MaxSeats is the largest capacity of an event.
const MaxSeats = 10_000_000

// Event is an inventory of seats.
type Event struct {
	ID              ID
	Name            string
	TotalSeats      int64
	AvailableSeats  int64
	Oversold        int64 // seats taken beyond the total, paid down before any goes back on sale
	EventDate       time.Time
	Status          SaleStatus
	MaxSeatsPerUser int64 // 0: no limit
	CreatedAt       time.Time
	UpdatedAt       time.Time
}

// Lock is a customer's timed claim on seats of one event.
type Lock struct {
	ID        ID
	EventID   ID
	UserID    ID
	Seats     int64 // 0 where the document holds no whole number ≥ 1
	Status    Status
	ExpiresAt time.Time
	Key       string // idempotency key, "" for none
	BookingID ID     // its live or confirmed booking, zero for none
	CreatedAt time.Time

	hash string
}

// Due reports whether the lock's time has passed at now, which must come from
// the database's clock.
func (l Lock) Due(now time.Time) bool { return !l.ExpiresAt.After(now) }

// Ended is the refusal that fits the status of a lock that is not ACTIVE, or
// not any more by the database's clock; nil for a live one.
func (l Lock) Ended(now time.Time) error {
	switch {
	case l.Status == Consumed:
		return fault.New(CodeLockConsumed, "The lock's booking is confirmed.")
	case l.Status == Released:
		return fault.New(CodeLockReleased, "The lock has been released.")
	case l.Status == Active && !l.Due(now):
		return nil
	default:
		return fault.New(CodeLockExpired, "The lock's time has passed.")
	}
}

// Until is a point in time as a client asks for it: an absolute time, or a
// duration from now by the database's clock. Both zero: the default.
type Until struct {
	At  time.Time
	For time.Duration
}

// IsZero reports whether the client asked for nothing.
func (u Until) IsZero() bool { return u.At.IsZero() && u.For == 0 }

// From is the time meant, reckoned from now, in whole milliseconds.
func (u Until) From(now time.Time) time.Time {
	if !u.At.IsZero() {
		return u.At.UTC().Truncate(time.Millisecond)
	}
	return now.Add(u.For)
}

// LockRequest asks for seats.
type LockRequest struct {
	EventID ID
	UserID  ID
	Seats   int64
	Until   Until
	Key     string // idempotency key, "" for none
}

// hash tells requests with the same key apart.
func (r LockRequest) hash() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d|%d|%d", r.Seats, r.Until.At.UnixMilli(), r.Until.For.Milliseconds()))
	const enough = 16
	return hex.EncodeToString(sum[:enough])
}

// sameAs reports whether lock was made by the same request; without a hash,
// which other tools don't write, the seats decide.
func (r LockRequest) sameAs(lock Lock) bool {
	if lock.hash == "" {
		return lock.Seats == r.Seats
	}
	return lock.hash == r.hash()
}

// Limits bound what one customer may claim.
type Limits struct {
	DefaultTTL time.Duration // of a lock that asks for no time
	MaxTTL     time.Duration // from a lock's creation
	// MaxSeats of one lock, and MaxLocks that a user holds of one event, ACTIVE and
	// not due; 0 is no limit.
	MaxSeats, MaxLocks int64
}

func beyondCap(field string, most time.Duration) error {
	return fault.Invalid("body."+field, "The time lies further ahead than the %v that are allowed.", most)
}

// tally is an event's counter while a transaction moves it.
type tally struct {
	total, available, oversold int64
}

// take claims n seats if they fit.
func (t *tally) take(n int64) bool {
	if n > t.available {
		return false
	}
	t.available -= n
	return true
}

// give brings n seats back: what was sold beyond the total is paid down first.
func (t *tally) give(n int64) {
	paid := min(n, t.oversold)
	t.oversold -= paid
	t.available += n - paid
}

// sound reports whether the counter is one that may be committed.
func (t tally) sound() bool {
	return 0 <= t.available && t.available <= t.total && 0 <= t.oversold && (t.available == 0 || t.oversold == 0)
}

// tallyOf is the only sound counter for a capacity and the seats taken.
func tallyOf(total, taken int64) tally {
	return tally{total: total, available: max(0, total-taken), oversold: max(0, taken-total)}
}
