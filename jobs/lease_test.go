package jobs_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

var leaseTerms = jobs.LeaseTerms{TTL: time.Second}

// forEachStore runs a test with each kind of store. a and b are the stores of two
// processes.
func forEachStore(t *testing.T, test func(t *testing.T, a, b jobs.LeaseStore)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		url := testenv.RedisURL(t)
		test(t, openRedis(t, url, leaseTerms), openRedis(t, url, leaseTerms))
	})
	t.Run("mongo", func(t *testing.T) {
		t.Parallel()
		env := testenv.New(t)
		test(t, jobs.NewMongoLeases(env.DB, leaseTerms), jobs.NewMongoLeases(testenv.Open(t, env.URI, env.DB.Name()).DB, leaseTerms))
	})
}

func openRedis(t *testing.T, url string, leaseTerms jobs.LeaseTerms, change ...func(*redis.Options)) *jobs.RedisLeases {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(o)
	}
	store := jobs.NewRedisLeases(*o, leaseTerms, mongodb.SystemTime)
	testenv.CloseAfter(t, store)
	return store
}

// newName returns a lease that no other test uses.
func newName() string { return jobs.LeaseOf("test-" + strings.ToLower(rand.Text()[:8])) }

func acquire(t *testing.T, s jobs.LeaseStore, name, holder string) jobs.Lease {
	t.Helper()
	l, err := s.Acquire(t.Context(), name, holder)
	if err != nil {
		t.Fatalf("%s could not acquire %s: %v", holder, name, err)
	}
	return l
}

func expectHeld(t *testing.T, err error, holder string) {
	t.Helper()
	if held, ok := jobs.IsHeld(err); !ok || held.Holder != holder {
		t.Errorf("got %v, want a lease that %q holds", err, holder)
	}
}

