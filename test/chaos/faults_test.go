package chaos_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// clusterFault is something that the nemesis does to a cluster. inject also ends the fault.
type clusterFault struct {
	name   string
	inject func(c *cluster, rng *rand.Rand)
}

// clusterFaults are all faults of the nemesis. The schedule of a seed depends on their order here,
// so a new one goes to the end.
var clusterFaults = []clusterFault{
	{"API frozen", freezeProcess("api", 3*time.Second, 8*time.Second)},
	{"API killed", killProcess("api")},
	{"API killed before it answers", killBeforeAnswer},
	{"MongoDB slow", faultOfPrimary("slow")},
	{"Redis flushed", flushRedis},
	{"Redis frozen", freezeRedis},
	{"Redis killed", killRedis},
	{"commit replies lost", faultOfPrimary("losing commit replies")},
	{"primary partitioned", partitionPrimary(losses{toServer: true, toClient: true})},
	{"primary killed before replication", killBeforeReplication},
	{"primary frozen", faultOfPrimary("frozen")},
	{"primary requests lost", partitionPrimary(losses{toServer: true})},
	{"primary replies lost", partitionPrimary(losses{toClient: true})},
	{"primary killed", faultOfPrimary("killed")},
	{"primary stepped down", faultOfPrimary("stepped down")},
	{"concurrent sweeps", runConcurrentSweeps},
	{"worker frozen", freezeProcess("worker", clusterLeaseTTL+time.Second, 3*clusterLeaseTTL)},
	{"worker killed", killProcess("worker")},
}

// faultOfPrimary injects one of primaryFaults.
func faultOfPrimary(name string) func(*cluster, *rand.Rand) {
	return func(c *cluster, rng *rand.Rand) {
		primary := awaitPrimary(c.t, c.replicaSet)
		primaryFaults[name](c.t, primary, rng)
		awaitPrimary(c.t, c.replicaSet)
	}
}

// killBeforeReplication freezes the secondaries and kills the primary before it notices. No
// other member has what the primary wrote in between.
func killBeforeReplication(c *cluster, rng *rand.Rand) {
	primary := awaitPrimary(c.t, c.replicaSet)
	signalSecondaries(c.replicaSet, primary, syscall.SIGSTOP)
	delay(context.Background(), randomMillis(rng, 500, 1000))
	primary.Kill()
	signalSecondaries(c.replicaSet, primary, syscall.SIGCONT)
	delay(context.Background(), time.Second)
	if err := primary.Restart(); err != nil {
		c.t.Error(err)
	}
	awaitPrimary(c.t, c.replicaSet)
}

// partitionPrimary loses packets between our processes and the primary. The members still
// reach each other: no other primary is elected.
func partitionPrimary(l losses) func(*cluster, *rand.Rand) {
	return func(c *cluster, rng *rand.Rand) {
		p := c.proxies[awaitPrimary(c.t, c.replicaSet).Host]
		p.lose(l)
		delay(context.Background(), randomMillis(rng, 1000, 4000))
		p.heal()
	}
}

// randomMillis returns a duration of at least, and less than at least + more milliseconds.
func randomMillis(rng *rand.Rand, atLeast, more int) time.Duration {
	return time.Duration(atLeast+rng.IntN(more)) * time.Millisecond
}

// randomNode returns one of the two nodes of a program.
func randomNode(program string, rng *rand.Rand) string {
	return program + []string{"-0", "-1"}[rng.IntN(2)]
}

func killProcess(program string) func(*cluster, *rand.Rand) {
	return func(c *cluster, rng *rand.Rand) {
		for range 2 {
			name := randomNode(program, rng)
			c.kill(name)
			delay(context.Background(), randomMillis(rng, 0, 800))
			c.startNode(name)
			delay(context.Background(), randomMillis(rng, 0, 800))
		}
	}
}

func freezeProcess(program string, shortest, longest time.Duration) func(*cluster, *rand.Rand) {
	return func(c *cluster, rng *rand.Rand) {
		name := randomNode(program, rng)
		c.signal(name, syscall.SIGSTOP)
		delay(context.Background(), shortest+time.Duration(rng.Int64N(int64(longest-shortest))))
		c.signal(name, syscall.SIGCONT)
	}
}

// killBeforeAnswer kills an API when it has executed a request and is about to answer.
func killBeforeAnswer(c *cluster, rng *rand.Rand) {
	for range 3 {
		name := randomNode("api", rng)
		p := c.nodes[name].proxy
		var once sync.Once
		dead := make(chan struct{})
		p.inspectWith(func(packet []byte, d direction) bool {
			if d == toServer || !bytes.HasPrefix(packet, []byte("HTTP/1.1 20")) {
				return true
			}
			once.Do(func() {
				c.kill(name)
				close(dead)
			})
			return false
		})
		receive(dead, 5*time.Second)
		p.heal()
		c.startNode(name)
		delay(context.Background(), randomMillis(rng, 300, 700))
	}
}

func killRedis(c *cluster, rng *rand.Rand) {
	c.redis.Kill()
	delay(context.Background(), randomMillis(rng, 500, 2500))
	c.redis.Restart()
}

func flushRedis(c *cluster, rng *rand.Rand) {
	for range 3 {
		if err := testenv.RedisClient(c.t, c.redis.URL).FlushAll(context.Background()).Err(); err != nil {
			c.t.Logf("flush: %v", err) // Another fault has Redis refuse it.
		}
		delay(context.Background(), randomMillis(rng, 200, 1500))
	}
}

func freezeRedis(c *cluster, rng *rand.Rand) {
	c.redis.Freeze()
	delay(context.Background(), randomMillis(rng, 1000, 4000))
	c.redis.Wake()
}

// runConcurrentSweeps frees the leases again and again and has both APIs sweep at the same
// time, while a worker sweeps too.
func runConcurrentSweeps(c *cluster, rng *rand.Rand) {
	runs := int64(0)
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		runs += c.runOnBothAPIs([]string{"lock-expiry", "booking-expiry", "reconcile", "recovery"}[rng.IntN(4)])
	}
	if runs == 0 {
		c.t.Log("no concurrent sweep ran")
	}
}

// runOnBothAPIs frees a job's lease, has both APIs run the job at the same time, and returns
// how many of them did. An API may be down.
func (c *cluster) runOnBothAPIs(job string) int64 {
	var runs atomic.Int64
	var both sync.WaitGroup
	for _, name := range apiNames {
		both.Go(func() {
			api := c.caller(name)
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_, _, _ = api.call(ctx, http.MethodDelete, "/api/admin/jobs/"+job+"/lease", nil)
			if status, _, err := api.call(ctx, http.MethodPost, "/api/admin/jobs/"+job+"/run", nil); err == nil && status == http.StatusOK {
				runs.Add(1)
			}
		})
	}
	both.Wait()
	return runs.Load()
}
