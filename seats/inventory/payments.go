package inventory

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// PaymentKey is what there is one payment for.
type PaymentKey struct{ Reference, Part string }

// PaymentWrite changes a payment that has the status From.
type PaymentWrite struct {
	ID       ID
	From, To holdfast.PaymentStatus
	After    holdfast.Payment // as the write leaves it
	RunID    string
}

// seenPayment is a payment after a write, and the command.
type seenPayment struct {
	after holdfast.Payment
	by    int
}

// Confirm sells the booking's seats while neither the booking nor its lock is due. A repeat
// with the same charge, or with none, gets the same answer.
//
// A confirmation with a charge leaves a payment, together with a refusal too: then the payment is REFUND_DUE. A
// charge that was refused stays refused.
//
// A late payment may get the seats again, in a new lock: only in the queue of the event, which is asked for
// by Result.IsLate.
type Confirm struct {
	BookingID ID
	Charge    holdfast.Charge

	// In the queue of the event: the lock that a late payment makes, and the event.
	LockID, EventID ID
}

func (c Confirm) decide(d *decision) Result {
	d.ofEvents(c.EventID)
	b, lock, exists, read := d.bookingAndLock(c.BookingID)
	paid, unrecorded, paymentRead := d.payment(c.Charge)
	switch {
	case !read || !paymentRead || !c.EventID.IsZero() && !d.knowsEvent():
		return Result{}
	case !exists:
		return Result{Err: holdfast.NotFound(holdfast.CodeBookingNotFound)}
	}
	switch {
	case paid != nil && !paid.Agrees(c.Charge):
		return Result{Err: holdfast.RefuseInput("body", "The payment has another provider, amount or currency.")}
	case b.Status == holdfast.BookingConfirmed && (c.Charge.IsZero() || isPaidBy(b, c.Charge, paid)):
		if !c.Charge.IsZero() && b.PaymentID.IsZero() && !d.adopt(b, c.Charge, holdfast.PaymentAccepted, "") {
			return Result{}
		}
		b, _, _ = d.booking(b.ID)
		return Result{Booking: &b}
	case isOfAnother(b, c.Charge, paid, unrecorded):
		return Result{Err: holdfast.Refuse(holdfast.CodePaymentReferenceUsed, "The reference and part are of another booking.")}
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
	d.sales[lock.ID]++
	return c.sell(d, b, holdfast.ConfirmBooking, BookingWrite{
		WindowOpen: !b.PaymentExpiresAt.IsZero(), // other software may leave none: then the lock's expiry counts
	})
}

// refusal says why a booking can't be confirmed in time, and why its payment has to go back then.
func (c Confirm) refusal(d *decision, b holdfast.Booking, lock Lock) (holdfast.PaymentReason, error) {
	action, seen := holdfast.ConfirmBooking, d.seenBy(b, lock)
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
		w.PaymentReference, w.PaymentID = p.Reference, p.ID
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

// lateUntil is the last moment at which the event accepts the payment of a booking. It counts from the earlier end of
// the booking's window and its lock.
func (c Confirm) lateUntil(d *decision, b holdfast.Booking, lock Lock) time.Time {
	end := b.PaymentExpiresAt
	if !lock.ExpiresAt.IsZero() && lock.ExpiresAt.Before(end) {
		end = lock.ExpiresAt
	}
	return end.Add(d.event.LatePayments.Window())
}

// accept gives a late payment the seats of its booking again, if they are free under the event's rules and the
// customer's limits. The former lock is EXPIRED, and a new one, which is CONSUMED, holds the seats.
func (c Confirm) accept(d *decision, b holdfast.Booking, former Lock, paid *holdfast.Payment) Result {
	others, isListed := d.liveBookings(b.LockID), d.isListed(b.LockID)
	if !isListed || !d.ensureSeats() || !d.ensureCounter() {
		return Result{}
	}
	d.bumpOpen(b, former) // a confirmation that began in time then conflicts
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
	next, holds := c.nextLock(d, b, former), former.Status == holdfast.LockActive
	isAnothers := former.Status == holdfast.LockConsumed ||
		slices.ContainsFunc(others, func(o holdfast.Booking) bool { return o.ID != b.ID }) // of other software
	if isAnothers || next.Seats < 1 || former.EventID != d.event.ID {
		return refuse(holdfast.ReasonSeatsGone)
	}
	more := next.Seats
	if holds && !former.Due(d.state.Now) { // they count already
		more = 0
	}
	if refusal, known := d.beyondLimits(next.UserID, next.Seats, more, 0); !known {
		return Result{}
	} else if refusal != nil {
		return refuse(holdfast.ReasonLimit)
	}
	if !holds {
		switch taken, undecided := c.takeAgain(d, next); {
		case undecided:
			return Result{Undecided: true}
		case !taken:
			return refuse(holdfast.ReasonSeatsGone)
		case paid != nil:
			d.giveBack(next.Seats, next.SeatIDs, next.Section)
		}
	}
	if paid != nil { // the booking could be paid for, but not by this charge
		return Result{Err: errRefundDue(*paid)}
	}
	if holds {
		d.subtractHolding(former.Lock)
		d.write(former, LockWrite{To: holdfast.LockExpired, Guard: AtRevision, ClearBooking: true, EndedBy: holdfast.EndedByLatePayment})
	}
	d.addSold(next)
	d.ifUnchanged = true
	if end := c.lateUntil(d, b, former).Add(time.Millisecond); d.plan.Before.IsZero() || end.Before(d.plan.Before) {
		d.plan.Before = end
	}
	d.acquire(next, 0)
	return c.sell(d, b, holdfast.AcceptBooking, BookingWrite{LockID: next.ID, Late: true})
}

// nextLock is the lock that a late payment makes, with the seats of the former one or, if that was purged, of the
// booking.
func (c Confirm) nextLock(d *decision, b holdfast.Booking, former Lock) holdfast.Lock {
	next := holdfast.Lock{
		ID: c.LockID, EventID: d.event.ID, UserID: cmp.Or(former.UserID, b.UserID), Seats: b.Seats, SeatIDs: b.SeatIDs, Section: b.Section,
		Status: holdfast.LockConsumed, ExpiresAt: d.state.Now, BookingID: b.ID,
	}
	if _, exists, _ := d.lock(b.LockID); exists {
		next.Seats, next.SeatIDs, next.Section = former.Seats, former.SeatIDs, former.Section
	}
	return next
}

// takeAgain claims the seats of a lock that has lost them. The orphan rule is not for seats that are paid for.
func (c Confirm) takeAgain(d *decision, lock holdfast.Lock) (taken, undecided bool) {
	if d.deferRest {
		return false, true
	}
	wish := wished{seats: lock.Seats, mayOrphan: true}
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
	_, result, taken := d.take(wish, had{}, UserKey{})
	return taken, result.Undecided
}

// Refund notes that the shop has given a payment back.
type Refund struct {
	PaymentID ID
	Reference string // of the refund
}

func (c Refund) decide(d *decision) Result {
	found, read := d.payments[c.PaymentID]
	if !read {
		found, read = d.state.Payments[c.PaymentID]
	}
	if !read {
		d.needs.Payments = append(d.needs.Payments, c.PaymentID)
		return Result{}
	}
	if found == nil {
		return Result{Err: holdfast.NotFound(holdfast.CodePaymentNotFound)}
	}
	p := *found
	switch {
	case p.Status == holdfast.PaymentAccepted:
		return Result{Err: holdfast.Refuse(holdfast.CodePaymentAccepted, "The payment is accepted: cancel its booking first.")}
	case p.Status == holdfast.PaymentRefunded && p.RefundReference != c.Reference:
		return Result{Err: holdfast.Refuse(holdfast.CodePaymentRefunded, "The payment has been refunded with another reference.")}
	case p.Status == holdfast.PaymentRefundDue:
		p.RefundReference = c.Reference
		p = d.movePayment(p, holdfast.RefundPayment, "")
	}
	return Result{Payment: &p}
}

// payment returns the payment of a charge, and up to two bookings that an earlier version has confirmed with its
// reference, and that had no payment before this batch. read is false if they have to be read first.
func (d *decision) payment(c holdfast.Charge) (p *holdfast.Payment, unrecorded []ID, read bool) {
	if c.IsZero() {
		return nil, nil, true
	}
	p, read = d.paymentOf(PaymentKey{c.Reference, c.Part})
	unrecorded, isListed := d.state.Unrecorded[c.Reference]
	if !isListed {
		d.needs.Unrecorded = append(d.needs.Unrecorded, c.Reference)
	}
	return p, unrecorded, read && isListed
}

// paymentOf returns the payment of a reference and part, as this decision has left it; nil: there is none.
func (d *decision) paymentOf(key PaymentKey) (p *holdfast.Payment, read bool) {
	id, read := d.charged[key]
	if !read {
		id, read = d.state.Charged[key]
	}
	switch {
	case !read:
		d.needs.Charged = append(d.needs.Charged, key)
		return nil, false
	case id.IsZero():
		return nil, true
	}
	if changed, ok := d.payments[id]; ok {
		return changed, true
	}
	return d.state.Payments[id], true
}

// isOfAnother reports whether another booking has the reference and part of a charge.
func isOfAnother(b holdfast.Booking, c holdfast.Charge, paid *holdfast.Payment, unrecorded []ID) bool {
	if paid != nil {
		return paid.BookingID != b.ID
	}
	return slices.ContainsFunc(unrecorded, func(id ID) bool { return id != b.ID && isPartOf(id, c) })
}

// isPartOf reports whether a charge has the part of a booking that an earlier version has confirmed: none or, if
// several have its reference, the booking's ID.
func isPartOf(bookingID ID, c holdfast.Charge) bool {
	return c.Part == "" || c.Part == bookingID.String()
}

// errRefundDue refuses a charge that was refused before, of a booking that could be confirmed now.
func errRefundDue(p holdfast.Payment) error {
	return holdfast.Refuse(holdfast.CodePaymentRefundDue, "The payment was refused before: it goes back, and the booking needs another one.").
		With(p.Refused())
}

// isPaidBy reports whether a CONFIRMED booking was paid by a charge. The payment of a booking that an earlier version
// has confirmed may have got the booking's ID as its part, of which the shop knows nothing.
func isPaidBy(b holdfast.Booking, c holdfast.Charge, paid *holdfast.Payment) bool {
	switch {
	case b.PaymentID == c.PaymentID():
		return true
	case paid != nil || b.PaymentReference != c.Reference || !isPartOf(b.ID, c):
		return false
	}
	adopted := c
	adopted.Part = b.ID.String()
	return b.PaymentID.IsZero() || b.PaymentID == adopted.PaymentID()
}

// refuseCharge refuses a confirmation. Its charge has to go back: the payment says so.
func (d *decision) refuseCharge(
	b holdfast.Booking, c holdfast.Charge, paid *holdfast.Payment, err error, why holdfast.PaymentReason,
) Result {
	if c.IsZero() {
		return Result{Err: err}
	}
	code, message := holdfast.CodeOf(err), messageOf(err)
	switch {
	case paid == nil:
		paid = d.record(b, c, holdfast.PaymentRefundDue, why, code)
		d.keepBooking(b)
	case paid.Status == holdfast.PaymentAccepted: // other software has changed the booking since
		due := *paid
		due.Reason, due.Code = why, code
		due = d.movePayment(due, holdfast.ReturnPayment, "")
		paid = &due
	case paid.Code != "" && paid.Code != code: // a repeat gets the answer that it got before
		code, message = paid.Code, "The payment was refused before."
	}
	return Result{Err: holdfast.Refuse(code, "%s", message).With(paid.Refused()), Payment: paid}
}

// keepBooking writes a booking that does not change, so that retention does not remove it in the meantime.
func (d *decision) keepBooking(b holdfast.Booking) {
	if _, isWritten := d.bookings[b.ID]; isWritten {
		return
	}
	d.plan.Bookings = append(d.plan.Bookings, BookingWrite{
		ID: b.ID, EventID: b.EventID, From: b.Status, To: b.Status, Quiet: true,
	})
	d.bookings[b.ID] = b
}

// record plans a new payment.
func (d *decision) record(
	b holdfast.Booking, c holdfast.Charge, status holdfast.PaymentStatus, why holdfast.PaymentReason, code holdfast.Code,
) *holdfast.Payment {
	c.Provider = cmp.Or(c.Provider, holdfast.DefaultProvider)
	p := holdfast.Payment{
		ID: c.PaymentID(), Charge: c, BookingID: b.ID, EventID: b.EventID, UserID: b.UserID, Status: status, Reason: why, Code: code,
		CreatedAt: d.state.Now, UpdatedAt: d.state.Now,
	}
	d.plan.NewPayments = append(d.plan.NewPayments, p)
	d.keepPayment(p)
	return &p
}

// keepPayment notes a payment as this decision leaves it.
func (d *decision) keepPayment(p holdfast.Payment) {
	if d.payments == nil {
		d.payments, d.charged = map[ID]*holdfast.Payment{}, map[PaymentKey]ID{}
	}
	d.payments[p.ID], d.charged[PaymentKey{p.Reference, p.Part}] = &p, p.ID
	d.paid = append(d.paid, seenPayment{p, d.command})
}

// movePayment plans the next status of a payment, and returns the payment as the plan leaves it.
func (d *decision) movePayment(p holdfast.Payment, a holdfast.PaymentAction, runID string) holdfast.Payment {
	from := p.Status
	p.Status, _ = from.Next(a)
	p.UpdatedAt, p.Revision = later(p.UpdatedAt, d.state.Now), p.Revision+1
	d.plan.Payments = append(d.plan.Payments, PaymentWrite{ID: p.ID, From: from, To: p.Status, After: p, RunID: runID})
	d.keepPayment(p)
	return p
}

// returnPayment makes the payment of a CONFIRMED booking REFUND_DUE, because the booking is cancelled. It returns
// false if the payment has to be read first.
func (d *decision) returnPayment(b holdfast.Booking, why holdfast.PaymentReason, runID string) bool {
	switch {
	case b.PaymentID.IsZero() && b.PaymentReference == "":
		return true
	case b.PaymentID.IsZero():
		return d.adopt(b, holdfast.Charge{Reference: b.PaymentReference}, holdfast.PaymentRefundDue, why)
	}
	p, read := d.payments[b.PaymentID]
	if !read {
		p, read = d.state.Payments[b.PaymentID]
	}
	if !read {
		d.needs.Payments = append(d.needs.Payments, b.PaymentID)
		return false
	}
	if p != nil && p.Status == holdfast.PaymentAccepted {
		due := *p
		due.Reason, due.Code = why, holdfast.CodeBookingCancelled
		d.movePayment(due, holdfast.ReturnPayment, runID)
	}
	return true
}

// adopt records the payment of a booking that an earlier version has confirmed with the charge's reference. If other
// bookings have the reference too, the booking's ID is the part. It returns false if they have to be read first.
func (d *decision) adopt(b holdfast.Booking, c holdfast.Charge, status holdfast.PaymentStatus, why holdfast.PaymentReason) bool {
	first, unrecorded, read := d.payment(c)
	if !read {
		return false
	}
	isShared := first != nil || slices.ContainsFunc(unrecorded, func(id ID) bool { return id != b.ID })
	if c.Part == "" && isShared {
		c.Part = b.ID.String()
		if own, ownRead := d.paymentOf(PaymentKey{c.Reference, c.Part}); !ownRead || own != nil { // a shop has used the ID as a part
			return ownRead
		}
	}
	if status == holdfast.PaymentRefundDue {
		d.record(b, c, status, why, holdfast.CodeBookingCancelled)
		return true
	}
	b.PaymentID = d.record(b, c, status, "", "").ID
	d.plan.Bookings = append(d.plan.Bookings, BookingWrite{
		ID: b.ID, EventID: b.EventID, From: b.Status, To: b.Status, PaymentID: b.PaymentID, Quiet: true, ChecksPayment: true,
	})
	d.bookings[b.ID] = b
	return true
}

// messageOf is what a refusal says.
func messageOf(err error) string {
	if e, ok := err.(*holdfast.Error); ok { //nolint:errorlint // refusals of this package are not wrapped
		return e.Message
	}
	return err.Error()
}
