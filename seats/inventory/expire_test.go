package inventory_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

var (
	lockRun    = inventory.Run{By: holdfast.EndedByLockExpiry, ID: "lock-expiry-1"}
	bookingRun = inventory.Run{By: holdfast.EndedByBookingExpiry, ID: "booking-expiry-1"}
)

// sweep carries out a command in a transaction that writes the event first.
func (s *store) sweep(t rapid.TB, c inventory.Command) reply {
	t.Helper()
	p := &pipeline{store: s, rules: theRules, hold: true}
	return p.batch(t, c)[0]
}

func locksOf(n ...int) (list []ID) {
	for _, i := range n {
		list = append(list, lockID(i))
	}
	return list
}

func TestExpireLocks_EndsTheDueOnes(t *testing.T) {
	for _, row := range []struct {
		name  string
		ids   []ID
		upTo  int
		ended []ID
	}{
		{name: "those named", ids: locksOf(1, 2), ended: locksOf(2, 1)},
		{name: "one of them", ids: locksOf(1), ended: locksOf(1)},
		{name: "none"},
		{name: "not due any more", ids: locksOf(3)},
		{name: "ended meanwhile", ids: locksOf(4)},
		{name: "without whole seats", ids: locksOf(5)},
		{name: "of another event", ids: locksOf(6)},
		{name: "missing", ids: locksOf(99)},
		{name: "as many as are named", ids: locksOf(1, 2), upTo: 2, ended: locksOf(2, 1)},
		{name: "as many as are named, of which one is not due", ids: locksOf(1, 3), upTo: 2, ended: locksOf(1)},
		{name: "more than are named", ids: locksOf(1), upTo: 2, ended: locksOf(2, 1)},
		{name: "more than are due", ids: locksOf(1), upTo: 9, ended: locksOf(2, 1, 7)},
		{name: "as many of one event as there is room for", upTo: 1, ended: locksOf(2)},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(20).
				withLock(1, 2, "ACTIVE", in(-time.Minute)).withLock(2, 3, "ACTIVE", in(-time.Hour)).withLock(7, 1, "ACTIVE", begin).
				withLock(3, 1, "ACTIVE", in(time.Minute)).withLock(4, 1, "RELEASED", in(-time.Minute)).withLock(5, 0, "ACTIVE", in(-time.Hour))
			s.withLock(6, 1, "ACTIVE", in(-time.Hour), func(l *inventory.Lock) { l.EventID = otherID })
			s.event.AvailableSeats = s.event.TotalSeats - s.taken()
			available := s.event.AvailableSeats
			r := s.sweep(t, inventory.ExpireLocks{Run: lockRun, LockIDs: row.ids, UpTo: row.upTo})
			wantCode(t, r, "")
			var want []inventory.Ended
			for _, id := range row.ended {
				want = append(want, inventory.Ended{Lock: id, Seats: s.locks[id].Seats})
				available += s.locks[id].Seats
				if lock := s.locks[id]; lock.Status != holdfast.LockExpired || s.ends[id] != (ending{lockRun.By, lockRun.ID}) {
					t.Errorf("lock %s is %+v, ended %+v", id, lock, s.ends[id])
				}
			}
			if len(want)+len(r.Ended) > 0 && !reflect.DeepEqual(r.Ended, want) {
				t.Errorf("ended %+v, want %+v", r.Ended, want)
			}
			s.wantCounter(t, available, 0)
			if noted := s.runID == lockRun.ID; noted != (len(want) > 0) {
				t.Errorf("the event notes the run: %v", noted)
			}
		})
	}
}

// The write that ends a lock is guarded by the database's clock, if its transaction has not
// read the lock.
func TestReclaim_LeavesALockThatIsNotDueAtTheWrite(t *testing.T) {
	s := newStore(2).withLock(1, 2, "ACTIVE", begin)
	p := &pipeline{store: s, rules: theRules}
	var needs inventory.Needs
	p.decide(t, &needs, false, []inventory.Command{acquire(2, 2)})
	s.locks[lockID(1)].ExpiresAt = in(time.Second)
	if err := s.apply(p.plan); !errors.Is(err, errStale) {
		t.Errorf("got %v", err)
	}
}

func TestExpireLocks_WhereTheEventDoesNotExist(t *testing.T) {
	s := newStore(5).withLock(1, 2, "ACTIVE", begin)
	s.event = nil
	wantCode(t, s.sweep(t, inventory.ExpireLocks{Run: lockRun, LockIDs: locksOf(1)}), holdfast.CodeEventNotFound)
	s.wantLock(t, 1, "ACTIVE")
}

