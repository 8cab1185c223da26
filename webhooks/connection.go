package webhooks

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// connection to a target.
type connection struct {
	net.Conn // perhaps of TLS

	plain  net.Conn // below it
	forget func() bool
	aged   *time.Timer // of one that is kept
}

// Close closes the connection.
func (c *connection) Close() error {
	c.forget()
	return c.Conn.Close()
}

// isQuiet reports whether a kept connection is open and has nothing to read. What came since the last answer is no
// answer to the next request: servers say there that they close, some of them with a status of their own.
func (c *connection) isQuiet() bool {
	socket, ok := c.plain.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	var one [1]byte
	isEmpty := false
	err = raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
		isEmpty = errors.Is(err, syscall.EAGAIN)
		return true
	})
	if err != nil || !isEmpty || c.Conn == c.plain {
		return err == nil && isEmpty
	}
	// TLS may have read more than the answer. With a deadline that has passed it reads nothing else.
	if c.SetReadDeadline(time.Unix(1, 0)) != nil {
		return false
	}
	n, err := c.Read(one[:])
	return n == 0 && isTimeout(err)
}
