package lease_test

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var terms = lease.Terms{TTL: time.Second}

// stores opens two processes' views of each kind of store.
func stores(t *testing.T, do func(t *testing.T, a, b lease.Store)) {
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		url := testenv.RedisURL(t)
		do(t, redisAt(t, url, terms), redisAt(t, url, terms))
	})
	t.Run("mongo", func(t *testing.T) {
		t.Parallel()
		w := testenv.New(t)
		do(t, lease.NewMongo(w.DB, terms), lease.NewMongo(testenv.Open(t, w.URI, w.DB.Name()).DB, terms))
	})
}

func redisAt(t *testing.T, url string, terms lease.Terms, change ...func(*redis.Options)) *lease.Redis {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(o)
	}
	store := lease.NewRedis(*o, terms, clock.System)
	t.Cleanup(func() { store.Close() }) //nolint:errcheck // the test is over
	return store
}

// names are one of a run's lease and, in Redis another way, one of a leader's.
func name() string { return lease.Of("test-" + strings.ToLower(rand.Text()[:8])) }

func acquire(t *testing.T, s lease.Store, name, holder string) lease.Lease {
	t.Helper()
	l, err := s.Acquire(t.Context(), name, holder)
	if err != nil {
		t.Fatalf("%s could not acquire %s: %v", holder, name, err)
	}
	return l
}

func mustBeHeld(t *testing.T, err error, by string) {
	t.Helper()
	if held, ok := lease.IsHeld(err); !ok || held.Holder != by {
		t.Errorf("got %v, want that %q holds it", err, by)
	}
}

func TestLease_OneHolderUntilItIsGivenBack(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, a, b lease.Store) {
		n := name()
		l := acquire(t, a, n, "pod-a/1/x")
		_, err := b.Acquire(t.Context(), n, "pod-b/1/x")
		mustBeHeld(t, err, "pod-a/1/x")
		_, err = a.Acquire(t.Context(), n, "pod-a/1/x") // the same process is no exception
		mustBeHeld(t, err, "pod-a/1/x")
		h, err := b.Look(t.Context(), n)
		if err != nil || h.Holder != "pod-a/1/x" || h.Left <= 0 || h.Left > terms.TTL || time.Until(h.Until) > terms.TTL {
			t.Errorf("looked at as %+v, %v", h, err)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if h, err := b.Look(t.Context(), n); err != nil || h.Held() {
			t.Errorf("given back, it is %+v, %v", h, err)
		}
		acquire(t, b, n, "pod-b/1/x")
	})
}

// A lease is given back although shutdown has ended the context, and giving it
// back twice neither panics nor frees what another holds by then.
func TestLease_IsGivenBackOnceAndDuringShutdown(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, a, b lease.Store) {
		n := name()
		l := acquire(t, a, n, "a")
		ended, end := context.WithCancel(t.Context())
		end()
		if late, err := a.Acquire(ended, name(), "a"); err != nil { // or something might be left behind, and nobody know
			t.Errorf("a try was cut short: %v", err)
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
		mustBeHeld(t, err, "b")
	})
}

// A holder that was away for longer than its term learns that the lease is
// another's, and frees nothing; so does an earlier acquisition of the same
// holder.
func TestLease_OneThatPassedIsTakenOverAndNeverComesBack(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, a, b lease.Store) {
		for _, second := range []string{"b", "a"} {
			n := name()
			first := acquire(t, a, n, "a")
			var l lease.Lease
			eventually(t, func() bool {
				var err error
				l, err = b.Acquire(t.Context(), n, second)
				return err == nil
			})
			if _, held := lease.IsHeld(first.Renew(t.Context())); !held {
				t.Errorf("renewed although %s has it", second)
			}
			if err := first.Release(t.Context()); err != nil {
				if _, down := lease.IsUnavailable(err); !down { // gocron-redis-lock says no more than that it could not
					t.Error(err)
				}
			}
			_, err := a.Acquire(t.Context(), n, "c")
			mustBeHeld(t, err, second)
			if err := l.Renew(t.Context()); err != nil {
				t.Errorf("the present holder: %v", err)
			}
		}
	})
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen within 20 s")
		}
		<-time.After(20 * time.Millisecond)
	}
}

