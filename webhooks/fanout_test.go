package webhooks_test

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// wantOnce fails unless an endpoint has one delivery of each change.
func (b *bench) wantOnce(id holdfast.ID, all []string) {
	b.T.Helper()
	seen := map[string]int{}
	for _, d := range b.deliveries(id, "") {
		seen[d.ChangeID]++
	}
	for _, c := range all {
		if seen[c] != 1 {
			b.T.Errorf("%d deliveries of %s", seen[c], c)
		}
	}
	if len(seen) != len(all) {
		b.T.Errorf("deliveries of %d changes, want %d", len(seen), len(all))
	}
}

func (b *bench) setCursor(seq int64) {
	b.T.Helper()
	set := bson.D{{Key: "$set", Value: bson.D{{Key: "seq", Value: seq}, {Key: "item", Value: 0}}}}
	if _, err := b.DB.Collection(mongodb.MetaCollection).UpdateOne(b.Ctx(), mongodb.Is("_id", "webhooks"), set); err != nil {
		b.T.Fatal(err)
	}
}

// The answer of a committed fan-out may be lost, its process may die and another one repeat it, and a restored
// database may have a cursor older than its deliveries. No change gets a second delivery.
func TestFanOut_ARepeatInsertsNothingTwice(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	lost := errors.New("the answer was lost")
	b := benchOn(w, webhooks.Hooks{AfterFanOut: func() error { return lost }})
	id := b.endpoint(newReceiver(t))
	b.sell(b.Event(100), 5)
	all := b.changeIDs()
	if err := b.hooks.FanOut(t.Context()); !errors.Is(err, lost) {
		t.Fatal(err)
	}
	b.wantOnce(id, all)
	next := benchOn(w, webhooks.Hooks{})
	for _, from := range []int64{0, 1, 7} {
		if from > 0 {
			b.setCursor(from)
		}
		if err := next.hooks.FanOut(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.wantOnce(id, all)
	}
	_, end, err := b.Changes.Ends(t.Context())
	if at, failure := b.hooks.Cursor(t.Context()); at != end || err != nil || failure != nil {
		t.Errorf("the cursor is at %v, want %v: %v, %v", at, end, err, failure)
	}
}

// The deliveries of a page can't be inserted: the cursor stays before the page, so that its changes are sent later.
func TestFanOut_WithoutItsDeliveriesMovesNoCursor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.endpoint(newReceiver(t))
	b.sell(b.Event(100), 3)
	all := b.changeIDs()
	validate := func(validator bson.D) {
		b.Command(bson.D{{Key: "collMod", Value: "webhookdeliveries"}, {Key: "validator", Value: validator}})
	}
	validate(bson.D{{Key: "never", Value: 1}})
	if err := b.hooks.FanOut(t.Context()); err == nil {
		t.Error("deliveries were inserted")
	}
	validate(bson.D{})
	if err := b.hooks.FanOut(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantOnce(id, all)
}

// Types change while other processes fan out: each change is fanned out by the types of its time, and the endpoint
// misses no change.
func TestUpdate_OfTypesWhileOthersFanOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.endpoint(newReceiver(t), "holdfast.event.created")
	stop := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		for running := true; running; {
			select {
			case <-stop:
				running = false
			default:
			}
			if err := benchOn(b.Env, webhooks.Hooks{}).hooks.FanOut(b.Ctx()); err != nil {
				t.Error(err)
			}
		}
	})
	var want []string
	retype := func(types string) {
		if _, err := b.hooks.Update(t.Context(), id, webhooks.Update{Types: []string{types}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		want = append(want, created(b.Event(1)))
		retype("holdfast.lock.*")
		event := b.Event(10)
		want = append(want, acquired(b.Acquire(event, 1, testenv.Soon())))
		retype("holdfast.event.created")
		b.Acquire(event, 1, testenv.Soon())
	}
	close(stop)
	others.Wait()
	b.number()
	if err := b.hooks.FanOut(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantOnce(id, want)
}

// A change that is committed while an endpoint is being disabled is fanned out by one of the two states: it is sent
// when the endpoint is enabled again, or a replay plans it.
func TestUpdate_LosesNothingThatIsCommittedMeanwhile(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var b *bench
	var meanwhile holdfast.ID
	commit := sync.OnceFunc(func() { meanwhile = b.Event(1) })
	b = benchOn(w, webhooks.Hooks{AfterFanOut: func() error { commit(); return nil }})
	id := b.endpoint(newReceiver(t), "holdfast.event.created")
	before := b.Event(1)
	b.set(id, webhooks.Disabled) // its page is fanned out, and then the event is created
	if meanwhile.IsZero() {
		t.Fatal("nothing was committed meanwhile")
	}
	sent := map[string]bool{}
	for _, d := range b.deliveries(id, webhooks.Pending) {
		sent[d.ChangeID] = true
	}
	planned, err := b.hooks.Replay(t.Context(), id, webhooks.Replay{})
	if err != nil || planned != 1 || !sent[created(before)] || sent[created(meanwhile)] {
		t.Errorf("sent %v, and %d planned: %v", sent, planned, err)
	}
	b.wantOnce(id, []string{created(before), created(meanwhile)})
}

// A change that was decided before an endpoint is disabled may be committed behind the changes that are fanned out for it. The
// endpoint is not told it, so a replay since the time at which it was disabled plans it, although its own time is earlier.
func TestReplay_PlansWhatIsCommittedWhileTheEndpointIsDisabled(t *testing.T) {
	t.Parallel()
	for by, status := range map[string]int{
		webhooks.ReasonOperator: http.StatusBadGateway, webhooks.ReasonGone: http.StatusGone, webhooks.ReasonFailures: http.StatusBadGateway,
	} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			var b *bench
			var commits atomic.Bool
			b = benchOn(testenv.New(t), webhooks.Hooks{AfterFanOut: func() error { // behind the end, in front of the line
				if commits.CompareAndSwap(true, false) {
					b.recordOf(time.Now().Add(-time.Minute), 1, holdfast.ChangeLockCreated)
				}
				return nil
			}})
			r := newReceiver(t)
			id := b.endpoint(r)
			b.Event(1)
			disable := func() { // fans this out first
				b.recordOf(time.Now().Add(-time.Minute), 1, holdfast.ChangeLockReleased)
				commits.Store(true)
			}
			if by == webhooks.ReasonOperator {
				disable()
				b.set(id, webhooks.Disabled)
			} else {
				if by == webhooks.ReasonFailures {
					b.Set("webhooks", id, bson.D{{Key: "internal.failingSince", Value: time.Now().Add(-6 * 24 * time.Hour)}})
				}
				r.answers(func(told, http.ResponseWriter) int { disable(); return status })
				b.dispatchOnce()
			}
			e, err := b.hooks.Get(t.Context(), id)
			if err != nil || e.Reason != by || commits.Load() {
				t.Fatalf("%+v, %v", e, err)
			}
			b.set(id, webhooks.Enabled)
			planned, err := b.hooks.Replay(t.Context(), id, webhooks.Replay{Since: e.UpdatedAt})
			if err != nil || planned != 1 {
				t.Errorf("%d planned, %v", planned, err)
			}
			b.wantOnce(id, b.changeIDs())
		})
	}
}

