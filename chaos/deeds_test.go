package chaos_test

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/seats"
)

func expect(t *rapid.T, what string, err error, code fault.Code) bool {
	if fault.CodeOf(err) != code || (err == nil) != (code == "") {
		t.Fatalf("%s: got %v, want %q", what, err, code)
	}
	return err == nil
}

func when(t *rapid.T) (until seats.Until, due bool) {
	due = rapid.IntRange(0, 3).Draw(t, "in the past") == 0
	hours := time.Duration(rapid.IntRange(1, 50).Draw(t, "minutes")) * time.Minute
	if due {
		return seats.Until{At: time.Now().Add(-time.Hour - hours)}, true
	}
	return seats.Until{For: time.Hour + hours}, false
}

func (m *model) Take(t *rapid.T) {
	user := m.users[rapid.IntRange(0, len(m.users)-1).Draw(t, "user")]
	n := rapid.Int64Range(1, 6).Draw(t, "seats")
	key := rapid.SampledFrom([]string{"", "", "a", "b", "c"}).Draw(t, "key")
	until, due := when(t)
	if key != "" { // so that a repeat is the same request
		until, due = seats.Until{For: time.Hour}, false
	}
	lock, replayed, err := m.w.Seats.Take(m.w.Ctx(), seats.LockRequest{EventID: m.event, UserID: user, Seats: n, Until: until, Key: key})
	before := m.keys[user.String()+key]
	switch {
	case key != "" && before != nil && before.seats != n:
		expect(t, "take", err, seats.CodeIdempotencyReused)
		return
	case key != "" && before != nil:
		expect(t, "take", err, "")
		if !replayed || lock.ID != before.id || lock.Status != before.status {
			t.Fatalf("replay: got %+v, want %+v", lock, before)
		}
		return
	case m.sale != seats.OnSale:
		expect(t, "take", err, seats.CodeNotOnSale)
		return
	case m.perUser > 0 && m.held(user)+n > m.perUser:
		expect(t, "take", err, seats.CodeSeatLimit)
		return
	}
	for _, l := range m.dueLocks() {
		if m.available() >= n {
			break
		}
		l.status = seats.Expired
		m.recountBeyond()
	}
	if n > m.available() {
		expect(t, "take", err, seats.CodeSeatsUnavailable)
		return
	}
	expect(t, "take", err, "")
	l := &modelLock{lock.ID, user, n, seats.Active, due, lock.ExpiresAt}
	m.locks[l.id] = l
	if key != "" {
		m.keys[user.String()+key] = l
	}
}

// recountBeyond: a counter that would pass the total is proved anew.
func (m *model) recountBeyond() {
	if m.available() > m.total {
		m.drift = 0
	}
}

func (m *model) Extend(t *rapid.T) {
	l, ok := m.aLock(t)
	if !ok {
		return
	}
	got, err := m.w.Seats.Extend(m.w.Ctx(), l.id, seats.Until{For: 90 * time.Minute})
	code := l.ended()
	if code == "" && m.sale == seats.Cancelled {
		code = seats.CodeNotOnSale
	}
	if expect(t, "extend", err, code) {
		if got.ExpiresAt.Before(l.expiresAt) {
			t.Fatalf("extend shortened %v to %v", l.expiresAt, got.ExpiresAt)
		}
		l.expiresAt = got.ExpiresAt
	}
}

func (m *model) Release(t *rapid.T) {
	l, ok := m.aLock(t)
	if !ok {
		return
	}
	_, err := m.w.Bookings.ReleaseLock(m.w.Ctx(), l.id)
	code := l.ended()
	if code == seats.CodeLockReleased {
		code = ""
	}
	if expect(t, "release", err, code) && l.status == seats.Active {
		if b := m.live(l); b != nil {
			b.status = booking.Cancelled
		}
		l.status = seats.Released
		m.recountBeyond()
	}
}

func (m *model) Book(t *rapid.T) {
	l, ok := m.aLock(t)
	if !ok {
		return
	}
	window, due := when(t)
	if rapid.Bool().Draw(t, "initiated") {
		window, due = seats.Until{}, false
	}
	b, made, err := m.w.Bookings.Create(m.w.Ctx(), booking.Request{UserID: l.user, EventID: m.event, LockID: l.id, Window: window})
	has, code := m.live(l), l.ended()
	switch {
	case has != nil && (code == "" || code == seats.CodeLockConsumed):
		expect(t, "book", err, "")
		if made || b.ID != has.id || b.Status != has.status {
			t.Fatalf("book again: got %+v, want %+v", b, has)
		}
		return
	case code == "" && m.sale == seats.Cancelled:
		code = seats.CodeNotOnSale
	}
	if !expect(t, "book", err, code) {
		return
	}
	status := booking.Pending
	if window.IsZero() {
		status = booking.Initiated
	}
	m.bookings[b.ID] = &modelBooking{id: b.ID, lock: l, status: status, due: due}
	l.expiresAt = m.w.Lock(l.id).ExpiresAt
}

// refused is the code that every action on a booking shares.
func (m *model) refused(b *modelBooking) fault.Code {
	if !b.open() {
		return byStatus[b.status]
	}
	if b.isDue() {
		return booking.CodeExpired
	}
	return b.lock.ended()
}

