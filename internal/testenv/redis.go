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

// redisVariable names the Redis that all tests share.
const redisVariable = "HOLDFAST_TEST_REDIS_URL"

// sharedRedis is started if redisVariable is not set.
var sharedRedis struct {
	once   sync.Once
	server *devserver.Redis
	err    error
}

// RedisURL is the address of the Redis that all tests share. Each test uses its own
// database number or key names.
func RedisURL(t testing.TB) string {
	t.Helper()
	requireServers(t)
	if url := os.Getenv(redisVariable); url != "" {
		return url
	}
	sharedRedis.once.Do(func() {
		sharedRedis.server, sharedRedis.err = devserver.StartRedis(context.Background(), devserver.RedisOptions{Progress: os.Stderr})
	})
	if sharedRedis.err != nil {
		t.Fatal(sharedRedis.err)
	}
	return sharedRedis.server.URL
}

// Redis is a Redis of one test, for faults. Its methods may be called at the same time: one
// fault may flush it while another one restarts it.
type Redis struct {
	URL  string
	Port *devserver.Port
	t    testing.TB

	mu     sync.Mutex
	server *devserver.Redis
}

// OwnRedis starts a Redis for one test.
func OwnRedis(t testing.TB) *Redis {
	t.Helper()
	requireServers(t)
	r := &Redis{t: t, Port: ReservePort(t)}
	r.Restart()
	r.URL = r.server.URL // of its port, which it keeps
	t.Cleanup(func() {
		r.Wake()
		r.Stop()
	})
	return r
}

// Restart starts a stopped server again at the same address, without its keys.
func (r *Redis) Restart() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	server, err := devserver.StartRedis(context.WithoutCancel(r.t.Context()), devserver.RedisOptions{Port: r.Port, Progress: os.Stderr})
	if err != nil {
		r.t.Fatal(err)
	}
	r.server = server
}

// Kill kills the server, so that it cannot clean up.
func (r *Redis) Kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server.Kill()
}

// Stop ends the server.
func (r *Redis) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server.Stop()
}

// Signal sends a signal to the server. It does nothing if the server has ended.
func (r *Redis) Signal(s syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server.Signal(s)
}

// Freeze pauses the server's process until Wake.
func (r *Redis) Freeze() { r.Signal(syscall.SIGSTOP) }

// Wake ends Freeze.
func (r *Redis) Wake() { r.Signal(syscall.SIGCONT) }

// RedisClient connects to a Redis. The client is closed after the test.
func RedisClient(t testing.TB, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(o)
	CloseAfter(t, client)
	return client
}
