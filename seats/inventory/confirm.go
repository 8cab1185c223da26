package inventory

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Confirm sells the booking's seats while neither the booking nor its lock is due. A repeat with the same charge, or
// without a charge, gets the same answer.
//
// A confirmation with a charge creates a payment. If the confirmation is refused, the payment is REFUND_DUE. A
// charge that was refused stays refused.
//
// A late payment may acquire the seats again, in a new lock. Only the queue of the event does that: Result.IsLate
// asks for it.
type Confirm struct {
	BookingID ID
	Charge    holdfast.Charge

	// These two are set in the queue of the event: the lock that a late payment creates, and the event.
	LockID, EventID ID
}

func (c Confirm) decide(d *decision) Result {
	d.ofEvents(c.EventID)
	b, lock, exists, read := d.bookingAndLock(c.BookingID)
	paid, paymentRead := d.payment(c.Charge)
	switch {
	case !read || !paymentRead || !c.EventID.IsZero() && !d.knowsEvent():
		return Result{}
	case !exists:
		return Result{Err: holdfast.NotFound(holdfast.CodeBookingNotFound)}
	}
	switch {
	case !c.Charge.IsZero() && d.isCorrupt(d.state.Charged[PaymentKey{c.Charge.Reference, c.Charge.Part}]):
		return Result{Err: errCorrupt()}
	case paid != nil && !paid.Agrees(c.Charge):
		return Result{Err: holdfast.RefuseInput("body", "The payment has another provider, amount or currency.")}
	case b.Status == holdfast.BookingConfirmed && (c.Charge.IsZero() || isPaidBy(b, c.Charge, paid)):
		return Result{Booking: &b}
	case paid != nil && paid.BookingID != b.ID:
		return Result{Err: holdfast.Refuse(holdfast.CodePaymentReferenceUsed, "The reference and part are of another booking.")}
	}
	if d.isCorrupt(b.LockID) {
		return Result{Err: errCorrupt()}
	}
	if c.isLate(d, b, lock) {
		if c.LockID.IsZero() {
			return Result{IsLate: true}
		}
		return c.accept(d, b, lock, paid)
	}
	reason, err := c.refusal(d, b, lock)
	switch {
	case holdfast.HasCode(err, holdfast.CodeEventNotFound), holdfast.HasCode(err, holdfast.CodeBookingNotPayable):
		return Result{Err: err}
	case err != nil:
		return d.refuseCharge(b, c.Charge, paid, err, reason)
	case paid != nil:
		return Result{Err: errRefundDue(*paid)}
	}
	d.consume(lock, LockWrite{Guard: LiveAtRevision})
	return c.sell(d, b, holdfast.ConfirmBooking, BookingWrite{
		WindowOpen: !b.PaymentExpiresAt.IsZero(), // without a window the expiry of the lock applies
	})
}

// refusal returns why a booking can't be confirmed in time, and why its payment then has to be refunded.
func (c Confirm) refusal(d *decision, b holdfast.Booking, lock Lock) (holdfast.PaymentReason, error) {
	action, seen := holdfast.ConfirmBooking, lock.Lock
	if b.Status == holdfast.BookingInitiated && b.Due(seen, d.state.Now) { // it expired before it could be paid for
		action = holdfast.CancelBooking
	}
	err := checkBooking(b, action, seen, d.state.Now)
	if err == nil {
		return holdfast.ReasonEventCancelled, d.checkNotCancelled(lock)
	}
	d.bumpOpen(b, lock)
	switch holdfast.CodeOf(err) {
	case holdfast.CodeBookingConfirmed:
		return holdfast.ReasonDuplicate, err
	case holdfast.CodeBookingCancelled:
		if d.state.Event != nil && d.event.Status == holdfast.Cancelled {
			return holdfast.ReasonEventCancelled, err
		}
		return holdfast.ReasonBookingCancelled, err
	case holdfast.CodeBookingExpired:
		return holdfast.ReasonLate, err
	default:
		return holdfast.ReasonLockEnded, err
	}
}

// sell confirms the booking, and records its payment.
func (c Confirm) sell(d *decision, b holdfast.Booking, a holdfast.BookingAction, w BookingWrite) Result {
	if !c.Charge.IsZero() {
		p := d.record(b, c.Charge, holdfast.PaymentAccepted, "", "")
		w.PaymentReference, w.Payments = p.Reference, listed(b, *p)
	}
	b = d.moveBooking(b, a, w)
	return Result{Booking: &b}
}

// isLate reports whether the event accepts the payment of a booking that has expired.
func (c Confirm) isLate(d *decision, b holdfast.Booking, lock Lock) bool {
	policy := d.event.LatePayments
	if c.Charge.IsZero() || b.PaymentExpiresAt.IsZero() || d.state.Event == nil || policy.Policy != holdfast.LatePaymentsAccepted {
		return false
	}
	if b.Status != holdfast.BookingExpired && (b.Status != holdfast.BookingPending || !b.Due(lock.Lock, d.state.Now)) {
		return false
	}
	return !d.state.Now.After(c.lateUntil(d, b, lock))
}

