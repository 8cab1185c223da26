package inventory

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// Run says which run of a job made a change.
type Run struct {
	By holdfast.EndedBy
	ID string
}

// ExpireLocks ends due locks of the event. If UpTo is above the number of LockIDs, it ends up
// to UpTo due locks, soonest expiry first. Otherwise it ends the locks of LockIDs that are
// still due. A sold one becomes CONSUMED. The event keeps the run's ID, and the revision that
// the run leaves.
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
		d.needs.Seats = d.needs.NeedsDue() // in the same read
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
		if d.expire(due, c.By, c.ID) {
			result.Ended = append(result.Ended, Ended{Lock: due.ID, Seats: due.Seats})
		} else {
			result.Consumed = append(result.Consumed, due.ID)
		}
	}
	result.Busy = d.noteSweep(c.Run, len(result.Ended))
	return result
}

// ExpireBookings ends open bookings that are due, and their locks if they are still ACTIVE. A
// lock that another booking has sold becomes CONSUMED.
// The locks all belong to one event, or take no seats. Nothing ends if a lock takes seats of
// an event that does not exist.
type ExpireBookings struct {
	Run
	Bookings []BookingRef
	Events   []ID // that the bookings and their locks name
}

// BookingRef names a booking and its lock.
type BookingRef struct{ Booking, Lock ID }

func (c ExpireBookings) decide(d *decision) Result {
	d.ofEvents(c.Events...)
	for _, ref := range c.Bookings {
		d.booking(ref.Booking)
		d.lock(ref.Lock)
		if _, read := d.state.Sold[ref.Lock]; !read {
			d.needs.Sold = append(d.needs.Sold, ref.Lock)
		}
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
		if !d.isBookingDue(b, lock, hasLock) {
			continue
		}
		ended := Ended{Booking: b.ID, Lock: b.LockID}
		if hasLock && lock.Status == holdfast.LockActive {
			if lock.Seats == 0 {
				continue // its seats are not a whole number: left to an operator
			}
			if d.state.Event != nil && lock.EventID == d.event.ID && (lock.BookingID.IsZero() || lock.BookingID == b.ID) {
				write := LockWrite{Guard: AnyRevision, ClearBooking: lock.BookingID == b.ID, RunID: c.ID}
				if d.state.Sold[lock.ID] > 0 {
					d.consume(lock, write)
					result.Consumed = append(result.Consumed, lock.ID)
				} else {
					write.To, write.EndedBy = holdfast.LockExpired, c.By
					ended.Seats = lock.Seats
					locks++
					d.needRivals(lock)
					d.giveBack(lock.Seats, lock.SeatIDs, lock.Section)
					d.write(lock, write)
				}
			}
		} else if hasLock && lock.BookingID == b.ID {
			d.write(lock, LockWrite{To: lock.Status, Guard: AnyRevision, ClearBooking: true})
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
	return exists && b.Status.IsOpen() && lock.Status == holdfast.LockActive && lock.Seats > 0 && !lock.EventID.IsZero()
}

// isBookingDue reports whether the payment window has passed, or the booking is INITIATED
// and its lock has ended or is due.
func (d *decision) isBookingDue(b holdfast.Booking, lock Lock, hasLock bool) bool {
	if b.Status == holdfast.BookingInitiated && (!hasLock || lock.Ended(d.state.Now) != nil) {
		return true
	}
	return !b.WindowUnreadable && b.WindowPassed(d.state.Now) // no sweep ends what it can't read
}

// noteSweep writes the run's ID and the revision after this transaction to the event. By that
// revision the next sweep sees whether other processes write the event too. A sweep's
// transaction raises the revision once before it reads.
func (d *decision) noteSweep(run Run, ended int) (busy bool) {
	if ended == 0 {
		return false
	}
	after := d.state.Event.Revision + 1
	d.plan.Event = &EventWrite{RunID: run.ID, SweptAtRev: &after}
	swept := d.state.Event.SweptAtRev
	return swept != nil && d.state.Event.Revision > *swept+1
}
