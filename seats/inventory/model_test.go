package inventory_test

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// model carries out the contract literally: one command after the other, with a search
// of all documents. It shares no code with the package under test.
type model struct {
	now      time.Time
	rules    inventory.Rules
	unknown  map[ID]*holdfast.Error
	event    *holdfast.Event // its counter is not used
	locks    map[ID]*modelLock
	bookings map[ID]*holdfast.Booking
	payments map[inventory.PaymentKey]*holdfast.Payment
	// claimAgain takes the seats of a lock that has lost them; false if they are not free.
	claimAgain func(holdfast.Lock) bool
	wishes     wishRules
	// offersFirst makes the offers of a waiting list that come before a request of somebody else.
	offersFirst func()
	// fresh: locks of this batch, which can't be reclaimed before the commit.
	fresh map[ID]bool
	// done are the changes after the sale with a key, of each booking.
	done map[ID][]holdfast.DoneRequest
}

// wishRules are those that differ for an event with a hall.
type wishRules interface {
	// fits reports whether the hall has what is wished for: the 422 of the contract.
	fits(w holdfast.Wish) bool
	// find finds the seats of a wish that fits, of which a lock has own already; it ends due locks as it has to.
	find(w holdfast.Wish, seats int64, own *modelLock) (wished, outcome)
	// hasAlready reports whether a lock has the seats that are asked for.
	hasAlready(l holdfast.Lock, w holdfast.Wish, seats int64) bool
}

type modelLock struct {
	holdfast.Lock
	ending
}

// outcome is the answer to a caller.
type outcome struct {
	code     holdfast.Code
	details  any
	lock     holdfast.Lock
	booking  holdfast.Booking       // without updatedAt
	payment  holdfast.Payment       // without times and revision
	entry    holdfast.WaitlistEntry // without updatedAt
	isLate   bool                   // the command has to go through the queue
	replayed bool
	ended    []inventory.Ended
}

// String leaves out what is not set.
func (o outcome) String() string {
	s := fmt.Sprintf("code %q", o.code)
	if o.details != nil {
		s += fmt.Sprintf(", %+v", o.details)
	}
	if !reflect.DeepEqual(o.lock, (holdfast.Lock{})) {
		s += fmt.Sprintf(", lock %+v", o.lock)
	}
	if !reflect.DeepEqual(o.booking, (holdfast.Booking{})) {
		s += fmt.Sprintf(", booking %+v", o.booking)
	}
	if !reflect.DeepEqual(o.payment, holdfast.Payment{}) {
		s += fmt.Sprintf(", payment %+v", o.payment)
	}
	if !reflect.DeepEqual(o.entry, holdfast.WaitlistEntry{}) {
		s += fmt.Sprintf(", entry %+v", o.entry)
	}
	return s + fmt.Sprintf(", late %v, replayed %v, ended %v", o.isLate, o.replayed, o.ended)
}

func refused(code holdfast.Code) outcome { return outcome{code: code} }

// modelOf is the model with the documents of a store.
func modelOf(s *store, rules inventory.Rules, unknown map[ID]*holdfast.Error) *model {
	m := &model{
		now: s.now, rules: rules, unknown: unknown,
		locks: map[ID]*modelLock{}, bookings: map[ID]*holdfast.Booking{},
	}
	if s.event != nil {
		m.event = pointer(s.event.Event)
	}
	for id, l := range s.locks {
		m.locks[id] = &modelLock{l.Lock, s.ends[id]}
	}
	m.done = map[ID][]holdfast.DoneRequest{}
	for id, b := range s.bookings {
		m.bookings[id], m.done[id] = pointer(*b), b.Done
		m.bookings[id].Done = nil
	}
	m.payments = map[inventory.PaymentKey]*holdfast.Payment{}
	for _, p := range s.payments {
		m.payments[inventory.PaymentKey{Reference: p.Reference, Part: p.Part}] = pointer(*p)
	}
	m.begin()
	m.claimAgain, m.wishes, m.offersFirst = func(l holdfast.Lock) bool { return m.reclaimFor(l.Seats) }, m, func() {}
	return m
}

// begin begins a batch.
func (m *model) begin() { m.fresh = map[ID]bool{} }