// An endpoint that can't be decoded receives nothing, is in no list, and does not affect other endpoints. It is
// logged once.
func TestDispatcher_ACorruptEndpointConcernsItselfAlone(t *testing.T) {
	t.Parallel()
	for field, value := range map[string]any{"types": "all", "secrets": 5, "internal": "x", "createdAt": bson.A{}, "url": bson.D{}} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := newReceiver(t)
			corrupt, good := b.endpoint(newReceiver(t)), b.endpoint(r)
			b.Set("webhooks", corrupt, bson.D{{Key: field, Value: value}})
			b.sell(b.Event(10), 1)
			for range 2 {
				b.dispatchOnce()
			}
			if all := b.changeIDs(); !r.hasAccepted(all) || len(b.deliveries(good, webhooks.Delivered)) != len(all) {
				t.Errorf("got %v", r.tries())
			}
			list, _, err := b.hooks.List(t.Context(), holdfast.Page{})
			if err != nil || len(list) != 1 || list[0].ID != good {
				t.Errorf("listed %+v, %v", list, err)
			}
			if lines := b.Log.Lines("can't be decoded"); len(lines) != 1 {
				t.Errorf("logged %q", lines)
			}
			if b.endpoint(newReceiver(t)); b.hooks.Delete(t.Context(), good) != nil {
				t.Error("others can't be created and deleted")
			}
		})
	}
}

