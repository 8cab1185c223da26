package pipeline_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// MongoDB rejects every change of an event. The batch fails as a whole: no part of it could
// succeed.
func TestSplit_NotForARejectedEvent(t *testing.T) {
	t.Parallel()
	t.Run("it has no revision", func(t *testing.T) {
		checkNotSplit(t, func(w *env, eventID holdfast.ID) { w.Set("events", eventID, bson.D{{Key: "internal", Value: "3-abc"}}) })
	})
	t.Run("a validator rejects it", func(t *testing.T) {
		checkNotSplit(t, func(w *env, _ holdfast.ID) {
			atLeast := bson.D{{Key: "availableSeats", Value: bson.D{{Key: "$gte", Value: 100}}}}
			if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "collMod", Value: "events"}, {Key: "validator", Value: atLeast}}).Err(); err != nil {
				t.Error(err)
			}
		})
	})
}

// checkNotSplit lets MongoDB reject an event whose commands wait: none may be tried alone.
func checkNotSplit(t *testing.T, reject func(w *env, eventID holdfast.ID)) {
	t.Helper()
	w := testenv.New(t)
	eventID := w.Event(100)
	started, proceed := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() {
		close(started)
		<-proceed
	})
	process := watched(t, w, &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		if e.CommandName == "findAndModify" {
			first()
		}
	}})
	p := newProcess(t, process)
	var callers sync.WaitGroup
	const waiting = 40
	send := func() {
		callers.Go(func() {
			_, err := p.Submit(w.Ctx(), eventID, acquire(eventID, 1, ""))
			wantCode(t, err, holdfast.CodeUnavailable)
		})
	}
	send()
	<-started
	for range waiting {
		send()
	}
	waitForBatch(t, p, eventID, waiting)
	reject(w, eventID)
	close(proceed)
	callers.Wait()
	if n := process.Transactions(mongodb.Rejected); n > 4 {
		t.Errorf("MongoDB rejected %d transactions", n)
	}
}

// The queue learns each event's revision and the duration of the transaction. From these it computes the pace while
// other processes write the event too.
func TestCommit_TellsThePace(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	p := newProcess(t, w)
	events := []holdfast.ID{w.Event(10), w.Event(10)}
	for range 3 {
		submit(t, p, events[1], acquire(events[1], 1, ""))
	}
	groups, err := p.CommitGroups(w.Ctx(), map[holdfast.ID][]inventory.Command{
		events[0]: {acquire(events[0], 1, "")}, events[1]: {acquire(events[1], 1, "")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, eventID := range events {
		var doc struct {
			Internal struct {
				Rev int64 `bson:"rev"`
			} `bson:"internal"`
		}
		if err := w.DB.Collection("events").FindOne(w.Ctx(), mongodb.Is("_id", eventID)).Decode(&doc); err != nil {
			t.Fatal(err)
		}
		if g := groups[eventID]; g.Revision != doc.Internal.Rev || g.Revision == 0 || g.Took <= 0 {
			t.Errorf("revision %d after %v; the event has %d", g.Revision, g.Took, doc.Internal.Rev)
		}
	}
}

// A process remembers the event that a refusal has read: the next refusal costs one read.
func TestMemory_KeepsWhatARefusalHasRead(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	var r recorder
	p := newProcess(t, watched(t, w, r.monitor()))
	refused := func() {
		_, err := p.Submit(w.Ctx(), eventID, acquire(eventID, 11, ""))
		wantCode(t, err, holdfast.CodeSeatsUnavailable)
	}
	refused()
	if got := r.of(refused); !slices.Equal(got, []string{read}) {
		t.Errorf("MongoDB received %v, want one read", got)
	}
}

// A sweep and a change of an event write the event before they read, so that other writers can't
// starve them, and decide on what they read then.
func TestSweep_ReadsTheEventThatItHolds(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	due := w.Acquire(eventID, 1, testenv.Past())
	var r recorder
	p := newProcess(t, watched(t, w, r.monitor()))
	submit(t, p, eventID, acquire(eventID, 1, "")) // it remembers the event
	name := "name"
	for title, do := range map[string]func() error{
		"a sweep": func() error {
			_, err := p.Sweep(w.Ctx(), eventID, inventory.ExpireLocks{LockIDs: []holdfast.ID{due.ID}})
			return err
		},
		"a change": func() error {
			_, err := p.Change(w.Ctx(), eventID, inventory.ChangeEvent{EventChange: holdfast.EventChange{Name: &name}})
			return err
		},
	} {
		var err error
		got := r.of(func() { err = do() })
		if err != nil || len(got) < 2 || !slices.Equal(got[:2], []string{update, read}) {
			t.Errorf("%s: MongoDB received %v, %v; want a write of the event, then a read", title, got, err)
		}
	}
	if status := w.Lock(due.ID).Status; status != holdfast.LockExpired {
		t.Errorf("the due lock is %s", status)
	}
}

// A counter that is right is not written.
func TestRepair_WritesNothingWhereTheCounterIsRight(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	w.Acquire(eventID, 3, testenv.Soon())
	var r recorder
	p := newProcess(t, watched(t, w, r.monitor()))
	got := r.of(func() {
		if correction, err := p.Repair(w.Ctx(), eventID, "run"); err != nil || correction != nil {
			t.Errorf("got %+v, %v", correction, err)
		}
	})
	if slices.ContainsFunc(got, func(name string) bool { return name != read }) {
		t.Errorf("MongoDB received %v, want reads only", got)
	}
}

// Between the measurement and its write, another process sells seats. The drift is subtracted,
// and the correction tells the counter as it was written.
func TestRepair_TellsWhatItWroteBesideASale(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	w.Set("events", eventID, bson.D{{Key: "availableSeats", Value: 8}}) // two seats are lost
	elsewhere, sold := newProcess(t, w), false
	process := watched(t, w, &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		if e.CommandName == "findAndModify" && !sold {
			sold = true
			submit(t, elsewhere, eventID, acquire(eventID, 3, ""))
		}
	}})
	got, err := newProcess(t, process).Repair(w.Ctx(), eventID, "run")
	if err != nil || got == nil || *got != (inventory.Correction{EventID: eventID, Before: 5, After: 7}) {
		t.Errorf("got %+v, %v; want 5 → 7", got, err)
	}
	wantAvailable(t, w, eventID, 7)
	testenv.CheckInvariants(t, w.DB.Database)
}
