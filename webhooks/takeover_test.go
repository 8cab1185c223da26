package webhooks_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// A dispatcher dies before it has written its results, and another one continues: no change is skipped.
func TestDispatcher_AKilledOneSkipsNothing(t *testing.T) {
	t.Parallel()
	const timeout = 10 * time.Second // a try that a busy machine delays is none that failed
	b := benchOn(testenv.New(t), webhooks.Hooks{Timeout: timeout})
	r := newReceiver(t)
	r.refusesFirst(3, 4, http.StatusBadGateway)
	id := b.endpoint(r)
	killed := errors.New("killed")
	dying := benchOn(b.Env, webhooks.Hooks{Timeout: timeout, Writing: func(func() error) func() error {
		return func() error { return killed }
	}})
	event := b.Event(100)
	b.sell(event, 5)
	for range 2 {
		before, _ := r.got()
		stop := dying.run()
		testenv.WaitFor(t, func() bool { after, _ := r.got(); return len(after) > len(before) })
		b.sell(event, 2)
		stop()
	}
	for _, d := range b.deliveries(id, "") {
		if d.State != webhooks.Pending || d.Attempts > 0 {
			t.Errorf("a killed dispatcher has written %+v", d)
		}
	}
	all := b.changeIDs()
	r.refusesFirst(1, 4, http.StatusBadGateway) // once: the second retry comes after minutes
	b.run()
	testenv.WaitFor(t, func() bool { return r.hasAccepted(all) })
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) == len(all) })
}

// A delivery whose try is open is PENDING, even if many later ones were accepted and are written. So it is not lost
// if the process ends then.
func TestDispatcher_ATryThatIsOpenIsNotSettled(t *testing.T) {
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
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- b.hooks.NewDispatcher(b.encoder, webhooks.Observer{}, errLeaseLost).Run(ctx, slog.New(b.Log), false)
	}()
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) == len(all)-1 })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if pending := b.deliveries(id, webhooks.Pending); len(pending) != 1 || pending[0].Attempts != 0 {
		t.Errorf("%+v", pending)
	}
	next := newReceiver(t)
	next.verifier = r.verifier
	if _, err := b.hooks.Update(t.Context(), id, webhooks.Update{URL: new(next.server.URL)}); err != nil {
		t.Fatal(err)
	}
	b.run()
	testenv.WaitFor(t, func() bool { return next.hasAccepted([]string{created(event)}) })
}

// Two dispatchers at the same time send some changes twice, and skip none, while changes are being committed.
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

// A stopped dispatcher has written the results of all its tries, so the next one sends nothing twice.
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

// The answer to a write of results may be lost although they were written. Repeating the write changes nothing.
func TestSettle_IsRepeatedIfItsAnswerIsLost(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	lost := atomic.Int32{}
	b := benchOn(w, webhooks.Hooks{Timeout: tryTimeout, Writing: func(write func() error) func() error {
		return func() error {
			err := write()
			if lost.Add(1)%2 == 1 {
				return errors.New("the answer was lost")
			}
			return err
		}
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
}

// The clock of a process may be wrong. Times that another process or the receiver relies on are the database's.
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

// Another process may send already once the lease is lost. So the tries in flight end at once, and are not counted.
func TestDispatcher_ALostLeaseEndsTheTriesInFlight(t *testing.T) {
	t.Parallel()
	b := benchOn(testenv.New(t), webhooks.Hooks{Timeout: time.Hour})
	r := newReceiver(t)
	id := b.endpoint(r)
	began, release := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(release) })
	r.answers(func(told, http.ResponseWriter) int {
		close(began)
		<-release
		return http.StatusOK
	})
	b.Event(10)
	b.number()
	ctx, lose := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() {
		ended <- b.hooks.NewDispatcher(b.encoder, webhooks.Observer{}, errLeaseLost).Run(ctx, slog.New(b.Log), false)
	}()
	<-began
	lost := time.Now()
	lose(errLeaseLost)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if took := time.Since(lost); took >= webhooks.StopTimeout {
		t.Errorf("the try ended after %v", took)
	}
	if pending := b.deliveries(id, webhooks.Pending); len(pending) != 1 || pending[0].Attempts != 0 {
		t.Errorf("%+v", pending)
	}
}
