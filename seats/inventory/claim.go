package inventory

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// The commands of this file do not move seats: they don't write the event, and don't use its queue. Each of them
// raises the revision of the lock.

// Extend moves the expiry of a live lock, never to an earlier time, and at most to the cap, which counts from the
// lock's creation. A lock whose booking is due can't be extended: it ends with the booking.
type Extend struct {
	LockID ID
	Until  holdfast.Until
}

func (c Extend) decide(d *decision) Result {
	lock, exists, _ := d.lock(c.LockID)
	bookings := d.liveBookings(c.LockID)
	switch {
	case !d.needs.None():
		return Result{}
	case !exists:
		return Result{Err: holdfast.NotFound(holdfast.CodeLockNotFound)}
	}
	err, windowEnd := ended(lock, bookings, d.state.Now), time.Time{}
	for _, b := range bookings {
		switch {
		case err == nil && b.WindowPassed(d.state.Now):
			err = errBookingExpired()
		case !b.PaymentExpiresAt.IsZero() && (windowEnd.IsZero() || b.PaymentExpiresAt.Before(windowEnd)):
			windowEnd = b.PaymentExpiresAt
		}
	}
	if err != nil {
		d.bump(lock)
		return Result{Err: err}
	}
	if err := d.checkNotCancelled(lock); err != nil {
		return Result{Err: err}
	}
	if err := c.Until.Passed(holdfast.LockFields, d.state.Now); err != nil {
		return Result{Err: err}
	}
	expires := c.Until.From(d.state.Now)
	if expires.After(lock.CreatedAt.Add(d.rules.MaxLockTTL)) {
		return Result{Err: c.Until.TooLate(holdfast.LockFields, d.rules.MaxLockTTL)}
	}
	d.write(lock, LockWrite{To: lock.Status, Guard: LiveAtRevision, Before: windowEnd, ExpiresAt: later(lock.ExpiresAt, expires)})
	extended := d.locks[lock.ID].Lock
	return Result{Lock: &extended}
}

// Book creates the booking of a live lock, and moves the lock's expiry to the end of the payment window if that is
// later. If the lock has its booking already, the result is that booking, unless it is due.
type Book struct {
	holdfast.BookingRequest
	BookingID ID // of the booking to be made
}

func (c Book) decide(d *decision) Result {
	d.ofEvents(c.EventID)
	lock, exists, _ := d.lock(c.LockID)
	bookings := d.liveBookings(c.LockID)
	switch {
	case !d.needs.None():
		return Result{}
	case !exists || lock.UserID != c.UserID || lock.Holder != c.Holder || lock.EventID != c.EventID:
		return Result{Err: holdfast.NotFound(holdfast.CodeLockNotFound)}
	}
	now := d.state.Now
	err := ended(lock, bookings, now)
	for _, b := range bookings { // a repeat
		switch {
		case err == nil && b.WindowPassed(now):
			err = errBookingExpired()
		case err == nil, holdfast.HasCode(err, holdfast.CodeLockConsumed) && b.Status == holdfast.BookingConfirmed:
			return Result{Booking: &b, Replayed: true}
		}
	}
	if err != nil {
		d.bump(lock)
		return Result{Err: err}
	}
	if err := d.checkNotCancelled(lock); err != nil {
		return Result{Err: err}
	}
	b := holdfast.Booking{
		ID: c.BookingID, UserID: lock.UserID, Holder: lock.Holder, EventID: lock.EventID, LockID: lock.ID, Seats: lock.Seats,
		SeatIDs: lock.SeatIDs, Section: lock.Section, Status: holdfast.BookingInitiated, CreatedAt: now, UpdatedAt: now,
		ShopData: c.ShopData,
	}
	b.Reference = cmp.Or(b.Reference, lock.Reference)
	if len(b.Metadata) == 0 {
		b.Metadata = lock.Metadata
	}
	if err := c.Window.Passed(holdfast.PaymentFields, now); err != nil {
		return Result{Err: err}
	}
	if !c.Window.IsZero() {
		b.Status, b.PaymentExpiresAt = holdfast.BookingPending, c.Window.From(now)
		if b.PaymentExpiresAt.After(now.Add(d.rules.MaxPaymentTTL)) {
			return Result{Err: c.Window.TooLate(holdfast.PaymentFields, d.rules.MaxPaymentTTL)}
		}
	}
	d.write(lock, LockWrite{To: lock.Status, Guard: LiveAtRevision, BookingID: b.ID, ExpiresAt: later(lock.ExpiresAt, b.PaymentExpiresAt)})
	d.plan.NewBookings = append(d.plan.NewBookings, b)
	d.moved = append(d.moved, seenBooking{after: b, what: holdfast.ChangeBookingCreated, by: d.command})
	return Result{Booking: &b}
}

