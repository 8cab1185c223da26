package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// A dispatcher that dies before it has written what it sent is followed by another one: nothing is skipped.
func TestDispatcher_AKilledOneSkipsNothing(t *testing.T) {
	t.Parallel()
	const timeout = 10 * time.Second // a try that a busy machine delays is none that failed
	b := benchOn(testenv.New(t), webhooks.Hooks{Timeout: timeout})
	r := newReceiver(t)
	r.refusesFirst(3, 4, http.StatusBadGateway)
	id := b.endpoint(r)
	killed := errors.New("killed")
	dying := benchOn(b.Env, webhooks.Hooks{Timeout: timeout, BeforeWrite: func() error { return killed }})
	event := b.Event(100)
	b.sell(event, 5)
	for range 2 {
		before, _ := r.got()
		stop := dying.run()
		testenv.WaitFor(t, func() bool { after, _ := r.got(); return len(after) > len(before) })
		b.sell(event, 2)
		stop()
	}
	if list := b.deliveries(id, ""); len(list) > 0 {
		t.Errorf("a killed dispatcher has written %+v", list)
	}
	all := b.changeIDs()
	r.refusesFirst(1, 4, http.StatusBadGateway) // once: the second retry comes after minutes
	b.run()
	testenv.WaitFor(t, func() bool { return r.hasAccepted(all) })
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) == len(all) })
}

// The position stays in front of a change whose try is open, however many later ones were accepted and are written: a process that
// ends then loses nothing.
func TestDispatcher_ATryThatIsOpenHoldsThePosition(t *testing.T) {
	t.Parallel()
	b := benchOn(testenv.New(t), webhooks.Hooks{Timeout: time.Hour})
	r := newReceiver(t)
	id := b.endpoint(r)
	event := b.Event(100)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	r.answers(func(one told, _ http.ResponseWriter) int {
		if one.Subject == "events/"+event.String() {
			<-release
			return http.StatusGone
		}
		return http.StatusOK
	})
	b.sell(event, 3)
	all := b.changeIDs()
	ctx, lose := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() {
		ended <- b.hooks.NewDispatcher(b.encoder, webhooks.Observer{}, errLeaseLost).Run(ctx, slog.New(b.Log), false)
	}()
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) == len(all)-1 })
	lose(errLeaseLost)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	next := newReceiver(t)
	next.verifier = r.verifier
	if _, err := b.hooks.Update(t.Context(), id, webhooks.Update{URL: new(next.server.URL)}); err != nil {
		t.Fatal(err)
	}
	b.run()
	testenv.WaitFor(t, func() bool { return next.hasAccepted([]string{created(event)}) })
}

// A transaction that commits late is told, although later ones were.
func TestDispatcher_ALateCommitIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r)
	late := b.lateChange()
	b.run()
	prompt := b.Event(1)
	testenv.WaitFor(t, func() bool {
		return len(b.deliveries(id, webhooks.Delivered)) == 1 && r.hasAccepted([]string{created(prompt)})
	})
	changeID := late()
	testenv.WaitFor(t, func() bool { return r.hasAccepted([]string{changeID}) })
}

// lateChange begins a transaction with a change, which the result commits.
func (b *bench) lateChange() (commit func() (changeID string)) {
	b.T.Helper()
	begun, finish, done := make(chan struct{}), make(chan struct{}), make(chan error)
	begin := sync.OnceFunc(func() { close(begun) })
	lock := holdfast.Lock{ID: ids.New(), EventID: ids.New(), UserID: ids.New(), Seats: 1, Status: holdfast.LockActive}
	change := holdfast.Change{Type: holdfast.ChangeLockCreated, Lock: &lock}
	go func() {
		done <- mongodb.Do(b.Ctx(), b.DB, func(ctx context.Context) error {
			if _, err := b.DB.Collection("other").InsertOne(ctx, bson.D{}); err != nil {
				return err
			}
			record := changes.Record{EventID: lock.EventID, At: time.Now()}
			record.Add(&change)
			err := changes.Insert(ctx, b.DB, &record)
			begin()
			<-finish
			return err
		})
	}()
	<-begun
	return func() string {
		close(finish)
		if err := <-done; err != nil {
			b.T.Fatal(err)
		}
		return change.ID()
	}
}

// Two dispatchers at once tell some changes twice, and skip none; while a writer does not wait for them.
func TestDispatcher_TwoAtOnceSkipNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r)
	other := benchOn(b.Env, webhooks.Hooks{Timeout: tryTimeout})
	stop := b.run()
	event := b.Event(1000)
	for n := range 6 {
		b.sell(event, 5)
		if n == 2 {
			other.run()
		}
		if n == 4 {
			stop()
		}
	}
	all := b.changeIDs()
	testenv.WaitFor(t, func() bool { return r.hasAccepted(all) })
	testenv.WaitFor(t, func() bool {
		var told []string
		for _, d := range b.deliveries(id, webhooks.Delivered) {
			told = append(told, d.ChangeID)
		}
		return !slices.ContainsFunc(all, func(c string) bool { return !slices.Contains(told, c) })
	})
}

// A stopped dispatcher has written all that it sent, so the next one sends nothing twice.
func TestDispatcher_AStopKeepsWhatWasSent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	b.endpoint(r)
	event := b.Event(100)
	for range 3 {
		stop := b.run()
		b.sell(event, 3)
		all := b.changeIDs()
		testenv.WaitFor(t, func() bool { return r.hasAccepted(all) })
		stop()
		if tries, _ := r.got(); len(tries) != len(all) {
			t.Errorf("%d tries for %d changes", len(tries), len(all))
		}
	}
	for _, line := range b.Log.Lines("whsec_") {
		if strings.Contains(line, "whsec_") {
			t.Errorf("the log has a secret: %s", line)
		}
	}
}

