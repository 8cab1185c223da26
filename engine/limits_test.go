//go:build unix

// These tests start servers, which do not run on Windows.

package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The library has no schema in front of it: the services refuse what HTTP would refuse.
func TestEngine_HasEveryLimitOfTheAPI(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID, user := w.Event(10), w.Acquire(w.Event(10), 1, testenv.Soon()).UserID
	booking := w.Book(w.Acquire(eventID, 1, testenv.Soon()), testenv.Soon())
	valid := holdfast.NewEvent{Name: "E", TotalSeats: 1}
	event := func(change func(*holdfast.NewEvent)) func() error {
		return func() error {
			n := valid
			change(&n)
			_, err := w.Seats.CreateEvent(w.Ctx(), n)
			return err
		}
	}
	update := func(c holdfast.EventChange) func() error {
		return func() error { _, err := w.Seats.UpdateEvent(w.Ctx(), eventID, c); return err }
	}
	lock := func(change func(*holdfast.LockRequest)) func() error {
		return func() error {
			r := holdfast.LockRequest{EventID: eventID, UserID: user, Seats: 1}
			change(&r)
			_, _, err := w.Seats.AcquireLock(w.Ctx(), r)
			return err
		}
	}
	person := func(name, email string) func() error {
		return func() error { _, err := w.Users.CreateUser(w.Ctx(), name, email); return err }
	}
	long, late, second := strings.Repeat("x", 201), time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(1, 0)
	for name, call := range map[string]func() error{
		"an event without a name":             event(func(n *holdfast.NewEvent) { n.Name = " " }),
		"an event's name is long":             event(func(n *holdfast.NewEvent) { n.Name = long }),
		"an event's name is not UTF-8":        event(func(n *holdfast.NewEvent) { n.Name = "\xff" }),
		"an event has no seats":               event(func(n *holdfast.NewEvent) { n.TotalSeats = 0 }),
		"an event has too many seats":         event(func(n *holdfast.NewEvent) { n.TotalSeats = 9_000_000_000_000_000 }),
		"an event's limit is too large":       event(func(n *holdfast.NewEvent) { n.MaxSeatsPerUser = holdfast.MaxSeats + 1 }),
		"an event's date can't be printed":    event(func(n *holdfast.NewEvent) { n.EventDate = late }),
		"a sale's start can't be printed":     event(func(n *holdfast.NewEvent) { n.SaleStartsAt = late }),
		"a sale ends as it starts":            event(func(n *holdfast.NewEvent) { n.SaleStartsAt, n.SaleEndsAt = second, second }),
		"a sale's new end can't be printed":   update(holdfast.EventChange{SaleEndsAt: &late}),
		"a new name has control characters":   update(holdfast.EventChange{Name: new("a\u009b")}),
		"a new date can't be printed":         update(holdfast.EventChange{EventDate: &late}),
		"a new limit is too large":            update(holdfast.EventChange{MaxSeatsPerUser: new(int64(holdfast.MaxSeats + 1))}),
		"a new status is unknown":             update(holdfast.EventChange{Status: new(holdfast.EventStatus("SOLD"))}),
		"a lock of no seats":                  lock(func(r *holdfast.LockRequest) { r.Seats = 0 }),
		"a lock of too many seats":            lock(func(r *holdfast.LockRequest) { r.Seats = holdfast.MaxSeats + 1 }),
		"a lock's key is long":                lock(func(r *holdfast.LockRequest) { r.Key = long }),
		"a lock's key has a new line":         lock(func(r *holdfast.LockRequest) { r.Key = "a\n" }),
		"a lock's time can't be printed":      lock(func(r *holdfast.LockRequest) { r.Until.At = late }),
		"a lock's time is too long":           lock(func(r *holdfast.LockRequest) { r.Until.For = 1 << 62 }),
		"a lock's time is below 0":            lock(func(r *holdfast.LockRequest) { r.Until.For = -1 }),
		"a user without a name":               person("", "ada@example.com"),
		"a user's name has an escape":         person("\x1b[2J", "ada@example.com"),
		"a user's address is none":            person("Ada", "ada"),
		"a user's address is long":            person("Ada", strings.Repeat("a", 255)+"@example.com"),
		"a payment's reference is long":       confirmWith(w, booking, long),
		"a payment's reference has an escape": confirmWith(w, booking, "\x1b[2J"),
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(); !holdfast.HasCode(err, holdfast.CodeInvalid) {
				t.Errorf("got %v", err)
			}
		})
	}
	if now := w.Booking(booking.ID); now.Status != holdfast.BookingPending {
		t.Errorf("the booking is %s", now.Status)
	}
	made, err := w.Seats.CreateEvent(w.Ctx(), valid)
	if err != nil || !made.EventDate.IsZero() {
		t.Errorf("an event without a date: %+v %v", made, err)
	}
}

func confirmWith(w *testenv.Env, b holdfast.Booking, reference string) func() error {
	return func() error {
		_, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: reference})
		return err
	}
}
