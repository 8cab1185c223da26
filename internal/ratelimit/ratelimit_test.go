package ratelimit_test

import (
	"context"
	"log/slog"
	"sync"
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

// As many as the rate says come through, and nobody else's count suffers.
func TestAllow_AsManyAsTheRate(t *testing.T) {
	t.Parallel()
	for kind, client := range map[string]*redis.Client{"alone": nil, "redis": testenv.RedisClient(t, testenv.RedisURL(t))} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name, processes := ids.New().String(), []*ratelimit.Limiter{}
			for range 3 {
				processes = append(processes, ratelimit.New(client, clock.System, slog.New(slog.DiscardHandler)))
			}
			if client == nil {
				processes = processes[:1]
			}
			for i := range 10 {
				if r := processes[i%len(processes)].Allow(t.Context(), name, tenAnHour); !r.Allowed || r.Left != 9-i {
					t.Errorf("request %d: %+v", i+1, r)
				}
			}
			r := processes[0].Allow(t.Context(), name, tenAnHour)
			if r.Allowed || r.Left != 0 || r.RetryAfter <= 5*time.Minute || r.RetryAfter > 6*time.Minute || r.Reset < 59*time.Minute || r.Reset > time.Hour {
				t.Errorf("the one too many: %+v", r)
			}
			if r := processes[0].Allow(t.Context(), name+"'s neighbour", tenAnHour); !r.Allowed || r.Left != 9 {
				t.Errorf("a neighbour: %+v", r)
			}
		})
	}
}

// Time brings requests back, at the rate.
func TestAllow_ComesBackWithTime(t *testing.T) {
	t.Parallel()
	now := clock.System()
	l := ratelimit.New(nil, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	for range 10 {
		l.Allow(t.Context(), "name", tenAnHour)
	}
	if now = now.Add(5 * time.Minute); l.Allow(t.Context(), "name", tenAnHour).Allowed {
		t.Error("allowed before its time")
	}
	if now = now.Add(time.Minute + time.Second); !l.Allow(t.Context(), "name", tenAnHour).Allowed {
		t.Error("not allowed in its time")
	}
}

// Without an answer of Redis a process counts its own, and says so once.
func TestAllow_RedisDown(t *testing.T) {
	t.Parallel()
	client := redisclient.Open(redis.Options{Addr: "127.0.0.1:1"}, 200*time.Millisecond)
	defer func() {
		client.Close()                        //nolint:errcheck // it has no connection
		<-time.After(1100 * time.Millisecond) // it looks after its pool once a second
	}()
	log := &testenv.Log{}
	l := ratelimit.New(client, clock.System, slog.New(log))
	var mu sync.Mutex
	allowed := 0
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			r := l.Allow(context.Background(), "name", tenAnHour)
			mu.Lock()
			defer mu.Unlock()
			if r.Allowed {
				allowed++
			}
		})
	}
	all.Wait()
	if allowed != 10 {
		t.Errorf("%d were allowed, want 10", allowed)
	}
	if n := len(log.Lines("Redis does not count requests")); n != 1 {
		t.Errorf("said %d times", n)
	}
}
