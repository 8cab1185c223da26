package jobs_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// schedule runs the pod's scheduler until stop, or the test's end.
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
	eventually(t, func() bool { return p.leads(t) })
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen within 30 s")
		}
		<-time.After(5 * time.Millisecond)
	}
}

// ticks notes who ran which tick of a job.
type ticks struct {
	mu    sync.Mutex
	every time.Duration
	by    map[time.Time][]string
	least map[string]time.Duration // from a tick to its run, by pod
}

func newTicks(every time.Duration) *ticks {
	return &ticks{every: every, by: map[time.Time][]string{}, least: map[string]time.Duration{}}
}

func (k *ticks) job(pod string) jobs.Job {
	j := job("j", func(context.Context) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		now := time.Now()
		tick := now.Truncate(k.every)
		k.by[tick] = append(k.by[tick], pod)
		if late, ran := k.least[pod]; !ran || now.Sub(tick) < late {
			k.least[pod] = now.Sub(tick)
		}
		return nil
	})
	j.Interval = k.every
	return j
}

// Three processes schedule one job: each tick is run once, by the leader, also
// as the leadership goes from hand to hand, and the next one does not wait for
// a term to pass.
func TestSchedule_EachTickOnce(t *testing.T) {
	t.Parallel()
	r := testenv.OwnRedis(t)
	for _, leases := range []string{lease.KindRedis, lease.KindMongo} {
		t.Run(leases, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			k := newTicks(200 * time.Millisecond)
			stops := map[string]func(){}
			pods := map[string]pod{}
			for _, name := range []string{"a", "b", "c"} {
				change := func(*jobs.Options) {}
				if leases == lease.KindRedis {
					change = withRedis(t, r.URL, false)
				}
				p := open(t, w, []jobs.Job{k.job(name)}, change)
				pods[name], stops[name] = p, p.schedule(t)
				<-time.After(k.every / 3) // ticks don't begin with their process
			}
			for len(pods) > 0 {
				var leader string
				eventually(t, func() bool {
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
				asked := func() (n float64) {
					for _, other := range pods {
						n += other.count(t, "holdfast_lease_acquisitions_total", "lease=j")
					}
					return n
				}
				before := asked()
				eventually(t, func() bool { return k.count(leader) >= seen+3 })
				if n := asked(); n != before {
					t.Errorf("those who don't lead asked %v times for the job's lease", n-before)
				}
				stops[leader]()
			}
			if n := k.eachOnce(t); n < 9 {
				t.Errorf("only %d ticks", n)
			}
			for name := range stops {
				if late := k.least[name]; late > k.every/4 {
					t.Errorf("%s runs %v after the tick", name, late)
				}
			}
		})
	}
}

// eachOnce fails where two ran the same tick, and returns how many there were.
func (k *ticks) eachOnce(t *testing.T) int {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	for tick, by := range k.by {
		if len(by) > 1 {
			t.Errorf("the tick of %v was run by %v", tick, by)
		}
	}
	return len(k.by)
}

func (k *ticks) count(pod string) (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, by := range k.by {
		for _, name := range by {
			if name == pod {
				n++
			}
		}
	}
	return n
}

// A leader that stood still for longer than its lease does not go on as leader,
// even before it has talked to anybody: its clock alone tells.
func TestElector_APausedLeaderIsNone(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var ahead atomic.Int64
	p := open(t, w, nil, func(o *jobs.Options) {
		o.Clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	p.schedule(t)
	p.awaitLeader(t)
	ahead.Store(int64(terms.TTL))
	if p.leads(t) {
		t.Error("it goes on as leader")
	}
	eventually(t, func() bool { return p.leads(t) }) // nobody else was there, so it leads again
	if len(w.Log.Lines("WARN Lease lost")) != 1 {
		t.Error("the loss went unsaid")
	}
}

// A leader that is paused between its tick and the run's lease, while another
// one takes over and runs the tick, does not run it again.
func TestSchedule_APauseAfterTheTickRunsNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var ahead atomic.Int64
	k := newTicks(100 * time.Millisecond)
	paused := make(chan struct{}, 100)
	p := open(t, w, []jobs.Job{k.job("p")}, func(o *jobs.Options) {
		o.Clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		o.Leases = staged{o.Leases, func(name string) {
			if name == lease.Of("j") { // the leader has been asked, and said yes
				ahead.Add(int64(terms.TTL))
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

// staged calls a function before each try to acquire a lease.
type staged struct {
	lease.Store
	before func(name string)
}

func (s staged) Acquire(ctx context.Context, name, holder string) (lease.Lease, error) {
	s.before(name)
	return s.Store.Acquire(ctx, name, holder)
}

// A clock ten minutes off, either way, changes nothing.
func TestElector_AWrongClockLeadsAndStealsNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	right := open(t, w, nil)
	stop := right.schedule(t)
	right.awaitLeader(t)
	k := newTicks(100 * time.Millisecond)
	var wrong []pod
	for _, off := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		p := open(t, w, []jobs.Job{k.job("wrong")}, func(o *jobs.Options) {
			o.Clock = clock.Clock(func() time.Time { return time.Now().Add(off) })
		})
		p.schedule(t)
		wrong = append(wrong, p)
	}
	for end := time.Now().Add(3 * terms.TTL); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		if !right.leads(t) || wrong[0].leads(t) || wrong[1].leads(t) {
			t.Fatal("the leadership moved")
		}
	}
	if n := k.count("wrong"); n != 0 {
		t.Errorf("%d runs by those that don't lead", n)
	}
	stop()
	eventually(t, func() bool { return k.count("wrong") > 3 })
	k.eachOnce(t)
}

// With a Redis that goes and comes back, fail-closed leads no more and
// single-instance goes on; both are back by themselves.
func TestElector_RedisStopsFreezesForgetsAndRestarts(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{false, true} {
		w, r := testenv.New(t), testenv.OwnRedis(t)
		k := newTicks(100 * time.Millisecond)
		p := open(t, w, []jobs.Job{k.job("p")}, withRedis(t, r.URL, alone))
		p.schedule(t)
		runsOn := func() {
			t.Helper()
			seen := k.count("p")
			eventually(t, func() bool { return k.count("p") > seen+2 })
		}
		p.awaitLeader(t)
		runsOn()
		if err := testenv.RedisClient(t, r.URL).FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		runsOn()
		for what, fault := range map[string][2]func(){"stopped": {r.Stop, r.Restart}, "frozen": {r.Freeze, r.Wake}} {
			fault[0]()
			if alone {
				eventually(t, func() bool { return len(w.Log.Lines("WARN Lease unavailable")) > 0 && p.leads(t) })
				runsOn()
			} else {
				eventually(t, func() bool { return !p.leads(t) })
				seen := k.count("p")
				<-time.After(5 * k.every)
				if n := k.count("p"); n != seen {
					t.Errorf("%s: %d runs started", what, n-seen)
				}
			}
			fault[1]()
			runsOn()
			eventually(t, func() bool { return p.count(t, "holdfast_lease_mode", "mode=redis") == 1 })
		}
	}
}

// A run that outlasts its interval is alone, a panic ends nothing, and the end
// waits for the run in progress and leaves no lease.
func TestSchedule_RunsAloneAndEndsInOrder(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var beside, runs atomic.Int32
	j := jobs.Job{Name: "j", Interval: 5 * time.Millisecond, MaxDuration: time.Minute,
		Do: func(context.Context, jobs.Run) (jobs.Counts, error) {
			if beside.Add(1) > 1 {
				t.Error("two runs at once")
			}
			defer beside.Add(-1)
			<-time.After(100 * time.Millisecond)
			if runs.Add(1) == 2 {
				panic("x")
			}
			return jobs.Counts{}, nil
		}}
	p := open(t, w, []jobs.Job{j})
	stop := p.schedule(t)
	eventually(t, func() bool { return runs.Load() >= 4 && beside.Load() > 0 })
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	eventually(t, func() bool {
		h, err := p.Leases.Look(t.Context(), lease.Leader)
		return err == nil && !h.Held()
	})
	if beside.Load() != 0 {
		t.Error("the leadership was given back before the run's end")
	}
	<-stopped
	if n := p.count(t, "holdfast_lease_acquisitions_total", "lease=j", "outcome=contention"); n != 0 {
		t.Errorf("it asked %v times for a lease that it held itself", n)
	}
	if n := p.leases(t); n != 0 {
		t.Errorf("%d leases are left", n)
	}
}

// With no leases, a single instance schedules all by itself.
func TestSchedule_WithoutLeasesThisProcessLeads(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	k := newTicks(50 * time.Millisecond)
	p := open(t, w, []jobs.Job{k.job("p")}, func(o *jobs.Options) { o.Leases = lease.NewLocal() })
	stop := p.schedule(t)
	eventually(t, func() bool { return k.count("p") > 2 && p.leads(t) })
	stop()
	if p.leads(t) {
		t.Error("stopped, it leads")
	}
}

// A hundred starts and stops leave no goroutine and no lease.
func TestSchedule_LeavesNothingBehind(t *testing.T) {
	w, r := testenv.New(t), testenv.OwnRedis(t)
	k := newTicks(10 * time.Millisecond)
	before := goleak.IgnoreCurrent()
	mongo := open(t, w, []jobs.Job{k.job("mongo")})
	onRedis := open(t, w, []jobs.Job{k.job("redis")}, withRedis(t, r.URL, false))
	for i := range 100 {
		p, name := mongo, "mongo"
		if i%2 == 1 {
			p, name = onRedis, "redis"
		}
		seen := k.count(name)
		stop := p.schedule(t)
		if i%10 < 2 { // the others are stopped as they start
			eventually(t, func() bool { return k.count(name) > seen })
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
	// The driver watches its server by goroutines that come and go.
	if err := goleak.Find(before, goleak.IgnoreAnyFunction("go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology.(*contextDoneListener).Listen")); err != nil {
		t.Error(err)
	}
}
