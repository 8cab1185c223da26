package chaos_test

import (
	"context"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// keepData gives each member a disk of its own, which outlives its process. On a machine that
// allows none it is a data folder.
func keepData(t *testing.T) func(int) devserver.MemberOptions {
	return func(member int) devserver.MemberOptions {
		dir := t.TempDir()
		disk, err := devserver.NewDisk(dir)
		if err != nil {
			t.Logf("member %d: a full disk is a limit of the size of files here: %v", member, err)
			return devserver.MemberOptions{DataDir: dir}
		}
		t.Cleanup(func() { _ = disk.Close() }) // the file system is gone
		t.Logf("member %d has a file system of its own", member)
		return devserver.MemberOptions{Disk: disk}
	}
}

// diskFaults are faults of a disk under a member of a replica set. Each one ends by itself.
var diskFaults = map[string]func(t *testing.T, set *devserver.ReplicaSet, rng *rand.Rand){
	// The primary's disk has no space left, so the primary ends. The secondaries are frozen before, so
	// none of them has the primary's last writes. Then there is space again.
	"primary's disk full": func(t *testing.T, set *devserver.ReplicaSet, rng *rand.Rand) {
		primary := awaitPrimary(t, set)
		ended := primary.Ended()
		signalSecondaries(set, primary, syscall.SIGSTOP)
		delay(t.Context(), randomMillis(rng, 500, 500))
		if err := primary.FillDisk(t.Context()); err != nil {
			t.Log(err) // Another fault has killed it.
		}
		flushed := make(chan struct{})
		go func() { // Without it, the next write may be a minute away.
			defer close(flushed)
			runAdminCommand(t, primary, bson.D{{Key: "fsync", Value: 1}})
		}()
		receive(ended, time.Second)
		signalSecondaries(set, primary, syscall.SIGCONT)
		if _, inTime := receive(ended, 20*time.Second); !inTime {
			t.Errorf("%s goes on without space", primary.Host)
		}
		restart(t, primary)
		<-flushed
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

// signalSecondaries sends a signal to all members but one.
func signalSecondaries(set *devserver.ReplicaSet, primary *devserver.Member, s syscall.Signal) {
	for _, m := range set.Members {
		if m != primary {
			m.Signal(s)
		}
	}
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
