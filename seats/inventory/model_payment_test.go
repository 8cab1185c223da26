package inventory_test

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// The payments of the model.

// paymentIDOf is the contract's ID of a payment.
func paymentIDOf(provider, reference, part string) (id ID) {
	hash := sha256.New()
	for _, text := range []string{provider, reference, part} {
		length := make([]byte, 4)
		binary.BigEndian.PutUint32(length, uint32(len(text)))
		hash.Write(length)
		hash.Write([]byte(text))
	}
	copy(id[:], hash.Sum(nil))
	return id
}

// shownPayment is a payment without its times and revision.
func shownPayment(p holdfast.Payment) holdfast.Payment {
	p.CreatedAt, p.UpdatedAt, p.Revision, p.Refunds = time.Time{}, time.Time{}, 0, slices.Clone(p.Refunds)
	for i := range p.Refunds {
		p.Refunds[i].CreatedAt = time.Time{}
	}
	return p
}

func keyOf(c holdfast.Charge) inventory.PaymentKey {
	return inventory.PaymentKey{Reference: c.Reference, Part: c.Part}
}

// record makes a payment.
func (m *model) record(b *holdfast.Booking, c holdfast.Charge, status holdfast.PaymentStatus, reason holdfast.PaymentReason,
	code holdfast.Code,
) *holdfast.Payment {
	if c.Provider == "" {
		c.Provider = "default"
	}
	p := &holdfast.Payment{
		ID: paymentIDOf(c.Provider, c.Reference, c.Part), Charge: c, BookingID: b.ID, EventID: b.EventID, UserID: b.UserID,
		Holder: b.Holder, Status: status, Reason: reason, Code: code,
	}
	m.payments[keyOf(c)] = p
	m.list(b, p)
	return p
}

// list notes a payment as it is now in the list of its booking, which has a bounded number, and all that are ACCEPTED.
func (m *model) list(b *holdfast.Booking, p *holdfast.Payment) {
	listed := holdfast.ListedPayment{ID: p.ID, Status: p.Status, Amount: p.Amount}
	for i, l := range b.Payments {
		if l.ID == p.ID {
			b.Payments = slices.Clone(b.Payments)
			b.Payments[i] = listed
			return
		}
	}
	if len(b.Payments) < holdfast.MaxListedPayments || p.Status == "ACCEPTED" {
		b.Payments = append(slices.Clip(b.Payments), listed)
	}
}

// accepted are the payments with which a booking is CONFIRMED, oldest first.
func (m *model) accepted(b *holdfast.Booking) (found []*holdfast.Payment) {
	for _, l := range b.Payments {
		if p := m.byID(l.ID); p != nil && p.Status == "ACCEPTED" {
			found = append(found, p)
		}
	}
	return found
}

func (m *model) byID(id ID) *holdfast.Payment {
	for _, p := range m.payments {
		if p.ID == id {
			return p
		}
	}
	return nil
}

// differs reports whether a payment has another provider, amount or currency than the charge says.
func differs(p *holdfast.Payment, c holdfast.Charge) bool {
	isOther := c.Provider != p.Provider && (c.Provider != "" || p.Provider != "default")
	isOther = isOther || c.Amount != nil && (p.Amount == nil || *p.Amount != *c.Amount)
	return isOther || c.Currency != "" && c.Currency != p.Currency
}

// isPaidWith reports whether the charge is the one that a CONFIRMED booking was paid with.
func (m *model) isPaidWith(b *holdfast.Booking, c holdfast.Charge) bool {
	p := m.payments[keyOf(c)]
	if len(m.accepted(b)) == 0 { // other software confirmed it
		return p == nil && b.PaymentReference == c.Reference
	}
	return p != nil && p.BookingID == b.ID && p.Status == "ACCEPTED"
}

func (m *model) confirm(c inventory.Confirm) outcome {
	b := m.bookings[c.BookingID]
	if b == nil {
		return refused("BOOKING_NOT_FOUND")
	}
	said := c.Charge.Reference != ""
	var paid *holdfast.Payment
	if said {
		paid = m.payments[keyOf(c.Charge)]
	}
	if paid != nil && differs(paid, c.Charge) {
		return refused("VALIDATION_FAILED")
	}
	if b.Status == "CONFIRMED" && (!said || m.isPaidWith(b, c.Charge)) {
		return answer(b)
	}
	if paid != nil && paid.BookingID != b.ID {
		return refused("PAYMENT_REFERENCE_USED")
	}
	isLate := said && m.isLate(b)
	if isLate && c.LockID.IsZero() {
		return outcome{isLate: true}
	}
	code, reason := m.confirmCode(b)
	if isLate {
		if reason = m.acceptCode(b); reason == "" {
			code = ""
		}
	}
	switch {
	case code == "EVENT_NOT_FOUND", code == "BOOKING_NOT_PAYABLE", code != "" && !said:
		return refused(code)
	case code == "" && paid != nil:
		return refusedWith("PAYMENT_REFUND_DUE", paid)
	case code != "" && paid != nil:
		return refusedWith(paid.Code, paid)
	case code != "":
		return refusedWith(code, m.record(b, c.Charge, "REFUND_DUE", reason, code))
	}
	if isLate {
		m.moveToNewLock(b, c.LockID)
	}
	b.Status = "CONFIRMED"
	m.locks[b.LockID].Status = "CONSUMED"
	if said {
		p := m.record(b, c.Charge, "ACCEPTED", "", "")
		b.PaymentReference = p.Reference
	}
	return answer(b)
}

