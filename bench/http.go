package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/users"
)

func hotEventHTTP(s settings) (rows []*result) {
	for _, clients := range []int{1, 8, 64, 256} {
		for _, name := range []string{engineName, sideTransaction, sideMutex} {
			rows = append(rows, closedHTTP(s, name, 1, clients, plenty))
		}
	}
	return rows
}

func severalProcesses(s settings) (rows []*result) {
	for processes := 1; processes <= 3; processes++ {
		r := closedHTTP(s, engineName, processes, 256, plenty)
		r.Load = fmt.Sprintf("%d processes", processes)
		rows = append(rows, r)
	}
	return rows
}

func soldOutHTTP(s settings) []*result {
	busy := closedHTTP(s, engineName, 1, 256, plenty)
	busy.Side = "engine, with seats"
	return []*result{closedHTTP(s, engineName, 1, 256, 1), closedHTTP(s, sideEmpty, 1, 256, plenty), busy}
}

// closedHTTP measures a side with so many clients, see closedLoop.
func closedHTTP(s settings, name string, processes, clients int, seats int64) *result {
	r := overHTTP(s, name, processes, seats, func(ctx context.Context, servers []*server, event ids.ID, user users.User) (measure, error) {
		return hammer(ctx, s, servers, clients, event, user)
	})
	r.Load = fmt.Sprintf("%d clients", clients)
	return r
}

// overHTTP measures a side behind its own server processes, by a load.
func overHTTP(s settings, name string, processes int, seats int64, load func(context.Context, []*server, ids.ID, users.User) (measure, error)) *result {
	return &result{Side: name, turn: func(ctx context.Context) (measure, error) {
		w, err := newWorld(ctx, s.uri)
		if err != nil {
			return measure{}, err
		}
		event, err := w.event(ctx, seats)
		if err != nil {
			return measure{}, err
		}
		user, err := w.users.Create(ctx, "Ada", "ada@example.com")
		if err != nil {
			return measure{}, err
		}
		servers := make([]*server, processes)
		for i := range servers {
			if servers[i], err = startServer(ctx, s, w, name); err != nil {
				return measure{}, err
			}
			defer servers[i].Stop()
		}
		m, err := load(ctx, servers, event, user)
		if err == nil && name != sideEmpty {
			for _, server := range servers {
				server.Stop() // what it has taken up is decided then
			}
			err = w.prove(ctx, int64(m.Granted), int64(m.failed), true, true)
		}
		if err != nil {
			return m, err
		}
		return m, w.close(ctx)
	}}
}

// hammer lets clients lock seats, each through one of the servers, and notes
// how unlike the servers' shares are.
func hammer(ctx context.Context, s settings, servers []*server, clients int, event ids.ID, user users.User) (measure, error) {
	shares := make([]atomic.Int64, len(servers))
	connections := make([]*fasthttp.HostClient, len(servers))
	for i, server := range servers {
		connections[i] = &fasthttp.HostClient{Addr: server.address, MaxConns: clients, ReadTimeout: time.Minute, DisableHeaderNamesNormalizing: true}
		defer connections[i].CloseIdleConnections()
	}
	m, err := closedLoop(ctx, clock.System, clients, s.lasting, 0, func(_ context.Context, client, n int) (bool, error) {
		through := client % len(servers)
		ok, err := lockOverHTTP(connections[through], servers[through].address, event, user.ID, fmt.Sprintf("%d-%d", client, n))
		if ok {
			shares[through].Add(1)
		}
		return ok, err
	})
	if len(servers) > 1 {
		least, most := shares[0].Load(), shares[0].Load()
		for i := range shares {
			least, most = min(least, shares[i].Load()), max(most, shares[i].Load())
		}
		m.note = fmt.Sprintf("slowest process %.2f of the fastest", float64(least)/float64(most))
	}
	return m, err
}

func lockOverHTTP(c *fasthttp.HostClient, address string, event, user ids.ID, key string) (bool, error) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.Header.SetMethod(http.MethodPost)
	request.SetRequestURI("http://" + address + "/api/locks")
	request.Header.SetContentType("application/json")
	request.SetBodyRaw(fmt.Appendf(nil, `{"eventId":"%s","userId":"%s","seats":1,"idempotencyKey":"%s"}`, event, user, key))
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

// startServer starts the API for the engine, and for the others this program.
func startServer(ctx context.Context, s settings, w *world, name string) (*server, error) {
	port, err := devserver.KeepPort()
	if err != nil {
		return nil, err
	}
	defer port.Close() //nolint:errcheck // nothing was written
	address := port.Addr()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := devserver.Command{Args: []string{self, "serve", name, s.uri, w.db.Name(), address}, Output: os.Stderr}
	if name == engineName {
		command.Args = []string{filepath.Join(s.binaries, "api")}
		command.Env = []string{"MONGODB_URI=" + s.uri, "MONGODB_DATABASE=" + w.db.Name(), "HTTP_ADDR=" + address, "JOB_LEASES=none", "LOG_LEVEL=error"}
	}
	p, err := devserver.Start(command)
	if err != nil {
		return nil, err
	}
	return &server{p, address}, await(ctx, p, address)
}

// await polls until the server answers, or has ended.
func await(ctx context.Context, p *devserver.Process, address string) error {
	const often, long = 20 * time.Millisecond, 30 * time.Second
	for range long / often {
		status, _, err := fasthttp.GetTimeout(nil, "http://"+address+"/readyz", time.Second)
		if err == nil && status == http.StatusOK {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("the server at %s ended: %w", address, p.Err())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(often):
		}
	}
	return errors.New("the server at " + address + " did not get ready within " + strconv.Itoa(int(long.Seconds())) + " s")
}
