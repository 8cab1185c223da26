package pipeline_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func withUsers(users pipeline.UserLookup) func(*pipeline.Options) {
	return func(o *pipeline.Options) { o.Users = users }
}

// waitForBatch waits until one command of the event is in flight, and n more are queued.
func waitForBatch(t *testing.T, p *pipeline.Pipeline, eventID holdfast.ID, n int) {
	t.Helper()
	testenv.WaitFor(t, func() bool { return p.Queue().InFlight() == 1 && p.Queue().Waiting(eventID) == n })
}

// Unknown users in a batch are refused, each with its own refusal. The other commands
// of the batch are carried out.
func TestUsers_UnknownOnesFailNoOtherCommandOfTheBatch(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	unknownID, refusal := mongodb.NewID(), holdfast.Refuse(holdfast.CodeUserNotFound, "There is no such user.")
	p := newProcess(t, w, withUsers(func(_ context.Context, userIDs []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
		unknown := map[holdfast.ID]*holdfast.Error{}
		for _, id := range userIDs {
			if id == unknownID {
				unknown[id] = refusal
			}
		}
		return unknown, nil
	}))
	eventID := w.Event(1000)
	old := w.Acquire(eventID, 1, testenv.Soon())
	release := w.HoldEvent(eventID.String()) // so that the commands come together
	var callers sync.WaitGroup
	callers.Go(func() {
		_, err := p.Submit(w.Ctx(), eventID, acquire(eventID, 1, ""))
		wantCode(t, err, "")
	})
	waitForBatch(t, p, eventID, 0) // the first command is in flight, alone
	var mu sync.Mutex
	seen := map[holdfast.ID]bool{}
	const waiting = 40
	for i := range waiting {
		callers.Go(func() {
			c := acquire(eventID, 1, "")
			if i%4 == 0 {
				c.UserID = unknownID
			}
			result, err := p.Submit(w.Ctx(), eventID, c)
			if (c.UserID == unknownID) != errors.Is(err, refusal) || (c.UserID != unknownID && err != nil) {
				t.Errorf("user %s: %v", c.UserID, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				return
			}
			if seen[result.Lock.ID] || result.Lock.UserID != c.UserID {
				t.Errorf("%s was given %+v", c.UserID, result.Lock)
			}
			seen[result.Lock.ID] = true
		})
	}
	callers.Go(func() {
		_, err := p.Submit(w.Ctx(), eventID, inventory.Release{LockID: old.ID})
		wantCode(t, err, "")
	})
	waitForBatch(t, p, eventID, waiting+1)
	release()
	callers.Wait()
	wantAvailable(t, w, eventID, 1000-1-waiting*3/4)
	testenv.CheckInvariants(t, w.DB.Database)
}

// A request of a user that does not exist is refused as such, although it would get no seats anyway:
// a batch that writes nothing waits for the search too.
func TestUsers_UnknownOnesAreRefusedWhereThereAreNoSeats(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(1)
	p := newProcess(t, w, withUsers(func(_ context.Context, userIDs []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
		unknown := map[holdfast.ID]*holdfast.Error{}
		for _, id := range userIDs {
			unknown[id] = holdfast.NotFound(holdfast.CodeUserNotFound)
		}
		return unknown, nil
	}))
	_, err := p.Submit(w.Ctx(), eventID, acquire(eventID, 2, ""))
	wantCode(t, err, holdfast.CodeUserNotFound)
}

func TestUsers_EachIsLookedUpOnceInABatch(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	lookups := make(chan []holdfast.ID, 10)
	proceed := make(chan struct{})
	p := newProcess(t, w, withUsers(func(_ context.Context, userIDs []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
		lookups <- userIDs
		<-proceed
		return nil, nil
	}))
	eventID, user := w.Event(10), mongodb.NewID()
	lock := w.Acquire(eventID, 1, testenv.Soon())
	var callers sync.WaitGroup
	send := func(c inventory.Command) {
		callers.Go(func() {
			_, err := p.Submit(w.Ctx(), eventID, c)
			wantCode(t, err, "")
		})
	}
	send(acquire(eventID, 1, ""))
	if first := <-lookups; len(first) != 1 {
		t.Errorf("the first batch looked %v up", first)
	}
	for i := range 3 {
		c := acquire(eventID, 1, "")
		c.UserID = user
		if i == 2 {
			c.UserID = mongodb.NewID()
		}
		send(c)
	}
	send(inventory.Release{LockID: lock.ID}) // names no user
	waitForBatch(t, p, eventID, 4)
	close(proceed)
	if second := <-lookups; len(second) != 2 {
		t.Errorf("the second batch looked %v up, want two users", second)
	}
	callers.Wait()
	if len(lookups) > 0 {
		t.Errorf("and then %v", <-lookups)
	}
}

// A transaction that waits for its users does not look like that of a dead process.
func TestUsers_ALookupEndsBeforeItsTransactionCountsAsOrphaned(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	p := newProcess(t, w, withUsers(func(ctx context.Context, _ []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
		deadline, bounded := ctx.Deadline()
		if !bounded || time.Until(deadline) >= mongodb.OrphanIdleTimeout {
			t.Errorf("the lookup may last until %v", deadline)
		}
		return nil, nil
	}))
	eventID := w.Event(10)
	submit(t, p, eventID, acquire(eventID, 1, ""))
}

func TestUsers_ALookupThatFailsKeepsNoSeats(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	p := newProcess(t, w, withUsers(func(context.Context, []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
		return nil, holdfast.Refuse(holdfast.CodeUnavailable, "No answer.")
	}))
	eventID := w.Event(10)
	_, err := p.Submit(w.Ctx(), eventID, acquire(eventID, 1, ""))
	wantCode(t, err, holdfast.CodeUnavailable)
	wantAvailable(t, w, eventID, 10)
	testenv.CheckInvariants(t, w.DB.Database)
}

// A panic ends neither the process nor the event's queue.
func TestUsers_ALookupThatPanicsIsAnsweredAndTheQueueGoesOn(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	broken := mongodb.NewID()
	p := newProcess(t, w, withUsers(func(_ context.Context, userIDs []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
		if userIDs[0] == broken {
			panic("the lookup is broken")
		}
		return nil, nil
	}))
	eventID := w.Event(10)
	c := acquire(eventID, 1, "key")
	c.UserID = broken
	_, err := p.Submit(w.Ctx(), eventID, c)
	wantCode(t, err, holdfast.CodeOutcomeUnknown)
	if unknown, ok := holdfast.DetailsOf[holdfast.UnknownLock](err); !ok || unknown.LockID != c.LockID {
		t.Errorf("%v names lock %v", err, unknown)
	}
	submit(t, p, eventID, acquire(eventID, 3, "key"))
	wantAvailable(t, w, eventID, 7)
	if len(w.Log.Lines("panicked")) == 0 {
		t.Error("the panic is not logged")
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A batch is settled without the requests of unknown users, which its first commit
// refused.
func TestUsers_UnknownOnesGetNothingWhenABatchIsSettled(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	ofUnknown, known := acquire(eventID, 3, ""), acquire(eventID, 2, "")
	p := newProcess(t, w, withUsers(func(context.Context, []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
		return map[holdfast.ID]*holdfast.Error{ofUnknown.UserID: holdfast.NotFound(holdfast.CodeUserNotFound)}, nil
	}))
	results, err := p.Settle(w.Ctx(), eventID, ofUnknown, known)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, results[0].Err, holdfast.CodeUserNotFound)
	wantCode(t, results[1].Err, "")
	wantAvailable(t, w, eventID, 8)
}

// Holders have no users to look up.
func TestUsers_HoldersAreNotLookedUp(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	p := newProcess(t, w, withUsers(func(_ context.Context, userIDs []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
		return nil, errors.New("no user was to be looked up")
	}))
	eventID := w.Event(10)
	c := acquire(eventID, 1, "")
	c.UserID, c.Holder = holdfast.HolderID("cart-1"), "cart-1"
	result, err := p.Submit(w.Ctx(), eventID, c)
	wantCode(t, err, "")
	if result.Lock == nil || result.Lock.Holder != "cart-1" {
		t.Errorf("the lock is %+v", result.Lock)
	}
}
