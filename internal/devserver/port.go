package devserver

import (
	"errors"
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// Port is a port of loopback that is kept for whoever is told its number, from
// before he listens there until Close, and between two times that he does:
// Linux gives no port away, to a listener or to a connection, that a socket is
// bound to, and lets one that names it listen there, if both say SO_REUSEADDR,
// as Go, mongod and redis-server do, and only one of them listens (socket(7),
// ip(7)). Elsewhere it is a port that was free a moment ago.
type Port struct {
	Number int
	socket *os.File
}

// KeepPort keeps a port that is free.
func KeepPort() (*Port, error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	p := &Port{socket: os.NewFile(uintptr(fd), "port")} //nolint:gosec // a descriptor is not negative
	if err := p.bind(fd); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if runtime.GOOS != "linux" {
		return p, p.Close()
	}
	return p, nil
}

func (p *Port) bind(fd int) error {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return os.NewSyscallError("bind", err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	p.Number = name.(*syscall.SockaddrInet4).Port
	return nil
}

// Addr is where to listen.
func (p *Port) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Number)) }

// Close lets the port go; who listens there goes on.
func (p *Port) Close() error { return p.socket.Close() }
