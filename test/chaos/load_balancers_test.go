package chaos_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/picker"
)

const (
	// goesOnWithin is how soon an event's requests succeed again after its process died or began to stop.
	goesOnWithin = 3 * time.Second
	// goesOnAfterTransactionWithin is the same if the process died inside a transaction of the event.
	goesOnAfterTransactionWithin = 8 * time.Second
	// goesOnFrozenWithin is the same if it is frozen: two checks of a load balancer have to time out, and it may be inside a
	// transaction.
	goesOnFrozenWithin = 8 * time.Second
)

// farm is several APIs behind a load balancer, and clients that lock seats of several events.
type farm struct {
	t      *testing.T
	env    *testenv.Env
	nodes  []*farmNode
	front  string     // address of the load balancer
	direct *apiCaller // calls once, through the load balancer
	events []string
	user   string
	shop   *client.Client // calls through the load balancer

	mu    sync.Mutex
	locks map[string]bool        // acknowledged, by ID
	acks  map[string][]time.Time // by event
	lost  atomic.Int64
}

// farmNode is an API, and the proxy by which it reaches MongoDB.
type farmNode struct {
	process *process
	addr    string
	caller  *apiCaller
	mongo   *countingProxy
}

// loadBalancerUnderTest starts a load balancer as it is shipped, in front of three addresses.
type loadBalancerUnderTest func(t *testing.T, listen string, servers [3]string)

func newFarm(t *testing.T, start loadBalancerUnderTest) *farm {
	t.Helper()
	const nodes, events = 3, 6
	f := &farm{t: t, env: testenv.New(t), front: address(t), locks: map[string]bool{}, acks: map[string][]time.Time{}}
	var servers [nodes]string
	for i := range nodes {
		n := &farmNode{addr: address(t), mongo: newCountingProxy(t, f.env.URI, "commitTransaction")}
		n.caller = newAPICaller(t, n.addr, 1, 15*time.Second)
		f.nodes = append(f.nodes, n)
		servers[i] = n.addr
		f.start(n)
	}
	start(t, f.front, servers)
	f.direct = newAPICaller(t, f.front, 4, 15*time.Second)
	testenv.WaitFor(t, func() bool { // it has found the processes
		status, _, _, err := f.direct.send(t.Context(), http.MethodGet, "/api/events", nil)
		return err == nil && status == http.StatusOK
	})
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	f.shop = client.New("http://"+f.front, client.WithHTTPClient(&http.Client{Timeout: 15 * time.Second, Transport: transport}))
	f.user = createUser(t, f.direct)
	for range events {
		f.events = append(f.events, createEvent(t, f.direct, 1_000_000))
	}
	return f
}

// start starts a node's process, and waits until it is ready.
func (f *farm) start(n *farmNode) {
	f.t.Helper()
	settings := append(apiSettings(f.env, n.addr), "MONGODB_URI="+n.mongo.uri, "SHUTDOWN_DELAY=2s")
	n.mongo.inspectWith(func([]byte, direction) bool { return true })
	n.process = start(f.t, "api", settings...)
	f.t.Cleanup(n.process.kill)
	awaitReady(f.t, n.caller, n.process)
}

// sell locks seats of each event at a steady rate, until ctx ends and all requests are answered. A request does not wait
// for the one before, as customers don't.
func (f *farm) sell(ctx context.Context) (wait func()) {
	const interval = 60 * time.Millisecond
	var all sync.WaitGroup
	for _, event := range f.events {
		all.Go(func() {
			for ctx.Err() == nil {
				all.Go(func() { f.lock(event) })
				delay(ctx, interval)
			}
		})
	}
	return all.Wait
}