// do carries out one command.
func (m *model) do(command inventory.Command) outcome {
	switch c := command.(type) {
	case inventory.Acquire:
		return m.acquire(c)
	case inventory.Release:
		return m.release(c)
	case inventory.Cancel:
		return m.cancel(c)
	case inventory.Extend:
		return m.extend(c)
	case inventory.Book:
		return m.book(c)
	case inventory.Pay:
		return m.pay(c)
	case inventory.Confirm:
		return m.confirm(c)
	case inventory.Refund:
		return m.refund(c)
	case inventory.RefundPart:
		return m.refundPart(c)
	case inventory.RefundedPart:
		return m.refundedPart(c)
	case inventory.ChangeBooking:
		return m.changeBooking(c)
	case inventory.Transfer:
		return m.transfer(c)
	case inventory.CancelSale:
		return m.cancelSale(c)
	case inventory.Sell:
		return m.sell(c)
	case inventory.ChangeEvent:
		return m.change(c)
	case inventory.UpdateLock:
		lock := m.locks[c.LockID]
		if lock == nil {
			return refused("LOCK_NOT_FOUND")
		}
		if !merge(&lock.ShopData, c.Change) {
			return refused("VALIDATION_FAILED")
		}
		return outcome{lock: lock.Lock}
	case inventory.UpdateBooking:
		b := m.bookings[c.BookingID]
		if b == nil {
			return refused("BOOKING_NOT_FOUND")
		}
		if !merge(&b.ShopData, c.Change) {
			return refused("VALIDATION_FAILED")
		}
		return answer(b)
	case inventory.ExpireLocks:
		return m.expireLocks(c)
	case inventory.ExpireBookings:
		return m.expireBookings(c)
	case inventory.ConsumeSold:
		return m.consumeSold(c)
	default: // a repair: there is nothing to correct
		if m.event == nil {
			return refused("EVENT_NOT_FOUND")
		}
		return outcome{}
	}
}

// taken is the sum of the seats that locks take.
func (m *model) taken() (sum int64) {
	for _, l := range m.locks {
		if l.EventID == m.event.ID && (l.Status == "ACTIVE" || l.Status == "CONSUMED") {
			sum += l.Seats
		}
	}
	return sum
}

func (m *model) available() int64 { return max(0, m.event.TotalSeats-m.taken()) }

func (m *model) isDue(expires time.Time) bool { return !expires.After(m.now) }

// holding sums a user's seats in CONSUMED locks and in ACTIVE locks that are not due; it
// counts the ACTIVE ones.
func (m *model) holding(user ID) (seats, locks int64) {
	for _, l := range m.locks {
		if l.EventID != m.event.ID || l.UserID != user {
			continue
		}
		if l.Status == "CONSUMED" {
			seats += l.Seats
		}
		if l.Status == "ACTIVE" && !m.isDue(l.ExpiresAt) {
			seats, locks = seats+l.Seats, locks+1
		}
	}
	return seats, locks
}

// reclaim ends the due lock with the soonest expiry; false if there is none.
func (m *model) reclaim() bool {
	var next *modelLock
	for _, l := range m.locks {
		if l.EventID != m.event.ID || l.Status != "ACTIVE" || !m.isDue(l.ExpiresAt) || l.Seats < 1 || m.fresh[l.ID] {
			continue
		}
		if next == nil || l.ExpiresAt.Before(next.ExpiresAt) || (l.ExpiresAt.Equal(next.ExpiresAt) && bytes.Compare(l.ID[:], next.ID[:]) < 0) {
			next = l
		}
	}
	if next == nil {
		return false
	}
	next.Status, next.by = "EXPIRED", "reclaim"
	return true
}

// reclaimFor reclaims until the seats fit, or no due lock is left.
func (m *model) reclaimFor(seats int64) (fits bool) {
	for m.available() < seats {
		if !m.reclaim() {
			return false
		}
	}
	return true
}

func (m *model) acquire(c inventory.Acquire) outcome {
	switch {
	case c.Holder == "" && m.unknown[c.UserID] != nil:
		return refused("USER_NOT_FOUND")
	case m.event == nil:
		return refused("EVENT_NOT_FOUND")
	case c.Abandoned:
		return refused("OUTCOME_UNKNOWN")
	}
	for _, l := range m.locks {
		if c.Key == "" || l.EventID != m.event.ID || l.UserID != c.UserID || l.Key != c.Key {
			continue
		}
		if l.Holder != c.Holder || l.RequestHash != c.Hash() && (l.RequestHash != "" || l.Seats != c.Seats) {
			return refused("IDEMPOTENCY_KEY_REUSED")
		}
		return outcome{lock: l.Lock, replayed: true}
	}
	if refusal := m.notOnSale(); refusal.code != "" {
		return refusal
	}
	expires := c.Until.At
	if expires.IsZero() {
		expires = m.now.Add(m.rules.DefaultLockTTL)
		if c.Until.For > 0 {
			expires = m.now.Add(c.Until.For)
		}
	}
	if expires.After(m.now.Add(m.rules.MaxLockTTL)) {
		return refused("VALIDATION_FAILED")
	}
	if o := m.limits(c); o.code != "" {
		return o
	}
	if !m.reclaimFor(c.Seats) {
		return outcome{code: "SEATS_UNAVAILABLE", details: holdfast.SeatsUnavailable{Requested: c.Seats, Available: m.available()}}
	}
	lock := holdfast.Lock{
		ID: c.LockID, EventID: m.event.ID, UserID: c.UserID, Holder: c.Holder, Seats: c.Seats, Status: "ACTIVE", ExpiresAt: expires,
		Key: c.Key, RequestHash: hashIfKeyed(c), CreatedAt: m.now, ShopData: c.ShopData,
	}
	m.locks[lock.ID], m.fresh[lock.ID] = &modelLock{Lock: lock}, true
	return outcome{lock: lock}
}

