package chaos_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// Five workers tick each second for a minute, while 20,000 locks come due: each
// lock is expired once, each tick is run by one process, and those that don't
// lead ask nothing of seatlocks. Stopped in the midst of a run, they leave no
// lease.
func TestWorkers_FiveShareTheTicks(t *testing.T) {
	t.Parallel()
	const (
		locks   = 20_000
		seconds = 60
	)
	c := newCrew(t, lease.KindRedis, 5)
	events := c.events(20)
	first := c.leader()
	for _, tap := range c.taps {
		tap.heard.Store(0) // recovery at the boot asks, on each
	}
	c.feed(t.Context(), locks, (seconds-5)*time.Second, events)
	c.settle(events)
	ticks := c.eachTickOnce()
	applied := 0
	for _, r := range c.ended() {
		applied += r.Applied
		if !strings.HasPrefix(r.Pod, first+"/") || r.Outcome != "completed" {
			t.Errorf("%s was run by %s, and %s; the leader is %s", r.ID, r.Pod, r.Outcome, first)
		}
	}
	if applied != locks || ticks < seconds/4 { // on a machine under load a run outlasts its tick, and the next one is dropped
		t.Errorf("%d locks were expired in %d ticks, want %d in up to %d", applied, ticks, locks, seconds)
	}
	for pod, tap := range c.taps {
		if n := tap.heard.Load(); (n > 0) != (pod == first) {
			t.Errorf("%s asked %d times for seatlocks, the leader is %s", pod, n, first)
		}
	}
	p50, p99, n := c.acquisitions(first)
	t.Logf("%d locks, %d ticks; %d leases acquired for runs: p50 %.2f ms, p99 %.2f ms", applied, ticks, n, p50, p99)

	c.feedAtOnce(events, 30_000)
	c.awaitRun()
	for pod, p := range c.workers {
		if err := p.stop(t); err != nil {
			t.Errorf("%s after SIGTERM: %v", pod, err)
		}
	}
	c.nothingLeft()
	testenv.CheckInvariants(t, c.w.DB.Database)
}

// The leader is killed ten times, and frozen ten times for three times its
// lease. The next run starts within the lease and a tick; what the dead one left
// open holds nothing up for long; the frozen one, woken, does not go on as
// leader; and nothing is expired twice.
func TestWorkers_TheLeaderDiesAndFreezes(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{lease.KindRedis, lease.KindMongo} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := newCrew(t, kind, 3)
			events := c.events(5)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			fed := make(chan struct{})
			go func() {
				defer close(fed)
				c.feed(ctx, 1_000_000, 10_000*time.Second, events)
			}()
			const times = 10
			var slowest, longest time.Duration
			for range times {
				began, all := c.succeeded(func(leader string) {
					c.workers[leader].kill()
					c.start(leader)
				})
				slowest, longest = max(slowest, began), max(longest, all)
			}
			t.Logf("killed %d times: the next run began after %v at most, all that was due was expired after %v", times, slowest, longest)
			for range times {
				c.freeze()
			}
			stop()
			<-fed
			c.settle(events)
			t.Logf("%d ticks", c.eachTickOnce())
			for pod, p := range c.workers {
				if err := p.stop(t); err != nil {
					t.Errorf("%s after SIGTERM: %v", pod, err)
				}
			}
			c.nothingLeft()
		})
	}
}

// succeeded ends the leader at a random moment and returns how long it took
// until the next run began, and until all that was due by then was expired.
func (c *crew) succeeded(end func(leader string)) (began, all time.Duration) {
	c.t.Helper()
	leader := c.leader()
	<-time.After(time.Duration(rand.Int64N(int64(tick)))) // the moment of a crash is nobody's signal
	now, err := c.w.DB.Now(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	end(leader)
	began = c.nextRun(now)
	if most := leaseTTL + tick; began > most+slack {
		c.t.Errorf("the next run began %v after the leader's end, want %v", began, most)
	}
	due := bson.D{{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: bson.D{{Key: "$lte", Value: now}}}}
	const orphan = 10 * time.Second // what a dead process left open
	for limit := now.Add(leaseTTL + 2*tick + orphan + slack); ; <-time.After(10 * time.Millisecond) {
		n, err := c.w.DB.Collection("seatlocks").CountDocuments(c.t.Context(), due)
		if err == nil && n == 0 {
			return began, time.Since(now)
		}
		if time.Now().After(limit) {
			c.t.Fatalf("%d locks that were due are still ACTIVE after %v, %v", n, time.Since(now), err)
		}
	}
}

// nextRun waits for the first run after a moment, and returns how long after.
func (c *crew) nextRun(after time.Time) time.Duration {
	c.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		var first time.Time
		for _, r := range c.runs(bson.D{{Key: "startedAt", Value: bson.D{{Key: "$gt", Value: after}}}}) {
			if first.IsZero() || r.StartedAt.Before(first) {
				first = r.StartedAt
			}
		}
		if !first.IsZero() {
			return first.Sub(after)
		}
	}
	c.t.Fatal("no run began")
	return 0
}

// freeze stops the leader for three times its lease, and wakes it.
func (c *crew) freeze() {
	c.t.Helper()
	leader := c.leader()
	p := c.workers[leader]
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		c.t.Fatal(err)
	}
	frozen := time.Now()
	successor := c.leader(leader)
	if took := time.Since(frozen); took > leaseTTL+slack {
		c.t.Errorf("a frozen leader was succeeded after %v", took)
	}
	<-time.After(time.Until(frozen.Add(3 * leaseTTL)))
	lost := len(p.log.lines("Lease lost"))
	woken, err := c.w.DB.Now(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		c.t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); len(p.log.lines("Lease lost")) == lost; <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("woken, it does not know that it lost its lease: %s", p.log)
		}
	}
	c.nextRun(woken)
	if now := c.leader(); now != successor {
		c.t.Errorf("%s was woken, and then %s led instead of %s", leader, now, successor)
	}
	for _, r := range c.runs(bson.D{{Key: "startedAt", Value: bson.D{{Key: "$gt", Value: woken}}}}) {
		if strings.HasPrefix(r.Pod, leader+"/") {
			c.t.Errorf("woken, %s ran %s", leader, r.ID)
		}
	}
}
