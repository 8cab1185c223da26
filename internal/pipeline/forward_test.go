package pipeline_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// losing carries a command out in another process, or does not, and loses the answer.
type losing struct {
	to   *pipeline.Pipeline // nil: the command is lost too
	t    *testing.T
	then func() // before the loss is told
}

func (l losing) Forward(ctx context.Context, event holdfast.ID, c inventory.Command) (inventory.Result, pipeline.Forwarded, error) {
	if l.to != nil {
		if _, err := l.to.Submit(ctx, event, c); err != nil && !holdfast.HasCode(err, holdfast.CodeLockReleased) {
			l.t.Error(err)
		}
	}
	if l.then != nil {
		l.then()
	}
	return inventory.Result{}, pipeline.Lost, nil
}

func (losing) Contended(holdfast.ID, []int32) bool { return false }

// The answer of another process is lost. Whether it has carried the command out or not, it is carried out once.
func TestLost_IsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	for name, isDone := range map[string]bool{"it was carried out": true, "it was not": false} {
		for key, title := range map[string]string{"": "without a key", "key": "with a key"} {
			t.Run(name+", "+title, func(t *testing.T) {
				t.Parallel()
				w := testenv.New(t)
				event := w.Event(2) // no seat is left for another lock
				p, f := newProcess(t, w), losing{t: t}
				if isDone {
					f.to = newProcess(t, w)
				}
				p.UseForwarder(f)
				c := acquire(event, 2, key)
				made := submit(t, p, event, c)
				if made.Lock.ID != c.LockID || made.Replayed {
					t.Errorf("got %+v", made)
				}
				wantAvailable(t, w, event, 0)
				for range 2 {
					if released := submit(t, p, event, inventory.Release{LockID: c.LockID}); released.Lock.Status != holdfast.LockReleased {
						t.Errorf("got %+v", released.Lock)
					}
				}
				wantAvailable(t, w, event, 2)
				_, err := p.Submit(t.Context(), event, inventory.ChangeSeats{LockID: c.LockID, Seats: 1})
				wantCode(t, err, holdfast.CodeOutcomeUnknown)
			})
		}
	}
}

// The caller gives up while the answer is lost: no seats are kept for it.
func TestLost_CallersThatGaveUpKeepNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	p := newProcess(t, w)
	ctx, giveUp := context.WithCancel(t.Context())
	p.UseForwarder(losing{t: t, to: newProcess(t, w), then: giveUp})
	_, err := p.Submit(ctx, event, acquire(event, 2, ""))
	wantCode(t, err, holdfast.CodeUnavailable)
	testenv.WaitFor(t, func() bool { available, _ := w.Available(event); return available == 10 })

	keyed := acquire(event, 2, "key")
	ctx, giveUp = context.WithCancel(t.Context())
	p = newProcess(t, w)
	p.UseForwarder(losing{t: t, to: newProcess(t, w), then: giveUp})
	_, err = p.Submit(ctx, event, keyed)
	if unknown, ok := holdfast.DetailsOf[holdfast.UnknownLock](err); !ok || unknown.LockID != keyed.LockID {
		t.Errorf("with a key: %v", err)
	}
	wantAvailable(t, w, event, 8)
}

// A forwarded command whose caller has given up leaves no lock that no caller can find.
func TestOrphaned_ReleasesLocksThatNoKeyFinds(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	p := newProcess(t, w)
	keyless, keyed, unknown := acquire(event, 1, ""), acquire(event, 1, "key"), acquire(event, 1, "")
	results := map[holdfast.ID]inventory.Result{}
	for _, c := range []inventory.Acquire{keyless, keyed, unknown} {
		results[c.LockID] = submit(t, p, event, c)
	}
	results[unknown.LockID] = inventory.Result{Err: context.Canceled}
	// The event is held for a while, and other processes sell it too: the releases are left to none of them.
	p.UseForwarder(moving{contended: func([]int32) bool { return true }})
	for i, c := range []inventory.Acquire{keyed, keyless, unknown} {
		release := w.HoldEvent(event.String())
		p.Orphaned(event, c, holdfast.Origin{}, results[c.LockID])
		testenv.HoldsFor(t, 100*time.Millisecond, func() bool { available, _ := w.Available(event); return available == 7+int64(max(0, i-1)) })
		release()
		testenv.WaitFor(t, func() bool { available, _ := w.Available(event); return available == 7+int64(i) })
	}
	p.Orphaned(event, acquire(event, 1, ""), holdfast.Origin{}, inventory.Result{Err: holdfast.Refuse(holdfast.CodeSeatsUnavailable, "")})
	testenv.WaitFor(t, func() bool { available, _ := w.Available(event); return available == 9 })
	if lock, err := w.Store.Lock(t.Context(), keyed.LockID); err != nil || lock.Status != holdfast.LockActive {
		t.Errorf("the lock that its key finds is %+v, %v", lock, err)
	}
}