func (f *farm) lock(event string) {
	l, err := f.shop.AcquireLock(context.Background(), client.LockRequest{EventID: event, UserID: f.user, Seats: 1})
	if err != nil {
		f.t.Errorf("a request was lost: %v", err)
		f.lost.Add(1)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.locks[l.ID] = true
	f.acks[event] = append(f.acks[event], time.Now())
}

// await waits until each event has sold for some time after a fault, and fails if one sold nothing for longer than limit.
func (f *farm) await(what string, fault time.Time, limit time.Duration) {
	f.t.Helper()
	const after = time.Second
	longest := time.Duration(0)
	for _, event := range f.events {
		var gap time.Duration
		goesOn := poll(limit+30*time.Second, 50*time.Millisecond, func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			gap = 0
			last := fault
			for _, at := range f.acks[event] {
				if at.After(fault) {
					gap, last = max(gap, at.Sub(last)), at
				}
			}
			return last.Sub(fault) > gap+after && last.Sub(fault) > limit
		})
		if !goesOn || gap > limit {
			f.t.Errorf("%s: the event %s sold nothing for %v", what, event, gap)
		}
		longest = max(longest, gap)
	}
	f.t.Logf("%s: an event waited for %v at most", what, longest.Round(time.Millisecond))
}

// locksMade returns how many requests for locks each process has handled.
func (f *farm) locksMade() (counts []int) {
	pattern := regexp.MustCompile(`holdfast_http_requests_total\{method="POST",route="POST /api/events/{eventId}/locks",status="201"} (\d+)`)
	for _, n := range f.nodes {
		_, _, text, err := n.caller.send(f.t.Context(), http.MethodGet, "/metrics", nil)
		if err != nil {
			f.t.Fatal(err)
		}
		count := 0
		if found := pattern.FindSubmatch(text); found != nil {
			_, _ = fmt.Sscan(string(found[1]), &count)
		}
		counts = append(counts, count)
	}
	return counts
}

// checkRouting: all locks of an event are made by one process, and not all events have the same one.
func (f *farm) checkRouting() {
	f.t.Helper()
	const requests = 12
	owners := map[int]bool{}
	for n := 0; n < 40 && len(owners) < 2; n++ {
		event := createEvent(f.t, f.direct, 1000)
		before := f.locksMade()
		for range requests {
			mustCreate(f.t, f.direct, "/api/events/"+event+"/locks", map[string]any{"userId": f.user, "seats": 1})
		}
		after := f.locksMade()
		for i := range after {
			switch after[i] - before[i] {
			case 0:
			case requests:
				owners[i] = true
			default:
				f.t.Errorf("a process made %d of the %d locks of an event", after[i]-before[i], requests)
			}
		}
	}
	if len(owners) < 2 {
		f.t.Error("one process has all events")
	}
}

// checkStream: a message of a stream comes through while the stream is open.
func (f *farm) checkStream() {
	f.t.Helper()
	event := createEvent(f.t, f.direct, 1000)
	ctx, cancel := context.WithTimeout(f.t.Context(), 20*time.Second) // a heartbeat alone comes after 15 s
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.direct.base+"/api/events/"+event+"/stream", nil)
	if err != nil {
		f.t.Fatal(err)
	}
	response, err := (&http.Client{Transport: f.direct.http.Transport}).Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	defer closeQuietly(response.Body)
	lines := bufio.NewScanner(response.Body)
	awaitLine := func(part string) {
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), ": heartbeat") {
				break
			}
			if strings.Contains(lines.Text(), part) {
				return
			}
		}
		f.t.Errorf("the stream does not bring %q: %q, %v", part, lines.Text(), lines.Err())
	}
	awaitLine(`"availableSeats":1000`)
	mustCreate(f.t, f.direct, "/api/events/"+event+"/locks", map[string]any{"userId": f.user, "seats": 1})
	awaitLine(`"availableSeats":999`)
}

