package chaos_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Clients that send a byte now and then are disconnected, and do not keep other clients from
// being served.
func TestOverload_SlowClientsAreDisconnected(t *testing.T) {
	t.Parallel()
	const slow = 500
	env := testenv.New(t)
	_, c := startAPI(t, env, 16)
	user, event := createUser(t, c), createEvent(t, c, 1000)
	host := strings.TrimPrefix(c.base, "http://")
	endless := []string{
		// a header that never ends
		fmt.Sprintf("POST /api/locks HTTP/1.1\r\nHost: %s\r\nX-Slow: ", host),
		// a body that never comes
		fmt.Sprintf("POST /api/locks HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{", host),
	}
	var all sync.WaitGroup
	var disconnected atomic.Int64
	for i := range slow {
		all.Go(func() {
			if sendSlowly(t, host, endless[i%2]) {
				disconnected.Add(1)
			}
		})
	}
	for n := range 50 {
		status, fields, err := c.call(t.Context(), "POST", "/api/locks",
			map[string]any{"eventId": event, "userId": user, "seats": 1, "idempotencyKey": strconv.Itoa(n)})
		if err != nil || status != http.StatusCreated {
			t.Errorf("among slow clients: status %d %v %v", status, fields, err)
		}
		delay(t.Context(), 50*time.Millisecond)
	}
	all.Wait()
	if disconnected.Load() != slow {
		t.Errorf("%d of %d slow clients were disconnected", disconnected.Load(), slow)
	}
}

// sendSlowly sends the beginning of a request, and then a byte each half second. It reports
// whether the server closed the connection within 40 s.
func sendSlowly(t *testing.T, host, beginning string) bool {
	t.Helper()
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Error(err)
		return false
	}
	defer closeQuietly(conn)
	_, _ = conn.Write([]byte(beginning)) // If it fails, the read below fails too.
	go func() {
		for range 60 {
			if _, err := conn.Write([]byte("a")); err != nil {
				return
			}
			delay(t.Context(), 500*time.Millisecond)
		}
	}()
	if err := conn.SetReadDeadline(time.Now().Add(40 * time.Second)); err != nil {
		t.Error(err)
		return false
	}
	for reader := bufio.NewReader(conn); err == nil; {
		_, err = reader.ReadByte()
	}
	var timeout net.Error
	return !errors.As(err, &timeout) || !timeout.Timeout()
}

// A process that may open few files keeps some of them for MongoDB: connections beyond its
// limit wait, open ones are served, and so is METRICS_ADDR.
func TestOverload_MoreConnectionsThanFilesAreServed(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	dir, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	addr, metrics := address(t), address(t)
	p := startCommand(t, exec.Command("/bin/sh", "-c", `ulimit -n 200 && exec "$0"`, filepath.Join(dir, "api")),
		append(apiSettings(env, addr), "METRICS_ADDR="+metrics)...)
	t.Cleanup(p.kill)
	c := newAPICaller(t, addr, 16, 30*time.Second)
	awaitReady(t, c, p)
	user, event := createUser(t, c), createEvent(t, c, 1000)

	var idle []net.Conn
	for range 200 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, conn)
	}
	operator := &apiCaller{base: "http://" + metrics, http: c.http}
	for range 10 {
		if status, _, err := operator.call(t.Context(), "GET", "/readyz", nil); err != nil || status != http.StatusOK {
			t.Errorf("/readyz at METRICS_ADDR: status %d %v", status, err)
		}
		delay(t.Context(), 100*time.Millisecond)
	}
	for _, connection := range []string{"open connection", "new connection"} {
		status, fields, err := c.call(t.Context(), "POST", "/api/locks", map[string]any{"eventId": event, "userId": user, "seats": 1})
		if err != nil || status != http.StatusCreated {
			t.Errorf("among idle connections, %s: status %d %v %v", connection, status, fields, err)
		}
		// The next request needs a new connection. It is accepted when the idle ones have been
		// closed, after 10 s.
		c.http.CloseIdleConnections()
	}
	for _, conn := range idle {
		closeQuietly(conn)
	}
	if strings.Contains(p.log.String(), "too many open files") {
		t.Errorf("the process had too many open files: %s", p.log)
	}
}
