package seats_test

import (
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// What can't be read refuses, even if a condition of MongoDB would match it, and whether or not
// the process has seen the event before.
func TestAcquire_OfAnEventThatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for field, c := range map[string]struct {
		values []any
		code   holdfast.Code
	}{
		"status":          {[]any{7, true, "", bson.A{"ON_SALE"}, bson.A{nil}, bson.D{}}, holdfast.CodeEventNotOnSale},
		"maxSeatsPerUser": {[]any{"four", 1.5, -3, true, bson.A{}, bson.A{0}, bson.A{nil}, bson.D{}}, holdfast.CodeSeatLimitReached},
	} {
		for _, value := range c.values {
			for _, seen := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %v, seen %v", field, value, seen), func(t *testing.T) {
					eventID := w.Event(5)
					if seen {
						w.Acquire(eventID, 1, testenv.Soon())
					}
					w.Set("events", eventID, bson.D{{Key: field, Value: value}})
					_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: eventID, UserID: ids.New(), Seats: 1})
					if !holdfast.HasCode(err, c.code) {
						t.Errorf("got %v, want %s", err, c.code)
					}
				})
			}
		}
	}
}

// An operator can set a limit that can't be read, and a limit of null is none.
func TestAcquire_AfterTheLimitWasSet(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	broken, none := w.Event(5), w.Event(5)
	w.Set("events", broken, bson.D{{Key: "maxSeatsPerUser", Value: bson.A{0}}})
	w.Set("events", none, bson.D{{Key: "maxSeatsPerUser", Value: nil}})
	limit := int64(2)
	if _, err := w.Seats.UpdateEvent(w.Ctx(), broken, holdfast.EventChange{MaxSeatsPerUser: &limit}); err != nil {
		t.Fatal(err)
	}
	w.Acquire(broken, 2, testenv.Soon())
	w.Acquire(none, 4, testenv.Soon())
	testenv.CheckInvariants(t, w.DB.Database)
}

// A payment window that can't be read counts as passed. The lock can still be released.
func TestClaim_OfABookingWhoseWindowCannotBeRead(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(50)
	for _, value := range []any{"soon", 7, true, bson.A{time.Now().Add(time.Hour)}, bson.D{}} {
		t.Run(fmt.Sprint(value), func(t *testing.T) {
			lock := w.Acquire(eventID, 1, testenv.Soon())
			b := w.Book(lock, testenv.Soon())
			w.Set("bookings", b.ID, bson.D{{Key: "paymentExpiresAt", Value: value}})
			_, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: "paid-" + b.ID.String()})
			_, again := w.Bookings.PayBooking(w.Ctx(), b.ID, testenv.Soon())
			_, extended := w.Seats.ExtendLock(w.Ctx(), lock.ID, testenv.Soon())
			for _, err := range []error{err, again, extended} {
				if !holdfast.HasCode(err, holdfast.CodeBookingExpired) {
					t.Errorf("got %v", err)
				}
			}
			if _, err := w.Seats.ReleaseLock(w.Ctx(), lock.ID); err != nil {
				t.Error(err)
			}
		})
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// No answer promises a seat by a counter that can't be right, however the event is asked for.
func TestEvents_ImpossibleCountersShowNoSeat(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "collMod", Value: "events"}, {Key: "validator", Value: bson.D{}}}).Err(); err != nil {
		t.Fatal(err)
	}
	for _, fields := range []bson.D{
		{{Key: "totalSeats", Value: "ten"}}, {{Key: "availableSeats", Value: 11}}, {{Key: "totalSeats", Value: -1}},
		{{Key: "oversold", Value: 2}},
	} {
		id := w.Event(10)
		w.Set("events", id, fields)
		if available, _ := w.Available(id); available != 0 {
			t.Errorf("%v: %d seats are available", fields, available)
		}
		name := "N"
		changed, err := w.Seats.UpdateEvent(w.Ctx(), id, holdfast.EventChange{Name: &name})
		if err == nil && changed.AvailableSeats > max(0, changed.TotalSeats) {
			t.Errorf("%v: changed: %+v", fields, changed)
		}
	}
	events, _, err := w.Seats.ListEvents(w.Ctx(), holdfast.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.AvailableSeats > max(0, e.TotalSeats) {
			t.Errorf("listed: %+v", e)
		}
	}
}