// checkLimits: what operators use is not there, the proxy refuses too much, and IDs of requests pass.
func (f *farm) checkLimits() {
	f.t.Helper()
	for _, path := range []string{
		"/metrics", "/%6detrics", "/console", "/api/admin/jobs", "/api/%61dmin/jobs", "//api/admin/jobs", "/api/webhooks", "/api/changes",
		"/api/events/../admin/jobs", "/api/events/%2e%2e/admin/jobs",
	} {
		if status, _, raw, err := f.direct.send(f.t.Context(), http.MethodGet, path, nil); err != nil || status/100 != 4 {
			f.t.Errorf("GET %s: %d %s %v", path, status, raw, err)
		}
	}
	for _, path := range []string{"/openapi.json", "/docs/", "/assets/holdfast-seats.js",
		"/assets/holdfast-seats/decorations-" + picker.Version + ".js", "/api/users/" + f.user} {
		if status, _, raw, err := f.direct.send(f.t.Context(), http.MethodGet, path, nil); err != nil || status != http.StatusOK {
			f.t.Errorf("GET %s: %d %s %v", path, status, raw, err)
		}
	}
	f.checkIDs()
	large := map[string]any{"name": strings.Repeat("x", 21_000_000)}
	if status, _, raw, err := f.direct.send(f.t.Context(), http.MethodPost, "/api/seating-plans", large); err == nil && status != 413 {
		f.t.Errorf("a large body: %d %s", status, raw)
	}
}

// checkIDs: the ID of a request is passed on if it is valid, and each answer has one.
func (f *farm) checkIDs() {
	f.t.Helper()
	for _, id := range []string{"shop-1.a_b", "", "no valid ID"} {
		request, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.direct.base+"/api/events", nil)
		if err != nil {
			f.t.Fatal(err)
		}
		request.Header.Set("X-Request-Id", id)
		response, err := f.direct.http.Do(request)
		if err != nil {
			f.t.Fatal(err)
		}
		_ = response.Body.Close() // its headers are what matters
		if got := response.Header.Get("X-Request-Id"); got == "" || (got == id) != (id == "shop-1.a_b") {
			f.t.Errorf("the request %q is answered as %q", id, got)
		}
	}
}

// checkEnd: every acknowledged lock is there, and the counters agree with the locks.
func (f *farm) checkEnd() {
	f.t.Helper()
	stored := map[string]bool{}
	locks, err := f.env.DB.Collection("seatlocks").Find(f.env.Ctx(), bson.D{{Key: "status", Value: "ACTIVE"}})
	if err != nil {
		f.t.Fatal(err)
	}
	var all []struct {
		ID holdfast.ID `bson:"_id"`
	}
	if err := locks.All(f.env.Ctx(), &all); err != nil {
		f.t.Fatal(err)
	}
	for _, l := range all {
		stored[l.ID.String()] = true
	}
	for id := range f.locks {
		if !stored[id] {
			f.t.Errorf("the acknowledged lock %s is lost", id)
		}
	}
	if len(f.locks) < 500 {
		f.t.Errorf("%d locks are too few", len(f.locks))
	}
	f.t.Logf("%d locks were acknowledged, %d are stored", len(f.locks), len(stored))
	testenv.CheckInvariants(f.t, f.env.DB.Database)
}

// endTransactions lets a process begin no further transaction, and waits until it has none. It is to be killed then.
func (n *farmNode) endTransactions(t *testing.T) {
	t.Helper()
	const quiet = 300 * time.Millisecond // a transaction takes a few milliseconds
	var last atomic.Int64
	last.Store(time.Now().UnixNano())
	n.mongo.inspectWith(func(packet []byte, d direction) bool {
		if d == toServer && bytes.Contains(packet, []byte("startTransaction")) {
			return false
		}
		if bytes.Contains(packet, []byte("txnNumber")) {
			last.Store(time.Now().UnixNano())
		}
		return true
	})
	if !poll(startTimeout, 10*time.Millisecond, func() bool { return time.Since(time.Unix(0, last.Load())) > quiet }) {
		t.Fatal("the process has transactions all the time")
	}
}

// dieInTransaction kills a process when it is about to commit.
func (f *farm) dieInTransaction() (died *farmNode, at time.Time) {
	f.t.Helper()
	trapped := make(chan *farmNode, len(f.nodes))
	var armed atomic.Bool
	armed.Store(true)
	for _, n := range f.nodes {
		n.mongo.inspectWith(func(packet []byte, d direction) bool {
			if d == toServer && bytes.Contains(packet, []byte("commitTransaction")) && armed.CompareAndSwap(true, false) {
				trapped <- n
				return false
			}
			return true
		})
	}
	n, inTime := receive(trapped, startTimeout)
	if !inTime {
		f.t.Fatal("no process commits")
	}
	at = time.Now()
	n.process.kill()
	return n, at
}

