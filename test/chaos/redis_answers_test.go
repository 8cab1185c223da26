package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// redisRefusal is a state in which Redis answers, but with an error.
type redisRefusal struct {
	name, answer string
	begin        func(context.Context, *redis.Client) error
	end          func(context.Context, *redis.Client) error
}

func configure(parameter, value string) func(context.Context, *redis.Client) error {
	return func(ctx context.Context, r *redis.Client) error { return r.ConfigSet(ctx, parameter, value).Err() }
}

func replicaOf(host, port string) func(context.Context, *redis.Client) error {
	return func(ctx context.Context, r *redis.Client) error { return r.ReplicaOf(ctx, host, port).Err() }
}

// redisRefusals are states of a real Redis.
var redisRefusals = []redisRefusal{
	{"read-only", "READONLY", replicaOf("127.0.0.1", "1"), replicaOf("NO", "ONE")},
	{"out of memory", "OOM", configure("maxmemory", "1"), configure("maxmemory", "0")},
	{"loading", "LOADING", loadSlowly, awaitLoaded},
}

// loadSlowly makes Redis load its data again for about four seconds, as it does for longer at the
// start of a large one.
func loadSlowly(ctx context.Context, r *redis.Client) error {
	commands := [][]any{
		{"CONFIG", "SET", "rdbcompression", "no"}, // It answers clients after every 2 MB that it has loaded.
		{"DEBUG", "POPULATE", 1000, "filler", 50_000},
		{"CONFIG", "SET", "key-load-delay", 4000}, // microseconds
	}
	for _, c := range commands {
		if err := r.Do(ctx, c...).Err(); err != nil {
			return fmt.Errorf("%v: %w", c, err)
		}
	}
	go func() { // It is answered at the end.
		_ = redis.NewClient(&redis.Options{Addr: r.Options().Addr, ReadTimeout: time.Minute, MaxRetries: -1}).Do(ctx, "DEBUG", "RELOAD").Err()
	}()
	return nil
}

func awaitLoaded(ctx context.Context, r *redis.Client) error {
	var err error
	if poll(time.Minute, 50*time.Millisecond, func() bool { err = configure("key-load-delay", "0")(ctx, r); return err == nil }) {
		return nil
	}
	return err
}

// refuses reports whether Redis refuses to write, with the answer of this state.
func (s redisRefusal) refuses(ctx context.Context, r *redis.Client) bool {
	err := r.Set(ctx, "any", "value", time.Second).Err()
	return err != nil && strings.HasPrefix(err.Error(), s.answer)
}

// Redis answers, but refuses to write: a fail-closed worker starts no run, and goes on by itself
// when Redis writes again. Meanwhile /readyz says what Redis answers.
func TestWorkers_WaitWhileRedisRefuses(t *testing.T) {
	t.Parallel()
	for _, state := range redisRefusals {
		t.Run(state.name, func(t *testing.T) {
			t.Parallel()
			ws := startWorkers(t, jobs.StoreRedis, 1)
			r := testenv.RedisClient(t, ws.redisURL)
			ws.awaitCompletedRuns("before")
			if err := state.begin(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if !poll(10*time.Second, 10*time.Millisecond, func() bool { return state.refuses(t.Context(), r) }) {
				t.Fatalf("Redis does not answer %s", state.answer)
			}
			if state.answer != "LOADING" { // It ends by itself.
				does := "refuses (" + state.answer + ")"
				ws.awaitReadiness(readiness{status: "degraded", redis: does, leases: "waiting: Redis " + does})
			}
			if state.answer != "OOM" { // A full Redis still renews the leader's lease.
				ws.awaitMetric("holdfast_leader 0")
			}
			before := len(ws.findRuns(nil))
			delay(context.Background(), workerTickInterval+200*time.Millisecond) // Nothing signals that no run starts.
			if n := len(ws.findRuns(nil)); n != before && state.refuses(t.Context(), r) {
				t.Errorf("%d runs began while Redis refused", n-before)
			}
			if err := state.end(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			ws.awaitCompletedRuns("after")
			ws.awaitMetric("holdfast_leader 1")
			ws.awaitReadiness(readiness{status: "ok", redis: "ok", leases: "ok: redis"})
			ws.stop()
			ws.checkNoLeases()
		})
	}
}

// refuseByRedis makes Redis refuse for some seconds.
func refuseByRedis(state redisRefusal) func(*cluster, *rand.Rand) {
	return func(c *cluster, rng *rand.Rand) {
		r := testenv.RedisClient(c.t, c.redis.URL)
		ctx := context.Background()
		if err := state.begin(ctx, r); err != nil {
			c.t.Logf("Redis %s: %v", state.name, err) // Another fault has stopped it.
			return
		}
		delay(ctx, randomMillis(rng, 1000, 3000))
		ended := poll(time.Minute, 200*time.Millisecond, func() bool { return state.end(ctx, r) == nil })
		if !ended {
			c.t.Errorf("Redis is still %s", state.name)
		}
	}
}
