package main

import (
	"cmp"
	"context"
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
	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/devserver"
)

func hotEventHTTP(s settings) (rows []*result) {
	for _, clients := range []int{1, 8, 64, mostClients} {
		for _, name := range []string{engineName, transactionName, mutexName} {
			rows = append(rows, closedHTTP(s, httpRow{variant: name, processes: 1, seats: ampleSeats}, clients))
		}
	}
	return rows
}

func severalProcesses(s settings) (rows []*result) {
	for processes := 1; processes <= 3; processes++ {
		row := httpRow{variant: engineName, load: processesLoad(processes), processes: processes, seats: ampleSeats}
		rows = append(rows, closedHTTP(s, row, mostClients))
	}
	return rows
}

func processesLoad(processes int) string { return fmt.Sprintf("%d processes", processes) }

func soldOutHTTP(s settings) (rows []*result) {
	for _, row := range []httpRow{
		{variant: engineName, processes: 1, seats: 1},
		{variant: keylessName, processes: 1, seats: 1},
		{variant: emptyName, processes: 1, seats: ampleSeats},
		{variant: engineName, processes: 1, seats: ampleSeats},
	} {
		rows = append(rows, closedHTTP(s, row, mostClients))
	}
	rows[len(rows)-1].Variant = sellingName
	return rows
}

// httpRow is a row through HTTP.
type httpRow struct {
	variant   string
	load      string
	processes int
	seats     int64 // of the event; 0: it has a hall, and each lock has up to maxTogether seats
	run       func(context.Context, target) (measurement, error)
}

// target is what a load through HTTP is for.
type target struct {
	*env

	servers []*server
	event   holdfast.ID
	user    holdfast.User
}

// oneSeat is the request for any seat.
func (t target) oneSeat(int) client.LockRequest {
	return client.LockRequest{EventID: t.event.String(), UserID: t.user.ID.String(), Seats: 1}
}

// closedHTTP measures a variant under a closed loop of clients.
func closedHTTP(s settings, row httpRow, clients int) *result {
	return overHTTP(s, closedRow(s, row, clients))
}

// closedRow adds a closed loop of clients to a row.
func closedRow(s settings, row httpRow, clients int) httpRow {
	if row.load == "" {
		row.load = clientsLoad(clients)
	}
	row.run = func(ctx context.Context, t target) (measurement, error) {
		return throughServers(ctx, s, t.servers, clients, func(_ context.Context, to serverConn, client, n int) (bool, error) {
			key := requestKey(client, n)
			if row.variant == keylessName {
				key = ""
			}
			return to.postLock("/api/locks", t.event, t.user.ID, key, `"seats":1`)
		})
	}
	return row
}

// overHTTP measures a variant behind its own server processes.
func overHTTP(s settings, row httpRow) *result {
	return s.row(row.variant, row.load, func(ctx context.Context, e *env) (m measurement, err error) {
		t := target{env: e}
		maxSeats := 1
		if row.seats > 0 {
			t.event, err = e.createEvent(ctx, row.seats)
		} else {
			maxSeats = maxTogether
			t.event, err = e.createHall(ctx)
		}
		if err != nil {
			return m, err
		}
		if t.user, err = e.createUser(ctx); err != nil {
			return m, err
		}
		servers, stop, err := e.startServers(ctx, s, row.variant, row.processes)
		defer stop()
		if err != nil {
			return m, err
		}
		t.servers = servers
		if m, err = row.run(ctx, t); err != nil || row.variant == emptyName {
			return m, err
		}
		stop()
		return m, e.check(ctx, expectation{
			seats: int64(cmp.Or(m.seats, m.Granted)), grants: int64(m.Granted), unknown: int64(m.unknown * maxSeats), counters: true, locks: true,
		})
	})
}