func refusedWith(code holdfast.Code, p *holdfast.Payment) outcome {
	return outcome{code: code, details: holdfast.RefusedPayment{ID: p.ID, Status: p.Status, Reason: p.Reason}}
}

// confirmCode refuses a confirmation that is not a late one, with the reason of its refund.
func (m *model) confirmCode(b *holdfast.Booking) (holdfast.Code, holdfast.PaymentReason) {
	code := m.bookingCode(b)
	if b.Status == "INITIATED" && code != "BOOKING_EXPIRED" {
		code = "BOOKING_NOT_PAYABLE"
	}
	isCancelled := m.event != nil && m.event.Status == "CANCELLED"
	switch code {
	case "":
		return m.eventCode(), "event_cancelled"
	case "BOOKING_EXPIRED":
		return code, "late"
	case "BOOKING_CONFIRMED":
		return code, "duplicate"
	case "BOOKING_CANCELLED":
		if isCancelled {
			return code, "event_cancelled"
		}
		return code, "booking_cancelled"
	default:
		return code, "lock_ended"
	}
}

// isLate reports whether the event accepts late payments, and the booking has ended so shortly ago.
func (m *model) isLate(b *holdfast.Booking) bool {
	if m.event == nil || m.event.LatePayments.Policy != "ACCEPT" || b.PaymentExpiresAt.IsZero() {
		return false
	}
	end, lock := b.PaymentExpiresAt, m.locks[b.LockID]
	if lock != nil && lock.ExpiresAt.Before(end) {
		end = lock.ExpiresAt
	}
	isOver := b.Status == "EXPIRED" || b.Status == "PAYMENT_PENDING" && (lock == nil || m.isDue(end))
	return isOver && m.now.Sub(end) <= time.Duration(m.event.LatePayments.Seconds)*time.Second
}

// previousLock is what a booking had: by its lock or, if that was purged, by itself.
func (m *model) previousLock(b *holdfast.Booking) holdfast.Lock {
	if lock := m.locks[b.LockID]; lock != nil {
		return lock.Lock
	}
	return holdfast.Lock{
		EventID: b.EventID, UserID: b.UserID, Holder: b.Holder, Seats: b.Seats, SeatIDs: b.SeatIDs, Section: b.Section, Status: "EXPIRED",
		ShopData: b.ShopData,
	}
}

// acceptCode says why a late payment is not accepted; "": its seats are free now.
func (m *model) acceptCode(b *holdfast.Booking) holdfast.PaymentReason {
	previous := m.previousLock(b)
	switch {
	case m.event.Status == "CANCELLED":
		return "event_cancelled"
	case m.event.Status != "ON_SALE":
		return "not_on_sale"
	case previous.EventID != m.event.ID, previous.Seats < 1, previous.Status == "CONSUMED":
		return "seats_gone"
	}
	for _, other := range m.live(b.LockID) {
		if other.ID != b.ID {
			return "seats_gone"
		}
	}
	has := previous.Status == "ACTIVE"
	if !has {
		m.offersFirst()
	}
	held, _ := m.holding(previous.UserID)
	more := previous.Seats
	if has && !m.isDue(previous.ExpiresAt) {
		more = 0
	}
	if most := m.rules.MaxSeatsPerLock; most > 0 && more > 0 && previous.Seats > most {
		return "limit"
	}
	if most := m.event.MaxSeatsPerUser; most > 0 && more > 0 && held+more > most {
		return "limit"
	} else if most > 0 && more > 0 {
		m.endDueOf(previous.UserID, b.LockID)
	}
	if !has && !m.claimAgain(previous) {
		return "seats_gone"
	}
	return ""
}

// moveToNewLock ends the lock of a booking whose late payment is accepted, and makes the one that has its seats.
func (m *model) moveToNewLock(b *holdfast.Booking, id ID) {
	next := m.previousLock(b)
	if previous := m.locks[b.LockID]; previous != nil && previous.Status == "ACTIVE" {
		previous.Status, previous.ending = "EXPIRED", ending{by: "late-payment"}
	}
	m.locks[id] = &modelLock{Lock: holdfast.Lock{
		ID: id, EventID: m.event.ID, UserID: next.UserID, Holder: next.Holder, Seats: next.Seats, SeatIDs: next.SeatIDs, Section: next.Section,
		ExpiresAt: m.now, CreatedAt: m.now, BookingID: b.ID, ShopData: next.ShopData,
	}}
	m.fresh[id] = true
	b.LockID, b.Late = id, true
}

