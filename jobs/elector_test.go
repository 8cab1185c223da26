package jobs_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// schedule runs the pod's scheduler until stop, or until the test ends.
func (p pod) schedule(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := p.Schedule(ctx); err != nil {
			t.Error(err)
		}
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

func (p pod) leads(t *testing.T) bool { return p.count(t, "holdfast_leader") == 1 }

func (p pod) awaitLeader(t *testing.T) {
	t.Helper()
	testenv.WaitFor(t, func() bool { return p.leads(t) })
}

// ticks records which pod ran which tick of a job.
type ticks struct {
	mu       sync.Mutex
	interval time.Duration
	pods     map[time.Time][]string
	minDelay map[string]time.Duration // from a tick to its run, by pod
}

func newTicks(interval time.Duration) *ticks {
	return &ticks{interval: interval, pods: map[time.Time][]string{}, minDelay: map[string]time.Duration{}}
}

func (k *ticks) job(pod string) jobs.Job {
	j := job("j", func(context.Context) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		now := time.Now()
		tick := now.Truncate(k.interval)
		k.pods[tick] = append(k.pods[tick], pod)
		if delay, ran := k.minDelay[pod]; !ran || now.Sub(tick) < delay {
			k.minDelay[pod] = now.Sub(tick)
		}
		return nil
	})
	j.Interval = k.interval
	return j
}

// Three processes schedule one job. The leader alone runs each tick, also when the
// leader changes, and a new leader does not have to wait for a lease to expire.
func TestSchedule_RunsEachTickOnce(t *testing.T) {
	t.Parallel()
	r := testenv.OwnRedis(t)
	for _, leases := range []string{jobs.StoreRedis, jobs.StoreMongo} {
		t.Run(leases, func(t *testing.T) {
			t.Parallel()
			env := testenv.New(t)
			k := newTicks(200 * time.Millisecond)
			stops := map[string]func(){}
			pods := map[string]pod{}
			for _, name := range []string{"a", "b", "c"} {
				change := func(*jobs.Options) {}
				if leases == jobs.StoreRedis {
					change = waitForRedis(t, r.URL)
				}
				p := open(t, env, []jobs.Job{k.job(name)}, change)
				pods[name], stops[name] = p, p.schedule(t)
				started := time.Now() // the processes start at different times between two ticks
				testenv.WaitFor(t, func() bool { return time.Since(started) >= k.interval/3 })
			}
			for len(pods) > 0 {
				var leader string
				testenv.WaitFor(t, func() bool {
					n := 0
					for name, p := range pods {
						if p.leads(t) {
							leader, n = name, n+1
						}
					}
					if n > 1 {
						t.Fatalf("%d leaders", n)
					}
					return n == 1
				})
				seen := k.count(leader)
				delete(pods, leader)
				attempts := func() (n float64) {
					for _, other := range pods {
						n += other.count(t, "holdfast_lease_acquisitions_total", "lease=j")
					}
					return n
				}
				before := attempts()
				testenv.WaitFor(t, func() bool { return k.count(leader) >= seen+3 })
				if n := attempts(); n != before {
					t.Errorf("processes that do not lead tried %v times to acquire the job's lease", n-before)
				}
				stops[leader]()
			}
			if n := k.checkOnce(t); n < 9 {
				t.Errorf("only %d ticks", n)
			}
			for name := range stops {
				if delay := k.minDelay[name]; delay > k.interval/4 {
					t.Errorf("%s runs %v after the tick", name, delay)
				}
			}
		})
	}
}

// checkOnce fails the test if a tick ran twice, and returns the number of ticks.
func (k *ticks) checkOnce(t *testing.T) int {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	for tick, pods := range k.pods {
		if len(pods) > 1 {
			t.Errorf("the tick of %v was run by %v", tick, pods)
		}
	}
	return len(k.pods)
}

func (k *ticks) count(pod string) (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, pods := range k.pods {
		for _, name := range pods {
			if name == pod {
				n++
			}
		}
	}
	return n
}

