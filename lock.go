package holdfast

import (
	"fmt"
	"slices"
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

// LockStatuses returns the statuses of customers' locks, in a new slice. LockBlocked, of the
// venue's own locks, is not included.
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
	ReleaseLock LockAction = "release" // by the client, or its booking is cancelled or transferred
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
	EndedByLatePayment   EndedBy = "late-payment" // a new lock of the same booking has the seats
	EndedByEventCancel   EndedBy = "event-cancel"
	EndedByTransfer      EndedBy = "transfer" // a new lock of the booking's next customer has the seats
)

// Lock is a customer's timed claim on seats of one event.
type Lock struct {
	ID          ID     `bson:"_id"`
	EventID     ID     `bson:"eventId"`
	UserID      ID     `bson:"userId"` // of a holder: HolderID
	Holder      string // "" if a user has the lock
	Seats       int64  // at least 1
	Status      LockStatus
	ExpiresAt   time.Time `bson:"expiresAt"`
	Key         string    `bson:"idempotencyKey"` // idempotency key, "" for none
	RequestHash string    `bson:"requestHash"`    // hash of the request that made it; "" if that had no key, or other software made it
	BookingID   ID        `bson:"bookingId"`      // the booking that it last had, zero for none
	CreatedAt   time.Time `bson:"createdAt"`
	// SeatIDs are the numbered seats in plan order, or nil. They stay when the lock ends.
	SeatIDs []string `bson:"seatIds"`
	Section string   // of general admission in a seated event; "" for none
	// EntryID is the entry of the waiting list that got the lock as an offer; zero for none.
	EntryID  ID `bson:"waitlistEntryId"`
	ShopData `bson:",inline"`
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
	UserID  ID     // or Holder
	Holder  string // see CustomerID
	Seats   int64  // number of seats, in every form of the wish
	Wish    Wish   // which seats; zero for an unseated event
	Until   Until  // zero means the default lifetime
	Key     string // idempotency key, "" for none
	ShopData
}

// Hash differs between different requests with one idempotency key.
func (r LockRequest) Hash() string {
	const usual = 256 // bytes, for four named seats
	text := strconv.AppendInt(make([]byte, 0, usual), r.Seats, 10)
	text = strconv.AppendInt(append(text, '|'), r.Until.At.UnixMilli(), 10)
	text = strconv.AppendInt(append(text, '|'), r.Until.For.Milliseconds(), 10)
	if r.Holder != "" {
		text = strconv.AppendQuote(append(text, "|holder "...), r.Holder)
	}
	if !r.Wish.IsZero() {
		text = r.Wish.appendCanonical(append(text, '|'))
	}
	return hashOf(r.appendShopData(text))
}

// Made reports whether this request made the lock. For a lock of other software, which has
// no hash, the holder and the number of seats decide.
func (r LockRequest) Made(l Lock) bool {
	if l.RequestHash == "" {
		return l.Holder == r.Holder && l.Seats == r.Seats
	}
	return l.RequestHash == r.Hash()
}

// LockFilter selects locks of a list; a nil ID and an empty text match all.
type LockFilter struct {
	EventID, UserID *ID    // the zero ID is refused: it may be an ID that was never set
	Holder          string // in place of UserID; "" matches all
	Status          LockStatus
	Reference       string // of ShopData
}

// Check refuses a filter that no lock can match.
func (f LockFilter) Check() error {
	if err := checkShopReference("query.reference", f.Reference); err != nil {
		return err
	}
	return checkFilter(f.EventID, f.UserID, f.Holder, f.Status, LockStatuses())
}

// Wish is the request for seats of a seated event, in one of three forms: named seats, the best
// available ones, or general admission in a section. A zero Wish names none, as for an unseated event.
type Wish struct {
	SeatIDs []string // 1 to MaxNamedSeats, in any order
	// Accessible is the number of accessible seats among the named ones, which are taken only when they are asked for.
	Accessible int64
	Best       *BestAvailable
	Section    string // key, for general admission
}

