package inventory

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// OfBooking names the booking that a command changes after its sale, and the request for it.
type OfBooking struct {
	BookingID ID
	LockID    ID // of the booking, when the command was created; zero: not known
	EventID   ID // that the booking names; zero: none
	// Request becomes the booking's Done, by which a repeat is found. Its time is that of the decision.
	Request holdfast.DoneRequest
	// Abandoned says that the caller has given up: see Acquire.
	Abandoned bool
}

// find returns the booking and its lock. isOpen is false if the command has its result without them: it needs something, is
// undecided or refused, or was carried out before.
func (c OfBooking) find(d *decision) (b holdfast.Booking, lock Lock, result Result, isOpen bool) {
	d.ofEvents(c.EventID)
	b, exists, read := d.booking(c.BookingID)
	switch isAnothers := b.EventID != c.EventID; {
	case !c.LockID.IsZero() && !read:
		d.lock(c.LockID) // read together with the booking
		return b, lock, Result{}, false
	case !read:
		return b, lock, Result{}, false
	case !exists || isAnothers:
		return b, lock, d.refuseFirmly(holdfast.NotFound(holdfast.CodeBookingNotFound)), false
	case d.makes(b.LockID): // by a late payment or a transfer of this batch; the next one can read it
		return b, lock, Result{Undecided: true}, false
	}
	lock, hasLock, lockRead := d.lock(b.LockID)
	switch {
	case !lockRead || !d.knowsEvent():
		return b, lock, Result{}, false
	case c.Abandoned:
		return b, lock, Result{Err: errGaveUp()}, false
	}
	keys := 0
	for _, done := range b.Done {
		isKept := done.HasKeyAt(d.state.Now)
		isOwn, hasKey := done.ID == c.Request.ID, isKept && done.KeyHash == c.Request.KeyHash
		if isKept {
			keys++
		}
		switch {
		case !isOwn && !hasKey:
		case done.Hash != c.Request.Hash:
			return b, lock, d.refuseFirmly(holdfast.Refuse(holdfast.CodeIdempotencyKeyReused,
				"The idempotency key was used for another request.")), false
		default: // an own one was carried out by an earlier commit, which was not answered
			return b, lock, Result{Booking: &b, Replayed: !isOwn}, false
		}
	}
	if keys >= holdfast.MaxDone && c.Request.KeyHash != "" {
		return b, lock, d.refuseFirmly(holdfast.RefuseInput("body.idempotencyKey",
			"The booking has had %d requests with a key within %v. Wait, or send none.", keys, holdfast.KeyRetention)), false
	}
	isElsewhere := hasLock && d.state.Event != nil && lock.EventID != d.event.ID
	if d.isCorrupt(b.LockID) || isElsewhere {
		return b, lock, Result{Err: errCorrupt()}, false
	}
	if !hasLock {
		lock = endedLock(b)
	}
	return b, lock, Result{}, true
}

// done returns the list of the booking's changes with this one.
func (c OfBooking) done(d *decision, b holdfast.Booking) *[]holdfast.DoneRequest {
	c.Request.At = d.state.Now
	list := b.WithDone(c.Request)
	return &list
}

// unchanged answers a request whose outcome the booking has already. Its key is kept, so that a later repeat does not undo
// what changes in between.
func (c OfBooking) unchanged(d *decision, b holdfast.Booking) Result {
	if c.Request.KeyHash != "" {
		b = d.writeBooking(b, BookingWrite{To: b.Status, Done: c.done(d, b)}, "")
	}
	return Result{Booking: &b}
}

// ChangeBooking replaces the seats of an open or CONFIRMED booking and of its lock by all seats of the new wish, or leaves
// both unchanged. The present seats count as free. An additional payment, and a part of a payment that has to be
// refunded, are part of the change.
type ChangeBooking struct {
	OfBooking
	holdfast.BookingChange
	RefundID ID // of the part
}