// Processes are killed, stopped, frozen, and killed inside a transaction, while clients lock seats through a load balancer.
// No acknowledged lock is lost, and no request: the clients of each event soon go on at another process.
func TestLoadBalancer_LosesNoLockWhenProcessesGo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start      loadBalancerUnderTest
		checks     bool   // it asks processes for /readyz
		noneStatus int    // of the answer when no process is there
		noneCode   string // and its code
	}{
		"haproxy": {startHAProxy, true, 503, "UNAVAILABLE"},
		"nginx":   {startNginx, false, 503, "OUTCOME_UNKNOWN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFarm(t, c.start)
			f.checkRouting()
			f.checkStream()
			f.checkLimits()
			selling, stopSelling := context.WithCancel(t.Context())
			wait := f.sell(selling)

			fault := time.Now()
			f.nodes[0].endTransactions(t)
			f.nodes[0].process.kill()
			f.await("killed", fault, goesOnWithin)
			f.start(f.nodes[0])

			fault = time.Now()
			if err := f.nodes[1].process.stop(t); err != nil {
				t.Errorf("after SIGTERM: %v", err)
			}
			f.await("drained", fault, goesOnWithin)
			f.start(f.nodes[1])

			if c.checks {
				fault = time.Now()
				signal(t, f.nodes[2].process, syscall.SIGSTOP)
				f.await("frozen", fault, goesOnFrozenWithin)
				signal(t, f.nodes[2].process, syscall.SIGCONT)
			}

			_, fault = f.dieInTransaction()
			f.await("killed inside a transaction", fault, goesOnAfterTransactionWithin)

			stopSelling()
			wait()
			f.checkEnd()
			for _, n := range f.nodes {
				n.process.kill()
			}
			status, fields, err := f.direct.call(t.Context(), http.MethodPost, "/api/events/"+f.events[0]+"/locks", map[string]any{})
			if err != nil || status != c.noneStatus || fields["code"] != c.noneCode {
				t.Errorf("without processes: %d %v %v", status, fields, err)
			}
		})
	}
}

