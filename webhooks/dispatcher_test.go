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
