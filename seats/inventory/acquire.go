package inventory

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// MaxReclaim bounds the due locks that one transaction reclaims. If there are still too few seats, the request
// continues in the next transaction.
const MaxReclaim = 1000

// Acquire requests a lock on seats.
type Acquire struct {
	holdfast.LockRequest
	LockID ID // of the lock to be made
	// RequestHash is the hash of the request, if it has a key. The caller computes it, because the decisions of an
	// event are made one after the other. If it is empty, the decision computes it.
	RequestHash string
	// Abandoned says that the caller has given up. Another process may have refused its request since, so the
	// decision must not grant it.
	Abandoned bool
}

func (c Acquire) userKey() UserKey { return UserKey{c.UserID, c.Key} }

// UserOf returns the user that gets seats, or a place on the waiting list, by a command. ok is false if there is none.
func UserOf(c Command) (userID ID, ok bool) {
	switch c := c.(type) {
	case Acquire:
		return c.UserID, c.Holder == ""
	case Sell:
		return c.UserID, c.Holder == ""
	case Transfer:
		return c.UserID, c.Holder == ""
	case Join:
		return c.UserID, c.Holder == ""
	default:
		return ID{}, false
	}
}

// Abandon returns a command whose caller has given up. Of what can't be granted then, Result.Grants is true.
func Abandon(c Command) Command {
	switch c := c.(type) {
	case Acquire:
		c.Abandoned = true
		return c
	case Sell:
		c.Abandoned = true
		return c
	case ChangeBooking:
		c.Abandoned = true
		return c
	case Transfer:
		c.Abandoned = true
		return c
	case Join:
		c.Abandoned = true
		return c
	default:
		return c
	}
}

// RepeatNeeds returns the data that shows which commands were carried out before: by an earlier commit of the same
// commands, which was not answered, or by another request with the same key. Only requests for locks, blocks and entries need
// it; the other commands find the documents that they change.
func RepeatNeeds(commands []Command) Needs {
	var n Needs
	for _, c := range commands {
		if sale, ok := c.(Sell); ok {
			c = sale.Acquire
		}
		switch c := c.(type) {
		case Acquire:
			n.Locks = append(n.Locks, c.LockID)
			if c.Key != "" {
				n.Keys = append(n.Keys, c.userKey())
			}
		case Block:
			n.Locks = append(n.Locks, c.LockID)
		case Join:
			n.Entries = append(n.Entries, c.EntryID)
		}
	}
	return n
}

// decide checks in this order: existence, a repeat, the form of the wish, the sale of the event, the time, the
// customer's limits, the seats.
func (c Acquire) decide(d *decision) Result {
	if made := d.state.Locks[c.LockID]; made != nil { // by an earlier commit, which was not answered
		return Result{Lock: &made.Lock}
	}
	if refusal := d.state.Unknown[c.UserID]; refusal != nil && c.Holder == "" {
		return Result{Err: refusal}
	}
	if !d.ensureEvent() {
		return d.refuse(holdfast.NotFound(holdfast.CodeEventNotFound), UserKey{})
	}
	if c.Abandoned {
		return Result{Err: errGaveUp()}
	}
	if result, repeated := c.repeat(d, c.Made); repeated {
		return result
	}
	if c.Key != "" && d.state.Unusable[c.userKey()] {
		return Result{Err: holdfast.Refuse(holdfast.CodeUnavailable, "The request failed and changed nothing; try again.")}
	}
	if !d.ensureSeats() {
		return Result{}
	}
	wish, invalid := d.inHall(c.Seats, c.Wish)
	if invalid != nil {
		return d.refuse(invalid, c.userKey())
	}
	if refusal := d.notOnSale(); refusal != nil {
		return d.refuse(refusal, c.userKey())
	}
	if !d.settle() {
		return Result{}
	}
	lock, ttl, err := c.newLock(d)
	if err != nil {
		return d.refuse(err, c.userKey())
	}
	if refusal, known := d.beyondLimits(c.UserID, c.Seats, c.Seats, 1, ID{}); !known {
		return Result{}
	} else if refusal != nil {
		return d.refuse(refusal, c.userKey())
	}
	if d.deferRest {
		return Result{Undecided: true}
	}
	if refusal := d.isKept(wish); refusal != nil {
		return d.refuse(refusal, c.userKey())
	}
	return c.claimLock(d, lock, ttl, wish)
}

