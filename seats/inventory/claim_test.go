package inventory_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// A plan that was made in time is stale once the lock or the window has passed, or
// once another transaction has changed the lock.
func TestClaim_PlansAreGuardedAtTheWrite(t *testing.T) {
	late := func(s *store) { s.now = in(minutes(10)) }
	changed := func(s *store) { s.locks[lockID(1)].Revision = 7 }
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
