package jobs_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// A run that was asked for is listed before it starts. If its process ends, it goes on under its ID, and counts on.
func TestAsked_ARunGoesOnUntilItIsDone(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	var begun atomic.Int32
	var isDone atomic.Bool
	asked := jobs.Job{
		Name: "asked", Interval: 50 * time.Millisecond,
		Asked: func(context.Context) (string, error) {
			if isDone.Load() {
				return "", nil
			}
			return "asked-1", nil
		},
		Do: func(ctx context.Context, run jobs.Run) (jobs.Counts, error) {
			counts := run.Earlier.Add(jobs.Counts{Found: 2, Applied: 1, SeatsRestored: 3})
			if begun.Add(1) < 3 {
				run.Report(ctx, counts)
				return counts, errors.New("its process ended")
			}
			isDone.Store(true)
			return counts, nil
		},
	}
	p := open(t, env, []jobs.Job{asked})
	waiting := p.Await(t.Context(), "asked", "asked-1")
	if waiting.Outcome != jobs.Running || waiting.Pod != "" || waiting.StartedAt.IsZero() || waiting.ID != "asked-1" {
		t.Errorf("it waits as %+v", waiting)
	}
	for n := range 2 {
		if _, err := p.RunNow(t.Context(), "asked", time.Minute); err != nil {
			t.Fatal(err)
		}
		again := p.Await(t.Context(), "asked", "asked-1")
		if again.Outcome != jobs.Running || again.Applied != n+1 || again.Pod != p.Holder || !again.FinishedAt.IsZero() {
			t.Errorf("after %d runs it is %+v", n+1, again)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	scheduled := make(chan error, 1)
	go func() { scheduled <- p.Schedule(ctx) }()
	testenv.WaitFor(t, isDone.Load)
	testenv.WaitFor(t, func() bool { return p.Await(t.Context(), "asked", "asked-1").Outcome == jobs.Completed })
	testenv.HoldsFor(t, 300*time.Millisecond, func() bool { return begun.Load() == 3 }) // nothing is asked for any more
	stop()
	if err := <-scheduled; err != nil {
		t.Error(err)
	}
	records := p.runs(t, "asked")
	if len(records) != 1 {
		t.Fatalf("the records are %+v", records)
	}
	r := records[0]
	want := jobs.Counts{Found: 6, Applied: 3, SeatsRestored: 9}
	if r.Counts != want || r.Trigger != jobs.Manual || r.Outcome != jobs.Completed || r.FinishedAt.Before(r.StartedAt) ||
		!r.StartedAt.Equal(waiting.StartedAt) {
		t.Errorf("the record is %+v", r)
	}
}

// A run that waits lets another one go first, and goes on under its ID. One request carries out all that was asked for.
func TestAsked_ARunLetsAnotherOneGoFirst(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	var mu sync.Mutex
	left, order := []string{"asked-1", "asked-2"}, []string(nil)
	waited := false
	asked := jobs.Job{
		Name: "asked",
		Asked: func(context.Context) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			if len(left) == 0 {
				return "", nil
			}
			return left[0], nil
		},
		Do: func(_ context.Context, run jobs.Run) (jobs.Counts, error) {
			mu.Lock()
			defer mu.Unlock()
			order, left = append(order, run.ID), left[1:]
			counts := run.Earlier.Add(jobs.Counts{Applied: 1})
			if !waited {
				waited, left = true, append(left, run.ID)
				return counts, jobs.ErrOthersFirst
			}
			return counts, nil
		},
	}
	p := open(t, env, []jobs.Job{asked})
	if first, err := p.RunNow(t.Context(), "asked", time.Minute); err != nil || first.ID != "asked-1" || first.Outcome != jobs.Running {
		t.Errorf("the first run is %+v, %v", first, err)
	}
	for n, id := range []string{"asked-1", "asked-2"} {
		testenv.WaitFor(t, func() bool { return p.Await(t.Context(), "asked", id).Outcome == jobs.Completed })
		if got := p.Await(t.Context(), "asked", id).Applied; got != 2-n {
			t.Errorf("run %s has applied %d", id, got)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"asked-1", "asked-2", "asked-1"}; !slices.Equal(order, want) {
		t.Errorf("the order is %v, want %v", order, want)
	}
}