// repeat answers a request whose idempotency key was used before, by an earlier batch or in this one. made reports whether
// the request made a lock.
func (c Acquire) repeat(d *decision, made func(holdfast.Lock) bool) (Result, bool) {
	if c.Key == "" {
		return Result{}, false
	}
	key := c.userKey()
	known := d.state.Keys[key]
	result := Result{Replayed: true, acquired: d.acquired[key]}
	if result.acquired > 0 {
		result.Lock = &d.plan.Acquired[result.acquired-1]
	} else if known != nil {
		present := known.Lock
		if i, ok := d.planned[known.ID]; ok {
			present = d.plan.Locks[i].applyTo(*known).Lock
		}
		result.Lock = &present
	} else {
		return Result{}, false
	}
	if cannotBeNamed := result.Lock.ID.IsZero(); cannotBeNamed || !made(*result.Lock) {
		return d.refuse(holdfast.Refuse(holdfast.CodeIdempotencyKeyReused, "The idempotency key was used for another request."), key), true
	}
	return result, true
}

// newLock returns the lock that the request asks for. A relative time counts from the write, by the database's
// clock.
func (c Acquire) newLock(d *decision) (lock holdfast.Lock, ttl time.Duration, err error) {
	longest := d.rules.MaxLockTTL
	lock = holdfast.Lock{
		ID: c.LockID, EventID: d.event.ID, UserID: c.UserID, Holder: c.Holder, Seats: c.Seats, Status: holdfast.LockActive,
		Key: c.Key, ShopData: c.ShopData,
	}
	if c.Until.At.IsZero() {
		ttl = cmp.Or(c.Until.For, d.rules.DefaultLockTTL)
		if ttl > longest {
			return lock, 0, c.Until.TooLate(holdfast.LockFields, longest)
		}
		return lock, ttl, nil
	}
	lock.ExpiresAt = c.Until.From(d.state.Now)
	if err := c.ahead(d); err != nil {
		return lock, 0, err
	}
	earliest := lock.ExpiresAt.Add(-longest) // if it were written before this, the lock would exceed the cap
	if !d.state.Now.IsZero() && d.state.Now.Before(earliest) {
		return lock, 0, c.Until.TooLate(holdfast.LockFields, longest)
	}
	return lock, 0, nil
}

// ahead refuses a time that has passed.
func (c Acquire) ahead(d *decision) error {
	if !d.state.Now.IsZero() || !c.Until.Ahead {
		return c.Until.Passed(holdfast.LockFields, d.state.Now)
	}
	return nil
}

// guardTimes adds guards to the plan of a new lock for the times that newLock could not check, because the clock is
// not known.
func (c Acquire) guardTimes(d *decision) {
	at := c.Until.At
	if at.IsZero() || !d.state.Now.IsZero() {
		return
	}
	d.plan.NotBefore = later(d.plan.NotBefore, at.Add(-d.rules.MaxLockTTL))
	if c.Until.Ahead {
		d.plan.endBefore(at)
	}
}

// beyondLimits refuses a request for more than a customer may hold: for a lock of that many seats, which adds seats
// and locks to those that the customer holds. Due locks do not count, and are ended; replaced is a due lock that the
// command ends itself. known is false if the customer's holding has to be read first.
func (d *decision) beyondLimits(user ID, seats, moreSeats, moreLocks int64, replaced ID) (refusal *holdfast.Error, known bool) {
	if most := d.rules.MaxSeatsPerLock; most > 0 && moreSeats > 0 && seats > most {
		return limitReached(most, nil, "A lock may claim %d seats at most.", most), true
	}
	maxSeats, maxLocks := d.event.MaxSeatsPerUser, d.rules.MaxLocksPerUser
	if maxSeats == 0 && maxLocks == 0 {
		return nil, true
	}
	d.ifUnchanged = true
	held, read := d.holdings[user]
	if !read {
		d.needs.Holdings = append(d.needs.Holdings, user)
		return nil, false
	}
	if maxSeats > 0 && moreSeats > 0 && held.Seats+moreSeats > maxSeats {
		return limitReached(maxSeats, &held.Seats, "A customer may hold %d seats of this event at most.", maxSeats), true
	}
	if maxLocks > 0 && moreLocks > 0 && held.Locks+moreLocks > maxLocks {
		return limitReached(maxLocks, &held.Locks, "A customer may hold %d locks of this event at a time.", maxLocks), true
	}
	relies := maxSeats > 0 && moreSeats > 0 || maxLocks > 0 && moreLocks > 0
	return nil, !relies || held.Due == 0 || d.list.noneDue || d.endDueOf(user, replaced)
}

// endDueOf ends the due locks of a customer, except one that the command ends itself. A transaction that began before
// a lock was due may still extend it, or sell it. If the due lock does not count, that transaction must not commit
// any more; so both write the lock. It returns false if the locks have to be read first.
func (d *decision) endDueOf(user, except ID) bool {
	due, read := d.state.DueOf[user]
	if !read {
		d.needs.DueOf = append(d.needs.DueOf, user)
		return false
	}
	if !d.ensureSeats() || !d.ensureCounter() {
		return false
	}
	held := d.holdings[user]
	held.Due = 0
	for _, lock := range due {
		switch now, changed := d.locks[lock.ID]; {
		case lock.ID == except: // the command may be refused, and leave it
			held.Due = 1
		case !changed || now.Status == holdfast.LockActive:
			d.expire(lock, holdfast.EndedByReclaim, "")
		}
	}
	d.holdings[user] = held
	d.deferRest = d.deferRest || d.state.MoreDueOf // the next batch ends the rest
	return true
}