// notOnSale refuses seats while the event is not on sale, or outside of its times.
func (m *model) notOnSale() outcome {
	starts, ends := m.event.SaleStartsAt, m.event.SaleEndsAt
	hasNoTime := !starts.IsZero() && !ends.IsZero() && !starts.Before(ends)
	switch {
	case m.event.Status != "ON_SALE", hasNoTime, !ends.IsZero() && !m.now.Before(ends):
		return refused("EVENT_NOT_ON_SALE")
	case m.now.Before(starts):
		return outcome{code: "SALE_NOT_OPEN", details: holdfast.SaleNotOpen{OpensAt: starts, After: starts.Sub(m.now)}}
	default:
		return outcome{}
	}
}

func (m *model) limits(c inventory.Acquire) outcome {
	seats, locks := m.holding(c.UserID)
	switch {
	case m.rules.MaxSeatsPerLock > 0 && c.Seats > m.rules.MaxSeatsPerLock,
		m.event.MaxSeatsPerUser > 0 && seats+c.Seats > m.event.MaxSeatsPerUser,
		m.rules.MaxLocksPerUser > 0 && locks+1 > m.rules.MaxLocksPerUser:
		return refused("SEAT_LIMIT_REACHED")
	case m.event.MaxSeatsPerUser > 0, m.rules.MaxLocksPerUser > 0:
		m.endDueOf(c.UserID, ID{})
	}
	return outcome{}
}

// endDueOf ends the due locks of a customer, which a limit does not count, except one.
func (m *model) endDueOf(user, except ID) {
	for _, l := range m.locks {
		isDue := l.Status == "ACTIVE" && m.isDue(l.ExpiresAt) && l.Seats > 0 && !m.fresh[l.ID]
		if isDue && l.EventID == m.event.ID && l.UserID == user && l.ID != except {
			l.Status, l.by = "EXPIRED", "reclaim"
		}
	}
}

// lockCode refuses an action on a lock that is due or not ACTIVE.
func (m *model) lockCode(l *modelLock) holdfast.Code {
	switch {
	case l.Status == "CONSUMED":
		return "LOCK_CONSUMED"
	case l.Status == "RELEASED":
		return "LOCK_RELEASED"
	case l.Status == "EXPIRED" || m.isDue(l.ExpiresAt):
		return "LOCK_EXPIRED"
	default:
		return ""
	}
}

// claimCode is lockCode, but a lock that other software sold counts as CONSUMED.
func (m *model) claimCode(l *modelLock) holdfast.Code {
	if l.Status == "ACTIVE" && m.isSold(l.ID) {
		return "LOCK_CONSUMED"
	}
	return m.lockCode(l)
}

func (m *model) isSold(lock ID) bool {
	return slices.ContainsFunc(m.live(lock), func(b *holdfast.Booking) bool { return b.Status == "CONFIRMED" })
}

// live are the live bookings of a lock.
func (m *model) live(lock ID) (found []*holdfast.Booking) {
	for _, b := range m.bookings {
		if b.LockID == lock && slices.Contains([]holdfast.BookingStatus{"INITIATED", "PAYMENT_PENDING", "CONFIRMED"}, b.Status) {
			found = append(found, b)
		}
	}
	return found
}

func (m *model) free(l *modelLock) {
	l.Status, l.ending = "RELEASED", ending{by: "api"}
}

func (m *model) release(c inventory.Release) outcome {
	lock := m.locks[c.LockID]
	if lock == nil {
		return refused("LOCK_NOT_FOUND")
	}
	if lock.Status == "RELEASED" {
		return outcome{lock: lock.Lock}
	}
	if code := m.claimCode(lock); code != "" {
		return refused(code)
	}
	for _, b := range m.live(lock.ID) {
		b.Status = "CANCELLED"
	}
	m.free(lock)
	return outcome{lock: lock.Lock}
}

