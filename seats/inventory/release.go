package inventory

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// Release ends a lock for its customer, and cancels its open booking. If the lock is released already, it changes
// nothing.
type Release struct{ LockID ID }

func (c Release) decide(d *decision) Result {
	lock, exists, read := d.lock(c.LockID)
	bookings := d.liveBookings(c.LockID)
	if !read || !d.knowsEvent() {
		return Result{}
	}
	if !exists {
		return d.refuse(holdfast.NotFound(holdfast.CodeLockNotFound), UserKey{})
	}
	if lock.Status == holdfast.LockReleased {
		return Result{Lock: &lock.Lock}
	}
	if err := ended(lock, bookings, d.state.Now); err != nil {
		d.bump(lock)
		return d.refuse(err, UserKey{})
	}
	released := d.release(lock, AtRevision, Run{By: holdfast.EndedByAPI})
	for _, b := range bookings {
		d.moveBooking(b, holdfast.CancelBooking, BookingWrite{})
	}
	return Result{Lock: &released.Lock}
}

// knowsEvent reports whether the event was looked up. A lock whose event does not exist can still be released.
func (d *decision) knowsEvent() bool { return d.ensureEvent() || d.state.Missing }

// Cancel ends a booking, open or confirmed, and restores its seats. If the booking is cancelled already, it changes
// nothing.
type Cancel struct {
	BookingID, LockID ID
	EventID           ID // that the booking names; zero: none
	// OpenOnly refuses a confirmed booking with its code. It is part of the decision, so that the booking can't be
	// confirmed in between.
	OpenOnly bool
}

func (c Cancel) decide(d *decision) Result {
	d.ofEvents(c.EventID)
	b, exists, read := d.booking(c.BookingID)
	if exists && b.LockID != c.LockID { // a late payment or a transfer has given it another lock since the command was created
		if c.LockID = b.LockID; d.makes(c.LockID) { // the next batch can release it
			return Result{Undecided: true}
		}
	}
	lock, hasLock, lockRead := d.lock(c.LockID)
	if !read || !lockRead || !d.knowsEvent() {
		return Result{}
	}
	if !exists {
		return d.refuse(holdfast.NotFound(holdfast.CodeBookingNotFound), UserKey{})
	}
	if b.Status == holdfast.BookingCancelled {
		return Result{Booking: &b}
	}
	if d.isCorrupt(c.LockID) || d.isCorrupt(b.Accepted()...) {
		return Result{Err: errCorrupt()}
	}
	if c.OpenOnly && b.Status == holdfast.BookingConfirmed {
		return d.refuse(b.Refusal(), UserKey{})
	}
	if !hasLock { // it ended long ago and was purged
		lock = endedLock(b)
	}
	err := checkBooking(b, holdfast.CancelBooking, lock.Lock, d.state.Now)
	if _, held := lock.Status.Next(holdfast.ReleaseLock); err == nil && hasLock && !held { // its lock ended without it
		err = lock.Ended(d.state.Now)
	}
	if err != nil {
		d.bumpOpen(b, lock)
		return d.refuse(err, UserKey{})
	}
	payments, read := d.returnPayments(b, holdfast.ReasonBookingCancelled, "")
	if !read {
		return Result{}
	}
	if hasLock {
		d.release(lock, AtRevision, Run{By: holdfast.EndedByAPI})
	}
	b = d.moveBooking(b, holdfast.CancelBooking, BookingWrite{Payments: payments})
	return Result{Booking: &b}
}

// CancelSale ends the locks and bookings of a cancelled event: its ACTIVE and CONSUMED locks become RELEASED, their
// bookings CANCELLED, and the payments of these bookings REFUND_DUE. Bookings are those whose lock takes no seats
// any more. Locks and bookings that have ended meanwhile stay unchanged.
type CancelSale struct {
	Run
	LockIDs  []ID
	Bookings []BookingRef
	Events   []ID // that the bookings name
}

func (c CancelSale) decide(d *decision) Result {
	d.ofEvents(c.Events...)
	for _, id := range c.LockIDs {
		d.lock(id)
		d.liveBookings(id)
	}
	for _, ref := range c.Bookings {
		d.booking(ref.Booking)
		d.lock(ref.Lock)
	}
	d.needs.Seats = d.state.Seats == nil && d.state.Now.IsZero() // read together with the locks
	switch {
	case !d.needs.None():
		return Result{}
	case !d.ensureEvent():
		return Result{Err: holdfast.NotFound(holdfast.CodeEventNotFound)}
	case !d.ensureSeats() || !d.ensureCounter():
		return Result{}
	}
	result := Result{}
	for _, id := range c.LockIDs {
		lock, exists, _ := d.lock(id)
		if _, held := lock.Status.Next(holdfast.ReleaseLock); !exists || !held || lock.EventID != d.event.ID {
			continue
		}
		ended, bookings := Ended{Lock: id, Seats: lock.Seats}, d.liveBookings(id)
		if slices.ContainsFunc(bookings, func(b holdfast.Booking) bool { return d.isCorrupt(b.Accepted()...) }) {
			continue // its booking can't be cancelled
		}
		for _, b := range bookings {
			if c.cancel(d, b) {
				ended.Booking = b.ID
			}
		}
		d.release(lock, c.guard(d), c.Run)
		result.Ended = append(result.Ended, ended)
	}
	for _, ref := range c.Bookings {
		b, exists, _ := d.booking(ref.Booking)
		lock, hasLock, _ := d.lock(ref.Lock)
		_, held := lock.Status.Next(holdfast.ReleaseLock)
		isEnded := b.LockID == ref.Lock && (!hasLock || !held) // a late payment or a transfer may have given it another lock
		if exists && isEnded && !d.isCorrupt(ref.Lock) && !d.isCorrupt(b.Accepted()...) && c.cancel(d, b) {
			result.Ended = append(result.Ended, Ended{Booking: b.ID, Lock: ref.Lock})
		}
	}
	if len(result.Ended) > 0 {
		d.writeOfEvent().RunID = c.ID
	}
	return result
}

// guard returns the guard of the locks: the transaction that holds the event has read them.
func (c CancelSale) guard(d *decision) LockGuard {
	if d.state.Held {
		return AnyRevision
	}
	return AtRevision
}

// cancel ends a booking, open or confirmed.
func (c CancelSale) cancel(d *decision, b holdfast.Booking) bool {
	if _, live := b.Status.Next(holdfast.CancelBooking); !live {
		return false
	}
	payments, _ := d.returnPayments(b, holdfast.ReasonEventCancelled, c.ID)
	d.moveBooking(b, holdfast.CancelBooking, BookingWrite{RunID: c.ID, Payments: payments})
	return true
}

// endedLock returns a substitute for the lock of a booking, if that lock does not exist.
func endedLock(b holdfast.Booking) Lock {
	return Lock{Lock: holdfast.Lock{ID: b.LockID, EventID: b.EventID, Status: holdfast.LockExpired}}
}
