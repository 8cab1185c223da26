package testenv

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// memoryVariable is "off" if committers must remember nothing between batches.
const memoryVariable = "HOLDFAST_TEST_MEMORY"

// uriVariable names the MongoDB that all tests share.
const uriVariable = "HOLDFAST_TEST_MONGODB_URI"

// sharedMongod is started if uriVariable is not set.
var sharedMongod struct {
	once   sync.Once
	server *devserver.Mongod
	err    error
}

// Main runs a package's tests and stops the servers that they started. It fails
// if a goroutine is left.
func Main(m *testing.M) {
	status := m.Run()
	if err := dropPool(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = max(status, 1)
	}
	if sharedMongod.server != nil {
		sharedMongod.server.Stop()
	}
	if sharedRedis.server != nil {
		sharedRedis.server.Stop()
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
	sharedMongod.once.Do(func() {
		options := devserver.MongodOptions{Test: true, Progress: os.Stderr}
		sharedMongod.server, sharedMongod.err = devserver.StartMongod(context.Background(), options)
	})
	if sharedMongod.err != nil {
		t.Fatal(sharedMongod.err)
	}
	return sharedMongod.server.URI
}

// OwnServer starts a MongoDB for one test and returns its connection string. A
// server has one fail point of a kind, so a test that sets one needs its own.
func OwnServer(t testing.TB) string {
	t.Helper()
	return OwnMongod(t).URI
}

// Mongod is a MongoDB of one test.
type Mongod struct{ *devserver.Mongod }

// OwnMongod starts a MongoDB that the test may freeze.
func OwnMongod(t testing.TB) *Mongod {
	t.Helper()
	requireServers(t)
	server, err := devserver.StartMongod(t.Context(), devserver.MongodOptions{Test: true, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	m := &Mongod{server}
	t.Cleanup(func() {
		m.Wake()
		m.Stop()
	})
	return m
}

// Freeze pauses the server's process until Wake.
func (m *Mongod) Freeze() { m.Signal(syscall.SIGSTOP) }

// Wake ends Freeze.
func (m *Mongod) Wake() { m.Signal(syscall.SIGCONT) }

// ReservePort reserves a port for a process of one test.
func ReservePort(t testing.TB) *devserver.Port {
	t.Helper()
	port, err := devserver.ReservePort()
	if err != nil {
		t.Fatal(err)
	}
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