// A sweep's transaction raises the revision twice: before it reads, and as it writes.
func TestSweep_IsBusyIfOtherProcessesWroteTheEvent(t *testing.T) {
	for _, command := range []inventory.Command{
		inventory.ExpireLocks{Run: lockRun, LockIDs: locksOf(1)},
		inventory.ExpireBookings{Run: bookingRun, Bookings: []inventory.BookingRef{{Booking: bookingID(1), Lock: lockID(1)}}},
	} {
		for others, busy := range map[int64]bool{0: false, 1: true, 2: true} {
			t.Run(fmt.Sprintf("%T after %d other writes", command, others), func(t *testing.T) {
				s := newStore(5).withLock(1, 2, "ACTIVE", begin).withBooking(1, "PAYMENT_PENDING", begin).withLock(2, 1, "ACTIVE", begin)
				if r := s.sweep(t, inventory.ExpireLocks{Run: lockRun, LockIDs: locksOf(2)}); r.Busy {
					t.Error("the first sweep is busy")
				}
				if s.event.SweptAtRev == nil || *s.event.SweptAtRev != s.event.Revision {
					t.Fatalf("swept at %v, want %d", s.event.SweptAtRev, s.event.Revision)
				}
				s.event.Revision += others
				if r := s.sweep(t, command); r.Busy != busy {
					t.Errorf("busy is %v, want %v", r.Busy, busy)
				}
			})
		}
	}
}

func TestExpireBookings_EndsTheDueOnes(t *testing.T) {
	past, soon := in(-time.Minute), in(time.Minute)
	for _, row := range []struct {
		name    string
		booking holdfast.BookingStatus
		window  time.Time
		lock    holdfast.LockStatus
		expires time.Time
		ends    bool
		seats   int64
	}{
		{name: "its window has passed", booking: "PAYMENT_PENDING", window: past, lock: "ACTIVE", expires: past, ends: true, seats: 2},
		{name: "its window ends now", booking: "PAYMENT_PENDING", window: begin, lock: "ACTIVE", expires: begin, ends: true, seats: 2},
		{
			name: "its window has passed, its lock has not", booking: "PAYMENT_PENDING", window: past, lock: "ACTIVE",
			expires: soon, ends: true, seats: 2,
		},
		{name: "its window is open", booking: "PAYMENT_PENDING", window: soon, lock: "ACTIVE", expires: soon},
		{name: "its window is open, its lock is due", booking: "PAYMENT_PENDING", window: soon, lock: "ACTIVE", expires: past},
		{name: "without a window", booking: "PAYMENT_PENDING", lock: "ACTIVE", expires: past},
		{name: "its lock has ended", booking: "PAYMENT_PENDING", window: past, lock: "EXPIRED", expires: past, ends: true},
		{name: "its lock was sold", booking: "PAYMENT_PENDING", window: past, lock: "CONSUMED", expires: past, ends: true},
		{name: "its lock is missing", booking: "PAYMENT_PENDING", window: past, expires: past, ends: true},
		{name: "not paid, its lock is live", booking: "INITIATED", lock: "ACTIVE", expires: soon},
		{name: "not paid, its lock is due", booking: "INITIATED", lock: "ACTIVE", expires: past, ends: true, seats: 2},
		{name: "not paid, its lock was released", booking: "INITIATED", lock: "RELEASED", expires: soon, ends: true},
		{name: "not paid, its lock is missing", booking: "INITIATED", expires: past, ends: true},
		{name: "confirmed", booking: "CONFIRMED", window: past, lock: "CONSUMED", expires: past},
		{name: "cancelled", booking: "CANCELLED", window: past, lock: "RELEASED", expires: past},
		{name: "expired before", booking: "EXPIRED", window: past, lock: "EXPIRED", expires: past},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(5)
			if row.lock != "" {
				s.withLock(1, 2, row.lock, row.expires)
			}
			s.withBooking(1, row.booking, row.window)
			available := s.event.AvailableSeats
			r := s.sweep(t, inventory.ExpireBookings{Run: bookingRun, Bookings: []inventory.BookingRef{{Booking: bookingID(1), Lock: lockID(1)}}})
			wantCode(t, r, "")
			s.wantCounter(t, available+row.seats, 0)
			if !row.ends {
				s.wantBooking(t, 1, row.booking)
				if len(r.Ended) > 0 {
					t.Errorf("ended %+v", r.Ended)
				}
				return
			}
			s.wantBooking(t, 1, holdfast.BookingExpired)
			if want := []inventory.Ended{{Booking: bookingID(1), Lock: lockID(1), Seats: row.seats}}; !reflect.DeepEqual(r.Ended, want) {
				t.Errorf("ended %+v, want %+v", r.Ended, want)
			}
			if row.seats > 0 && s.ends[lockID(1)] != (ending{bookingRun.By, bookingRun.ID}) {
				t.Errorf("the lock was ended %+v", s.ends[lockID(1)])
			}
			if lock := s.locks[lockID(1)]; lock != nil && !lock.BookingID.IsZero() {
				t.Errorf("the lock still names the booking: %+v", lock)
			}
		})
	}
}

