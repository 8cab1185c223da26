package store_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// insertWithMetadata inserts locks and bookings of a user, due and not due, and returns the CONFIRMED bookings.
func insertWithMetadata(w *env, eventID, user holdfast.ID, text string) (sales []inventory.BookingRef) {
	w.T.Helper()
	metadata, past, ahead := field("metadata", bson.D{field("a.b", text)}), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for _, c := range []struct {
		status, booking string
		until           time.Time
	}{{"ACTIVE", "PAYMENT_PENDING", past}, {"ACTIVE", "INITIATED", past}, {"ACTIVE", "INITIATED", ahead}, {"CONSUMED", "CONFIRMED", ahead},
		{"RELEASED", "CANCELLED", past}, {"RELEASED", "CONFIRMED", ahead}} {
		lock := append(lockOf(eventID, c.status, 1, c.until), field("userId", user), metadata)
		b := bookingOf(c.booking, c.until, field("eventId", eventID), field("userId", user), metadata)
		b[2].Value = idOf(lock)
		w.Insert("seatlocks", lock)
		w.Insert("bookings", b)
		if c.booking == "CONFIRMED" {
			sales = append(sales, inventory.BookingRef{Booking: idOf(b), Lock: idOf(lock)})
		}
	}
	return sales
}

// Metadata may be a hundred times as large as the rest of a document: what only asks whether documents are due, or which seats
// they take, does not read it.
func TestReads_LeaveOutMetadata(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const secret = "the metadata of the shop"
	eventID, user := w.Event(100), mongodb.NewID()
	sales := insertWithMetadata(w, eventID, user, secret)
	var answers, leaks atomic.Int64
	w = watched(t, w, &event.CommandMonitor{Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
		answers.Add(1)
		if bytes.Contains(e.Reply, []byte(secret)) {
			leaks.Add(1)
		}
	}})
	customer := store.Customer{ID: user}
	for _, c := range []struct {
		name string
		want int
		read func() (int, error)
	}{
		{"due locks", 2, func() (int, error) { found, err := w.Store.DueLocks(w.Ctx(), store.After{}, 9); return len(found), err }},
		{"due bookings", 1, func() (int, error) {
			found, err := w.Store.DuePending(w.Ctx(), store.After{}, 9)
			return len(found), err
		}},
		{"due initiated bookings", 1, func() (int, error) {
			found, _, err := w.Store.DueInitiated(w.Ctx(), holdfast.ID{}, 9)
			return len(found), err
		}},
		{"locks to end", 2, func() (int, error) {
			found, err := w.Store.LocksToEnd(w.Ctx(), customer, holdfast.ID{}, 9)
			return len(found), err
		}},
		{"bookings to end", 2, func() (int, error) {
			found, _, isLive, err := w.Store.BookingsToEnd(w.Ctx(), customer, holdfast.ID{}, 9)
			if !isLive {
				t.Error("the booking that is not due was not found")
			}
			return len(found), err
		}},
		{"a lock that is held", 1, func() (int, error) {
			if holds, err := w.Store.HoldsLock(w.Ctx(), customer); !holds {
				return 0, err
			}
			return 1, nil
		}},
		{"sales of ended locks", 1, func() (int, error) {
			_, ended, err := w.Store.ActiveSales(w.Ctx(), sales)
			return len(ended), err
		}},
		{"locks that take seats", 4, func() (n int, err error) {
			return n, w.Store.EachSeatLock(w.Ctx(), eventID, func(holdfast.Event, *seating.Occupancy) error { return nil },
				func(l holdfast.Lock, _ holdfast.SeatState) { n += int(l.Seats) })
		}},
		{"locks to erase", 5, func() (int, error) { return w.Store.EraseLocks(w.Ctx(), customer, 9) }},
		{"bookings to erase", 5, func() (int, error) { return w.Store.EraseBookings(w.Ctx(), customer, 9) }},
	} {
		answers.Store(0)
		leaks.Store(0)
		if n, err := c.read(); err != nil || n != c.want || answers.Load() == 0 || leaks.Load() > 0 {
			t.Errorf("%s: %d, want %d; %d of %d answers had the metadata; %v", c.name, n, c.want, leaks.Load(), answers.Load(), err)
		}
	}
}

// Metadata that breaks the schema still makes its lock corrupt for reads that leave metadata out.
func TestReads_LeaveOutLocksWithWrongMetadata(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, past := w.Event(10), time.Now().Add(-time.Hour)
	for name, metadata := range map[string]any{
		"a text": "x", "a number in it": bson.D{field("ok", "x"), field("n", 1)}, "a list": bson.A{"x"}, "null": nil, "nothing": bson.D{},
		"texts": bson.D{field("a", "x"), field("a.b", "")},
	} {
		isGood := name == "nothing" || name == "texts"
		lock := lockOf(event, "ACTIVE", 1, past)
		b := bookingOf("PAYMENT_PENDING", past)
		b[2].Value = idOf(lock)
		w.Insert("seatlocks", lock)
		w.Insert("bookings", b)
		w.ChangeUnchecked("seatlocks", idOf(lock), bson.D{field("$set", bson.D{field("metadata", metadata)})})
		due, err := w.Store.DuePending(w.Ctx(), store.After{}, 9)
		taken := 0
		walked := w.Store.EachSeatLock(w.Ctx(), event, func(holdfast.Event, *seating.Occupancy) error { return nil },
			func(holdfast.Lock, holdfast.SeatState) { taken++ })
		if err != nil || walked != nil || (len(due) == 1) != isGood || (taken == 1) != isGood {
			t.Errorf("%s: %d bookings, %d locks; %v, %v", name, len(due), taken, err, walked)
		}
		for name, id := range map[string]holdfast.ID{"seatlocks": idOf(lock), "bookings": idOf(b)} {
			if _, err := w.DB.Collection(name).DeleteOne(w.Ctx(), mongodb.Is("_id", id)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
