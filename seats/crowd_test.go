package seats_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Who comes first is served first: of many who wait for an event, in a known
// order, those are granted whose seats fit when it is their turn.
func TestTake_InOrderOfArrival(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const total, waiting = 100, 120
	event := w.Event(total)
	release := holdEvent(t, w, event)
	granted := make([]bool, waiting)
	wanted := make([]int64, waiting)
	var asked sync.WaitGroup
	take := func(i int) {
		_, _, err := w.Seats.Acquire(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: wanted[i]})
		if granted[i] = err == nil; err != nil && !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
			t.Error(err)
		}
	}
	for i := range waiting {
		wanted[i] = 1 + rand.Int64N(4)
		asked.Go(func() { take(i) })
		if i == 0 { // tried alone, until the event is free
			waitFor(t, func() bool { return w.Pipeline.Queue().InFlight() == 1 && w.Pipeline.Queue().Waiting(event) == 0 })
			continue
		}
		waitFor(t, func() bool { return w.Pipeline.Queue().Waiting(event) == i })
	}
	release()
	asked.Wait()
	left, want := int64(total), make([]bool, waiting)
	for i, n := range wanted {
		if want[i] = n <= left; want[i] {
			left -= n
		}
	}
	if !slices.Equal(granted, want) {
		t.Errorf("granted %v, want %v for %v", granted, want, wanted)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// Many callers with little patience among many with much: whoever was told
// that no seats are kept has none, a key finds what its caller was not told,
// and nobody else has a lock that was not acknowledged.
func TestTake_ImpatientCallersAmongMany(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const patient, impatient = 2000, 200
	event := w.Event(1_000_000)
	var mu sync.Mutex
	known := map[holdfast.ID]bool{} // locks that somebody was told of
	told := func(l holdfast.Lock) {
		mu.Lock()
		defer mu.Unlock()
		known[l.ID] = true
	}
	var all sync.WaitGroup
	for i := range patient {
		all.Go(func() {
			lock, _, err := w.Seats.Acquire(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 1, Key: fmt.Sprint(i)})
			if err != nil {
				t.Error(err)
				return
			}
			told(lock)
		})
	}
	left := make([]int, 3) // by what they were told
	for i := range impatient {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(w.Ctx(), time.Duration(5+rand.IntN(46))*time.Millisecond)
			defer cancel()
			request := holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 1}
			if i%2 == 0 {
				request.Key = "key"
			}
			lock, _, err := w.Seats.Acquire(ctx, request)
			switch {
			case err == nil:
				told(lock)
			case holdfast.HasCode(err, holdfast.CodeOutcomeUnknown) && request.Key != "":
				lock, _, err := w.Seats.Acquire(w.Ctx(), request)
				if err != nil {
					t.Error(err)
				}
				told(lock)
				mu.Lock()
				left[1]++
				mu.Unlock()
			case holdfast.HasCode(err, holdfast.CodeUnavailable):
				mu.Lock()
				left[2]++
				mu.Unlock()
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := w.Pipeline.Close(w.Ctx()); err != nil { // what was forsaken is given back
		t.Fatal(err)
	}
	cursor, err := w.DB.Collection("seatlocks").Find(w.Ctx(), bson.D{{Key: "status", Value: "ACTIVE"}})
	if err != nil {
		t.Fatal(err)
	}
	var kept []struct {
		ID holdfast.ID `bson:"_id"`
	}
	if err := cursor.All(w.Ctx(), &kept); err != nil {
		t.Fatal(err)
	}
	for _, lock := range kept {
		if !known[lock.ID] {
			t.Errorf("lock %s is kept, and nobody was told of it", lock.ID)
		}
	}
	if len(kept) != len(known) {
		t.Errorf("%d locks are kept, %d were told of", len(kept), len(known))
	}
	t.Logf("%d were not told and found their lock by its key, %d were told that nothing is kept", left[1], left[2])
	testenv.CheckInvariants(t, w.DB.Database)
}

// A lock that is due as soon as it is made is reclaimed for who comes next, also
// where both come together.
func TestTake_ReclaimsWhatWasDueAtOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	release := holdEvent(t, w, event)
	var asked sync.WaitGroup
	for i, until := range []holdfast.Until{testenv.Soon(), testenv.Past(), testenv.Soon()} {
		asked.Go(func() {
			_, _, err := w.Seats.Acquire(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: []int64{1, 9, 9}[i], Until: until})
			if err != nil {
				t.Errorf("request %d: %v", i, err)
			}
		})
		waitFor(t, func() bool {
			return (i == 0 && w.Pipeline.Queue().InFlight() == 1 && w.Pipeline.Queue().Waiting(event) == 0) || (i > 0 && w.Pipeline.Queue().Waiting(event) == i)
		})
	}
	release()
	asked.Wait()
	if available, _ := w.Available(event); available != 0 {
		t.Errorf("%d seats are available", available)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