func TestLease_RenewalsKeepItBeyondItsTerm(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, a, b lease.Store) {
		n := name()
		l := acquire(t, a, n, "a")
		ctx, stop := context.WithCancel(t.Context())
		kept := make(chan error, 1)
		go func() {
			kept <- lease.Keeper{Terms: terms, Clock: clock.System}.Keep(ctx, l, time.Now().Add(terms.Valid()))
		}()
		for end := time.Now().Add(3 * terms.TTL); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
			_, err := b.Acquire(t.Context(), n, "b")
			mustBeHeld(t, err, "a")
		}
		stop()
		if err := <-kept; err != nil {
			t.Error(err)
		}
	})
}

func TestLease_FreedByHandIsLostToItsHolder(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, a, b lease.Store) {
		n := name()
		l := acquire(t, a, n, "a")
		if h, err := b.Free(t.Context(), n); err != nil || h.Holder != "a" {
			t.Errorf("freed from %+v, %v", h, err)
		}
		if h, err := b.Free(t.Context(), n); err != nil || h.Held() {
			t.Errorf("freed again from %+v, %v", h, err)
		}
		long := lease.Terms{TTL: 10 * time.Second} // the loss is noticed at the next renewal, not at the deadline
		ctx, cancel := context.WithTimeout(t.Context(), long.Valid()*2/3)
		defer cancel()
		err := lease.Keeper{Terms: long, Clock: clock.System}.Keep(ctx, l, time.Now().Add(long.Valid()))
		if _, held := lease.IsHeld(err); !held {
			t.Errorf("the holder goes on: %v", err)
		}
		acquire(t, b, n, "b")
	})
}