// decide checks in this order: a repeat by its key, the booking's status and time, a repeat by what the booking has, the
// payment, the refund, the customer's limits, the event, the form of the wish, the seats. Every refusal is fenced,
// because a client may repeat the request without a key.
func (c ChangeBooking) decide(d *decision) Result {
	b, lock, result, isOpen := c.find(d)
	paid, paidRead := d.payment(c.Payment)
	if !isOpen || !paidRead {
		return result
	}
	if err := notChangeable(b, lock, d); err != nil {
		d.bumpOpen(b, lock)
		return d.refuseFirmly(err)
	}
	if d.state.Event == nil {
		return d.refuseFirmly(holdfast.NotFound(holdfast.CodeEventNotFound))
	}
	if !d.ensureSeats() {
		return Result{}
	}
	wish, invalid := d.inHall(c.Seats, c.Wish)
	if invalid == nil && d.isAsWished(lock.Lock, wish) {
		if d.isCorrupt(d.state.Charged[PaymentKey{c.Payment.Reference, c.Payment.Part}]) && !c.Payment.IsZero() {
			return Result{Err: errCorrupt()} // it may be one of the booking's own
		}
		if isOwn := paid != nil && paid.BookingID == b.ID && paid.Agrees(c.Payment); !isOwn && !c.Payment.IsZero() {
			return d.refuseFirmly(holdfast.RefuseInput("body.payment",
				"The booking has these seats already, and the payment is not one of its own."))
		}
		return c.unchanged(d, b)
	}
	lock = d.sold(b, lock)
	if err := c.checkPayment(d, b, paid); err != nil {
		return d.refuseFirmly(err)
	}
	refunded, err := c.toRefund(d, b)
	if err != nil {
		return d.refuseFirmly(err)
	}
	if !d.settle() {
		return Result{}
	}
	if refusal, known := d.beyondLimits(lock.UserID, c.Seats, c.Seats-lock.Seats, 0, ID{}); !known {
		return Result{}
	} else if refusal != nil {
		return d.refuseFirmly(refusal)
	}
	if d.event.Status == holdfast.Cancelled {
		return d.refuseFirmly(errNotOnSale())
	}
	if refusal := d.notOnSale(); refusal != nil && c.Seats > lock.Seats {
		return d.refuseFirmly(refusal)
	}
	if invalid != nil {
		return d.refuseFirmly(invalid)
	}
	if !d.needs.None() {
		return Result{}
	}
	if d.deferRest {
		return Result{Undecided: true}
	}
	return c.change(d, b, lock, wish, refunded)
}

// change exchanges the seats, and records the money that moves with them. refunded is the payment of the part, if there is one.
func (c ChangeBooking) change(d *decision, b holdfast.Booking, lock Lock, wish wished, refunded *holdfast.Payment) Result {
	guard := LiveAtRevision
	if b.Status == holdfast.BookingConfirmed {
		guard = AtRevision
	}
	changed, result, ok := d.exchange(lock, wish, guard)
	if !ok {
		return result
	}
	w := BookingWrite{
		To: b.Status, WindowOpen: b.Status.IsOpen() && !b.PaymentExpiresAt.IsZero(), Done: c.done(d, b),
		Seats: &LockSeats{Seats: changed.Seats, SeatIDs: changed.SeatIDs, Section: changed.Section},
	}
	if refunded != nil {
		part := holdfast.Refund{
			ID: c.RefundID, Amount: c.Refund.Amount, Reason: holdfast.RefundSeatsChanged, Status: holdfast.RefundDue, CreatedAt: d.state.Now,
		}
		d.addPart(*refunded, part)
	}
	if !c.Payment.IsZero() {
		w.Payments = listed(b, *d.record(b, c.Payment, holdfast.PaymentAccepted, "", ""))
	}
	b = d.writeBooking(b, w, holdfast.ChangeBookingChanged)
	return Result{Booking: &b, isGranted: true}
}

// sold makes the lock of a CONFIRMED booking CONSUMED, if a crash of other software left it ACTIVE. Otherwise it could be
// reclaimed while the booking changes. The repair stays if the change is refused.
func (d *decision) sold(b holdfast.Booking, lock Lock) Lock {
	if b.Status != holdfast.BookingConfirmed || lock.Status != holdfast.LockActive {
		return lock
	}
	d.consume(lock, LockWrite{Guard: AtRevision})
	return d.locks[lock.ID]
}

// notChangeable refuses to change a booking that has ended or is due, or whose lock has ended without it.
func notChangeable(b holdfast.Booking, lock Lock, d *decision) error {
	switch {
	case b.Status.HasEnded():
		return b.Refusal()
	case b.Status.IsOpen() && b.Due(lock.Lock, d.state.Now):
		return errBookingExpired()
	case b.Status == holdfast.BookingConfirmed && slices.Contains(holdfast.TakingStatuses(), lock.Status):
		return nil
	default:
		return lock.Ended(d.state.Now)
	}
}

// checkPayment refuses an additional payment that the booking can't get.
func (c ChangeBooking) checkPayment(d *decision, b holdfast.Booking, paid *holdfast.Payment) error {
	switch {
	case c.Payment.IsZero():
		return nil
	case b.Status.IsOpen():
		return holdfast.Refuse(holdfast.CodeBookingNotPayable, "The booking is not confirmed. Its payment confirms it, with all of its seats.")
	case paid != nil || d.isCorrupt(d.state.Charged[PaymentKey{c.Payment.Reference, c.Payment.Part}]):
		return errReferenceUsed()
	case len(b.Accepted()) >= holdfast.MaxListedPayments:
		return holdfast.RefuseInput("body.payment", "A booking has at most %d payments.", holdfast.MaxListedPayments)
	default:
		return nil
	}
}

