package chaos_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// While seats are sold, the worker that tells the endpoints is killed three times, and then frozen until another one has taken
// over, and woken. Meanwhile past changes are replayed, and some are refused until they are DEAD. The endpoint gets every
// change that was committed and no other one, those of each subject in order, and each change with the same ID and the same body
// at every try.
func TestWebhooks_TheProcessThatTellsIsKilledOrFrozen(t *testing.T) {
	t.Parallel()
	ws := startWorkers(t, jobs.StoreMongo, 2, "WEBHOOK_ALLOW_PRIVATE=true")
	service := webhooks.New(ws.env.DB, ws.env.Changes, true)
	r := newWebhookReceiver(t, seedFromEnv())
	all := webhooks.NewEndpoint{URL: r.server.URL, Types: []string{"*"}}
	endpoint, secret, _, err := service.Create(t.Context(), all, holdfast.CreationKey{})
	if err != nil {
		t.Fatal(err)
	}
	r.addSecret(secret)
	r.replay = func(ctx context.Context, what webhooks.Replay) (int, error) {
		return service.Replay(ctx, endpoint.ID, what)
	}
	r.set(true, false)
	event := ws.env.Event(eventSeats)
	ctx, stop := context.WithCancel(t.Context())
	var selling sync.WaitGroup
	for range 4 {
		selling.Go(func() { ws.sellLocks(ctx, event) })
	}
	selling.Go(func() { r.operate(ctx, ws.env, rand.New(rand.NewPCG(seedFromEnv(), 1<<38))) })
	teller := ""
	for range 3 {
		teller = ws.awaitTeller(r, teller)
		delay(t.Context(), time.Duration(rand.Int64N(int64(300*time.Millisecond))))
		ws.processes[podOf(teller)].kill()
		ws.start(podOf(teller))
	}
	teller = ws.awaitTeller(r, teller)
	ws.signal(podOf(teller), syscall.SIGSTOP)
	successor := ws.awaitTeller(r, teller)
	ws.signal(podOf(teller), syscall.SIGCONT)
	if now := ws.awaitTeller(r, ""); now != successor {
		t.Logf("%s tells after %s was woken and %s had taken over", now, teller, successor)
	}
	replayed, buried := 0, 0
	if !poll(resumeTimeout, 50*time.Millisecond, func() bool {
		more, dead := r.takeReplays()
		replayed, buried = replayed+more, buried+dead
		return replayed-buried >= 50 && buried > 0
	}) {
		t.Errorf("%d deliveries were replayed, %d of them DEAD: too few to prove anything", replayed, buried)
	}
	stop()
	selling.Wait()
	r.set(false, false)
	numbered := poll(resumeTimeout, 50*time.Millisecond, func() bool {
		waits, err := ws.env.Changes.WaitingSince(t.Context())
		return err == nil && waits.IsZero()
	})
	if told := r.count(); !numbered || told < 200 {
		t.Errorf("%d changes are too few to prove anything; all have a number: %v", told, numbered)
	}
	r.checkLast(ws.env)
	settled := poll(resumeTimeout, 50*time.Millisecond, func() bool {
		pending, _, err := service.Deliveries(t.Context(), endpoint.ID, webhooks.Pending, holdfast.Page{Size: 1})
		return err == nil && len(pending) == 0
	})
	dead, _, err := service.Deliveries(t.Context(), endpoint.ID, webhooks.Dead, holdfast.Page{Size: 1})
	if !settled || err != nil || len(dead) > 0 {
		t.Errorf("deliveries are settled: %v; dead: %+v, %v", settled, dead, err)
	}
	ws.stop()
	testenv.CheckInvariants(t, ws.env.DB.Database)
}

// sellLocks makes, extends and releases locks until ctx ends.
func (ws *workers) sellLocks(ctx context.Context, event holdfast.ID) {
	user := mongodb.NewID()
	for ctx.Err() == nil {
		detached := context.WithoutCancel(ctx)
		lock, _, err := ws.env.Seats.AcquireLock(detached, holdfast.LockRequest{EventID: event, UserID: user, Seats: 1, Until: testenv.Soon()})
		if err == nil {
			_, err = ws.env.Seats.ExtendLock(detached, lock.ID, holdfast.Until{For: 90 * time.Minute})
		}
		if err == nil {
			_, err = ws.env.Seats.ReleaseLock(detached, lock.ID)
		}
		if err != nil {
			ws.t.Error(err)
			return
		}
		delay(ctx, 20*time.Millisecond)
	}
}

func (ws *workers) signal(pod string, s syscall.Signal) {
	ws.t.Helper()
	if err := ws.processes[pod].cmd.Process.Signal(s); err != nil {
		ws.t.Fatal(err)
	}
}

// podOf is the pod of a process that holds a lease.
func podOf(holder string) string {
	pod, _, _ := strings.Cut(holder, "/")
	return pod
}

// awaitTeller waits until a process other than the previous one has the lease of the job webhooks and the endpoint gets more.
func (ws *workers) awaitTeller(r *webhookReceiver, previous string) (teller string) {
	ws.t.Helper()
	told := r.count()
	found := poll(startTimeout, 10*time.Millisecond, func() bool {
		h, err := ws.leases.Read(ws.t.Context(), jobs.LeaseOf("webhooks"))
		teller = h.Holder
		if err != nil || !h.Held() || teller == previous {
			told = r.count()
			return false
		}
		return r.count() > told+20
	})
	if !found {
		ws.t.Fatalf("no worker tells the endpoint after %s", previous)
	}
	return teller
}