// A batch that keeps meeting commits of other processes goes to the process that sells the event, unless that was tried.
func TestContended_BatchesMoveOn(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	p, owner := newProcess(t, w), newProcess(t, w)
	release := w.HoldEvent(event.String())
	var looks, forwards atomic.Int64
	p.UseForwarder(moving{forward: func(ctx context.Context, c inventory.Command) (inventory.Result, pipeline.Forwarded, error) {
		switch forwards.Add(1) {
		case 1: // before anything is known
			return inventory.Result{}, pipeline.NotForwarded, nil
		case 2:
			release()
			result, err := owner.Submit(ctx, event, c)
			return result, pipeline.Carried, err
		default:
			t.Error("it is forwarded again")
			return inventory.Result{}, pipeline.NotForwarded, nil
		}
	}, contended: func(writers []int32) bool {
		if writers[len(writers)-1] != p.Writer() {
			t.Errorf("the last writer of %v is not this process, %d", writers, p.Writer())
		}
		return looks.Add(1) > 1
	}})
	submit(t, p, event, acquire(event, 2, "key"))
	if forwards.Load() != 2 || looks.Load() < 2 {
		t.Errorf("%d times forwarded, after %d looks", forwards.Load(), looks.Load())
	}
	wantAvailable(t, w, event, 8)
}

// What the other process does not take, and what came from another process, stays.
func TestContended_CommandsMoveOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	p := newProcess(t, w)
	release := w.HoldEvent(event.String())
	var forwards atomic.Int64
	p.UseForwarder(moving{forward: func(context.Context, inventory.Command) (inventory.Result, pipeline.Forwarded, error) {
		if forwards.Add(1) == 2 {
			time.AfterFunc(100*time.Millisecond, release)
		}
		return inventory.Result{}, pipeline.NotForwarded, nil
	}, contended: func([]int32) bool { return true }})
	submit(t, p, event, acquire(event, 2, "key"))
	if forwards.Load() != 2 {
		t.Errorf("%d times forwarded", forwards.Load())
	}

	release = w.HoldEvent(event.String())
	done := make(chan error, 1)
	go func() {
		_, err := p.SubmitFor(t.Context(), event, acquire(event, 1, "other"), pipeline.Remote{Waiters: waiters{}, ID: 1})
		done <- err
	}()
	testenv.HoldsFor(t, 100*time.Millisecond, func() bool { return len(done) == 0 })
	release()
	if err := <-done; err != nil || forwards.Load() != 2 {
		t.Errorf("got %v, and %d forwards", err, forwards.Load())
	}
	wantAvailable(t, w, event, 7)
}

// moving is a forwarder of functions.
type moving struct {
	forward   func(context.Context, inventory.Command) (inventory.Result, pipeline.Forwarded, error)
	contended func(writers []int32) bool
}

func (m moving) Forward(ctx context.Context, _ holdfast.ID, c inventory.Command) (inventory.Result, pipeline.Forwarded, error) {
	return m.forward(ctx, c)
}
func (m moving) Contended(_ holdfast.ID, writers []int32) bool { return m.contended(writers) }

// waiters are callers that all wait.
type waiters struct{}

func (waiters) Waiting(commands []int64) []int64 { return commands }
