package booking_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestCreate_AnswersByTheLocksState(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1000)
	book := func(l holdfast.Lock) (holdfast.Booking, bool, error) {
		return w.Bookings.CreateBooking(w.Ctx(), holdfast.BookingRequest{UserID: l.UserID, EventID: event, LockID: l.ID, Window: testenv.Soon()})
	}
	live := w.Acquire(event, 1, testenv.Soon())
	first, made, err := book(live)
	if err != nil || !made || first.Status != holdfast.BookingPending {
		t.Fatal(first, made, err)
	}
	again, made, err := book(live)
	if err != nil || made || again.ID != first.ID {
		t.Errorf("again: %v, %v, %v; want the same booking", again, made, err)
	}
	if _, err := w.Bookings.ConfirmBooking(w.Ctx(), first.ID, holdfast.Charge{Reference: "r"}); err != nil {
		t.Fatal(err)
	}
	if sold, made, err := book(live); err != nil || made || sold.Status != holdfast.BookingConfirmed {
		t.Errorf("sold: %v, %v, %v; want the CONFIRMED booking", sold, made, err)
	}
	due, released := w.Acquire(event, 1, testenv.Past()), w.Acquire(event, 1, testenv.Soon())
	if _, err := w.Seats.ReleaseLock(w.Ctx(), released.ID); err != nil {
		t.Fatal(err)
	}
	foreign := live
	foreign.UserID = mongodb.NewID()
	for name, c := range map[string]struct {
		lock holdfast.Lock
		code holdfast.Code
	}{
		"due":            {due, holdfast.CodeLockExpired},
		"released":       {released, holdfast.CodeLockReleased},
		"another user's": {foreign, holdfast.CodeLockNotFound},
		"none":           {holdfast.Lock{ID: mongodb.NewID()}, holdfast.CodeLockNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := book(c.lock)
			wantCode(t, err, c.code)
		})
	}
	w.SweepLocks()
	_, _, err = book(due)
	wantCode(t, err, holdfast.CodeLockExpired)
}

func TestCreate_ManyAtOnceMakeOneBooking(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	lock := w.Acquire(w.Event(10), 1, testenv.Soon())
	var made atomic.Int32
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			_, isNew, err := w.Bookings.CreateBooking(w.Ctx(), holdfast.BookingRequest{UserID: lock.UserID, EventID: lock.EventID, LockID: lock.ID})
			if err != nil {
				t.Error(err)
			}
			if isNew {
				made.Add(1)
			}
		})
	}
	all.Wait()
	if made.Load() != 1 {
		t.Errorf("%d bookings were made, want 1", made.Load())
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
