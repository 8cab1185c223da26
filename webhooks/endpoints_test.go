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

// created returns the ID of the change that reports a new event.
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

// An endpoint that is disabled and enabled again receives all changes that were committed while it was enabled. It
// receives those that were committed meanwhile only by a replay.
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

// An endpoint is disabled only behind changes that have their numbers. A change that gets its number later would
// count as committed while it was disabled, and the endpoint would miss it.
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
			} else {
				stop = b.dispatcher()
				testenv.WaitFor(t, func() bool { return len(b.Log.Lines("Sending has failed")) > 0 })
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

// An endpoint at a private address was created while those were allowed. When they are no longer allowed, it
// receives nothing, and its changes wait.
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

// While deliveries are in flight, secrets are rotated, endpoints are deleted, disabled and enabled, and changes are
// replayed. The order is kept, and an endpoint that stays enabled misses no change.
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

// The database is partly restored from a backup while a process runs. Changes that are committed after that have
// numbers that were fanned out before.
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

// Retention has removed changes that an endpoint did not receive. It receives the remaining ones.
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
		t.Errorf("got %v", r.tries())
	}
	if lines := b.Log.Lines("Changes were removed before"); len(lines) != 1 {
		t.Errorf("%q", lines)
	}
}

// An endpoint answers 410, and is deleted before it is disabled: its sender ends. Another endpoint goes on.
func TestDispatcher_ASenderOfADeletedEndpointEnds(t *testing.T) {
	t.Parallel()
	b := benchOn(testenv.New(t), webhooks.Hooks{})
	gone, other := newReceiver(t), newReceiver(t)
	id := b.endpoint(gone)
	b.endpoint(other)
	var deleted error
	gone.answers(func(told, http.ResponseWriter) int {
		deleted = b.hooks.Delete(b.Ctx(), id)
		return http.StatusGone
	})
	event := b.Event(10)
	stop := b.run()
	testenv.WaitFor(t, func() bool { all, _ := gone.got(); return len(all) > 0 })
	b.rename(event, 3)
	testenv.WaitFor(t, func() bool { return other.hasAccepted(b.changeIDs()) })
	stop()
	if lines := b.Log.Lines("WARN [WEBHOOKS JOB] Sending has failed"); len(lines) > 0 || deleted != nil {
		t.Errorf("%v, %q", deleted, lines)
	}
}