// A delivery that can't be decoded is given up.
func TestDispatcher_ACorruptDeliveryConcernsItselfAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r)
	lock := b.Acquire(b.Event(10), 1, testenv.Soon())
	for range 300 { // more than a sender has in memory
		b.Insert("webhookdeliveries", bson.D{
			{Key: "webhookId", Value: id}, {Key: "state", Value: webhooks.Pending}, {Key: "attempts", Value: 0}, {Key: "seq", Value: "x"},
			{Key: "subject", Value: "locks/" + lock.ID.String()}, {Key: "dueAt", Value: time.Now().Add(-time.Hour)},
		})
	}
	b.run()
	testenv.WaitFor(t, func() bool { return r.hasAccepted(b.changeIDs()) && b.pending(id, "") == 0 })
}

// Deliveries behind a refused delivery of their subject wait for it, without a time of their own, and are sent at
// once when it is accepted.
func TestDispatcher_WhatIsBehindWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r, "holdfast.lock.*")
	r.refusesFirst(1, 1000, http.StatusBadRequest)
	b.sell(b.Event(10), 1)
	b.dispatchOnce()
	pending := b.deliveries(id, webhooks.Pending) // the newest first
	if len(pending) != 3 || pending[2].Attempts != 1 || pending[2].NextAttemptAt.IsZero() ||
		!pending[1].NextAttemptAt.IsZero() || !pending[0].NextAttemptAt.IsZero() || len(r.tries()) != 1 {
		t.Fatalf("%+v", pending)
	}
	b.run()
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) == 3 })
	r.checkOrder()
}

// A replayed change of a subject may wait before a change that has failed earlier. Neither delays other subjects,
// and both are sent in order.
func TestDispatcher_AReplayInFrontOfAFailedDelivery(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r, "holdfast.lock.*")
	event := b.Event(10)
	lock := b.Acquire(event, 1, testenv.Soon())
	b.dispatchOnce()
	var isWell atomic.Bool
	r.answers(func(one told, _ http.ResponseWriter) int {
		if one.Subject == "locks/"+lock.ID.String() && !isWell.Load() {
			return http.StatusBadRequest
		}
		return http.StatusOK
	})
	if _, err := b.Seats.ReleaseLock(t.Context(), lock.ID); err != nil {
		t.Fatal(err)
	}
	b.dispatchOnce()
	if n, err := b.hooks.Replay(t.Context(), id, webhooks.Replay{State: webhooks.Delivered}); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	b.run()
	testenv.WaitFor(t, func() bool { return r.tries()[acquired(lock)] >= 2 })
	other := b.Acquire(event, 1, testenv.Soon())
	testenv.WaitFor(t, func() bool { return r.hasAccepted([]string{acquired(other)}) })
	isWell.Store(true)
	testenv.WaitFor(t, func() bool { return b.pending(id, "") == 0 })
	r.checkOrder()
}

