package store_test

import (
	"context"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func TestLoad_IsOneReadAtOneSnapshot(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	f := newFixture(t, w, nil)
	var mu sync.Mutex
	var reads []string
	process := watched(t, w, &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		if e.DatabaseName != w.DB.Name() || e.CommandName == "endSessions" {
			return
		}
		level, _ := e.Command.Lookup("readConcern", "level").StringValueOK()
		mu.Lock()
		defer mu.Unlock()
		reads = append(reads, e.CommandName+" "+level)
	}})
	all := inventory.Needs{
		Locks: list(f.lock), LiveOf: list(f.lock), Bookings: list(f.booking), Holdings: list(mongodb.NewID()),
		Keys: []inventory.UserKey{{User: mongodb.NewID(), Key: "k"}}, Due: 10, Taken: true,
	}
	for name, c := range map[string]struct {
		event holdfast.ID
		needs inventory.Needs
	}{
		"by event": {f.event, all}, "by lock": {needs: inventory.Needs{Locks: list(f.lock), LiveOf: list(f.lock)}},
		"by booking": {needs: inventory.Needs{Bookings: list(f.booking)}},
	} {
		t.Run(name, func(t *testing.T) {
			reads = nil
			if _, err := process.Store.Load(w.Ctx(), c.event, c.needs); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(reads, []string{"aggregate snapshot"}) {
				t.Errorf("MongoDB received %q", reads)
			}
		})
	}
}

// While locks are made and ended, counter and locks are read in one state.
func TestLoad_ReadsCounterAndLocksOfOneSnapshot(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const total = 200
	id := w.Event(total)
	ctx, stop := context.WithCancel(w.Ctx())
	defer stop()
	var traffic sync.WaitGroup
	for range 4 {
		traffic.Go(func() {
			for ctx.Err() == nil {
				lock, _, err := w.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: id, UserID: mongodb.NewID(), Seats: 1 + rand.Int64N(9)})
				if err == nil {
					_, err = w.Seats.ReleaseLock(ctx, lock.ID)
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	moved := map[int64]bool{}
	deadline := time.Now().Add(20 * time.Second)
	for n := 0; n < 200 || (len(moved) < 3 && time.Now().Before(deadline)); n++ {
		s, err := w.Store.Load(w.Ctx(), id, inventory.Needs{Taken: true})
		if err != nil {
			t.Fatal(err)
		}
		if s.Event.AvailableSeats+*s.Taken != total {
			t.Fatalf("%d available and %d taken of %d", s.Event.AvailableSeats, *s.Taken, total)
		}
		moved[*s.Taken] = true
	}
	stop()
	traffic.Wait()
	if len(moved) < 3 {
		t.Errorf("only %v were ever taken: nothing moved", moved)
	}
}
