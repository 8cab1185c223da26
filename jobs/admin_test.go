package jobs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// Two runs by hand at once on two processes: one runs, the other is told who.
func TestRunNow_TheSecondIsToldTheHolder(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	begun, end := make(chan struct{}, 1), make(chan struct{})
	j := job("j", func(context.Context) error {
		begun <- struct{}{}
		<-end
		return nil
	})
	a, b := open(t, w, []jobs.Job{j}), open(t, w, []jobs.Job{j})
	first := make(chan jobs.Record, 1)
	go func() {
		r, err := a.RunNow(t.Context(), "j", time.Minute)
		if err != nil {
			t.Error(err)
		}
		first <- r
	}()
	<-begun
	_, err := b.RunNow(t.Context(), "j", time.Minute)
	if !fault.Is(err, jobs.CodeRunning) || !strings.Contains(err.Error(), a.Holder) {
		t.Errorf("the second: %v", err)
	}
	states, leader, err := b.States(t.Context())
	if err != nil || len(states) != 1 || states[0].Lease.Holder != a.Holder || states[0].Last.Outcome != jobs.Running || leader.Held() {
		t.Errorf("told as %+v, led by %+v, %v", states, leader, err)
	}
	close(end)
	if r := <-first; r.Outcome != jobs.Completed || r.Trigger != jobs.Manual || r.Pod != a.Holder {
		t.Errorf("the first: %+v", r)
	}
	if _, err := b.RunNow(t.Context(), "nonsense", time.Minute); !fault.Is(err, jobs.CodeNotFound) {
		t.Error(err)
	}
}

// A long run is answered while it goes on, survives its request, and ends with
// the process, in order.
func TestRunNow_OutlivesItsRequestAndEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	j := job("j", func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	p := open(t, w, []jobs.Job{j})
	request, leave := context.WithCancel(t.Context())
	const patience = 5 * time.Second // to start within, on a busy machine
	run, err := p.RunNow(request, "j", patience)
	leave()
	if err != nil || run.Outcome != jobs.Running || run.ID == "" {
		t.Fatalf("%+v, %v", run, err)
	}
	p.Stop()
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if kept := p.runs(t, "j"); len(kept) != 1 || kept[0].ID != run.ID || kept[0].Outcome != jobs.Failed || kept[0].Reason != "the process was stopped" {
		t.Errorf("kept as %+v", kept)
	}
	if n := p.leases(t); n != 0 {
		t.Errorf("%d leases are left", n)
	}
	if _, err := p.RunNow(t.Context(), "j", time.Minute); !fault.Is(err, mongodb.CodeUnavailable) {
		t.Errorf("after the stop: %v", err)
	}
}

func TestRunNow_WaitsWithRedisDown(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	p := open(t, w, []jobs.Job{job("j", nothing)}, withRedis(t, "redis://127.0.0.1:1", false))
	if _, err := p.RunNow(t.Context(), "j", time.Minute); !fault.Is(err, mongodb.CodeUnavailable) {
		t.Error(err)
	}
	if _, err := p.FreeLease(t.Context(), "j"); !fault.Is(err, mongodb.CodeUnavailable) {
		t.Error(err)
	}
	states, leader, err := p.States(t.Context())
	if err != nil || states[0].Lease.Known || leader.Known {
		t.Errorf("%+v, %+v, %v", states, leader, err)
	}
}

func TestRuns_PagesNewestFirst(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	j := job("j", nothing)
	p := open(t, w, []jobs.Job{j, job("j-2", nothing)})
	var want []string
	for range 5 {
		result, err := p.RunExclusive(t.Context(), j, jobs.Manual)
		if err != nil {
			t.Fatal(err)
		}
		want = append([]string{result.ID}, want...)
	}
	if _, err := p.RunExclusive(t.Context(), job("j-2", nothing), jobs.Manual); err != nil {
		t.Fatal(err)
	}
	var got []string
	for page := (mongodb.Page{Size: 2}); ; {
		records, next, err := p.Runs(t.Context(), "j", page)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			got = append(got, r.ID)
		}
		if page.Token = next; next == "" {
			break
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if _, _, err := p.Runs(t.Context(), "j", mongodb.Page{Token: "nonsense"}); !fault.Is(err, fault.CodeInvalid) {
		t.Error(err)
	}
}

// The leader's lease can be freed too; the leader then campaigns again.
func TestFreeLease_OfTheLeader(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	p := open(t, w, nil)
	p.schedule(t)
	p.awaitLeader(t)
	freed, err := p.FreeLease(t.Context(), "leader")
	if err != nil || freed.Holder != p.Holder || freed.Name != lease.Leader {
		t.Errorf("%+v, %v", freed, err)
	}
	for len(w.Log.Lines("Lease acquired")) < 2 {
		<-time.After(5 * time.Millisecond)
	}
	if len(w.Log.Lines("WARN Lease lost")) != 1 {
		t.Error("the loss went unsaid")
	}
}
