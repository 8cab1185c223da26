package inventory_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// settingKey makes a change that sets one key of metadata.
func settingKey(key string) holdfast.ShopDataChange {
	return holdfast.ShopDataChange{Metadata: map[string]*string{key: pointer(key)}}
}

// Another process changes the reference or metadata between the decision and the write. None of the two is lost.
func TestShopData_SurvivesRivals(t *testing.T) {
	updateLock := func(key string) inventory.Command {
		return inventory.UpdateLock{LockID: lockID(1), Change: settingKey(key)}
	}
	updateBooking := func(key string) inventory.Command {
		return inventory.UpdateBooking{BookingID: bookingID(1), Change: settingKey(key)}
	}
	late := inventory.Confirm{BookingID: bookingID(1), Charge: confirm.Charge, LockID: lockID(9), EventID: eventID}
	request := holdfast.BookingRequest{UserID: alice, EventID: eventID, LockID: lockID(1)}
	book := inventory.Book{BookingRequest: request, BookingID: bookingID(1)}
	for _, row := range []struct {
		name           string
		store          *store
		command, rival inventory.Command
		lock, booking  []string // the keys that they have afterwards
	}{
		{"two of a lock", aLock("ACTIVE"), updateLock("a"), updateLock("b"), []string{"a", "b"}, nil},
		{"two of a booking", aBooking("CONFIRMED"), updateBooking("a"), updateBooking("b"), nil, []string{"a", "b"}},
		{"a booking is made", aLock("ACTIVE"), book, updateLock("b"), []string{"b"}, []string{"b"}},
		{"a lock is extended", aLock("ACTIVE"), updateLock("a"), extend, []string{"a"}, nil},
		{"a lock is released", aLock("ACTIVE"), updateLock("a"), release, []string{"a"}, nil},
		{"a booking is paid", aBooking("PAYMENT_PENDING"), confirm, updateBooking("b"), nil, []string{"b"}},
		{"a booking was paid", aBooking("PAYMENT_PENDING"), updateBooking("a"), confirm, nil, []string{"a"}},
		{"a booking is cancelled", aBooking("CONFIRMED"), cancel, updateBooking("b"), nil, []string{"b"}},
		{"a booking is paid late, whose lock has ended", anExpired(5), late, updateLock("b"), []string{"b"}, nil},
		{"the lock of a booking is paid", aBooking("PAYMENT_PENDING"), confirm, updateLock("b"), []string{"b"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := racing(t, row.store, row.command, func(s *store) {
				if r := s.one(t, row.rival); r.Err != nil {
					t.Fatal(r.Err)
				}
			})
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			b := row.store.bookings[bookingID(1)]
			lock := row.store.locks[lockID(1)]
			if b != nil {
				lock = row.store.locks[b.LockID]
				wantKeys(t, b.ShopData, row.booking)
			}
			wantKeys(t, lock.ShopData, row.lock)
		})
	}
}

func wantKeys(t *testing.T, d holdfast.ShopData, want []string) {
	t.Helper()
	if got := d.MetadataKeys(); !reflect.DeepEqual(got, want) {
		t.Errorf("the keys are %q, want %q", got, want)
	}
}

// Retention removes the lock or the booking between the decision and the write.
func TestShopData_OfWhatIsRemoved(t *testing.T) {
	s := aBooking("EXPIRED")
	remove := func(s *store) { delete(s.locks, lockID(1)); delete(s.bookings, bookingID(1)) }
	wantCode(t, racing(t, s, inventory.UpdateLock{LockID: lockID(1), Change: settingKey("a")}, remove), holdfast.CodeLockNotFound)
	s = aBooking("EXPIRED")
	wantCode(t, racing(t, s, inventory.UpdateBooking{BookingID: bookingID(1), Change: settingKey("a")}, remove), holdfast.CodeBookingNotFound)
}

// A good booking of a corrupt lock can't be changed.
func TestUpdateBooking_OfACorruptLock(t *testing.T) {
	s := aBooking("CONFIRMED").load(inventory.Needs{Bookings: []ID{bookingID(1)}})
	s.Corrupt = map[ID]bool{lockID(1): true}
	update := inventory.UpdateBooking{BookingID: bookingID(1), Change: settingKey("a")}
	_, results, needs := inventory.Decide(s, []inventory.Command{update}, theRules)
	if !needs.None() || holdfast.CodeOf(results[0].Err) != holdfast.CodeUnavailable {
		t.Errorf("needs %+v, results %+v", needs, results)
	}
}

// The times of a booking that changes never go back.
func TestUpdateBooking_RaisesItsTimeOfChange(t *testing.T) {
	s := aBooking("CONFIRMED")
	s.bookings[bookingID(1)].UpdatedAt = in(time.Hour) // by another clock
	if r := s.one(t, inventory.UpdateBooking{BookingID: bookingID(1), Change: settingKey("a")}); !r.Booking.UpdatedAt.Equal(in(time.Hour)) {
		t.Errorf("changed at %v", r.Booking.UpdatedAt)
	}
}