// A leader that was paused for longer than its lease stops to lead by its clock alone,
// before it sends any request.
func TestElector_PausedLeaderStopsLeading(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	var offset atomic.Int64
	p := open(t, env, nil, func(o *jobs.Options) {
		o.Clock = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	})
	p.schedule(t)
	p.awaitLeader(t)
	offset.Store(int64(terms.TTL))
	if p.leads(t) {
		t.Error("it still leads")
	}
	testenv.WaitFor(t, func() bool { return p.leads(t) }) // there is no other process, so it leads again
	if len(env.Log.Lines("WARN Lease lost")) != 1 {
		t.Error("the loss was not logged")
	}
}

// A leader that is paused between a tick and the acquisition of the run's lease does
// not run the tick: another process may have taken over and run it.
func TestSchedule_DoesNotRunATickAfterAPause(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	var offset atomic.Int64
	k := newTicks(100 * time.Millisecond)
	paused := make(chan struct{}, 100)
	p := open(t, env, []jobs.Job{k.job("p")}, func(o *jobs.Options) {
		o.Clock = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
		o.Leases = hookedStore{LeaseStore: o.Leases, beforeAcquire: func(name string) {
			if name == jobs.LeaseOf("j") { // IsLeader returned nil
				offset.Add(int64(terms.TTL))
				paused <- struct{}{}
			}
		}}
	})
	stop := p.schedule(t)
	for range 3 {
		<-paused
	}
	stop()
	if n := k.count("p"); n != 0 {
		t.Errorf("%d ticks were run after a pause", n)
	}
}

// hookedStore calls a function before each attempt to acquire a lease.
type hookedStore struct {
	jobs.LeaseStore
	beforeAcquire func(name string)
}

func (s hookedStore) Acquire(ctx context.Context, name, holder string) (jobs.Lease, error) {
	s.beforeAcquire(name)
	return s.LeaseStore.Acquire(ctx, name, holder)
}

// A process whose clock is ten minutes fast or slow does not take the lease from
// the leader, and leads correctly once the lease is free.
func TestElector_WrongClockDoesNotTakeTheLease(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	right := open(t, env, nil)
	stop := right.schedule(t)
	right.awaitLeader(t)
	k := newTicks(100 * time.Millisecond)
	var wrong []pod
	for _, off := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		p := open(t, env, []jobs.Job{k.job("wrong")}, func(o *jobs.Options) {
			o.Clock = mongodb.Clock(func() time.Time { return time.Now().Add(off) })
		})
		p.schedule(t)
		wrong = append(wrong, p)
	}
	testenv.HoldsFor(t, 3*terms.TTL, func() bool { return right.leads(t) && !wrong[0].leads(t) && !wrong[1].leads(t) })
	if n := k.count("wrong"); n != 0 {
		t.Errorf("%d runs by processes that do not lead", n)
	}
	stop()
	testenv.WaitFor(t, func() bool { return k.count("wrong") > 3 })
	k.checkOnce(t)
}

// While Redis is down, a fail-closed process does not lead, and a single instance
// goes on. Both use Redis again once it is back.
func TestElector_SurvivesFaultsOfRedis(t *testing.T) {
	t.Parallel()
	type option = func(t *testing.T, url string) func(*jobs.Options)
	for name, whileDown := range map[string]option{"fail-closed": waitForRedis, "single-instance": runWithoutRedis} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, r := testenv.New(t), testenv.OwnRedis(t)
			k := newTicks(100 * time.Millisecond)
			p := open(t, env, []jobs.Job{k.job("p")}, whileDown(t, r.URL))
			p.schedule(t)
			awaitRuns := func() {
				t.Helper()
				seen := k.count("p")
				testenv.WaitFor(t, func() bool { return k.count("p") > seen+2 })
			}
			p.awaitLeader(t)
			awaitRuns()
			if err := testenv.RedisClient(t, r.URL).FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			awaitRuns()
			for _, fault := range []struct{ start, end func() }{{r.Stop, r.Restart}, {r.Freeze, r.Wake}} {
				fault.start()
				if p.RunWithoutStore {
					testenv.WaitFor(t, func() bool { return len(env.Log.Lines("WARN Lease unavailable")) > 0 && p.leads(t) })
					awaitRuns()
				} else {
					testenv.WaitFor(t, func() bool { return !p.leads(t) })
					seen := k.count("p")
					testenv.HoldsFor(t, 5*k.interval, func() bool { return k.count("p") == seen })
				}
				fault.end()
				awaitRuns()
				testenv.WaitFor(t, func() bool { return p.count(t, "holdfast_lease_mode", "mode=redis") == 1 })
			}
		})
	}
}

