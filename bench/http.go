package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/devserver"
)

func hotEventHTTP(s settings) (rows []*result) {
	for _, clients := range []int{1, 8, 64, 256} {
		for _, name := range []string{engineName, transactionName, mutexName} {
			rows = append(rows, closedHTTP(s, httpRow{variant: name, processes: 1, seats: ampleSeats}, clients))
		}
	}
	return rows
}

func severalProcesses(s settings) (rows []*result) {
	for processes := 1; processes <= 3; processes++ {
		row := httpRow{variant: engineName, load: fmt.Sprintf("%d processes", processes), processes: processes, seats: ampleSeats}
		rows = append(rows, closedHTTP(s, row, 256))
	}
	return rows
}

func soldOutHTTP(s settings) []*result {
	const clients = 256
	selling := closedHTTP(s, httpRow{variant: engineName, processes: 1, seats: ampleSeats}, clients)
	selling.Variant = "engine, with seats"
	return []*result{
		closedHTTP(s, httpRow{variant: engineName, processes: 1, seats: 1}, clients),
		closedHTTP(s, httpRow{variant: keylessName, processes: 1, seats: 1}, clients),
		closedHTTP(s, httpRow{variant: emptyName, processes: 1, seats: ampleSeats}, clients),
		selling,
	}
}

// httpRow is a row through HTTP.
type httpRow struct {
	variant   string
	load      string
	processes int
	seats     int64
	run       httpLoad
	beside    besideLoad // nil: nothing
}

// besideLoad starts what goes on beside a load. What it returns ends that after the load, and may note something.
type besideLoad func(ctx context.Context, e *env) (end func(m *measurement) error, err error)

type httpLoad func(context.Context, []*server, holdfast.ID, holdfast.User) (measurement, error)

// closedHTTP measures a variant under a closed loop of clients.
func closedHTTP(s settings, row httpRow, clients int) *result {
	if row.load == "" {
		row.load = clientsLoad(clients)
	}
	row.run = func(ctx context.Context, servers []*server, event holdfast.ID, user holdfast.User) (measurement, error) {
		key := requestKey
		if row.variant == keylessName {
			key = func(int, int) string { return "" }
		}
		return throughServers(ctx, s, servers, clients, func(_ context.Context, to serverConn, client, n int) (bool, error) {
			return to.postLock(lockBody(event, user.ID, key(client, n)))
		})
	}
	return overHTTP(s, row)
}

// overHTTP measures a variant behind its own server processes.
func overHTTP(s settings, row httpRow) *result {
	return &result{Variant: row.variant, Load: row.load, measure: func(ctx context.Context) (measurement, error) {
		e, err := newEnv(ctx, s.mongoURI)
		if err != nil {
			return measurement{}, err
		}
		event, err := e.createEvent(ctx, row.seats)
		if err != nil {
			return measurement{}, err
		}
		user, err := e.Users.CreateUser(ctx, "Ada", "ada@example.com")
		if err != nil {
			return measurement{}, err
		}
		servers := make([]*server, row.processes)
		for i := range servers {
			config := serverConfig{binDir: s.binDir, mongoURI: s.mongoURI, database: e.DB.Name()}
			if servers[i], err = startServer(ctx, row.variant, config); err != nil {
				return measurement{}, err
			}
			defer servers[i].Stop()
		}
		end := func(*measurement) error { return nil }
		if row.beside != nil {
			if end, err = row.beside(ctx, e); err != nil {
				return measurement{}, err
			}
		}
		m, err := runOn(ctx, servers, func(ctx context.Context) (measurement, error) { return row.run(ctx, servers, event, user) })
		err = errors.Join(err, end(&m))
		if err == nil && row.variant != emptyName {
			for _, server := range servers {
				server.Stop() // it completes the requests in flight first
			}
			err = e.check(ctx, expectation{seats: int64(m.Granted), unknown: int64(m.unknown), counters: true, locks: true})
		}
		if err != nil {
			return m, err
		}
		return m, e.drop(ctx)
	}}
}

// runOn runs a load, and notes how much processor time the servers needed for it.
func runOn(ctx context.Context, servers []*server, load func(context.Context) (measurement, error)) (measurement, error) {
	before, err := processorTime(servers)
	if err != nil {
		return measurement{}, err
	}
	m, err := load(ctx)
	if err != nil {
		return m, err
	}
	after, err := processorTime(servers)
	m.processorTime = after - before
	return m, err
}

