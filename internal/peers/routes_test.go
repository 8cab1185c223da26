package peers

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
)

func newRoutes() (*routes, holdfast.ID) {
	return &routes{self: 1, events: map[holdfast.ID]*route{}}, holdfast.ID{7}
}

// An event's commands are forwarded once other processes that can own it have about as many of its commits.
func TestRoutes_ForwardWhatSeveralProcessesSell(t *testing.T) {
	t.Parallel()
	const self, peer, third, worker = 1, 2, 3, 9
	mostly := []int32{peer}
	for range 30 {
		mostly = append(mostly, self)
	}
	for name, c := range map[string]struct {
		writers []int32
		want    bool
	}{
		"two by turns":                          {[]int32{peer, self, peer, self}, true},
		"three":                                 {[]int32{self, third, peer, self}, true},
		"the other one's are older":             {[]int32{peer, peer, self, self}, false},
		"alone":                                 {[]int32{self, self, self}, false},
		"beside a worker's sweeps":              {[]int32{worker, self, worker, self}, false},
		"nothing is noted":                      {nil, false},
		"first commit, after those of others":   {[]int32{peer, third, self}, true},
		"a stray request elsewhere":             {append(mostly, peer, self), false},
		"of others alone, this one's not noted": {[]int32{peer, third, peer}, true},
	} {
		r, event := newRoutes()
		now := time.Unix(1000, 0)
		isPeer := func(w int32) bool { return w == peer || w == third }
		if got := r.contended(event, c.writers, isPeer, now); got != c.want || r.isForwarded(event, now) != c.want {
			t.Errorf("%s: forwarded %v, want %v", name, got, c.want)
		}
		if r.isForwarded(event, now.Add(forwardTTL)) {
			t.Errorf("%s: it is forwarded without end", name)
		}
	}
}

// The owner's answers extend the forwarding as long as several processes have commands, and many.
func TestRoutes_EndWithTheReason(t *testing.T) {
	t.Parallel()
	ask := func(interval time.Duration, askers ...int32) (isWorthIt bool) {
		r, event := newRoutes()
		now := time.Unix(1000, 0)
		for i := range 10 * lastCommands {
			now = now.Add(interval)
			isWorthIt = r.noteCommand(event, askers[i%len(askers)], now)
		}
		return isWorthIt
	}
	almostAlone := make([]int32, 20)
	almostAlone[0] = 2
	for name, c := range map[string]struct{ got, want bool }{
		"two processes":                   {ask(time.Millisecond, 1, 2), true},
		"twenty":                          {ask(time.Millisecond, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20), true},
		"one":                             {ask(time.Millisecond, 2), false},
		"one, and a stray":                {ask(time.Millisecond, almostAlone...), false},
		"two processes, a few customers":  {ask(time.Second, 1, 2), true},
		"two processes, a few in an hour": {ask(time.Minute, 1, 2), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: worth it: %v, want %v", name, c.got, c.want)
		}
	}

	r, event := newRoutes()
	now := time.Unix(1000, 0)
	r.answered(event, false, now)
	if r.isForwarded(event, now) {
		t.Error("an answer that says it is not worth it began it")
	}
	r.answered(event, true, now)
	if !r.isForwarded(event, now.Add(forwardTTL-1)) || r.isForwarded(event, now.Add(forwardTTL)) {
		t.Error("an answer does not extend it by forwardTTL")
	}
}

// The owner's own clients count, but not on events that no other process forwards.
func TestRoutes_CountTheOwnersClients(t *testing.T) {
	t.Parallel()
	r, event := newRoutes()
	now := time.Unix(1000, 0)
	r.noteOwnCommand(event, now)
	if len(r.events) > 0 {
		t.Fatal("an event that is not forwarded is remembered")
	}
	worthIt := false
	for range lastCommands {
		now = now.Add(time.Millisecond)
		worthIt = r.noteCommand(event, 2, now)
		r.noteOwnCommand(event, now)
	}
	if !worthIt {
		t.Error("the owner and one other process are not several")
	}
}

// What is remembered has a bound.
func TestRoutes_RememberSoMany(t *testing.T) {
	t.Parallel()
	r, _ := newRoutes()
	now, hot := time.Unix(1000, 0), holdfast.ID{2}
	for i := range 3 * maxRoutes {
		r.answered(hot, true, now)
		r.noteCommand(holdfast.ID{1, byte(i), byte(i >> 8)}, 2, now)
		if i%1000 == 0 {
			now = now.Add(2 * time.Second)
		}
	}
	if len(r.events) > maxRoutes || !r.isForwarded(hot, now) {
		t.Errorf("%d events are remembered, the busy one: %v", len(r.events), r.isForwarded(hot, now))
	}
	for i := range maxRoutes + 5 {
		r.answered(holdfast.ID{3, byte(i), byte(i >> 8)}, true, now)
	}
	if len(r.events) > maxRoutes {
		t.Errorf("%d busy events are remembered", len(r.events))
	}
}

// Where many events are forwarded, no load balancer routes by event: every other event is forwarded too, at first.
func TestRoutes_ForwardNewEventsWhereManyAreForwarded(t *testing.T) {
	t.Parallel()
	r, _ := newRoutes()
	now := time.Unix(1000, 0)
	for i := range manyForwarded {
		now = now.Add(time.Second)
		if r.isForwarded(holdfast.ID{9, byte(i)}, now) {
			t.Fatalf("with %d forwarded events a new one is forwarded", i)
		}
		for j := range i + 1 {
			r.answered(holdfast.ID{1, byte(j)}, true, now)
		}
	}
	now = now.Add(time.Second)
	other := holdfast.ID{2}
	if !r.isForwarded(other, now) || r.isForwarded(holdfast.ID{9, 1}, now.Add(forwardTTL)) {
		t.Error("a new event is not forwarded, or one that is known is")
	}
	r.answered(other, false, now)
	if later := now.Add(forwardTTL); r.isForwarded(other, later) || r.isForwarded(holdfast.ID{3}, later.Add(time.Second)) {
		t.Error("it is forwarded although that is not worth it, or new ones are after the end of the others")
	}
}
