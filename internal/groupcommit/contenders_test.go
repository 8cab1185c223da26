package groupcommit

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// contest is a model of processes that commit to one key: its document is held by one transaction at a time, and
// an attempt at another time fails.
type contest struct {
	clients []int // of each process

	mu        sync.Mutex
	isHeld    bool
	revision  int64
	writers   []int32
	failed    int           // attempts
	held      time.Duration // by transactions that were committed
	served    []int         // commands, by process
	latencies []time.Duration
}

const (
	contestTime    = 4 * time.Second
	contestRetry   = 2 * time.Millisecond // without a RetryDelay
	contestWriters = 40
)

// commit attempts the transaction of a process until no other one holds the document.
func (c *contest) commit(process int, b *testBatch) (testResult, error) {
	delay, attempts := max(contestRetry, b.RetryDelay), 1
	for ; !c.hold(); attempts++ {
		<-time.After(delay/2 + rand.N(delay))
	}
	commands := len(b.Groups[0].Commands)
	took := 2*time.Millisecond + rand.N(4*time.Millisecond) + time.Duration(commands)*50*time.Microsecond
	<-time.After(took)
	r := succeeded(b)
	r.Groups[0].Written = c.release(process, took, b.Contended, attempts > 1)
	<-time.After(time.Millisecond) // the flush
	return r, nil
}

func (c *contest) hold() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isHeld {
		c.failed++
		return false
	}
	c.isHeld = true
	return true
}

func (c *contest) release(process int, took time.Duration, known, contended bool) Written {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isHeld = false
	c.revision++
	c.held += took
	if known || contended {
		c.writers = append(c.writers, int32(process))
		c.writers = c.writers[max(0, len(c.writers)-contestWriters):]
	}
	return Written{Revision: c.revision, Took: took, Contended: contended, Writers: slices.Clone(c.writers)}
}

// run lets clients send command after command, each to its own process.
func (c *contest) run(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c.served = make([]int, len(c.clients))
		start := time.Now()
		var running sync.WaitGroup
		for process, clients := range c.clients {
			q := New(testOptions{Commit: func(_ context.Context, b *testBatch) (testResult, error) { return c.commit(process, b) }})
			for range clients {
				running.Go(func() {
					for time.Since(start) < contestTime {
						<-time.After(rand.N(2 * time.Millisecond)) // the way to the client and back
						sent := time.Now()
						if _, err := q.Submit(t.Context(), "k", 0); err != nil {
							t.Error(err)
						}
						c.note(process, time.Since(sent))
					}
				})
			}
		}
		running.Wait()
	})
	slices.Sort(c.latencies)
}

func (c *contest) note(process int, latency time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served[process]++
	c.latencies = append(c.latencies, latency)
}

func (c *contest) fairness() float64 {
	return float64(slices.Min(c.served)) / float64(slices.Max(c.served))
}

func (c *contest) quantile(q float64) time.Duration {
	return c.latencies[int(q*float64(len(c.latencies)-1))]
}

func TestPace_ProcessesTakeTurns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		processes, clients int
		held               float64 // of the time
		failed             float64 // attempts for each commit
	}{
		"1 process":                   {1, 256, 0.8, 0},
		"2 processes":                 {2, 128, 0.7, 3},
		"3 processes":                 {3, 85, 0.7, 6},
		"8 processes":                 {8, 32, 0.7, 6},
		"20 processes":                {20, 13, 0.7, 8},
		"20 processes, many clients":  {20, 51, 0.7, 14},
		"20 processes, a client each": {20, 1, 0.7, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c2 := contest{clients: slices.Repeat([]int{c.clients}, c.processes)}
			c2.run(t)
			held, failed := c2.held.Seconds()/contestTime.Seconds(), float64(c2.failed)/float64(c2.revision)
			t.Logf("%d commits, held %.2f of the time, %.1f failed attempts a commit, slowest %.2f of the fastest, p99 %v",
				c2.revision, held, failed, c2.fairness(), c2.quantile(0.99))
			if held < c.held || failed > c.failed || c2.fairness() < 0.5 || c2.quantile(0.99) > 500*time.Millisecond {
				t.Error("the processes hinder each other")
			}
		})
	}
}

// Processes with little to do get their turn, and a busy one does not wait for them longer than they need.
func TestPace_UnequalProcesses(t *testing.T) {
	t.Parallel()
	c := contest{clients: append([]int{200}, slices.Repeat([]int{1}, 5)...)}
	c.run(t)
	t.Logf("%d commits, held %.2f, busy %v, p99 %v", c.revision, c.held.Seconds()/contestTime.Seconds(), c.served, c.quantile(0.99))
}
