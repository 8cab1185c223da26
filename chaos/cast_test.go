package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The cast of a storm: a replica set of three and a Redis, each behind fronts that
// can lose what is said; two APIs and two workers, as processes of their own, whose
// clocks are ten minutes fast and slow.
type cast struct {
	t     *testing.T
	set   *devserver.ReplicaSet
	front map[string]*front // by a member's address
	redis *testenv.Redis
	w     *testenv.Env
	http  *http.Client

	mu    sync.Mutex
	pods  map[string]*pod
	built map[string]string // folders of binaries, by how far their clock is off
}

// pod is a place for a process, which starts there again and again.
type pod struct {
	program, dir string
	env          []string
	addr         string // of its HTTP server
	door         *front // the way there
	process      *process
}

const (
	stormLease = 2 * time.Second
	stormTick  = time.Second
)

// sellableAgain is within what time after the last fault has healed all that is
// due by then has been expired: the lease of who died and a tick, and 10 s that
// MongoDB keeps what it left open; the rest is for a loaded machine.
const sellableAgain = stormLease + stormTick + 10*time.Second + 7*time.Second

func assemble(t *testing.T) *cast {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	c := &cast{t: t, front: map[string]*front{}, pods: map[string]*pod{}, built: map[string]string{}, http: &http.Client{Transport: transport}, redis: testenv.OwnRedis(t)}
	set, err := devserver.StartReplicaSet(t.Context(), devserver.MongodOptions{Test: true, Progress: os.Stderr,
		Proxy: func(host string) (string, error) {
			c.front[host] = newFront(t, host, "holdfast:storm")
			return c.front[host].addr, nil
		}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	c.set = set
	t.Cleanup(set.Stop)
	// Who judges is not cut off: the database's name is in the application's.
	c.w = testenv.Open(t, set.URI, "judged")
	c.w.DB.Database = c.w.DB.Client().Database("storm")
	t.Cleanup(func() {
		for _, p := range c.pods {
			p.process.cmd.Process.Kill() //nolint:errcheck // gone already is as good
		}
	})
	return c
}

func (c *cast) open(name, program, skew string, uri string, env ...string) {
	c.t.Helper()
	if c.built[skew] == "" {
		dir, err := build(skew)
		if err != nil {
			c.t.Fatal(err)
		}
		c.t.Cleanup(func() { os.RemoveAll(dir) }) //nolint:errcheck // of the system's temporary folder
		c.built[skew] = dir
	}
	p := &pod{program: program, dir: c.built[skew], addr: address(c.t)}
	p.door = newDoor(c.t, p.addr)
	p.env = append([]string{"POD_NAME=" + name, "MONGODB_URI=" + uri, "MONGODB_DATABASE=storm", "REDIS_URL=" + c.redis.URL, "LOG_LEVEL=warn",
		"LEASE_TTL=" + stormLease.String(), "LOCK_EXPIRY_INTERVAL=" + stormTick.String(), "BOOKING_EXPIRY_INTERVAL=" + stormTick.String(),
		"RECONCILE_INTERVAL=3s", "HTTP_ADDR=" + p.addr, "METRICS_ADDR=" + p.addr}, env...)
	if program == "api" {
		p.env = append(p.env, "METRICS_ADDR=")
	}
	c.pods[name] = p
	c.enter(name)
}

// enter starts a pod's process; it is not waited for.
func (c *cast) enter(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pods[name]
	if p.process != nil {
		if !p.process.ended() { // another fault has started it
			return
		}
		c.tell(name, p.process)
	}
	p.process = startFrom(c.t, p.dir, p.program, p.env...)
}

// tell fails the test where a process panicked or raced.
func (c *cast) tell(name string, p *process) {
	if text := p.log.String(); strings.Contains(text, "panic:") || strings.Contains(text, "DATA RACE") || strings.Contains(text, "fatal error:") {
		c.t.Errorf("%s: %s", name, text)
	}
}

func (c *cast) kill(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[name].process.end()
}

// end kills a process that may have ended already.
func (p *process) end() {
	p.cmd.Process.Kill() //nolint:errcheck // gone already is as good
	select {
	case err := <-p.done:
		p.done <- err
	case <-time.After(10 * time.Second):
	}
}

func (c *cast) hasEnded(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pods[name].process.ended()
}

func (p *process) ended() bool {
	select {
	case err := <-p.done:
		p.done <- err
		return true
	default:
		return false
	}
}

func (c *cast) signal(name string, s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[name].process.cmd.Process.Signal(s) //nolint:errcheck // gone already is as good
}

// served waits until all serve. A process that ended, as it does where it finds no
// primary at its start, is started again, as everybody's orchestrator does.
func (c *cast) served() error {
	deadline := time.Now().Add(enough)
	for _, name := range []string{"api-0", "api-1", "worker-0", "worker-1"} {
		api := &caller{"http://" + c.pods[name].addr, c.http}
		for {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			status, _, err := api.call(ctx, "GET", "/readyz", nil)
			cancel()
			if err == nil && status == http.StatusOK {
				break
			}
			if c.hasEnded(name) {
				c.enter(name)
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%s is not ready within %v: %d %w %s", name, enough, status, err, c.pods[name].process.log)
			}
			pause(context.Background(), 50*time.Millisecond)
		}
	}
	return nil
}

// settled waits until nothing is left that was due when the last fault had
// healed, and returns how long that took.
func (c *cast) settled(healed time.Time) (time.Duration, error) {
	for {
		n, err := c.dueBy(time.Now())
		if err == nil && n == 0 {
			return time.Since(healed), nil
		}
		if time.Since(healed) > sellableAgain {
			return 0, fmt.Errorf("%d locks and bookings are still due %v after the fault had healed (%v)", n, sellableAgain, err) //nolint:errorlint // it may be nil
		}
		pause(context.Background(), 50*time.Millisecond)
	}
}

// quiet waits until nothing comes due for a while either, so that what is looked at
// next stays as it is.
func (c *cast) quiet() error {
	const longest = 10 * time.Second // of what customers ask for, but for an hour
	for end := time.Now().Add(longest + sellableAgain); ; pause(context.Background(), 50*time.Millisecond) {
		n, err := c.dueBy(time.Now().Add(longest))
		if err == nil && n == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d locks and bookings are not expired (%v)", n, err) //nolint:errorlint // it may be nil
		}
	}
}

// dueBy counts the locks and bookings that are due by then, and not expired.
func (c *cast) dueBy(then time.Time) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	passed := func(field string) bson.E {
		return bson.E{Key: field, Value: bson.D{{Key: "$lte", Value: then}}}
	}
	locks, err := c.w.DB.Collection("seatlocks").CountDocuments(ctx, bson.D{{Key: "status", Value: "ACTIVE"}, passed("expiresAt")})
	if err != nil {
		return 0, err
	}
	bookings, err := c.w.DB.Collection("bookings").CountDocuments(ctx, bson.D{{Key: "status", Value: "PAYMENT_PENDING"}, passed("paymentExpiresAt")})
	if err != nil {
		return 0, err
	}
	orphans, err := c.w.DB.Collection("bookings").Aggregate(ctx, bson.A{
		bson.D{{Key: "$match", Value: bson.D{{Key: "status", Value: "INITIATED"}}}},
		bson.D{{Key: "$lookup", Value: bson.D{{Key: "from", Value: "seatlocks"}, {Key: "localField", Value: "seatLockId"}, {Key: "foreignField", Value: "_id"}, {Key: "as", Value: "lock"}}}},
		bson.D{{Key: "$match", Value: bson.D{{Key: "lock.status", Value: bson.D{{Key: "$ne", Value: "ACTIVE"}}}}}},
	})
	if err != nil {
		return 0, err
	}
	defer orphans.Close(ctx) //nolint:errcheck // read only
	for orphans.Next(ctx) {
		bookings++
	}
	return locks + bookings, orphans.Err()
}

