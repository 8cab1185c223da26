package webhooks_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// Of several endpoints one hangs, one refuses all, one redirects and one is slow. Another one is told of everything.
func TestDispatcher_AFailingEndpointDelaysNoOther(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good, slow, hanging, refusing, redirecting := newReceiver(t), newReceiver(t), newReceiver(t), newReceiver(t), newReceiver(t)
	elsewhere := newReceiver(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	slow.answers(func(told, http.ResponseWriter) int {
		testenv.Poll(10*time.Millisecond, func() bool { return false })
		return http.StatusNoContent
	})
	hanging.answers(func(told, http.ResponseWriter) int { <-release; return http.StatusOK })
	refusing.answersAlways(http.StatusInternalServerError)
	redirecting.answers(func(_ told, w http.ResponseWriter) int {
		w.Header().Set("Location", elsewhere.server.URL)
		return http.StatusTemporaryRedirect
	})
	var ids []holdfast.ID
	for _, r := range []*receiver{good, slow, hanging, refusing, redirecting} {
		ids = append(ids, b.endpoint(r))
	}
	b.run()
	event := b.Event(100)
	b.sell(event, 10)
	all := b.changeIDs()
	testenv.WaitFor(t, func() bool { return good.hasAccepted(all) && slow.hasAccepted(all) })
	good.checkOrder()
	slow.checkOrder()
	testenv.WaitFor(t, func() bool {
		return len(b.deliveries(ids[0], webhooks.Delivered)) == len(all) && len(b.deliveries(ids[2], webhooks.Pending)) > 0 &&
			len(b.deliveries(ids[3], webhooks.Pending)) > 0 && len(b.deliveries(ids[4], webhooks.Pending)) > 0
	})
	if wrong, _ := elsewhere.got(); len(wrong) > 0 {
		t.Errorf("the redirect was followed: %v", wrong)
	}
	for _, d := range b.deliveries(ids[3], webhooks.Pending) {
		if d.Attempts > 0 && d.LastStatus != http.StatusInternalServerError || d.Attempts == 0 && !d.NextAttemptAt.IsZero() {
			t.Errorf("%+v", d)
		}
	}
}

// After the first success an endpoint gets all that waits, in the order of each subject, and each change once.
func TestDispatcher_AfterASuccessAllThatWaitsIsSent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	r.answersAlways(http.StatusServiceUnavailable)
	id := b.endpoint(r)
	stop := b.run()
	event := b.Event(100)
	b.sell(event, 10)
	all := b.changeIDs()
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Pending)) > 0 })
	stop()
	tries, _ := r.got()
	if len(tries) > webhooks.MaxInFlight+10 {
		t.Errorf("%d tries at an endpoint that is down", len(tries))
	}
	r.answers(nil)
	b.run()
	testenv.WaitFor(t, func() bool { return r.hasAccepted(all) && len(b.deliveries(id, webhooks.Pending)) == 0 })
	r.checkOrder()
	if _, accepted := r.got(); len(accepted) != len(all) {
		t.Errorf("%d deliveries of %d changes", len(accepted), len(all))
	}
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) == len(all) })
}

// One change that is refused holds up its subject alone.
func TestDispatcher_ARefusedChangeHoldsUpItsSubjectAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	event := b.Event(100)
	poisoned := b.Acquire(event, 1, testenv.Soon())
	subject := "locks/" + poisoned.ID.String()
	r.answers(func(one told, _ http.ResponseWriter) int {
		if one.Subject == subject {
			return http.StatusBadRequest
		}
		return http.StatusOK
	})
	id := b.endpoint(r, "holdfast.lock.*")
	if _, err := b.Seats.ReleaseLock(t.Context(), poisoned.ID); err != nil {
		t.Fatal(err)
	}
	b.run()
	b.sell(event, 10)
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) == 30 })
	pending := b.deliveries(id, webhooks.Pending)
	if len(pending) != 1 || pending[0].Subject != subject || pending[0].Attempts != 1 || pending[0].LastStatus != http.StatusBadRequest {
		t.Errorf("%+v", pending)
	}
	if wait := time.Until(pending[0].NextAttemptAt); wait > 6*time.Second {
		t.Errorf("tried again in %v", wait)
	}
}

