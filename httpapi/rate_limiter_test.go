package httpapi_test

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

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

var tenAnHour = config.Rate{Count: 10, Per: time.Hour}

// Several processes with one Redis share a name's rate. Other names are not affected.
func TestRateLimiter_AllowsExactlyTheRate(t *testing.T) {
	t.Parallel()
	for store, client := range map[string]*redis.Client{"local": nil, "redis": testenv.RedisClient(t, testenv.RedisURL(t))} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			name, processes := mongodb.NewID().String(), []*httpapi.RateLimiter{}
			for range 3 {
				processes = append(processes, httpapi.NewRateLimiter(client, mongodb.SystemTime, slog.New(slog.DiscardHandler)))
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
func TestRateLimiter_RefillsAtTheRate(t *testing.T) {
	t.Parallel()
	now := mongodb.SystemTime()
	l := httpapi.NewRateLimiter(nil, func() time.Time { return now }, slog.New(slog.DiscardHandler))
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
func TestRateLimiter_CountsLocallyWhileRedisIsDown(t *testing.T) {
	t.Parallel()
	client := jobs.OpenRedis(redis.Options{Addr: "127.0.0.1:1"}, 200*time.Millisecond)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		// The pool's goroutine, which tries to connect once a second, ends after Close.
		testenv.WaitFor(t, func() bool { return !isGoroutineIn("tryDial") })
	})
	log := &testenv.Log{}
	l := httpapi.NewRateLimiter(client, mongodb.SystemTime, slog.New(log))
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

// client returns a client of a Redis that counts the commands.
func clientOf(t *testing.T, server string) (*redis.Client, *commandCounter) {
	t.Helper()
	options, err := redis.ParseURL(server)
	if err != nil {
		t.Fatal(err)
	}
	client, commands := jobs.OpenRedis(*options, 200*time.Millisecond), &commandCounter{}
	client.AddHook(commands)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client, commands
}

// However many requests come at the same time, a Redis that hangs delays one of them by its
// timeout. The others count locally.
func TestRateLimiter_OneOfManyAsksAHangingRedis(t *testing.T) {
	t.Parallel()
	server := testenv.OwnRedis(t)
	client, commands := clientOf(t, server.URL)
	start := mongodb.SystemTime()
	l := httpapi.NewRateLimiter(client, func() time.Time { return start }, slog.New(slog.DiscardHandler)) // it is never time to ask again
	l.Allow(t.Context(), "another name", tenAnHour)
	server.Freeze()
	commands.sent.Store(0)
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
	if n := commands.sent.Load(); n != 1 {
		t.Errorf("%d of 50 requests waited for a Redis that hangs, want 1", n)
	}
	if n := allowed.Load(); n != 10 {
		t.Errorf("%d requests were allowed, want 10", n)
	}
	server.Wake()
}

// Requests that come at the same time are all counted by a Redis that answers.
func TestRateLimiter_ManyAtOnceAreCountedByRedis(t *testing.T) {
	t.Parallel()
	client, commands := clientOf(t, testenv.RedisURL(t))
	l := httpapi.NewRateLimiter(client, mongodb.SystemTime, slog.New(slog.DiscardHandler))
	l.SetPatience(time.Hour)
	l.Allow(t.Context(), mongodb.NewID().String(), tenAnHour) // Redis has the script then, which needs a command of its own
	commands.sent.Store(0)
	name, answer := mongodb.NewID().String(), make(chan struct{})
	commands.hold.Store(&answer) // the first one has no answer until the others wait for it
	var allowed atomic.Int64
	var requests sync.WaitGroup
	for range 20 {
		requests.Go(func() {
			if l.Allow(context.Background(), name, tenAnHour).Allowed {
				allowed.Add(1)
			}
		})
	}
	testenv.WaitFor(t, func() bool { return goroutinesIn("(*RateLimiter).join") >= 19 })
	close(answer)
	requests.Wait()
	if asked, n := commands.sent.Load(), allowed.Load(); asked != 20 || n != 10 {
		t.Errorf("Redis counted %d requests and allowed %d, want 20 and 10", asked, n)
	}
}

// A caller that leaves says nothing about Redis: the next request asks.
func TestRateLimiter_ACallerThatLeavesDoesNotDecideForOthers(t *testing.T) {
	t.Parallel()
	client, commands := clientOf(t, testenv.RedisURL(t))
	l := httpapi.NewRateLimiter(client, mongodb.SystemTime, slog.New(slog.DiscardHandler))
	l.SetPatience(time.Hour)
	l.Allow(t.Context(), mongodb.NewID().String(), tenAnHour) // Redis has the script then, which needs a command of its own
	commands.sent.Store(0)
	name, answer := mongodb.NewID().String(), make(chan struct{})
	commands.hold.Store(&answer)
	ctx, leave := context.WithCancel(t.Context())
	var requests sync.WaitGroup
	requests.Go(func() { l.Allow(ctx, name, tenAnHour) })
	testenv.WaitFor(t, func() bool { return commands.sent.Load() == 1 })
	var second httpapi.RateResult
	requests.Go(func() { second = l.Allow(context.Background(), name, tenAnHour) })
	testenv.WaitFor(t, func() bool { return goroutinesIn("(*RateLimiter).join") >= 1 })
	leave()
	close(answer)
	requests.Wait()
	if n := commands.sent.Load(); n != 2 || second.Remaining != 9 {
		t.Errorf("%d commands, and the second request got %+v; want Redis to count it as the first", n, second)
	}
}

// A Redis that hangs delays one request. Later ones do not ask it, until it answers again.
func TestRateLimiter_AsksAHangingRedisOnce(t *testing.T) {
	t.Parallel()
	server := testenv.OwnRedis(t)
	var now atomic.Int64
	now.Store(mongodb.SystemTime().UnixNano())
	client, commands := clientOf(t, server.URL)
	l := httpapi.NewRateLimiter(client, func() time.Time { return time.Unix(0, now.Load()) }, slog.New(slog.DiscardHandler))
	allow := func(n int) {
		for range n {
			l.Allow(t.Context(), "name", tenAnHour)
		}
	}
	allow(1)
	server.Freeze()
	commands.sent.Store(0)
	allow(100)
	if n := commands.sent.Load(); n != 1 {
		t.Errorf("%d commands were sent to a Redis that hangs, want 1", n)
	}
	server.Wake()
	testenv.WaitFor(t, func() bool {
		now.Add(int64(time.Minute))
		before := commands.sent.Load()
		allow(3)
		return commands.sent.Load()-before >= 3
	})
}

// commandCounter counts the commands that a client sends. It can hold the next one back.
type commandCounter struct {
	sent atomic.Int64
	hold atomic.Pointer[chan struct{}]
}

func (c *commandCounter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *commandCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		if strings.HasPrefix(command.Name(), "eval") {
			c.sent.Add(1)
			if held := c.hold.Swap(nil); held != nil {
				<-*held
			}
		}
		return next(ctx, command)
	}
}

func (c *commandCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// isGoroutineIn reports whether a goroutine runs the function.
func isGoroutineIn(function string) bool { return goroutinesIn(function) > 0 }

// goroutinesIn counts the goroutines that run the function.
func goroutinesIn(function string) int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return strings.Count(string(stacks), function+"(")
}