// Without its lease a dispatcher sends nothing more, and does not wait for an endpoint that hangs.
func TestDispatcher_WithoutItsLeaseItEndsAtOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	b := benchOn(w, webhooks.Hooks{Timeout: time.Hour})
	r := newReceiver(t)
	release := make(chan struct{})
	r.answers(func(told, http.ResponseWriter) int { <-release; return http.StatusOK })
	t.Cleanup(func() { close(release) })
	id := b.endpoint(r)
	b.Event(1)
	all := b.changeIDs()
	ctx, lose := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() {
		ended <- b.hooks.NewDispatcher(b.encoder, webhooks.Observer{}, errLeaseLost).Run(ctx, slog.New(b.Log), false)
	}()
	testenv.WaitFor(t, func() bool { tries, _ := r.got(); return len(tries) == len(all) })
	lose(fmt.Errorf("%w: another process has it", errLeaseLost))
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if list := b.deliveries(id, ""); len(list) > 0 {
		t.Errorf("a try that was ended counts: %+v", list)
	}
}

// A runner that was replaced writes nothing any more: its position could be in front of or behind what the next one has sent.
func TestFlush_OfARunnerThatWasReplacedWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.endpoint(newReceiver(t))
	first, err := b.hooks.Claim(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	want := func(name string, write func(int64) (bool, error), seq int64, isReplaced bool, at int64) {
		t.Helper()
		if got, err := write(seq); err != nil || got != isReplaced {
			t.Errorf("%s: replaced: %v, %v", name, got, err)
		}
		if got, err := b.hooks.Position(t.Context(), id); err != nil || got != at {
			t.Errorf("%s: at %d, want %d: %v", name, got, at, err)
		}
	}
	want("the first one", first, 5, false, 5)
	second, err := b.hooks.Claim(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	want("after the second one has begun", first, 9, true, 5)
	want("the second one", second, 7, false, 7)
	disabled, enabled := webhooks.Disabled, webhooks.Enabled
	for _, state := range []*webhooks.State{&disabled, &enabled} {
		if _, err := b.hooks.Update(t.Context(), id, webhooks.Update{State: state}); err != nil {
			t.Fatal(err)
		}
	}
	want("after it was enabled anew", second, 9, true, 7)
}

// A runner that was replaced, such as that of a process that was paused, changes no document: a delivery that lost its time would
// never be tried.
func TestDue_WritesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.endpoint(newReceiver(t), "holdfast.event.*")
	event := b.Event(1)
	b.rename(event, 3)
	b.number()
	b.set(id, webhooks.Disabled) // the changes are in front of the endpoint: all of them can be replayed below
	b.set(id, webhooks.Enabled)
	b.Set("webhooks", id, bson.D{{Key: "internal.seq", Value: int64(100)}})
	if n, err := b.hooks.Plan(t.Context(), id); err != nil || n != 4 {
		t.Fatal(n, err)
	}
	before := b.deliveries(id, webhooks.Pending)
	subjects, later, err := b.hooks.Due(t.Context(), id)
	if err != nil || !slices.Equal(subjects, []string{"events/" + event.String()}) || later != 3 {
		t.Errorf("%v, %d later, %v", subjects, later, err)
	}
	if after := b.deliveries(id, webhooks.Pending); !slices.Equal(before, after) {
		t.Errorf("%+v became %+v", before, after)
	}
}

// The answer to a flush may be lost although it was written. Its repetition writes no delivery twice.
func TestFlush_IsRepeatedIfItsAnswerIsLost(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	lost := atomic.Int32{}
	b := benchOn(w, webhooks.Hooks{Timeout: tryTimeout, AfterWrite: func() error {
		if lost.Add(1)%2 == 1 {
			return errors.New("the answer was lost")
		}
		return nil
	}})
	r := newReceiver(t)
	id := b.endpoint(r)
	r.refusesFirst(1, 4, http.StatusBadGateway)
	b.run()
	event := b.Event(100)
	b.sell(event, 5)
	all := b.changeIDs()
	testenv.WaitFor(t, func() bool { return r.hasAccepted(all) && len(b.deliveries(id, webhooks.Pending)) == 0 })
	r.checkOrder()
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) >= len(all) })
	seen := map[string]bool{}
	for _, d := range b.deliveries(id, webhooks.Delivered) {
		if seen[d.ChangeID] {
			t.Errorf("%s is listed twice", d.ChangeID)
		}
		seen[d.ChangeID] = true
	}
	if lines := w.Log.Lines("another process tells it"); len(lines) > 0 {
		t.Errorf("%q", lines)
	}
}

// The clock of a process may be wrong. What another process or the receiver relies on is by the database's clock.
func TestDispatcher_AWrongClockChangesNoTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, skew := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		r := newReceiver(t) // it verifies the times of the signatures
		id := b.endpoint(r, "holdfast.event.created")
		r.answersAlways(http.StatusBadGateway)
		b.Event(1)
		skewed := benchOn(testenv.Open(t, b.URI, b.DB.Name(), func(o *mongodb.Options) {
			o.Clock = func() time.Time { return time.Now().Add(skew) }
		}), webhooks.Hooks{Timeout: tryTimeout})
		skewed.dispatchOnce()
		pending := b.deliveries(id, webhooks.Pending)
		if len(pending) != 1 || time.Until(pending[0].NextAttemptAt).Abs() > time.Minute {
			t.Errorf("%s: %+v", name, pending)
		}
		if err := b.hooks.Delete(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
}
