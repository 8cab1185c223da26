package expiry_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func setting(key string) holdfast.ShopDataChange {
	return holdfast.ShopDataChange{Metadata: map[string]*string{key: new("x")}}
}

// Locks and bookings are changed while sweeps end them. Nothing is lost, and the changes say the same.
func TestSweeps_LeaveShopDataThatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	other := testenv.Open(t, w.URI, w.DB.Name())
	event := w.Event(100)
	const n, keys = 10, 8
	var locks []holdfast.Lock
	var bookings []holdfast.Booking
	for range n {
		locks = append(locks, w.Acquire(event, 1, testenv.Soon()))
		bookings = append(bookings, w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Soon()))
	}
	for collection, field := range map[string]string{"seatlocks": "expiresAt", "bookings": "paymentExpiresAt"} {
		ends := bson.D{{Key: "$set", Value: bson.D{{Key: field, Value: time.Now().Add(300 * time.Millisecond)}}}}
		if _, err := w.DB.Collection(collection).UpdateMany(w.Ctx(), bson.D{}, ends); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for k := range keys {
				if _, err := other.Seats.UpdateLock(w.Ctx(), locks[i].ID, setting(fmt.Sprint("k", k))); err != nil {
					t.Error(err)
				}
				if _, err := other.Bookings.UpdateBooking(w.Ctx(), bookings[i].ID, setting(fmt.Sprint("k", k))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for ended := 0; ended < 2*n; {
		ended += w.SweepLocks().Applied + w.SweepBookings().Applied
	}
	all.Wait()
	told := map[holdfast.ID]holdfast.ShopData{}
	for _, c := range changesOf(w) {
		switch {
		case c.Lock != nil:
			told[c.Lock.ID] = c.Lock.ShopData
		case c.Booking != nil:
			told[c.Booking.ID] = c.Booking.ShopData
		}
	}
	for i := range n {
		lock, booking := w.Lock(locks[i].ID), w.Booking(bookings[i].ID)
		if lock.Status != holdfast.LockExpired || len(lock.Metadata) != keys || !lock.SameShopData(told[lock.ID]) {
			t.Errorf("the lock is %+v, its last change says %+v", lock, told[lock.ID])
		}
		if booking.Status != holdfast.BookingExpired || len(booking.Metadata) != keys || !booking.SameShopData(told[booking.ID]) {
			t.Errorf("the booking is %+v, its last change says %+v", booking, told[booking.ID])
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// changesOf lists all changes.
func changesOf(w *testenv.Env) []holdfast.Change {
	w.T.Helper()
	for n := 1; n > 0; {
		var err error
		if n, err = w.Changes.Number(w.Ctx()); err != nil {
			w.T.Fatal(err)
		}
	}
	list, _, err := w.Changes.List(w.Ctx(), nil, changes.Filter{}, 10_000)
	if err != nil {
		w.T.Fatal(err)
	}
	return list
}

// Neither the locks of an archived event nor those of an event that does not exist need it for their references.
func TestShopData_OfAnArchivedEvent(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	id, sale := settled(w)
	archive(t, w)
	before := archivedAt(w, id)
	if _, err := w.Seats.UpdateLock(w.Ctx(), sale.LockID, setting("a")); err != nil {
		t.Error(err)
	}
	if _, err := w.Bookings.UpdateBooking(w.Ctx(), sale.ID, setting("a")); err != nil {
		t.Error(err)
	}
	if after := archivedAt(w, id); before == nil || after != before {
		t.Errorf("archived at %v, then at %v", before, after)
	}
	if _, err := w.Seats.UpdateEvent(w.Ctx(), id, holdfast.EventChange{ShopData: setting("a")}); err != nil || archivedAt(w, id) != nil {
		t.Errorf("%v, archived at %v", err, archivedAt(w, id))
	}
	if _, err := w.DB.Collection("events").DeleteOne(w.Ctx(), bson.D{{Key: "_id", Value: id}}); err != nil {
		t.Fatal(err)
	}
	if lock, err := w.Seats.UpdateLock(w.Ctx(), sale.LockID, setting("b")); err != nil || len(lock.Metadata) != 2 {
		t.Errorf("%+v, %v", lock, err)
	}
	if b, err := w.Bookings.UpdateBooking(w.Ctx(), sale.ID, setting("b")); err != nil || len(b.Metadata) != 2 {
		t.Errorf("%+v, %v", b, err)
	}
}
