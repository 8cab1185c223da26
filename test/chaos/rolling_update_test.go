package chaos_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// healthCheckInterval is the time between two requests of the load balancer to a back end's /readyz.
const healthCheckInterval = 250 * time.Millisecond

// loadBalancer sends requests to its back ends in turn. It checks their /readyz now and then, and
// repeats no request.
type loadBalancer struct {
	mu       sync.Mutex
	backEnds []*backEnd
	next     int
	checks   sync.WaitGroup
}

type backEnd struct {
	proxy *httputil.ReverseProxy
	ready atomic.Bool
}

// add adds a back end, and checks it until ctx ends.
func (b *loadBalancer) add(ctx context.Context, t *testing.T, c *apiCaller) *backEnd {
	t.Helper()
	target, err := url.Parse(c.base)
	if err != nil {
		t.Fatal(err)
	}
	added := &backEnd{proxy: httputil.NewSingleHostReverseProxy(target)}
	added.proxy.Transport = c.http.Transport
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backEnds = append(b.backEnds, added)
	b.checks.Go(func() {
		for ctx.Err() == nil {
			status, _, _, err := c.send(ctx, http.MethodGet, "/readyz", nil)
			added.ready.Store(err == nil && status == http.StatusOK)
			delay(ctx, healthCheckInterval)
		}
	})
	return added
}

// ServeHTTP implements http.Handler.
func (b *loadBalancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	var chosen *backEnd
	for range b.backEnds {
		b.next = (b.next + 1) % len(b.backEnds)
		if b.backEnds[b.next].ready.Load() {
			chosen = b.backEnds[b.next]
			break
		}
	}
	b.mu.Unlock()
	if chosen == nil {
		http.Error(w, "no back end is ready", http.StatusBadGateway)
		return
	}
	chosen.proxy.ServeHTTP(w, r)
}

// All APIs behind a load balancer are replaced, one after the other, while clients lock seats. No
// request is lost.
func TestStop_RollingUpdateLosesNoRequest(t *testing.T) {
	t.Parallel()
	const clients, replicas = 16, 2
	env := testenv.New(t)
	balancer := &loadBalancer{}
	checking, stopChecks := context.WithCancel(t.Context())
	defer balancer.checks.Wait()
	defer stopChecks()
	startReplica := func() *process {
		addr := address(t)
		p := start(t, "api", append(apiSettings(env, addr), "SHUTDOWN_DELAY=2s")...)
		c := newAPICaller(t, addr, clients, 15*time.Second)
		awaitReady(t, c, p)
		testenv.WaitFor(t, balancer.add(checking, t, c).ready.Load)
		return p
	}
	var old []*process
	for range replicas {
		old = append(old, startReplica())
	}
	front := httptest.NewServer(balancer)
	defer front.Close()
	c := newAPICaller(t, front.Listener.Addr().String(), clients, 15*time.Second)
	user, event := createUser(t, c), createEvent(t, c, 10_000_000)
	loading, stopLoad := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var locked atomic.Int64
	for i := range clients {
		all.Go(func() {
			for n := 0; loading.Err() == nil; n++ {
				status, _, raw, err := c.send(t.Context(), http.MethodPost, "/api/locks",
					map[string]any{"eventId": event, "userId": user, "seats": 1, "idempotencyKey": fmt.Sprintf("%d-%d", i, n)})
				if err != nil || status != http.StatusCreated {
					t.Errorf("a request was lost: %d %s %v", status, raw, err)
					return
				}
				locked.Add(1)
				delay(loading, 5*time.Millisecond)
			}
		})
	}
	for _, p := range old {
		defer startReplica().kill()
		if err := p.stop(t); err != nil {
			t.Errorf("after SIGTERM: %v", err)
		}
	}
	stopLoad()
	all.Wait()
	t.Logf("%d requests", locked.Load())
	testenv.CheckInvariants(t, env.DB.Database)
}
