package seats_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats"
)

func TestAcquire_SameKeyTakesSeatsOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, user := w.Event(100), mongodb.NewID()
	request := holdfast.LockRequest{EventID: event, UserID: user, Seats: 3, Key: "k"}
	other := testenv.Open(t, w.URI, w.DB.Name())
	var made, replayed atomic.Int32
	var first sync.Map
	var all sync.WaitGroup
	for i := range 60 {
		service := []*seats.Service{w.Seats, other.Seats}[i%2]
		all.Go(func() {
			lock, again, err := service.AcquireLock(w.Ctx(), request)
			if err != nil {
				t.Error(err)
			}
			first.Store(lock.ID, true)
			if again {
				replayed.Add(1)
			} else {
				made.Add(1)
			}
		})
	}
	all.Wait()
	locks := 0
	first.Range(func(any, any) bool { locks++; return true })
	if made.Load() != 1 || replayed.Load() != 59 || locks != 1 {
		t.Errorf("%d made, %d replayed, %d locks; want 1, 59, 1", made.Load(), replayed.Load(), locks)
	}
	if available, _ := w.Available(event); available != 97 {
		t.Errorf("available %d, want 97", available)
	}
}

func TestAcquire_KeyReturnsTheLockInItsPresentState(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, user := w.Event(2), mongodb.NewID()
	request := holdfast.LockRequest{EventID: event, UserID: user, Seats: 2, Key: "k"}
	lock, _, err := w.Seats.AcquireLock(w.Ctx(), request)
	wantCode(t, err, "")
	replay := func(status holdfast.LockStatus) {
		t.Helper()
		again, replayed, err := w.Seats.AcquireLock(w.Ctx(), request)
		if err != nil || !replayed || again.ID != lock.ID || again.Status != status {
			t.Fatalf("got %+v, %v, %v; want %s", again, replayed, err, status)
		}
	}
	replay(holdfast.LockActive) // although no seat is left
	if _, err := w.Seats.ReleaseLock(w.Ctx(), lock.ID); err != nil {
		t.Fatal(err)
	}
	replay(holdfast.LockReleased)
	cancelled := holdfast.Cancelled
	if _, err := w.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{Status: &cancelled}); err != nil {
		t.Fatal(err)
	}
	replay(holdfast.LockReleased)
	if available, _ := w.Available(event); available != 2 {
		t.Errorf("available %d, want 2", available)
	}
	request.Seats = 1
	_, _, err = w.Seats.AcquireLock(w.Ctx(), request)
	wantCode(t, err, holdfast.CodeIdempotencyKeyReused)
	// A lock of other software has no hash: its seats decide.
	w.Insert("seatlocks", bson.D{
		{Key: "eventId", Value: event}, {Key: "userId", Value: user}, {Key: "seats", Value: 2.0},
		{Key: "status", Value: "EXPIRED"}, {Key: "expiresAt", Value: time.Now()}, {Key: "idempotencyKey", Value: "raw"},
	})
	request.Key = "raw"
	_, _, err = w.Seats.AcquireLock(w.Ctx(), request)
	wantCode(t, err, holdfast.CodeIdempotencyKeyReused)
	request.Seats = 2
	if again, replayed, err := w.Seats.AcquireLock(w.Ctx(), request); err != nil || !replayed || again.Status != holdfast.LockExpired {
		t.Fatal(again, replayed, err)
	}
}
