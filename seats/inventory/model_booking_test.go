package inventory_test

import (
	"bytes"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// The bookings and the sweeps of the model.

func answer(b *holdfast.Booking) outcome {
	shown := *b
	shown.UpdatedAt, shown.Revision, shown.Done = time.Time{}, 0, nil
	return outcome{booking: shown}
}

func (m *model) book(c inventory.Book) outcome {
	lock := m.locks[c.LockID]
	if lock == nil || lock.UserID != c.UserID || lock.Holder != c.Holder || lock.EventID != c.EventID {
		return refused("LOCK_NOT_FOUND")
	}
	code := m.claimCode(lock)
	for _, b := range m.live(lock.ID) {
		if code == "" && !b.PaymentExpiresAt.IsZero() && m.isDue(b.PaymentExpiresAt) {
			return refused("BOOKING_EXPIRED")
		}
		if code == "" || (code == "LOCK_CONSUMED" && b.Status == "CONFIRMED") {
			o := answer(b)
			o.replayed = true
			return o
		}
	}
	if code == "" {
		code = m.eventCode()
	}
	if code != "" {
		return refused(code)
	}
	b := &holdfast.Booking{
		ID: c.BookingID, UserID: lock.UserID, Holder: lock.Holder, EventID: lock.EventID, LockID: lock.ID, Seats: lock.Seats,
		SeatIDs: lock.SeatIDs, Section: lock.Section, Status: "INITIATED", CreatedAt: m.now, ShopData: lock.ShopData,
	}
	if c.Reference != "" {
		b.Reference = c.Reference
	}
	if c.Metadata != nil {
		b.Metadata = c.Metadata
	}
	if c.Window != (holdfast.Until{}) {
		b.Status, b.PaymentExpiresAt = "PAYMENT_PENDING", m.timeOf(c.Window)
	}
	if b.PaymentExpiresAt.After(m.now.Add(m.rules.MaxPaymentTTL)) {
		return refused("VALIDATION_FAILED")
	}
	m.extendTo(lock, b.PaymentExpiresAt)
	lock.BookingID = b.ID
	m.bookings[b.ID] = b
	return answer(b)
}

// bookingCode refuses an action on a booking by the contract's table. If other software
// ended the lock of an open booking that is not due, the answer is the lock's code.
func (m *model) bookingCode(b *holdfast.Booking) holdfast.Code {
	lock := m.locks[b.LockID]
	switch {
	case b.Status == "CANCELLED":
		return "BOOKING_CANCELLED"
	case b.Status == "CONFIRMED":
		return "BOOKING_CONFIRMED"
	case b.Status == "EXPIRED", lock == nil, m.isDue(lock.ExpiresAt), !b.PaymentExpiresAt.IsZero() && m.isDue(b.PaymentExpiresAt):
		return "BOOKING_EXPIRED"
	default:
		return m.lockCode(lock)
	}
}

func (m *model) pay(c inventory.Pay) outcome {
	b := m.bookings[c.BookingID]
	if b == nil {
		return refused("BOOKING_NOT_FOUND")
	}
	if code := m.bookingCode(b); code != "" {
		return refused(code)
	}
	if b.Status == "PAYMENT_PENDING" {
		return answer(b)
	}
	if code := m.eventCode(); code != "" {
		return refused(code)
	}
	ends := m.timeOf(c.Window)
	if ends.After(b.CreatedAt.Add(m.rules.MaxPaymentTTL)) {
		return refused("VALIDATION_FAILED")
	}
	b.Status, b.PaymentExpiresAt = "PAYMENT_PENDING", ends
	lock := m.locks[b.LockID]
	m.extendTo(lock, ends)
	lock.BookingID = b.ID
	return answer(b)
}

func (m *model) cancel(c inventory.Cancel) outcome {
	b := m.bookings[c.BookingID]
	if b == nil {
		return refused("BOOKING_NOT_FOUND")
	}
	if b.Status == "CANCELLED" {
		return answer(b)
	}
	lock := m.locks[b.LockID]
	if b.Status == "CONFIRMED" {
		if lock != nil && lock.Status != "ACTIVE" && lock.Status != "CONSUMED" {
			return refused(m.lockCode(lock))
		}
	} else if code := m.bookingCode(b); code != "" {
		return refused(code)
	}
	m.giveBackPayments(b, "booking_cancelled")
	b.Status = "CANCELLED"
	if lock != nil {
		m.free(lock)
	}
	return answer(b)
}

func (m *model) expireLocks(c inventory.ExpireLocks) outcome {
	if m.event == nil && (len(c.LockIDs) > 0 || c.UpTo > 0) {
		return refused("EVENT_NOT_FOUND")
	}
	var due []*modelLock
	for _, l := range m.locks {
		named := c.UpTo > len(c.LockIDs) || slices.Contains(c.LockIDs, l.ID)
		if named && l.EventID == eventID && l.Status == "ACTIVE" && m.isDue(l.ExpiresAt) && l.Seats > 0 {
			due = append(due, l)
		}
	}
	slices.SortFunc(due, func(a, b *modelLock) int {
		if !a.ExpiresAt.Equal(b.ExpiresAt) {
			return a.ExpiresAt.Compare(b.ExpiresAt)
		}
		return bytes.Compare(a.ID[:], b.ID[:])
	})
	if c.UpTo > len(c.LockIDs) {
		due = due[:min(len(due), c.UpTo)]
	}
	var o outcome
	for _, l := range due {
		l.Status, l.ending = "EXPIRED", ending{c.By, c.ID}
		o.ended = append(o.ended, inventory.Ended{Lock: l.ID, Seats: l.Seats})
	}
	return o
}

func (m *model) expireBookings(c inventory.ExpireBookings) outcome {
	var o outcome
	for _, ref := range c.Bookings {
		b, lock := m.bookings[ref.Booking], m.locks[ref.Lock]
		isOpen := b != nil && (b.Status == "INITIATED" || b.Status == "PAYMENT_PENDING")
		if m.event == nil && isOpen && lock != nil && lock.Status == "ACTIVE" && lock.Seats > 0 {
			return refused("EVENT_NOT_FOUND") // there is no counter for its seats
		}
	}
	for _, ref := range c.Bookings {
		b := m.bookings[ref.Booking]
		if b == nil || (b.Status != "INITIATED" && b.Status != "PAYMENT_PENDING") {
			continue
		}
		lock := m.locks[b.LockID]
		windowPassed := !b.PaymentExpiresAt.IsZero() && m.isDue(b.PaymentExpiresAt)
		lockPassed := c.ByLock && lock != nil && m.isDue(lock.ExpiresAt)
		if !windowPassed && !lockPassed && (b.Status != "INITIATED" || (lock != nil && m.lockCode(lock) == "")) {
			continue
		}
		active := lock != nil && lock.Status == "ACTIVE"
		ended := inventory.Ended{Booking: b.ID, Lock: b.LockID}
		if active && (lock.BookingID == b.ID || lock.BookingID.IsZero()) {
			lock.Status, lock.ending = "EXPIRED", ending{c.By, c.ID}
			ended.Seats = lock.Seats
		}
		b.Status = "EXPIRED"
		o.ended = append(o.ended, ended)
	}
	return o
}

func (m *model) consumeSold(c inventory.ConsumeSold) outcome {
	lock := m.locks[c.LockID]
	if lock != nil && lock.Status == "ACTIVE" {
		for _, b := range m.live(lock.ID) {
			if b.Status == "CONFIRMED" {
				lock.Status, lock.runID = "CONSUMED", c.RunID
				return outcome{}
			}
		}
	}
	return outcome{replayed: true}
}
