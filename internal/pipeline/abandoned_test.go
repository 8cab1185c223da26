package pipeline_test

import (
	"context"
	"sync"
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

// answer is the outcome of a command.
type answer struct {
	result inventory.Result
	err    error
}

// start submits a command, and returns the channel of its answer.
func start(ctx context.Context, p *pipeline.Pipeline, eventID holdfast.ID, c inventory.Command) <-chan answer {
	answers := make(chan answer, 1)
	startInto(ctx, answers, p, eventID, c)
	return answers
}

func startInto(ctx context.Context, answers chan<- answer, p *pipeline.Pipeline, eventID holdfast.ID, c inventory.Command) {
	go func() {
		result, err := p.Submit(ctx, eventID, c)
		answers <- answer{result, err}
	}()
}

// waitUntilIdle waits until all commands have their answers, posted ones too.
func waitUntilIdle(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()
	testenv.WaitFor(t, func() bool { return p.Queue().InFlight() == 0 })
}

// The caller gives up after the last check before the commit. A lock with a key stays:
// the caller finds it by the key. A lock without a key is released at once.
func TestAbandoned_AfterTheLastCheck(t *testing.T) {
	t.Parallel()
	for key, c := range map[string]struct {
		told      holdfast.Code
		status    holdfast.LockStatus
		available int64
	}{
		"":    {holdfast.CodeUnavailable, holdfast.LockReleased, 10},
		"key": {holdfast.CodeOutcomeUnknown, holdfast.LockActive, 7},
	} {
		t.Run("key="+key, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			eventID := w.Event(10)
			ctx, giveUp := context.WithCancel(w.Ctx())
			defer giveUp()
			var commits atomic.Int32
			answers, told := make(chan answer, 1), make(chan answer, 1)
			p := newProcess(t, watched(t, w, &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
				if e.CommandName == "commitTransaction" && commits.Add(1) == 1 {
					giveUp()
					told <- <-answers
				}
			}}))
			request := acquire(eventID, 3, key)
			startInto(ctx, answers, p, eventID, request)
			wantCode(t, (<-told).err, c.told)
			waitUntilIdle(t, p)
			if lock := w.Lock(request.LockID); lock.Status != c.status {
				t.Errorf("the lock is %s, want %s", lock.Status, c.status)
			}
			wantAvailable(t, w, eventID, c.available)
			if key != "" { // the caller asks again
				again := acquire(eventID, 3, key)
				again.UserID = request.UserID
				if result := submit(t, p, eventID, again); !result.Replayed || result.Lock.ID != request.LockID {
					t.Errorf("asked again: %+v", result)
				}
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

// A caller that gives up before the last check may have been refused elsewhere. It gets
// no seats, with or without a key.
func TestAbandoned_BeforeTheLastCheck(t *testing.T) {
	t.Parallel()
	for key, told := range map[string]holdfast.Code{"": holdfast.CodeUnavailable, "key": holdfast.CodeOutcomeUnknown} {
		t.Run("key="+key, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			eventID := w.Event(10)
			ctx, giveUp := context.WithCancel(w.Ctx())
			defer giveUp()
			written, proceed := make(chan struct{}, 10), make(chan struct{})
			process := watched(t, w, &event.CommandMonitor{Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
				if e.CommandName == "insert" {
					written <- struct{}{}
				}
			}})
			p := newProcess(t, process, withUsers(func(context.Context, []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
				<-proceed // the transaction waits for this before it commits
				return nil, nil
			}))
			answers := start(ctx, p, eventID, acquire(eventID, 3, key))
			<-written
			giveUp()
			wantCode(t, (<-answers).err, told)
			close(proceed)
			waitUntilIdle(t, p)
			if done, stale := process.Transactions(mongodb.Done), process.Transactions(mongodb.Refused); done != 0 || stale != 1 {
				t.Errorf("%d transactions were committed and %d were stale; want 0 and 1", done, stale)
			}
			locks, _, err := w.Seats.ListLocks(w.Ctx(), holdfast.LockFilter{EventID: &eventID}, holdfast.Page{})
			if err != nil || len(locks) != 0 {
				t.Errorf("locks %+v, %v", locks, err)
			}
			wantAvailable(t, w, eventID, 10)
		})
	}
}

// One of two callers in a batch gives up before the last check. The other one gets its seats.
func TestAbandoned_BeforeTheLastCheckFailsNoOtherCommand(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	ctx, giveUp := context.WithCancel(w.Ctx())
	defer giveUp()
	started, written := make(chan struct{}), make(chan struct{}, 10)
	together, proceed := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() {
		close(started)
		<-together
	})
	process := watched(t, w, &event.CommandMonitor{
		Started: func(_ context.Context, e *event.CommandStartedEvent) {
			if e.CommandName == "findAndModify" {
				first()
			}
		},
		Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
			if e.CommandName == "insert" {
				written <- struct{}{}
			}
		},
	})
	var lookups atomic.Int32
	p := newProcess(t, process, withUsers(func(context.Context, []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
		if lookups.Add(1) == 2 {
			<-proceed // the second transaction waits for this before it commits
		}
		return nil, nil
	}))
	before := start(w.Ctx(), p, eventID, acquire(eventID, 1, ""))
	<-started
	gone, patient := start(ctx, p, eventID, acquire(eventID, 3, "")), start(w.Ctx(), p, eventID, acquire(eventID, 2, ""))
	waitForBatch(t, p, eventID, 2)
	close(together)
	wantCode(t, (<-before).err, "")
	for range 3 { // the first transaction inserts its lock and its changes, the second one its locks
		<-written
	}
	giveUp()
	wantCode(t, (<-gone).err, holdfast.CodeUnavailable)
	close(proceed)
	wantCode(t, (<-patient).err, "")
	waitUntilIdle(t, p)
	wantAvailable(t, w, eventID, 7)
	testenv.CheckInvariants(t, w.DB.Database)
}