// giveBackPayments makes the ACCEPTED payments of a booking REFUND_DUE, because the booking is cancelled. One of which nothing is
// left to give back is REFUNDED at once.
func (m *model) giveBackPayments(b *holdfast.Booking, why holdfast.PaymentReason) {
	for _, p := range m.accepted(b) {
		p.Status, p.Reason, p.Code = "REFUND_DUE", why, "BOOKING_CANCELLED"
		if _, done := parts(p); p.Amount != nil && done == *p.Amount {
			p.Status = "REFUNDED"
		}
		m.list(b, p)
	}
}

// parts are the sums of the parts of a payment that are DUE, and that were refunded.
func parts(p *holdfast.Payment) (due, done int64) {
	for _, part := range p.Refunds {
		if part.Status == "DUE" {
			due += part.Amount
		} else {
			done += part.Amount
		}
	}
	return due, done
}

func (m *model) refund(c inventory.Refund) outcome {
	p := m.byID(c.PaymentID)
	switch {
	case p == nil:
		return refused("PAYMENT_NOT_FOUND")
	case p.Status == "ACCEPTED":
		return refused("PAYMENT_ACCEPTED")
	case p.Status == "REFUNDED" && p.RefundReference != c.Reference:
		return refused("PAYMENT_REFUNDED")
	}
	p.Status, p.RefundReference, p.Refunds = "REFUNDED", c.Reference, slices.Clone(p.Refunds)
	for i := range p.Refunds {
		if p.Refunds[i].Status == "DUE" {
			p.Refunds[i].Status, p.Refunds[i].Reference = "REFUNDED", c.Reference
		}
	}
	if b := m.bookings[p.BookingID]; b != nil {
		m.list(b, p)
	}
	return outcome{payment: shownPayment(*p)}
}

// refundPart makes a part DUE: together the parts are never more than the payment.
func (m *model) refundPart(c inventory.RefundPart) outcome {
	p := m.byID(c.PaymentID)
	if p == nil {
		return refused("PAYMENT_NOT_FOUND")
	}
	for _, part := range p.Refunds {
		switch {
		case part.ID == c.PartID: // an earlier commit of this command, which was not answered
			return outcome{payment: shownPayment(*p)}
		case c.Key == "" || part.Key != c.Key:
		case part.Amount != c.Amount:
			return refused("IDEMPOTENCY_KEY_REUSED")
		default:
			return outcome{payment: shownPayment(*p), replayed: true}
		}
	}
	if due, done := parts(p); p.Status == "REFUNDED" || p.Amount == nil || due+done+c.Amount > *p.Amount {
		return refused("VALIDATION_FAILED")
	}
	p.Refunds = append(slices.Clip(p.Refunds), holdfast.Refund{
		ID: c.PartID, Amount: c.Amount, Reason: "other", Status: "DUE", Key: c.Key, CreatedAt: m.now,
	})
	return outcome{payment: shownPayment(*p)}
}

func (m *model) refundedPart(c inventory.RefundedPart) outcome {
	p := m.byID(c.PaymentID)
	if p == nil {
		return refused("PAYMENT_NOT_FOUND")
	}
	for i, part := range p.Refunds {
		if part.ID != c.PartID {
			continue
		}
		if part.Status == "REFUNDED" && part.Reference != c.Reference {
			return refused("PAYMENT_REFUNDED")
		}
		p.Refunds = slices.Clone(p.Refunds)
		p.Refunds[i].Status, p.Refunds[i].Reference = "REFUNDED", c.Reference
		if _, done := parts(p); p.Status == "REFUND_DUE" && done == *p.Amount { // nothing is left to give back
			p.Status, p.RefundReference = "REFUNDED", c.Reference
			if b := m.bookings[p.BookingID]; b != nil {
				m.list(b, p)
			}
		}
		return outcome{payment: shownPayment(*p)}
	}
	return refused("REFUND_NOT_FOUND")
}

// wanted is how many seats a command asks for; wants is false if it asks for none.
func (m *model) wanted(command inventory.Command) (seats int64, wants bool) {
	switch c := command.(type) {
	case inventory.Acquire:
		return c.Seats, true
	case inventory.ChangeSeats:
		return c.Seats, true
	case inventory.Sell:
		return c.Seats, true
	case inventory.ChangeBooking:
		if b := m.bookings[c.BookingID]; b != nil && m.locks[b.LockID] != nil && !m.fresh[b.LockID] {
			return c.Seats - m.locks[b.LockID].Seats, true
		}
	case inventory.Confirm:
		if b := m.bookings[c.BookingID]; b != nil {
			return m.previousLock(b).Seats, true
		}
	case inventory.Block:
		return int64(len(c.SeatIDs)), true
	}
	return 0, false
}
