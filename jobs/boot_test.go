package jobs_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// bootEnv starts processes of a fleet, one after the other; runs counts their passes.
type bootEnv struct {
	t    *testing.T
	env  *testenv.Env
	job  jobs.Job
	runs atomic.Int32
}

func newBoot(t *testing.T, err error) *bootEnv {
	b := &bootEnv{t: t, env: testenv.New(t)}
	b.job = job("recovery", func(context.Context) error {
		b.runs.Add(1)
		return err
	})
	return b
}

// start starts a process and returns its pod.
func (b *bootEnv) start() pod {
	b.t.Helper()
	p := open(b.t, b.env, []jobs.Job{b.job})
	booted, err := b.env.DB.Now(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := p.RunAtBoot(b.t.Context(), b.job, p.PassedSince(b.job.Name, booted)); err != nil {
		b.t.Log(err)
	}
	return p
}

// beat shows a pod's heartbeat until the returned function is called.
func (b *bootEnv) beat(p pod) (stop func()) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	var beating sync.WaitGroup
	beating.Go(func() { p.Beat(ctx, func() jobs.Presence { return jobs.Presence{} }) })
	testenv.WaitFor(b.t, func() bool { return b.heartbeats() > 0 })
	stop = func() {
		cancel()
		beating.Wait()
	}
	b.t.Cleanup(stop)
	return stop
}

func (b *bootEnv) heartbeats() int64 {
	b.t.Helper()
	n, err := b.env.DB.Collection("processes").CountDocuments(context.WithoutCancel(b.t.Context()), bson.D{})
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

func (b *bootEnv) want(runs int32, situation string) {
	b.t.Helper()
	if n := b.runs.Load(); n != runs {
		b.t.Errorf("%s: %d passes, want %d", situation, n, runs)
	}
}

func TestRunAtBoot_AProcessThatJoinsALiveOneDoesNotRepeatARecentPass(t *testing.T) {
	t.Parallel()
	b := newBoot(t, nil)
	first := b.start()
	stop := b.beat(first)
	b.start()
	b.want(1, "a process joins")
	_, err := b.env.DB.Collection("jobruns").UpdateMany(t.Context(), bson.D{},
		bson.D{{Key: "$set", Value: bson.D{{Key: "finishedAt", Value: time.Now().Add(-2 * time.Minute)}}}})
	if err != nil {
		t.Fatal(err)
	}
	b.start()
	b.want(2, "the pass is two minutes old")
	stop()
	if n := b.heartbeats(); n != 0 {
		t.Errorf("%d heartbeats are left by a process that stopped", n)
	}
	b.start()
	b.want(3, "no other process is alive")
}

// A process was killed and starts again: the heartbeat that it left has not expired, and must
// not count as another process's.
func TestRunAtBoot_ASingleProcessThatRestartsRunsItsPass(t *testing.T) {
	t.Parallel()
	b := newBoot(t, nil)
	b.start()
	b.env.Insert("processes", bson.D{{Key: "_id", Value: lease.NewHolder("pod")}, {Key: "beats", Value: int64(7)},
		{Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
	b.start()
	b.want(2, "it restarts")
}

func TestRunAtBoot_APassThatLeftDocumentsOverSatisfiesThoseWhoWaited(t *testing.T) {
	t.Parallel()
	b := newBoot(t, fmt.Errorf("%w: one event", jobs.ErrLeftOver))
	booted, err := b.env.DB.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var started sync.WaitGroup
	for range 20 {
		p := open(t, b.env, []jobs.Job{b.job})
		started.Go(func() { _, _ = p.RunAtBoot(t.Context(), b.job, p.PassedSince(b.job.Name, booted)) })
	}
	started.Wait()
	b.want(1, "twenty processes start at once")
}

// A pass that its time limit ended has not seen everything. It satisfies no process that waited.
func TestRunAtBoot_APassThatRanOutOfTimeSatisfiesNobody(t *testing.T) {
	t.Parallel()
	b := newBoot(t, nil)
	waiting := open(t, b.env, []jobs.Job{b.job})
	booted, err := b.env.DB.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.start()
	for _, c := range []struct {
		reason string
		passes int32
	}{{"", 1}, {"time_limit", 2}} {
		reason := bson.D{{Key: "$set", Value: bson.D{{Key: "reason", Value: c.reason}}}}
		if _, err := b.env.DB.Collection("jobruns").UpdateMany(t.Context(), bson.D{}, reason); err != nil {
			t.Fatal(err)
		}
		if _, err := waiting.RunAtBoot(t.Context(), b.job, waiting.PassedSince(b.job.Name, booted)); err != nil {
			t.Error(err)
		}
		b.want(c.passes, "the reason of the other pass is "+c.reason)
	}
}

// A process on a busy machine loses its lease, and another one takes over. The first one waits for that
// pass, instead of serving without any. If there is no other one, it runs the pass again.
func TestRunAtBoot_AfterTheLeaseWasLost(t *testing.T) {
	t.Parallel()
	for _, takenOver := range []bool{true, false} {
		t.Run(fmt.Sprintf("taken over %t", takenOver), func(t *testing.T) {
			t.Parallel()
			env := testenv.New(t)
			runs := make(chan struct{}, 3)
			j := job("recovery", func(ctx context.Context) error {
				if runs <- struct{}{}; len(runs) == 1 { // the first run
					<-ctx.Done()
				}
				return ctx.Err()
			})
			booted, err := env.DB.Now(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			var completed, skipped atomic.Int32
			start := func(p pod) {
				all.Go(func() {
					result, err := p.RunAtBoot(t.Context(), j, p.PassedSince(j.Name, booted))
					switch {
					case err == nil && result.Outcome == jobs.Completed:
						completed.Add(1)
					case err == nil && result.Outcome == jobs.Skipped:
						skipped.Add(1)
					default:
						t.Errorf("%+v, %v", result, err)
					}
				})
			}
			first, others := open(t, env, []jobs.Job{j}), int32(0)
			start(first)
			testenv.WaitFor(t, func() bool { return len(runs) == 1 })
			if _, err := first.FreeLease(t.Context(), j.Name); err != nil {
				t.Fatal(err)
			}
			if takenOver {
				others = 1
				start(open(t, env, []jobs.Job{j}))
			}
			all.Wait()
			if len(runs) != 2 || completed.Load() != 1 || skipped.Load() != others {
				t.Errorf("%d runs, %d processes completed one, %d skipped it", len(runs), completed.Load(), skipped.Load())
			}
		})
	}
}
