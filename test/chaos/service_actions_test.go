package chaos_test

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
)

// The operations of the rapid state machine. Each exported method executes one operation by the
// services and by the model, and compares the answers.

// expectCode fails unless the error has the code, "" for none. It reports whether there was no
// error.
func expectCode(t *rapid.T, what string, err error, code holdfast.Code) bool {
	if holdfast.CodeOf(err) != code || (err == nil) != (code == "") {
		t.Fatalf("%s: got %v, want %q", what, err, code)
	}
	return err == nil
}

// drawUntil draws an expiry; one in four has passed.
func drawUntil(t *rapid.T) (until holdfast.Until, due bool) {
	due = rapid.IntRange(0, 3).Draw(t, "in the past") == 0
	minutes := time.Duration(rapid.IntRange(1, 50).Draw(t, "minutes")) * time.Minute
	if due {
		return holdfast.Until{At: time.Now().Add(-time.Hour - minutes)}, true
	}
	return holdfast.Until{For: time.Hour + minutes}, false
}

func (m *serviceModel) Lock(t *rapid.T) {
	user := m.users[rapid.IntRange(0, len(m.users)-1).Draw(t, "user")]
	n := rapid.Int64Range(1, 6).Draw(t, "seats")
	key := rapid.SampledFrom([]string{"", "", "a", "b", "c"}).Draw(t, "key")
	until, due := drawUntil(t)
	if key != "" { // so that the same key means the same request
		until, due = holdfast.Until{For: time.Hour}, false
	}
	lock, replayed, err := m.env.Seats.AcquireLock(m.env.Ctx(), holdfast.LockRequest{
		EventID: m.event, UserID: user, Holder: m.holders[user], Seats: n, Until: until, Key: key,
	})
	before := m.keys[user.String()+key]
	switch {
	case key != "" && before != nil && before.seats != n:
		expectCode(t, "lock", err, holdfast.CodeIdempotencyKeyReused)
		return
	case key != "" && before != nil:
		expectCode(t, "lock", err, "")
		if !replayed || lock.ID != before.id || lock.Status != before.status {
			t.Fatalf("replay: got %+v, want %+v", lock, before)
		}
		return
	case m.saleStatus != holdfast.OnSale:
		expectCode(t, "lock", err, holdfast.CodeEventNotOnSale)
		return
	case m.perUser > 0 && m.heldBy(user)+n > m.perUser:
		expectCode(t, "lock", err, holdfast.CodeSeatLimitReached)
		return
	}
	for _, l := range m.dueLocks() {
		if m.perUser > 0 && l.user == user { // under a limit they must not count, so they end
			l.status = holdfast.LockExpired
			m.repairIfAboveTotal()
		}
	}
	for _, l := range m.dueLocks() {
		if m.available() >= n {
			break
		}
		l.status = holdfast.LockExpired
		m.repairIfAboveTotal()
	}
	if n > m.available() {
		expectCode(t, "lock", err, holdfast.CodeSeatsUnavailable)
		return
	}
	expectCode(t, "lock", err, "")
	l := &modelLock{id: lock.ID, user: user, seats: n, status: holdfast.LockActive, due: due, expiresAt: lock.ExpiresAt}
	m.locks[l.id] = l
	if key != "" {
		m.keys[user.String()+key] = l
	}
}

// repairIfAboveTotal: the services recompute a counter that would exceed the total.
func (m *serviceModel) repairIfAboveTotal() {
	if m.available() > m.total {
		m.drift = 0
	}
}

func (m *serviceModel) Extend(t *rapid.T) {
	l, ok := m.pickLock(t)
	if !ok {
		return
	}
	got, err := m.env.Seats.ExtendLock(m.env.Ctx(), l.id, holdfast.Until{For: 90 * time.Minute})
	code, has := l.endedCode(), m.liveBooking(l)
	switch {
	case code == "" && has != nil && has.due:
		code = holdfast.CodeBookingExpired
	case code == "" && m.saleStatus == holdfast.Cancelled:
		code = holdfast.CodeEventNotOnSale
	}
	if expectCode(t, "extend", err, code) {
		if got.ExpiresAt.Before(l.expiresAt) {
			t.Fatalf("extend shortened %v to %v", l.expiresAt, got.ExpiresAt)
		}
		l.expiresAt = got.ExpiresAt
	}
}

