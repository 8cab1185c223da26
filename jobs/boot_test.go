package jobs_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
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

func (b *bootEnv) want(runs int32, situation string) {
	b.t.Helper()
	if n := b.runs.Load(); n != runs {
		b.t.Errorf("%s: %d passes, want %d", situation, n, runs)
	}
}

// A process that starts directly after another one's pass runs its own: something may have gone wrong in between.
func TestRunAtBoot_APassFromBeforeTheStartIsRepeated(t *testing.T) {
	t.Parallel()
	b := newBoot(t, nil)
	b.start()
	b.start()
	b.want(2, "a process starts after the pass")
}

// Processes that start while a pass runs wait for the next one together.
func TestRunAtBoot_ProcessesThatStartDuringAPassShareTheNextOne(t *testing.T) {
	t.Parallel()
	b := newBoot(t, nil)
	began, proceed := make(chan struct{}), make(chan struct{})
	do := b.job.Do
	first := b.job
	first.Do = func(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
		close(began)
		<-proceed
		return do(ctx, run)
	}
	var all sync.WaitGroup
	start := func(j jobs.Job) {
		p := open(t, b.env, []jobs.Job{j})
		booted, err := b.env.DB.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if _, err := p.RunAtBoot(t.Context(), j, p.PassedSince(j.Name, booted)); err != nil {
				t.Error(err)
			}
		})
	}
	start(first)
	<-began
	for range 5 {
		start(b.job)
	}
	const waitLine = "INFO Another process runs this job; waiting for the run's end"
	testenv.WaitFor(t, func() bool { return len(b.env.Log.Lines(waitLine)) == 5 })
	close(proceed)
	all.Wait()
	b.want(2, "five processes start during a pass")
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
