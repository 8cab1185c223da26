package booking_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats"
)

// The guards of the writes hold where the reading before them is wrong.
func TestGuards_AStaleMoveOfABookingChangesNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	for _, c := range []struct {
		is, read booking.Status
		action   booking.Action
	}{
		{booking.Cancelled, booking.Pending, booking.Expire}, {booking.Confirmed, booking.Pending, booking.Expire},
		{booking.Expired, booking.Pending, booking.Cancel}, {booking.Expired, booking.Initiated, booking.Pay},
	} {
		b := make1(w, event, "PAYMENT_PENDING")
		w.Set("bookings", b.ID, bson.D{{Key: "status", Value: string(c.is)}})
		ctx, cancel := context.WithTimeout(w.Ctx(), 300*time.Millisecond)
		if err := w.Bookings.MoveStale(ctx, b.ID, c.read, c.action); err == nil || w.Booking(b.ID).Status != c.is {
			t.Errorf("%s, read as %s: %s made it %s, %v", c.is, c.read, c.action, w.Booking(b.ID).Status, err)
		}
		cancel()
	}
}

func TestGuards_ABookingWhoseWindowHasPassedIsNotConfirmed(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	for _, state := range []string{"due", "CANCELLED"} {
		b := make1(w, event, state)
		before := w.Booking(b.ID).Status
		ctx, cancel := context.WithTimeout(w.Ctx(), 300*time.Millisecond)
		if err := w.Bookings.ConfirmStale(ctx, b); err == nil || w.Booking(b.ID).Status != before {
			t.Errorf("%s: it is %s, %v", state, w.Booking(b.ID).Status, err)
		}
		cancel()
	}
}

// A confirmation has written the lock in time and commits after it is due: who
// asks in between is not told that the lock has expired.
func TestRefusals_ForTimeAloneWaitForWhoBeganInTime(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	for name, ask := range map[string]func(l seats.Lock) error{
		"release": func(l seats.Lock) error { _, err := w.Bookings.ReleaseLock(w.Ctx(), l.ID); return err },
		"extend":  func(l seats.Lock) error { _, err := w.Seats.Extend(w.Ctx(), l.ID, testenv.Soon()); return err },
		"book": func(l seats.Lock) error {
			_, _, err := w.Bookings.Create(w.Ctx(), booking.Request{UserID: l.UserID, EventID: event, LockID: l.ID})
			return err
		},
	} {
		lock := w.Take(event, 1, seats.Until{For: 500 * time.Millisecond})
		written, due, committed := make(chan bool, 100), make(chan bool), make(chan error)
		go func() {
			committed <- mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error {
				err := w.Seats.Consume(ctx, lock.ID)
				written <- true
				<-due
				return err
			})
		}()
		<-written
		<-time.After(time.Until(lock.ExpiresAt) + 50*time.Millisecond)
		answered := make(chan error, 1)
		go func() { answered <- ask(lock) }()
		select {
		case err := <-answered:
			t.Errorf("%s was answered %v while the lock was being sold", name, err)
			answered <- err
		case <-time.After(100 * time.Millisecond):
		}
		close(due)
		if err := <-committed; err != nil {
			t.Fatal(name, err)
		}
		if err := <-answered; !fault.Is(err, seats.CodeLockConsumed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
