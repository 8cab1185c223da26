package testenv

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// memoryVariable is "off" if committers must remember nothing between batches.
const memoryVariable = "HOLDFAST_TEST_MEMORY"

// uriVariable names the MongoDB that all tests share.
const uriVariable = "HOLDFAST_TEST_MONGODB_URI"

// sharedMongod is started if uriVariable is not set.
var sharedMongod = shared[*devserver.Mongod]{start: func() (*devserver.Mongod, error) {
	return devserver.StartMongod(context.Background(), devserver.MongodOptions{Test: true, Progress: os.Stderr})
}}

// shared is a server of all tests of a package, which the first one of them that asks for it starts.
type shared[Server interface{ Stop() }] struct {
	start func() (Server, error)
	stop  func() // nil if it was not started

	once   sync.Once
	server Server
	err    error
}

func (s *shared[Server]) get(t testing.TB) Server {
	t.Helper()
	s.once.Do(func() {
		if s.server, s.err = s.start(); s.err == nil {
			s.stop = s.server.Stop
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

// Main runs a package's tests and stops the servers that they started. It fails
// if a goroutine is left.
func Main(m *testing.M) {
	status := m.Run()
	if err := dropPool(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = max(status, 1)
	}
	for _, stop := range []func(){sharedMongod.stop, sharedRedis.stop} {
		if stop != nil {
			stop()
		}
	}
	if err := goleak.Find(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// requireServers fails a test that asks for a server in the fast tier.
func requireServers(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Fatal("this test needs a server, which go test -short does not start: use scripts/test, or scripts/test -short for the others")
	}
}

// URI is the connection string of the MongoDB that all tests share.
func URI(t testing.TB) string {
	t.Helper()
	requireServers(t)
	if uri := os.Getenv(uriVariable); uri != "" {
		return uri
	}
	return sharedMongod.get(t).URI
}

// OwnServer starts a MongoDB for one test and returns its connection string. A
// server has one fail point of a kind, so a test that sets one needs its own.
func OwnServer(t testing.TB) string {
	t.Helper()
	return OwnMongod(t).URI
}

// OwnMongod starts a MongoDB that the test may freeze.
func OwnMongod(t testing.TB) *devserver.Mongod {
	t.Helper()
	requireServers(t)
	m := must(devserver.StartMongod(t.Context(), devserver.MongodOptions{Test: true, Progress: os.Stderr}))(t)
	t.Cleanup(func() {
		m.Wake()
		m.Stop()
	})
	return m
}

// ReservePort reserves a port for a process of one test.
func ReservePort(t testing.TB) *devserver.Port {
	t.Helper()
	port := must(devserver.ReservePort())(t)
	CloseAfter(t, port)
	return port
}

// CloseAfter closes c after the test, and fails the test if that fails.
func CloseAfter(t testing.TB, c io.Closer) {
	t.Helper()
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
