package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"

	"github.com/holdfast-dev/holdfast"
)

// openConnections measures the API's memory while many clients are connected. The rate is of opening the connections.
func openConnections(s settings) (rows []*result) {
	const listeners = 5000
	open := func(load string, run httpLoad) {
		rows = append(rows, overHTTP(s, httpRow{variant: engineName, load: load, processes: 1, seats: ampleSeats, run: run}))
	}
	open("idle connections", func(ctx context.Context, servers []*server, event holdfast.ID, _ holdfast.User) (measurement, error) {
		idle, err := idleConnections()
		if err != nil {
			return measurement{}, err
		}
		return holdConnections(ctx, servers[0], idle, func(ctx context.Context) (io.Closer, error) {
			return getOnce(ctx, servers[0].address, event)
		})
	})
	open(fmt.Sprintf("%d listeners", listeners),
		func(ctx context.Context, servers []*server, event holdfast.ID, _ holdfast.User) (measurement, error) {
			return holdConnections(ctx, servers[0], listeners, func(ctx context.Context) (io.Closer, error) {
				l := &listener{}
				return l, l.listen(ctx, servers[0].address, event)
			})
		})
	return rows
}

// idleConnections is 8,000, or as many as the API keeps open with the limit of open files: a quarter of them is for others,
// and above half of the rest it asks clients to close their connections.
func idleConnections() (int, error) {
	const usual, others = 8000, 100
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return 0, err
	}
	return int(min(usual, files.Max/4*3/2-others)), nil
}

// holdConnections opens connections, a few at a time, and notes the memory of the server while all of them are open.
func holdConnections(ctx context.Context, to *server, count int, open func(context.Context) (io.Closer, error)) (m measurement, err error) {
	before, err := readProcess(to.address)
	if err != nil {
		return m, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	const openers = 64
	connections := make([]io.Closer, count)
	defer func() {
		for _, c := range connections {
			if c != nil {
				_ = c.Close() // it only reads
			}
		}
	}()
	start := wallClock()
	var opening sync.WaitGroup
	for opener := range openers {
		opening.Go(func() {
			for i := opener; i < count && ctx.Err() == nil; i += openers {
				c, err := open(ctx)
				if err != nil {
					cancel(err)
					return
				}
				connections[i] = c
			}
		})
	}
	opening.Wait()
	if ctx.Err() != nil {
		return m, context.Cause(ctx)
	}
	m.Refused, m.Seconds = count, wallClock.Since(start).Seconds() // nothing was granted
	after, err := readProcess(to.address)
	if err != nil {
		return m, err
	}
	const kibibytes = 1024 // of a mebibyte
	m.note = fmt.Sprintf("%d connections: the API has %.0f MiB, %.0f MiB before; %.1f KiB a connection",
		count, after.memory, before.memory, kibibytes*(after.memory-before.memory)/float64(count))
	return m, nil
}

// getOnce opens a connection, reads an event once, and leaves the connection open.
func getOnce(ctx context.Context, address string, event holdfast.ID) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if err := get(conn, address, event); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func get(conn net.Conn, address string, event holdfast.ID) error {
	if _, err := fmt.Fprintf(conn, "GET /api/events/%s HTTP/1.1\r\nHost: %s\r\n\r\n", event, address); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	err = errors.Join(err, response.Body.Close())
	switch {
	case err != nil:
		return err
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("status %d", response.StatusCode)
	case response.Close: // more than half of its connections are open
		return errors.New("the server closes idle connections: more than half of those that it may have are open")
	default:
		return nil
	}
}
