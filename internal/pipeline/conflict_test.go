package pipeline_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// otherWriter is another writer, which changes an event after each decision of a batch, just before the batch is
// written.
type otherWriter struct {
	won, lost atomic.Int32
}

// monitor lets the other writer write before each guarded write of the event.
func (r *otherWriter) monitor(w *env, eventID holdfast.ID) *event.CommandMonitor {
	return &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		if _, err := e.Command.LookupErr("autocommit"); err != nil || e.CommandName != "findAndModify" {
			return
		}
		const timeout = 300 * time.Millisecond // if the batch holds the event, the write would never end
		ctx, cancel := context.WithTimeout(w.Ctx(), timeout)
		defer cancel()
		_, err := w.DB.Collection("events").UpdateByID(ctx, eventID, bson.D{{Key: "$inc", Value: bson.D{{Key: "internal.rev", Value: 1}}}})
		if err != nil {
			r.lost.Add(1)
		} else {
			r.won.Add(1)
		}
	}}
}

// A writer that writes the event all the time wins maxConflicts times. Then the batch holds the event before it
// reads, and commits.
func TestSubmit_GetsThroughBesideAProcessThatWritesTheEventAllTheTime(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]func(w *env, eventID holdfast.ID, lock holdfast.Lock) inventory.Command{
		"release": func(_ *env, _ holdfast.ID, lock holdfast.Lock) inventory.Command {
			return inventory.Release{LockID: lock.ID}
		},
		"cancel": func(w *env, _ holdfast.ID, lock holdfast.Lock) inventory.Command {
			return inventory.Cancel{BookingID: w.Book(lock, testenv.Soon()).ID, LockID: lock.ID}
		},
		"change the event": func(*env, holdfast.ID, holdfast.Lock) inventory.Command {
			total := int64(12)
			return inventory.ChangeEvent{EventChange: holdfast.EventChange{TotalSeats: &total}}
		},
		"acquire under a limit": func(w *env, eventID holdfast.ID, _ holdfast.Lock) inventory.Command {
			w.Set("events", eventID, bson.D{{Key: "maxSeatsPerUser", Value: 4}})
			return acquire(eventID, 1, "key")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			eventID := w.Event(10)
			lock := w.Acquire(eventID, 3, testenv.Soon())
			c := command(w, eventID, lock)
			var r otherWriter
			process := watched(t, w, r.monitor(w, eventID))
			p := newProcess(t, process, func(o *pipeline.Options) { o.WithoutMemory = true })
			submit(t, p, eventID, c)
			if won, lost := r.won.Load(), r.lost.Load(); won != pipeline.MaxConflicts || lost == 0 {
				t.Errorf("the other writer won %d times and lost %d times; want %d, and to lose", won, lost, pipeline.MaxConflicts)
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

// The guard of a new request is the number of seats that it needs, and not the revision, so the writes of another
// writer do not make it fail.
func TestSubmit_AFreshRequestDoesNotConflictWithOtherWrites(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	var r otherWriter
	p := newProcess(t, watched(t, w, r.monitor(w, eventID)))
	submit(t, p, eventID, acquire(eventID, 3, ""))
	if won, lost := r.won.Load(), r.lost.Load(); won != 1 || lost != 0 {
		t.Errorf("the other writer won %d times and lost %d times; want 1 and 0", won, lost)
	}
	wantAvailable(t, w, eventID, 7)
}

// The answer is right, whatever another process has changed since this one read the event.
func TestSubmit_AnswersByWhatAnotherProcessChanged(t *testing.T) {
	t.Parallel()
	set := func(name string, value any) func(*env, holdfast.ID, *pipeline.Pipeline) {
		return func(w *env, eventID holdfast.ID, _ *pipeline.Pipeline) {
			w.Set("events", eventID, bson.D{{Key: name, Value: value}})
		}
	}
	for name, c := range map[string]struct {
		change    func(w *env, eventID holdfast.ID, other *pipeline.Pipeline)
		seats     int64
		want      holdfast.Code
		available int64
	}{
		"nothing": {change: func(*env, holdfast.ID, *pipeline.Pipeline) {}, seats: 8},
		"it acquired some seats": {change: func(w *env, eventID holdfast.ID, other *pipeline.Pipeline) {
			submit(w.T.(*testing.T), other, eventID, acquire(eventID, 5, ""))
		}, seats: 3},
		"it acquired too many": {change: func(w *env, eventID holdfast.ID, other *pipeline.Pipeline) {
			submit(w.T.(*testing.T), other, eventID, acquire(eventID, 5, ""))
		}, seats: 4, want: holdfast.CodeSeatsUnavailable, available: 3},
		"it closed the event": {change: func(w *env, eventID holdfast.ID, other *pipeline.Pipeline) {
			closed := holdfast.Closed
			submit(w.T.(*testing.T), other, eventID, inventory.ChangeEvent{EventChange: holdfast.EventChange{Status: &closed}})
		}, seats: 1, want: holdfast.CodeEventNotOnSale, available: 8},
		"it raised the capacity": {change: func(w *env, eventID holdfast.ID, other *pipeline.Pipeline) {
			more := int64(20)
			submit(w.T.(*testing.T), other, eventID, inventory.ChangeEvent{EventChange: holdfast.EventChange{TotalSeats: &more}})
		}, seats: 18},
		"it limits customers": {change: set("maxSeatsPerUser", 2), seats: 3, want: holdfast.CodeSeatLimitReached, available: 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			w.T = t
			eventID := w.Event(10)
			p, other := newProcess(t, w), newProcess(t, w)
			submit(t, p, eventID, acquire(eventID, 2, "")) // it remembers the event
			c.change(w, eventID, other)
			_, err := p.Submit(w.Ctx(), eventID, acquire(eventID, c.seats, ""))
			wantCode(t, err, c.want)
			if available, _ := w.Available(eventID); available != c.available {
				t.Errorf("%d seats are available, want %d", available, c.available)
			}
		})
	}
}

// Two processes sell one event, release and sell again. Each remembers its last read, and
// no seat is sold twice or lost.
func TestSubmit_TwoProcessesOnOneEvent(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const total = 30
	eventID := w.Event(total)
	processes := []*pipeline.Pipeline{newProcess(t, w), newProcess(t, w)}
	var locks []holdfast.Lock
	held := int64(0)
	for i := range 200 {
		p := processes[i/3%2]
		if i%5 < 3 {
			seats := int64(1 + i%7)
			result, err := p.Submit(w.Ctx(), eventID, acquire(eventID, seats, []string{"", mongodb.NewID().String()}[i%2]))
			switch {
			case held+seats <= total && err == nil:
				locks, held = append(locks, *result.Lock), held+seats
			case held+seats <= total || !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable):
				t.Fatalf("round %d: %d seats while %d of %d are held: %v", i, seats, held, total, err)
			}
		} else if len(locks) > 0 {
			submit(t, p, eventID, inventory.Release{LockID: locks[0].ID})
			held -= locks[0].Seats
			locks = locks[1:]
		}
	}
	wantAvailable(t, w, eventID, total-held)
	testenv.CheckInvariants(t, w.DB.Database)
}
