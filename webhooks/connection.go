package webhooks

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// connection to a target.
type connection struct {
	net.Conn // perhaps of TLS

	forget func() bool
	aged   *time.Timer // of one that is kept
	socket syscall.RawConn
	// peek looks at the socket, and says in isEmpty whether it is open and has nothing to read.
	peek    func(fd uintptr)
	isEmpty bool
	isTLS   bool
}

// newConnection returns a connection that ends with the context.
func newConnection(ctx context.Context, plain net.Conn) (*connection, error) {
	c := &connection{Conn: plain, forget: context.AfterFunc(ctx, func() { _ = plain.Close() })}
	socket, ok := plain.(syscall.Conn)
	if !ok {
		return nil, errors.Join(errNoSocket, c.Close())
	}
	var err error
	if c.socket, err = socket.SyscallConn(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	var one [1]byte
	c.peek = func(fd uintptr) {
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
		c.isEmpty = errors.Is(err, syscall.EAGAIN)
	}
	return c, nil
}

var errNoSocket = errors.New("the connection has no socket")

// Close closes the connection.
func (c *connection) Close() error {
	c.forget()
	return c.Conn.Close()
}

// isQuiet reports whether a kept connection is open and has nothing to read. What came since the last answer is no
// answer to the next request: servers say there that they close, some of them with a status of their own.
func (c *connection) isQuiet() bool {
	c.isEmpty = false
	if c.socket.Control(c.peek) != nil || !c.isEmpty {
		return false
	}
	if !c.isTLS {
		return true
	}
	// TLS may have read more than the answer. With a deadline that has passed it reads nothing else.
	if c.SetReadDeadline(time.Unix(1, 0)) != nil {
		return false
	}
	var one [1]byte
	n, err := c.Read(one[:])
	return n == 0 && isTimeout(err)
}