// The file is valid in all its forms, without a warning.
func TestLoadBalancer_HAProxyAcceptsEachForm(t *testing.T) {
	t.Parallel()
	binary, env, err := devserver.HAProxy(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	for name, settings := range map[string][]string{
		"as it is": nil, "DNS": {"API_DNS=api-pods:8080"}, "for operators": {"OPERATORS=yes", "LISTEN=127.0.0.1:8080"},
		"behind an Ingress": {"API_DNS=api-pods:8080", "FRONT=yes"},
	} {
		cmd := exec.CommandContext(t.Context(), binary, "-c", "-f", filepath.Join(root, "deploy/haproxy/haproxy.cfg"))
		cmd.Env = slices.Concat(os.Environ(), env, settings)
		if output, err := cmd.CombinedOutput(); err != nil || bytes.Contains(output, []byte("WARNING")) {
			t.Errorf("%s: %v %s", name, err, output)
		}
	}
}

// What a load balancer answers itself is as the API's answers are: problem+json, with the ID of the request.
func TestLoadBalancer_AnswersAsTheAPIDoes(t *testing.T) {
	t.Parallel()
	var ids sync.Map // of the requests that reached the API
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ids.Store(r.URL.Path, r.Header.Get("X-Request-Id"))
	}))
	t.Cleanup(api.Close)
	for name, command := range map[string]proxyCommand{"HAProxy": devserver.HAProxyCommand, "nginx": devserver.NginxCommand} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			front, target := address(t), api.Listener.Addr().String()
			startProxy(t, command, front, [3]string{target, target, target})
			testenv.WaitFor(t, func() bool {
				return strings.HasPrefix(exchange(t, front, "GET /api/events HTTP/1.1\r\n"), "HTTP/1.1 200 ")
			})
			const id = "\r\nx-request-id: mine-1\r\n"
			type answer struct{ request, status, id string }
			answers := []answer{
				{"GET /metrics HTTP/1.1" + id, "404", "mine-1"},
				{"GET /api/admin/jobs HTTP/1.1" + id, "404", "mine-1"},
				{"GET /api/admin/jobs HTTP/1.1\r\nx-request-id: a,b\r\n", "404", ""},
				{"POST /api/locks HTTP/1.1" + id + "Content-Length: 30000000\r\n", "413", "mine-1"},
			}
			if name == "nginx" { // HAProxy has a text of its own for a request that is not HTTP
				long := strings.Repeat("x", 70_000)
				for _, request := range []string{
					"GET /api/events HTTP/1.1\r\nlong: " + long + "\r\n", "GET /api/events?" + long + " HTTP/1.1\r\n",
					"GET /% HTTP/1.1\r\n", "GARBAGE\r\n",
				} {
					answers = append(answers, answer{request, "400", ""})
				}
			}
			for _, c := range answers {
				got := strings.ToLower(exchange(t, front, c.request))
				isProblem := strings.Contains(got, "content-type: application/problem+json\r\n") && strings.Contains(got, `"code":"`)
				_, answered, _ := strings.Cut(got, "\r\nx-request-id: ")
				answered, _, _ = strings.Cut(answered, "\r\n")
				hasID := c.id == "" && !strings.ContainsAny(answered, ", ") || answered == c.id
				if !strings.HasPrefix(got, "http/1.1 "+c.status) || !isProblem || !hasID {
					t.Errorf("%.60q is answered %s", c.request, got)
				}
			}
			for request, want := range map[string]string{ // what the API gets is one ID
				"/api/events/one HTTP/1.1" + id: "mine-1", "/api/events/list HTTP/1.1\r\nX-Request-Id: aaa,bbb\r\n": "",
				"/api/events/two HTTP/1.1\r\nX-Request-Id: b@d\r\nX-Request-Id: good\r\n": "",
			} {
				exchange(t, front, "GET "+request)
				path, _, _ := strings.Cut(request, " ")
				if got, _ := ids.Load(path); want != "" && got != want || !holdsOneID(got) {
					t.Errorf("%q: the API got the ID %v", request, got)
				}
			}
		})
	}
}

func holdsOneID(id any) bool {
	text, ok := id.(string)
	return ok && regexp.MustCompile(`^[A-Za-z0-9._-]{16,64}$|^mine-1$`).MatchString(text)
}

// exchange sends the beginning of a request, with a header Host, an end, and the beginning of a body, and returns the answer.
func exchange(t *testing.T, address, request string) string {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return "" // it does not listen yet
	}
	defer closeQuietly(c)
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	body := ""
	if strings.HasPrefix(request, "POST") {
		body = strings.Repeat(" ", 20_000)
	}
	_, _ = io.WriteString(c, request+"Host: localhost\r\nConnection: close\r\n\r\n"+body) // it may be answered before its end
	answer, _ := io.ReadAll(c)
	return string(answer)
}

