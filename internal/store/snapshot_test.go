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
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func TestLoad_FenceWritesTheEventFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testenv.New(t), nil)
	for i := range int64(3) {
		if s := f.load(inventory.Needs{Fence: true}); !s.Fenced || s.Event.Revision != 0 {
			t.Errorf("got %+v", s)
		}
		if doc := f.document("events", f.event); wholeOf(doc["fence"]) != i+1 {
			t.Errorf("the fence is %v, want %d", doc["fence"], i+1)
		}
	}
}

// A transaction in flight may grant the request, so the read for a refusal waits for it.
func TestLoad_FenceWaitsForATransactionThatHoldsTheEvent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testenv.New(t), nil)
	written, finish, committed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		plans := []store.EventPlan{{EventID: f.event, Plan: inventory.Plan{
			Event: &inventory.EventWrite{AtLeast: 8, Available: -8}, Acquired: []holdfast.Lock{f.newLock(8, "")}, TTL: []time.Duration{time.Hour},
		}}}
		_, err := f.Store.Apply(f.Ctx(), plans, func() error { close(written); <-finish; return nil })
		committed <- err
	}()
	<-written
	ctx, cancel := context.WithTimeout(f.Ctx(), 200*time.Millisecond)
	defer cancel()
	if s, err := f.Store.Load(ctx, f.event, inventory.Needs{Fence: true}); err == nil {
		t.Errorf("it did not wait: %+v", s)
	}
	loaded := make(chan inventory.State, 1)
	go func() {
		s, err := f.Store.Load(f.Ctx(), f.event, inventory.Needs{Fence: true, Taken: true})
		if err != nil {
			t.Error(err)
		}
		loaded <- s
	}()
	close(finish)
	if err := <-committed; err != nil {
		t.Fatal(err)
	}
	if s := <-loaded; s.Event == nil || s.Event.AvailableSeats != 0 || *s.Taken != 10 {
		t.Errorf("it missed the commit: %+v", s)
	}
}

// watched opens the database with a monitor of its commands.
func watched(t *testing.T, w *env, m *event.CommandMonitor) *env {
	t.Helper()
	return testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) { o.Monitor = m })
}

// A primary that was just elected may answer a read with data from before the fence. So the
// read names the fence's time, and does not see later changes either.
func TestLoad_ReadsAtTheTimeOfItsFence(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	f := newFixture(t, w, nil)
	process := watched(t, w, &event.CommandMonitor{Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
		if e.CommandName == "update" {
			f.setEvent(field("name", "changed after the fence"))
		}
	}})
	s, err := process.Store.Load(w.Ctx(), f.event, inventory.Needs{Fence: true})
	if err != nil || !s.Fenced || s.Event.Name == "changed after the fence" {
		t.Errorf("got %+v, %v", s.Event, err)
	}
	if s, err := f.Store.Load(w.Ctx(), f.event, inventory.Needs{Fence: true}); err != nil || s.Event.Name != "changed after the fence" {
		t.Errorf("got %+v, %v; want the change", s.Event, err)
	}
}

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
		Locks: list(f.lock), LiveOf: list(f.lock), Bookings: list(f.booking), Holdings: list(ids.New()),
		Keys: []inventory.UserKey{{User: ids.New(), Key: "k"}}, Due: 10, Taken: true,
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
				lock, _, err := w.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: id, UserID: ids.New(), Seats: 1 + rand.Int64N(9)})
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