// A sweep of bookings does not end another booking's lock. A lock without a whole number
// of seats is left to an operator.
func TestExpireBookings_LeavesLocksThatAreNotItsOwn(t *testing.T) {
	past := in(-time.Minute)
	for _, row := range []struct {
		name   string
		change func(*inventory.Lock)
		seats  int64
		then   holdfast.BookingStatus
		lock   holdfast.LockStatus
	}{
		{
			name: "ended, of another booking", seats: 2, then: "EXPIRED", lock: "RELEASED",
			change: func(l *inventory.Lock) { l.Status, l.BookingID = "RELEASED", bookingID(7) },
		},
		{name: "its own", change: func(*inventory.Lock) {}, seats: 2, then: "EXPIRED", lock: "EXPIRED"},
		{name: "of no booking", change: func(l *inventory.Lock) { l.BookingID = ID{} }, seats: 2, then: "EXPIRED", lock: "EXPIRED"},
		{name: "of another booking", change: func(l *inventory.Lock) { l.BookingID = bookingID(7) }, seats: 2, then: "EXPIRED", lock: "ACTIVE"},
		{name: "of another event", change: func(l *inventory.Lock) { l.EventID = otherID }, seats: 2, then: "EXPIRED", lock: "ACTIVE"},
		{name: "without whole seats", change: func(*inventory.Lock) {}, seats: 0, then: "PAYMENT_PENDING", lock: "ACTIVE"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(5).withLock(1, row.seats, "ACTIVE", past).withBooking(1, "PAYMENT_PENDING", past)
			row.change(s.locks[lockID(1)])
			s.event.AvailableSeats = s.event.TotalSeats - s.taken()
			before := s.locks[lockID(1)].BookingID
			s.sweep(t, inventory.ExpireBookings{Run: bookingRun, Bookings: []inventory.BookingRef{{Booking: bookingID(1), Lock: lockID(1)}}})
			s.wantBooking(t, 1, row.then)
			s.wantLock(t, 1, row.lock)
			if got := s.locks[lockID(1)].BookingID; before == bookingID(7) && got != before {
				t.Errorf("the lock names booking %s, before %s", got, before)
			}
		})
	}
}

// A booking that must be left as it is does not keep the next ones from expiring.
func TestExpireBookings_GoesOnAfterBookingsThatAreLeftAlone(t *testing.T) {
	past := in(-time.Minute)
	s := newStore(9).
		withLock(1, 2, "ACTIVE", past).withBooking(1, "CANCELLED", past).
		withLock(2, 2, "ACTIVE", in(time.Minute)).withBooking(2, "PAYMENT_PENDING", in(time.Minute)).
		withLock(3, 0, "ACTIVE", past).withBooking(3, "PAYMENT_PENDING", past).
		withLock(4, 2, "ACTIVE", past).withBooking(4, "PAYMENT_PENDING", past)
	c := inventory.ExpireBookings{Run: bookingRun}
	for n := 1; n <= 4; n++ {
		c.Bookings = append(c.Bookings, inventory.BookingRef{Booking: bookingID(n), Lock: lockID(n)})
	}
	r := s.sweep(t, c)
	if len(r.Ended) != 1 || r.Ended[0].Booking != bookingID(4) {
		t.Errorf("ended %+v, want booking 4", r.Ended)
	}
}

func TestExpireBookings_SeveralFreeEachLockOnce(t *testing.T) {
	past := in(-time.Minute)
	s := newStore(9).withLock(1, 2, "ACTIVE", past).withLock(2, 3, "ACTIVE", past).
		withBooking(1, "PAYMENT_PENDING", past).withBooking(2, "PAYMENT_PENDING", past).withBooking(3, "PAYMENT_PENDING", past)
	s.bookings[bookingID(3)].LockID = lockID(1) // other software made a second one
	s.locks[lockID(1)].BookingID = ID{}
	refs := []inventory.BookingRef{
		{Booking: bookingID(1), Lock: lockID(1)}, {Booking: bookingID(3), Lock: lockID(1)},
		{Booking: bookingID(2), Lock: lockID(2)}, {Booking: bookingID(2), Lock: lockID(2)}, {Booking: bookingID(8), Lock: lockID(8)},
	}
	r := s.sweep(t, inventory.ExpireBookings{Run: bookingRun, Bookings: refs})
	want := []inventory.Ended{
		{Booking: bookingID(1), Lock: lockID(1), Seats: 2}, {Booking: bookingID(3), Lock: lockID(1)},
		{Booking: bookingID(2), Lock: lockID(2), Seats: 3},
	}
	if !reflect.DeepEqual(r.Ended, want) {
		t.Errorf("ended %+v, want %+v", r.Ended, want)
	}
	s.wantCounter(t, 9, 0)
}

