package seats_test

import (
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats"
)

func TestRelease_AnswersByTheLocksState(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	withStatus := func(status holdfast.LockStatus) func() holdfast.ID {
		return func() holdfast.ID {
			lock := w.Acquire(event, 1, testenv.Soon())
			w.Set("seatlocks", lock.ID, bson.D{{Key: "status", Value: string(status)}})
			return lock.ID
		}
	}
	for name, c := range map[string]struct {
		lock func() holdfast.ID
		want holdfast.Code
	}{
		"ACTIVE":   {withStatus(holdfast.LockActive), ""},
		"RELEASED": {withStatus(holdfast.LockReleased), ""},
		"EXPIRED":  {withStatus(holdfast.LockExpired), holdfast.CodeLockExpired},
		"CONSUMED": {withStatus(holdfast.LockConsumed), holdfast.CodeLockConsumed},
		"due":      {func() holdfast.ID { return w.Acquire(event, 1, testenv.Past()).ID }, holdfast.CodeLockExpired},
		"none":     {mongodb.NewID, holdfast.CodeLockNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.Seats.ReleaseLock(w.Ctx(), c.lock())
			wantCode(t, err, c.want)
		})
	}
}

func TestRelease_ManyTimesAtOnceRestoresSeatsOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	w.Acquire(event, 5, testenv.Soon())
	lock := w.Acquire(event, 3, testenv.Soon())
	other := testenv.Open(t, w.URI, w.DB.Name())
	var all sync.WaitGroup
	for i := range 40 {
		service := []*seats.Service{w.Seats, other.Seats}[i%2]
		all.Go(func() {
			if released, err := service.ReleaseLock(w.Ctx(), lock.ID); err != nil || released.Status != holdfast.LockReleased {
				t.Error(released, err)
			}
		})
	}
	all.Wait()
	if available, _ := w.Available(event); available != 5 {
		t.Errorf("available %d, want 5", available)
	}
}

// A release reduces oversold seats before it makes any available.
func TestRelease_ReducesOversoldSeatsFirst(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	first, second := w.Acquire(event, 4, testenv.Soon()), w.Acquire(event, 6, testenv.Soon())
	w.Set("events", event, bson.D{{Key: "totalSeats", Value: 5}, {Key: "oversold", Value: 5}})
	if _, err := w.Seats.ReleaseLock(w.Ctx(), first.ID); err != nil {
		t.Fatal(err)
	}
	if available, oversold := w.Available(event); available != 0 || oversold != 1 {
		t.Errorf("available %d, oversold %d, want 0 and 1", available, oversold)
	}
	_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1})
	wantCode(t, err, holdfast.CodeSeatsUnavailable)
	if _, err := w.Seats.ReleaseLock(w.Ctx(), second.ID); err != nil {
		t.Fatal(err)
	}
	if available, oversold := w.Available(event); available != 5 || oversold != 0 {
		t.Errorf("available %d, oversold %d, want 5 and 0", available, oversold)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
