package devserver

import (
	"errors"
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// Port is a port of loopback that is reserved from ReservePort until Close. A
// process that knows its number may listen there, stop and listen again. Other
// processes do not get the port.
//
// It relies on Linux (socket(7), ip(7)): the kernel gives a port to which a
// socket is bound neither to a listener nor to a connection that asks for any
// port. A process that names the port may listen there if both sockets set
// SO_REUSEADDR, as Go, mongod and redis-server do, and only one of them listens.
// On other systems it is a port that was free when ReservePort was called.
type Port struct {
	Number int
	socket *os.File // nil if nothing is reserved
}

// ReservePort reserves a free port.
func ReservePort() (*Port, error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	p := &Port{socket: os.NewFile(uintptr(fd), "port")}
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

// Addr is the address to listen on.
func (p *Port) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Number)) }

// Close ends the reservation. A process that listens there is not affected.
// Close may be called again.
func (p *Port) Close() error {
	if p.socket == nil {
		return nil
	}
	socket := p.socket
	p.socket = nil
	return socket.Close()
}
