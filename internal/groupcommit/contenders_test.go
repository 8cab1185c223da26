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
	failed    int           // number of attempts
	held      time.Duration // by transactions that were committed
	served    []int         // number of commands, by process
	latencies []time.Duration
}

const (
	contestTime    = 4 * time.Second
	contestRetry   = 2 * time.Millisecond // without a RetryDelay
	contestWriters = 40
	contestWay     = time.Millisecond // to the database
	contestFlush   = 5 * time.Millisecond
)

// commit attempts the transaction of a process until no other one holds the document.
func (c *contest) commit(process int, b *testBatch) testResult {
	<-time.After(contestWay)
	delay, attempts := max(contestRetry, b.RetryDelay), 1
	for ; !c.hold(); attempts++ {
		<-time.After(delay/2 + rand.N(delay))
	}
	commands := len(b.Groups[0].Commands)
	took := 2*time.Millisecond + rand.N(4*time.Millisecond) + time.Duration(commands)*50*time.Microsecond
	<-time.After(took)
	r := succeeded(b)
	r.Groups[0].Written = c.release(process, took, b.Groups[0].Contended, attempts > 1)
	<-time.After(contestFlush)
	return r
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
	const beforeCommit = 0.8
	took = time.Duration(beforeCommit * float64(took))
	return Written{Revision: c.revision, Took: took, Contended: contended, Writers: slices.Clone(c.writers)}
}

// run lets clients send command after command, each to its own process.
func (c *contest) run(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c.served = make([]int, len(c.clients))
		start := time.Now()
		var running sync.WaitGroup
		for process, clients := range c.clients {
			q := newQueue(testOptions{Commit: func(_ context.Context, b *testBatch) (testResult, error) {
				return c.commit(process, b), nil
			}})
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

// The models need much of a processor, so they don't run in parallel with other tests.

// Many processes take turns: the document is in use nearly all the time, few attempts fail, and all processes get
// their share.
func TestPace_ProcessesTakeTurns(t *testing.T) {
	for name, c := range map[string]struct {
		processes, clients int
		held               float64 // of the time
		failed             float64 // attempts for each commit
	}{
		"1 process":                   {1, 256, 0.5, 0},
		"2 processes":                 {2, 128, 0.7, 3},
		"3 processes":                 {3, 85, 0.7, 6},
		"8 processes":                 {8, 32, 0.7, 6},
		"20 processes":                {20, 13, 0.7, 12},
		"20 processes, many clients":  {20, 51, 0.7, 16},
		"20 processes, a client each": {20, 1, 0.7, 12},
	} {
		t.Run(name, func(t *testing.T) {
			model := contest{clients: slices.Repeat([]int{c.clients}, c.processes)}
			model.run(t)
			held, failed := model.held.Seconds()/contestTime.Seconds(), float64(model.failed)/float64(model.revision)
			if held < c.held || failed > c.failed || model.fairness() < 0.5 || model.quantile(0.99) > 500*time.Millisecond {
				t.Errorf("%d commits, held %.2f of the time, %.1f failed attempts a commit, slowest %.2f of the fastest, p99 %v",
					model.revision, held, failed, model.fairness(), model.quantile(0.99))
			}
		})
	}
}

// Processes with little work get their turn, and a busy process does not wait as if the others were busy too.
func TestPace_ABusyProcessWaitsLittleForIdleOnes(t *testing.T) {
	c := contest{clients: append([]int{200}, slices.Repeat([]int{1}, 5)...)}
	c.run(t)
	held := c.held.Seconds() / contestTime.Seconds()
	if held < 0.7 || slices.Min(c.served) < 50 || c.quantile(0.99) > 200*time.Millisecond {
		t.Errorf("%d commits, held %.2f of the time, served %v, p99 %v", c.revision, held, c.served, c.quantile(0.99))
	}
}

func TestContendersOf_CountsThoseThatCommitOften(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		writers []int32
		want    float64
	}{
		"unknown":       {nil, 0},
		"one":           {[]int32{1, 1, 1}, 1},
		"two":           {[]int32{1, 2, 1, 2}, 2},
		"four":          {[]int32{1, 2, 3, 4}, 4},
		"one and a few": {[]int32{1, 1, 1, 1, 1, 1, 1, 1, 2, 3}, 100. / 66},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := contendersOf(c.writers); got != c.want {
				t.Errorf("%v contenders, want %v", got, c.want)
			}
		})
	}
}

