package inventory_test

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Changes after the sale, and sales at once, of the model.

// fits: an unseated event has no seats to name.
func (m *model) fits(w holdfast.Wish) bool { return w.IsZero() }

// find finds seats of an unseated event. If they are no more than before, nothing is taken, even of an oversold event.
func (m *model) find(_ holdfast.Wish, seats int64, own *modelLock) (wished, outcome) {
	var old int64
	if own != nil {
		old = own.Seats
	}
	for seats > old && m.event.TotalSeats-m.taken()+old < seats {
		if !m.reclaim() {
			return wished{}, tooFew(seats, max(0, m.event.TotalSeats-m.taken()+old), nil)
		}
	}
	return wished{}, outcome{}
}

func (m *model) hasAlready(l holdfast.Lock, _ holdfast.Wish, seats int64) bool {
	return l.Seats == seats
}

// repeat answers a request whose key was used for the booking within a day, and one that an earlier commit has carried out.
func (m *model) repeat(b *holdfast.Booking, c inventory.OfBooking) (o outcome, decided bool) {
	if c.Abandoned {
		return refused("OUTCOME_UNKNOWN"), true
	}
	r := c.Request
	for _, done := range m.done[b.ID] {
		switch {
		case done.ID == r.ID:
			return answer(b), true
		case r.KeyHash == "" || done.KeyHash != r.KeyHash || m.now.Sub(done.At).Hours() >= 24:
		case done.Hash != r.Hash:
			return refused("IDEMPOTENCY_KEY_REUSED"), true
		default:
			o = answer(b)
			o.replayed = true
			return o, true
		}
	}
	return outcome{}, false
}

func (m *model) note(b *holdfast.Booking, r holdfast.DoneRequest) {
	r.At = m.now
	m.done[b.ID] = append(slices.Clip(m.done[b.ID]), r)
}

// changeCode refuses to change a booking that has ended or is due, or whose lock has ended without it.
func (m *model) changeCode(b *holdfast.Booking) holdfast.Code {
	if b.Status != "CONFIRMED" {
		return m.bookingCode(b)
	}
	lock := m.locks[b.LockID]
	switch {
	case lock == nil:
		return "LOCK_EXPIRED"
	case lock.Status == "ACTIVE" || lock.Status == "CONSUMED":
		return ""
	default:
		return m.lockCode(lock)
	}
}

func (m *model) changeBooking(c inventory.ChangeBooking) outcome {
	b := m.bookings[c.BookingID]
	if b == nil {
		return refused("BOOKING_NOT_FOUND")
	}
	if o, decided := m.repeat(b, c.OfBooking); decided {
		return o
	}
	if code := m.changeCode(b); code != "" {
		return refused(code)
	}
	if m.event == nil {
		return refused("EVENT_NOT_FOUND")
	}
	lock, isPaid := m.locks[b.LockID], c.Payment.Reference != ""
	paid := m.payments[keyOf(c.Payment)]
	if m.wishes.fits(c.Wish) && m.wishes.hasAlready(lock.Lock, c.Wish, c.Seats) {
		isOwn := paid != nil && paid.BookingID == b.ID && !differs(paid, c.Payment)
		if isPaid && !isOwn {
			return refused("VALIDATION_FAILED")
		}
		if c.Request.KeyHash != "" {
			m.note(b, c.Request)
		}
		return answer(b)
	}
	if b.Status == "CONFIRMED" {
		lock.Status = "CONSUMED" // it was ACTIVE after a crash of other software
	}
	if code := m.additionalCode(b, paid); isPaid && code != "" {
		return refused(code)
	}
	refunds, ok := m.refundOf(b, c)
	if !ok {
		return refused("VALIDATION_FAILED")
	}
	m.offersFirst()
	if o := m.mayHold(lock.UserID, c.Seats, c.Seats-lock.Seats, lock.ID); o.code != "" {
		return o
	}
	if m.event.Status == "CANCELLED" {
		return refused("EVENT_NOT_ON_SALE")
	}
	if o := m.notOnSale(); o.code != "" && c.Seats > lock.Seats {
		return o
	}
	if !m.wishes.fits(c.Wish) {
		return refused("VALIDATION_FAILED")
	}
	found, refusal := m.wishes.find(c.Wish, c.Seats, lock)
	if refusal.code != "" {
		return refusal
	}
	lock.Seats, lock.SeatIDs, lock.Section = c.Seats, found.seats, found.section
	b.Seats, b.SeatIDs, b.Section = lock.Seats, lock.SeatIDs, lock.Section
	if refunds != nil {
		refunds.Refunds = append(slices.Clip(refunds.Refunds), holdfast.Refund{
			ID: c.RefundID, Amount: c.Refund.Amount, Reason: "seats_changed", Status: "DUE", CreatedAt: m.now,
		})
	}
	if isPaid {
		m.record(b, c.Payment, "ACCEPTED", "", "")
	}
	m.note(b, c.Request)
	return answer(b)
}