// A command's lock ID may be out of date: the booking names its lock.
func TestExpireBookings_TheBookingSaysWhichLockItHas(t *testing.T) {
	s := newStore(9).withLock(1, 2, "ACTIVE", begin).withBooking(1, "INITIATED", time.Time{})
	r := s.sweep(t, inventory.ExpireBookings{Run: bookingRun, Bookings: []inventory.BookingRef{{Booking: bookingID(1), Lock: lockID(2)}}})
	if len(r.Ended) != 1 || r.Ended[0].Lock != lockID(1) {
		t.Errorf("ended %+v", r.Ended)
	}
	s.wantCounter(t, 9, 0)
}

// If the event does not exist, locks that take seats and their bookings are left to an
// operator.
func TestExpireBookings_WhereTheEventDoesNotExist(t *testing.T) {
	past := in(-time.Minute)
	for _, row := range []struct {
		name   string
		change func(*store)
		code   holdfast.Code
		then   holdfast.BookingStatus
	}{
		{name: "a lock that takes seats", change: func(*store) {}, code: holdfast.CodeEventNotFound, then: "PAYMENT_PENDING"},
		{name: "a lock without whole seats", change: func(s *store) {
			s.locks[lockID(1)].Seats = 0
			s.bookings[bookingID(2)].Status = "EXPIRED"
		}},
		{name: "a lock of a booking that is over", change: func(s *store) {
			s.bookings[bookingID(1)].Status, s.bookings[bookingID(2)].Status = "EXPIRED", "EXPIRED"
		}, then: "EXPIRED"},
		{name: "a lock of no event", change: func(s *store) { s.locks[lockID(1)].EventID = ID{} }, then: "EXPIRED"},
		{name: "a lock that has ended", change: func(s *store) { s.locks[lockID(1)].Status = "EXPIRED" }, then: "EXPIRED"},
		{name: "a lock that is missing", change: func(s *store) { delete(s.locks, lockID(1)) }, then: "EXPIRED"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(5).withBooking(2, "PAYMENT_PENDING", past).withLock(1, 2, "ACTIVE", past).withBooking(1, "PAYMENT_PENDING", past)
			row.change(s)
			s.event = nil
			refs := []inventory.BookingRef{{Booking: bookingID(2), Lock: lockID(2)}, {Booking: bookingID(1), Lock: lockID(1)}}
			wantCode(t, s.sweep(t, inventory.ExpireBookings{Run: bookingRun, Bookings: refs}), row.code)
			if row.then == "" { // left as it is
				s.wantBooking(t, 1, "PAYMENT_PENDING")
				return
			}
			s.wantBooking(t, 1, row.then)
			s.wantBooking(t, 2, row.then)
			if lock := s.locks[lockID(1)]; lock != nil && lock.Status != "EXPIRED" {
				s.wantLock(t, 1, "ACTIVE")
			}
		})
	}
}

func TestConsumeSold_OnlyWhereTheBookingIsConfirmed(t *testing.T) {
	for state, consumes := range map[string]bool{
		"ACTIVE and sold": true, "ACTIVE": false, "ACTIVE and booked": false, "CONSUMED": false, "RELEASED": false, "missing": false,
	} {
		for _, now := range []time.Time{begin, in(time.Hour)} {
			t.Run(fmt.Sprintf("%s, due %v", state, now.After(begin)), func(t *testing.T) {
				s := aLock(state)
				s.now = now
				before := s.clone()
				r := s.one(t, inventory.ConsumeSold{LockID: lockID(1), RunID: "recovery-1"})
				wantCode(t, r, "")
				if r.Replayed == consumes {
					t.Errorf("got %+v", r)
				}
				if consumes {
					s.wantLock(t, 1, holdfast.LockConsumed)
					if s.ends[lockID(1)] != (ending{runID: "recovery-1"}) {
						t.Errorf("ended %+v", s.ends[lockID(1)])
					}
				} else if !reflect.DeepEqual(s.locks, before.locks) {
					t.Errorf("the locks are %+v", s.locks)
				}
				s.wantCounter(t, before.event.AvailableSeats, 0)
			})
		}
	}
}