// startServers starts servers of the database. stop waits for the requests in flight first, and may be called again.
func (e *env) startServers(ctx context.Context, s settings, variant string, count int) (servers []*server, stop func(), err error) {
	stop = func() {
		for _, server := range servers {
			server.Stop()
		}
	}
	for range count {
		server, err := startServer(ctx, s, variant, e.DB.Name())
		if err != nil {
			return servers, stop, err
		}
		servers = append(servers, server)
	}
	return servers, stop, nil
}

func (e *env) createUser(ctx context.Context) (holdfast.User, error) {
	return e.Users.CreateUser(ctx, "Ada", "ada@example.com")
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
		connections[i] = connectTo(server.address, clients)
		defer connections[i].CloseIdleConnections()
	}
	m, err := measureProcessor(ctx, servers, func(ctx context.Context) (measurement, error) {
		return closedLoop(ctx, clients, s.duration, func(ctx context.Context, client, n int) (bool, error) {
			i := client % len(servers)
			ok, err := do(ctx, connections[i], client, n)
			if ok {
				granted[i].Add(1)
			}
			return ok, err
		})
	})
	if len(servers) > 1 {
		counts := make([]int64, len(servers))
		for i := range granted {
			counts[i] = granted[i].Load()
		}
		m.addNote("slowest process %.2f of the fastest", float64(slices.Min(counts))/float64(slices.Max(counts)))
	}
	return m, err
}

// serverConn has the connections to a server.
type serverConn struct{ *fasthttp.HostClient }

func connectTo(address string, connections int) serverConn {
	return serverConn{&fasthttp.HostClient{
		Addr: address, MaxConns: connections, ReadTimeout: time.Minute, DisableHeaderNamesNormalizing: true,
	}}
}

// postLock requests a lock. key may be empty. wish is the part of the body that says which seats.
func (c serverConn) postLock(path string, event, user holdfast.ID, key, wish string) (granted bool, err error) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.Header.SetMethod(http.MethodPost)
	request.SetRequestURI("http://" + c.Addr + path)
	request.Header.SetContentType("application/json")
	if key != "" {
		wish += `,"idempotencyKey":"` + key + `"`
	}
	request.SetBodyString(fmt.Sprintf(`{"eventId":"%s","userId":"%s",%s}`, event, user, wish))
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

// newClient returns a client with at most the given number of connections, without retries.
func newClient(address string, connections int) (api *client.Client, closeIdle func()) {
	transport := &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections}
	api = client.New("http://"+address,
		client.WithHTTPClient(&http.Client{Timeout: responseTimeout, Transport: transport}), client.WithRetryTimeout(0))
	return api, transport.CloseIdleConnections
}

// server is a process that serves POST /api/locks, or a worker.
type server struct {
	*devserver.Process
	address string // of its metrics, too
}

// startServer starts the API for the engine, and this program for the baselines.
// It returns when the server is ready.
func startServer(ctx context.Context, s settings, variant, database string) (*server, error) {
	if strings.HasPrefix(variant, engineName) {
		return startProgram(ctx, s, "api", "HTTP_ADDR", database)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return startProcess(ctx, func(address string) devserver.Command {
		return devserver.Command{Args: []string{self, "serve", variant, s.mongoURI, database, address}, Output: os.Stderr}
	})
}

// startProgram starts the API or a worker, with its address in a setting, and returns when it is ready. environment has
// additional settings.
func startProgram(ctx context.Context, s settings, name, addressSetting, database string, environment ...string) (*server, error) {
	return startProcess(ctx, func(address string) devserver.Command {
		return devserver.Command{Args: []string{filepath.Join(s.binDir, name)}, Output: os.Stderr, Env: append(environment,
			"MONGODB_URI="+s.mongoURI, "MONGODB_DATABASE="+database, addressSetting+"="+address,
			"JOB_LEASES=none", "LOG_LEVEL=error", "SHUTDOWN_DELAY=0s",
		)}
	})
}

func startProcess(ctx context.Context, command func(address string) devserver.Command) (*server, error) {
	p, address, err := devserver.StartReady(ctx, command)
	return &server{Process: p, address: address}, err
}
