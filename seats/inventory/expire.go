package inventory

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// Run identifies the run of a job that made a change.
type Run struct {
	By holdfast.EndedBy
	ID string
}

// ExpireLocks ends due locks of the event. If UpTo is greater than the number of LockIDs, it ends up to UpTo due
// locks, soonest expiry first. Otherwise it ends the locks of LockIDs that are still due. The event keeps the ID of
// the run, and its revision after the run.
type ExpireLocks struct {
	Run
	LockIDs []ID
	UpTo    int
}

func (c ExpireLocks) decide(d *decision) Result {
	if d.state.Due == nil {
		if c.UpTo > len(c.LockIDs) {
			d.needs.Due = c.UpTo
		} else {
			d.needs.DueAmong = c.LockIDs
		}
		d.needs.Seats = d.needs.NeedsDue() // read together with the locks
		return Result{}
	}
	if !d.ensureEvent() {
		return Result{Err: holdfast.NotFound(holdfast.CodeEventNotFound)}
	}
	if !d.ensureCounter() {
		return Result{}
	}
	result := Result{Ended: make([]Ended, 0, len(d.due))}
	for _, due := range d.due {
		d.expire(due, c.By, c.ID)
		result.Ended = append(result.Ended, Ended{Lock: due.ID, Seats: due.Seats})
	}
	result.Busy = d.noteSweep(c.Run, len(result.Ended))
	return result
}

// ExpireBookings ends open bookings that are due, and their locks if they are still ACTIVE. The locks all belong to
// one event, or take no seats. If a lock takes seats of an event that does not exist, nothing ends.
type ExpireBookings struct {
	Run
	Bookings []BookingRef
	Events   []ID // that the bookings and their locks name
	ByLock   bool // also ends those whose lock is due before their payment window has passed
}

// BookingRef names a booking and its lock.
type BookingRef struct{ Booking, Lock ID }

func (c ExpireBookings) decide(d *decision) Result {
	d.ofEvents(c.Events...)
	for _, ref := range c.Bookings {
		d.booking(ref.Booking)
		d.lock(ref.Lock)
	}
	if !d.needs.None() {
		return Result{}
	}
	if d.state.Missing && slices.ContainsFunc(c.Bookings, d.takesSeats) {
		return Result{Err: holdfast.NotFound(holdfast.CodeEventNotFound)}
	}
	result, locks := Result{}, 0
	for _, ref := range c.Bookings {
		b, exists, _ := d.booking(ref.Booking)
		if !exists || !b.Status.IsOpen() {
			continue
		}
		lock, hasLock, _ := d.lock(b.LockID)
		if isDue := d.isBookingDue(b, lock, hasLock) || c.ByLock && hasLock && lock.Due(d.state.Now); !isDue {
			continue
		}
		ended := Ended{Booking: b.ID, Lock: b.LockID}
		isItsLock := lock.EventID == d.event.ID && (lock.BookingID.IsZero() || lock.BookingID == b.ID)
		if hasLock && lock.Status == holdfast.LockActive && d.state.Event != nil && isItsLock {
			ended.Seats = lock.Seats
			locks++
			d.subtractHolding(lock.Lock)
			d.returnSeats(lock.Seats, lock.SeatIDs, lock.Section)
			d.write(lock, LockWrite{To: holdfast.LockExpired, Guard: AnyRevision, EndedBy: c.By, RunID: c.ID})
		}
		d.moveBooking(b, holdfast.ExpireBooking, BookingWrite{RunID: c.ID})
		result.Ended = append(result.Ended, ended)
	}
	result.Busy = d.noteSweep(c.Run, locks)
	return result
}

// takesSeats reports whether the booking is open and its lock takes seats of an event.
func (d *decision) takesSeats(ref BookingRef) bool {
	b, exists, _ := d.booking(ref.Booking)
	lock, _, _ := d.lock(b.LockID)
	return exists && b.Status.IsOpen() && lock.Status == holdfast.LockActive
}

// isBookingDue reports whether the payment window has passed, or whether the booking is INITIATED and its lock has
// ended or is due.
func (d *decision) isBookingDue(b holdfast.Booking, lock Lock, hasLock bool) bool {
	if b.Status == holdfast.BookingInitiated && (!hasLock || lock.Ended(d.state.Now) != nil) {
		return true
	}
	return b.WindowPassed(d.state.Now)
}

// noteSweep writes the run's ID and the revision after this transaction to the event. From that revision the next
// sweep learns whether other processes write the event too.
func (d *decision) noteSweep(run Run, ended int) (busy bool) {
	if ended == 0 {
		return false
	}
	after := d.state.Event.Revision + 1
	d.plan.Event = &EventWrite{RunID: run.ID, SweptAtRev: &after}
	swept := d.state.Event.SweptAtRev
	return swept != nil && d.state.Event.Revision > *swept
}
