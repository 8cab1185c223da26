package seats_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestTake_CallerThatLeftWithoutAKeyKeepsNoSeats(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1000)
	release := holdEvent(t, w, event) // the batch waits for this rival's transaction
	ctx, leave := contextWithCancel(w)
	done := make(chan error, 1)
	go func() {
		_, _, err := w.Seats.Acquire(ctx, holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 5})
		done <- err
	}()
	waitFor(t, func() bool { return w.Pipeline.Queue().InFlight() == 1 })
	leave()
	wantCode(t, <-done, "UNAVAILABLE")
	release()
	waitFor(t, func() bool { return w.Pipeline.Queue().InFlight() == 0 })
	n, err := w.DB.Collection("seatlocks").CountDocuments(w.Ctx(), bson.D{{Key: "status", Value: "ACTIVE"}})
	if available, _ := w.Available(event); err != nil || n != 0 || available != 1000 {
		t.Errorf("%d locks, %d seats available, %v", n, available, err)
	}
}

// Who left while their request was being decided may have asked again elsewhere, by
// the same key, and been refused: they are not granted seats any more.
func TestTake_CallerThatLeftWithAKeyIsNotGranted(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "holdfast")
	event := w.Event(10)
	release := holdEvent(t, w, event)
	ctx, leave := contextWithCancel(w)
	done := make(chan error, 1)
	go func() {
		_, _, err := w.Seats.Acquire(ctx, holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 5, Key: "cart"})
		done <- err
	}()
	waitFor(t, func() bool { // its transaction has met the rival's
		var status struct {
			Transactions struct {
				Aborted int64 `bson:"totalAborted"`
			} `bson:"transactions"`
		}
		err := w.DB.Client().Database("admin").RunCommand(w.Ctx(), bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status)
		return err == nil && status.Transactions.Aborted > 0
	})
	leave()
	if err := <-done; err == nil {
		t.Error("it was answered")
	}
	release()
	waitFor(t, func() bool { return w.Pipeline.Queue().InFlight() == 0 })
	n, err := w.DB.Collection("seatlocks").CountDocuments(w.Ctx(), bson.D{})
	if available, _ := w.Available(event); err != nil || n != 0 || available != 10 {
		t.Errorf("%d locks, %d seats available, %v", n, available, err)
	}
}
