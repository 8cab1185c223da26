package seats_test

import (
	"reflect"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// An offer that is not due is counted apart from what is held. Nobody waits after the sale.
func TestReport_CountsOffersApart(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(20)
	offer := func(lock holdfast.Lock) {
		w.Set("seatlocks", lock.ID, bson.D{{Key: "waitlistEntryId", Value: mongodb.NewID()}})
	}
	w.Acquire(event, 1, testenv.Soon())
	offer(w.Acquire(event, 2, testenv.Soon()))
	offer(w.Acquire(event, 4, testenv.Past()))
	accepted := w.Acquire(event, 3, testenv.Soon())
	if _, err := w.Bookings.ConfirmBooking(w.Ctx(), w.Book(accepted, testenv.Soon()).ID, holdfast.Charge{}); err != nil {
		t.Fatal(err)
	}
	offer(accepted)
	w.Set("events", event, bson.D{{Key: "internal.list", Value: bson.D{{Key: "seq", Value: 9}, {Key: "waiting", Value: 7}}}})
	for _, waiting := range []int64{7, 0} {
		want := holdfast.EventReport{EventID: event, Waiting: waiting, SeatCounts: holdfast.SeatCounts{Total: 20, Held: 1, Sold: 3, Offered: 2}}
		if got, err := w.Seats.Report(w.Ctx(), event); err != nil || !reflect.DeepEqual(got, want) || got.Available() != 14 {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		w.Set("events", event, bson.D{{Key: "saleEndsAt", Value: time.Now().Add(-time.Second)}})
	}
}

// Sections and categories leave out the seats of offers too.
func TestReport_CountsOffersOfSections(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.SeatedEvent(numberedPlan)
	lock, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{
		EventID: event, UserID: mongodb.NewID(), Seats: 2, Until: testenv.Soon(), Wish: holdfast.Wish{Best: &holdfast.BestAvailable{}}})
	if err != nil {
		t.Fatal(err)
	}
	w.Set("seatlocks", lock.ID, bson.D{{Key: "waitlistEntryId", Value: mongodb.NewID()}})
	report, err := w.Seats.Report(w.Ctx(), event)
	if err != nil {
		t.Fatal(err)
	}
	var sections, categories int64
	for _, s := range report.Sections {
		sections += s.Offered + 100*s.Held
	}
	for _, c := range report.Categories {
		categories += c.Offered + 100*c.Held
	}
	if report.Offered != 2 || report.Held != 0 || sections != 2 || categories != 2 {
		t.Errorf("got %+v", report)
	}
}
