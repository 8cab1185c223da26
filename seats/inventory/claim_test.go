package inventory_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func invalidField(err error) string {
	if invalid, ok := holdfast.DetailsOf[holdfast.Invalid](err); ok {
		return invalid[0].Where
	}
	return ""
}

// untilRow is a requested time, and the expiry that results.
type untilRow struct {
	name  string
	until holdfast.Until
	want  time.Time
	field string // that is refused
}

func TestExtend_NeverShortensAndStopsAtTheCap(t *testing.T) {
	expires, limit := in(minutes(10)), in(theRules.MaxLockTTL-minutes(5)) // the lock is five minutes old
	for _, row := range []untilRow{
		{name: "a duration", until: holdfast.Until{For: minutes(20)}, want: in(minutes(20))},
		{name: "a shorter duration", until: holdfast.Until{For: minutes(1)}, want: expires},
		{name: "an earlier time", until: holdfast.Until{At: begin}, want: expires},
		{name: "an earlier time that is ahead", until: holdfast.Until{At: in(1), Ahead: true}, want: expires},
		{name: "a time that must be ahead", until: holdfast.Until{At: begin, Ahead: true}, want: expires, field: "body.expiresAt"},
		{name: "a time", until: holdfast.Until{At: in(minutes(30))}, want: in(minutes(30))},
		{name: "the cap", until: holdfast.Until{At: limit}, want: limit},
		{name: "beyond the cap", until: holdfast.Until{At: limit.Add(time.Millisecond)}, want: expires, field: "body.expiresAt"},
		{name: "a duration beyond the cap", until: holdfast.Until{For: theRules.MaxLockTTL}, want: expires, field: "body.ttlSeconds"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(5).withLock(1, 2, "ACTIVE", expires)
			r := s.one(t, inventory.Extend{LockID: lockID(1), Until: row.until})
			if got := invalidField(r.Err); got != row.field || (got == "") != (r.Err == nil) {
				t.Errorf("refused %q (%v), want %q", got, r.Err, row.field)
			}
			if got := s.locks[lockID(1)]; !got.ExpiresAt.Equal(row.want) || (r.Err == nil && !reflect.DeepEqual(r.Lock, got.Lock)) {
				t.Errorf("answered %+v, stored %+v, want the expiry %v", r.Lock, got, row.want)
			}
		})
	}
}

func TestBook_MakesABookingAndMovesTheLocksExpiry(t *testing.T) {
	expires, limit := in(minutes(10)), in(theRules.MaxPaymentTTL)
	for _, row := range []untilRow{
		{name: "without a window"},
		{name: "a duration", until: holdfast.Until{For: minutes(20)}, want: in(minutes(20))},
		{name: "a shorter duration", until: holdfast.Until{For: minutes(1)}, want: in(minutes(1))},
		{name: "a time that must be ahead", until: holdfast.Until{At: begin, Ahead: true}, field: "body.paymentExpiresAt"},
		{name: "a time ahead", until: holdfast.Until{At: in(minutes(1)), Ahead: true}, want: in(minutes(1))},
		{name: "the cap", until: holdfast.Until{At: limit}, want: limit},
		{name: "beyond the cap", until: holdfast.Until{At: limit.Add(time.Millisecond)}, field: "body.paymentExpiresAt"},
		{name: "a duration beyond the cap", until: holdfast.Until{For: theRules.MaxPaymentTTL + 1}, field: "body.paymentTtlSeconds"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(5).withLock(1, 2, "ACTIVE", expires)
			c := book
			c.Window = row.until
			r := s.one(t, c)
			if row.field != "" {
				if got := invalidField(r.Err); got != row.field || len(s.bookings) != 0 {
					t.Errorf("refused %q, %d bookings", got, len(s.bookings))
				}
				return
			}
			want := holdfast.Booking{
				ID: bookingID(2), UserID: alice, EventID: eventID, LockID: lockID(1), Seats: 2, Status: holdfast.BookingPending,
				PaymentExpiresAt: row.want, CreatedAt: begin, UpdatedAt: begin,
			}
			if row.want.IsZero() {
				want.Status = holdfast.BookingInitiated
			}
			if !reflect.DeepEqual(r.Booking, want) || !reflect.DeepEqual(*s.bookings[bookingID(2)], want) || r.Replayed {
				t.Errorf("answered %+v, stored %+v, want %+v", r.Booking, s.bookings[bookingID(2)], want)
			}
			lock := s.locks[lockID(1)]
			if moved := latest(expires, row.want); !lock.ExpiresAt.Equal(moved) || lock.BookingID != bookingID(2) {
				t.Errorf("the lock is %+v, want its expiry %v", lock, moved)
			}
		})
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func TestBook_OfALockOfAnotherUserOrEventIsNotFound(t *testing.T) {
	for name, change := range map[string]func(*inventory.Book){
		"another user":  func(c *inventory.Book) { c.UserID = bob },
		"another event": func(c *inventory.Book) { c.EventID = otherID },
	} {
		t.Run(name, func(t *testing.T) {
			c := book
			change(&c)
			for _, state := range []string{"ACTIVE", "ACTIVE and booked", "CONSUMED", "RELEASED"} {
				t.Run(state, func(t *testing.T) {
					wantCode(t, aLock(state).one(t, c), holdfast.CodeLockNotFound)
				})
			}
		})
	}
}

// If a booking contradicts its lock, the answer is the lock's code.
func TestBook_WhereBookingAndLockContradictEachOther(t *testing.T) {
	soon := in(minutes(10))
	for _, row := range []struct {
		name    string
		lock    holdfast.LockStatus
		expires time.Time
		booking holdfast.BookingStatus
		window  time.Time // soon, if it is zero
		code    holdfast.Code
	}{
		{name: "a released lock that was sold", lock: "RELEASED", expires: soon, booking: "CONFIRMED", code: holdfast.CodeLockReleased},
		{name: "an expired lock that was sold", lock: "EXPIRED", expires: soon, booking: "CONFIRMED", code: holdfast.CodeLockExpired},
		{name: "a due lock that was sold", lock: "ACTIVE", expires: begin, booking: "CONFIRMED"},
		{
			name: "a lock whose booking is due", lock: "ACTIVE", expires: soon, booking: "PAYMENT_PENDING", window: begin,
			code: holdfast.CodeBookingExpired,
		},
		{
			name: "a consumed lock with an open booking", lock: "CONSUMED", expires: soon, booking: "PAYMENT_PENDING",
			code: holdfast.CodeLockConsumed,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			window := row.window
			if window.IsZero() {
				window = soon
			}
			s := newStore(5).withLock(1, 2, row.lock, row.expires).withBooking(1, row.booking, window)
			wantCode(t, s.one(t, book), row.code)
		})
	}
}

