package webhooks_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// Of 50 endpoints one hangs, one refuses all, one redirects and one is slow. The other 46 have everything while the first try of
// the one that hangs is still open.
func TestDispatcher_FourOfFiftyFail(t *testing.T) {
	t.Parallel()
	b := benchOn(testenv.New(t), webhooks.Hooks{}) // the timeout of a try is that of the product
	var good []*receiver
	var ids []holdfast.ID
	for range webhooks.MaxEndpoints - 4 {
		r := newReceiver(t)
		good = append(good, r)
		ids = append(ids, b.endpoint(r))
	}
	hanging, refusing, redirecting, slow := newReceiver(t), newReceiver(t), newReceiver(t), newReceiver(t)
	release := make(chan struct{})
	var hung atomic.Int32
	hanging.answers(func(told, http.ResponseWriter) int {
		hung.Add(1)
		<-release
		hung.Add(-1)
		return http.StatusOK
	})
	refusing.answersAlways(http.StatusInternalServerError)
	redirecting.answers(func(_ told, w http.ResponseWriter) int {
		w.Header().Set("Location", good[0].server.URL)
		return http.StatusPermanentRedirect
	})
	slow.answers(func(told, http.ResponseWriter) int {
		testenv.Poll(20*time.Millisecond, func() bool { return false })
		return http.StatusOK
	})
	for _, r := range []*receiver{hanging, refusing, redirecting, slow} {
		ids = append(ids, b.endpoint(r))
	}
	event := b.Event(100)
	b.number()
	b.run()
	testenv.WaitFor(t, func() bool { return hung.Load() == 1 })
	b.sell(event, 5)
	all := b.changeIDs()
	for _, r := range good {
		testenv.WaitFor(t, func() bool { return r.hasAccepted(all) })
	}
	if first := hung.Load(); first == 0 {
		t.Error("the try that hangs has ended before the others had everything")
	}
	for _, r := range good {
		r.checkOrder()
		if tries := r.tries(); len(tries) != len(all) {
			t.Errorf("%d of %d changes", len(tries), len(all))
		}
	}
	for _, failing := range []*receiver{refusing, redirecting} {
		if tries, accepted := failing.got(); len(tries) > 2*len(all) || len(accepted) > 0 {
			t.Errorf("%d tries at an endpoint that fails, %d accepted", len(tries), len(accepted))
		}
	}
	close(release)
	testenv.WaitFor(t, func() bool { return hanging.hasAccepted(all) && slow.hasAccepted(all) })
	testenv.WaitFor(t, func() bool {
		return len(b.deliveries(ids[len(ids)-3], webhooks.Pending)) > 0 && len(b.deliveries(ids[len(ids)-2], webhooks.Pending)) > 0
	})
}

// An endpoint that accepts all but one change fails and recovers with each: that one is not tried again each time.
func TestDispatcher_ARefusedChangeIsNotTriedWithEachRecovery(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	event := b.Event(200)
	poisoned := b.Acquire(event, 1, testenv.Soon())
	r.answers(func(one told, _ http.ResponseWriter) int {
		if one.Subject == "locks/"+poisoned.ID.String() {
			return http.StatusBadRequest
		}
		return http.StatusOK
	})
	id := b.endpoint(r, "holdfast.lock.*")
	if _, err := b.Seats.ReleaseLock(t.Context(), poisoned.ID); err != nil {
		t.Fatal(err)
	}
	b.run()
	refused := "locks-" + poisoned.ID.String() + "-1-lock.released"
	testenv.WaitFor(t, func() bool { return r.tries()[refused] > 0 })
	for range 40 { // one after the other
		lock := b.Acquire(event, 1, testenv.Soon())
		testenv.WaitFor(t, func() bool { return r.hasAccepted([]string{"locks-" + lock.ID.String() + "-0-lock.created"}) })
	}
	const most = 8 // by the schedule two or three, and after a second, two, four …
	if n := r.tries()[refused]; n > most {
		t.Errorf("%d tries of a change that is refused", n)
	}
	if pending := b.deliveries(id, webhooks.Pending); len(pending) != 1 {
		t.Errorf("%+v", pending)
	}
}

