package webhooks_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

func (b *bench) set(id holdfast.ID, state webhooks.State) {
	b.T.Helper()
	if _, err := b.hooks.Update(b.Ctx(), id, webhooks.Update{State: &state}); err != nil {
		b.T.Fatal(err)
	}
}

// created returns the ID of the change that tells of an event.
func created(event holdfast.ID) string { return "events-" + event.String() + "-0-event.created" }

// tries counts the tries of each change.
func (r *receiver) tries() map[string]int {
	all, _ := r.got()
	tries := map[string]int{}
	for _, one := range all {
		tries[one.ID]++
	}
	return tries
}

// Of what was committed while an endpoint was enabled it misses nothing when it is disabled, and of what was committed
// meanwhile it is told by a replay alone.
func TestUpdate_ADisabledEndpointMissesItsTimeAlone(t *testing.T) {
	t.Parallel()
	for _, by := range []string{webhooks.ReasonOperator, webhooks.ReasonGone} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := newReceiver(t)
			id := b.endpoint(r, "holdfast.event.created")
			r.answersAlways(http.StatusInternalServerError)
			before := []holdfast.ID{b.Event(1)}
			b.dispatchOnce() // from now on it is probed
			before = append(before, b.Event(1), b.Event(1))
			if by == webhooks.ReasonGone {
				r.answersAlways(http.StatusGone)
			}
			b.dispatchOnce()
			if n := len(b.deliveries(id, webhooks.Pending)); n >= len(before) {
				t.Fatalf("%d of the changes are documents already", n)
			}
			if by == webhooks.ReasonOperator {
				b.set(id, webhooks.Disabled)
			}
			if e, err := b.hooks.Get(t.Context(), id); err != nil || e.State != webhooks.Disabled || e.Reason != by {
				t.Fatalf("%+v, %v", e, err)
			}
			meanwhile := []holdfast.ID{b.Event(2), b.Event(2)}
			b.dispatchOnce()
			b.set(id, webhooks.Enabled)
			after := b.Event(3)
			b.set(id, webhooks.Disabled)
			meanwhile = append(meanwhile, b.Event(4))
			b.set(id, webhooks.Enabled)
			r.answers(nil)
			b.run()
			told := []string{created(before[0]), created(before[1]), created(before[2]), created(after)}
			testenv.WaitFor(t, func() bool { return r.hasAccepted(told) && len(b.deliveries(id, webhooks.Delivered)) == len(told) })
			for _, event := range meanwhile {
				if r.tries()[created(event)] > 0 {
					t.Errorf("%s was told although it was disabled", event)
				}
			}
			last := b.Event(5)
			testenv.WaitFor(t, func() bool { return r.hasAccepted([]string{created(last)}) })
			if n, err := b.hooks.Replay(t.Context(), id, webhooks.Replay{}); err != nil || n < len(told)+len(meanwhile) {
				t.Errorf("%d replayed, %v", n, err)
			}
			testenv.WaitFor(t, func() bool { return r.hasAccepted(b.changeIDs()) })
		})
	}
}

// An endpoint is disabled only behind changes that have their numbers: those that get one later count as committed while it was
// disabled, and it would miss them.
func TestUpdate_DisablesNoEndpointInFrontOfChangesWithoutNumbers(t *testing.T) {
	t.Parallel()
	for _, by := range []string{webhooks.ReasonOperator, webhooks.ReasonGone} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := newReceiver(t)
			id := b.endpoint(r, "holdfast.event.created")
			r.answersAlways(http.StatusGone)
			before := []holdfast.ID{b.Event(1)}
			b.number()
			accept := func(only bson.D) {
				b.Command(bson.D{{Key: "collMod", Value: "changes"}, {Key: "validator", Value: only}})
			}
			accept(bson.D{{Key: "seq", Value: 0}}) // no number can be given
			before = append(before, b.Event(1))
			state, stop := webhooks.Disabled, func() {}
			if by == webhooks.ReasonOperator {
				for _, u := range []webhooks.Update{{State: &state}, {Types: []string{"*"}}} { // both draw a line behind what was committed
					if _, err := b.hooks.Update(t.Context(), id, u); !holdfast.HasCode(err, holdfast.CodeUnavailable) {
						t.Errorf("%+v: %v", u, err)
					}
				}
				if _, err := b.hooks.Update(t.Context(), id, webhooks.Update{Types: []string{"holdfast.event.created"}}); err != nil {
					t.Errorf("the same types: %v", err)
				}
			} else {
				stop = b.dispatcher()
				testenv.WaitFor(t, func() bool { return len(b.Log.Lines("Results can't be written")) > 0 })
			}
			isDisabled := func() bool {
				e, err := b.hooks.Get(t.Context(), id)
				return err == nil && e.State == webhooks.Disabled
			}
			if isDisabled() {
				t.Error("it is disabled")
			}
			accept(bson.D{})
			if by == webhooks.ReasonOperator {
				b.set(id, webhooks.Disabled)
			}
			testenv.WaitFor(t, isDisabled)
			stop()
			b.set(id, webhooks.Enabled)
			r.answers(nil)
			b.run()
			testenv.WaitFor(t, func() bool { return r.hasAccepted([]string{created(before[0]), created(before[1])}) })
		})
	}
}

