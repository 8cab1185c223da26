package webhooks_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
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
	event := b.Event(1000)
	for range 2 * webhooks.MaxInFlight { // of a subject each, or they would wait for each other
		b.Acquire(event, 1, testenv.Soon())
	}
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
	// After a second it may be tried before its time.
	if len(pending) != 1 || pending[0].Subject != subject || pending[0].Attempts < 1 || pending[0].LastStatus != http.StatusBadRequest {
		t.Fatalf("%+v", pending)
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

// An endpoint is told of its types and its event alone, and of nothing from before it was created.
func TestDispatcher_TellsWhatAnEndpointSubscribesTo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	event, other := b.Event(10), b.Event(10)
	r := newReceiver(t)
	e, _, _, err := b.hooks.Create(t.Context(), webhooks.NewEndpoint{
		URL: r.server.URL, Types: []string{"holdfast.lock.created", "holdfast.booking.*"}, EventID: event,
	}, holdfast.CreationKey{})
	if err != nil {
		t.Fatal(err)
	}
	b.sell(other, 2)
	lock := b.Acquire(event, 1, testenv.Soon())
	booking := b.Book(lock, testenv.Soon())
	b.dispatchOnce()
	all, _ := r.got()
	var types []string
	for _, one := range all {
		types = append(types, one.Type)
		if one.Subject != "locks/"+lock.ID.String() && one.Subject != "bookings/"+booking.ID.String() {
			t.Errorf("%+v", one)
		}
	}
	slices.Sort(types)
	if !slices.Equal(types, []string{"holdfast.booking.created", "holdfast.lock.created"}) {
		t.Errorf("%v", types)
	}
	if list := b.deliveries(e.ID, webhooks.Delivered); len(list) != 2 || list[0].Attempts != 1 || list[0].LastStatus != 200 {
		t.Errorf("%+v", list)
	}
}

// Pages of deliveries have each of them once, also where one document has several.
func TestDeliveries_HavePages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r)
	event := b.Event(100)
	for range 3 {
		b.sell(event, 5)
		b.dispatchOnce()
	}
	seen := map[string]int{}
	for _, d := range b.deliveries(id, "") {
		seen[d.ChangeID]++
		if d.State != webhooks.Delivered || d.ID.IsZero() {
			t.Errorf("%+v", d)
		}
	}
	for _, c := range b.changeIDs() {
		if seen[c] != 1 {
			t.Errorf("%s: %d times", c, seen[c])
		}
	}
	for _, token := range []string{"x", "." + id.String(), id.String() + ".-1", id.String() + ".1x", id.String()} {
		_, _, err := b.hooks.Deliveries(t.Context(), id, "", holdfast.Page{Size: 5, Token: token})
		if !holdfast.HasCode(err, holdfast.CodeInvalid) {
			t.Errorf("%q: %v", token, err)
		}
	}
}

// Retention removes old deliveries, and those of endpoints that are gone; what is pending stays.
func TestPurge_RemovesWhatEnded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r)
	b.sell(b.Event(10), 1)
	b.dispatchOnce()
	old := time.Now().Add(-time.Hour)
	for _, doc := range []bson.D{
		{{Key: "webhookId", Value: id}, {Key: "state", Value: webhooks.Dead}, {Key: "changeId", Value: "a"}, {Key: "at", Value: old}},
		{{Key: "webhookId", Value: id}, {Key: "state", Value: webhooks.Pending}, {Key: "changeId", Value: "b"}, {Key: "at", Value: old}},
		{{Key: "webhookId", Value: ids.New()}, {Key: "state", Value: webhooks.Pending}, {Key: "changeId", Value: "b"}, {Key: "at", Value: old}},
	} {
		b.Insert("webhookdeliveries", doc)
	}
	if n, err := b.hooks.Purge(t.Context(), old.Add(time.Minute)); err != nil || n != 2 {
		t.Error(n, err)
	}
	left := func(state string) int { return len(b.deliveries(id, state)) }
	if left(webhooks.Dead) != 0 || left(webhooks.Pending) != 1 || left(webhooks.Delivered) == 0 {
		t.Errorf("left: %+v", b.deliveries(id, ""))
	}
	if _, err := b.hooks.Purge(t.Context(), time.Now().Add(time.Hour)); err != nil || len(b.deliveries(id, webhooks.Delivered)) != 0 {
		t.Error(err)
	}
}

// A change whose record retention has removed is given up, and its subject goes on.
func TestDispatcher_AChangePastRetentionIsDead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r)
	event := b.Event(10)
	r.answersAlways(http.StatusInternalServerError)
	b.dispatchOnce()
	if _, err := b.Changes.Purge(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	name := "Other"
	if _, err := b.Seats.UpdateEvent(t.Context(), event, holdfast.EventChange{Name: &name}); err != nil {
		t.Fatal(err)
	}
	r.answers(nil)
	b.run()
	testenv.WaitFor(t, func() bool {
		return len(b.deliveries(id, webhooks.Dead)) == 1 && len(b.deliveries(id, webhooks.Delivered)) == 1
	})
}