func (m *serviceModel) Release(t *rapid.T) {
	l, ok := m.pickLock(t)
	if !ok {
		return
	}
	_, err := m.env.Seats.ReleaseLock(m.env.Ctx(), l.id)
	code := l.endedCode()
	if code == holdfast.CodeLockReleased {
		code = ""
	}
	if expectCode(t, "release", err, code) && l.status == holdfast.LockActive {
		if b := m.liveBooking(l); b != nil {
			b.status = holdfast.BookingCancelled
		}
		l.status = holdfast.LockReleased
		m.repairIfAboveTotal()
	}
}

func (m *serviceModel) Book(t *rapid.T) {
	l, ok := m.pickLock(t)
	if !ok {
		return
	}
	window, due := drawUntil(t)
	if rapid.Bool().Draw(t, "initiated") {
		window, due = holdfast.Until{}, false
	}
	b, made, err := m.env.Bookings.CreateBooking(m.env.Ctx(), holdfast.BookingRequest{
		UserID: l.user, Holder: m.holders[l.user], EventID: m.event, LockID: l.id, Window: window,
	})
	has, code := m.liveBooking(l), l.endedCode()
	switch {
	case has != nil && has.due && code == "":
		code = holdfast.CodeBookingExpired
	case has != nil && (code == "" || code == holdfast.CodeLockConsumed):
		expectCode(t, "book", err, "")
		if made || b.ID != has.id || b.Status != has.status {
			t.Fatalf("book again: got %+v, want %+v", b, has)
		}
		return
	case code == "" && m.saleStatus == holdfast.Cancelled:
		code = holdfast.CodeEventNotOnSale
	}
	if !expectCode(t, "book", err, code) {
		return
	}
	status := holdfast.BookingPending
	if window.IsZero() {
		status = holdfast.BookingInitiated
	}
	m.bookings[b.ID] = &modelBooking{id: b.ID, lock: l, status: status, due: due}
	l.expiresAt = m.env.Lock(l.id).ExpiresAt
}

// refusalCode is the code that refuses any operation on a booking, "" if it depends on the
// operation.
func (m *serviceModel) refusalCode(b *modelBooking) holdfast.Code {
	if !b.open() {
		return codeByStatus[b.status]
	}
	if b.isDue() {
		return holdfast.CodeBookingExpired
	}
	return b.lock.endedCode()
}

func (m *serviceModel) Pay(t *rapid.T) {
	b, ok := m.pickBooking(t)
	if !ok {
		return
	}
	got, err := m.env.Bookings.PayBooking(m.env.Ctx(), b.id, holdfast.Until{For: 2 * time.Hour})
	code := m.refusalCode(b)
	if code == "" && b.status == holdfast.BookingInitiated && m.saleStatus == holdfast.Cancelled {
		code = holdfast.CodeEventNotOnSale
	}
	if expectCode(t, "pay", err, code) {
		b.status = holdfast.BookingPending
		b.lock.expiresAt = m.env.Lock(b.lock.id).ExpiresAt
		if got.Status != holdfast.BookingPending {
			t.Fatalf("pay: %+v", got)
		}
	}
}

func (m *serviceModel) Confirm(t *rapid.T) {
	b, ok := m.pickBooking(t)
	if !ok {
		return
	}
	ref := rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "reference")
	if ref != "" {
		ref += b.id.String() // of another booking it would be refused
	}
	_, err := m.env.Bookings.ConfirmBooking(m.env.Ctx(), b.id, holdfast.Charge{Reference: ref})
	code := m.refusalCode(b)
	switch {
	case b.status == holdfast.BookingConfirmed && (ref == "" || ref == b.ref):
		code = ""
	case b.status == holdfast.BookingInitiated && !b.isDue():
		code = holdfast.CodeBookingNotPayable
	case code == "" && m.saleStatus == holdfast.Cancelled:
		code = holdfast.CodeEventNotOnSale
	}
	code = m.refuseAgain(ref, code)
	if expectCode(t, "confirm", err, code) && b.status == holdfast.BookingPending {
		b.status, b.ref, b.lock.status = holdfast.BookingConfirmed, ref, holdfast.LockConsumed
	}
}

// refuseAgain returns the answer to a reference that is refused with a code now, or was refused before.
func (m *serviceModel) refuseAgain(ref string, code holdfast.Code) holdfast.Code {
	before, wasRefused := m.refused[ref]
	switch {
	case ref == "" || code == holdfast.CodeBookingNotPayable: // leaves no payment
		return code
	case wasRefused && code == "":
		return holdfast.CodePaymentRefundDue
	case wasRefused:
		return before
	case code != "":
		m.refused[ref] = code
	}
	return code
}