// A replay reaches what a disabled endpoint misses, also while it is disabled.
func TestReplay_OfADisabledEndpoint(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r, "holdfast.event.created")
	b.set(id, webhooks.Disabled)
	missed := b.Event(1)
	b.number()
	for n := range 2 { // what is PENDING is left as it is
		if planned, err := b.hooks.Replay(t.Context(), id, webhooks.Replay{}); err != nil || planned != 1-n {
			t.Errorf("%d planned, %v", planned, err)
		}
	}
	b.set(id, webhooks.Enabled)
	b.run()
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) == 1 })
	if tries := r.tries(); tries[created(missed)] != 1 {
		t.Errorf("%v", tries)
	}
}

// A replay wakes a runner that has nothing to do, by the transaction that plans its deliveries: its process may die then.
func TestReplay_IsNoticedWhateverBecomesOfItsRequest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r, "holdfast.event.created")
	b.run()
	event := b.Event(1)
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) == 1 })
	if n, err := b.hooks.Plan(t.Context(), id); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	testenv.WaitFor(t, func() bool { return r.tries()[created(event)] == 2 && len(b.deliveries(id, webhooks.Pending)) == 0 })
	if err := b.hooks.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := b.hooks.Plan(t.Context(), id); !holdfast.HasCode(err, holdfast.CodeWebhookNotFound) {
		t.Errorf("of a deleted endpoint: %v", err)
	}
}

// A replay of many changes of one subject and of others comes in the order of each subject.
func TestReplay_KeepsTheOrderOfASubject(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r)
	event := b.Event(100)
	b.rename(event, 20)
	b.sell(event, 5)
	b.set(id, webhooks.Disabled)
	b.rename(event, 20)
	b.set(id, webhooks.Enabled)
	all := b.changeIDs()
	if n, err := b.hooks.Replay(t.Context(), id, webhooks.Replay{}); err != nil || n < 20 {
		t.Fatal(n, err)
	}
	b.run()
	testenv.WaitFor(t, func() bool { return r.hasAccepted(all) && len(b.deliveries(id, webhooks.Pending)) == 0 })
	r.checkOrder()
}

// rename makes n changes of an event.
func (b *bench) rename(event holdfast.ID, n int) {
	b.T.Helper()
	for i := range n {
		name := fmt.Sprint("Name ", i)
		if _, err := b.Seats.UpdateEvent(b.Ctx(), event, holdfast.EventChange{Name: &name}); err != nil {
			b.T.Fatal(err)
		}
	}
}

// What changes of an endpoint is noticed, also if its time of change says nothing of it.
func TestUpdate_IsNoticedByARunner(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, second := newReceiver(t), newReceiver(t)
	id := b.endpoint(first, "holdfast.event.created")
	second.verifier = first.verifier
	b.run()
	event := b.Event(1)
	testenv.WaitFor(t, func() bool { return first.hasAccepted([]string{created(event)}) })
	b.Set("webhooks", id, bson.D{{Key: "url", Value: second.server.URL}}) // by another update within the same millisecond
	testenv.WaitFor(t, func() bool {
		event := b.Event(2)
		testenv.WaitFor(t, func() bool { return len(first.tries())+len(second.tries()) >= len(b.changeIDs()) })
		return second.hasAccepted([]string{created(event)})
	})
}

