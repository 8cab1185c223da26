package inventory_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// A holder has no user. The refusal of a user with the same ID, in the same batch, is not the holder's.
func TestAcquire_AHolderNeedsNoUser(t *testing.T) {
	s := newStore(9)
	guest := holdfast.HolderID("guest")
	p := &pipeline{store: s, rules: theRules, unknown: map[ID]*holdfast.Error{guest: holdfast.NotFound(holdfast.CodeUserNotFound)}}
	holder, user := acquire(1, 2), acquire(2, 2)
	holder.UserID, holder.Holder, user.UserID = guest, "guest", guest
	replies := p.batch(t, holder, user)
	wantCode(t, replies[0], "")
	wantCode(t, replies[1], holdfast.CodeUserNotFound)
	if made := s.locks[lockID(1)]; made == nil || made.UserID != guest || made.Holder != "guest" || len(s.locks) != 1 {
		t.Errorf("the locks are %+v", s.locks)
	}
}

// The lock of a late payment is for whom the previous lock was, or the booking, if that lock was removed.
func TestConfirm_ALatePaymentKeepsTheHolder(t *testing.T) {
	for name, lockIsThere := range map[string]bool{"by the lock": true, "by the booking": false} {
		t.Run(name, func(t *testing.T) {
			s := newStore(9).withLock(1, 2, "EXPIRED", in(-minutes(1)), func(l *inventory.Lock) {
				l.UserID,
					l.Holder = holdfast.HolderID("guest"), "guest"
			})
			s.withBooking(1, "EXPIRED", in(-minutes(1)))
			b := s.bookings[bookingID(1)]
			b.UserID, b.Holder = holdfast.HolderID("guest"), "guest"
			s.event.LatePayments = holdfast.LatePayments{Policy: holdfast.LatePaymentsAccepted, Seconds: 600}
			if !lockIsThere {
				delete(s.locks, lockID(1))
			}
			late := s.one(t, inventory.Confirm{BookingID: bookingID(1), LockID: lockID(2), EventID: eventID,
				Charge: holdfast.Charge{Reference: "r"}})
			wantCode(t, late, "")
			made, paid := s.locks[lockID(2)], s.payments[holdfast.Charge{Reference: "r"}.PaymentID()]
			if made == nil || made.Holder != "guest" || made.UserID != holdfast.HolderID("guest") || paid == nil || paid.Holder != "guest" {
				t.Errorf("the new lock is %+v, and its payment %+v", made, paid)
			}
		})
	}
}
