package seats_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats"
)

func TestAcquire_LimitOfAUserHoldsAgainstConcurrentRequests(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	created, err := w.Seats.CreateEvent(w.Ctx(), holdfast.NewEvent{Name: "E", TotalSeats: 100, MaxSeatsPerUser: 4})
	wantCode(t, err, "")
	user := mongodb.NewID()
	other := testenv.Open(t, w.URI, w.DB.Name())
	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 20 {
		service := []*seats.Service{w.Seats, other.Seats}[i%2]
		all.Go(func() {
			_, _, err := service.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: created.ID, UserID: user, Seats: 2})
			if err == nil {
				won.Add(2)
			} else if !holdfast.HasCode(err, holdfast.CodeSeatLimitReached) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won.Load() != 4 {
		t.Errorf("the user holds %d seats, want 4", won.Load())
	}
}

func TestAcquire_DueSeatsDoNotCountAgainstTheLimitOfAUser(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	created, err := w.Seats.CreateEvent(w.Ctx(), holdfast.NewEvent{Name: "E", TotalSeats: 100, MaxSeatsPerUser: 2})
	wantCode(t, err, "")
	q := holdfast.LockRequest{EventID: created.ID, UserID: mongodb.NewID(), Seats: 2, Until: testenv.Past()}
	_, _, err = w.Seats.AcquireLock(w.Ctx(), q)
	wantCode(t, err, "")
	q.Until = holdfast.Until{}
	_, _, err = w.Seats.AcquireLock(w.Ctx(), q)
	wantCode(t, err, "")
	_, _, err = w.Seats.AcquireLock(w.Ctx(), q)
	wantCode(t, err, holdfast.CodeSeatLimitReached)
}
