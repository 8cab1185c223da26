package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
)

// withListeners measures what listeners cost the sale, and how late they are
// notified.
func withListeners(s settings) (rows []*result) {
	const rate = 2000
	for _, listeners := range []int{0, 500, 5000} {
		load := func(ctx context.Context, servers []*server, event holdfast.ID, user holdfast.User) (measurement, error) {
			return lockWithListeners(ctx, s, servers[0], listeners, rate, event, user)
		}
		r := overHTTP(s, httpRow{variant: engineName, load: fmt.Sprintf("%d a second", rate), processes: 1, seats: ampleSeats, run: load})
		r.Variant = fmt.Sprintf("%d listeners", listeners)
		rows = append(rows, r)
	}
	return rows
}

// notification is a message of availability: how many seats were taken, and when
// it arrived.
type notification struct {
	taken int64
	at    time.Time
}

// listener is a connection to the event's stream.
type listener struct {
	conn          net.Conn
	timed         bool           // records its notifications
	notifications []notification // if it is timed
	done          chan struct{}  // closed when the connection has ended
}

// close ends the connection and waits for its goroutine.
func (l *listener) close() { _ = l.Close() } // it only reads

// Close implements io.Closer.
func (l *listener) Close() error {
	err := l.conn.Close()
	<-l.done
	return err
}

// timedListeners is how many listeners record their notifications; the rest only read.
const timedListeners = 50

func lockWithListeners(
	ctx context.Context, s settings, to *server, count, rate int,
	event holdfast.ID, user holdfast.User,
) (measurement, error) {
	listeners := make([]*listener, 0, count)
	defer func() {
		for _, l := range listeners {
			l.close()
		}
	}()
	for i := range count {
		l := &listener{timed: i < timedListeners}
		if err := l.listen(ctx, to.address, event); err != nil {
			return measurement{}, err
		}
		listeners = append(listeners, l)
	}
	m, answered, err := lockOnSchedule(ctx, s, to, rate, event, user)
	if err != nil {
		return m, err
	}
	const lastNotificationDelay = time.Second
	sleep(ctx, lastNotificationDelay)
	for _, l := range listeners {
		l.close()
	}
	if count > 0 && m.note == "" {
		delays := notificationDelays(listeners[:min(timedListeners, count)], answered)
		m.note = fmt.Sprintf("notified %.0f ms after the answer, p99 %.0f ms",
			inMilliseconds(delays.quantile(.5)), inMilliseconds(delays.quantile(.99)))
	}
	return m, nil
}

// notificationDelays has, as latencies, the time from each answer to a customer
// to the notification of each timed listener; 0 if the notification came first.
func notificationDelays(listeners []*listener, answered []time.Time) (m measurement) {
	for _, l := range listeners {
		previous := int64(0)
		for _, n := range l.notifications {
			for k := previous; k < min(n.taken, int64(len(answered))); k++ {
				m.latencies = append(m.latencies, max(0, n.at.Sub(answered[k])))
			}
			previous = n.taken
		}
	}
	return m
}

var availableSeats = regexp.MustCompile(`"availableSeats":([0-9]+),`)

// listen opens a stream and returns after its first message.
func (l *listener) listen(ctx context.Context, address string, event holdfast.ID) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "GET /api/events/%s/stream HTTP/1.1\r\nHost: %s\r\n\r\n", event, address); err != nil {
		return errors.Join(err, conn.Close())
	}
	l.conn, l.done = conn, make(chan struct{})
	started := make(chan struct{})
	go l.read(started)
	select {
	case <-started:
		return nil
	case <-l.done:
		return fmt.Errorf("the stream of %s ended before its first message", event)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read reads until the connection ends. It closes started at the first message.
func (l *listener) read(started chan struct{}) {
	defer close(l.done)
	first := true
	for lines := bufio.NewScanner(l.conn); lines.Scan(); {
		if !l.timed && !first {
			continue
		}
		match := availableSeats.FindSubmatch(lines.Bytes())
		if match == nil {
			continue
		}
		if first {
			first = false
			close(started)
		}
		available, err := strconv.ParseInt(string(match[1]), 10, 64)
		if l.timed && err == nil {
			l.notifications = append(l.notifications, notification{taken: ampleSeats - available, at: wallClock()})
		}
	}
}

// lockOnSchedule locks single seats at a fixed rate. answered are the times of the answers, in order.
func lockOnSchedule(ctx context.Context, s settings, to *server, rate int, event holdfast.ID, user holdfast.User) (
	m measurement, answered []time.Time, err error,
) {
	api, closeIdle := to.client(rate)
	defer closeIdle()
	m, err = onSchedule(ctx, s, rate, func(n int) (done func(at time.Time), err error) {
		_, err = api.AcquireLock(ctx, client.LockRequest{
			EventID: event.String(), UserID: user.ID.String(), Seats: 1,
			IdempotencyKey: strconv.Itoa(n),
		})
		return func(at time.Time) { answered = append(answered, at) }, err
	})
	slices.SortFunc(answered, time.Time.Compare)
	return m, answered, err
}

// client returns a client of a server with so many idle connections, without retries.
func (s *server) client(idle int) (api *client.Client, closeIdle func()) {
	transport := &http.Transport{MaxIdleConnsPerHost: idle}
	api = client.New("http://"+s.address,
		client.WithHTTPClient(&http.Client{Timeout: responseTimeout, Transport: transport}), client.WithRetryTimeout(0))
	return api, transport.CloseIdleConnections
}

// onSchedule sends requests at a fixed rate, whether or not earlier requests are
// answered. A latency counts from the time at which the request was scheduled. A request returns
// what to do with the time of its answer, one at a time.
func onSchedule(
	ctx context.Context, s settings, rate int, request func(n int) (done func(at time.Time), err error),
) (m measurement, err error) {
	var mu sync.Mutex
	var inFlight sync.WaitGroup
	start := wallClock()
	for n := range int(s.duration.Seconds() * float64(rate)) {
		scheduled := start.Add(time.Duration(n) * time.Second / time.Duration(rate))
		sleep(ctx, scheduled.Sub(wallClock()))
		inFlight.Go(func() {
			done, err := request(n)
			at := wallClock()
			mu.Lock()
			defer mu.Unlock()
			m.latencies = append(m.latencies, at.Sub(scheduled))
			if err != nil {
				m.unknown++
				return
			}
			m.Granted++
			done(at)
		})
	}
	inFlight.Wait()
	m.Seconds = wallClock.Since(start).Seconds()
	m.noteUnknown()
	return m, ctx.Err()
}
