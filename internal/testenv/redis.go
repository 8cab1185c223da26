package testenv

import (
	"context"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// redisVariable names the Redis that tests share.
const redisVariable = "HOLDFAST_TEST_REDIS_URL"

var ownRedis struct {
	once   sync.Once
	server *devserver.Redis
	err    error
}

// RedisURL connects to the tests' Redis. Its keys are everybody's: use a
// database number, or names, of the test's own.
func RedisURL(t testing.TB) string {
	t.Helper()
	if url := os.Getenv(redisVariable); url != "" {
		return url
	}
	ownRedis.once.Do(func() {
		ownRedis.server, ownRedis.err = devserver.StartRedis(context.Background(), devserver.RedisOptions{Progress: os.Stderr})
	})
	if ownRedis.err != nil {
		t.Fatal(ownRedis.err)
	}
	return ownRedis.server.URL
}

// Redis is a server of one test's own, for faults.
type Redis struct {
	t    testing.TB
	Port *devserver.Port
	*devserver.Redis
}

// OwnRedis starts a Redis for one test.
func OwnRedis(t testing.TB) *Redis {
	t.Helper()
	r := &Redis{t: t, Port: KeepPort(t)}
	r.Restart()
	t.Cleanup(func() {
		r.Wake()
		r.Stop()
	})
	return r
}

// Restart starts a stopped server at the same address; its keys are gone.
func (r *Redis) Restart() {
	r.t.Helper()
	server, err := devserver.StartRedis(context.WithoutCancel(r.t.Context()), devserver.RedisOptions{Port: r.Port, Progress: os.Stderr})
	if err != nil {
		r.t.Fatal(err)
	}
	r.Redis = server
}

// Freeze stops the server's clock and all its work; Wake lets it go on.
func (r *Redis) Freeze() { signal(r.Process, syscall.SIGSTOP) }

// Wake ends Freeze.
func (r *Redis) Wake() { signal(r.Process, syscall.SIGCONT) }

// RedisClient connects to a Redis and is closed with the test.
func RedisClient(t testing.TB, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(o)
	t.Cleanup(func() { client.Close() }) //nolint:errcheck // the test is over
	return client
}