func errReferenceUsed() error {
	return holdfast.Refuse(holdfast.CodePaymentReferenceUsed, "The payment was reported before. Another one needs a reference of its own.")
}

// toRefund returns the payment of which the change refunds a part; nil if it refunds none. It also returns nil if the
// payment has to be read first.
func (c ChangeBooking) toRefund(d *decision, b holdfast.Booking) (*holdfast.Payment, error) {
	if c.Refund == nil {
		return nil, nil //nolint:nilnil // there is nothing to refund
	}
	const field = "body.refund"
	accepted, id := b.Accepted(), c.Refund.PaymentID
	switch {
	case b.Status.IsOpen():
		return nil, holdfast.RefuseInput(field, "The booking is not paid for, so nothing can be refunded.")
	case id.IsZero() && len(accepted) == 0:
		return nil, holdfast.RefuseInput(field, "The booking has no payment of which a part can be refunded.")
	case id.IsZero():
		id = accepted[0]
	case !slices.Contains(accepted, id):
		return nil, holdfast.RefuseInput(field+".paymentId", "The booking has no accepted payment with this ID.")
	}
	p, exists, read := d.paymentByID(id)
	switch {
	case !read:
		return nil, nil //nolint:nilnil // the needs say what is missing
	case d.isCorrupt(id) || !exists:
		return nil, errCorrupt()
	case p.Status != holdfast.PaymentAccepted:
		return nil, holdfast.RefuseInput(field+".paymentId", "The payment is not accepted.")
	}
	return &p, checkPart(p, c.Refund.Amount, field+".amount")
}

// Transfer gives a CONFIRMED booking to another customer: its lock ends, and a new CONSUMED lock of that customer has
// the seats. The payments keep the customer that paid.
type Transfer struct {
	OfBooking
	Customer

	NewLockID ID // of the lock to be made
}

// decide checks in this order: a repeat by its key, the receiver, the booking's status and time, a repeat by what the booking
// has, the event, the receiver's limits.
func (c Transfer) decide(d *decision) Result {
	b, lock, result, isOpen := c.find(d)
	if !isOpen {
		return result
	}
	if refusal := d.state.Unknown[c.UserID]; refusal != nil && c.Holder == "" {
		return Result{Err: refusal}
	}
	err := notChangeable(b, lock, d)
	switch {
	case b.Status.IsOpen() && !holdfast.HasCode(err, holdfast.CodeBookingExpired):
		return d.refuseFirmly(holdfast.Refuse(holdfast.CodeBookingNotPayable, "The booking is not confirmed, so it can't be transferred."))
	case err != nil:
		d.bumpOpen(b, lock)
		return d.refuseFirmly(err)
	case b.UserID == c.UserID && (b.Holder == c.Holder || c.Holder != "" && b.Holder == holdfast.ErasedHolder(b.UserID)):
		return c.unchanged(d, b)
	}
	if d.state.Event == nil {
		return d.refuseFirmly(holdfast.NotFound(holdfast.CodeEventNotFound))
	}
	if d.event.Status == holdfast.Cancelled {
		return d.refuseFirmly(errNotOnSale())
	}
	if refusal, known := d.beyondLimits(c.UserID, lock.Seats, lock.Seats, 0, lock.ID); !known {
		return Result{}
	} else if refusal != nil {
		return d.refuseFirmly(refusal)
	}
	if d.deferRest {
		return Result{Undecided: true}
	}
	lock, d.ifUnchanged = d.sold(b, lock), true
	d.subtractHolding(lock.Lock)
	ends := LockWrite{To: holdfast.LockReleased, Guard: AtRevision, EndedBy: holdfast.EndedByTransfer}
	if lock.BookingID != b.ID { // other software made the booking
		ends.BookingID = b.ID
	}
	d.write(lock, ends)
	next := holdfast.Lock{
		ID: c.NewLockID, EventID: d.event.ID, UserID: c.UserID, Holder: c.Holder, Seats: lock.Seats, SeatIDs: lock.SeatIDs,
		Section: lock.Section, Status: holdfast.LockConsumed, ExpiresAt: d.state.Now, BookingID: b.ID, ShopData: lock.ShopData,
	}
	d.addSold(next)
	d.acquire(next, 0)
	d.freed() // the one who gives it away may have a place on the waiting list, and may hold more now
	w := BookingWrite{To: b.Status, LockID: next.ID, Late: b.Late, Customer: &c.Customer, Done: c.done(d, b)}
	b = d.writeBooking(b, w, holdfast.ChangeBookingTransferred)
	return Result{Booking: &b, isGranted: true}
}
