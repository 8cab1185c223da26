package seats_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats"
)

// Transactions read before they write, so a stale write conflicts. The guards
// of the writes hold where that reading is wrong or was left out.

// briefly bounds an operation that starts again and again.
func briefly(w *testenv.World) (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.Ctx(), 300*time.Millisecond)
}

func TestGuards_AStaleEndOfALockChangesNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	for _, c := range []struct {
		is, read seats.Status
		action   seats.Action
	}{
		{seats.Released, seats.Active, seats.Consume}, {seats.Expired, seats.Active, seats.Consume},
		{seats.Consumed, seats.Active, seats.Expire}, {seats.Consumed, seats.Active, seats.Release},
		{seats.Active, seats.Consumed, seats.Release},
	} {
		lock := w.Take(event, 1, testenv.Soon())
		w.Set("seatlocks", lock.ID, bson.D{{Key: "status", Value: string(c.is)}})
		ctx, cancel := briefly(w)
		if err := w.Seats.EndStale(ctx, lock.ID, c.read, c.action); err == nil || w.Lock(lock.ID).Status != c.is {
			t.Errorf("%s, read as %s: %s made it %s, %v", c.is, c.read, c.action, w.Lock(lock.ID).Status, err)
		}
		cancel()
	}
}

func TestGuards_ADueLockIsNotConsumed(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	lock := w.Take(w.Event(10), 1, testenv.Past())
	ctx, cancel := briefly(w)
	defer cancel()
	if err := w.Seats.Consume(ctx, lock.ID); err == nil || w.Lock(lock.ID).Status != seats.Active {
		t.Errorf("it is %s, %v", w.Lock(lock.ID).Status, err)
	}
}

func TestGuards_AStaleCounterDoesNotLeaveItsBounds(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "collMod", Value: "events"}, {Key: "validator", Value: bson.D{}}}).Err(); err != nil {
		t.Fatal(err) // the guards hold without MongoDB's help
	}
	w.Set("events", event, bson.D{{Key: "availableSeats", Value: 3}, {Key: "oversold", Value: 0}})
	for name, to := range map[string][]int64{ // read: available, oversold; written: available, oversold
		"below 0": {8, 0, 4, 0}, "beyond the total": {0, 0, 8, 0}, "more paid down than owed": {3, 5, 3, 2},
	} {
		ctx, cancel := briefly(w)
		err := w.Seats.MoveStale(ctx, event, 10, to[0], to[1], to[2], to[3])
		if available, oversold := w.Available(event); err == nil || available != 3 || oversold != 0 {
			t.Errorf("%s: available %d, oversold %d, %v", name, available, oversold, err)
		}
		cancel()
	}
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

// Between a sweep's look and its transaction a lock may be let go, sold or extended
// by a transaction that had begun in time: it is left alone, at once.
func TestGuards_ASweepLeavesWhatHasMovedMeanwhile(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	for _, moved := range []bson.D{
		{{Key: "status", Value: "RELEASED"}}, {{Key: "status", Value: "CONSUMED"}}, {{Key: "status", Value: "EXPIRED"}},
		{{Key: "expiresAt", Value: time.Now().Add(time.Hour)}},
	} {
		lock := w.Take(event, 1, testenv.Past())
		due, err := w.Seats.DueLocks(w.Ctx(), seats.After{}, 10)
		if err != nil || len(due) != 1 || due[0].ID != lock.ID {
			t.Fatal(due, err)
		}
		w.Set("seatlocks", lock.ID, moved)
		before := w.Lock(lock.ID)
		ctx, cancel := briefly(w)
		swept, err := w.Seats.ExpireDue(ctx, event, []ids.ID{lock.ID}, 1, seats.ByLockExpiry, "run")
		cancel()
		if after := w.Lock(lock.ID); err != nil || len(swept.Ended) > 0 || after != before {
			t.Errorf("%v: %+v %v, it is %+v", moved, swept, err, after)
		}
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
	_, _, err := w.Seats.Take(ctx, seats.LockRequest{EventID: event, UserID: ids.New(), Seats: 6})
	if !fault.Is(err, seats.CodeSeatsUnavailable) || w.Lock(live.ID).Status != seats.Active || w.Lock(old.ID).Status != seats.Expired {
		t.Errorf("got %v; they are %s and %s", err, w.Lock(live.ID).Status, w.Lock(old.ID).Status)
	}
}