func TestPay_OpensTheWindowOnce(t *testing.T) {
	limit := in(theRules.MaxPaymentTTL - minutes(1)) // the booking is one minute old
	for _, row := range []untilRow{
		{name: "a duration", until: holdfast.Until{For: minutes(20)}, want: in(minutes(20))},
		{name: "a shorter duration", until: holdfast.Until{For: minutes(1)}, want: in(minutes(1))},
		{name: "a time that must be ahead", until: holdfast.Until{At: begin, Ahead: true}, field: "body.paymentExpiresAt"},
		{name: "the cap", until: holdfast.Until{At: limit}, want: limit},
		{name: "beyond the cap", until: holdfast.Until{At: limit.Add(time.Millisecond)}, field: "body.paymentExpiresAt"},
		{name: "a duration beyond the cap", until: holdfast.Until{For: theRules.MaxPaymentTTL}, field: "body.paymentTtlSeconds"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := aBooking("INITIATED")
			s.locks[lockID(1)].BookingID = ID{} // other software may not have named it
			r := s.one(t, inventory.Pay{BookingID: bookingID(1), Window: row.until})
			if got := invalidField(r.Err); got != row.field || (got == "") != (r.Err == nil) {
				t.Errorf("refused %q (%v), want %q", got, r.Err, row.field)
			}
			b, lock := s.bookings[bookingID(1)], s.locks[lockID(1)]
			if !b.PaymentExpiresAt.Equal(row.want) || (r.Err == nil && !reflect.DeepEqual(r.Booking, *b)) {
				t.Errorf("answered %+v, stored %+v, want the window's end %v", r.Booking, b, row.want)
			}
			if r.Err == nil && (!lock.ExpiresAt.Equal(latest(in(minutes(10)), row.want)) || lock.BookingID != b.ID) {
				t.Errorf("the lock is %+v", lock)
			}
			if r.Err == nil {
				again := s.one(t, inventory.Pay{BookingID: bookingID(1), Window: holdfast.Until{For: minutes(99)}})
				if !reflect.DeepEqual(again.Booking, r.Booking) || again.Err != nil {
					t.Errorf("again: %+v, want it unchanged", again)
				}
			}
		})
	}
}

func TestConfirm_SellsTheSeats(t *testing.T) {
	s := aBooking("PAYMENT_PENDING")
	r := s.one(t, confirm)
	if b := s.bookings[bookingID(1)]; b.Status != holdfast.BookingConfirmed || b.PaymentReference != "paid" ||
		!reflect.DeepEqual(r.Booking, *b) {
		t.Errorf("answered %+v, stored %+v", r.Booking, b)
	}
	lock := s.locks[lockID(1)]
	if lock.Status != holdfast.LockConsumed || lock.BookingID != bookingID(1) || s.ends[lock.ID] != (ending{}) {
		t.Errorf("the lock is %+v, ended %+v", lock, s.ends[lock.ID])
	}
	if s.event.Revision != 0 {
		t.Error("a confirmation wrote the event")
	}
}