// gather makes new events for a crowd.
func (c *cast) gather(users []string, halls int) *crowd {
	c.t.Helper()
	cr := &crowd{t: c.t, users: users}
	for _, name := range []string{"api-0", "api-1"} {
		cr.apis = append(cr.apis, client.New("http://"+c.pods[name].door.addr, client.WithHTTPClient(c.http), client.WithRetryTimeout(0)))
	}
	for i := range halls {
		h := &hallOnSale{total: 10 + int64(4*i)}
		if i == 1 {
			h.perUser = 5
		}
		e, err := cr.apis[0].CreateEvent(c.t.Context(), client.NewEvent{Name: "E", TotalSeats: h.total, EventDate: time.Now(), MaxSeatsPerUser: h.perUser})
		if err != nil {
			c.t.Fatal(err)
		}
		h.id = e.ID
		cr.halls = append(cr.halls, h)
	}
	return cr
}

// visited lets customers come until ctx ends, and waits until each has its answers.
func (cr *crowd) visited(ctx context.Context, seed uint64, customers int) {
	var all sync.WaitGroup
	for id := range customers {
		who := &customer{crowd: cr, id: id, n: id, dice: rand.New(rand.NewPCG(seed, uint64(id)))}
		all.Go(func() { who.visits(ctx) })
	}
	who := &customer{crowd: cr, id: customers, dice: rand.New(rand.NewPCG(seed, uint64(customers)))}
	all.Go(func() { who.manager(ctx) })
	all.Wait()
}

// insist does what the test itself needs of MongoDB, which may still be recovering.
func (c *cast) insist(do func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), enough)
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
		pause(ctx, 200*time.Millisecond)
	}
}

// leave removes a crowd's events and all that belongs to them.
func (cr *crowd) leave(c *cast) {
	for _, h := range cr.halls {
		id := parse(c.t, h.id)
		for _, of := range [][2]string{{"events", "_id"}, {"seatlocks", "eventId"}, {"bookings", "eventId"}} {
			c.insist(func(ctx context.Context) error {
				_, err := c.w.DB.Collection(of[0]).DeleteMany(ctx, bson.D{{Key: of[1], Value: id}})
				return err
			})
		}
	}
}