// A command that is still in the queue is dropped: its caller gets UNAVAILABLE.
func TestAbandoned_BeforeItIsTakenUp(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	lock := w.Acquire(eventID, 2, testenv.Soon())
	looking, proceed := make(chan struct{}, 10), make(chan struct{})
	p := newProcess(t, w, withUsers(func(context.Context, []holdfast.ID) (map[holdfast.ID]*holdfast.Error, error) {
		looking <- struct{}{}
		<-proceed
		return nil, nil
	}))
	first := start(w.Ctx(), p, eventID, acquire(eventID, 1, ""))
	<-looking
	ctx, giveUp := context.WithCancel(w.Ctx())
	keyed, release := start(ctx, p, eventID, acquire(eventID, 3, "key")), start(ctx, p, eventID, inventory.Release{LockID: lock.ID})
	waitForBatch(t, p, eventID, 2)
	giveUp()
	wantCode(t, (<-keyed).err, holdfast.CodeUnavailable)
	wantCode(t, (<-release).err, holdfast.CodeUnavailable)
	close(proceed)
	wantCode(t, (<-first).err, "")
	waitUntilIdle(t, p)
	if status := w.Lock(lock.ID).Status; status != holdfast.LockActive {
		t.Errorf("the lock is %s", status)
	}
	wantAvailable(t, w, eventID, 7)
}

// A release in flight is carried out. Its caller gets OUTCOME_UNKNOWN and asks again.
func TestAbandoned_ReleaseInFlightIsCarriedOut(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	lock := w.Acquire(eventID, 2, testenv.Soon())
	free := w.HoldEvent(eventID.String())
	p := newProcess(t, w)
	ctx, giveUp := context.WithCancel(w.Ctx())
	answers := start(ctx, p, eventID, inventory.Release{LockID: lock.ID})
	waitForBatch(t, p, eventID, 0)
	giveUp()
	wantCode(t, (<-answers).err, holdfast.CodeOutcomeUnknown)
	free()
	waitUntilIdle(t, p)
	if status := w.Lock(lock.ID).Status; status != holdfast.LockReleased {
		t.Errorf("the lock is %s", status)
	}
	if result := submit(t, p, eventID, inventory.Release{LockID: lock.ID}); result.Lock.Status != holdfast.LockReleased {
		t.Errorf("asked again: %+v", result)
	}
	wantAvailable(t, w, eventID, 10)
}

func TestAbandoned_EndedContextIsNotQueued(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	ctx, cancel := context.WithCancel(w.Ctx())
	cancel()
	_, err := newProcess(t, w).Submit(ctx, eventID, acquire(eventID, 1, "key"))
	wantCode(t, err, holdfast.CodeUnavailable)
	wantAvailable(t, w, eventID, 10)
}

// A batch whose outcome stays unknown may have made a lock for a caller that gave up. It is
// released once the database answers again; only the lock with a key can be found.
func TestAbandoned_BeforeAnOutcomeThatStaysUnknown(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "holdfast_test", func(o *mongodb.Options) { o.CommitTimeout = 100 * time.Millisecond })
	operator := testenv.Open(t, w.URI, w.DB.Name()) // its own connections, which do not fail
	p := newProcess(t, w, func(o *pipeline.Options) { o.SettleTimeout = time.Second })
	eventID := w.Event(10)
	appliedButNotAnswered := bson.D{{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 64}, {Key: "errmsg", Value: "timeout"}}}}
	off := operator.FailCommands("commitTransaction", "alwaysOn", appliedButNotAnswered)
	first := start(w.Ctx(), p, eventID, acquire(eventID, 1, "first"))
	waitForBatch(t, p, eventID, 0)
	ctx, giveUp := context.WithCancel(w.Ctx())
	abandoned, kept := acquire(eventID, 2, ""), acquire(eventID, 3, "key")
	left, stayed := start(ctx, p, eventID, abandoned), start(w.Ctx(), p, eventID, kept)
	waitForBatch(t, p, eventID, 2)
	wantCode(t, (<-first).err, holdfast.CodeOutcomeUnknown)
	testenv.WaitFor(t, func() bool {
		lock, err := w.Seats.GetLock(w.Ctx(), abandoned.LockID)
		return err == nil && lock.Status == holdfast.LockActive
	})
	giveUp()
	wantCode(t, (<-left).err, holdfast.CodeUnavailable)
	wantCode(t, (<-stayed).err, holdfast.CodeOutcomeUnknown)
	off()
	testenv.WaitFor(t, func() bool { return w.Lock(abandoned.LockID).Status == holdfast.LockReleased })
	if status := w.Lock(kept.LockID).Status; status != holdfast.LockActive {
		t.Errorf("the lock with a key is %s", status)
	}
	wantAvailable(t, w, eventID, 10-1-3)
	testenv.CheckInvariants(t, w.DB.Database)
}