// additionalCode refuses an additional payment of a booking; paid is the payment of its charge that is there.
func (m *model) additionalCode(b *holdfast.Booking, paid *holdfast.Payment) holdfast.Code {
	switch {
	case b.Status != "CONFIRMED":
		return "BOOKING_NOT_PAYABLE"
	case paid != nil:
		return "PAYMENT_REFERENCE_USED"
	case len(m.accepted(b)) >= holdfast.MaxListedPayments:
		return "VALIDATION_FAILED"
	default:
		return ""
	}
}

// refundOf is the payment of which a change gives a part back: the first that is ACCEPTED, or the one named; nil: none was
// asked for. ok is false if it can't be refunded.
func (m *model) refundOf(b *holdfast.Booking, c inventory.ChangeBooking) (p *holdfast.Payment, ok bool) {
	if c.Refund == nil {
		return nil, true
	}
	for _, accepted := range m.accepted(b) {
		if c.Refund.PaymentID.IsZero() || c.Refund.PaymentID == accepted.ID {
			due, done := parts(accepted)
			return accepted, accepted.Amount != nil && due+done+c.Refund.Amount <= *accepted.Amount
		}
	}
	return nil, false
}

// mayHold refuses a lock with more seats than before, if that is more than a customer may have. Due locks of the customer do not
// count, and end, but not the one that the command is about.
func (m *model) mayHold(user ID, seats, more int64, except ID) outcome {
	held, _ := m.holding(user)
	if most := m.rules.MaxSeatsPerLock; most > 0 && more > 0 && seats > most {
		return refused("SEAT_LIMIT_REACHED")
	}
	if most := m.event.MaxSeatsPerUser; most > 0 && more > 0 {
		if held+more > most {
			return refused("SEAT_LIMIT_REACHED")
		}
		m.endDueOf(user, except)
	}
	return outcome{}
}

func (m *model) transfer(c inventory.Transfer) outcome {
	b := m.bookings[c.BookingID]
	if b == nil {
		return refused("BOOKING_NOT_FOUND")
	}
	if o, decided := m.repeat(b, c.OfBooking); decided {
		return o
	}
	if m.unknown[c.UserID] != nil && c.Holder == "" {
		return refused("USER_NOT_FOUND")
	}
	code := m.changeCode(b)
	isOpen := b.Status == "INITIATED" || b.Status == "PAYMENT_PENDING"
	switch {
	case isOpen && code != "BOOKING_EXPIRED":
		return refused("BOOKING_NOT_PAYABLE")
	case code != "":
		return refused(code)
	case b.UserID == c.UserID && (b.Holder == c.Holder || c.Holder != "" && b.Holder == "erased-"+b.UserID.String()):
		if c.Request.KeyHash != "" {
			m.note(b, c.Request)
		}
		return answer(b)
	}
	if code := m.eventCode(); code != "" {
		return refused(code)
	}
	lock := m.locks[b.LockID]
	if o := m.mayHold(c.UserID, lock.Seats, lock.Seats, lock.ID); o.code != "" {
		return o
	}
	next := lock.Lock
	next.ID, next.UserID, next.Holder, next.Key, next.RequestHash, next.EntryID = c.NewLockID, c.UserID, c.Holder, "", "", ID{}
	next.Status, next.ExpiresAt, next.CreatedAt, next.BookingID = "CONSUMED", m.now, m.now, b.ID
	m.locks[next.ID], m.fresh[next.ID] = &modelLock{Lock: next}, true
	lock.Status, lock.BookingID, lock.ending = "RELEASED", b.ID, ending{by: "transfer"}
	b.LockID, b.UserID, b.Holder = next.ID, c.UserID, c.Holder
	m.note(b, c.Request)
	return answer(b)
}

