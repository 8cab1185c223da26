package webhooks_test

import (
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// updateCase changes an endpoint at a receiver. Changes that are committed after that are sent to another receiver,
// to the same one, or to none.
type updateCase struct {
	name   string
	types  string // before
	change func(b *bench, id holdfast.ID, r, other *receiver) error
	told   func(r, other *receiver) *receiver // nil: none
}

func updateCases() []updateCase {
	same := func(r, _ *receiver) *receiver { return r }
	none := func(_, _ *receiver) *receiver { return nil }
	update := func(u func(other *receiver) webhooks.Update) func(*bench, holdfast.ID, *receiver, *receiver) error {
		return func(b *bench, id holdfast.ID, _, other *receiver) error {
			_, err := b.hooks.Update(b.Ctx(), id, u(other))
			return err
		}
	}
	disabled := webhooks.Disabled
	return []updateCase{
		{"more types", "holdfast.lock.*", update(func(*receiver) webhooks.Update { return webhooks.Update{Types: []string{"*"}} }), same},
		{"fewer types", "*", update(func(*receiver) webhooks.Update { return webhooks.Update{Types: []string{"holdfast.lock.*"}} }), none},
		{"disabled", "*", update(func(*receiver) webhooks.Update { return webhooks.Update{State: &disabled} }), none},
		{"another URL", "*", update(func(other *receiver) webhooks.Update { return webhooks.Update{URL: &other.server.URL} }),
			func(_, other *receiver) *receiver { return other }},
		{"deleted", "*", func(b *bench, id holdfast.ID, _, _ *receiver) error { return b.hooks.Delete(b.Ctx(), id) }, none},
		{"another secret", "*", func(b *bench, id holdfast.ID, r, _ *receiver) error {
			secret, err := b.hooks.RotateSecret(b.Ctx(), id, 0)
			if err != nil {
				return err
			}
			verifier, err := standardwebhooks.NewWebhook(secret)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.verifier = verifier // a delivery that is signed by the previous one fails the test
			return err
		}, same},
	}
}

// acquired returns the ID of the change that reports a new lock.
func acquired(lock holdfast.Lock) string { return "locks-" + lock.ID.String() + "-0-lock.created" }

// A change of an endpoint applies to all changes that are committed after it.
func TestUpdate_CountsForWhatIsCommittedAfterIt(t *testing.T) {
	t.Parallel()
	for _, row := range updateCases() {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r, other, witness := newReceiver(t), newReceiver(t), newReceiver(t)
			id := b.endpoint(r, row.types)
			other.verifier = r.verifier
			b.endpoint(witness)
			b.run()
			earlier := b.Event(1)
			earliest := []string{acquired(b.Acquire(earlier, 1, testenv.Soon()))}
			if row.types == "*" {
				earliest = b.changeIDs() // with the one that the event is sold out
			}
			// A try that is in flight or is repeated during the change would use the endpoint as it was before or after.
			testenv.WaitFor(t, func() bool { return len(b.deliveries(id, webhooks.Delivered)) == len(earliest) })
			if err := row.change(b, id, r, other); err != nil {
				t.Fatal(err)
			}
			event := b.Event(2)
			testenv.WaitFor(t, func() bool { return witness.hasAccepted([]string{created(event)}) })
			told := row.told(r, other)
			if told != nil {
				testenv.WaitFor(t, func() bool { return told.hasAccepted([]string{created(event)}) })
			}
			testenv.HoldsFor(t, time.Second, func() bool {
				return (told == r || r.tries()[created(event)] == 0) && (told == other || other.tries()[created(event)] == 0)
			})
		})
	}
}

// However often the types change, each change is fanned out by the types at its commit, even if the same request
// also disables or enables the endpoint.
func TestUpdate_OfTypesAgainAndAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r, "holdfast.lock.*")
	event, disabled, enabled := b.Event(10), webhooks.Disabled, webhooks.Enabled
	update := func(u webhooks.Update) {
		t.Helper()
		if _, err := b.hooks.Update(b.Ctx(), id, u); err != nil {
			t.Fatal(err)
		}
	}
	bookings, locks := []string{"holdfast.booking.*"}, []string{"holdfast.lock.*"}
	first := b.Acquire(event, 1, testenv.Soon())
	for range 30 {
		update(webhooks.Update{Types: bookings})
		update(webhooks.Update{Types: []string{"holdfast.payment.*"}})
	}
	update(webhooks.Update{Types: locks})
	second := b.Acquire(event, 1, testenv.Soon())
	update(webhooks.Update{Types: bookings, State: &disabled})
	third := b.Acquire(event, 1, testenv.Soon())
	update(webhooks.Update{Types: locks, State: &enabled})
	fourth := b.Acquire(event, 1, testenv.Soon())
	b.run()
	testenv.WaitFor(t, func() bool { return r.hasAccepted([]string{acquired(first), acquired(second), acquired(fourth)}) })
	if got := r.tries(); got[acquired(third)] > 0 || len(got) != 3 {
		t.Errorf("the endpoint got %v, and was disabled at %s", got, acquired(third))
	}
}

// A replay right after the endpoint has subscribed to more types contains the changes that were committed before.
// Without it they are not sent.
func TestReplay_OfTypesThatTheEndpointDidNotHave(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := newReceiver(t)
	id := b.endpoint(r, "holdfast.booking.*")
	lock := b.Acquire(b.Event(10), 1, testenv.Soon())
	if _, err := b.hooks.Update(b.Ctx(), id, webhooks.Update{Types: []string{"holdfast.lock.*"}}); err != nil {
		t.Fatal(err)
	}
	if planned, err := b.hooks.Replay(b.Ctx(), id, webhooks.Replay{}); err != nil || planned != 1 {
		t.Fatalf("%d deliveries were planned, %v", planned, err)
	}
	b.run()
	testenv.WaitFor(t, func() bool { return r.hasAccepted([]string{acquired(lock)}) })
}