// After the last try a delivery is DEAD, its subject goes on, and a replay delivers it.
func TestDispatcher_DeadDeliveriesCanBeReplayed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r, "holdfast.lock.*")
	event := b.Event(100)
	r.answers(func(one told, _ http.ResponseWriter) int {
		if one.Type == string(holdfast.ChangeLockCreated) {
			return http.StatusBadRequest
		}
		return http.StatusOK
	})
	b.sell(event, 1)
	b.dispatchOnce()
	pending := b.deliveries(id, webhooks.Pending)
	if len(pending) != 3 || pending[0].State != webhooks.Pending {
		t.Fatalf("%+v", pending)
	}
	passed := time.Now().Add(-time.Minute)
	_, err := b.DB.Collection("webhookdeliveries").UpdateMany(t.Context(), bson.D{{Key: "type", Value: holdfast.ChangeLockCreated}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "step", Value: 9}, {Key: "nextAttemptAt", Value: passed}}}})
	if err != nil {
		t.Fatal(err)
	}
	b.run()
	testenv.WaitFor(t, func() bool {
		return len(b.deliveries(id, webhooks.Dead)) == 1 && len(b.deliveries(id, webhooks.Delivered)) == 2
	})
	r.answers(nil)
	if n, err := b.hooks.Replay(t.Context(), id, webhooks.Replay{State: webhooks.Dead}); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) == 3 })
	if dead := b.deliveries(id, webhooks.Dead); len(dead) > 0 {
		t.Errorf("%+v", dead)
	}
	all, _ := r.got()
	if first, last := all[0], all[len(all)-1]; first.ID != last.ID || first.body != last.body {
		t.Errorf("first %+v, then %+v", first, last)
	}
}

// 410 disables an endpoint. What it misses then comes by replay alone.
func TestDispatcher_GoneDisables(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r, "holdfast.event.*")
	r.answersAlways(http.StatusGone)
	b.run()
	b.Event(1)
	testenv.WaitFor(t, func() bool {
		e, err := b.hooks.Get(t.Context(), id)
		return err == nil && e.State == webhooks.Disabled && e.Reason == webhooks.ReasonGone
	})
	r.answers(nil)
	b.Event(2)
	missed := b.changeIDs()
	enabled := webhooks.Enabled
	if _, err := b.hooks.Update(t.Context(), id, webhooks.Update{State: &enabled}); err != nil {
		t.Fatal(err)
	}
	b.Event(3)
	all := b.changeIDs()
	testenv.WaitFor(t, func() bool { return r.hasAccepted(all[2:]) && r.hasAccepted(all[:1]) })
	if r.hasAccepted(missed) {
		t.Error("the endpoint was told of a change while it was disabled")
	}
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) == 2 })
	if n, err := b.hooks.Replay(t.Context(), id, webhooks.Replay{}); err != nil || n != 3 {
		t.Error(n, err)
	}
	testenv.WaitFor(t, func() bool { return r.hasAccepted(all) })
}

// A dispatcher that dies before it has written what it sent is followed by another one: nothing is skipped.
func TestDispatcher_AKilledOneSkipsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	n := 0
	r.answers(func(told, http.ResponseWriter) int { // some fail
		r.mu.Lock()
		defer r.mu.Unlock()
		if n++; n%4 == 0 {
			return http.StatusBadGateway
		}
		return http.StatusOK
	})
	id := b.endpoint(r)
	killed := errors.New("killed")
	dying := benchOn(b.Env, webhooks.Hooks{Timeout: tryTimeout, BeforeWrite: func() error { return killed }})
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
	b.run()
	testenv.WaitFor(t, func() bool { return r.hasAccepted(all) })
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) == len(all) })
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