// A run that lasts longer than its interval does not overlap the next one, also if a
// run panics.
func TestSchedule_RunsDoNotOverlap(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	var p pod
	var inProgress, runs atomic.Int32
	rescheduled := func() float64 { return p.count(t, "holdfast_gocron_ticks_total", "status=singleton_rescheduled") }
	j := job("j", func(ctx context.Context) error {
		if inProgress.Add(1) > 1 {
			t.Error("two runs at the same time")
		}
		defer inProgress.Add(-1)
		before := rescheduled()
		testenv.Poll(10*time.Second, func() bool { return rescheduled() >= before+3 || ctx.Err() != nil })
		if runs.Add(1) == 2 {
			panic("x")
		}
		return nil
	})
	j.Interval = 5 * time.Millisecond
	p = open(t, env, []jobs.Job{j})
	p.schedule(t)
	testenv.WaitFor(t, func() bool { return runs.Load() >= 4 })
	if n := p.count(t, "holdfast_lease_acquisitions_total", "lease=j", "outcome=contention"); n != 0 {
		t.Errorf("it tried %v times to acquire a lease that it held itself", n)
	}
}

// A scheduler that stops waits for the run in progress. Until then it stays the
// leader; afterwards no lease is left.
func TestSchedule_StopsAfterTheRunInProgress(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	cancelled, finish := make(chan struct{}), make(chan struct{})
	j := job("j", func(ctx context.Context) error {
		<-ctx.Done()
		close(cancelled)
		<-finish
		return ctx.Err()
	})
	j.Interval = 5 * time.Millisecond
	p := open(t, env, []jobs.Job{j})
	stop := p.schedule(t)
	testenv.WaitFor(t, func() bool { return len(p.runs(t, "j")) == 1 })
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	<-cancelled
	testenv.HoldsFor(t, 100*time.Millisecond, func() bool {
		h, err := p.Leases.Read(t.Context(), jobs.LeaderLease)
		return err == nil && h.Held()
	})
	close(finish)
	<-stopped
	if n := p.leases(t); n != 0 {
		t.Errorf("%d leases are left", n)
	}
}

func TestSchedule_WithoutLeasesThisProcessLeads(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	k := newTicks(50 * time.Millisecond)
	p := open(t, env, []jobs.Job{k.job("p")}, func(o *jobs.Options) { o.Leases = jobs.NewLocalLeases() })
	stop := p.schedule(t)
	testenv.WaitFor(t, func() bool { return k.count("p") > 2 && p.leads(t) })
	stop()
	if p.leads(t) {
		t.Error("it leads after the stop")
	}
}

// A hundred starts and stops leave no goroutine and no lease.
func TestSchedule_LeavesNoGoroutineAndNoLease(t *testing.T) {
	env, r := testenv.New(t), testenv.OwnRedis(t)
	k := newTicks(10 * time.Millisecond)
	before := goleak.IgnoreCurrent()
	mongo := open(t, env, []jobs.Job{k.job("mongo")})
	onRedis := open(t, env, []jobs.Job{k.job("redis")}, waitForRedis(t, r.URL))
	for i := range 100 {
		p, name := mongo, "mongo"
		if i%2 == 1 {
			p, name = onRedis, "redis"
		}
		seen := k.count(name)
		stop := p.schedule(t)
		if i%10 < 2 { // the rest stop while they start
			testenv.WaitFor(t, func() bool { return k.count(name) > seen })
		}
		stop()
	}
	if n := mongo.leases(t); n != 0 {
		t.Errorf("%d leases are left in MongoDB", n)
	}
	keys, err := testenv.RedisClient(t, r.URL).Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 0 {
		t.Errorf("left in Redis: %v, %v", keys, err)
	}
	// The driver starts and ends goroutines that monitor the server.
	const monitor = "go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology.(*contextDoneListener).Listen"
	if err := goleak.Find(before, goleak.IgnoreAnyFunction(monitor)); err != nil {
		t.Error(err)
	}
}
