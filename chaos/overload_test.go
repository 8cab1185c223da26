package chaos_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// api starts an API on a database of its own, with its clients' transport.
func apiOf(t *testing.T, w *testenv.Env, clients int, env ...string) (*process, *caller) {
	t.Helper()
	at := address(t)
	p := start(t, "api", append([]string{"MONGODB_URI=" + w.URI, "MONGODB_DATABASE=" + w.DB.Name(), "HTTP_ADDR=" + at, "JOB_LEASES=none", "LOG_LEVEL=warn"}, env...)...)
	t.Cleanup(func() { p.end() })
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	t.Cleanup(transport.CloseIdleConnections)
	c := &caller{"http://" + at, &http.Client{Timeout: 30 * time.Second, Transport: transport}}
	await(t, c, p)
	return p, c
}

// memory is the most that a process had resident, in MiB.
func memory(t *testing.T, p *process) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(text), " kB"))
			if err != nil {
				t.Fatal(err)
			}
			return kib >> 10
		}
	}
	t.Fatal("there is no VmHWM")
	return 0
}

// load locks a seat per request, from so many clients and for a time, and counts
// the answers by status. Another status than these is a failure.
type load struct {
	granted, refused, turned atomic.Int64
	longest                  atomic.Int64 // ns, of an answer
}

func (l *load) run(t *testing.T, c *caller, sale, user string, clients int, lasts time.Duration) float64 {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), lasts)
	defer stop()
	start := time.Now()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for ctx.Err() == nil {
				sent := time.Now()
				status, header, raw, err := c.send(context.WithoutCancel(ctx), http.MethodPost, "/api/locks",
					map[string]any{"eventId": sale, "userId": user, "seats": 1, "idempotencyKey": ids.New().String()})
				switch {
				case err != nil:
					t.Errorf("not answered: %v", err)
					return
				case status == http.StatusCreated:
					l.granted.Add(1)
				case status == http.StatusConflict:
					l.refused.Add(1)
				case status == http.StatusServiceUnavailable && header.Get("Retry-After") != "":
					l.turned.Add(1)
					pause(ctx, 100*time.Millisecond) // as a client would that is told to come later
				default:
					t.Errorf("%d %s", status, raw)
					return
				}
				for took := time.Since(sent).Nanoseconds(); ; {
					longest := l.longest.Load()
					if took <= longest || l.longest.CompareAndSwap(longest, took) {
						break
					}
				}
			}
		})
	}
	all.Wait()
	return float64(l.granted.Load()) / time.Since(start).Seconds()
}

