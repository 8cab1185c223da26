package seats_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Unknown users in a batch are refused, each by itself: their neighbours get
// their seats, in one batch and each their own.
func TestCustomers_StrangersFailNobodyElse(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	stranger, refusal := ids.New(), holdfast.Refuse("USER_NOT_FOUND", "Nobody.")
	service := testenv.Core(w.DB,
		func(_ context.Context, userIDs []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
			unknown := map[holdfast.ID]*holdfast.Error{}
			for _, id := range userIDs {
				if id == stranger {
					unknown[id] = refusal
				}
			}
			return unknown, nil
		})
	event := w.Event(1000)
	release := holdEvent(t, w, event) // so that the requests come together
	var asked sync.WaitGroup
	asked.Go(func() {
		if _, _, err := service.Seats.Acquire(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 1}); err != nil {
			t.Error(err)
		}
	})
	waitFor(t, func() bool {
		return service.Pipeline.Queue().InFlight() == 1 && service.Pipeline.Queue().Waiting(event) == 0
	}) // it is tried, alone
	var mu sync.Mutex
	seen := map[holdfast.ID]bool{}
	for i := range 40 {
		asked.Go(func() {
			user := ids.New()
			if i%4 == 0 {
				user = stranger
			}
			lock, _, err := service.Seats.Acquire(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: user, Seats: 1})
			if (user == stranger) != errors.Is(err, refusal) || (user != stranger && err != nil) {
				t.Errorf("user %s: %v", user, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil && (seen[lock.ID] || lock.UserID != user) {
				t.Errorf("%s was given %+v", user, lock)
			}
			seen[lock.ID] = true
		})
	}
	waitFor(t, func() bool { return service.Pipeline.Queue().Waiting(event) == 40 })
	release()
	asked.Wait()
	if available, _ := w.Available(event); available != 969 {
		t.Errorf("%d seats are available", available)
	}
	if err := service.Pipeline.Close(w.Ctx()); err != nil {
		t.Error(err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// Where the users can't be looked up, nothing is kept.
func TestCustomers_ALookUpThatFailsKeepsNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	service := testenv.Core(w.DB,
		func(context.Context, []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
			return nil, holdfast.Refuse(holdfast.CodeUnavailable, "No answer.")
		})
	event := w.Event(10)
	if _, _, err := service.Seats.Acquire(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 1}); !holdfast.HasCode(err, holdfast.CodeUnavailable) {
		t.Error(err)
	}
	if available, _ := w.Available(event); available != 10 {
		t.Errorf("%d seats are available", available)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