// Other software may write a booking without a window: the lock's time holds.
func TestConfirm_WithoutAWindowTheLocksTimeHolds(t *testing.T) {
	for _, row := range []struct {
		name    string
		expires time.Time
		code    holdfast.Code
	}{
		{"before its end", in(time.Millisecond), ""},
		{"at its end", begin, holdfast.CodeBookingExpired},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(5).withLock(1, 2, "ACTIVE", row.expires).withBooking(1, "PAYMENT_PENDING", time.Time{})
			wantCode(t, s.one(t, confirm), row.code)
		})
	}
}

// A plan that was made in time is stale once the lock or the window has passed, or
// once another transaction has changed the lock.
func TestClaim_PlansAreGuardedAtTheWrite(t *testing.T) {
	late := func(s *store) { s.now = in(minutes(10)) }
	changed := func(s *store) { s.locks[lockID(1)].Revision = pointer(int64(7)) }
	windowPassed := func(s *store) { s.bookings[bookingID(1)].PaymentExpiresAt = begin }
	bookingMoved := func(s *store) { s.bookings[bookingID(1)].Status = holdfast.BookingCancelled }
	for _, row := range []struct {
		name    string
		command inventory.Command
		state   string
		change  func(*store)
	}{
		{name: "extend, late", command: extend, state: "INITIATED", change: late},
		{name: "extend, its booking is due", command: extend, state: "short window", change: func(s *store) { s.now = in(minutes(2)) }},
		{name: "extend, changed", command: extend, state: "INITIATED", change: changed},
		{name: "book, late", command: book, state: "without", change: late},
		{name: "book, changed", command: book, state: "without", change: changed},
		{name: "pay, late", command: pay, state: "INITIATED", change: late},
		{name: "pay, changed", command: pay, state: "INITIATED", change: changed},
		{name: "pay, booking moved", command: pay, state: "INITIATED", change: bookingMoved},
		{name: "confirm, lock late", command: confirm, state: "PAYMENT_PENDING", change: late},
		{name: "confirm without a window, lock late", command: confirm, state: "no window", change: late},
		{name: "confirm, window passed", command: confirm, state: "PAYMENT_PENDING", change: windowPassed},
		{name: "confirm, changed", command: confirm, state: "PAYMENT_PENDING", change: changed},
		{name: "confirm, booking moved", command: confirm, state: "PAYMENT_PENDING", change: bookingMoved},
		{name: "release, changed", command: release, state: "INITIATED", change: changed},
		{name: "release, booking moved", command: release, state: "INITIATED", change: bookingMoved},
		{name: "cancel, changed", command: cancel, state: "INITIATED", change: changed},
		{name: "cancel, booking moved", command: cancel, state: "INITIATED", change: bookingMoved},
		{name: "a late release, changed", command: release, state: "lock due", change: changed},
		{name: "consume sold, changed", command: inventory.ConsumeSold{LockID: lockID(1)}, state: "sold", change: changed},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := aBooking(row.state)
			switch row.state {
			case "without":
				s = aLock("ACTIVE")
			case "sold":
				s = aLock("ACTIVE and sold")
			case "short window":
				s = newStore(5).withLock(1, 2, "ACTIVE", in(minutes(10))).withBooking(1, "PAYMENT_PENDING", in(minutes(2)))
			case "no window":
				s = newStore(5).withLock(1, 2, "ACTIVE", in(minutes(10))).withBooking(1, "PAYMENT_PENDING", time.Time{})
			}
			p := &pipeline{store: s, rules: theRules}
			var needs inventory.Needs
			p.decide(t, &needs, false, []inventory.Command{row.command})
			row.change(s)
			if err := s.apply(p.plan); !errors.Is(err, errStale) {
				t.Errorf("got %v, want the plan to be stale: %+v", err, p.plan)
			}
		})
	}
}

// A claim that read the event before it was cancelled is not written once another claim on the
// lock was refused by the cancelled event.
func TestClaim_ARefusalByACancelledEventConflictsWithEarlierClaims(t *testing.T) {
	for name, row := range map[string]struct {
		command inventory.Command
		state   string
	}{
		"extend": {extend, "INITIATED"}, "pay": {pay, "INITIATED"}, "confirm": {confirm, "PAYMENT_PENDING"}, "book": {book, "without"},
	} {
		t.Run(name, func(t *testing.T) {
			s := aBooking(row.state)
			if row.state == "without" {
				s = aLock("ACTIVE")
			}
			early := &pipeline{store: s, rules: theRules}
			var needs inventory.Needs
			early.decide(t, &needs, false, []inventory.Command{row.command})
			s.event.Status = holdfast.Cancelled
			wantCode(t, s.one(t, row.command), holdfast.CodeEventNotOnSale)
			if err := s.apply(early.plan); !errors.Is(err, errStale) {
				t.Errorf("the earlier claim: got %v, want it stale", err)
			}
		})
	}
}