// BestAvailable leaves the choice of seats to the engine.
type BestAvailable struct {
	Categories []string // keys, the preferred one first; nil means all, in the plan's order
	Section    string   // key of the only section; "" means any
	Accessible int64    // exact number of accessible seats
	Required   bool     // refuse if the seats would not be adjacent
}

// IsZero reports whether the wish names no seats.
func (w Wish) IsZero() bool {
	return len(w.SeatIDs) == 0 && w.Best == nil && w.Section == ""
}

// Clone returns a copy that shares nothing with the wish.
func (w Wish) Clone() Wish {
	w.SeatIDs = slices.Clone(w.SeatIDs)
	if w.Best != nil {
		best := *w.Best
		best.Categories = slices.Clone(best.Categories)
		w.Best = &best
	}
	return w
}

// Count checks the form of a wish for a number of seats, and returns that number. For named seats it may be
// given as 0.
func (w Wish) Count(seats int64) (int64, error) {
	most := int64(MaxSeats)
	switch {
	case w.forms() > 1, len(w.SeatIDs) > 0 && seats != 0 && seats != int64(len(w.SeatIDs)):
		return 0, RefuseInput("body", "Give exactly one of seats, seatIds, bestAvailable, or a section with seats.")
	case len(w.SeatIDs) > MaxNamedSeats:
		return 0, RefuseInput("body.seatIds", "seatIds must have at most %d items.", MaxNamedSeats)
	case len(w.SeatIDs) > 0:
		seats = int64(len(w.SeatIDs))
	case w.Best != nil:
		most = MaxNamedSeats
	}
	if seats < 1 || seats > most {
		return 0, RefuseInput("body.seats", "The number of seats must be between 1 and %d.", most)
	}
	if a := w.accessible(); a < 0 || a > seats {
		field := "body.accessibleSeats"
		if w.Best != nil {
			field = "body.bestAvailable.accessibleSeats"
		}
		return 0, RefuseInput(field, "accessibleSeats must be between 0 and the number of seats.")
	}
	return seats, nil
}

// forms is the number of forms that the wish has.
func (w Wish) forms() (n int) {
	for _, has := range []bool{len(w.SeatIDs) > 0, w.Best != nil, w.Section != ""} {
		if has {
			n++
		}
	}
	return n
}

func (w Wish) accessible() int64 {
	if w.Best != nil {
		return w.Best.Accessible
	}
	return w.Accessible
}

// Field is the part of a request that has the wish.
func (w Wish) Field() string {
	switch {
	case len(w.SeatIDs) > 0:
		return "body.seatIds"
	case w.Best != nil:
		return "body.bestAvailable"
	case w.Section != "":
		return "body.section"
	default:
		return "body.seats"
	}
}

// appendCanonical appends what is different for different wishes. The order of named seats makes no difference.
// A hot event has thousands of named wishes a second, so they are not formatted by reflection.
func (w Wish) appendCanonical(text []byte) []byte {
	if w.Best == nil {
		text = append(text, '[')
		for i, id := range w.sortedIDs() {
			if i > 0 {
				text = append(text, ' ')
			}
			text = strconv.AppendQuote(text, id)
		}
		text = strconv.AppendInt(append(text, "]|"...), w.Accessible, 10)
		return strconv.AppendQuote(append(text, '|'), w.Section)
	}
	return fmt.Appendf(text, "best|%q|%q|%d|%t", w.Best.Categories, w.Best.Section, w.Best.Accessible, w.Best.Required)
}

// sortedIDs are the named seats in alphabetical order: the wish's own slice if it is sorted.
func (w Wish) sortedIDs() []string {
	if slices.IsSorted(w.SeatIDs) {
		return w.SeatIDs
	}
	return slices.Sorted(slices.Values(w.SeatIDs))
}
