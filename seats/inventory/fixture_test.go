package inventory_test

import (
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// begin is the database's clock at the beginning of a test.
var begin = time.Date(2030, time.March, 4, 5, 6, 7, 0, time.UTC)

type ID = holdfast.ID

// The IDs of a test name their kind, so that a failure is readable.
func numbered(kind byte, n int) ID { return ID{0: kind, 10: byte(n >> 8), 11: byte(n)} }
func lockID(n int) ID              { return numbered(0x10, n) }
func bookingID(n int) ID           { return numbered(0xb0, n) }
func userID(n int) ID              { return numbered(0xa0, n) }
func entryID(n int) ID             { return numbered(0xd0, n) }
func partID(n int) ID              { return numbered(0xf0, n) }
func commandID(n int) ID           { return numbered(0xc0, n) }

var (
	eventID  = numbered(0xe0, 1)
	otherID  = numbered(0xe0, 2) // another event
	alice    = userID(1)
	bob      = userID(2)
	theRules = inventory.Rules{DefaultLockTTL: 10 * time.Minute, MaxLockTTL: 2 * time.Hour, MaxPaymentTTL: 24 * time.Hour}
)

func minutes(n int) time.Duration  { return time.Duration(n) * time.Minute }
func in(d time.Duration) time.Time { return begin.Add(d) }
func pointer[T any](v T) *T        { return &v }

// acquire asks for Alice's lock number n.
func acquire(n int, seats int64) inventory.Acquire {
	return inventory.Acquire{LockID: lockID(n), LockRequest: holdfast.LockRequest{EventID: eventID, UserID: alice, Seats: seats}}
}

func keyed(n int, seats int64, key string) inventory.Acquire {
	c := acquire(n, seats)
	c.Key = key
	return c
}

// withLock puts Alice's lock number n into the store. The counter is reduced by the
// seats that it takes.
func (s *store) withLock(n int, seats int64, status holdfast.LockStatus, expires time.Time, change ...func(*inventory.Lock)) *store {
	lock := &inventory.Lock{Lock: holdfast.Lock{
		ID: lockID(n), EventID: eventID, UserID: alice, Seats: seats, Status: status, ExpiresAt: expires, CreatedAt: begin.Add(-minutes(5)),
	}}
	for _, c := range change {
		c(lock)
	}
	s.locks[lock.ID] = lock
	if s.event != nil && takes(lock) {
		s.event.AvailableSeats -= lock.Seats
	}
	return s
}

// withBooking puts the booking number n of the lock with the same number into the store.
func (s *store) withBooking(n int, status holdfast.BookingStatus, window time.Time) *store {
	b := &holdfast.Booking{
		ID: bookingID(n), UserID: alice, EventID: eventID, LockID: lockID(n), Seats: 1, Status: status,
		PaymentExpiresAt: window, CreatedAt: begin.Add(-minutes(1)),
	}
	s.bookings[b.ID] = b
	if lock := s.locks[b.LockID]; lock != nil && isLive(b.Status) {
		lock.BookingID = b.ID
	}
	return s
}

func keyedBy(c inventory.Acquire) func(*inventory.Lock) {
	return func(l *inventory.Lock) { l.UserID, l.Key, l.RequestHash = c.UserID, c.Key, c.Hash() }
}

// one carries out one command that one batch decides.
func (s *store) one(t rapid.TB, c inventory.Command) reply {
	t.Helper()
	p := &pipeline{store: s, rules: theRules}
	results := p.batch(t, c)
	if results[0].Undecided {
		t.Fatalf("%+v is left undecided", c)
	}
	return results[0]
}

// reply is a result whose values can be compared: a missing one is zero.
type reply struct {
	inventory.Result

	Lock    holdfast.Lock
	Booking holdfast.Booking
	Event   holdfast.Event
	Entry   holdfast.WaitlistEntry
}

func repliesOf(results []inventory.Result) []reply {
	replies := make([]reply, len(results))
	for i, r := range results {
		replies[i] = reply{Result: r, Lock: orZero(r.Lock), Booking: orZero(r.Booking), Event: orZero(r.Event), Entry: orZero(r.Entry)}
	}
	return replies
}

func orZero[T any](of *T) (value T) {
	if of != nil {
		value = *of
	}
	return value
}

func wantCode(t rapid.TB, r reply, want holdfast.Code) {
	t.Helper()
	if got := holdfast.CodeOf(r.Err); got != want || (r.Err == nil) != (want == "") {
		t.Errorf("got %v, want %q", r.Err, want)
	}
}

// wantCounter compares the event's available and oversold seats.
func (s *store) wantCounter(t rapid.TB, available, oversold int64) {
	t.Helper()
	if s.event.AvailableSeats != available || s.event.Oversold != oversold {
		t.Errorf("%d seats are available and %d oversold, want %d and %d", s.event.AvailableSeats, s.event.Oversold, available, oversold)
	}
}

func change(c holdfast.EventChange) inventory.ChangeEvent {
	return inventory.ChangeEvent{EventChange: c}
}
