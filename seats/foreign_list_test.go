package seats_test

import (
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// walk reads a list page by page, at most 20 pages.
func walk[T any](t *testing.T, idOf func(T) holdfast.ID, read func(holdfast.Page) ([]T, string, error)) (found []holdfast.ID) {
	t.Helper()
	page := holdfast.Page{Size: 2}
	for range 20 {
		items, next, err := read(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			found = append(found, idOf(item))
		}
		if page.Token = next; next == "" {
			return found
		}
	}
	t.Fatal("the list does not end")
	return nil
}

// Documents whose _id is not an ObjectID have no ID in the API. A list leaves them out, wherever
// MongoDB sorts them, and shows every other document once.
func TestList_LeavesOutForeignIDs(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	events, locks, bookings := []holdfast.ID{event}, []holdfast.ID{}, []holdfast.ID{}
	for range 5 {
		lock := w.Acquire(event, 1, testenv.Soon())
		events, locks, bookings = append(events, w.Event(1)), append(locks, lock.ID), append(bookings, w.Book(lock, testenv.Soon()).ID)
	}
	user := mongodb.NewID()
	for _, id := range []any{
		nil, 1, 2.5, "a", "b", "c", bson.D{{Key: "a", Value: 1}}, bson.Binary{Data: []byte("x")}, holdfast.ID{}, true, time.Unix(1, 0),
		bson.Timestamp{T: 1}, bson.MinKey{}, bson.MaxKey{},
	} {
		w.Insert("events", bson.D{{Key: "_id", Value: id}, {Key: "totalSeats", Value: 1}, {Key: "availableSeats", Value: 1}})
		w.Insert("seatlocks", bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
			{Key: "status", Value: "ACTIVE"}, {Key: "seats", Value: 0}, {Key: "expiresAt", Value: time.Now().Add(time.Minute)}})
		w.Insert("bookings", bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
			{Key: "status", Value: "PAYMENT_PENDING"}})
	}
	wantIDs := func(what string, got, want []holdfast.ID) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	wantIDs("events", walk(t, func(e holdfast.Event) holdfast.ID { return e.ID }, func(p holdfast.Page) ([]holdfast.Event, string, error) {
		return w.Seats.ListEvents(t.Context(), holdfast.EventFilter{}, p)
	}), events)
	for name, filter := range map[string]holdfast.LockFilter{"none": {}, "event": {EventID: &event}, "status": {Status: "ACTIVE"}} {
		read := func(p holdfast.Page) ([]holdfast.Lock, string, error) {
			return w.Seats.ListLocks(t.Context(), filter, p)
		}
		wantIDs("locks by "+name, walk(t, func(l holdfast.Lock) holdfast.ID { return l.ID }, read), locks)
	}
	pending := holdfast.BookingFilter{Status: "PAYMENT_PENDING"}
	for name, filter := range map[string]holdfast.BookingFilter{"none": {}, "event": {EventID: &event}, "status": pending} {
		read := func(p holdfast.Page) ([]holdfast.Booking, string, error) {
			return w.Bookings.ListBookings(t.Context(), filter, p)
		}
		wantIDs("bookings by "+name, walk(t, func(b holdfast.Booking) holdfast.ID { return b.ID }, read), bookings)
	}
	summaries, _, err := w.Store.EventSummaries(t.Context(), store.EventFilter{}, holdfast.ID{}, 100)
	if err != nil || len(summaries) != len(events) {
		t.Errorf("%d summaries, %v", len(summaries), err)
	}
	expiring, _, err := w.Store.Expiring(t.Context(), 100)
	if err != nil || len(expiring) != len(locks) {
		t.Errorf("%d expiring locks, %v", len(expiring), err)
	}
}
