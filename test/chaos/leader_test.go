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
	"github.com/holdfast-dev/holdfast/jobs"
)

// Five workers tick each second for a minute, while 20,000 locks become due. Each lock expires
// once. One process runs each tick, and the other four send no command about seatlocks. A stop
// during a run leaves no lease.
func TestWorkers_EachTickRunsOnOneOfFive(t *testing.T) {
	t.Parallel()
	const (
		locks   = 20_000
		seconds = 60
	)
	ws := startWorkers(t, jobs.StoreRedis, 5)
	events := ws.createEvents(20)
	leader := ws.awaitLeader()
	for _, p := range ws.proxies {
		p.count.Store(0) // Each worker's recovery has read seatlocks.
	}
	ws.lockSeats(t.Context(), locks, (seconds-5)*time.Second, events)
	ws.awaitAllExpired(events)
	ticks := ws.checkTicks()
	applied := 0
	for _, r := range ws.awaitRunsEnded() {
		applied += r.Applied
		if !strings.HasPrefix(r.Pod, leader+"/") || r.Outcome != "completed" {
			t.Errorf("run %s of %s is %s; the leader is %s", r.ID, r.Pod, r.Outcome, leader)
		}
	}
	if applied != locks || ticks < seconds/4 { // On a loaded machine a run outlasts its tick, and the next tick is dropped.
		t.Errorf("%d locks were expired in %d ticks, want %d in up to %d", applied, ticks, locks, seconds)
	}
	for pod, p := range ws.proxies {
		if n := p.count.Load(); (n > 0) != (pod == leader) {
			t.Errorf("%s sent %d commands about seatlocks, the leader is %s", pod, n, leader)
		}
	}
	p50, p99, n := ws.acquisitionMillis(leader)
	t.Logf("%d locks, %d ticks; %d leases acquired for runs: p50 %.2f ms, p99 %.2f ms", applied, ticks, n, p50, p99)

	ws.insertDueLocks(events, 30_000)
	ws.awaitRunning()
	ws.stop()
	ws.checkNoLeases()
	testenv.CheckInvariants(t, ws.env.DB.Database)
}

// The leader is killed ten times, and frozen ten times for three times its lease. The next run
// starts within the lease and a tick. Transactions that a dead leader left open delay nothing
// for long. A frozen leader, woken, does not go on as leader. No lock is expired twice.
func TestWorkers_LeaderKilledOrFrozenIsReplaced(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{jobs.StoreRedis, jobs.StoreMongo} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ws := startWorkers(t, kind, 3)
			events := append(ws.createEvents(4), ws.createHall())
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			finished := make(chan struct{})
			go func() {
				defer close(finished)
				ws.lockSeats(ctx, 1_000_000, 10_000*time.Second, events)
			}()
			const times = 10
			var slowestRun, slowestExpiry time.Duration
			for range times {
				run, expiry := ws.killLeader()
				slowestRun, slowestExpiry = max(slowestRun, run), max(slowestExpiry, expiry)
			}
			t.Logf("killed %d times: the next run started after %v at most, everything due was expired after %v at most",
				times, slowestRun, slowestExpiry)
			for range times {
				ws.freezeLeader()
			}
			stop()
			<-finished
			ws.awaitAllExpired(events)
			t.Logf("%d ticks", ws.checkTicks())
			ws.stop()
			ws.checkNoLeases()
		})
	}
}

// killLeader kills the leader at a random time and starts it again. It returns how long after
// the kill the next run started, and how long after it everything was expired that was due
// when it was killed.
func (ws *workers) killLeader() (run, expiry time.Duration) {
	ws.t.Helper()
	leader := ws.awaitLeader()
	delay(context.Background(), time.Duration(rand.Int64N(int64(workerTickInterval))))
	killed := ws.databaseTime()
	ws.processes[leader].kill()
	ws.start(leader)
	run = ws.awaitNextRun(killed)
	if most := workerLeaseTTL + workerTickInterval; run > most+slackTimeout {
		ws.t.Errorf("the next run started %v after the leader was killed, want %v", run, most)
	}
	due := bson.D{{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: bson.D{{Key: "$lte", Value: killed}}}}
	const orphanTimeout = 10 * time.Second // for which MongoDB keeps the transactions of a dead process
	limit := killed.Add(workerLeaseTTL + 2*workerTickInterval + orphanTimeout + slackTimeout)
	var n int64
	var err error
	expired := poll(time.Until(limit), 10*time.Millisecond, func() bool {
		n, err = ws.countLocks(due)
		return err == nil && n == 0
	})
	if !expired {
		ws.t.Fatalf("%d due locks are still ACTIVE after %v, %v", n, time.Since(killed), err)
	}
	return run, time.Since(killed)
}

// freezeLeader freezes the leader for three times its lease, wakes it, and checks that its
// successor goes on to lead.
func (ws *workers) freezeLeader() {
	ws.t.Helper()
	leader := ws.awaitLeader()
	p := ws.processes[leader]
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		ws.t.Fatal(err)
	}
	frozen := time.Now()
	successor := ws.awaitLeader(leader)
	if took := time.Since(frozen); took > workerLeaseTTL+slackTimeout {
		ws.t.Errorf("a frozen leader was replaced after %v", took)
	}
	delay(context.Background(), time.Until(frozen.Add(3*workerLeaseTTL)))
	lostBefore := len(p.log.lines("Lease lost"))
	woken := ws.databaseTime()
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		ws.t.Fatal(err)
	}
	if !poll(20*time.Second, 5*time.Millisecond, func() bool { return len(p.log.lines("Lease lost")) != lostBefore }) {
		ws.t.Fatalf("the woken leader does not log that it has lost its lease: %s", p.log)
	}
	ws.awaitNextRun(woken)
	if now := ws.awaitLeader(); now != successor {
		ws.t.Errorf("%s was woken, and then %s led instead of %s", leader, now, successor)
	}
	for _, r := range ws.findRunsAfter(woken) {
		if strings.HasPrefix(r.Pod, leader+"/") {
			ws.t.Errorf("%s was woken, and then ran %s", leader, r.ID)
		}
	}
}
