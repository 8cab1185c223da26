package webhooks_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// A process whose clock is ten minutes slow goes on with what one left whose clock is ten minutes fast: a delivery is due
// by the database's clock. Receivers are told that clock too.
func TestDispatcher_ProcessesNeedNotAgreeOnTheTime(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	w := testenv.New(t)
	off := func(by time.Duration) *bench {
		return benchOn(w, webhooks.Hooks{Timeout: tryTimeout, Clock: func() time.Time { return clock.System().Add(by) }})
	}
	fast, slow := off(10*time.Minute), off(-10*time.Minute)
	id := fast.endpoint(r)
	event := fast.Event(10)
	fast.sell(event, 1)
	r.answersAlways(http.StatusInternalServerError)
	fast.dispatchOnce()
	if len(fast.deliveries(id, webhooks.Pending)) == 0 {
		t.Fatal("nothing waits")
	}
	r.answersAlways(http.StatusOK)
	defer slow.run()()
	testenv.WaitFor(t, func() bool { return r.hasAccepted(slow.changeIDs()) })
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, at := range r.times {
		if seconds, err := strconv.ParseInt(at, 10, 64); err != nil || clock.System().Sub(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
			t.Errorf("a try was told to be at %q", at)
		}
	}
}