func TestClaim_ABookingWhoseLockDoesNotExist(t *testing.T) {
	for _, row := range []struct {
		name    string
		booking holdfast.BookingStatus
		command inventory.Command
		code    holdfast.Code
		then    holdfast.BookingStatus
	}{
		{name: "pay", booking: "INITIATED", command: pay, code: holdfast.CodeBookingExpired, then: "INITIATED"},
		{name: "confirm", booking: "PAYMENT_PENDING", command: confirm, code: holdfast.CodeBookingExpired, then: "PAYMENT_PENDING"},
		{name: "confirm again", booking: "CONFIRMED", command: inventory.Confirm{BookingID: bookingID(1)}, then: "CONFIRMED"},
		{name: "cancel", booking: "PAYMENT_PENDING", command: cancel, code: holdfast.CodeBookingExpired, then: "PAYMENT_PENDING"},
		{name: "cancel a sale", booking: "CONFIRMED", command: cancel, then: "CANCELLED"},
		{name: "cancel again", booking: "CANCELLED", command: cancel, then: "CANCELLED"},
	} {
		for _, missing := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, event missing %v", row.name, missing), func(t *testing.T) {
				s := newStore(5).withBooking(1, row.booking, in(minutes(10)))
				if missing {
					s.event = nil
				}
				wantCode(t, s.one(t, row.command), row.code)
				s.wantBooking(t, 1, row.then)
			})
		}
	}
}

func TestClaim_WhereTheEventDoesNotExist(t *testing.T) {
	for _, row := range []struct {
		name    string
		state   string
		command inventory.Command
		code    holdfast.Code
	}{
		{name: "extend", state: "INITIATED", command: extend, code: holdfast.CodeEventNotFound},
		{name: "book", state: "without", command: book, code: holdfast.CodeEventNotFound},
		{name: "pay", state: "INITIATED", command: pay, code: holdfast.CodeEventNotFound},
		{name: "confirm", state: "PAYMENT_PENDING", command: confirm, code: holdfast.CodeEventNotFound},
		{name: "release", state: "INITIATED", command: release},
		{name: "release a due lock", state: "lock due", command: release, code: holdfast.CodeLockExpired},
		{name: "cancel", state: "PAYMENT_PENDING", command: cancel},
		{name: "cancel a sale", state: "CONFIRMED", command: cancel},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := aBooking(row.state)
			if row.state == "without" {
				s = aLock("ACTIVE")
			}
			s.event = nil
			wantCode(t, s.one(t, row.command), row.code)
			if row.code == "" {
				s.wantLock(t, 1, holdfast.LockReleased)
				s.wantBooking(t, 1, holdfast.BookingCancelled)
			}
		})
	}
}

// Other software made two bookings of one lock, and confirmed one. The seats are sold once.
func TestClaim_OfABookingWhoseSeatsAnotherBookingSold(t *testing.T) {
	confirm := inventory.Confirm{BookingID: bookingID(1)}
	pay := inventory.Pay{BookingID: bookingID(1), Window: holdfast.Until{For: time.Minute}}
	for _, row := range []struct {
		name    string
		command inventory.Command
		status  holdfast.BookingStatus
		expires time.Duration
		code    holdfast.Code
	}{
		{name: "confirm", command: confirm, status: "PAYMENT_PENDING", expires: time.Minute, code: "LOCK_CONSUMED"},
		{name: "confirm, due", command: confirm, status: "PAYMENT_PENDING", expires: -time.Minute, code: "BOOKING_EXPIRED"},
		{name: "confirm, INITIATED", command: confirm, status: "INITIATED", expires: time.Minute, code: "BOOKING_NOT_PAYABLE"},
		{name: "pay", command: pay, status: "INITIATED", expires: time.Minute, code: "LOCK_CONSUMED"},
		{name: "pay, again", command: pay, status: "PAYMENT_PENDING", expires: time.Minute, code: "LOCK_CONSUMED"},
		{name: "pay, due", command: pay, status: "INITIATED", expires: -time.Minute, code: "BOOKING_EXPIRED"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(5).withLock(1, 2, "ACTIVE", in(row.expires)).withBooking(1, row.status, in(time.Minute))
			other := *s.bookings[bookingID(1)]
			other.ID, other.Status = bookingID(2), "CONFIRMED"
			s.bookings[other.ID] = &other
			wantCode(t, s.one(t, row.command), row.code)
			s.wantBooking(t, 1, row.status)
		})
	}
}
