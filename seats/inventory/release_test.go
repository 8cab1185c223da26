package inventory_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func TestCancel_FreesTheSeats(t *testing.T) {
	for _, column := range []string{"INITIATED", "PAYMENT_PENDING", "CONFIRMED"} {
		t.Run(column, func(t *testing.T) {
			s := aBooking(column)
			s.now = in(time.Second)
			r := s.one(t, cancel)
			if r.Booking.Status != holdfast.BookingCancelled || !r.Booking.UpdatedAt.Equal(s.now) {
				t.Errorf("got %+v", r.Booking)
			}
			lock := s.locks[lockID(1)]
			if lock.Status != holdfast.LockReleased || !lock.BookingID.IsZero() || s.ends[lock.ID] != (ending{by: holdfast.EndedByAPI}) {
				t.Errorf("the lock is %+v, ended %+v", lock, s.ends[lock.ID])
			}
			s.wantCounter(t, 5, 0)
		})
	}
}

// A CONFIRMED booking keeps its seats until it is cancelled, even if other software left
// its lock ACTIVE, due or not.
func TestCancel_OfASaleWhoseLockWasLeftActive(t *testing.T) {
	for _, expires := range []time.Time{in(time.Minute), begin} {
		t.Run(fmt.Sprintf("due %v", !expires.After(begin)), func(t *testing.T) {
			s := newStore(5).withLock(1, 2, "ACTIVE", expires).withBooking(1, "CONFIRMED", expires)
			wantCode(t, s.one(t, cancel), "")
			s.wantLock(t, 1, holdfast.LockReleased)
			s.wantCounter(t, 5, 0)
		})
	}
}

// Other software made two bookings of one lock. Only the last cancellation frees the seats, even
// in one batch.
func TestCancel_KeepsSeatsThatAnotherBookingSold(t *testing.T) {
	second := inventory.Cancel{BookingID: bookingID(2), LockID: lockID(1)}
	for _, row := range []struct {
		name          string
		lock, then    holdfast.LockStatus
		first, second holdfast.BookingStatus
		batch         []inventory.Command
		available     int64
	}{
		{name: "open", lock: "ACTIVE", then: "CONSUMED", first: "PAYMENT_PENDING", second: "CONFIRMED", available: 3},
		{name: "sold", lock: "CONSUMED", then: "CONSUMED", first: "CONFIRMED", second: "CONFIRMED", available: 3},
		{name: "the other is open", lock: "ACTIVE", then: "RELEASED", first: "PAYMENT_PENDING", second: "PAYMENT_PENDING", available: 5},
		{
			name: "both", lock: "CONSUMED", then: "RELEASED", first: "CONFIRMED", second: "CONFIRMED", available: 5,
			batch: []inventory.Command{second},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStore(5).withLock(1, 2, row.lock, in(time.Minute)).withBooking(1, row.first, in(time.Minute))
			other := *s.bookings[bookingID(1)]
			other.ID, other.Status = bookingID(2), row.second
			s.bookings[other.ID] = &other
			p := &pipeline{store: s, rules: theRules}
			for _, r := range p.batch(t, append([]inventory.Command{cancel}, row.batch...)...) {
				wantCode(t, r, "")
			}
			s.wantLock(t, 1, row.then)
			s.wantBooking(t, 1, "CANCELLED")
			s.wantCounter(t, row.available, 0)
			lock, isWritten := s.locks[lockID(1)], row.then != row.lock
			if *lock.Revision > 0 != isWritten || lock.BookingID.IsZero() != isWritten {
				t.Errorf("the lock is written to revision %d and names booking %v", *lock.Revision, lock.BookingID)
			}
		})
	}
}

func TestCancel_OfASaleWhoseLockOtherSoftwareEnded(t *testing.T) {
	for status, code := range map[holdfast.LockStatus]holdfast.Code{
		"RELEASED": holdfast.CodeLockReleased, "EXPIRED": holdfast.CodeLockExpired,
	} {
		t.Run(string(status), func(t *testing.T) {
			s := newStore(5).withLock(1, 2, status, in(time.Minute)).withBooking(1, "CONFIRMED", in(time.Minute))
			wantCode(t, s.one(t, cancel), code)
			s.wantBooking(t, 1, "CONFIRMED")
			s.wantCounter(t, 5, 0)
		})
	}
}

