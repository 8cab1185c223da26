package inventory_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Late payments: which are accepted, and why others are not.

// late is confirm in the queue of the event.
var late = inventory.Confirm{
	BookingID: bookingID(1), Charge: holdfast.Charge{Reference: "paid"}, LockID: lockID(2), EventID: eventID,
}

// anExpired is a store whose booking 1 has expired with its lock, two seats, ten minutes ago. The event accepts late
// payments for an hour.
func anExpired(seats int64) *store {
	past := begin.Add(-minutes(10))
	s := newStore(seats).withLock(1, 2, "EXPIRED", past).withBooking(1, "EXPIRED", past)
	s.bookings[bookingID(1)].Seats = 2
	s.event.LatePayments = holdfast.LatePayments{Policy: accepts, Seconds: 3600}
	return s
}

func TestContract_ALatePaymentIsAccepted(t *testing.T) {
	past := begin.Add(-minutes(10))
	for _, row := range []struct {
		name   string
		change func(*store)
	}{
		{"its lock has expired", func(*store) {}},
		{"at the last moment", func(s *store) { s.event.LatePayments.Seconds = 600 }},
		{"its lock was purged", func(s *store) { delete(s.locks, lockID(1)) }},
		{"it is due, and so is its lock", func(s *store) {
			s.withLock(1, 2, "ACTIVE", past)
			s.bookings[bookingID(1)].Status = "PAYMENT_PENDING"
		}},
		{"it is due, and its lock is not", func(s *store) {
			s.withLock(1, 2, "ACTIVE", in(minutes(5)), func(l *inventory.Lock) { l.BookingID = bookingID(1) })
			s.bookings[bookingID(1)].Status = "PAYMENT_PENDING"
		}},
		{"its lock is due, and it is not", func(s *store) {
			s.withLock(1, 2, "ACTIVE", past)
			s.bookings[bookingID(1)].Status, s.bookings[bookingID(1)].PaymentExpiresAt = "PAYMENT_PENDING", in(minutes(5))
		}},
		{"a due lock has its seats", func(s *store) { s.withLock(7, 5, "ACTIVE", past, ofUser(bob)) }},
		{"its lock counts already", func(s *store) {
			s.event.MaxSeatsPerUser = 2
			s.withLock(1, 2, "ACTIVE", in(minutes(5)))
		}},
		{"as much as the customer may hold", func(s *store) { s.event.MaxSeatsPerUser = 2 }},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := anExpired(5)
			row.change(s)
			if r := s.one(t, confirm); !r.IsLate || r.Err != nil || r.Result.Booking != nil {
				t.Errorf("outside of the queue: %+v", r)
			}
			wantNumber(t, s, 0)
			for range 2 {
				r := s.one(t, late)
				wantCode(t, r, "")
				if r.Booking.Status != "CONFIRMED" || !r.Booking.Late || r.Booking.LockID != lockID(2) || r.Booking.PaymentID != paidID {
					t.Errorf("got %+v", r.Booking)
				}
			}
			wantNumber(t, s, 1)
			if lock := s.locks[lockID(2)]; lock.Status != "CONSUMED" || lock.Seats != 2 || lock.UserID != alice || lock.BookingID != bookingID(1) {
				t.Errorf("the new lock is %+v", lock)
			}
			if former := s.locks[lockID(1)]; former != nil && former.Status != "EXPIRED" {
				t.Errorf("the former lock is %+v", former)
			}
			s.wantCounter(t, 3, 0)
		})
	}
}

func TestContract_ALatePaymentIsRefusedWithTheReason(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*store)
		reason holdfast.PaymentReason
	}{
		{"the event refuses late payments", func(s *store) { s.event.LatePayments.Policy = "REFUSE" }, "late"},
		{"a second too late", func(s *store) { s.event.LatePayments.Seconds = 599 }, "late"},
		{"a second too late after the end of its lock", func(s *store) {
			s.event.LatePayments.Seconds = 599
			s.bookings[bookingID(1)].PaymentExpiresAt = in(minutes(5))
		}, "late"},
		{"it was never pending", func(s *store) { s.bookings[bookingID(1)].PaymentExpiresAt = time.Time{} }, "late"},
		{"the event is closed", func(s *store) { s.event.Status = "CLOSED" }, "not_on_sale"},
		{"the event is cancelled", func(s *store) { s.event.Status = "CANCELLED" }, "event_cancelled"},
		{"others have its seats", func(s *store) { s.withLock(7, 4, "ACTIVE", in(minutes(5)), ofUser(bob)) }, "seats_gone"},
		{"the customer has others", func(s *store) {
			s.event.MaxSeatsPerUser = 3
			s.withLock(7, 2, "CONSUMED", in(minutes(5)))
		}, "limit"},
		{"its lock is sold to another booking", func(s *store) {
			s.withLock(1, 2, "CONSUMED", begin).withBooking(3, "CONFIRMED", begin)
			s.bookings[bookingID(3)].LockID = lockID(1)
		}, "seats_gone"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := anExpired(5)
			row.change(s)
			before := s.clone()
			for range 2 {
				want := holdfast.RefusedPayment{ID: paidID, Status: "REFUND_DUE", Reason: row.reason}
				wantRefused(t, s, s.one(t, late), "BOOKING_EXPIRED", want)
			}
			wantNumber(t, s, 1)
			s.wantBooking(t, 1, "EXPIRED")
			s.wantCounter(t, before.event.AvailableSeats, 0)
			if s.locks[lockID(2)] != nil {
				t.Errorf("a lock was made: %+v", s.locks[lockID(2)])
			}
		})
	}
}

