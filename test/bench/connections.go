package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast"
)

// openConnections measures the API's memory while many clients are connected. The rate is that of opening the
// connections.
func openConnections(s settings) []*result {
	const listeners = 5000
	open := func(load string, run func(context.Context, target) (measurement, error)) *result {
		return overHTTP(s, httpRow{variant: engineName, load: load, processes: 1, seats: ampleSeats, run: run})
	}
	return []*result{
		open("idle connections", func(ctx context.Context, t target) (m measurement, err error) {
			idle, err := idleConnections()
			if err != nil {
				return m, err
			}
			return holdConnections(ctx, t.servers[0], idle, func(ctx context.Context) (io.Closer, error) {
				return getOnce(ctx, t.servers[0].address, t.event)
			})
		}),
		open(fmt.Sprintf("%d listeners", listeners), func(ctx context.Context, t target) (measurement, error) {
			return holdConnections(ctx, t.servers[0], listeners, func(ctx context.Context) (io.Closer, error) {
				return openStream(ctx, t.servers[0].address, eventStream(t.event), nil)
			})
		}),
	}
}

// idleConnections returns 8,000, or as many as the API keeps open with the limit of open files: a quarter of the
// files is for other uses, and above half of the rest the API asks clients to close their connections.
func idleConnections() (int, error) {
	const usual, others = 8000, 100
	var files syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
	return int(min(usual, files.Max/4*3/2-others)), err
}

// holdConnections opens connections, a few at a time, and notes the memory of the server while all of them are open.
func holdConnections(ctx context.Context, to *server, count int, open func(context.Context) (io.Closer, error)) (m measurement, err error) {
	before, err := readProcess(ctx, to.address)
	if err != nil {
		return m, err
	}
	const openers = 64
	connections := make([]io.Closer, count)
	defer func() {
		for _, c := range connections {
			if c != nil {
				_ = c.Close() // the connection only reads
			}
		}
	}()
	start := wallClock()
	opening, whileOpening := errgroup.WithContext(ctx)
	opening.SetLimit(openers)
	for i := range connections {
		opening.Go(func() error {
			c, err := open(whileOpening)
			if err == nil {
				connections[i] = c
			}
			return err
		})
	}
	if err := opening.Wait(); err != nil {
		return m, err
	}
	m.Refused, m.Seconds = count, wallClock.Since(start).Seconds() // no seat was granted
	after, err := readProcess(ctx, to.address)
	const kibibytes = 1024 // of a mebibyte
	m.addNote("%d connections: the API has %.0f MiB, %.0f MiB before; %.1f KiB a connection",
		count, after.memory, before.memory, kibibytes*(after.memory-before.memory)/float64(count))
	return m, err
}

// getOnce opens a connection, reads an event once, and leaves the connection open.
func getOnce(ctx context.Context, address string, event holdfast.ID) (net.Conn, error) {
	conn, response, err := request(ctx, address, "/api/events/"+event.String()) //nolint:bodyclose // the caller closes the connection
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(io.Discard, response.Body); err == nil && response.Close { // more than half of its connections are open
		err = errors.New("the server closes idle connections: more than half of those that it may have are open")
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// request opens a connection of its own for a GET.
func request(ctx context.Context, address, path string) (conn net.Conn, response *http.Response, err error) {
	if conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address); err != nil {
		return nil, nil, err
	}
	if _, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, address); err == nil {
		response, err = http.ReadResponse(bufio.NewReader(conn), nil)
	}
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: status %d", path, response.StatusCode)
	}
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, response, nil
}
