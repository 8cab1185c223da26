package devserver_test

import (
	"errors"
	"net"
	"runtime"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A process that names a reserved port can listen there repeatedly. Other processes do
// not get it.
func TestReservePort_IsOnlyForProcessesThatNameIt(t *testing.T) {
	t.Parallel()
	port, err := devserver.ReservePort()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		listenAt(t, port.Addr())
	}
	if runtime.GOOS == "linux" {
		if l, err := listenConfig(0).Listen(t.Context(), "tcp", port.Addr()); err == nil {
			t.Errorf("the port was not reserved: %v", l.Close())
		}
	}
	if err := port.Close(); err != nil {
		t.Fatal(err)
	}
}

// A port is free after Close. Another process may get it at once, so several ports are tried.
func TestReservePort_IsFreeAfterClose(t *testing.T) {
	t.Parallel()
	const ports = 20
	for range ports {
		port, err := devserver.ReservePort()
		if err != nil {
			t.Fatal(err)
		}
		if err := port.Close(); err != nil {
			t.Fatal(err)
		}
		if l, err := listenConfig(0).Listen(t.Context(), "tcp", port.Addr()); err == nil {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			return
		}
	}
	t.Errorf("none of %d ports is free after Close", ports)
}

// listenConfig sets SO_REUSEADDR to reuse. With 0 it gets no port to which a socket is
// bound; the kernel chooses free ports in the same way.
func listenConfig(reuse int) *net.ListenConfig {
	return &net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if failed := c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, reuse)
		}); failed != nil {
			return failed
		}
		return err
	}}
}

// listenAt waits while the port is in use: a process that another test starts has the old listener until it executes its
// program.
func listenAt(t *testing.T, addr string) {
	t.Helper()
	var l net.Listener
	testenv.WaitFor(t, func() bool {
		var err error
		if l, err = listenConfig(1).Listen(t.Context(), "tcp", addr); err != nil && !errors.Is(err, syscall.EADDRINUSE) {
			t.Error(err)
		}
		return l != nil || t.Failed()
	})
	if l == nil {
		return
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
