package inventory

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// lock returns a lock as this decision has left it. exists is false if the lock does not exist, and read is false if
// it has to be read first.
func (d *decision) lock(id ID) (lock Lock, exists, read bool) {
	if changed, ok := d.locks[id]; ok {
		return changed, !isBlock(changed.Lock), true
	}
	found, read := d.state.Locks[id]
	if !read {
		d.needs.Locks = append(d.needs.Locks, id)
		return Lock{}, false, false
	}
	if found == nil || isBlock(found.Lock) { // a customer can't use a block by its ID
		return Lock{}, false, true
	}
	return *found, true, true
}

// isBlock reports whether the lock is or was a block of the venue: it has no user and no expiry.
func isBlock(lock holdfast.Lock) bool {
	wasBlock := lock.Status == holdfast.LockReleased && lock.UserID.IsZero() && lock.ExpiresAt.IsZero()
	return lock.Status == holdfast.LockBlocked || wasBlock
}

// write plans a change of a lock. It replaces an earlier write of the same lock, such as a bump, and keeps the guard
// of that write.
func (d *decision) write(lock Lock, w LockWrite) {
	if !lock.EntryID.IsZero() && lock.Status == holdfast.LockActive && w.To != lock.Status {
		d.endOffer(lock, w)
	}
	w.ID, w.EventID = lock.ID, lock.EventID
	if i, planned := d.planned[lock.ID]; planned {
		before := d.plan.Locks[i]
		w.From, w.Guard, w.Revision = before.From, before.Guard, before.Revision
		if w.Seats == nil {
			w.Seats = before.Seats
		}
		if w.ShopData == nil {
			w.ShopData = before.ShopData
		}
		d.plan.Locks[i], d.written[i].by = w, d.command
	} else {
		d.planned[lock.ID] = len(d.plan.Locks)
		w.From = lock.Status
		if w.Guard != AnyRevision {
			w.Revision = lock.Revision
		}
		d.plan.Locks, d.written = append(d.plan.Locks, w), append(d.written, written{lock, d.command})
	}
	d.locks[lock.ID] = w.applyTo(lock)
}

// applyTo returns the lock after the write.
func (w LockWrite) applyTo(lock Lock) Lock {
	lock.Status = w.To
	if !w.ExpiresAt.IsZero() {
		lock.ExpiresAt = w.ExpiresAt
	}
	if !w.BookingID.IsZero() {
		lock.BookingID = w.BookingID
	}
	if w.Seats != nil {
		lock.Seats, lock.SeatIDs, lock.Section = w.Seats.Seats, w.Seats.SeatIDs, w.Seats.Section
	}
	if w.ShopData != nil {
		lock.ShopData = *w.ShopData
	}
	return lock
}

// release ends a lock whose seats are taken, and restores its seats.
func (d *decision) release(lock Lock, guard LockGuard, run Run) Lock {
	to, _ := lock.Status.Next(holdfast.ReleaseLock)
	d.subtractHolding(lock.Lock)
	d.returnSeats(lock.Seats, lock.SeatIDs, lock.Section)
	d.write(lock, LockWrite{To: to, Guard: guard, EndedBy: run.By, RunID: run.ID})
	return d.locks[lock.ID]
}

// expire ends a lock that is due, and restores its seats. The lock must be ACTIVE and due at the write, because a
// transaction that began in time may have confirmed it meanwhile. If this transaction has read the lock, such a
// change of the lock conflicts with the write.
func (d *decision) expire(lock Lock, by holdfast.EndedBy, runID string) {
	guard := IsDue
	if d.state.Held { // the transaction has read the due locks
		guard = AnyRevision
	}
	d.returnSeats(lock.Seats, lock.SeatIDs, lock.Section)
	d.write(lock, LockWrite{To: holdfast.LockExpired, Guard: guard, EndedBy: by, RunID: runID})
}

// consume marks a lock CONSUMED whose booking is CONFIRMED. If the lock is due although it is sold, its seats stay
// sold.
func (d *decision) consume(lock Lock, w LockWrite) {
	d.subtractHolding(lock.Lock)
	d.addSold(lock.Lock)
	w.To = holdfast.LockConsumed
	d.write(lock, w)
}

// bump raises the revision of an ACTIVE lock, and changes nothing else. Every refusal because of the time or of a
// cancelled event needs it: a transaction that began earlier, and would still confirm or extend the lock, then
// conflicts.
func (d *decision) bump(lock Lock) {
	if lock.Status == holdfast.LockActive {
		d.touch(lock)
	}
}

// touch raises the revision of a lock that the plan does not change: of two transactions that do, or change it, one
// commits.
func (d *decision) touch(lock Lock) {
	if _, planned := d.planned[lock.ID]; !planned {
		d.write(lock, LockWrite{To: lock.Status, Guard: AtRevision})
	}
}

// addSold adds the seats of a CONSUMED lock to what its user holds.
func (d *decision) addSold(lock holdfast.Lock) {
	if held, read := d.holdings[lock.UserID]; read {
		held.Seats += lock.Seats
		d.holdings[lock.UserID] = held
	}
}

