package groupcommit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// contest is a model of processes that commit to one key: a document that one transaction at a time can hold.
type contest struct {
	processes, clients int           // clients of each process
	transaction        time.Duration // about; how long it holds the document
	perCommand         time.Duration // longer for each command

	mu        sync.Mutex
	debug     bool
	held      bool
	writers   []int32
	revision  int64
	failed    int // attempts that found the document held
	busy      time.Duration
	committed []int // commands, by process
	commits   int
	latencies []time.Duration
}

// commit is the transaction of a process: it is attempted until nobody else holds the document.
func (c *contest) commit(b *testBatch, p int) (testResult, error) {
	attempts := 1
	for ; !c.hold(); attempts++ {
		n := attempts
		delay := max(2*time.Millisecond, b.RetryDelay)
		if n > int(envFloat("P_LATE", 1000)) {
			delay *= 3
		}
		if e := envFloat("P_DEC", 0); e > 0 {
			delay = max(2*time.Millisecond, b.RetryDelay*time.Duration(100*e)/100/time.Duration(n))
		}
		<-time.After(300*time.Microsecond + delay/2 + rand.N(delay))
	}
	n := len(b.Groups[0].Commands)
	took := c.transaction/2 + rand.N(c.transaction) + time.Duration(n)*c.perCommand
	<-time.After(took)
	c.mu.Lock()
	c.busy += took
	c.revision++
	c.commits++
	c.held = false
	if b.Contended || attempts > 1 {
		c.writers = append(c.writers, int32(p))
	}
	c.writers = c.writers[max(0, len(c.writers)-int(envFloat("P_RING", 32))):]
	r := succeeded(b)
	r.Groups[0].Contended = attempts > 1
	r.Groups[0].Revision, r.Groups[0].Took, r.Groups[0].Writers = c.revision, took, slices.Clone(c.writers)
	c.mu.Unlock()
	<-time.After(time.Millisecond) // the flush
	return r, nil
}

func (c *contest) hold() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held {
		c.failed++
		return false
	}
	c.held = true
	return true
}

// run lets clients send command after command, each to its own process.
func (c *contest) run(t *testing.T, duration time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), duration)
		defer cancel()
		var qs []*testQueue
		c.committed = make([]int, c.processes)
		for p := range c.processes {
			q := New(testOptions{Commit: func(_ context.Context, b *testBatch) (testResult, error) { return c.commit(b, p) }})
			qs = append(qs, q)
			for range c.clients {
				go func() {
					for ctx.Err() == nil {
						<-time.After(rand.N(2 * time.Millisecond)) // the way to the client and back
						began := time.Now()
						if _, err := q.Submit(t.Context(), "k", 0); err != nil {
							t.Error(err)
						}
						c.mu.Lock()
						c.latencies = append(c.latencies, time.Since(began))
						c.committed[p]++
						c.mu.Unlock()
					}
				}()
			}
		}
		queues := qs
		if c.debug {
			for i := range 8 {
				<-time.After(480 * time.Millisecond)
				fmt.Println(i, c.commits, c.failed)
				for p, q := range queues {
					q.mu.Lock()
					l := q.paces["k"]
					if x := q.lines["k"]; x != nil {
						l = x.pace
					}
					fmt.Printf("%d: %d n %.1f I %v y %d; ", p, c.committed[p], l.turn, l.interval.Round(100*time.Microsecond), l.yields)
					q.mu.Unlock()
				}
				fmt.Println()
			}
		}
		<-ctx.Done()
		synctest.Wait()
		<-time.After(5 * time.Second)
	})
}

func TestContest_Model(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 20} {
		for _, clients := range []int{0, 256, 1024} {
			c := contest{processes: n, clients: max(1, clients/n), transaction: 4 * time.Millisecond, perCommand: 50 * time.Microsecond}
			c.run(t, 4*time.Second)
			slices.Sort(c.latencies)
			sum := 0
			for _, k := range c.committed {
				sum += k
			}
			fmt.Printf("%2d × %3d: %5d/s, %4d commits/s, busy %.2f, failed/commit %.2f, p50 %v p99 %v, fair %.2f\n", n, c.clients, sum/4, c.commits/4, c.busy.Seconds()/4,
				float64(c.failed)/float64(c.commits), c.latencies[len(c.latencies)/2].Round(time.Millisecond), c.latencies[len(c.latencies)*99/100].Round(time.Millisecond),
				float64(slices.Min(c.committed))/float64(slices.Max(c.committed)))
		}
	}
}

func TestContest_Debug(t *testing.T) {
	c := contest{processes: 20, clients: 12, transaction: 4 * time.Millisecond, perCommand: 50 * time.Microsecond}
	c.debug = true
	c.run(t, 4*time.Second)
	fmt.Println(c.committed)
}
