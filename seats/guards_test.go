package seats_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Transactions read before they write, so a stale write conflicts. The guards
// of the writes hold where that reading is wrong or was left out.

// briefly bounds an operation that starts again and again.
func briefly(w *testenv.Env) (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.Ctx(), 300*time.Millisecond)
}

func TestGuards_ARefusedCounterIsTheValidatorsLastLine(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	for field, wrong := range map[string]any{"availableSeats": -1, "totalSeats": 9, "status": nil} {
		collection, id := "events", event
		if field == "status" {
			collection, id, wrong = "seatlocks", w.Take(w.Event(1), 1, testenv.Soon()).ID, "GONE"
		}
		_, err := w.DB.Collection(collection).UpdateOne(w.Ctx(), bson.D{{Key: "_id", Value: id}}, bson.D{{Key: "$set", Value: bson.D{{Key: field, Value: wrong}}}})
		if err == nil {
			t.Errorf("MongoDB let %s be %v", field, wrong)
		}
	}
	_, err := w.DB.Collection("bookings").InsertOne(w.Ctx(), bson.D{{Key: "_id", Value: ids.New()}, {Key: "status", Value: "PAID"}})
	if err == nil {
		t.Error("MongoDB let a booking be PAID")
	}
}

// A reclaim takes nothing that is not due, however old.
func TestGuards_AReclaimLeavesWhatIsNotDue(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	w.Set("events", event, bson.D{{Key: "maxSeatsPerUser", Value: 100}}) // so that it is decided by reading
	live, old := w.Take(event, 5, testenv.Soon()), w.Take(event, 2, testenv.Past())
	ctx, cancel := context.WithTimeout(w.Ctx(), 5*time.Second)
	defer cancel()
	_, _, err := w.Seats.Acquire(ctx, holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 6})
	if !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) || w.Lock(live.ID).Status != holdfast.LockActive || w.Lock(old.ID).Status != holdfast.LockExpired {
		t.Errorf("got %v; they are %s and %s", err, w.Lock(live.ID).Status, w.Lock(old.ID).Status)
	}
}