func (m *serviceModel) Cancel(t *rapid.T) {
	b, ok := m.pickBooking(t)
	if !ok {
		return
	}
	_, err := m.env.Bookings.CancelBooking(m.env.Ctx(), b.id)
	code := m.refusalCode(b)
	if b.status == holdfast.BookingConfirmed || b.status == holdfast.BookingCancelled {
		code = ""
	}
	if expectCode(t, "cancel", err, code) && b.status != holdfast.BookingCancelled {
		if b.status == holdfast.BookingConfirmed && b.ref != "" {
			m.refused[b.ref] = holdfast.CodeBookingCancelled
		}
		b.status, b.lock.status = holdfast.BookingCancelled, holdfast.LockReleased
		m.repairIfAboveTotal()
	}
}

func (m *serviceModel) SweepLocks(t *rapid.T) {
	m.env.SweepLocks()
	for _, l := range m.dueLocks() {
		l.status = holdfast.LockExpired
	}
	m.repairIfAboveTotal()
}

func (m *serviceModel) SweepBookings(t *rapid.T) {
	m.env.SweepBookings()
	m.expireBookings(func(b *modelBooking) bool {
		return (b.status == holdfast.BookingPending && b.due) || (b.status == holdfast.BookingInitiated && b.lock.endedCode() != "")
	})
}

func (m *serviceModel) expireBookings(ends func(b *modelBooking) bool) {
	for _, b := range m.bookings {
		if ends(b) {
			b.status = holdfast.BookingExpired
			if b.lock.status == holdfast.LockActive {
				b.lock.status = holdfast.LockExpired
			}
		}
	}
	m.repairIfAboveTotal()
}

func (m *serviceModel) Recover(t *rapid.T) {
	m.env.Recover()
	for _, l := range m.dueLocks() {
		l.status = holdfast.LockExpired
	}
	m.expireBookings(func(b *modelBooking) bool { return b.status == holdfast.BookingPending && b.due }) // INITIATED ones are only logged.
	m.drift = 0
}

func (m *serviceModel) Reconcile(t *rapid.T) {
	if _, err := m.env.Pipeline.Repair(m.env.Ctx(), m.event, "run"); err != nil {
		t.Fatal(err)
	}
	m.drift = 0
}

func (m *serviceModel) Resize(t *rapid.T) {
	to := rapid.Int64Range(5, 40).Draw(t, "total")
	_, err := m.env.Seats.UpdateEvent(m.env.Ctx(), m.event, holdfast.EventChange{TotalSeats: &to})
	code := holdfast.Code("")
	if to != m.total && m.total-m.available() > to {
		code = holdfast.CodeCapacityBelowTaken
	}
	if expectCode(t, "resize", err, code) {
		m.total = to
	}
}

func (m *serviceModel) SetSaleStatus(t *rapid.T) {
	to := rapid.SampledFrom([]holdfast.EventStatus{holdfast.OnSale, holdfast.OnSale, holdfast.Closed, holdfast.Cancelled}).Draw(t, "status")
	if to == holdfast.Cancelled && rapid.IntRange(0, 5).Draw(t, "really") > 0 {
		to = holdfast.OnSale // CANCELLED is final, so it is drawn less often.
	}
	_, err := m.env.Seats.UpdateEvent(m.env.Ctx(), m.event, holdfast.EventChange{Status: &to})
	code := holdfast.Code("")
	if m.saleStatus == holdfast.Cancelled && to != holdfast.Cancelled {
		code = holdfast.CodeEventNotOnSale
	}
	if expectCode(t, "set sale status", err, code) {
		m.saleStatus = to
	}
}

// CorruptCounter writes a wrong counter within its bounds, as other software might.
func (m *serviceModel) CorruptCounter(t *rapid.T) {
	to := rapid.Int64Range(0, m.total).Draw(t, "available")
	m.drift += to - m.available()
	m.env.Set("events", m.event, bson.D{{Key: "availableSeats", Value: to}, {Key: "oversold", Value: 0}})
}

// MakeLockDue moves a lock's expiry into the past.
func (m *serviceModel) MakeLockDue(t *rapid.T) {
	l, ok := m.pickLock(t)
	if !ok || l.due {
		return
	}
	ago := time.Duration(rapid.IntRange(1, 1000).Draw(t, "minutes")) * time.Minute
	l.due, l.expiresAt = true, time.Now().Add(-ago).UTC().Truncate(time.Millisecond)
	m.env.Set("seatlocks", l.id, bson.D{{Key: "expiresAt", Value: l.expiresAt}})
}