// subtractHolding subtracts a lock from what its user holds.
func (d *decision) subtractHolding(lock holdfast.Lock) {
	held, read := d.holdings[lock.UserID]
	switch {
	case !read:
		return
	case lock.Status == holdfast.LockConsumed:
		held.Seats -= lock.Seats
	case !lock.Due(d.state.Now):
		held.Seats, held.Locks = held.Seats-lock.Seats, held.Locks-1
	}
	d.holdings[lock.UserID] = held
}

// booking returns a booking as this decision has left it; see lock.
func (d *decision) booking(id ID) (b holdfast.Booking, exists, read bool) {
	if changed, ok := d.bookings[id]; ok {
		return changed, true, true
	}
	found, read := d.state.Bookings[id]
	if !read {
		d.needs.Bookings = append(d.needs.Bookings, id)
		return holdfast.Booking{}, false, false
	}
	if found == nil {
		return holdfast.Booking{}, false, true
	}
	return *found, true, true
}

// liveBookings returns the live bookings of a lock, as this decision has left them. If they were not read, it adds
// them to the needs, and returns none.
func (d *decision) liveBookings(lock ID) (live []holdfast.Booking) {
	ids, read := d.state.LiveOf[lock]
	if !read {
		d.needs.LiveOf = append(d.needs.LiveOf, lock)
		return nil
	}
	for _, id := range ids {
		if b, exists, _ := d.booking(id); exists && b.LockID == lock && (b.Status.IsOpen() || b.Status == holdfast.BookingConfirmed) {
			live = append(live, b)
		}
	}
	return live
}

// isListed reports whether the live bookings of a lock were read.
func (d *decision) isListed(lock ID) bool {
	_, read := d.state.LiveOf[lock]
	return read
}

// moveBooking plans the next status of a booking, and returns the booking after the plan, with every field.
func (d *decision) moveBooking(b holdfast.Booking, a holdfast.BookingAction, w BookingWrite) holdfast.Booking {
	w.To, _ = b.Status.Next(a)
	return d.writeBooking(b, w, bookingChanges[w.To])
}

// writeBooking plans a change of a booking, and returns the booking after the plan. Its time of change is that of the
// decision, which never goes back. If what is empty, the change shows in no field but the list of payments: it has no
// record of its own, and the time of change stays.
func (d *decision) writeBooking(b holdfast.Booking, w BookingWrite, what holdfast.ChangeType) holdfast.Booking {
	w.ID, w.EventID, w.From, w.Revision = b.ID, b.EventID, b.Status, b.Revision
	previous := holdfast.PreviousBooking{Seats: b.Seats, SeatIDs: b.SeatIDs, Section: b.Section, UserID: b.UserID, Holder: b.Holder}
	if w.UpdatedAt = b.UpdatedAt; what != "" {
		w.UpdatedAt = later(b.UpdatedAt, d.state.Now)
	}
	d.plan.Bookings = append(d.plan.Bookings, w)
	b.Status, b.UpdatedAt, b.Revision = w.To, w.UpdatedAt, b.Revision+1
	if w.PaymentReference != "" {
		b.PaymentReference = w.PaymentReference
	}
	if !w.PaymentExpiresAt.IsZero() {
		b.PaymentExpiresAt = w.PaymentExpiresAt
	}
	if !w.LockID.IsZero() {
		b.LockID, b.Late = w.LockID, w.Late
	}
	if w.ShopData != nil {
		b.ShopData = *w.ShopData
	}
	if w.Seats != nil {
		b.Seats, b.SeatIDs, b.Section = w.Seats.Seats, w.Seats.SeatIDs, w.Seats.Section
	}
	if w.Customer != nil {
		b.UserID, b.Holder = w.Customer.UserID, w.Customer.Holder
	}
	if w.Payments != nil {
		b.Payments = *w.Payments
	}
	if w.Done != nil {
		b.Done = *w.Done
	}
	d.bookings[b.ID] = b
	if what == "" {
		return b
	}
	seen := seenBooking{after: b, what: what, by: d.command}
	if w.Seats != nil || w.Customer != nil {
		seen.previous = &previous
	}
	d.moved = append(d.moved, seen)
	return b
}

// checkBooking refuses an action on a booking: by its status, then its time, then its lock. The command has handled
// repeats before.
func checkBooking(b holdfast.Booking, a holdfast.BookingAction, lock holdfast.Lock, now time.Time) error {
	if _, allowed := b.Status.Next(a); !allowed {
		return b.Refusal()
	}
	if !b.Status.IsOpen() {
		return nil
	}
	if b.Due(lock, now) {
		return errBookingExpired()
	}
	return lock.Ended(now)
}

func errBookingExpired() error {
	return holdfast.Refuse(holdfast.CodeBookingExpired, "The booking has expired.")
}

// ended returns the refusal for a lock that is not live. A sold lock counts as CONSUMED, even if it is not marked.
func ended(lock Lock, bookings []holdfast.Booking, now time.Time) error {
	sold := slices.ContainsFunc(bookings, func(b holdfast.Booking) bool { return b.Status == holdfast.BookingConfirmed })
	if sold && lock.Status == holdfast.LockActive {
		lock.Status = holdfast.LockConsumed
	}
	return lock.Ended(now)
}
