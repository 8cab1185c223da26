package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/live"
)

// withListeners measures what listeners cost the sale, and how late they are
// notified.
func withListeners(s settings) []*result {
	return forListeners(func(a audience) *result {
		a.totals = func() takenBy { return takenOfEvent }
		return overHTTP(s, httpRow{
			variant: engineName, load: a.load(), processes: 1, seats: ampleSeats,
			run: func(ctx context.Context, t target) (measurement, error) {
				a.paths = []string{eventStream(t.event)}
				m, _, err := a.listen(ctx, s, t.servers[0], t.oneSeat)
				return m, err
			},
		})
	})
}

// withSeatListeners measures what listeners of a map cost the sale, how late they are notified, and what they
// receive. A tenth of them ask for the seats of one section, too.
func withSeatListeners(s settings) []*result {
	return forListeners(func(a audience) *result {
		a.totals = newTakenOfHall
		return overHTTP(s, httpRow{
			variant: engineName, load: a.load(), processes: 1,
			run: func(ctx context.Context, t target) (measurement, error) {
				const everyOfASection = 10
				stream := "/api/events/" + t.event.String() + "/seats/stream"
				a.paths = append(slices.Repeat([]string{stream}, everyOfASection-1), stream+"?section=0")
				var p picture
				m, answered, err := a.listen(ctx, s, t.servers[0], func(n int) client.LockRequest {
					b := p.pick(1 + n%maxTogether)
					p.take(b) // no two requests name the same seats
					return client.LockRequest{EventID: t.event.String(), UserID: t.user.ID.String(), SeatIDs: b.ids()}
				})
				m.seats = len(answered)
				return m, err
			},
		})
	})
}

// audience is a number of listeners, and the rate of the locks that they are notified of.
type audience struct {
	count, rate int
	paths       []string // of the streams, which the listeners open in turn
	totals      func() takenBy
}

func (a audience) load() string { return fmt.Sprintf("%d a second", a.rate) }

// forListeners returns a row for each number of listeners.
func forListeners(row func(audience) *result) (rows []*result) {
	for _, count := range []int{0, 500, 5000} {
		r := row(audience{count: count, rate: 2000})
		r.Variant = fmt.Sprintf("%d listeners", count)
		rows = append(rows, r)
	}
	return rows
}

// listen locks seats at a fixed rate while the listeners are connected, and notes what they received.
func (a audience) listen(ctx context.Context, s settings, to *server, next func(n int) client.LockRequest) (
	m measurement, answered []time.Time, err error,
) {
	const timedListeners = 50 // record their notifications; the other ones only read
	var streams []*stream
	closeAll := func() {
		for _, l := range streams {
			_ = l.Close() // it only reads
		}
	}
	defer closeAll()
	for i := range a.count {
		var taken takenBy
		if i < timedListeners {
			taken = a.totals()
		}
		l, err := openStream(ctx, to.address, a.paths[i%len(a.paths)], taken)
		if err != nil {
			return m, nil, err
		}
		streams = append(streams, l)
	}
	m, answered, err = lockOnSchedule(ctx, s, to, a.rate, next)
	if err != nil || a.count == 0 {
		return m, answered, err
	}
	const lastNotificationDelay = 2 * time.Second
	sleep(ctx, lastNotificationDelay)
	process, err := readProcess(ctx, to.address)
	closeAll()
	var delays measurement
	bytes, timed := 0, streams[:min(timedListeners, a.count)]
	for _, l := range timed {
		bytes += l.received
		err = errors.Join(err, l.addDelays(&delays, answered))
	}
	const kilo = 1000
	m.addNote("notified %.0f ms after the answer, p99 %.0f ms; %.1f kB/s a listener; the API has %.0f MiB",
		inMilliseconds(delays.quantile(.5)), inMilliseconds(delays.quantile(.99)),
		float64(bytes)/float64(len(timed))/m.Seconds/kilo, process.memory)
	return m, answered, err
}