func (m *model) extend(c inventory.Extend) outcome {
	lock := m.locks[c.LockID]
	if lock == nil {
		return refused("LOCK_NOT_FOUND")
	}
	code := m.claimCode(lock)
	for _, b := range m.live(lock.ID) {
		if code == "" && !b.PaymentExpiresAt.IsZero() && m.isDue(b.PaymentExpiresAt) {
			code = "BOOKING_EXPIRED"
		}
	}
	if code == "" {
		code = m.eventCode()
	}
	if code != "" {
		return refused(code)
	}
	expires := m.timeOf(c.Until)
	if expires.After(lock.CreatedAt.Add(m.rules.MaxLockTTL)) {
		return refused("VALIDATION_FAILED")
	}
	m.extendTo(lock, expires)
	return outcome{lock: lock.Lock}
}

func (m *model) extendTo(l *modelLock, until time.Time) {
	if until.After(l.ExpiresAt) {
		l.ExpiresAt = until
	}
}

func (m *model) timeOf(u holdfast.Until) time.Time {
	if u.At.IsZero() {
		return m.now.Add(u.For)
	}
	return u.At
}

// eventCode refuses an action on a missing or cancelled event.
func (m *model) eventCode() holdfast.Code {
	switch {
	case m.event == nil:
		return "EVENT_NOT_FOUND"
	case m.event.Status == "CANCELLED":
		return "EVENT_NOT_ON_SALE"
	default:
		return ""
	}
}

func (m *model) change(c inventory.ChangeEvent) outcome {
	if m.event == nil {
		return refused("EVENT_NOT_FOUND")
	}
	if c.Status != nil && m.event.Status == "CANCELLED" && *c.Status != "CANCELLED" {
		return refused("EVENT_NOT_ON_SALE")
	}
	starts, ends := m.event.SaleStartsAt, m.event.SaleEndsAt
	if c.SaleStartsAt != nil {
		starts = *c.SaleStartsAt
	}
	if c.SaleEndsAt != nil {
		ends = *c.SaleEndsAt
	}
	hasChanged := c.SaleStartsAt != nil || c.SaleEndsAt != nil
	if hasChanged && !starts.IsZero() && !ends.IsZero() && !starts.Before(ends) {
		return refused("VALIDATION_FAILED")
	}
	if c.TotalSeats != nil && *c.TotalSeats != m.event.TotalSeats && *c.TotalSeats < m.taken() {
		return outcome{code: "CAPACITY_BELOW_TAKEN", details: holdfast.CapacityBelowTaken{Taken: m.taken()}}
	}
	if !merge(&m.event.ShopData, c.ShopData) {
		return refused("VALIDATION_FAILED")
	}
	m.event.SaleStartsAt, m.event.SaleEndsAt = starts, ends
	if c.TotalSeats != nil {
		m.event.TotalSeats = *c.TotalSeats
	}
	if c.Status != nil {
		m.event.Status = *c.Status
	}
	if c.MaxSeatsPerUser != nil {
		m.event.MaxSeatsPerUser = *c.MaxSeatsPerUser
	}
	if c.Name != nil {
		m.event.Name = *c.Name
	}
	if c.Waitlist != nil {
		m.event.Waitlist.Status = *c.Waitlist
	}
	if c.OfferSeconds != nil {
		m.event.Waitlist.OfferSeconds = *c.OfferSeconds
	}
	if c.WaitlistFit != nil {
		m.event.Waitlist.Fit = *c.WaitlistFit
	}
	if c.LatePayments != nil {
		m.event.LatePayments.Policy = *c.LatePayments
	}
	if c.LateSeconds != nil {
		m.event.LatePayments.Seconds = *c.LateSeconds
	}
	return outcome{}
}

// merge changes a reference and metadata; false if these would get too many keys.
func merge(d *holdfast.ShopData, c holdfast.ShopDataChange) bool {
	merged := map[string]string{}
	if !c.WithoutMetadata {
		maps.Copy(merged, d.Metadata)
	}
	for key, value := range c.Metadata {
		delete(merged, key)
		if value != nil {
			merged[key] = *value
		}
	}
	if len(merged) > 20 {
		return false
	}
	if d.Metadata = merged; len(merged) == 0 {
		d.Metadata = nil
	}
	if c.Reference != nil {
		d.Reference = *c.Reference
	}
	return true
}

// hashIfKeyed is the hash that a lock keeps of its request: only a repeat of its key needs it.
func hashIfKeyed(c inventory.Acquire) string {
	if c.Key == "" {
		return ""
	}
	return c.Hash()
}
