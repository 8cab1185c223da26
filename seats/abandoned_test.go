package seats_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Some callers give up soon. A caller with the answer UNAVAILABLE has no seats. A key finds
// the lock that its caller does not know yet. At the end every lock has a caller.
func TestAcquire_CallersThatGiveUpAmongMany(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const patient, impatient = 2000, 200
	event := w.Event(1_000_000)
	var mu sync.Mutex
	known := map[holdfast.ID]bool{} // locks that a caller knows
	told := func(l holdfast.Lock) {
		mu.Lock()
		defer mu.Unlock()
		known[l.ID] = true
	}
	var all sync.WaitGroup
	for i := range patient {
		all.Go(func() {
			lock, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1, Key: fmt.Sprint(i)})
			if err != nil {
				t.Error(err)
				return
			}
			told(lock)
		})
	}
	var found, keptNone int // callers that gave up, by their answer
	for i := range impatient {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(w.Ctx(), time.Duration(5+rand.IntN(46))*time.Millisecond)
			defer cancel()
			request := holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1}
			if i%2 == 0 {
				request.Key = "key"
			}
			lock, _, err := w.Seats.AcquireLock(ctx, request)
			switch {
			case err == nil:
				told(lock)
			case holdfast.HasCode(err, holdfast.CodeOutcomeUnknown) && request.Key != "":
				lock, _, err := w.Seats.AcquireLock(w.Ctx(), request)
				if err != nil {
					t.Error(err)
				}
				told(lock)
				mu.Lock()
				found++
				mu.Unlock()
			case holdfast.HasCode(err, holdfast.CodeUnavailable):
				mu.Lock()
				keptNone++
				mu.Unlock()
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := w.Pipeline.Close(w.Ctx()); err != nil { // locks without a caller are released
		t.Fatal(err)
	}
	kept := activeLocks(t, w)
	for _, id := range kept {
		if !known[id] {
			t.Errorf("lock %s is kept, but no caller knows it", id)
		}
	}
	if len(kept) != len(known) {
		t.Errorf("%d locks are kept, callers know %d", len(kept), len(known))
	}
	t.Logf("%d callers found their lock by its key, %d have no seats", found, keptNone)
	testenv.CheckInvariants(t, w.DB.Database)
}

func activeLocks(t *testing.T, w *testenv.Env) (ids []holdfast.ID) {
	t.Helper()
	cursor, err := w.DB.Collection("seatlocks").Find(w.Ctx(), bson.D{{Key: "status", Value: "ACTIVE"}})
	if err != nil {
		t.Fatal(err)
	}
	var docs []struct {
		ID holdfast.ID `bson:"_id"`
	}
	if err := cursor.All(w.Ctx(), &docs); err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		ids = append(ids, d.ID)
	}
	return ids
}

func TestAcquire_CallerThatGaveUpWithoutAKeyKeepsNoSeats(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1000)
	release := w.HoldEvent(event.String()) // the batch waits for this transaction
	ctx, giveUp := context.WithCancel(w.Ctx())
	done := make(chan error, 1)
	go func() {
		_, _, err := w.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 5})
		done <- err
	}()
	testenv.WaitFor(t, func() bool { return w.Pipeline.Queue().InFlight() == 1 })
	giveUp()
	wantCode(t, <-done, "UNAVAILABLE")
	release()
	testenv.WaitFor(t, func() bool { return w.Pipeline.Queue().InFlight() == 0 })
	n, err := w.DB.Collection("seatlocks").CountDocuments(w.Ctx(), bson.D{{Key: "status", Value: "ACTIVE"}})
	if available, _ := w.Available(event); err != nil || n != 0 || available != 1000 {
		t.Errorf("%d locks, %d seats available, %v", n, available, err)
	}
}

// A caller gave up while its request was being decided. With the same key it may have been
// refused elsewhere, so it gets no seats.
func TestAcquire_CallerThatGaveUpWithAKeyIsNotGranted(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "holdfast")
	event := w.Event(10)
	release := w.HoldEvent(event.String())
	ctx, giveUp := context.WithCancel(w.Ctx())
	done := make(chan error, 1)
	go func() {
		_, _, err := w.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 5, Key: "cart"})
		done <- err
	}()
	testenv.WaitFor(t, func() bool { // its transaction met the conflict
		var status struct {
			Transactions struct {
				Aborted int64 `bson:"totalAborted"`
			} `bson:"transactions"`
		}
		err := w.DB.Client().Database("admin").RunCommand(w.Ctx(), bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status)
		return err == nil && status.Transactions.Aborted > 0
	})
	giveUp()
	if err := <-done; err == nil {
		t.Error("it was answered")
	}
	release()
	testenv.WaitFor(t, func() bool { return w.Pipeline.Queue().InFlight() == 0 })
	n, err := w.DB.Collection("seatlocks").CountDocuments(w.Ctx(), bson.D{})
	if available, _ := w.Available(event); err != nil || n != 0 || available != 10 {
		t.Errorf("%d locks, %d seats available, %v", n, available, err)
	}
}
