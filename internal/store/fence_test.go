package store_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
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
		if doc := f.document("events", f.event); wholeOf(doc["internal.fence"]) != i+1 {
			t.Errorf("the fence is %v, want %d", doc["internal.fence"], i+1)
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

// A primary that was just elected may answer a read with data from before the fence. So the
// read names the fence's time, and does not see later changes either.
func TestLoad_ReadsAtTheTimeOfItsFence(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	f := newFixture(t, w, nil)
	process := watched(t, w, &event.CommandMonitor{Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
		if e.CommandName == "findAndModify" {
			f.setEvent(field("name", "changed after the fence"))
		}
	}})
	needs := inventory.Needs{Fence: true, LiveOf: list(f.lock)} // not read before the fence
	s, err := process.Store.Load(w.Ctx(), f.event, needs)
	if err != nil || !s.Fenced || s.Event.Name == "changed after the fence" {
		t.Errorf("got %+v, %v", s.Event, err)
	}
	if s, err := f.Store.Load(w.Ctx(), f.event, needs); err != nil || s.Event.Name != "changed after the fence" {
		t.Errorf("got %+v, %v; want the change", s.Event, err)
	}
}

// fenceCase is what is there before an event is read beside its fence, and what changes
// between the read and the fence.
type fenceCase struct {
	before, between func(f fixture)
	needs           func(f fixture) inventory.Needs // nil: the key
	reads           int
	holds           func(f fixture, s inventory.State) bool
}

var fencedKey = inventory.UserKey{User: ids.New(), Key: "key"}

// takeKey gives the fixture's lock the key and its user.
func takeKey(f fixture) {
	f.Set("seatlocks", f.lock, bson.D{field("userId", fencedKey.User), field("idempotencyKey", fencedKey.Key)})
}

func fenceCases() map[string]fenceCase {
	until := time.Date(2040, 5, 6, 7, 8, 9, 0, time.UTC)
	return map[string]fenceCase{
		"nothing changes": {
			reads: 1,
			holds: func(f fixture, s inventory.State) bool {
				return s.Event.ID == f.event && s.Keys[fencedKey] == nil && len(*s.Due) == 0
			},
		},
		"a request is granted": {
			between: func(f fixture) { takeKey(f); f.setEvent(field("internal.rev", int64(1))) },
			reads:   2,
			holds: func(f fixture, s inventory.State) bool {
				return s.Event.Revision == 1 && s.Keys[fencedKey] != nil && s.Keys[fencedKey].ID == f.lock
			},
		},
		"other software closes the event": {
			between: func(f fixture) { f.setEvent(field("status", "CLOSED")) },
			reads:   2,
			holds:   func(_ fixture, s inventory.State) bool { return s.Event.Status == holdfast.Closed },
		},
		"the lock of a key is extended, which does not change the event": {
			before:  takeKey,
			between: func(f fixture) { f.Set("seatlocks", f.lock, bson.D{field("expiresAt", until)}) },
			reads:   2,
			holds:   func(_ fixture, s inventory.State) bool { return s.Keys[fencedKey].ExpiresAt.Equal(until) },
		},
		"a user's lock is confirmed, which does not change the event": {
			before:  takeKey,
			between: func(f fixture) { f.Set("seatlocks", f.lock, bson.D{field("status", "CONSUMED")}) },
			needs:   func(fixture) inventory.Needs { return inventory.Needs{Fence: true, Holdings: list(fencedKey.User)} },
			reads:   2,
			holds: func(_ fixture, s inventory.State) bool {
				return s.Holdings[fencedKey.User] == inventory.Holding{Seats: 2, Locks: 0}
			},
		},
		"other software wrote a revision that is no number": {
			before:  func(f fixture) { f.setEvent(field("internal.rev", "3-abc")) },
			between: func(f fixture) { takeKey(f); f.setEvent(field("internal.rev", "4-abc")) },
			reads:   2,
			holds:   func(_ fixture, s inventory.State) bool { return s.Keys[fencedKey] != nil },
		},
	}
}

// The event is read while its fence is written. What changes between this read and the fence
// must be seen.
func TestLoad_ReadBesideAFenceMissesNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for name, c := range fenceCases() {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, w, nil)
			if c.before != nil {
				c.before(f)
			}
			needs := inventory.Needs{Fence: true, Due: 10, Keys: []inventory.UserKey{fencedKey}}
			if c.needs != nil {
				needs = c.needs(f)
			}
			var reads atomic.Int64
			hasRead := make(chan struct{}, 2)
			process := watched(t, w, &event.CommandMonitor{
				Started: func(_ context.Context, e *event.CommandStartedEvent) {
					if e.CommandName != "findAndModify" {
						return
					}
					select {
					case <-hasRead:
					case <-w.Ctx().Done():
					}
					if c.between != nil {
						c.between(f)
					}
				},
				Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
					if e.CommandName == "aggregate" {
						reads.Add(1)
						hasRead <- struct{}{}
					}
				},
			})
			s, err := process.Store.Load(w.Ctx(), f.event, needs)
			if err != nil || !s.Fenced || s.Event == nil || !c.holds(f, s) {
				t.Errorf("got %+v, %v", s, err)
			}
			if n := reads.Load(); n != int64(c.reads) {
				t.Errorf("it has read %d times, want %d", n, c.reads)
			}
		})
	}
}

// A booking does not change the event, so it is not looked up before the fence.
func TestLoad_ReadsBookingsAfterItsFence(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	f := newFixture(t, w, nil)
	for name, needs := range map[string]inventory.Needs{
		"a lock":                {Locks: list(f.lock)},
		"a lock's live booking": {LiveOf: list(f.lock)},
		"a booking":             {Bookings: list(f.booking)},
	} {
		t.Run(name, func(t *testing.T) {
			var fenced, readBefore atomic.Bool
			process := watched(t, w, &event.CommandMonitor{
				Started: func(_ context.Context, e *event.CommandStartedEvent) {
					if e.CommandName == "aggregate" && !fenced.Load() {
						readBefore.Store(true)
					}
				},
				Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
					fenced.CompareAndSwap(false, e.CommandName == "findAndModify")
				},
			})
			readBefore.Store(false)
			needs.Fence = true
			if s, err := process.Store.Load(w.Ctx(), f.event, needs); err != nil || !s.Fenced {
				t.Fatalf("got %+v, %v", s, err)
			}
			if readBefore.Load() {
				t.Error("it has read before the fence was written")
			}
		})
	}
}

// A fence that did not reach the majority proves nothing: a deposed primary would refuse by an
// old state.
func TestLoad_AFenceThatMissesTheMajorityIsAnError(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "fences")
	f := newFixture(t, w, nil)
	w.FailCommands("findAndModify", bson.D{{Key: "times", Value: 1}}, bson.D{{Key: "writeConcernError", Value: bson.D{
		{Key: "code", Value: 64}, {Key: "errmsg", Value: "waiting for replication timed out"},
	}}})
	if s, err := f.Store.Load(w.Ctx(), f.event, inventory.Needs{Fence: true}); err == nil {
		t.Errorf("got %+v without an error", s)
	}
	if s, err := f.Store.Load(w.Ctx(), f.event, inventory.Needs{Fence: true}); err != nil || !s.Fenced {
		t.Errorf("the next one: %+v, %v", s, err)
	}
}