// The seats of a late payment in a hall: numbered or general admission, and only its own.
func TestContract_ALatePaymentInAHall(t *testing.T) {
	past := begin.Add(-minutes(10))
	for _, row := range []struct {
		name, seats string
		change      func(*store)
		reason      holdfast.PaymentReason
		taken       string
	}{
		{"numbered", "A2 A3", func(*store) {}, "", "A2 A3"},
		{"a due lock has one", "A2 A3", func(s *store) { s.held(t, 7, "A3 A4") }, "", "A2 A3"},
		{"a sold lock has one", "A2 A3", func(s *store) { s.selling(t, 7, "A3 A4") }, "seats_gone", "A3 A4"},
		{"others have one", "A2 A3", func(s *store) { s.holds(t, 7, "A3") }, "seats_gone", "A3"},
		{"the venue has one", "A2 A3", func(s *store) { s.blocks(t, 7, "A3") }, "seats_gone", "A3"},
		{"the orphan rule is for those who choose", "A2 A3",
			func(s *store) { s.event.Seating.OrphanRule = holdfast.OrphansRefused }, "", "A2 A3"},
		{"general admission", "pit pit", func(s *store) { s.holds(t, 7, "pit pit") }, "", ""},
		{"general admission, which due locks have", "pit pit", func(s *store) { s.held(t, 7, "pit pit pit") }, "", ""},
		{"general admission is full", "pit pit", func(s *store) { s.holds(t, 7, "pit pit pit") }, "seats_gone", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSeated(t, hallOf("A1 A2 A3 A4"))
			s.held(t, 1, row.seats)
			lock := s.locks[lockID(1)]
			lock.Status, lock.ExpiresAt = "EXPIRED", past
			s.event.AvailableSeats += lock.Seats
			s.withBooking(1, "EXPIRED", past)
			b := s.bookings[bookingID(1)]
			b.Seats, b.SeatIDs, b.Section = lock.Seats, lock.SeatIDs, lock.Section
			s.seats.bits, s.seats.general = s.union(t)
			s.event.LatePayments = holdfast.LatePayments{Policy: accepts, Seconds: 3600}
			row.change(s)
			r := s.one(t, late)
			if row.reason != "" {
				wantRefused(t, s, r, "BOOKING_EXPIRED", holdfast.RefusedPayment{ID: paidID, Status: "REFUND_DUE", Reason: row.reason})
			} else {
				wantCode(t, r, "")
				s.wantSeats(t, 2, "CONSUMED", row.seats)
			}
			s.wantTaken(t, row.taken)
		})
	}
}

// A cancellation in the batch of a late payment waits for the next one.
func TestContract_CancellingALatePaymentOfTheSameBatch(t *testing.T) {
	s := anExpired(5)
	p := &pipeline{store: s, rules: theRules}
	results := p.batch(t, late, cancel)
	wantCode(t, results[0], "")
	if !results[1].Undecided {
		t.Fatalf("the cancellation is decided: %+v", results[1])
	}
	wantCode(t, s.one(t, cancel), "")
	s.wantLock(t, 2, "RELEASED")
	s.wantCounter(t, 5, 0)
}

// What a batch has confirmed counts for its next commands: a sold lock is no ACTIVE one of its customer, and its sale can
// be cancelled.
func TestContract_ABatchAfterAConfirmation(t *testing.T) {
	live := func() *store { return aBooking("PAYMENT_PENDING") }
	due := func() *store { // its lock still has time
		s := anExpired(5).withLock(1, 2, "ACTIVE", in(minutes(5)))
		s.bookings[bookingID(1)].Status = "PAYMENT_PENDING"
		return s
	}
	rules := theRules
	rules.MaxLocksPerUser = 1
	for name, s := range map[string]*store{"in time": live(), "late": due()} {
		t.Run(name, func(t *testing.T) {
			p := &pipeline{store: s, rules: rules}
			results := p.batch(t, late, acquire(7, 1), acquire(8, 1))
			wantCode(t, results[0], "")
			wantCode(t, results[1], "")
			wantCode(t, results[2], "SEAT_LIMIT_REACHED")
		})
	}
	s := live()
	p := &pipeline{store: s, rules: theRules}
	for _, r := range p.batch(t, late, cancel) {
		wantCode(t, r, "")
	}
	s.wantLock(t, 1, "RELEASED")
	s.wantCounter(t, 5, 0)
	if paid := s.payments[paidID]; paid.Status != "REFUND_DUE" {
		t.Errorf("the payment is %+v", paid)
	}
}

// Other software made two bookings of one lock. The second one is decided as it would be in the next batch.
func TestContract_TwoBookingsOfOneLockInABatch(t *testing.T) {
	two := func() *store {
		s := anExpired(5).withBooking(3, "EXPIRED", begin.Add(-minutes(10)))
		s.bookings[bookingID(1)].Status, s.bookings[bookingID(3)].LockID = "PAYMENT_PENDING", lockID(1)
		return s
	}
	second := inventory.Confirm{BookingID: bookingID(3), Charge: holdfast.Charge{Reference: "other"}, LockID: lockID(4), EventID: eventID}
	s := two()
	wantCode(t, s.one(t, late), "")
	wantCode(t, s.one(t, second), "")
	s.wantCounter(t, 1, 0)
	s = two()
	p := &pipeline{store: s, rules: theRules}
	for _, r := range p.batch(t, late, second) {
		wantCode(t, r, "")
	}
	s.wantCounter(t, 1, 0)
}
