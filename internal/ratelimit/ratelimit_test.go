package ratelimit_test

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/ratelimit"
	"github.com/holdfast-dev/holdfast/internal/redisclient"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var tenAnHour = config.Rate{Count: 10, Per: time.Hour}

// Several processes with one Redis share a name's rate. Other names are not affected.
func TestAllow_AllowsExactlyTheRate(t *testing.T) {
	t.Parallel()
	for store, client := range map[string]*redis.Client{"local": nil, "redis": testenv.RedisClient(t, testenv.RedisURL(t))} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			name, processes := ids.New().String(), []*ratelimit.Limiter{}
			for range 3 {
				processes = append(processes, ratelimit.New(client, clock.System, slog.New(slog.DiscardHandler)))
			}
			if client == nil {
				processes = processes[:1]
			}
			for i := range 10 {
				if r := processes[i%len(processes)].Allow(t.Context(), name, tenAnHour); !r.Allowed || r.Remaining != 9-i {
					t.Errorf("request %d: %+v", i+1, r)
				}
			}
			r := processes[0].Allow(t.Context(), name, tenAnHour)
			if r.Allowed || r.Remaining != 0 || r.RetryAfter <= 5*time.Minute || r.RetryAfter > 6*time.Minute {
				t.Errorf("request 11: %+v", r)
			}
			if r.Reset < 59*time.Minute || r.Reset > time.Hour {
				t.Errorf("request 11: reset in %v, want an hour", r.Reset)
			}
			if r := processes[0].Allow(t.Context(), name+"'s neighbour", tenAnHour); !r.Allowed || r.Remaining != 9 {
				t.Errorf("another name: %+v", r)
			}
		})
	}
}

// An allowance of ten an hour gains one request each six minutes.
func TestAllow_RefillsAtTheRate(t *testing.T) {
	t.Parallel()
	now := clock.System()
	l := ratelimit.New(nil, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	for range 10 {
		l.Allow(t.Context(), "name", tenAnHour)
	}
	if now = now.Add(5 * time.Minute); l.Allow(t.Context(), "name", tenAnHour).Allowed {
		t.Error("allowed after 5 min")
	}
	if now = now.Add(time.Minute + time.Second); !l.Allow(t.Context(), "name", tenAnHour).Allowed {
		t.Error("refused after 6 min")
	}
}

// A process that can't reach Redis applies the rate by itself, and warns once.
func TestAllow_CountsLocallyWhileRedisIsDown(t *testing.T) {
	t.Parallel()
	client := redisclient.Open(redis.Options{Addr: "127.0.0.1:1"}, 200*time.Millisecond)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		// The pool's goroutine, which tries to connect once a second, ends after Close.
		testenv.WaitFor(t, func() bool { return !isGoroutineIn("tryDial") })
	})
	log := &testenv.Log{}
	l := ratelimit.New(client, clock.System, slog.New(log))
	var allowed atomic.Int64
	var requests sync.WaitGroup
	for range 50 {
		requests.Go(func() {
			if l.Allow(context.Background(), "name", tenAnHour).Allowed {
				allowed.Add(1)
			}
		})
	}
	requests.Wait()
	if n := allowed.Load(); n != 10 {
		t.Errorf("%d requests were allowed, want 10", n)
	}
	if n := len(log.Lines("Redis does not count requests")); n != 1 {
		t.Errorf("%d warnings, want 1", n)
	}
}

// isGoroutineIn reports whether a goroutine runs the function.
func isGoroutineIn(function string) bool {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return strings.Contains(string(stacks), function)
}