// Ten times the clients that it takes at a time come at once, some more than the
// requests that it works on: every request is answered, /livez all the while,
// memory stays bounded, and afterwards it is as before.
//
// It has the machine to itself: starved by other tests, it would be another load.
func TestOverload_ServesOnAndRecovers(t *testing.T) {
	w := testenv.New(t)
	const crowd = 6000 // 4,096 requests are worked on at a time
	p, c := apiOf(t, w, crowd)
	user := must(t, c, "/api/users", map[string]any{"name": "A", "email": "a@example.com"})
	sale := event(t, c, 10_000_000)
	var best, most, after load
	bestRate := best.run(t, c, sale, user, 256, 2*time.Second)

	ctx, stop := context.WithCancel(t.Context())
	alive := make(chan int)
	go func() {
		answered := 0
		for ctx.Err() == nil {
			fresh := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
			response, err := fresh.Get(c.base + "/livez")
			if err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("/livez: %v", err)
			} else {
				response.Body.Close() //nolint:errcheck // read only
				answered++
			}
			pause(ctx, 100*time.Millisecond)
		}
		alive <- answered
	}()
	mostRate := most.run(t, c, sale, user, crowd, 6*time.Second)
	stop()
	answered := <-alive
	afterRate := after.run(t, c, sale, user, 256, 2*time.Second)
	used := memory(t, p)
	t.Logf("256 clients: %.0f locks/s; %d clients: %.0f locks/s, %d turned away, the longest answer %v; then 256: %.0f/s; /livez answered %d times; at most %d MiB resident",
		bestRate, crowd, mostRate, most.turned.Load(), time.Duration(most.longest.Load()).Round(time.Millisecond), afterRate, answered, used)
	// How many are turned away depends on how fast the clients are; see httpapi's tests.
	if answered < 3 || most.granted.Load() < crowd/2 || after.turned.Load() > 0 {
		t.Error("it did not serve on, or did not recover")
	}
	if used > 1024 {
		t.Errorf("%d MiB resident", used)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// Clients that send a byte now and then, or never read what they asked for, don't
// keep others from being served, and are parted with.
func TestOverload_SlowClients(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	_, c := apiOf(t, w, 16)
	user := must(t, c, "/api/users", map[string]any{"name": "A", "email": "a@example.com"})
	sale := event(t, c, 1000)
	host := strings.TrimPrefix(c.base, "http://")
	const slow = 500
	var all sync.WaitGroup
	parted := atomic.Int64{}
	for i := range slow {
		all.Go(func() {
			conn, err := net.Dial("tcp", host)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close() //nolint:errcheck // the test is over
			if i%2 == 0 {
				fmt.Fprintf(conn, "POST /api/locks HTTP/1.1\r\nHost: %s\r\nX-Slow: ", host) //nolint:errcheck // it ends below
			} else { // the header is there, the body never comes
				fmt.Fprintf(conn, "POST /api/locks HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{", host) //nolint:errcheck // it ends below
			}
			go func() {
				for range 60 { // a byte each half second
					if _, err := conn.Write([]byte("a")); err != nil {
						return
					}
					pause(t.Context(), 500*time.Millisecond)
				}
			}()
			conn.SetReadDeadline(time.Now().Add(40 * time.Second)) //nolint:errcheck // it fails below
			reader := bufio.NewReader(conn)
			for {
				if _, err := reader.ReadByte(); err != nil {
					if timeout, ok := err.(net.Error); !ok || !timeout.Timeout() { //nolint:errorlint // as the reader returns it
						parted.Add(1)
					}
					return
				}
			}
		})
	}
	for n := range 50 {
		status, fields, err := c.call(t.Context(), "POST", "/api/locks", map[string]any{"eventId": sale, "userId": user, "seats": 1, "idempotencyKey": strconv.Itoa(n)})
		if err != nil || status != http.StatusCreated {
			t.Errorf("among slow clients: %d %v %v", status, fields, err)
		}
		pause(t.Context(), 50*time.Millisecond)
	}
	all.Wait()
	if parted.Load() != slow {
		t.Errorf("%d of %d slow clients were parted with", parted.Load(), slow)
	}
}

// A process that may open few files keeps some for MongoDB: connections beyond its
// number wait, those that it has are served, and so is METRICS_ADDR.
func TestOverload_MoreConnectionsThanFiles(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	dir, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	at, metrics := address(t), address(t)
	p := &process{cmd: exec.Command("/bin/sh", "-c", `ulimit -n 200 && exec "$0"`, filepath.Join(dir, "api")), log: &output{}, done: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), "MONGODB_URI="+w.URI, "MONGODB_DATABASE="+w.DB.Name(), "HTTP_ADDR="+at, "METRICS_ADDR="+metrics, "JOB_LEASES=none", "LOG_LEVEL=warn")
	p.cmd.Stderr = p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() { p.end() })
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	c := &caller{"http://" + at, &http.Client{Timeout: 30 * time.Second, Transport: transport}}
	await(t, c, p)
	user, sale := must(t, c, "/api/users", map[string]any{"name": "A", "email": "a@example.com"}), event(t, c, 1000)

	var idle []net.Conn
	for range 200 {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, conn)
	}
	ops := &caller{"http://" + metrics, c.http}
	for range 10 {
		if status, _, err := ops.call(t.Context(), "GET", "/readyz", nil); err != nil || status != http.StatusOK {
			t.Errorf("/readyz at METRICS_ADDR: %d %v", status, err)
		}
		pause(t.Context(), 100*time.Millisecond)
	}
	for _, who := range []string{"who has a connection", "who comes anew"} {
		status, fields, err := c.call(t.Context(), "POST", "/api/locks", map[string]any{"eventId": sale, "userId": user, "seats": 1})
		if err != nil || status != http.StatusCreated {
			t.Errorf("among idle connections, %s: %d %v %v", who, status, fields, err)
		}
		transport.CloseIdleConnections() // who says nothing is parted with after 10 s; then everybody comes in
	}
	for _, conn := range idle {
		conn.Close() //nolint:errcheck // the test is over
	}
	if strings.Contains(p.log.String(), "too many open files") {
		t.Errorf("it ran out of files: %s", p.log)
	}
}