// An address that shows no key again and again gets 429, before a process is asked; a request with a key is passed on. A process
// is not asked for a request whose body is not there. What never has a key, such as the preflights and the scripts of a
// neighbour's browser, is not limited.
func TestLoadBalancer_HAProxyLimitsAddresses(t *testing.T) {
	t.Parallel()
	var asked, withBody atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/readyz":
		case r.Method == http.MethodPost:
			withBody.Add(1)
		default:
			asked.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer api.Close()
	front, target := address(t), api.Listener.Addr().String()
	startHAProxy(t, front, [3]string{target, target, target})
	c := newAPICaller(t, front, 4, 15*time.Second)
	testenv.WaitFor(t, func() bool {
		status, _, _, err := c.send(t.Context(), http.MethodGet, "/readyz", nil)
		return err == nil && status == http.StatusOK
	})

	checkBodyIsAwaited(t, front, c, &withBody)
	const most = 10_000 // within 10 s, or the rate is never reached
	status := 0
	for n := 0; n < most && status != http.StatusTooManyRequests; n++ {
		var err error
		if status, _, _, err = c.send(t.Context(), http.MethodGet, "/api/events", nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := asked.Load(); status != http.StatusTooManyRequests || n < 400 {
		t.Errorf("after %d failed attempts: %d", n, status)
	}
	before := asked.Load()
	if status, _, _, err := c.send(t.Context(), http.MethodGet, "/api/events", nil); err != nil || status != 429 || asked.Load() != before {
		t.Errorf("a further attempt: %d %v", status, err)
	}
	answer := strings.ToLower(exchange(t, front, "GET /api/events HTTP/1.1\r\nX-Request-Id: mine-1\r\n"))
	if !strings.HasPrefix(answer, "http/1.1 429 ") || !strings.Contains(answer, "\r\nx-request-id: mine-1\r\n") {
		t.Errorf("a further attempt has the answer %s", answer)
	}
	for _, request := range []string{"OPTIONS /api/locks", "GET /assets/holdfast-seats.js", "GET /docs"} {
		if answer := exchange(t, front, request+" HTTP/1.1\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 401 ") {
			t.Errorf("%s, which never has a key, has the answer %s", request, answer)
		}
	}
	before = asked.Load()
	if answer := exchange(t, front, "GET /%61pi/events HTTP/1.1\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 429 ") {
		t.Errorf("an escaped path has the answer %s", answer)
	}
	if status := statusWithKey(t, "http://"+front+"/api/events"); status != http.StatusUnauthorized || asked.Load() != before+1 {
		t.Errorf("a request with a key: %d", status)
	}
}

// checkBodyIsAwaited sends a request whose body comes after other requests. No process may be asked before the body is there.
func checkBodyIsAwaited(t *testing.T, front string, c *apiCaller, withBody *atomic.Int64) {
	t.Helper()
	slow, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", front)
	if err != nil {
		t.Fatal(err)
	}
	defer closeQuietly(slow)
	send := func(text string) {
		if _, err := io.WriteString(slow, text); err != nil {
			t.Fatal(err)
		}
	}
	send("POST /api/locks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n{")

	for range 20 { // these overtake it
		if _, _, _, err := c.send(t.Context(), http.MethodGet, "/api/events", nil); err != nil {
			t.Fatal(err)
		}
	}
	if withBody.Load() != 0 {
		t.Error("a process was asked before the body was there")
	}
	send("}  ")
	if !poll(startTimeout, 10*time.Millisecond, func() bool { return withBody.Load() == 1 }) {
		t.Error("the request with its body does not arrive")
	}
}

// statusWithKey asks for a page with some key.
func statusWithKey(t *testing.T, url string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer k")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer closeQuietly(answer.Body)
	return answer.StatusCode
}

func signal(t *testing.T, p *process, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// startHAProxy runs deploy/haproxy as it is.
func startHAProxy(t *testing.T, listen string, servers [3]string) {
	t.Helper()
	startProxy(t, devserver.HAProxyCommand, listen, servers)
}

// startNginx runs deploy/nginx as it is, but for its lists of addresses.
func startNginx(t *testing.T, listen string, servers [3]string) {
	t.Helper()
	startProxy(t, devserver.NginxCommand, listen, servers)
}

// proxyCommand is the command of a load balancer.
type proxyCommand func(ctx context.Context, deploy, listen string, servers [3]string, progress io.Writer) (devserver.Command, error)

func startProxy(t *testing.T, command proxyCommand, listen string, servers [3]string) {
	t.Helper()
	c, err := command(t.Context(), filepath.Join(root, "deploy"), listen, servers, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if c.TempDir != "" {
		t.Cleanup(func() { _ = os.RemoveAll(c.TempDir) })
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Env = slices.Concat(os.Environ(), c.Env)
	p := startCommand(t, cmd, c.Env...)
	t.Cleanup(func() {
		signal(t, p, syscall.SIGTERM)
		if _, inTime := receive(p.exited, stopTimeout); !inTime {
			p.kill()
		}
		if t.Failed() {
			text := p.log.String()
			t.Logf("the load balancer: %s", text[max(0, len(text)-3000):])
		}
	})
}
