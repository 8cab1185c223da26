package seats_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// No answer promises a seat by a counter that can't be right, however the event is asked for.
func TestEvents_ImpossibleCountersShowNoSeat(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "collMod", Value: "events"}, {Key: "validator", Value: bson.D{}}}).Err(); err != nil {
		t.Fatal(err)
	}
	for _, fields := range []bson.D{
		{{Key: "availableSeats", Value: 11}}, {{Key: "availableSeats", Value: -1}},
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
	events, _, err := w.Seats.ListEvents(w.Ctx(), holdfast.EventFilter{}, holdfast.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.AvailableSeats > max(0, e.TotalSeats) {
			t.Errorf("listed: %+v", e)
		}
	}
}
