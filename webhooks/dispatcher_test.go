package webhooks_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// After the first success an endpoint receives all waiting deliveries, in the order of each subject.
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
	if tried := len(r.tries()); tried > webhooks.MaxInFlight+20 { // the first ones, and probes; on a slow machine they are retried
		t.Errorf("%d changes were tried at an endpoint that is down", tried)
	}
	r.answers(nil)
	b.run()
	testenv.WaitFor(t, func() bool { return r.hasAccepted(all) && len(b.deliveries(id, webhooks.Pending)) == 0 })
	r.checkOrder()
	// Tries that were in flight when the dispatcher stopped may be repeated.
	if _, accepted := r.got(); len(accepted) > len(all)+webhooks.MaxInFlight {
		t.Errorf("%d deliveries of %d changes", len(accepted), len(all))
	}
	testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) == len(all) })
}

// A refused change delays only its own subject.
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

// After the last try a delivery is DEAD, its subject continues, and a replay delivers it.
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
	r.checkOrder()
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

// An endpoint receives only changes of its types and its event, and none from before its creation.
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

// The pages contain each delivery exactly once, newest changes first.
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
	seen, listed := map[string]int{}, []string{}
	for _, d := range b.deliveries(id, "") {
		seen[d.ChangeID]++
		listed = append(listed, d.ChangeID)
		if d.State != webhooks.Delivered || d.ID.IsZero() {
			t.Errorf("%+v", d)
		}
	}
	all := b.changeIDs()
	for _, c := range all {
		if seen[c] != 1 {
			t.Errorf("%s: %d times", c, seen[c])
		}
	}
	if slices.Reverse(listed); !slices.Equal(listed, all) {
		t.Errorf("listed %v, want %v, the other way round", listed, all)
	}
	for _, token := range []string{"x", "." + id.String(), id.String() + ".-1", id.String() + ".1x", id.String()} {
		_, _, err := b.hooks.Deliveries(t.Context(), id, "", holdfast.Page{Size: 5, Token: token})
		if !holdfast.HasCode(err, holdfast.CodeInvalid) {
			t.Errorf("%q: %v", token, err)
		}
	}
}

// Retention removes deliveries of old changes that ended, and the deliveries of deleted endpoints. PENDING
// deliveries stay.
func TestPurge_RemovesWhatEnded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r)
	b.sell(b.Event(10), 1)
	b.dispatchOnce()
	old := time.Now().Add(-time.Hour)
	for n, doc := range []bson.D{
		{{Key: "webhookId", Value: id}, {Key: "state", Value: webhooks.Dead}},
		{{Key: "webhookId", Value: id}, {Key: "state", Value: webhooks.Pending}},
		{{Key: "webhookId", Value: mongodb.NewID()}, {Key: "state", Value: webhooks.Pending}},
	} {
		key := bson.NewObjectIDFromTimestamp(old)
		b.Insert("webhookdeliveries", append(bson.D{{Key: "_id", Value: key}, {Key: "seq", Value: int64(1)}, {Key: "item", Value: n}}, doc...))
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

// If retention has removed the record of a change, its delivery is given up, and its subject continues.
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

// An endpoint may refuse many deliveries always. They leave room in each round for those that were never tried.
func TestDispatcher_RefusedDeliveriesLeaveRoomForNewOnes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.endpoint(newReceiver(t))
	const limit = 2 * webhooks.MaxEarly
	for n := range limit {
		for attempts, subject := range []string{"new", "refused"} {
			b.Insert("webhookdeliveries", bson.D{
				{Key: "webhookId", Value: id}, {Key: "state", Value: webhooks.Pending}, {Key: "attempts", Value: attempts},
				{Key: "subject", Value: fmt.Sprintf("%s/%d", subject, n)},
				{Key: "dueAt", Value: time.Now().Add(-time.Duration(1+attempts) * time.Hour)},
			})
		}
	}
	subjects, err := b.hooks.DueSubjects(t.Context(), id, limit)
	found := map[string]int{}
	for _, s := range subjects {
		kind, _, _ := strings.Cut(s, "/")
		found[kind]++
	}
	if err != nil || found["refused"] != webhooks.MaxEarly || found["new"] != limit-webhooks.MaxEarly {
		t.Errorf("a round has %v, %v", found, err)
	}
}