// noted returns writers as if processes had committed in turn, process 0 last.
func noted(processes int) (writers []int32) {
	for i := range 2 * processes {
		writers = append(writers, int32((i+1)%processes))
	}
	return writers
}

// With many contenders the delay is that of all of them but two, by the time between two commits.
func TestPace_DelayWithManyContenders(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	start := time.Now()
	for name, c := range map[string]struct {
		took, cycle, later time.Duration
		jitter             float64
		want, retry        time.Duration
	}{
		"in the middle":              {took: 5 * ms, cycle: 60 * ms, jitter: 0.5, want: 48 * ms, retry: 1500 * time.Microsecond},
		"shortest":                   {took: 5 * ms, cycle: 60 * ms, jitter: 0, want: 43200 * time.Microsecond, retry: 1500 * time.Microsecond},
		"longest":                    {took: 5 * ms, cycle: 60 * ms, jitter: 1, want: 52800 * time.Microsecond, retry: 1500 * time.Microsecond},
		"a part is over":             {took: 5 * ms, cycle: 60 * ms, later: 20 * ms, jitter: 0.5, want: 28 * ms, retry: 1500 * time.Microsecond},
		"it is over":                 {took: 5 * ms, cycle: 60 * ms, later: time.Minute, jitter: 0.5, want: 0, retry: 1500 * time.Microsecond},
		"the commits have gaps":      {took: 2 * ms, cycle: 60 * ms, jitter: 0.5, want: 32 * ms, retry: 1500 * time.Microsecond},
		"transactions are very slow": {took: time.Second, cycle: 10 * time.Second, jitter: 0.5, want: 300 * ms, retry: 30 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p pace
			for i := range 2 {
				now := start.Add(time.Duration(i) * c.cycle)
				p.observe(Written{Revision: int64(10 + 10*i), Took: c.took, Contended: true, Writers: noted(10)}, start, now)
				p.interval = c.cycle / 10 // as after some more commits
			}
			if got := p.delay(c.jitter, start.Add(c.cycle+c.later)); got.Round(time.Microsecond) != c.want {
				t.Errorf("delay %v, want %v", got, c.want)
			}
			if got := p.retryDelay(); got != c.retry {
				t.Errorf("retry after %v, want %v", got, c.retry)
			}
		})
	}
}

func TestPace_MeasuresTheTimeBetweenCommits(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		raised  int64 // the revision, since the last batch
		writers []int32
		idle    time.Duration // of the 100 ms since then
		want    time.Duration // the next sample
	}{
		"by the revision":                {10, nil, 0, 10 * ms},
		"by the writers":                 {10, noted(10), 0, 10 * ms},
		"few commits noted their writer": {50, noted(10), 0, 2 * ms},
		"idle for a while":               {2, nil, 95 * ms, 5 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			p := pace{revision: 100, committed: start}
			p.observe(Written{Revision: 100 + c.raised, Took: ms, Writers: c.writers}, start.Add(c.idle), start.Add(100*ms))
			if p.interval != c.want {
				t.Errorf("%v between commits, want %v", p.interval, c.want)
			}
		})
	}
}

// A line without work is removed, but the process still lets the others commit.
func TestQueue_RememberscontendersOfAnIdleKey(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		s.queue.jitter = func() float64 { return 0.5 }
		for i, revision := range []int64{10, 12} {
			s.submit("k", i)
			at(revision)(s.nextIs(i))
		}
		s.submit("k", 2)
		s.noCall()
		<-time.After(20 * time.Millisecond)
		at(13)(s.nextIs(2))
		<-time.After(20 * time.Millisecond) // the delay begins with the commit
		s.submit("k", 3)
		s.nextIs(3).succeed()
	})
}

func TestQueue_TellsCommitOfContention(t *testing.T) {
	withHarness(t, testOptions{}, func(s *harness) {
		for i, writers := range [][]int32{nil, {1, 2}, noted(10), nil} {
			s.submit("k", i)
			<-time.After(time.Second)
			c := s.nextIs(i)
			if got, want := c.batch.Groups[0].Contended, i > 1; got != want {
				t.Errorf("batch %d: contended %v, want %v", i, got, want)
			}
			if got, want := c.batch.RetryDelay > 0, i == 3; got != want {
				t.Errorf("batch %d: there is a delay %v, want %v", i, got, want)
			}
			r := succeeded(c.batch)
			r.Groups[0].Written = Written{Revision: int64(10 * i), Took: 20 * time.Millisecond, Writers: writers}
			if i == 0 {
				r.Groups[0].Revision = 1
			}
			c.answer(r)
		}
	})
}
