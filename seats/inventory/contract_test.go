package inventory_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// The tables of the contract, cell by cell: the answer to each action in each state of
// the lock or the booking.

var (
	window  = holdfast.Until{For: minutes(30)}
	request = holdfast.BookingRequest{UserID: alice, EventID: eventID, LockID: lockID(1), Window: window}

	release = inventory.Release{LockID: lockID(1)}
	extend  = inventory.Extend{LockID: lockID(1), Until: window}
	book    = inventory.Book{BookingRequest: request, BookingID: bookingID(2)}
	pay     = inventory.Pay{BookingID: bookingID(1), Window: window}
	confirm = inventory.Confirm{BookingID: bookingID(1), Charge: holdfast.Charge{Reference: "paid"}}
	cancel  = inventory.Cancel{BookingID: bookingID(1), LockID: lockID(1)}
)

// aLock is a store whose lock 1 is in a state: a column of the contract's first table.
func aLock(state string) *store {
	s := newStore(5)
	switch state {
	case "ACTIVE":
		return s.withLock(1, 2, holdfast.LockActive, in(minutes(10)))
	case "due":
		return s.withLock(1, 2, holdfast.LockActive, begin)
	case "ACTIVE and booked":
		return s.withLock(1, 2, holdfast.LockActive, in(minutes(10))).withBooking(1, holdfast.BookingPending, in(minutes(10)))
	case "due and booked":
		return s.withLock(1, 2, holdfast.LockActive, begin).withBooking(1, holdfast.BookingInitiated, time.Time{})
	case "CONSUMED":
		return s.withLock(1, 2, holdfast.LockConsumed, in(minutes(10))).withBooking(1, holdfast.BookingConfirmed, in(minutes(10)))
	case "CONSUMED without booking":
		return s.withLock(1, 2, holdfast.LockConsumed, in(minutes(10)))
	case "ACTIVE and sold": // other software died between booking and lock
		return s.withLock(1, 2, holdfast.LockActive, in(minutes(10))).withBooking(1, holdfast.BookingConfirmed, in(minutes(10)))
	case "due and sold":
		return s.withLock(1, 2, holdfast.LockActive, begin).withBooking(1, holdfast.BookingConfirmed, begin)
	case "ACTIVE, its booking is due":
		return s.withLock(1, 2, holdfast.LockActive, in(minutes(10))).withBooking(1, holdfast.BookingPending, begin)
	case "missing":
		return s
	default:
		return s.withLock(1, 2, holdfast.LockStatus(state), in(minutes(10)))
	}
}

func TestContract_ActionsOnALock(t *testing.T) {
	states := []string{"ACTIVE", "due", "EXPIRED", "CONSUMED", "RELEASED",
		"ACTIVE and booked", "due and booked", "CONSUMED without booking", "ACTIVE and sold",
		"ACTIVE, its booking is due", "due and sold", "missing"}
	const expired, consumed = holdfast.CodeLockExpired, holdfast.CodeLockConsumed
	const released, missing, late = holdfast.CodeLockReleased, holdfast.CodeLockNotFound, holdfast.CodeBookingExpired
	for _, row := range []struct {
		name    string
		command inventory.Command
		want    []holdfast.Code // in the order of states
	}{
		{"extend", extend, []holdfast.Code{"", expired, expired, consumed, released, "", expired, consumed, consumed, late, consumed, missing}},
		{"release", release, []holdfast.Code{"", expired, expired, consumed, "", "", expired, consumed, consumed, "", consumed, missing}},
		{"book", book, []holdfast.Code{"", expired, expired, "", released, "", expired, consumed, "", late, "", missing}},
	} {
		for i, state := range states {
			t.Run(row.name+" a lock that is "+state, func(t *testing.T) {
				s := aLock(state)
				for range 2 { // again: the same answer
					wantCode(t, s.one(t, row.command), row.want[i])
				}
			})
		}
	}
}

// columns of the contract's second table; "due" and "lock due" are one column there.
var columns = []string{
	"INITIATED", "PAYMENT_PENDING", "due", "lock due", "pending, lock due", "EXPIRED", "CONFIRMED", "CANCELLED", "missing",
}

func aBooking(column string) *store {
	soon, past := in(minutes(10)), begin
	switch column {
	case "INITIATED":
		return newStore(5).withLock(1, 2, "ACTIVE", soon).withBooking(1, "INITIATED", time.Time{})
	case "PAYMENT_PENDING":
		return newStore(5).withLock(1, 2, "ACTIVE", soon).withBooking(1, "PAYMENT_PENDING", soon)
	case "due":
		return newStore(5).withLock(1, 2, "ACTIVE", soon).withBooking(1, "PAYMENT_PENDING", past)
	case "lock due":
		return newStore(5).withLock(1, 2, "ACTIVE", past).withBooking(1, "INITIATED", time.Time{})
	case "pending, lock due":
		return newStore(5).withLock(1, 2, "ACTIVE", past).withBooking(1, "PAYMENT_PENDING", soon)
	case "EXPIRED":
		return newStore(5).withLock(1, 2, "EXPIRED", past).withBooking(1, "EXPIRED", past)
	case "CONFIRMED":
		s := newStore(5).withLock(1, 2, "CONSUMED", past).withBooking(1, "CONFIRMED", past)
		s.bookings[bookingID(1)].PaymentReference = "paid"
		return s
	case "CANCELLED":
		return newStore(5).withLock(1, 2, "RELEASED", soon).withBooking(1, "CANCELLED", soon)
	default:
		return newStore(5)
	}
}

func TestContract_ActionsOnABooking(t *testing.T) {
	const expired, confirmed, cancelled = holdfast.CodeBookingExpired, holdfast.CodeBookingConfirmed, holdfast.CodeBookingCancelled
	const missing, notPayable = holdfast.CodeBookingNotFound, holdfast.CodeBookingNotPayable
	for _, row := range []struct {
		name    string
		command inventory.Command
		want    []holdfast.Code // in the order of columns
	}{
		{"pay", pay, []holdfast.Code{"", "", expired, expired, expired, expired, confirmed, cancelled, missing}},
		{"confirm", confirm, []holdfast.Code{notPayable, "", expired, expired, expired, expired, "", cancelled, missing}},
		{"confirm without a reference", inventory.Confirm{BookingID: bookingID(1)},
			[]holdfast.Code{notPayable, "", expired, expired, expired, expired, "", cancelled, missing}},
		{"confirm with another reference", inventory.Confirm{BookingID: bookingID(1), Charge: holdfast.Charge{Reference: "other"}},
			[]holdfast.Code{notPayable, "", expired, expired, expired, expired, confirmed, cancelled, missing}},
		{"cancel", cancel, []holdfast.Code{"", "", expired, expired, expired, expired, "", "", missing}},
	} {
		for i, column := range columns {
			t.Run(row.name+" a booking that is "+column, func(t *testing.T) {
				s := aBooking(column)
				var answers []reply
				for range 2 { // again: the same answer
					r := s.one(t, row.command)
					wantCode(t, r, row.want[i])
					answers = append(answers, r)
				}
				a, b := answers[0].Booking, answers[1].Booking
				if !reflect.DeepEqual(a, b) {
					t.Errorf("again: %+v, want %+v", b, a)
				}
			})
		}
	}
}