// A failing endpoint receives one delivery at a time, whichever process sends, until it accepts one.
func TestDispatcher_AFailingEndpointGetsOneAtATime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r, "holdfast.lock.*")
	b.Set("webhooks", id, bson.D{{Key: "internal.failingSince", Value: time.Now()}})
	event := b.Event(100)
	for range 20 {
		b.Acquire(event, 1, testenv.Soon())
	}
	const probes = 3
	var tries, now, most atomic.Int32
	r.answers(func(told, http.ResponseWriter) int {
		if n := tries.Add(1); n > probes {
			return http.StatusOK
		}
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		testenv.Poll(20*time.Millisecond, func() bool { return false })
		return http.StatusBadGateway
	})
	b.run()
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) == 20 })
	if most.Load() != 1 {
		t.Errorf("%d tries at a time", most.Load())
	}
	isWell := bson.D{{Key: "_id", Value: id}, {Key: "internal.failingSince", Value: bson.D{{Key: "$exists", Value: false}}}}
	testenv.WaitFor(t, func() bool {
		n, err := b.DB.Collection("webhooks").CountDocuments(t.Context(), isWell)
		return err == nil && n == 1
	})
}

// A failing endpoint is probed at once when its URL was changed, because the old URL may have been the cause.
func TestDispatcher_AnotherURLIsProbedAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	wrong, right := newReceiver(t), newReceiver(t)
	id := b.endpoint(wrong, "holdfast.lock.*")
	right.verifier = wrong.verifier
	wrong.answersAlways(http.StatusNotFound)
	b.Set("webhooks", id, bson.D{{Key: "internal.failingSince", Value: time.Now().Add(-time.Hour)}}) // the second probe is minutes later
	event := b.Event(10)
	for range 3 {
		b.Acquire(event, 1, testenv.Soon())
	}
	b.run()
	testenv.WaitFor(t, func() bool { return len(wrong.tries()) == 1 })
	if _, err := b.hooks.Update(t.Context(), id, webhooks.Update{URL: &right.server.URL}); err != nil {
		t.Fatal(err)
	}
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) == 3 })
}

// An endpoint is disabled only if every try has failed for five days. Changes that were committed until then are
// kept for it.
func TestDispatcher_FiveDaysOfFailuresDisable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r, "holdfast.event.created")
	r.answersAlways(http.StatusBadGateway)
	before := []holdfast.ID{b.Event(1), b.Event(1)}
	b.dispatchOnce()
	const fiveDays = 5 * 24 * time.Hour
	for _, since := range []time.Duration{fiveDays - time.Minute, fiveDays} {
		b.Set("webhooks", id, bson.D{{Key: "internal.failingSince", Value: time.Now().Add(-since)}})
		b.Set("webhookdeliveries", b.deliveries(id, webhooks.Pending)[0].ID, bson.D{{Key: "nextAttemptAt", Value: time.Now().Add(-time.Hour)}})
		b.dispatchOnce()
		e, err := b.hooks.Get(t.Context(), id)
		isDisabled := e.State == webhooks.Disabled && e.Reason == webhooks.ReasonFailures
		if err != nil || isDisabled != (since == fiveDays) {
			t.Fatalf("after %v: %+v, %v", since, e, err)
		}
	}
	b.Event(2)
	r.answers(nil)
	b.set(id, webhooks.Enabled)
	b.run()
	told := []string{created(before[0]), created(before[1])}
	testenv.WaitFor(t, func() bool { return r.hasAccepted(told) && b.pending(id, "") == 0 })
	if _, accepted := r.got(); len(accepted) != len(told) {
		t.Errorf("%v", accepted)
	}
}

// Retention continues although no endpoint is enabled: the cursor moves to the end when there is one.
func TestFanOut_BeginsWithTheFirstEndpoint(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Event(1)
	b.number()
	if _, err := b.Changes.Purge(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	b.Event(1)
	id := b.endpoint(newReceiver(t))
	b.Event(1)
	all := b.changeIDs()
	if err := b.hooks.FanOut(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantOnce(id, all[len(all)-1:])
	if at, err := b.hooks.Cursor(t.Context()); err != nil || at != (changes.Position{Seq: 4}) {
		t.Errorf("%+v, %v", at, err)
	}
}
