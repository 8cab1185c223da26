package devserver_test

import (
	"net"
	"runtime"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// A kept port is for who names it, again and again, and taken for all others.
func TestKeepPort(t *testing.T) {
	t.Parallel()
	port, err := devserver.KeepPort()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		listenAt(t, port.Addr(), 1)
	}
	if runtime.GOOS == "linux" {
		if l, err := reusing(0).Listen(t.Context(), "tcp", port.Addr()); err == nil {
			t.Errorf("the port was free: %v", l.Close())
		}
	}
	if err := port.Close(); err != nil {
		t.Fatal(err)
	}
	listenAt(t, port.Addr(), 0)
}

// reusing listens with SO_REUSEADDR as given; without, as the kernel does
// when it looks for a port to give away, it takes none that a socket is bound to.
func reusing(reuse int) *net.ListenConfig {
	return &net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if failed := c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, reuse)
		}); failed != nil {
			return failed
		}
		return err
	}}
}

func listenAt(t *testing.T, addr string, reuse int) {
	t.Helper()
	l, err := reusing(reuse).Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