// lateUntil returns the last moment at which the event accepts the payment of a booking. It counts from the earlier
// end of the booking's window and its lock.
func (c Confirm) lateUntil(d *decision, b holdfast.Booking, lock Lock) time.Time {
	end := b.PaymentExpiresAt
	if !lock.ExpiresAt.IsZero() && lock.ExpiresAt.Before(end) {
		end = lock.ExpiresAt
	}
	return end.Add(d.event.LatePayments.Window())
}

// accept claims the seats of a booking again for a late payment, if they are free under the event's rules and the
// customer's limits. The previous lock becomes EXPIRED, and a new CONSUMED lock holds the seats.
func (c Confirm) accept(d *decision, b holdfast.Booking, previous Lock, paid *holdfast.Payment) Result {
	others, isListed := d.liveBookings(b.LockID), d.isListed(b.LockID)
	if !isListed || !d.ensureSeats() || !d.ensureCounter() {
		return Result{}
	}
	d.bumpOpen(b, previous) // a confirmation that began in time then conflicts
	refuse := func(why holdfast.PaymentReason) Result {
		return d.refuseCharge(b, c.Charge, paid, errBookingExpired(), why)
	}
	switch d.event.Status {
	case holdfast.OnSale:
	case holdfast.Cancelled:
		return refuse(holdfast.ReasonEventCancelled)
	default:
		return refuse(holdfast.ReasonNotOnSale)
	}
	next, holds := c.nextLock(d, b, previous), previous.Status == holdfast.LockActive
	isAnothers := previous.Status == holdfast.LockConsumed ||
		slices.ContainsFunc(others, func(o holdfast.Booking) bool { return o.ID != b.ID }) // the lock has another booking
	if isAnothers || next.Seats < 1 || previous.EventID != d.event.ID {
		return refuse(holdfast.ReasonSeatsGone)
	}
	if !holds && !d.settle() {
		return Result{}
	}
	more := next.Seats
	if holds && !previous.Due(d.state.Now) { // they count already
		more = 0
	}
	if refusal, known := d.beyondLimits(next.UserID, next.Seats, more, 0, previous.ID); !known {
		return Result{}
	} else if refusal != nil {
		return refuse(holdfast.ReasonLimit)
	}
	if d.deferRest {
		return Result{Undecided: true}
	}
	if !holds {
		switch taken, undecided := c.claimAgain(d, next); {
		case undecided:
			return Result{Undecided: true}
		case !taken:
			return refuse(holdfast.ReasonSeatsGone)
		case paid != nil:
			d.returnSeats(next.Seats, next.SeatIDs, next.Section)
		}
	}
	if paid != nil { // the booking could be paid for, but not by this charge
		return Result{Err: errRefundDue(*paid)}
	}
	if holds {
		d.subtractHolding(previous.Lock)
		d.write(previous, LockWrite{To: holdfast.LockExpired, Guard: AtRevision, EndedBy: holdfast.EndedByLatePayment})
	} else if _, exists, _ := d.lock(b.LockID); exists { // the new lock gets its reference and metadata
		d.touch(previous)
	}
	d.addSold(next)
	d.ifUnchanged = true
	d.plan.endBefore(c.lateUntil(d, b, previous).Add(time.Millisecond))
	d.acquire(next, 0)
	return c.sell(d, b, holdfast.AcceptBooking, BookingWrite{LockID: next.ID, Late: true})
}

// nextLock returns the lock that a late payment creates. It has the seats, the reference and the metadata of the previous
// lock or, if that was purged, of the booking.
func (c Confirm) nextLock(d *decision, b holdfast.Booking, previous Lock) holdfast.Lock {
	next := holdfast.Lock{
		ID: c.LockID, EventID: d.event.ID, UserID: b.UserID, Holder: b.Holder, Seats: b.Seats, SeatIDs: b.SeatIDs, Section: b.Section,
		Status: holdfast.LockConsumed, ExpiresAt: d.state.Now, BookingID: b.ID, ShopData: b.ShopData,
	}
	if !previous.UserID.IsZero() {
		next.UserID, next.Holder = previous.UserID, previous.Holder
	}
	if _, exists, _ := d.lock(b.LockID); exists {
		next.Seats, next.SeatIDs, next.Section, next.ShopData = previous.Seats, previous.SeatIDs, previous.Section, previous.ShopData
	}
	return next
}

// claimAgain claims the seats of a lock that has lost them. The orphan rule does not apply to seats that are paid
// for.
func (c Confirm) claimAgain(d *decision, lock holdfast.Lock) (taken, undecided bool) {
	if d.deferRest {
		return false, true
	}
	wish := wished{seats: lock.Seats, mayOrphan: true}
	if d.list.holds {
		return false, false
	}
	switch {
	case !d.isSeated():
	case len(lock.SeatIDs) > 0:
		places, refusal := d.places(lock.SeatIDs)
		if refusal != nil { // the event has another plan now
			return false, false
		}
		wish.named = places
	default:
		wish.general, wish.section = true, d.sectionOf(lock)
		if wish.section < 0 {
			return false, false
		}
	}
	_, result, taken := d.claimSeats(wish, previousSeats{}, UserKey{})
	return taken, result.Undecided
}