// An endpoint that was allowed while private addresses were gets nothing when they are not any more: its changes wait.
func TestDispatcher_APrivateEndpointIsToldNothingOnceTheyAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r, "holdfast.event.created")
	strict := &bench{Env: b.Env, encoder: b.encoder, hooks: webhooks.New(b.DB, b.Changes, false).With(webhooks.Hooks{Timeout: tryTimeout})}
	event := b.Event(1)
	strict.dispatchOnce()
	pending := b.deliveries(id, webhooks.Pending)
	if len(pending) != 1 || pending[0].Attempts != 1 || pending[0].LastStatus != 0 || len(r.tries()) > 0 {
		t.Errorf("%+v; %v", pending, r.tries())
	}
	b.run()
	testenv.WaitFor(t, func() bool { return r.hasAccepted([]string{created(event)}) })
}

// Secrets that are changed, endpoints that are deleted, disabled and enabled and changes that are replayed while deliveries are under
// way break neither the order nor lose a change of an endpoint that stays enabled.
func TestDispatcher_OperatorsMeddle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	steady, meddled := newReceiver(t), newReceiver(t)
	for _, r := range []*receiver{steady, meddled} {
		r.refusesFirst(1, 5, http.StatusServiceUnavailable)
	}
	id, other := b.endpoint(steady), b.endpoint(meddled)
	meddled.verifier = nil // its secret changes
	b.run()
	event := b.Event(1000)
	var lasting []string
	for range 4 {
		b.sell(event, 3)
		before := b.changeIDs()
		b.set(other, webhooks.Disabled)
		for range 2 {
			if _, err := b.hooks.Replay(t.Context(), other, webhooks.Replay{}); err != nil {
				t.Error(err)
			}
		}
		b.set(other, webhooks.Enabled)
		if _, err := b.hooks.RotateSecret(t.Context(), other, 0); err != nil {
			t.Error(err)
		}
		if _, err := b.hooks.Replay(t.Context(), id, webhooks.Replay{State: webhooks.Delivered}); err != nil {
			t.Error(err)
		}
		lasting = before
	}
	all := b.changeIDs()
	testenv.WaitFor(t, func() bool { return steady.hasAccepted(all) && meddled.hasAccepted(lasting) })
	testenv.WaitFor(t, func() bool {
		return len(b.deliveries(id, webhooks.Pending)) == 0 && len(b.deliveries(other, webhooks.Pending)) == 0
	})
	steady.checkOrder()
	if err := b.hooks.Delete(t.Context(), other); err != nil {
		t.Error(err)
	}
	last := b.Event(1)
	testenv.WaitFor(t, func() bool { return steady.hasAccepted([]string{created(last)}) })
	left, err := b.DB.Collection("webhookdeliveries").CountDocuments(t.Context(), bson.D{{Key: "webhookId", Value: other}})
	if err != nil || left > 0 {
		t.Errorf("%d deliveries of a deleted endpoint, %v", left, err)
	}
}

// The database is restored from a backup while a process runs: what is committed then has numbers that the endpoint has
// passed.
func TestDispatcher_ARestoredDatabaseHidesNoChange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r, "holdfast.event.*")
	stop := b.run()
	event := b.Event(1)
	b.rename(event, 20)
	all := b.changeIDs()
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) == len(all) })
	stop()
	d := b.dispatcher()
	testenv.WaitFor(t, func() bool { // it has begun
		e, err := b.hooks.Position(t.Context(), id)
		return err == nil && e > 20
	})
	newer := bson.D{{Key: "seq", Value: bson.D{{Key: "$gt", Value: 1}}}}
	if _, err := b.DB.Collection("changes").DeleteMany(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	meta := b.DB.Collection("meta")
	if _, err := meta.UpdateOne(t.Context(), bson.D{{Key: "_id", Value: "changes"}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "last", Value: int64(1)}}}}); err != nil {
		t.Fatal(err)
	}
	testenv.WaitFor(t, func() bool { return len(b.Log.Lines("Changes were removed before")) > 0 })
	late := b.Event(2)
	b.number()
	testenv.WaitFor(t, func() bool { return r.hasAccepted([]string{created(late)}) })
	d()
}

// Retention has removed changes that an endpoint was not told of: it is told of those that are left.
func TestDispatcher_AnEndpointBehindRetentionGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	b.endpoint(r, "holdfast.event.created")
	b.Event(1)
	b.number()
	if _, err := b.Changes.Purge(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	left := b.Event(2)
	b.dispatchOnce()
	if !r.hasAccepted([]string{created(left)}) || len(r.tries()) != 1 {
		t.Errorf("told of %v", r.tries())
	}
	if lines := b.Log.Lines("Changes were removed before"); len(lines) != 1 {
		t.Errorf("%q", lines)
	}
}
