package seats_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestValidators_RefuseInvalidCountersAndStatuses(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	lock := w.Acquire(w.Event(1), 1, testenv.Soon())
	for name, c := range map[string]struct {
		collection string
		id         holdfast.ID
		wrong      bson.E
	}{
		"seats available below 0":        {"events", event, bson.E{Key: "availableSeats", Value: -1}},
		"seats available over the total": {"events", event, bson.E{Key: "totalSeats", Value: 9}},
		"a status of a lock":             {"seatlocks", lock.ID, bson.E{Key: "status", Value: "GONE"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.DB.Collection(c.collection).UpdateByID(w.Ctx(), c.id, bson.D{{Key: "$set", Value: bson.D{c.wrong}}})
			if err == nil {
				t.Errorf("MongoDB accepted %v", c.wrong)
			}
		})
	}
	_, err := w.DB.Collection("bookings").InsertOne(w.Ctx(), bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "status", Value: "PAID"}})
	if err == nil {
		t.Error("MongoDB accepted a booking that is PAID")
	}
}

// Other software wrote an impossible counter. It is compared with the locks first, so no
// seat is sold twice.
func TestAcquire_ImpossibleCounterIsComparedWithTheLocks(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]bson.D{
		"beyond the total": {{Key: "availableSeats", Value: 105}},
		"also oversold":    {{Key: "oversold", Value: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			event := w.Event(100)
			w.Acquire(event, 20, testenv.Soon())
			if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "collMod", Value: "events"}, {Key: "validator", Value: bson.D{}}}).Err(); err != nil {
				t.Fatal(err)
			}
			w.Set("events", event, wrong)
			_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 10})
			if available, oversold := w.Available(event); err != nil || available != 70 || oversold != 0 {
				t.Errorf("%d available, %d oversold, %v; want 70 and 0", available, oversold, err)
			}
		})
	}
}

// The counter alone shows that it is wrong: more seats are available than the event has. It
// is compared with the locks first.
func TestAcquire_ImpossibleCounterSellsNoSeatTwice(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	w.Acquire(event, 8, testenv.Soon())
	if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "update", Value: "events"}, {Key: "bypassDocumentValidation", Value: true},
		{Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: event}}},
			{Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "availableSeats", Value: 50}}}}}}}}}).Err(); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 3})
	wantCode(t, err, holdfast.CodeSeatsUnavailable)
	w.Acquire(event, 2, testenv.Soon())
	testenv.CheckInvariants(t, w.DB.Database)
}
