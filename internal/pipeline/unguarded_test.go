package pipeline_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// No condition of a plan can match the events that other software left here. They sell,
// or refuse, without endless repetition.
func TestUnguarded_EventsAreAnsweredInTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		field string
		value any
		code  holdfast.Code
	}{
		"a revision that is a fraction": {"internal.rev", 1.5, ""},
		"a revision beyond all numbers": {"internal.rev", 1e300, ""},
		"a status that is empty":        {"status", "", holdfast.CodeEventNotOnSale},
		"a status that is a number":     {"status", 5, holdfast.CodeEventNotOnSale},
		"a limit that is a fraction":    {"maxSeatsPerUser", 2.5, holdfast.CodeSeatLimitReached},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			p := newProcess(t, w)
			eventID := w.Event(10)
			before := w.Acquire(eventID, 2, testenv.Soon())
			w.Set("events", eventID, bson.D{{Key: c.field, Value: c.value}})
			start := time.Now()
			_, err := p.Submit(w.Ctx(), eventID, acquire(eventID, 3, ""))
			wantCode(t, err, c.code)
			_, err = p.Submit(w.Ctx(), eventID, inventory.Release{LockID: before.ID})
			wantCode(t, err, "")
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			want := int64(7)
			if c.code != "" {
				want = 10
			}
			wantAvailable(t, w, eventID, want)
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

// No condition notices that another process changes the event between the read and the
// write. A plan that relies on the read is only written while the event is held.
func TestUnguarded_AnEventThatAPlanReliesOnIsHeld(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	w.Set("events", eventID, bson.D{{Key: "internal.rev", Value: 1.5}, {Key: "maxSeatsPerUser", Value: 4}})
	c := acquire(eventID, 3, "")
	meanwhile := c
	meanwhile.LockID = ids.New()
	elsewhere := newProcess(t, w)
	reads := 0 // the event, and then with it what the customer holds
	process := watched(t, w, &event.CommandMonitor{Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
		if e.CommandName == "aggregate" {
			if reads++; reads == 2 {
				submit(t, elsewhere, eventID, meanwhile)
			}
		}
	}})
	_, err := newProcess(t, process).Submit(w.Ctx(), eventID, c)
	wantCode(t, err, holdfast.CodeSeatLimitReached)
	wantAvailable(t, w, eventID, 7)
}

// A lock that MongoDB can't change: its release fails, but no other command of the batch.
func TestUnguarded_ALockFailsAlone(t *testing.T) {
	t.Parallel()
	for name, revision := range map[string]any{"text": "3-abc", "a fraction": 1.5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			p := newProcess(t, w)
			eventID := w.Event(100)
			odd := w.Acquire(eventID, 1, testenv.Soon())
			w.Set("seatlocks", odd.ID, bson.D{{Key: "internal.rev", Value: revision}})
			release := w.HoldEvent(eventID.String()) // so that the commands come together
			start := time.Now()
			var callers sync.WaitGroup
			callers.Go(func() {
				_, err := p.Submit(w.Ctx(), eventID, acquire(eventID, 1, ""))
				wantCode(t, err, "")
			})
			testenv.WaitFor(t, func() bool { return p.Queue().InFlight() == 1 && p.Queue().Waiting(eventID) == 0 })
			callers.Go(func() {
				_, err := p.Submit(w.Ctx(), eventID, inventory.Release{LockID: odd.ID})
				wantCode(t, err, holdfast.CodeUnavailable)
			})
			for range 10 {
				callers.Go(func() {
					_, err := p.Submit(w.Ctx(), eventID, acquire(eventID, 1, ""))
					wantCode(t, err, "")
				})
			}
			testenv.WaitFor(t, func() bool { return p.Queue().Waiting(eventID) == 11 })
			release()
			callers.Wait()
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			wantAvailable(t, w, eventID, 88)
		})
	}
}

// A unique index of other software refuses a lock: only its command fails. The second one has the keys of ours, but
// refuses locks without an idempotency key too.
func TestUnguarded_AForeignUniqueIndexFailsOneCommand(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]bson.D{
		"one a user": mongodb.Keys("userId"), "one a user and event": mongodb.Keys("eventId", "userId", "idempotencyKey"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			p := newProcess(t, w)
			eventID, user := w.Event(100), ids.New()
			if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "createIndexes", Value: "seatlocks"}, {Key: "indexes", Value: bson.A{
				bson.D{{Key: "key", Value: keys}, {Key: "name", Value: name}, {Key: "unique", Value: true}},
			}}}).Err(); err != nil {
				t.Fatal(err)
			}
			mine := func() inventory.Acquire {
				a := acquire(eventID, 1, "")
				a.UserID = user
				return a
			}
			_, err := p.Submit(w.Ctx(), eventID, mine())
			wantCode(t, err, "")
			start := time.Now()
			var callers sync.WaitGroup
			callers.Go(func() {
				_, err := p.Submit(w.Ctx(), eventID, mine())
				wantCode(t, err, holdfast.CodeUnavailable)
			})
			for range 5 {
				callers.Go(func() {
					_, err := p.Submit(w.Ctx(), eventID, acquire(eventID, 1, ""))
					wantCode(t, err, "")
				})
			}
			callers.Wait()
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			wantAvailable(t, w, eventID, 94)
		})
	}
}
