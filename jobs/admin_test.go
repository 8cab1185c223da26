package jobs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// Of two simultaneous manual runs on two processes, one runs and the other is
// refused with the holder.
func TestRunNow_SecondRunIsRefusedWithTheHolder(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	started, finish := make(chan struct{}, 1), make(chan struct{})
	j := job("j", func(context.Context) error {
		started <- struct{}{}
		<-finish
		return nil
	})
	a, b := open(t, env, []jobs.Job{j}), open(t, env, []jobs.Job{j})
	first := make(chan jobs.Record, 1)
	go func() {
		r, err := a.RunNow(t.Context(), "j", time.Minute)
		if err != nil {
			t.Error(err)
		}
		first <- r
	}()
	<-started
	_, err := b.RunNow(t.Context(), "j", time.Minute)
	if !holdfast.HasCode(err, jobs.CodeRunning) || !strings.Contains(err.Error(), a.Holder) {
		t.Errorf("the second run: %v", err)
	}
	states, leader, err := b.States(t.Context())
	if err != nil || len(states) != 1 || states[0].Lease.Holder != a.Holder || states[0].Last.Outcome != jobs.Running || leader.Held() {
		t.Errorf("states %+v, leader %+v, %v", states, leader, err)
	}
	close(finish)
	if r := <-first; r.Outcome != jobs.Completed || r.Trigger != jobs.Manual || r.Pod != a.Holder {
		t.Errorf("the first run: %+v", r)
	}
	if _, err := b.RunNow(t.Context(), "nonsense", time.Minute); !holdfast.HasCode(err, jobs.CodeNotFound) {
		t.Error(err)
	}
}

// A long run is returned while it is in progress. It goes on after its request, and
// Stop cancels it.
func TestRunNow_OutlivesItsRequestAndEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	j := job("j", func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	p := open(t, env, []jobs.Job{j})
	request, cancel := context.WithCancel(t.Context())
	const timeout = 5 * time.Second // on a busy machine, the run may start late
	run, err := p.RunNow(request, "j", timeout)
	cancel()
	if err != nil || run.Outcome != jobs.Running || run.ID == "" {
		t.Fatalf("%+v, %v", run, err)
	}
	p.Stop()
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	records := p.runs(t, "j")
	if len(records) != 1 || records[0].ID != run.ID || records[0].Outcome != jobs.Failed || records[0].Reason != "the process was stopped" {
		t.Errorf("records: %+v", records)
	}
	if n := p.leases(t); n != 0 {
		t.Errorf("%d leases are left", n)
	}
	if _, err := p.RunNow(t.Context(), "j", time.Minute); !holdfast.HasCode(err, holdfast.CodeUnavailable) {
		t.Errorf("after Stop: %v", err)
	}
}

func TestRunNow_IsRefusedWhileRedisIsDown(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	p := open(t, env, []jobs.Job{job("j", succeed)}, waitForRedis(t, "redis://127.0.0.1:1"))
	if _, err := p.RunNow(t.Context(), "j", time.Minute); !holdfast.HasCode(err, holdfast.CodeUnavailable) {
		t.Error(err)
	}
	if _, err := p.FreeLease(t.Context(), "j"); !holdfast.HasCode(err, holdfast.CodeOutcomeUnknown) {
		t.Error(err)
	}
	states, leader, err := p.States(t.Context())
	if err != nil || states[0].Lease.Known || leader.Known {
		t.Errorf("%+v, %+v, %v", states, leader, err)
	}
}

// A run that waits for its lease when the request ends may start afterwards.
func TestRunNow_ThatHasNotStartedYetHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	acquiring, acquire := make(chan struct{}), make(chan struct{})
	p := open(t, env, []jobs.Job{job("j", succeed)}, func(o *jobs.Options) {
		o.Leases = hookedStore{LeaseStore: o.Leases, beforeAcquire: func(string) {
			close(acquiring)
			<-acquire
		}}
	})
	request, giveUp := context.WithCancel(t.Context())
	go func() {
		<-acquiring
		giveUp()
	}()
	if _, err := p.RunNow(request, "j", time.Minute); !holdfast.HasCode(err, holdfast.CodeOutcomeUnknown) {
		t.Error(err)
	}
	close(acquire)
	testenv.WaitFor(t, func() bool { return len(p.runs(t, "j")) == 1 })
}

func TestRuns_AreListedNewestFirst(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	j := job("j", succeed)
	p := open(t, env, []jobs.Job{j, job("j-2", succeed)})
	var want []string
	for range 5 {
		result, err := p.RunExclusive(t.Context(), j, jobs.Manual)
		if err != nil {
			t.Fatal(err)
		}
		want = append([]string{result.ID}, want...)
	}
	if _, err := p.RunExclusive(t.Context(), job("j-2", succeed), jobs.Manual); err != nil {
		t.Fatal(err)
	}
	var got []string
	for page := (holdfast.Page{Size: 2}); ; {
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
	if _, _, err := p.Runs(t.Context(), "j", holdfast.Page{Token: "nonsense"}); !holdfast.HasCode(err, holdfast.CodeInvalid) {
		t.Error(err)
	}
}

// The process that lost the leader's lease campaigns again.
func TestFreeLease_FreesTheLeadersLease(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	p := open(t, env, nil)
	p.schedule(t)
	p.awaitLeader(t)
	freed, err := p.FreeLease(t.Context(), "leader")
	if err != nil || freed.Holder != p.Holder || freed.Name != jobs.LeaderLease {
		t.Errorf("%+v, %v", freed, err)
	}
	testenv.WaitFor(t, func() bool { return len(env.Log.Lines("Lease acquired")) >= 2 })
	if len(env.Log.Lines("WARN Lease lost")) != 1 {
		t.Error("the loss was not logged")
	}
}