// lockOnSchedule locks seats at a fixed rate. answered has, in order, the time of the answer for each seat.
func lockOnSchedule(ctx context.Context, s settings, to *server, rate int, next func(n int) client.LockRequest) (
	m measurement, answered []time.Time, err error,
) {
	api, closeIdle := newClient(to.address, rate)
	defer closeIdle()
	m, err = measureProcessor(ctx, []*server{to}, func(ctx context.Context) (measurement, error) {
		return onSchedule(ctx, s.duration, rate, func(n int) (send func() error, granted func(at time.Time)) {
			r := next(n)
			r.IdempotencyKey = strconv.Itoa(n)
			return func() error {
					_, err := api.AcquireLock(ctx, r)
					return err
				}, func(at time.Time) {
					answered = append(answered, slices.Repeat([]time.Time{at}, max(1, len(r.SeatIDs)))...)
				}
		})
	})
	slices.SortFunc(answered, time.Time.Compare)
	return m, answered, err
}

// notification is a message of a stream: how many seats were taken, and when it arrived.
type notification struct {
	taken int64
	at    time.Time
}

// takenBy returns how many seats are taken, by the messages of one stream so far.
type takenBy func(event, data string) (taken int64, ok bool)

// stream is a connection of a listener.
type stream struct {
	net.Conn

	taken    takenBy        // nil: the messages are not read
	notified []notification // until done is closed
	received int            // bytes since the first message; 0 if the messages are not read
	started  chan struct{}  // closed at the first message
	done     chan struct{}  // closed when the connection has ended
}

func eventStream(event holdfast.ID) string { return "/api/events/" + event.String() + "/stream" }

// openStream opens a stream, and returns after its first message.
func openStream(ctx context.Context, address, path string, taken takenBy) (*stream, error) {
	conn, response, err := request(ctx, address, path) //nolint:bodyclose // the caller closes the connection
	if err != nil {
		return nil, err
	}
	l := &stream{Conn: conn, taken: taken, started: make(chan struct{}), done: make(chan struct{})}
	go l.read(response.Body)
	select {
	case <-l.started:
		return l, nil
	case <-l.done:
		err = fmt.Errorf("the stream %s ended before its first message", path)
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, errors.Join(err, l.Close())
}

// Close ends the connection and waits for its goroutine.
func (l *stream) Close() error {
	err := l.Conn.Close()
	<-l.done
	return err
}

// read reads until the connection ends.
func (l *stream) read(body io.Reader) {
	defer close(l.done)
	const longestLine = 1 << 20
	lines, event, isFirst := bufio.NewScanner(body), "", true
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		if name == "event" {
			event = value
		}
		if !isFirst {
			l.received += len(lines.Bytes()) + 1
		}
		if name != "data" {
			continue
		}
		if isFirst {
			isFirst = false
			close(l.started)
		}
		if l.taken == nil {
			_, _ = io.Copy(io.Discard, l.Conn) // until it is closed
			return
		}
		if taken, ok := l.taken(event, value); ok {
			l.notified = append(l.notified, notification{taken, wallClock()})
		}
	}
}

// addDelays adds, as latencies, the time from each answer to a customer to the notification of the listener. It is 0 if the
// notification came first. It is an error if the listener was not notified of all answers.
func (l *stream) addDelays(m *measurement, answered []time.Time) error {
	previous := 0
	for _, n := range l.notified {
		taken := min(int(n.taken), len(answered))
		for k := previous; k < taken; k++ {
			m.latencies = append(m.latencies, max(0, n.at.Sub(answered[k])))
		}
		previous = max(previous, taken)
	}
	if previous < len(answered) {
		return fmt.Errorf("a listener was notified of %d of %d seats", previous, len(answered))
	}
	return nil
}

// takenOfEvent reads the stream of an event with ampleSeats.
func takenOfEvent(_, data string) (taken int64, ok bool) {
	var m struct{ AvailableSeats *int64 }
	if json.Unmarshal([]byte(data), &m) != nil || m.AvailableSeats == nil {
		return 0, false
	}
	return ampleSeats - *m.AvailableSeats, true
}

// newTakenOfHall reads a stream of a hall's map.
func newTakenOfHall() takenBy {
	free := map[string]int64{} // by section
	return func(event, data string) (taken int64, ok bool) {
		var changed []live.SectionAvailability
		if event != "sections" || json.Unmarshal([]byte(data), &changed) != nil {
			return 0, false
		}
		for _, s := range changed {
			free[s.Key] = s.Available
		}
		taken = hallSeats
		for _, available := range free {
			taken -= available
		}
		return taken, true
	}
}