// throughServers lets clients lock seats, each through one of the servers.
// With several servers, it notes how fairly they share the event.
func throughServers(
	ctx context.Context, s settings, servers []*server, clients int,
	do func(ctx context.Context, to serverConn, client, n int) (granted bool, err error),
) (measurement, error) {
	granted := make([]atomic.Int64, len(servers))
	connections := make([]serverConn, len(servers))
	for i, server := range servers {
		connections[i] = serverConn{&fasthttp.HostClient{
			Addr: server.address, MaxConns: clients, ReadTimeout: time.Minute, DisableHeaderNamesNormalizing: true,
		}}
		defer connections[i].CloseIdleConnections()
	}
	m, err := closedLoop(ctx, clients, s.duration, func(ctx context.Context, client, n int) (bool, error) {
		i := client % len(servers)
		ok, err := do(ctx, connections[i], client, n)
		if ok {
			granted[i].Add(1)
		}
		return ok, err
	})
	if len(servers) > 1 {
		counts := make([]int64, len(servers))
		for i := range granted {
			counts[i] = granted[i].Load()
		}
		m.note = fmt.Sprintf("slowest process %.2f of the fastest", float64(slices.Min(counts))/float64(slices.Max(counts)))
	}
	return m, err
}

// serverConn is the connections to a server.
type serverConn struct{ *fasthttp.HostClient }

// lockBody is the body of a request for one seat; key may be empty.
func lockBody(event, user holdfast.ID, key string) []byte {
	if key == "" {
		return fmt.Appendf(nil, `{"eventId":"%s","userId":"%s","seats":1}`, event, user)
	}
	return fmt.Appendf(nil, `{"eventId":"%s","userId":"%s","seats":1,"idempotencyKey":"%s"}`, event, user, key)
}

func (c serverConn) postLock(body []byte) (granted bool, err error) {
	return c.postLockTo("/api/locks", body)
}

func (c serverConn) postLockTo(path string, body []byte) (granted bool, err error) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.Header.SetMethod(http.MethodPost)
	request.SetRequestURI("http://" + c.Addr + path)
	request.Header.SetContentType("application/json")
	request.SetBodyRaw(body)
	if err := c.Do(request, response); err != nil {
		return false, err
	}
	switch response.StatusCode() {
	case http.StatusCreated:
		return true, nil
	case http.StatusConflict:
		return false, nil
	default:
		return false, fmt.Errorf("%d %s", response.StatusCode(), response.Body())
	}
}

// server is a process that serves POST /api/locks.
type server struct {
	*devserver.Process
	address string
}

// serverConfig says which API a server is, and which database it serves.
type serverConfig struct{ binDir, mongoURI, database string }

// startServer starts the API for the engine, and this program for the baselines.
// It returns when the server is ready.
func startServer(ctx context.Context, variant string, c serverConfig) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	port, err := devserver.ReservePort()
	if err != nil {
		return nil, err
	}
	address := port.Addr()
	command := devserver.Command{Args: []string{self, "serve", variant, c.mongoURI, c.database, address}, Output: os.Stderr}
	if strings.HasPrefix(variant, engineName) {
		command.Args = []string{filepath.Join(c.binDir, "api")}
		command.Env = []string{
			"MONGODB_URI=" + c.mongoURI, "MONGODB_DATABASE=" + c.database, "HTTP_ADDR=" + address,
			"JOB_LEASES=none", "LOG_LEVEL=error", "SHUTDOWN_DELAY=0s",
		}
	}
	p, err := devserver.Start(command)
	if err != nil {
		return nil, errors.Join(err, port.Close())
	}
	if err := errors.Join(waitReady(ctx, p, address), port.Close()); err != nil {
		p.Stop()
		return nil, err
	}
	return &server{Process: p, address: address}, nil
}

const (
	readyTimeout      = 30 * time.Second
	readyPollInterval = 20 * time.Millisecond
)

// waitReady polls until the server is ready.
func waitReady(ctx context.Context, p *devserver.Process, address string) error {
	return waitFor(ctx, p, address, "/readyz")
}

// waitFor polls until a path answers 200.
func waitFor(ctx context.Context, p *devserver.Process, address, path string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("the server at %s was not ready within %v", address, readyTimeout))
	defer cancel()
	poll := time.NewTicker(readyPollInterval)
	defer poll.Stop()
	for {
		status, _, err := fasthttp.GetTimeout(nil, "http://"+address+path, time.Second)
		if err == nil && status == http.StatusOK {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("the server at %s ended: %w", address, p.Err())
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-poll.C:
		}
	}
}
