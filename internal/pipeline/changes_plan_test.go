package pipeline_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Where the seats of a change were is told the same way after the event has another plan. So each record names the plan,
// also of a command that does not need the event.
func TestChanges_NameThePlanOfTheirSeats(t *testing.T) {
	t.Parallel()
	for name, wish := range map[string]func(eventID holdfast.ID) inventory.Acquire{
		"rows":              func(eventID holdfast.ID) inventory.Acquire { return best(eventID, 2) },
		"general admission": func(eventID holdfast.ID) inventory.Acquire { return general(eventID, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			eventID := newSeated(t, w)
			event, err := w.Store.Event(w.Ctx(), eventID)
			if err != nil {
				t.Fatal(err)
			}
			do := func(c inventory.Command) inventory.Result {
				t.Helper()
				result, err := newProcess(t, w).Do(w.Ctx(), c) // it remembers no event
				if err != nil {
					t.Fatal(err)
				}
				return result
			}
			book := func() *holdfast.Booking {
				c := wish(eventID)
				c.Until = holdfast.Until{For: time.Hour}
				lock := submit(t, newProcess(t, w), eventID, c).Lock
				return do(inventory.Book{
					BookingRequest: holdfast.BookingRequest{EventID: eventID, LockID: lock.ID, UserID: lock.UserID}, BookingID: mongodb.NewID(),
				}).Booking
			}
			paid := book()
			do(inventory.Pay{BookingID: paid.ID, Window: holdfast.Until{For: time.Minute}})
			do(inventory.Confirm{BookingID: paid.ID})
			for _, b := range []*holdfast.Booking{paid, book()} {
				submit(t, newProcess(t, w), eventID, inventory.Cancel{BookingID: b.ID, LockID: b.LockID, EventID: eventID})
			}
			open := book()
			w.Set("seatlocks", open.LockID, bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Second)}})
			submit(t, newProcess(t, w), eventID, inventory.ExpireLocks{UpTo: 1})
			_, err = newProcess(t, w).Sweep(w.Ctx(), holdfast.ID{}, inventory.ExpireBookings{ // its lock takes no seats
				Bookings: []inventory.BookingRef{{Booking: open.ID, Lock: open.LockID}}, Events: []holdfast.ID{eventID},
			})
			if status := w.Booking(open.ID).Status; err != nil || status != holdfast.BookingExpired {
				t.Fatalf("the booking is %s, and its sweep says %v", status, err)
			}
			if _, err := w.Changes.Number(w.Ctx()); err != nil {
				t.Fatal(err)
			}
			list, _, err := w.Changes.List(w.Ctx(), nil, changes.Filter{EventID: eventID}, 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range list {
				if c.PlanID != event.Seating.PlanID {
					t.Errorf("%s has plan %s, want %s", c.Type, c.PlanID, event.Seating.PlanID)
				}
			}
		})
	}
}
