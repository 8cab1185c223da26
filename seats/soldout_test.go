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

// A dead process's open transaction on a sold-out event does not delay refusals.
func TestSoldOut_GoesOnAfterAProcessDiedInATransaction(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1)
	w.Acquire(event, 1, testenv.Soon())
	ask := func(key string) error {
		_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1, Key: key})
		return err
	}
	if err := ask("before"); !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
		t.Fatal(err)
	}
	release := w.HoldEvent(event.String())
	defer release()
	if err := ask("meanwhile"); !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
		t.Errorf("while a dead process holds the event: %v", err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestSoldOut_SellsAgainOnceSeatsComeBack(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1)
	lock := w.Acquire(event, 1, testenv.Soon())
	_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1})
	if !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
		t.Errorf("sold out: %v", err)
	}
	if _, err := w.Seats.ReleaseLock(w.Ctx(), lock.ID); err != nil {
		t.Fatal(err)
	}
	w.Acquire(event, 1, testenv.Soon())
	testenv.CheckInvariants(t, w.DB.Database)
}

// A refusal without a key writes nothing, so it waits for no transaction on the event.
func TestSoldOut_RefusalsWaitForNoTransaction(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1)
	w.Acquire(event, 1, testenv.Soon())
	defer w.HoldEvent(event.String())()
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1})
			if !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func releaseFirst(w *testenv.Env, _ holdfast.ID, lock holdfast.Lock) {
	if _, err := w.Seats.ReleaseLock(w.Ctx(), lock.ID); err != nil {
		w.T.Fatal(err)
	}
}

// On a sold-out event every other answer is still exact.
func TestSoldOut_AnswersAreExact(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *testenv.Env, event holdfast.ID, lock holdfast.Lock)
		ask    func(*holdfast.LockRequest)
		want   holdfast.Code
	}{
		"a seat that was released": {change: releaseFirst},
		"a lock that is due": {change: func(w *testenv.Env, _ holdfast.ID, lock holdfast.Lock) {
			w.Set("seatlocks", lock.ID, bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Second)}})
		}},
		"a larger capacity": {change: func(w *testenv.Env, event holdfast.ID, _ holdfast.Lock) {
			three := int64(3)
			if _, err := w.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{TotalSeats: &three}); err != nil {
				w.T.Fatal(err)
			}
		}},
		"a key that was used": {ask: func(r *holdfast.LockRequest) { r.Key = "made before" }},
		"the key of another request": {ask: func(r *holdfast.LockRequest) { r.Key, r.Seats = "made before", 2 },
			want: holdfast.CodeIdempotencyKeyReused},
		"nothing that changes it":    {want: holdfast.CodeSeatsUnavailable},
		"an event that is not there": {ask: func(r *holdfast.LockRequest) { r.EventID = mongodb.NewID() }, want: holdfast.CodeEventNotFound},
		"beyond the longest lock":    {ask: func(r *holdfast.LockRequest) { r.Until.For = 1000 * time.Hour }, want: holdfast.CodeInvalid},
		"a time beyond the longest": {ask: func(r *holdfast.LockRequest) {
			r.Until.At = time.Now().Add(1000 * time.Hour)
		}, want: holdfast.CodeInvalid},
		"an event that was cancelled": {change: setStatus(holdfast.Cancelled), want: holdfast.CodeEventNotOnSale},
		"a limit that was reached": {change: func(w *testenv.Env, event holdfast.ID, _ holdfast.Lock) {
			one := int64(1)
			if _, err := w.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{MaxSeatsPerUser: &one}); err != nil {
				w.T.Fatal(err)
			}
		}, want: holdfast.CodeSeatLimitReached},
		"a counter that can't be right": {change: func(w *testenv.Env, event holdfast.ID, _ holdfast.Lock) {
			if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "collMod", Value: "events"}, {Key: "validator", Value: bson.D{}}}).Err(); err != nil {
				w.T.Fatal(err)
			}
			w.Set("events", event, bson.D{{Key: "availableSeats", Value: -1}, {Key: "totalSeats", Value: 2}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			event, user := w.Event(1), mongodb.NewID()
			lock, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: user, Seats: 1, Key: "made before"})
			if err != nil {
				t.Fatal(err)
			}
			request := holdfast.LockRequest{EventID: event, UserID: user, Seats: 1}
			for range 2 { // the process then remembers that the event is sold out
				if _, _, err := w.Seats.AcquireLock(w.Ctx(), request); !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
					t.Fatal(err)
				}
			}
			if c.change != nil {
				c.change(w, event, lock)
			}
			if c.ask != nil {
				c.ask(&request)
			}
			_, _, err = w.Seats.AcquireLock(w.Ctx(), request)
			if holdfast.CodeOf(err) != c.want || (c.want == "" && err != nil) {
				t.Errorf("%v, want %q", err, c.want)
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

// Only those requests of a batch that ask for too many seats are refused: one seat may
// still fit if two do not.
func TestSoldOut_SmallRequestsFitBesideLargeOnes(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	lookups, proceed := make(chan struct{}, 10), make(chan struct{})
	service := testenv.Core(w.DB,
		func(context.Context, []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
			lookups <- struct{}{}
			<-proceed
			return nil, nil
		})
	event := w.Event(1)
	ask := func(n int64) error {
		_, _, err := service.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: n})
		return err
	}
	var all sync.WaitGroup
	all.Go(func() {
		if err := ask(2); !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
			t.Error(err)
		}
	})
	<-lookups // the next requests wait for this batch
	all.Go(func() {
		if err := ask(2); !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
			t.Error(err)
		}
	})
	all.Go(func() {
		if err := ask(1); err != nil {
			t.Error(err)
		}
	})
	testenv.WaitFor(t, func() bool { return service.Pipeline.Queue().Waiting(event) == 2 })
	close(proceed)
	all.Wait()
	if err := service.Pipeline.Close(w.Ctx()); err != nil {
		t.Fatal(err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

func setStatus(status holdfast.EventStatus) func(*testenv.Env, holdfast.ID, holdfast.Lock) {
	return func(w *testenv.Env, event holdfast.ID, _ holdfast.Lock) {
		if _, err := w.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{Status: &status}); err != nil {
			w.T.Fatal(err)
		}
	}
}
