package webhooks_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// Of 50 endpoints one hangs, one refuses every request, one redirects and one is slow. The other 46 receive all
// changes while the first try at the hanging endpoint is still open.
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

// An endpoint that accepts all changes but one fails and recovers again and again. The refused change is not tried
// each time.
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
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Pending)) == 1 })
}

// The events of some changes can't be made: the seating plan of an event is damaged, or the code has a fault. These
// changes delay only their own subjects: others are sent, however many such changes there are. They are retried as
// if the endpoint had refused them.
func TestDispatcher_WhatCantBeMadeHoldsUpItsSubjectAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r)
	const many = 600 // more than a sender has in memory
	damaged := b.record(many, holdfast.ChangeLockCreated)
	good := b.encoder
	b.encoder = func(ctx context.Context, c holdfast.Change) ([]byte, error) {
		if c.EventID == damaged && c.Lock.ID[11]%2 == 0 {
			return nil, errors.New("the plan can't be read")
		} else if c.EventID == damaged {
			panic("a fault")
		}
		return good(ctx, c)
	}
	b.sell(b.Event(10), 3)
	readable := b.changeIDs()[many:]
	b.run()
	testenv.WaitFor(t, func() bool { return r.hasAccepted(readable) && b.pending(id, "") == many })
	testenv.WaitFor(t, func() bool {
		return !slices.ContainsFunc(b.deliveries(id, webhooks.Pending), func(d webhooks.Delivery) bool { return d.Attempts == 0 })
	})
	if e, err := b.hooks.Get(t.Context(), id); err != nil || e.IsFailing() {
		t.Errorf("the endpoint counts as failing: %v", err)
	}
	list, _, err := b.hooks.Deliveries(t.Context(), id, webhooks.Pending, holdfast.Page{Size: 1})
	if err != nil || len(list) != 1 || list[0].Attempts < 1 || list[0].LastStatus != 0 || list[0].NextAttemptAt.IsZero() {
		t.Errorf("%+v, %v", list, err)
	}
}
