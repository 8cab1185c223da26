package chaos_test

import (
	"context"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// keepData gives each member a data folder that outlives its process.
func keepData(t *testing.T) func(int) devserver.MemberOptions {
	return func(int) devserver.MemberOptions { return devserver.MemberOptions{DataDir: t.TempDir()} }
}

// diskFaults are faults of a disk under a member of a replica set. Each one ends by itself.
var diskFaults = map[string]func(t *testing.T, set *devserver.ReplicaSet, rng *rand.Rand){
	// No write of the primary to its files succeeds, so it ends. Then there is space again.
	"primary's disk full": func(t *testing.T, set *devserver.ReplicaSet, _ *rand.Rand) {
		primary := awaitPrimary(t, set)
		ended := primary.Ended()
		if err := primary.FillDisk(t.Context()); err != nil {
			t.Log(err) // Another fault has killed it.
		}
		if _, inTime := receive(ended, 20*time.Second); !inTime {
			t.Errorf("%s goes on without space", primary.Host)
		}
		restart(t, primary)
	},
	// Everything that waits for the primary's disk waits up to ten times as long: it runs for
	// 20 ms and is stopped for up to 180 ms, again and again.
	"primary's disk slow": func(t *testing.T, set *devserver.ReplicaSet, rng *rand.Rand) {
		primary := awaitPrimary(t, set)
		for range 20 {
			primary.Signal(syscall.SIGSTOP)
			delay(t.Context(), randomMillis(rng, 60, 120))
			primary.Signal(syscall.SIGCONT)
			delay(t.Context(), 20*time.Millisecond)
		}
	},
	// A secondary loses its data and copies everything again from the others.
	"secondary resyncs": func(t *testing.T, set *devserver.ReplicaSet, _ *rand.Rand) {
		primary := awaitPrimary(t, set)
		for _, m := range set.Members {
			if m != primary {
				m.Kill()
				if err := m.RemoveData(); err != nil {
					t.Error(err)
				}
				restart(t, m)
				return
			}
		}
	},
}

func restart(t *testing.T, m *devserver.Member) {
	t.Helper()
	m.Kill()
	if err := m.Restart(); err != nil {
		t.Error(err)
	}
}

// Customers buy while the disk under the primary is full, slow, and a secondary copies everything
// again: sales go on, and no acknowledged confirmation is lost.
func TestDisk_FaultsLoseNoConfirmation(t *testing.T) {
	t.Parallel()
	set, err := devserver.StartReplicaSet(t.Context(), devserver.MongodOptions{Test: true, Progress: os.Stderr, Member: keepData(t)}, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Stop)
	env := testenv.Open(t, set.URI, "disk")
	ctx, stop := context.WithCancel(t.Context())
	stream := startStreamChecker(ctx, t, env)
	s := &failoverSale{Env: env, event: env.Event(300), sold: map[holdfast.ID]bool{}}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				s.buy(ctx)
			}
		})
	}
	rng := rand.New(rand.NewPCG(seedFromEnv(), 0))
	for _, name := range []string{"primary's disk full", "primary's disk slow", "secondary resyncs"} {
		s.awaitSales(1)
		diskFaults[name](t, set, rng)
		if err := awaitMembers(t, set); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.awaitSales(1)
	stream.catchUp(context.Background(), env)
	for _, v := range stream.takeViolations() {
		t.Error(v)
	}
	stop()
	all.Wait()
	<-stream.done
	testenv.CheckInvariants(t, env.DB.Database)
	s.check()
}
