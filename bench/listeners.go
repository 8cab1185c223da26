package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/users"
)

// whileListening asks what listeners cost the sale, and how late they hear.
func whileListening(s settings) (rows []*result) {
	const rate = 2000
	for _, listeners := range []int{0, 500, 5000} {
		r := overHTTP(s, engineName, 1, plenty, func(ctx context.Context, servers []*server, event ids.ID, user users.User) (measure, error) {
			return listenAndLock(ctx, s, servers[0], listeners, rate, event, user)
		})
		r.Side, r.Load = fmt.Sprintf("%d listeners", listeners), fmt.Sprintf("%d a second", rate)
		rows = append(rows, r)
	}
	return rows
}

// heard is a message of availability: how many seats were taken, and when that came.
type heard struct {
	taken int64
	at    time.Time
}

// ear is a connection that listens.
type ear struct {
	conn net.Conn
	all  []heard // of the connections that are timed
	done chan struct{}
}

// timed is how many listeners note when they hear what; the others only read.
const timed = 50

func listenAndLock(ctx context.Context, s settings, to *server, listeners, rate int, event ids.ID, user users.User) (measure, error) {
	ears := make([]*ear, 0, listeners)
	defer func() {
		for _, e := range ears {
			e.conn.Close() //nolint:errcheck,gosec // it only read
		}
	}()
	for i := range listeners {
		e, err := listen(ctx, to.address, event, i < timed)
		if err != nil {
			return measure{}, err
		}
		ears = append(ears, e)
	}
	m, answered, err := openLocks(ctx, s, to, rate, event, user)
	if err != nil {
		return m, err
	}
	rest(ctx, time.Second) // the last ones are heard
	for _, e := range ears {
		e.conn.Close() //nolint:errcheck,gosec // it only read
		<-e.done
	}
	if listeners > 0 && m.note == "" {
		late := lateness(ears[:min(timed, listeners)], answered)
		m.note = fmt.Sprintf("heard %.0f ms after the answer, p99 %.0f ms", inMS(late.quantile(.5)), inMS(late.quantile(.99)))
	}
	return m, nil
}

func inMS(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// lateness is, for each change and each timed listener, how long after the answer to
// the customer the listener heard of it; 0 where it heard first.
func lateness(ears []*ear, answered []time.Time) (m measure) {
	for _, e := range ears {
		for i, h := range e.all {
			before := int64(0)
			if i > 0 {
				before = e.all[i-1].taken
			}
			for k := before; k < min(h.taken, int64(len(answered))); k++ {
				m.took = append(m.took, max(0, h.at.Sub(answered[k])))
			}
		}
	}
	return m
}

var availableSeats = regexp.MustCompile(`"availableSeats":([0-9]+),`)

// listen opens a stream and returns once it has begun.
func listen(ctx context.Context, address string, event ids.ID, timed bool) (*ear, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(conn, "GET /api/events/%s/stream HTTP/1.1\r\nHost: %s\r\n\r\n", event, address); err != nil {
		return nil, err
	}
	e := &ear{conn: conn, done: make(chan struct{})}
	begun := make(chan struct{})
	go func() {
		defer close(e.done)
		first := true
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			if !timed && !first {
				continue
			}
			found := availableSeats.FindSubmatch(lines.Bytes())
			if found == nil {
				continue
			}
			if first {
				first = false
				close(begun)
			}
			left, err := strconv.ParseInt(string(found[1]), 10, 64)
			if timed && err == nil {
				e.all = append(e.all, heard{plenty - left, clock.System()})
			}
		}
	}()
	select {
	case <-begun:
		return e, nil
	case <-e.done:
		return nil, fmt.Errorf("the stream of %s ended before it began", event)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// openLocks locks seats at a fixed rate whatever comes back. A lock's time counts
// from the moment at which it was due to be sent. answered are the times of the
// answers, in their order.
func openLocks(ctx context.Context, s settings, to *server, rate int, event ids.ID, user users.User) (m measure, answered []time.Time, err error) {
	transport := &http.Transport{MaxIdleConnsPerHost: rate}
	defer transport.CloseIdleConnections()
	api := client.New("http://"+to.address, client.WithHTTPClient(&http.Client{Timeout: patience, Transport: transport}), client.WithRetryTimeout(0))
	var mu sync.Mutex
	var all sync.WaitGroup
	start := clock.System()
	for n := range int(s.lasting.Seconds() * float64(rate)) {
		due := start.Add(time.Duration(n) * time.Second / time.Duration(rate))
		rest(ctx, due.Sub(clock.System()))
		all.Go(func() {
			_, err := api.AcquireLock(ctx, client.LockRequest{EventID: event.String(), UserID: user.ID.String(), Seats: 1, IdempotencyKey: strconv.Itoa(n)})
			at := clock.System()
			mu.Lock()
			defer mu.Unlock()
			m.took = append(m.took, at.Sub(due))
			if err != nil {
				m.failed++
				return
			}
			m.Granted++
			answered = append(answered, at)
		})
	}
	all.Wait()
	m.Seconds = clock.Clock(clock.System).Since(start).Seconds()
	if m.failed > 0 {
		m.note = fmt.Sprintf("%.0f %% not answered in %v", 100*float64(m.failed)/float64(len(m.took)), patience)
	}
	slices.SortFunc(answered, time.Time.Compare)
	return m, answered, ctx.Err()
}

// rest waits, unless ctx ends first.
func rest(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