// Pay opens the payment window of an INITIATED booking. If the window is open already, Pay changes nothing.
type Pay struct {
	BookingID ID
	Window    holdfast.Until
}

func (c Pay) decide(d *decision) Result {
	b, lock, exists, read := d.bookingAndLock(c.BookingID)
	switch {
	case !read:
		return Result{}
	case !exists:
		return Result{Err: holdfast.NotFound(holdfast.CodeBookingNotFound)}
	case d.isCorrupt(b.LockID):
		return Result{Err: errCorrupt()}
	}
	now, seen := d.state.Now, lock.Lock
	action := holdfast.PayBooking
	if b.Status == holdfast.BookingPending { // a repeat gets the same answer while booking and lock are live
		if !b.Due(seen, now) && seen.Status == holdfast.LockActive {
			return Result{Booking: &b}
		}
		action = holdfast.CancelBooking
	}
	if err := checkBooking(b, action, seen, now); err != nil {
		d.bumpOpen(b, lock)
		return Result{Err: err}
	}
	if err := d.checkNotCancelled(lock); err != nil {
		return Result{Err: err}
	}
	if err := c.Window.Passed(holdfast.PaymentFields, now); err != nil {
		return Result{Err: err}
	}
	ends := c.Window.From(now)
	if ends.After(b.CreatedAt.Add(d.rules.MaxPaymentTTL)) {
		return Result{Err: c.Window.TooLate(holdfast.PaymentFields, d.rules.MaxPaymentTTL)}
	}
	d.write(lock, LockWrite{To: lock.Status, Guard: LiveAtRevision, BookingID: b.ID, ExpiresAt: later(lock.ExpiresAt, ends)})
	b = d.moveBooking(b, holdfast.PayBooking, BookingWrite{PaymentExpiresAt: ends})
	return Result{Booking: &b}
}

// ConsumeSold marks a lock CONSUMED that is ACTIVE although its booking is CONFIRMED, due or not: one of the two was
// restored or changed by hand. Result.Replayed says that there was nothing to do.
type ConsumeSold struct {
	LockID ID
	RunID  string
}

func (c ConsumeSold) decide(d *decision) Result {
	lock, exists, _ := d.lock(c.LockID)
	bookings := d.liveBookings(c.LockID)
	if !d.needs.None() {
		return Result{}
	}
	for _, b := range bookings {
		if exists && lock.Status == holdfast.LockActive && b.Status == holdfast.BookingConfirmed {
			d.consume(lock, LockWrite{Guard: AtRevision, RunID: c.RunID})
			return Result{}
		}
	}
	return Result{Replayed: true}
}

// bookingAndLock returns a booking and its lock. A lock that does not exist counts as expired.
func (d *decision) bookingAndLock(id ID) (b holdfast.Booking, lock Lock, exists, read bool) {
	b, exists, read = d.booking(id)
	if !exists {
		return b, lock, exists, read
	}
	lock, hasLock, lockRead := d.lock(b.LockID)
	if !hasLock {
		lock = endedLock(b)
	}
	return b, lock, true, lockRead
}

// isCorrupt reports whether one of the locks and payments with these IDs was found to be corrupt.
func (d *decision) isCorrupt(ids ...ID) bool {
	return slices.ContainsFunc(ids, func(id ID) bool { return d.state.Corrupt[id] })
}

// errCorrupt refuses a change of a booking that is corrupt, or whose lock or payment is. The refusal leaves nothing, so the request
// may be repeated once an operator has corrected the document.
func errCorrupt() error {
	return holdfast.Refuse(holdfast.CodeUnavailable, "The booking, its lock or its payment can't be read; an operator has to correct it.")
}

// bumpOpen calls bump with the lock of a booking, if the booking is open.
func (d *decision) bumpOpen(b holdfast.Booking, lock Lock) {
	if b.Status.IsOpen() {
		d.bump(lock)
	}
}

// checkNotCancelled refuses a claim on a lock of a cancelled event. It raises the lock's revision: a confirmation
// that read the event before then conflicts, and is refused too.
func (d *decision) checkNotCancelled(lock Lock) error {
	switch {
	case !d.ensureEvent():
		return holdfast.NotFound(holdfast.CodeEventNotFound)
	case d.event.Status == holdfast.Cancelled:
		d.bump(lock)
		return errNotOnSale()
	default:
		return nil
	}
}