func TestLease_HasOneHolderUntilItIsReleased(t *testing.T) {
	t.Parallel()
	forEachStore(t, func(t *testing.T, a, b jobs.LeaseStore) {
		n := newName()
		l := acquire(t, a, n, "pod-a/1/x")
		_, err := b.Acquire(t.Context(), n, "pod-b/1/x")
		expectHeld(t, err, "pod-a/1/x")
		_, err = a.Acquire(t.Context(), n, "pod-a/1/x") // even the same process cannot acquire it twice
		expectHeld(t, err, "pod-a/1/x")
		h, err := b.Read(t.Context(), n)
		if err != nil || h.Holder != "pod-a/1/x" || h.Remaining <= 0 || h.Remaining > leaseTerms.TTL || time.Until(h.Until) > leaseTerms.TTL {
			t.Errorf("read %+v, %v", h, err)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if h, err := b.Read(t.Context(), n); err != nil || h.Held() {
			t.Errorf("after the release: %+v, %v", h, err)
		}
		acquire(t, b, n, "pod-b/1/x")
	})
}

// Acquire and Release work although shutdown has ended the context. A second Release
// neither panics nor releases the lease of the next holder.
func TestLease_IsReleasedOnceAndDuringShutdown(t *testing.T) {
	t.Parallel()
	forEachStore(t, func(t *testing.T, a, b jobs.LeaseStore) {
		n := newName()
		l := acquire(t, a, n, "a")
		ended, end := context.WithCancel(t.Context())
		end()
		if late, err := a.Acquire(ended, newName(), "a"); err != nil { // otherwise the outcome would be unknown
			t.Errorf("the context cancelled an acquisition: %v", err)
		} else if err := late.Release(ended); err != nil {
			t.Error(err)
		}
		if err := l.Release(ended); err != nil {
			t.Error(err)
		}
		acquire(t, b, n, "b")
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		_, err := a.Acquire(t.Context(), n, "a")
		expectHeld(t, err, "b")
	})
}

// A holder whose lease has expired can neither renew nor release it once another
// acquisition holds it, even one of the same process.
func TestLease_ExpiredLeaseBelongsToTheNextHolder(t *testing.T) {
	t.Parallel()
	forEachStore(t, func(t *testing.T, a, b jobs.LeaseStore) {
		for _, second := range []string{"b", "a"} {
			t.Run("then "+second, func(t *testing.T) {
				n := newName()
				first := acquire(t, a, n, "a")
				var l jobs.Lease
				testenv.WaitFor(t, func() bool {
					var err error
					l, err = b.Acquire(t.Context(), n, second)
					return err == nil
				})
				if _, held := jobs.IsHeld(first.Renew(t.Context())); !held {
					t.Errorf("renewed although %s holds it", second)
				}
				if err := first.Release(t.Context()); err != nil {
					if _, unavailable := jobs.IsUnavailable(err); !unavailable { // gocron-redis-lock does not report the cause
						t.Error(err)
					}
				}
				_, err := a.Acquire(t.Context(), n, "c")
				expectHeld(t, err, second)
				if err := l.Renew(t.Context()); err != nil {
					t.Errorf("renewal of the present holder: %v", err)
				}
			})
		}
	})
}

func TestLease_RenewalsKeepItBeyondItsTTL(t *testing.T) {
	t.Parallel()
	forEachStore(t, func(t *testing.T, a, b jobs.LeaseStore) {
		n := newName()
		l := acquire(t, a, n, "a")
		ctx, stop := context.WithCancel(t.Context())
		kept := make(chan error, 1)
		go func() {
			kept <- jobs.Keeper{Terms: leaseTerms, Clock: mongodb.SystemTime}.Keep(ctx, l, time.Now().Add(leaseTerms.HolderTTL()))
		}()
		testenv.HoldsFor(t, 3*leaseTerms.TTL, func() bool {
			_, err := b.Acquire(t.Context(), n, "b")
			held, ok := jobs.IsHeld(err)
			return ok && held.Holder == "a"
		})
		stop()
		if err := <-kept; err != nil {
			t.Error(err)
		}
	})
}

func TestLease_HolderNoticesThatItsLeaseWasFreed(t *testing.T) {
	t.Parallel()
	forEachStore(t, func(t *testing.T, a, b jobs.LeaseStore) {
		n := newName()
		l := acquire(t, a, n, "a")
		if h, err := b.Free(t.Context(), n); err != nil || h.Holder != "a" {
			t.Errorf("previous holder %+v, %v", h, err)
		}
		if h, err := b.Free(t.Context(), n); err != nil || h.Held() {
			t.Errorf("freed again: %+v, %v", h, err)
		}
		long := jobs.LeaseTerms{TTL: 10 * time.Second} // the holder notices at the next renewal, not at its deadline
		ctx, cancel := context.WithTimeout(t.Context(), long.HolderTTL()*2/3)
		defer cancel()
		err := jobs.Keeper{Terms: long, Clock: mongodb.SystemTime}.Keep(ctx, l, time.Now().Add(long.HolderTTL()))
		if _, held := jobs.IsHeld(err); !held {
			t.Errorf("the holder did not notice: %v", err)
		}
		acquire(t, b, n, "b")
	})
}

func TestLease_StampedeHasOneHolderAtATime(t *testing.T) {
	t.Parallel()
	forEachStore(t, func(t *testing.T, a, b jobs.LeaseStore) {
		n := newName()
		var holders, acquired atomic.Int32
		var all sync.WaitGroup
		for i := range 10 {
			s := []jobs.LeaseStore{a, b}[i%2]
			all.Go(func() {
				for range 20 {
					l, err := s.Acquire(t.Context(), n, "x")
					if err != nil {
						if _, held := jobs.IsHeld(err); !held {
							t.Error(err)
						}
						continue
					}
					if holders.Add(1) != 1 {
						t.Error("two holders at the same time")
					}
					acquired.Add(1)
					holders.Add(-1)
					if err := l.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if acquired.Load() == 0 {
			t.Error("no process acquired it")
		}
	})
}

// A lease that another tool wrote without an end is held until it is freed.
func TestRedis_LeaseWithoutAnEndIsHeldUntilItIsFreed(t *testing.T) {
	t.Parallel()
	url, n := testenv.RedisURL(t), newName()
	if err := testenv.RedisClient(t, url).Set(t.Context(), n, "other", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s := openRedis(t, url, leaseTerms)
	_, err := s.Acquire(t.Context(), n, "a")
	expectHeld(t, err, "other")
	if h, err := s.Free(t.Context(), n); err != nil || h.Holder != "other" || !h.Until.IsZero() {
		t.Errorf("%+v, %v", h, err)
	}
	acquire(t, s, n, "a")
}

// A contender gets an answer at once: by default gocron-redis-lock would try 32
// times, and then run the job a second time.
func TestRedis_AcquireTriesOnce(t *testing.T) {
	t.Parallel()
	url, n := testenv.RedisURL(t), newName()
	s, long := openRedis(t, url, leaseTerms), openRedis(t, url, jobs.LeaseTerms{TTL: time.Minute})
	acquire(t, long, n, "a")
	start := time.Now()
	_, err := s.Acquire(t.Context(), n, "b")
	expectHeld(t, err, "a")
	if took := time.Since(start); took > time.Second {
		t.Errorf("a contender waited %v", took)
	}
}

// A Redis that is stopped, frozen or unreachable is detected within a second, for the
// leases of both libraries, and is not mistaken for a held lease.
func TestRedis_UnavailabilityIsDetectedWithinASecond(t *testing.T) {
	t.Parallel()
	r := testenv.OwnRedis(t)
	long := jobs.LeaseTerms{TTL: 30 * time.Second}
	s := openRedis(t, r.URL, long)
	leader, run := acquire(t, s, jobs.LeaderLease, "a"), acquire(t, s, "run", "a")
	unreachable := openRedis(t, "redis://192.0.2.1:6379", long) // a network for documentation (RFC 5737)
	check := func(what string, do func(context.Context) error) {
		t.Helper()
		var took time.Duration
		for range 3 { // on a busy machine, one attempt may be slow
			start := time.Now()
			err := do(t.Context())
			took = time.Since(start)
			unavailable, ok := jobs.IsUnavailable(err)
			if !ok || unavailable.Reason != jobs.RedisUnavailable {
				t.Errorf("%s: %v, want an UnavailableError", what, err)
			}
			if took <= time.Second {
				return
			}
		}
		t.Errorf("%s: detected after %v", what, took)
	}
	checkAll := func(what string, s *jobs.RedisLeases) {
		t.Helper()
		for _, n := range []string{jobs.LeaderLease, "run", "other"} {
			check(what+": acquire "+n, func(ctx context.Context) error {
				_, err := s.Acquire(ctx, n, "b")
				return err
			})
		}
		check(what+": ping", func(ctx context.Context) error { return s.Ping(ctx, "run") })
		check(what+": read", func(ctx context.Context) error {
			_, err := s.Read(ctx, "run")
			return err
		})
	}
	checkAll("unreachable", unreachable)
	r.Freeze()
	checkAll("frozen", s)
	check("frozen: renew", run.Renew)
	check("frozen: renew leader", leader.Renew)
	r.Wake()
	testenv.WaitFor(t, func() bool { return s.Ping(t.Context()) == nil })
	r.Stop()
	checkAll("stopped", s)
	check("stopped: renew", run.Renew)
	if err := run.Release(t.Context()); err == nil {
		t.Error("released although Redis is stopped")
	}
	r.Restart()
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("after the restart: %v", err)
	}
	acquire(t, s, "run", "b")
}

func TestRedis_DistinguishesAnErrorFromNoAnswer(t *testing.T) {
	t.Parallel()
	r := testenv.OwnRedis(t)
	if err := testenv.RedisClient(t, r.URL).ConfigSet(t.Context(), "requirepass", "secret").Err(); err != nil {
		t.Fatal(err)
	}
	s := openRedis(t, r.URL, leaseTerms, func(o *redis.Options) { o.Password = "wrong" })
	_, err := s.Acquire(t.Context(), newName(), "a")
	if unavailable, ok := jobs.IsUnavailable(err); !ok || unavailable.Reason != jobs.RedisError {
		t.Errorf("got %v", err)
	}
}

// A wall clock that is ten minutes fast or slow neither takes a lease early nor
// shortens one.
func TestLease_WallClocksDoNotMatter(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	o, err := redis.ParseURL(testenv.RedisURL(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, offset := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		wrong := mongodb.Clock(func() time.Time { return time.Now().Add(offset) })
		r := jobs.NewRedisLeases(*o, leaseTerms, wrong)
		testenv.CloseAfter(t, r)
		for _, s := range []jobs.LeaseStore{r, jobs.NewMongoLeases(env.DB, leaseTerms)} {
			t.Run(fmt.Sprintf("%s, off by %v", s.Kind(), offset), func(t *testing.T) {
				n := newName()
				right := openRedis(t, testenv.RedisURL(t), leaseTerms)
				var holder jobs.LeaseStore = right
				if s.Kind() == jobs.StoreMongo {
					holder = s
				}
				acquire(t, holder, n, "right")
				_, err := s.Acquire(t.Context(), n, "wrong")
				expectHeld(t, err, "right")
				ctx, stop := context.WithTimeout(t.Context(), leaseTerms.TTL/2)
				l := acquire(t, s, newName(), "wrong")
				if err := (jobs.Keeper{Terms: leaseTerms, Clock: wrong}).Keep(ctx, l, wrong().Add(leaseTerms.HolderTTL())); err != nil {
					t.Error(err)
				}
				stop()
			})
		}
	}
}

func TestTerms_LeaveTimeForTheSuccessor(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{time.Second, 2 * time.Second, 30 * time.Second, time.Hour} {
		t.Run(ttl.String(), func(t *testing.T) {
			m := jobs.LeaseTerms{TTL: ttl}
			if m.StoreTTL() >= ttl || m.StoreTTL() < ttl*8/10 || m.HolderTTL() >= m.StoreTTL() || m.RenewInterval() > m.HolderTTL()/2 {
				t.Errorf("store %v, holder %v, renewed every %v", m.StoreTTL(), m.HolderTTL(), m.RenewInterval())
			}
		})
	}
}
