package seats_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A lock that is due as soon as it is made is reclaimed for the next request, even in the
// same batch.
func TestAcquire_ReclaimsALockThatWasDueAtOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	release := w.HoldEvent(event.String())
	var asked sync.WaitGroup
	for i, until := range []holdfast.Until{testenv.Soon(), testenv.Past(), testenv.Soon()} {
		asked.Go(func() {
			_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: []int64{1, 9, 9}[i],
				Until: until})
			if err != nil {
				t.Errorf("request %d: %v", i, err)
			}
		})
		testenv.WaitFor(t, func() bool {
			return (i == 0 && w.Pipeline.Queue().InFlight() == 1 && w.Pipeline.Queue().Waiting(event) == 0) ||
				(i > 0 && w.Pipeline.Queue().Waiting(event) == i)
		})
	}
	release()
	asked.Wait()
	if available, _ := w.Available(event); available != 0 {
		t.Errorf("%d seats are available", available)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A reclaim ends no lock that is not due, however old it is.
func TestAcquire_ReclaimsNoLockThatIsNotDue(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	w.Set("events", event, bson.D{{Key: "maxSeatsPerUser", Value: 100}}) // so that the decision reads the locks
	live, old := w.Acquire(event, 5, testenv.Soon()), w.Acquire(event, 2, testenv.Past())
	ctx, cancel := context.WithTimeout(w.Ctx(), 5*time.Second)
	defer cancel()
	_, _, err := w.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 6})
	if !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) || w.Lock(live.ID).Status != holdfast.LockActive ||
		w.Lock(old.ID).Status != holdfast.LockExpired {
		t.Errorf("got %v; they are %s and %s", err, w.Lock(live.ID).Status, w.Lock(old.ID).Status)
	}
}

func TestAcquire_ReclaimsDueLocksSoonestExpiryFirstUntilItFits(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	var locks []holdfast.Lock
	for i := range 5 { // all seats are in due locks, and no worker runs
		locks = append(locks, w.Acquire(event, 2, holdfast.Until{At: time.Now().Add(time.Duration(i-10) * time.Minute)}))
	}
	w.Acquire(event, 3, testenv.Soon())
	for i, want := range []holdfast.LockStatus{holdfast.LockExpired, holdfast.LockExpired, holdfast.LockActive, holdfast.LockActive,
		holdfast.LockActive} {
		if got := w.Lock(locks[i].ID).Status; got != want {
			t.Errorf("lock %d is %s, want %s", i, got, want)
		}
	}
	_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 8})
	wantCode(t, err, holdfast.CodeSeatsUnavailable)
	if available, _ := w.Available(event); available != 7 {
		t.Errorf("available %d, want 7: the reclaimed seats are on sale", available)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// More locks are due than one transaction may reclaim: the request goes on.
func TestAcquire_ReclaimsOverSeveralTransactions(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const n = 2500
	event := w.Event(n)
	docs := make([]any, n)
	for i := range docs {
		docs[i] = bson.D{
			{Key: "eventId", Value: event}, {Key: "seats", Value: 1.0}, {Key: "status", Value: "ACTIVE"},
			{Key: "expiresAt", Value: time.Now().Add(-time.Hour)},
		}
	}
	if _, err := w.DB.Collection("seatlocks").InsertMany(w.Ctx(), docs); err != nil {
		t.Fatal(err)
	}
	w.Set("events", event, bson.D{{Key: "availableSeats", Value: 1}, {Key: "totalSeats", Value: n + 1}})
	other := w.Acquire(event, 1, testenv.Soon())
	release := w.HoldEvent(event.String()) // the first request waits, so the next ones form one batch
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := w.Seats.ReleaseLock(w.Ctx(), other.ID); err != nil {
			t.Error(err)
		}
	})
	testenv.WaitFor(t, func() bool { return w.Pipeline.Queue().InFlight() == 1 && w.Pipeline.Queue().Waiting(event) == 0 })
	for i := range 4 { // the first one asks for all seats
		all.Go(func() {
			_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{
				EventID: event, UserID: mongodb.NewID(), Seats: []int64{n + 1, 1, 2, 3}[i],
			})
			if (err == nil) != (i == 0) {
				t.Errorf("request %d: %v; want the first to have all seats", i, err)
			}
		})
		testenv.WaitFor(t, func() bool { return w.Pipeline.Queue().Waiting(event) == i+1 })
	}
	release()
	all.Wait()
	if available, oversold := w.Available(event); available != 0 || oversold != 0 {
		t.Errorf("available %d, oversold %d, want 0 and 0", available, oversold)
	}
}
