package chaos_test

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs/lease"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// While seats are sold, the worker that tells the endpoints is killed three times, and then frozen until another one has taken
// over, and woken. The endpoint is told of every change that was committed and of no other one, of each subject in order, and of
// each change with the same ID and the same body whenever it is told.
func TestWebhooks_TheProcessThatTellsIsKilledOrFrozen(t *testing.T) {
	t.Parallel()
	ws := startWorkers(t, lease.KindMongo, 2, "WEBHOOK_ALLOW_PRIVATE=true")
	service := webhooks.New(ws.env.DB, ws.env.Changes, true)
	r := newHookReceiver(t)
	endpoint, _, _, err := service.Create(t.Context(), webhooks.NewEndpoint{URL: r.server.URL, Types: []string{"*"}}, holdfast.CreationKey{})
	if err != nil {
		t.Fatal(err)
	}
	event := ws.env.Event(eventSeats)
	ctx, stop := context.WithCancel(t.Context())
	var selling sync.WaitGroup
	for range 4 {
		selling.Go(func() { ws.sellLocks(ctx, event) })
	}
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
	stop()
	selling.Wait()
	r.succeed()
	r.awaitAll(ws.env)
	r.check()
	settled := poll(resumeTimeout, 50*time.Millisecond, func() bool {
		pending, _, err := service.Deliveries(t.Context(), endpoint.ID, webhooks.Pending, holdfast.Page{Size: 1})
		return err == nil && len(pending) == 0
	})
	if dead, _, err := service.Deliveries(t.Context(), endpoint.ID, webhooks.Dead, holdfast.Page{Size: 1}); !settled || err != nil || len(dead) > 0 {
		t.Errorf("deliveries are settled: %v; dead: %+v, %v", settled, dead, err)
	}
	ws.stop()
	testenv.CheckInvariants(t, ws.env.DB.Database)
}

// sellLocks makes, extends and releases locks until ctx ends.
func (ws *workers) sellLocks(ctx context.Context, event holdfast.ID) {
	user := ids.New()
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

// awaitTeller waits until a process other than the former one has the lease of the job webhooks and the endpoint is told of more.
func (ws *workers) awaitTeller(r *hookReceiver, former string) (teller string) {
	ws.t.Helper()
	told := r.count()
	found := poll(startTimeout, 10*time.Millisecond, func() bool {
		h, err := ws.leases.Read(ws.t.Context(), lease.Of("webhooks"))
		teller = h.Holder
		if err != nil || !h.Held() || teller == former {
			told = r.count()
			return false
		}
		return r.count() > told+20
	})
	if !found {
		ws.t.Fatalf("no worker tells the endpoint after %s", former)
	}
	return teller
}

// hookReceiver is an endpoint that keeps all it is told. It refuses some deliveries.
type hookReceiver struct {
	t      *testing.T
	server *httptest.Server

	mu       sync.Mutex
	all      []hookDelivery
	accepted []hookDelivery
	refuses  bool
	want     []string // all changes
}

type hookDelivery struct {
	ID       string `json:"id"`
	Subject  string `json:"subject"`
	Sequence string `json:"sequence"`
	header   string // webhook-id
	body     string
}

func newHookReceiver(t *testing.T) *hookReceiver {
	r := &hookReceiver{t: t, refuses: true}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

func (r *hookReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil { // its process was killed
		return
	}
	d := hookDelivery{header: request.Header.Get("webhook-id"), body: string(body)}
	if err := json.Unmarshal(body, &d); err != nil {
		r.t.Errorf("%q: %v", body, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, d)
	if r.refuses && len(r.all)%50 == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	r.accepted = append(r.accepted, d)
}

func (r *hookReceiver) succeed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuses = false
}

func (r *hookReceiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.accepted)
}

// awaitAll waits until each change was accepted.
func (r *hookReceiver) awaitAll(env *testenv.Env) {
	r.t.Helper()
	var missing []string
	told := poll(resumeTimeout, 100*time.Millisecond, func() bool {
		if r.want = nil; !r.list(env) {
			return false
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		accepted := map[string]bool{}
		for _, d := range r.accepted {
			accepted[d.ID] = true
		}
		missing = slices.DeleteFunc(slices.Clone(r.want), func(id string) bool { return accepted[id] })
		return len(missing) == 0
	})
	if !told {
		r.t.Errorf("the endpoint was never told of %d of %d changes: %v", len(missing), len(r.want), missing[:min(5, len(missing))])
	}
}

// list lists the changes. It is false while some have no number yet.
func (r *hookReceiver) list(env *testenv.Env) bool {
	r.t.Helper()
	if waits, err := env.Changes.WaitingSince(r.t.Context()); err != nil || !waits.IsZero() {
		return false
	}
	from := changes.Position{Seq: 1}
	for {
		list, next, err := env.Changes.List(r.t.Context(), &from, changes.Filter{}, 500)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, c := range list {
			r.want = append(r.want, c.ID())
		}
		if next == from {
			return true
		}
		from = next
	}
}

// check fails the test if something else was told, in another order, or not as before.
func (r *hookReceiver) check() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	committed, bodies, last, seen := map[string]bool{}, map[string]string{}, map[string]string{}, map[string]bool{}
	for _, id := range r.want {
		committed[id] = true
	}
	for _, d := range r.all {
		if before, isKnown := bodies[d.ID]; d.header != d.ID || !committed[d.ID] || isKnown && before != d.body {
			r.t.Errorf("told was %+v; before %q; it was committed: %v", d, before, committed[d.ID])
		}
		bodies[d.ID] = d.body
	}
	for _, d := range r.accepted {
		if seen[d.ID] {
			continue
		}
		seen[d.ID] = true
		if d.Sequence < last[d.Subject] {
			r.t.Errorf("%s was told after %s of its subject", d.ID, last[d.Subject])
		}
		last[d.Subject] = d.Sequence
	}
	r.t.Logf("%d changes, %d tries, %d accepted", len(r.want), len(r.all), len(r.accepted))
	if len(r.want) < 200 {
		r.t.Errorf("%d changes are too few to prove anything", len(r.want))
	}
}