func (m *model) Pay(t *rapid.T) {
	b, ok := m.aBooking(t)
	if !ok {
		return
	}
	got, err := m.w.Bookings.Pay(m.w.Ctx(), b.id, seats.Until{For: 2 * time.Hour})
	code := m.refused(b)
	if code == "" && b.status == booking.Initiated && m.sale == seats.Cancelled {
		code = seats.CodeNotOnSale
	}
	if expect(t, "pay", err, code) {
		b.status = booking.Pending
		b.lock.expiresAt = m.w.Lock(b.lock.id).ExpiresAt
		if got.Status != booking.Pending {
			t.Fatalf("pay: %+v", got)
		}
	}
}

func (m *model) Confirm(t *rapid.T) {
	b, ok := m.aBooking(t)
	if !ok {
		return
	}
	ref := rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "reference")
	_, err := m.w.Bookings.Confirm(m.w.Ctx(), b.id, ref)
	code := m.refused(b)
	switch {
	case b.status == booking.Confirmed && (ref == "" || ref == b.ref):
		code = ""
	case b.status == booking.Initiated && !b.isDue():
		code = booking.CodeNotPayable
	case code == "" && m.sale == seats.Cancelled:
		code = seats.CodeNotOnSale
	}
	if expect(t, "confirm", err, code) && b.status == booking.Pending {
		b.status, b.ref, b.lock.status = booking.Confirmed, ref, seats.Consumed
	}
}

func (m *model) Cancel(t *rapid.T) {
	b, ok := m.aBooking(t)
	if !ok {
		return
	}
	_, err := m.w.Bookings.Cancel(m.w.Ctx(), b.id)
	code := m.refused(b)
	if b.status == booking.Confirmed || b.status == booking.Cancelled {
		code = ""
	}
	if expect(t, "cancel", err, code) && b.status != booking.Cancelled {
		b.status, b.lock.status = booking.Cancelled, seats.Released
		m.recountBeyond()
	}
}

func (m *model) SweepLocks(t *rapid.T) {
	m.w.SweepLocks()
	for _, l := range m.dueLocks() {
		l.status = seats.Expired
	}
	m.recountBeyond()
}

func (m *model) SweepBookings(t *rapid.T) {
	m.w.SweepBookings()
	m.expireBookings(true)
}

func (m *model) expireBookings(initiated bool) {
	for _, b := range m.bookings {
		if (b.status == booking.Pending && b.due) || (initiated && b.status == booking.Initiated && b.lock.ended() != "") {
			b.status = booking.Expired
			if b.lock.status == seats.Active {
				b.lock.status = seats.Expired
			}
		}
	}
	m.recountBeyond()
}

func (m *model) Recover(t *rapid.T) {
	m.w.Recover()
	for _, l := range m.dueLocks() {
		l.status = seats.Expired
	}
	m.expireBookings(false)
	m.drift = 0
}

func (m *model) Reconcile(t *rapid.T) {
	if _, _, err := m.w.Seats.Repair(m.w.Ctx(), m.event, "run"); err != nil {
		t.Fatal(err)
	}
	m.drift = 0
}

func (m *model) Resize(t *rapid.T) {
	to := rapid.Int64Range(5, 40).Draw(t, "total")
	_, err := m.w.Seats.UpdateEvent(m.w.Ctx(), m.event, seats.EventChange{TotalSeats: &to})
	code := fault.Code("")
	if to != m.total && m.total-m.available() > to {
		code = seats.CodeCapacity
	}
	if expect(t, "resize", err, code) {
		m.total = to
	}
}

func (m *model) Sale(t *rapid.T) {
	to := rapid.SampledFrom([]seats.SaleStatus{seats.OnSale, seats.OnSale, seats.Closed, seats.Cancelled}).Draw(t, "status")
	if to == seats.Cancelled && rapid.IntRange(0, 5).Draw(t, "really") > 0 {
		to = seats.OnSale // it is final
	}
	_, err := m.w.Seats.UpdateEvent(m.w.Ctx(), m.event, seats.EventChange{Status: &to})
	code := fault.Code("")
	if m.sale == seats.Cancelled && to != seats.Cancelled {
		code = seats.CodeNotOnSale
	}
	if expect(t, "sale", err, code) {
		m.sale = to
	}
}

// Corrupt is a hand that writes a wrong counter within its bounds.
func (m *model) Corrupt(t *rapid.T) {
	to := rapid.Int64Range(0, m.total).Draw(t, "available")
	m.drift += to - m.available()
	m.w.Set("events", m.event, bson.D{{Key: "availableSeats", Value: to}, {Key: "oversold", Value: 0}})
}

// Pass is a hand that lets a lock's time pass.
func (m *model) Pass(t *rapid.T) {
	l, ok := m.aLock(t)
	if !ok || l.due {
		return
	}
	l.due, l.expiresAt = true, time.Now().Add(-time.Duration(rapid.IntRange(1, 1000).Draw(t, "minutes"))*time.Minute).UTC().Truncate(time.Millisecond)
	m.w.Set("seatlocks", l.id, bson.D{{Key: "expiresAt", Value: l.expiresAt}})
}
