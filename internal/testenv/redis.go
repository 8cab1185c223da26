package testenv

import (
	"context"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// redisVariable names the Redis that all tests share.
const redisVariable = "HOLDFAST_TEST_REDIS_URL"

// sharedRedis is started if redisVariable is not set.
var sharedRedis = shared[*devserver.Redis]{start: func() (*devserver.Redis, error) {
	return devserver.StartRedis(context.Background(), devserver.RedisOptions{Progress: os.Stderr})
}}

// RedisURL is the address of the Redis that all tests share. Each test uses its own
// database number or key names.
func RedisURL(t testing.TB) string {
	t.Helper()
	requireServers(t)
	if url := os.Getenv(redisVariable); url != "" {
		return url
	}
	return sharedRedis.get(t).URL
}

// Redis is a Redis of one test, for faults. Restart starts it again at the same address, without its keys.
type Redis struct {
	*devserver.Server

	URL  string
	Port *devserver.Port
	t    testing.TB
}

// OwnRedis starts a Redis for one test.
func OwnRedis(t testing.TB) *Redis {
	t.Helper()
	requireServers(t)
	r := &Redis{t: t, Port: ReservePort(t)}
	r.Server = must(devserver.NewServer(func() (*devserver.Process, error) {
		server, err := devserver.StartRedis(context.WithoutCancel(t.Context()), devserver.RedisOptions{Port: r.Port, Progress: os.Stderr})
		if err != nil {
			return nil, err
		}
		r.URL = server.URL // of its port, which it keeps
		return server.Process, nil
	}))(t)
	t.Cleanup(r.Stop)
	return r
}

// Restart starts a stopped server again, or fails the test.
func (r *Redis) Restart() {
	r.t.Helper()
	if err := r.Server.Restart(); err != nil {
		r.t.Fatal(err)
	}
}

// RedisClient connects to a Redis. The client is closed after the test.
func RedisClient(t testing.TB, url string) *redis.Client {
	t.Helper()
	client := redis.NewClient(must(redis.ParseURL(url))(t))
	CloseAfter(t, client)
	return client
}