func (m *model) sell(c inventory.Sell) outcome {
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
		if l.RequestHash != c.RequestHash {
			return refused("IDEMPOTENCY_KEY_REUSED")
		}
		o := answer(m.bookings[l.BookingID])
		o.lock, o.replayed = l.Lock, true
		return o
	}
	switch {
	case !m.wishes.fits(c.Wish):
		return refused("VALIDATION_FAILED")
	case m.event.Status == "CANCELLED":
		return refused("EVENT_NOT_ON_SALE")
	case c.Charge.Reference != "" && m.payments[keyOf(c.Charge)] != nil:
		return refused("PAYMENT_REFERENCE_USED")
	}
	m.offersFirst()
	if o := m.mayHold(c.UserID, c.Seats, c.Seats, ID{}); o.code != "" {
		return o
	}
	found, refusal := m.wishes.find(c.Wish, c.Seats, nil)
	if refusal.code != "" {
		return refusal
	}
	b := &holdfast.Booking{
		ID: c.BookingID, UserID: c.UserID, Holder: c.Holder, EventID: m.event.ID, LockID: c.LockID, Seats: c.Seats, SeatIDs: found.seats,
		Section: found.section, Status: "CONFIRMED", PaymentExpiresAt: m.now, PaymentReference: c.Charge.Reference, CreatedAt: m.now,
		ShopData: c.ShopData,
	}
	lock := holdfast.Lock{
		ID: c.LockID, EventID: m.event.ID, UserID: c.UserID, Holder: c.Holder, Seats: c.Seats, SeatIDs: found.seats, Section: found.section,
		Status: "CONSUMED", ExpiresAt: m.now, CreatedAt: m.now, BookingID: b.ID, Key: c.Key, RequestHash: c.RequestHash, ShopData: c.ShopData,
	}
	m.bookings[b.ID], m.locks[lock.ID], m.fresh[lock.ID] = b, &modelLock{Lock: lock}, true
	if c.Charge.Reference != "" {
		m.record(b, c.Charge, "ACCEPTED", "", "")
	}
	o := answer(b)
	o.lock = lock
	return o
}

// cancelSale ends locks of a cancelled event with their bookings, and bookings whose lock takes no seats any more. All that they
// were paid with has to be refunded.
func (m *model) cancelSale(c inventory.CancelSale) (o outcome) {
	if m.event == nil {
		return refused("EVENT_NOT_FOUND")
	}
	end := func(b *holdfast.Booking) {
		m.giveBackPayments(b, "event_cancelled")
		b.Status = "CANCELLED"
	}
	for _, id := range c.LockIDs {
		lock := m.locks[id]
		if lock == nil || lock.EventID != m.event.ID || lock.Status != "ACTIVE" && lock.Status != "CONSUMED" {
			continue
		}
		ended := inventory.Ended{Lock: id, Seats: lock.Seats}
		for _, b := range m.live(id) {
			end(b)
			ended.Booking = b.ID
		}
		lock.Status, lock.ending = "RELEASED", ending{c.By, c.ID}
		o.ended = append(o.ended, ended)
	}
	for _, ref := range c.Bookings {
		b, lock := m.bookings[ref.Booking], m.locks[ref.Lock]
		isOver := lock == nil || lock.Status != "ACTIVE" && lock.Status != "CONSUMED"
		if b != nil && b.LockID == ref.Lock && isOver && b.Status != "EXPIRED" && b.Status != "CANCELLED" {
			end(b)
			o.ended = append(o.ended, inventory.Ended{Booking: b.ID, Lock: ref.Lock})
		}
	}
	return o
}
