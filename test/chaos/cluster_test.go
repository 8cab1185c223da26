package chaos_test

import (
	"context"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// cluster is what the nemesis injects faults into: a replica set of three members and a
// Redis, two APIs and two workers. The processes reach the members, and the clients reach the
// APIs, through proxies. The clocks of the processes are ten minutes fast or slow.
type cluster struct {
	t          *testing.T
	replicaSet *devserver.ReplicaSet
	proxies    map[string]*proxy // by a member's address
	redis      *testenv.Redis
	env        *testenv.Env
	http       *http.Client
	planIDs    map[*hall]string
	webhook    string // the ID of an endpoint; "": there is none
	seatIndex  bool

	mu       sync.Mutex
	nodes    map[string]*node
	binaries map[string]string // folders, by how far their clock is off
}

// node is a place for a process, which is started there again after it was killed.
type node struct {
	program, dir string
	settings     []string
	addr         string // of its HTTP server
	proxy        *proxy // between clients and the HTTP server
	process      *process
}

// nodeNames are all nodes of a cluster, apiNames its APIs.
var (
	nodeNames = []string{"api-0", "api-1", "worker-0", "worker-1"}
	apiNames  = nodeNames[:2]
)

const (
	clusterLeaseTTL     = 2 * time.Second
	clusterTickInterval = time.Second
	readyTimeout        = 60 * time.Second

	// nemesisApplication names the application in the connections that a fault may affect.
	nemesisApplication = "holdfast:nemesis"
	nemesisDatabase    = "nemesis"
)

// expiryTimeout bounds the time from the end of the last fault until all due locks and bookings
// are expired. It is the sum of a dead leader's lease, a tick, and 10 s for which MongoDB keeps a
// dead process's transactions. The rest is for a loaded machine.
const expiryTimeout = clusterLeaseTTL + clusterTickInterval + 10*time.Second + 7*time.Second

// startCluster starts the servers and the processes, and waits until all are ready. With
// smallPool, one API has only two connections to MongoDB.
func startCluster(t *testing.T, o clusterOptions) *cluster {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	c := &cluster{
		t: t, planIDs: map[*hall]string{}, proxies: map[string]*proxy{}, nodes: map[string]*node{}, binaries: map[string]string{},
		http: &http.Client{Transport: transport}, redis: testenv.OwnRedis(t),
	}
	set, err := devserver.StartReplicaSet(t.Context(), devserver.MongodOptions{Test: true, Progress: os.Stderr, Member: keepData(t),
		Proxy: func(host string) (string, error) {
			c.proxies[host] = newProxy(t, host, nemesisApplication)
			return c.proxies[host].addr, nil
		}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	c.replicaSet = set
	t.Cleanup(set.Stop)
	// The application's name contains the database's name, so the proxies do not affect the
	// connections of the checkers.
	c.env = testenv.Open(t, set.URI, "checkers")
	c.env.DB.Database = c.env.DB.Client().Database(nemesisDatabase)
	t.Cleanup(func() {
		for _, n := range c.nodes {
			_ = n.process.cmd.Process.Kill()
		}
	})
	poolSize := "100"
	if o.smallPool {
		poolSize = "2"
	}
	c.seatIndex = !o.withoutSeatIndex
	c.addNode("api-0", "api", "10m", set.URI)
	c.addNode("api-1", "api", "-10m", set.URI+"&maxPoolSize="+poolSize)
	c.addNode("worker-0", "worker", "10m", set.URI)
	c.addNode("worker-1", "worker", "-10m", set.URI)
	if err := c.awaitReady(); err != nil {
		t.Fatal(err)
	}
	return c
}

type clusterOptions struct {
	smallPool        bool // api-1 has only two connections to MongoDB
	withoutSeatIndex bool
}

// addNode starts a program whose clock is off by skew.
func (c *cluster) addNode(name, program, skew, mongodbURI string) {
	c.t.Helper()
	if c.binaries[skew] == "" {
		dir, err := build(skew)
		if err != nil {
			c.t.Fatal(err)
		}
		c.t.Cleanup(func() { _ = os.RemoveAll(dir) })
		c.binaries[skew] = dir
	}
	n := &node{program: program, dir: c.binaries[skew], addr: address(c.t)}
	n.proxy = newHTTPProxy(c.t, n.addr)
	n.settings = []string{
		"POD_NAME=" + name, "MONGODB_URI=" + mongodbURI, "MONGODB_DATABASE=" + nemesisDatabase,
		"REDIS_URL=" + c.redis.URL, "LOG_LEVEL=warn",
		"LEASE_TTL=" + clusterLeaseTTL.String(), "LOCK_EXPIRY_INTERVAL=" + clusterTickInterval.String(),
		"BOOKING_EXPIRY_INTERVAL=" + clusterTickInterval.String(), "RECONCILE_INTERVAL=3s",
		"ARCHIVE_AFTER=" + archiveAfter.String(), "SEAT_INDEX=" + strconv.FormatBool(c.seatIndex), "HTTP_ADDR=" + n.addr,
		"METRICS_ADDR=" + n.addr,
		"WEBHOOK_ALLOW_PRIVATE=true",
	}
	if program == "api" {
		n.settings = append(n.settings, "METRICS_ADDR=")
	}
	c.nodes[name] = n
	c.startNode(name)
}

// startNode starts a node's process, unless it runs. It does not wait until it is ready.
func (c *cluster) startNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[name]
	if n.process != nil {
		if !n.process.hasExited() { // Another fault has started it.
			return
		}
		c.checkLog(name, n.process)
	}
	n.process = startFrom(c.t, n.dir, n.program, n.settings...)
}

// checkLog fails the test if a process panicked or had a data race.
func (c *cluster) checkLog(name string, p *process) {
	text := p.log.String()
	for _, sign := range []string{"panic:", "DATA RACE", "fatal error:"} {
		if strings.Contains(text, sign) {
			c.t.Errorf("[%s] process: %s", name, text[strings.Index(text, sign):])
			return
		}
	}
}

func (c *cluster) kill(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[name].process.kill()
}

func (c *cluster) hasExited(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[name].process.hasExited()
}

// signal sends a signal to a node's process. A process that has ended is left as it is.
func (c *cluster) signal(name string, s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.nodes[name].process.cmd.Process.Signal(s)
}

// stop ends all processes by SIGTERM, and fails the test if one does not end as it should.
func (c *cluster) stop() {
	c.t.Helper()
	for name, n := range c.nodes {
		c.checkLog(name, n.process)
		if err := n.process.stop(c.t); err != nil {
			c.t.Errorf("%s after SIGTERM: %v", name, err)
		}
	}
}

// caller sends requests to a node directly, not through its proxy.
func (c *cluster) caller(name string) *apiCaller {
	return &apiCaller{base: "http://" + c.nodes[name].addr, http: c.http}
}

// retry repeats a command that the test itself sends to MongoDB, which may still be recovering
// from a fault. It fails the test if the command does not succeed in time.
func (c *cluster) retry(do func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	for {
		err := do(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			c.t.Error(err)
			return
		}
		delay(ctx, 200*time.Millisecond)
	}
}