func TestRelease_SeveralCommandsOnOneLockFreeItsSeatsOnce(t *testing.T) {
	other := inventory.Release{LockID: lockID(2)}
	for _, row := range []struct {
		name  string
		batch []inventory.Command
		want  []holdfast.Code
	}{
		{"twice released", []inventory.Command{release, release, other}, []holdfast.Code{"", "", ""}},
		{"released, then cancelled", []inventory.Command{release, cancel, other}, []holdfast.Code{"", "", ""}},
		{"cancelled, then released", []inventory.Command{cancel, release, other}, []holdfast.Code{"", "", ""}},
		{"twice cancelled", []inventory.Command{cancel, other, cancel}, []holdfast.Code{"", "", ""}},
		{"released, then acquired", []inventory.Command{release, acquire(7, 4), other}, []holdfast.Code{"", holdfast.CodeSeatsUnavailable, ""}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := aBooking("PAYMENT_PENDING").withLock(2, 2, "ACTIVE", in(time.Minute), ofUser(bob))
			p := &pipeline{store: s, rules: theRules}
			for i, r := range p.batch(t, row.batch...) {
				wantCode(t, r, row.want[i])
			}
			s.wantCounter(t, 5, 0)
			s.wantLock(t, 1, holdfast.LockReleased)
			s.wantBooking(t, 1, holdfast.BookingCancelled)
		})
	}
}

// A lock whose seats are no whole number ≥ 1 counts as 0. Its user may release it, and
// the event is written.
func TestRelease_OfALockWithoutWholeSeats(t *testing.T) {
	s := newStore(5).withLock(1, 0, "ACTIVE", in(time.Minute))
	wantCode(t, s.one(t, release), "")
	s.wantLock(t, 1, holdfast.LockReleased)
	s.wantCounter(t, 5, 0)
	if s.event.Revision != 1 {
		t.Error("the event was not written")
	}
}

func TestRelease_ReducesOversoldSeatsFirst(t *testing.T) {
	for _, row := range []struct{ oversold, available, left int64 }{{1, 1, 0}, {2, 0, 0}, {3, 0, 1}} {
		t.Run(fmt.Sprintf("%d oversold", row.oversold), func(t *testing.T) {
			s := newStore(2+2-row.oversold).withLock(1, 2, "ACTIVE", in(time.Minute)).withLock(2, 2, "CONSUMED", begin)
			s.event.AvailableSeats, s.event.Oversold = 0, row.oversold
			wantCode(t, s.one(t, release), "")
			s.wantCounter(t, row.available, row.left)
		})
	}
}

// Neither the lock nor the event exists.
func TestRelease_OfALockThatDoesNotExist(t *testing.T) {
	s := newStore(5)
	s.event = nil
	wantCode(t, s.one(t, release), holdfast.CodeLockNotFound)
	wantCode(t, s.one(t, cancel), holdfast.CodeBookingNotFound)
}

// A customer cancels what is not sold yet; a confirmation in the same batch comes first.
func TestCancel_OpenOnlyRefusesAConfirmedBooking(t *testing.T) {
	open := inventory.Cancel{BookingID: bookingID(1), LockID: lockID(1), OpenOnly: true}
	for _, status := range []string{"INITIATED", "PAYMENT_PENDING", "CANCELLED"} {
		s := aBooking(status)
		wantCode(t, s.one(t, open), "")
		s.wantBooking(t, 1, holdfast.BookingCancelled)
	}
	s := aBooking("PAYMENT_PENDING")
	wantCode(t, s.one(t, inventory.Confirm{BookingID: bookingID(1)}), "")
	available := s.event.AvailableSeats
	wantCode(t, s.one(t, open), holdfast.CodeBookingConfirmed)
	s.wantBooking(t, 1, holdfast.BookingConfirmed)
	s.wantLock(t, 1, holdfast.LockConsumed)
	s.wantCounter(t, available, 0)
	wantCode(t, s.one(t, cancel), "")
	s.wantBooking(t, 1, holdfast.BookingCancelled)
}

// The clock of another primary may be behind: the time of a change never goes back, and what is
// answered is what is stored.
func TestBookings_AreNotChangedBeforeTheirLastChange(t *testing.T) {
	for name, c := range map[string]inventory.Command{
		"confirm": inventory.Confirm{BookingID: bookingID(1)}, "cancel": cancel,
	} {
		for _, before := range []time.Time{in(-time.Hour), in(time.Hour)} {
			t.Run(fmt.Sprintf("%s %v", name, before), func(t *testing.T) {
				s := aBooking("PAYMENT_PENDING")
				b := s.bookings[bookingID(1)]
				b.UpdatedAt, b.PaymentReference = before, "of other software"
				want := s.now
				if before.After(want) {
					want = before
				}
				r := s.one(t, c)
				if !reflect.DeepEqual(r.Booking, *s.bookings[bookingID(1)]) || !r.Booking.UpdatedAt.Equal(want) {
					t.Errorf("answered %+v, stored %+v, want the time %v", r.Booking, s.bookings[bookingID(1)], want)
				}
			})
		}
	}
}