// An endpoint that fails again right after its recovery gets no try of each document.
func TestDispatcher_AnEndpointThatFailsAgainIsProbed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r, "holdfast.lock.*")
	event := b.Event(200)
	r.answersAlways(http.StatusBadGateway)
	for range webhooks.MaxInFlight {
		b.Acquire(event, 1, testenv.Soon())
	}
	b.dispatchOnce()
	waiting := len(b.deliveries(id, webhooks.Pending))
	if waiting != webhooks.MaxInFlight {
		t.Fatalf("%d documents", waiting)
	}
	b.set(id, webhooks.Disabled) // enabled again, it counts as recovered
	b.set(id, webhooks.Enabled)
	before, _ := r.got()
	r.answers(func(told, http.ResponseWriter) int { return http.StatusBadGateway })
	b.run()
	testenv.WaitFor(t, func() bool { now, _ := r.got(); return len(now) >= len(before)+webhooks.MaxInFlight })
	r.answers(nil)
	all := b.changeIDs()[1:] // without the event
	testenv.WaitFor(t, func() bool { return r.hasAccepted(all) })
	if now, _ := r.got(); len(now) > len(before)+3*webhooks.MaxInFlight {
		t.Errorf("%d tries of %d changes", len(now), len(all))
	}
}

// The documents of an endpoint are bounded, however many changes one subject has; its changes are not lost, but wait.
func TestDispatcher_DocumentsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 30
	w := testenv.New(t)
	b := benchOn(w, webhooks.Hooks{Timeout: tryTimeout, MaxStored: most})
	r := newReceiver(t)
	id := b.endpoint(r)
	event := b.Event(100)
	subject := "events/" + event.String()
	r.answers(func(one told, _ http.ResponseWriter) int {
		if one.Subject == subject {
			return http.StatusBadRequest
		}
		return http.StatusOK
	})
	b.rename(event, 2*most)
	b.sell(event, 2)
	all := b.changeIDs()
	stop := b.run()
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Pending)) == most })
	b.rename(event, most)
	testenv.HoldsFor(t, 2*time.Second, func() bool { return len(b.deliveries(id, webhooks.Pending)) == most })
	stop()
	all = append(all, b.changeIDs()[len(all):]...)
	r.answers(nil)
	b.run()
	testenv.WaitFor(t, func() bool { return r.hasAccepted(all) && len(b.deliveries(id, webhooks.Pending)) == 0 })
	r.checkOrder()
}

// Changes whose events can't be made, as of an event whose seating plan is damaged, hold up their subjects alone: others are told,
// however many there are, and no process tells them again from the beginning. They are tried as if the endpoint refused them.
func TestDispatcher_WhatCantBeMadeHoldsUpItsSubjectAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r)
	const many = 2100 // more than an endpoint has in memory
	damaged := b.record(many, holdfast.ChangeLockCreated)
	good := b.encoder
	b.encoder = func(ctx context.Context, c holdfast.Change) ([]byte, error) {
		if c.EventID == damaged {
			return nil, errors.New("the plan can't be read")
		}
		return good(ctx, c)
	}
	b.sell(b.Event(10), 3)
	readable := b.changeIDs()[many:]
	b.run()
	testenv.WaitFor(t, func() bool { return r.hasAccepted(readable) && b.pending(id, "") == many })
	testenv.WaitFor(t, func() bool {
		begun, err := b.hooks.Position(t.Context(), id)
		_, end, ended := b.Changes.Ends(t.Context())
		return err == nil && ended == nil && begun == end.Seq
	})
	if e, err := b.hooks.Get(t.Context(), id); err != nil || e.IsFailing() {
		t.Errorf("the endpoint counts as failing: %v", err)
	}
	list, _, err := b.hooks.Deliveries(t.Context(), id, webhooks.Pending, holdfast.Page{Size: 1})
	if err != nil || len(list) != 1 || list[0].Attempts < 1 || list[0].LastStatus != 0 || list[0].NextAttemptAt.IsZero() {
		t.Errorf("%+v, %v", list, err)
	}
}

// A fault of ours in the making of an event stops neither the process nor the other changes.
func TestDispatcher_APanicStopsNothingElse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	b.endpoint(r, "holdfast.event.created")
	poisoned := b.Event(1)
	good := b.encoder
	var isMended atomic.Bool
	b.encoder = func(ctx context.Context, c holdfast.Change) ([]byte, error) {
		if c.EventID == poisoned && !isMended.Load() {
			panic("a fault")
		}
		return good(ctx, c)
	}
	others := []string{created(b.Event(2)), created(b.Event(3))}
	b.run()
	testenv.WaitFor(t, func() bool { return r.hasAccepted(others) && len(b.Log.Lines("An event could not be made")) > 0 })
	isMended.Store(true)
	testenv.WaitFor(t, func() bool { return r.hasAccepted(b.changeIDs()) })
}