// Of many processes that ask at once, again and again, one has it at a time.
func TestLease_StampedeHasOneWinner(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, a, b lease.Store) {
		n := name()
		var inside, won atomic.Int32
		var all sync.WaitGroup
		for i := range 10 {
			s := []lease.Store{a, b}[i%2]
			all.Go(func() {
				for range 20 {
					l, err := s.Acquire(t.Context(), n, "x")
					if err != nil {
						if _, held := lease.IsHeld(err); !held {
							t.Error(err)
						}
						continue
					}
					if inside.Add(1) != 1 {
						t.Error("two holders at once")
					}
					won.Add(1)
					inside.Add(-1)
					if err := l.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if won.Load() == 0 {
			t.Error("nobody got it")
		}
	})
}

// Leases that outside hands left without an end are held until they are freed.
func TestLease_WithoutAnEndIsHeld(t *testing.T) {
	t.Parallel()
	url, n := testenv.RedisURL(t), name()
	if err := testenv.RedisClient(t, url).Set(t.Context(), n, "somebody", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s := redisAt(t, url, terms)
	_, err := s.Acquire(t.Context(), n, "a")
	mustBeHeld(t, err, "somebody")
	if h, err := s.Free(t.Context(), n); err != nil || h.Holder != "somebody" || !h.Until.IsZero() {
		t.Errorf("%+v, %v", h, err)
	}
	acquire(t, s, n, "a")
}

// A contender is told at once: gocron-redis-lock would try 32 times and then
// run the job a second time.
func TestRedis_TriesOnce(t *testing.T) {
	t.Parallel()
	url, n := testenv.RedisURL(t), name()
	s, long := redisAt(t, url, terms), redisAt(t, url, lease.Terms{TTL: time.Minute})
	acquire(t, long, n, "a")
	start := time.Now()
	_, err := s.Acquire(t.Context(), n, "b")
	mustBeHeld(t, err, "a")
	if took := time.Since(start); took > time.Second {
		t.Errorf("a contender waited %v", took)
	}
}

// Redis down, refusing, frozen or out of reach is known within a second, for
// leases of both ways, and told from a lease that is held.
func TestRedis_AwayIsKnownWithinASecond(t *testing.T) {
	t.Parallel()
	r := testenv.OwnRedis(t)
	slow := lease.Terms{TTL: 30 * time.Second}
	s := redisAt(t, r.URL, slow)
	leader, run := acquire(t, s, lease.Leader, "a"), acquire(t, s, "run", "a")
	nowhere := redisAt(t, "redis://192.0.2.1:6379", slow) // a network that no packet comes back from
	check := func(what string, s *lease.Redis, do func(context.Context) error) {
		t.Helper()
		var took time.Duration
		for range 3 { // a machine under load may be late once
			start := time.Now()
			err := do(t.Context())
			took = time.Since(start)
			down, ok := lease.IsUnavailable(err)
			if !ok || down.Reason != lease.RedisUnavailable {
				t.Errorf("%s: %v, want that Redis is unavailable", what, err)
			}
			if took <= time.Second {
				return
			}
		}
		t.Errorf("%s: known after %v", what, took)
	}
	all := func(what string, s *lease.Redis) {
		t.Helper()
		for _, n := range []string{lease.Leader, "run", "other"} {
			check(what+": acquire "+n, s, func(ctx context.Context) error {
				_, err := s.Acquire(ctx, n, "b")
				return err
			})
		}
		check(what+": ping", s, s.Ping)
		check(what+": look", s, func(ctx context.Context) error {
			_, err := s.Look(ctx, "run")
			return err
		})
	}
	all("out of reach", nowhere)
	r.Freeze()
	all("frozen", s)
	check("frozen: renew", s, run.Renew)
	check("frozen: renew leader", s, leader.Renew)
	r.Wake()
	eventually(t, func() bool { return s.Ping(t.Context()) == nil })
	r.Stop()
	all("down", s)
	check("down: renew", s, run.Renew)
	if err := run.Release(t.Context()); err == nil {
		t.Error("given back to a Redis that is down")
	}
	r.Restart()
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("it is back: %v", err)
	}
	acquire(t, s, "run", "b")
}

// Redis that answers with an error is told from one that is silent.
func TestRedis_AnErrorIsAnAnswer(t *testing.T) {
	t.Parallel()
	r := testenv.OwnRedis(t)
	if err := testenv.RedisClient(t, r.URL).ConfigSet(t.Context(), "requirepass", "secret").Err(); err != nil {
		t.Fatal(err)
	}
	s := redisAt(t, r.URL, terms, func(o *redis.Options) { o.Password = "wrong" })
	_, err := s.Acquire(t.Context(), name(), "a")
	if down, ok := lease.IsUnavailable(err); !ok || down.Reason != lease.RedisError {
		t.Errorf("got %v", err)
	}
}

// A pod's wall clock ten minutes off neither takes a lease early nor shortens one.
func TestLease_PodsClocksDoNotMatter(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	o, err := redis.ParseURL(testenv.RedisURL(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, off := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		wrong := clock.Clock(func() time.Time { return time.Now().Add(off) })
		r := lease.NewRedis(*o, terms, wrong)
		defer r.Close() //nolint:errcheck // the test is over
		for _, s := range []lease.Store{r, lease.NewMongo(w.DB, terms)} {
			n := name()
			right := redisAt(t, testenv.RedisURL(t), terms)
			var holder lease.Store = right
			if s.Kind() == lease.KindMongo {
				holder = s
			}
			acquire(t, holder, n, "right")
			_, err := s.Acquire(t.Context(), n, "wrong")
			mustBeHeld(t, err, "right")
			ctx, stop := context.WithTimeout(t.Context(), terms.TTL/2)
			l := acquire(t, s, name(), "wrong")
			if err := (lease.Keeper{Terms: terms, Clock: wrong}).Keep(ctx, l, wrong().Add(terms.Valid())); err != nil {
				t.Errorf("clock %v off: %v", off, err)
			}
			stop()
		}
	}
}

func TestTerms_LeaveTimeForASuccessor(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{time.Second, 2 * time.Second, 30 * time.Second, time.Hour} {
		m := lease.Terms{TTL: ttl}
		if m.Term() >= ttl || m.Term() < ttl*8/10 || m.Valid() >= m.Term() || m.Every() > m.Valid()/2 {
			t.Errorf("%v: term %v, valid %v, renewed every %v", ttl, m.Term(), m.Valid(), m.Every())
		}
	}
}