// claimLock claims the seats, and plans the lock.
func (c Acquire) claimLock(d *decision, lock holdfast.Lock, ttl time.Duration, wish wished) Result {
	if !d.ensureCounter() {
		return Result{}
	}
	claimed, result, ok := d.claimSeats(wish, previousSeats{}, c.userKey())
	if !ok {
		return result
	}
	lock.SeatIDs, lock.Section = claimed.SeatIDs, claimed.Section
	if due := !d.state.Now.IsZero() && !lock.ExpiresAt.IsZero() && lock.Due(d.state.Now); due {
		d.madeDue = true
	} else if held, read := d.holdings[c.UserID]; read {
		held.Seats, held.Locks = held.Seats+c.Seats, held.Locks+1
		d.holdings[c.UserID] = held
	}
	c.guardTimes(d)
	d.guardSale()
	if lock.RequestHash = c.RequestHash; c.Key != "" && lock.RequestHash == "" {
		lock.RequestHash = c.Hash()
	}
	return Result{acquired: d.acquireByKey(lock, ttl)}
}

// acquireByKey plans a new lock, which later commands of the batch find by its key.
func (d *decision) acquireByKey(lock holdfast.Lock, ttl time.Duration) int {
	n := d.acquire(lock, ttl)
	if lock.Key != "" {
		if d.acquired == nil {
			d.acquired = map[UserKey]int{}
		}
		d.acquired[UserKey{lock.UserID, lock.Key}] = n
	}
	return n
}

// acquire plans a new lock, and returns 1 + its index in the plan.
func (d *decision) acquire(lock holdfast.Lock, ttl time.Duration) int {
	if d.plan.Acquired == nil {
		d.plan.Acquired, d.plan.TTL = make([]holdfast.Lock, 0, d.commands), make([]time.Duration, 0, d.commands)
		d.made = make([]int, 0, d.commands)
	}
	d.plan.Acquired, d.plan.TTL = append(d.plan.Acquired, lock), append(d.plan.TTL, ttl)
	d.made = append(d.made, d.command)
	return len(d.plan.Acquired)
}

// makes reports whether this batch creates a lock.
func (d *decision) makes(id ID) bool {
	return slices.ContainsFunc(d.plan.Acquired, func(l holdfast.Lock) bool { return l.ID == id })
}

// reclaim ends the due lock with the soonest expiry that this batch has not ended yet.
func (d *decision) reclaim() bool {
	for len(d.due) > 0 {
		next := d.due[0]
		d.due = d.due[1:]
		if changed, ok := d.locks[next.ID]; ok && changed.Status != holdfast.LockActive {
			continue
		}
		d.expire(next, holdfast.EndedByReclaim, "")
		return true
	}
	return false
}

func limitReached(limit int64, held *int64, format string, args ...any) *holdfast.Error {
	return holdfast.Refuse(holdfast.CodeSeatLimitReached, format, args...).With(holdfast.LimitReached{Limit: limit, Held: held})
}

// notOnSale returns why the event sells no more seats, or nil. If the time is not known, the last one that is known may say that the
// sale has not begun, or has ended; guardSale covers the rest.
func (d *decision) notOnSale() error {
	e, now := &d.event, cmp.Or(d.state.Now, d.event.SeenAt)
	switch {
	case e.Status != holdfast.OnSale, e.NeverSells(), !e.SaleEndsAt.IsZero() && !now.Before(e.SaleEndsAt):
		return errNotOnSale()
	case now.Before(e.SaleStartsAt):
		return holdfast.Refuse(holdfast.CodeSaleNotOpen, "The sale has not begun. Try again when it opens.").
			With(holdfast.SaleNotOpen{OpensAt: e.SaleStartsAt, After: e.SaleStartsAt.Sub(now)})
	default:
		return nil
	}
}

// guardSale adds guards to the plan, so that it is written within the time of the sale.
func (d *decision) guardSale() {
	d.plan.NotBefore = later(d.plan.NotBefore, d.event.SaleStartsAt)
	if end := d.event.SaleEndsAt; !end.IsZero() {
		d.plan.endBefore(end)
	}
}

func errGaveUp() error { return holdfast.Refuse(holdfast.CodeOutcomeUnknown, "The caller gave up.") }

func errNotOnSale() error {
	return holdfast.Refuse(holdfast.CodeEventNotOnSale, "The event is not on sale.")
}
