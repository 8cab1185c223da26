package inventory

import "github.com/holdfast-dev/holdfast"

// Sell sells seats at once: it makes a CONSUMED lock, its CONFIRMED booking and, if there is a charge, the payment. RequestHash
// of the lock must be that of the sale, if it has a key.
type Sell struct {
	Acquire

	BookingID ID // of the booking to be made
	Charge    holdfast.Charge
}

// decide checks in the order of Acquire, with the charge after the event. The status CLOSED and the times of the sale don't
// matter.
func (c Sell) decide(d *decision) Result {
	if made := d.state.Locks[c.LockID]; made != nil { // by an earlier commit, which was not answered
		return c.sold(d, Result{}, made.Lock)
	}
	if refusal := d.state.Unknown[c.UserID]; refusal != nil && c.Holder == "" {
		return Result{Err: refusal}
	}
	paid, paidRead := d.payment(c.Charge)
	if !d.ensureEvent() {
		return d.refuse(holdfast.NotFound(holdfast.CodeEventNotFound), UserKey{})
	}
	if c.Abandoned {
		return Result{Err: errGaveUp()}
	}
	isSame := func(l holdfast.Lock) bool { return l.RequestHash == c.RequestHash }
	if result, repeated := c.repeat(d, isSame); repeated {
		if result.Err != nil {
			return result
		}
		return c.sold(d, result, *result.Lock)
	}
	if c.Key != "" && d.state.Unusable[c.userKey()] {
		return Result{Err: holdfast.Refuse(holdfast.CodeUnavailable, "The request failed and changed nothing; try again.")}
	}
	if !paidRead || !d.ensureSeats() {
		return Result{}
	}
	wish, invalid := d.inHall(c.Seats, c.Wish)
	switch {
	case invalid != nil:
		return d.refuse(invalid, c.userKey())
	case d.event.Status == holdfast.Cancelled:
		return d.refuse(errNotOnSale(), c.userKey())
	case paid != nil || d.isCorrupt(d.state.Charged[PaymentKey{c.Charge.Reference, c.Charge.Part}]):
		return d.refuse(errReferenceUsed(), c.userKey())
	}
	if !d.settle() {
		return Result{}
	}
	if refusal, known := d.beyondLimits(c.UserID, c.Seats, c.Seats, 0, ID{}); !known {
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
	return c.sell(d, wish)
}

// sell claims the seats, and plans the lock, the booking and the payment.
func (c Sell) sell(d *decision, wish wished) Result {
	if !d.ensureCounter() {
		return Result{}
	}
	claimed, result, ok := d.claimSeats(wish, previousSeats{}, c.userKey())
	if !ok {
		return result
	}
	// The guard of a sale by the number of seats alone needs an event that is on sale.
	d.ifUnchanged = d.ifUnchanged || d.event.Status != holdfast.OnSale
	b := holdfast.Booking{
		ID: c.BookingID, UserID: c.UserID, Holder: c.Holder, EventID: d.event.ID, LockID: c.LockID, Seats: c.Seats,
		SeatIDs: claimed.SeatIDs, Section: claimed.Section, Status: holdfast.BookingConfirmed, ShopData: c.ShopData,
	}
	lock := holdfast.Lock{
		ID: c.LockID, EventID: d.event.ID, UserID: c.UserID, Holder: c.Holder, Seats: c.Seats, SeatIDs: claimed.SeatIDs,
		Section: claimed.Section, Status: holdfast.LockConsumed, BookingID: b.ID, Key: c.Key,
		RequestHash: c.RequestHash, ShopData: c.ShopData,
	}
	if !c.Charge.IsZero() {
		b.PaymentReference = c.Charge.Reference
		b.Payments = *listed(b, *d.record(b, c.Charge, holdfast.PaymentAccepted, "", ""))
	}
	d.addSold(lock)
	d.plan.NewBookings = append(d.plan.NewBookings, b)
	booked := len(d.plan.NewBookings)
	d.moved = append(d.moved, seenBooking{booked: booked, what: holdfast.ChangeBookingConfirmed, by: d.command})
	return Result{acquired: d.acquireByKey(lock, 0), booked: booked}
}

// sold adds the booking to the answer of a sale that an earlier commit, or another command, has made.
func (c Sell) sold(d *decision, result Result, lock holdfast.Lock) Result {
	for i := range d.plan.NewBookings {
		if d.plan.NewBookings[i].ID == lock.BookingID { // of this batch
			result.booked = i + 1
			return result
		}
	}
	b, exists, read := d.booking(lock.BookingID)
	switch {
	case !read:
		return Result{}
	case d.isCorrupt(lock.BookingID):
		return Result{Err: errCorrupt()}
	case !exists: // retention has removed it, but not the lock
		return Result{Err: holdfast.NotFound(holdfast.CodeBookingNotFound)}
	}
	result.Booking = &b
	return result
}
