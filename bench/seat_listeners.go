package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/live"
)

const (
	// busiestSection is the section that a tenth of the listeners of a map ask for. It is sold out within the
	// measurement, others are not.
	busiestSection = 7
	// timedSeatListeners record when they are told of each seat: so many of each kind.
	timedSeatListeners = 25
)

// withSeatListeners measures what listeners of a map cost the sale, how late they are notified, and what they
// receive.
func withSeatListeners(s settings) (rows []*result) {
	const rate = 2000
	for _, listeners := range []int{0, 500, 5000} {
		rows = append(rows, &result{
			Variant: fmt.Sprintf("%d listeners", listeners), Load: fmt.Sprintf("%d a second", rate),
			measure: func(ctx context.Context) (measurement, error) { return sellToListeners(ctx, s, listeners, rate) },
		})
	}
	return rows
}

func sellToListeners(ctx context.Context, s settings, count, rate int) (m measurement, err error) {
	e, err := newHallEnv(ctx, s.mongoURI, true)
	if err != nil {
		return m, err
	}
	plan, err := e.createPlan(ctx)
	if err != nil {
		return m, err
	}
	hall, err := e.createHall(ctx, plan)
	if err != nil {
		return m, err
	}
	user, err := e.Users.CreateUser(ctx, "Ada", "ada@example.com")
	if err != nil {
		return m, err
	}
	to, err := startServer(ctx, engineName, serverConfig{binDir: s.binDir, mongoURI: s.mongoURI, database: e.DB.Name()})
	if err != nil {
		return m, err
	}
	defer to.Stop()
	listeners, err := listenToSeats(ctx, to, hall, count)
	defer func() {
		for _, l := range listeners {
			l.close()
		}
	}()
	if err != nil {
		return m, err
	}
	seats, err := sellSeats(ctx, s, to, rate, hall, user, &m)
	if err != nil {
		return m, err
	}
	const lastNotificationDelay = time.Second
	sleep(ctx, lastNotificationDelay)
	if count > 0 {
		note, err := noteOfListeners(to, listeners, seats, m.Seconds)
		if err != nil {
			return m, err
		}
		m.note = strings.TrimPrefix(m.note+"; "+note, "; ")
	}
	to.Stop()
	err = e.check(ctx, expectation{
		seats: int64(len(seats)), grants: int64(m.Granted), unknown: int64(m.unknown * maxTogether), counters: true, locks: true,
	})
	if err != nil {
		return m, err
	}
	return m, e.drop(ctx)
}

// sellSeats locks 1 to 4 adjacent seats at a fixed rate. It returns when the lock of each seat was answered.
func sellSeats(
	ctx context.Context, s settings, to *server, rate int, hall holdfast.ID, user holdfast.User, m *measurement,
) (answered map[string]time.Time, err error) {
	api, closeIdle := to.client(rate)
	defer closeIdle()
	const averageSeats = (1 + maxTogether) / 2.
	everyBusy := max(1, int(averageSeats*float64(rate)*s.duration.Seconds()/(rowsInSection*seatsInRow)))
	answered = map[string]time.Time{}
	next := make(chan block) // one place after the other, so that no two requests name the same seats
	picking, stop := context.WithCancel(ctx)
	defer stop()
	go pickSeats(picking, everyBusy, next)
	*m, err = onSchedule(ctx, s, rate, func(n int) (func(at time.Time), error) {
		b := <-next
		_, err := api.AcquireLock(ctx, client.LockRequest{
			EventID: hall.String(), UserID: user.ID.String(), SeatIDs: b.ids(), IdempotencyKey: strconv.Itoa(n),
		})
		return func(at time.Time) {
			for _, id := range b.ids() {
				answered[id] = at
			}
		}, err
	})
	return answered, err
}

// pickSeats sends free seats until ctx ends. Each everyBusy-th choice is of the busiest section while it has some.
func pickSeats(ctx context.Context, everyBusy int, next chan<- block) {
	var p picture
	busy := block{row: busiestSection * rowsInSection}
	for n := 0; ctx.Err() == nil; n++ {
		b := p.pick(1 + n%maxTogether)
		if n%everyBusy == 0 && busy.row < (busiestSection+1)*rowsInSection {
			b = block{row: busy.row, first: busy.first, seats: maxTogether}
			if busy.first += maxTogether; busy.first == seatsInRow {
				busy = block{row: busy.row + 1}
			}
			if p[b.row].Load()&b.mask() != 0 {
				continue // some of them were taken at random
			}
		}
		p.take(b)
		select {
		case next <- b:
		case <-ctx.Done():
		}
	}
}

// seatListener is a connection to a stream of seats.
type seatListener struct {
	conn     net.Conn
	received atomic.Int64 // bytes
	whole    int64        // bytes of the first messages
	ofASeat  bool         // it asks for a section
	timed    bool
	seats    map[string]time.Time // when it was told of each seat, if it is timed and ofASeat
	totals   []notification       // seats taken in all, if it is timed
	started  chan struct{}
	done     chan struct{}
}

func (l *seatListener) close() {
	_ = l.conn.Close() // it only reads
	<-l.done
}

// Read counts what is received.
func (l *seatListener) Read(b []byte) (int, error) {
	n, err := l.conn.Read(b)
	l.received.Add(int64(n))
	return n, err
}

// listenToSeats opens streams, of which each tenth asks for the busiest section.
func listenToSeats(ctx context.Context, to *server, hall holdfast.ID, count int) (all []*seatListener, err error) {
	const everyOfASeat = 10
	timed := map[bool]int{}
	for n := range count {
		l := &seatListener{ofASeat: n%everyOfASeat == 0, seats: map[string]time.Time{}, started: make(chan struct{}), done: make(chan struct{})}
		timed[l.ofASeat]++
		l.timed = timed[l.ofASeat] <= timedSeatListeners
		if l.conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", to.address); err != nil {
			return all, err
		}
		query := ""
		if l.ofASeat {
			query = fmt.Sprint("?section=", busiestSection)
		}
		_, err = fmt.Fprintf(l.conn, "GET /api/events/%s/seats/stream%s HTTP/1.1\r\nHost: %s\r\n\r\n", hall, query, to.address)
		all = append(all, l)
		go l.read()
		if err != nil {
			return all, err
		}
		select {
		case <-l.started:
		case <-l.done:
			return all, errors.New("a stream of seats ended before its first message")
		case <-ctx.Done():
			return all, ctx.Err()
		}
	}
	for _, l := range all {
		l.whole = l.received.Load()
	}
	return all, nil
}

// read reads until the connection ends.
func (l *seatListener) read() {
	defer close(l.done)
	if !l.timed {
		first := make([]byte, 1)
		if _, err := io.ReadFull(l, first); err == nil {
			close(l.started)
			_, _ = io.Copy(io.Discard, l) // until it is closed
		}
		return
	}
	response, err := http.ReadResponse(bufio.NewReader(l), nil)
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	const longestLine = 1 << 20
	lines, event := bufio.NewScanner(response.Body), ""
	lines.Buffer(nil, longestLine)
	free := map[string]int64{}
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			event = value
		case "data":
			l.note(event, value, free)
		}
	}
}

// note records a message.
func (l *seatListener) note(event, data string, free map[string]int64) {
	at := wallClock()
	if event == "seats" {
		var m live.SectionChanges
		if json.Unmarshal([]byte(data), &m) == nil {
			for _, id := range m.Taken {
				l.seats[id] = at
			}
		}
		return
	}
	var changed []live.SectionAvailability
	if event != "sections" || json.Unmarshal([]byte(data), &changed) != nil {
		return
	}
	if len(free) == 0 {
		defer close(l.started)
	}
	for _, s := range changed {
		free[s.Key] = s.Available
	}
	n := notification{taken: hallSeats, at: at}
	for _, available := range free {
		n.taken -= available
	}
	l.totals = append(l.totals, n)
}

// noteOfListeners compares what the listeners were told, and when, with the answers. The goals are those of a
// quiet machine.
func noteOfListeners(to *server, listeners []*seatListener, answered map[string]time.Time, seconds float64) (string, error) {
	process, err := readProcess(to.address)
	if err != nil {
		return "", err
	}
	for _, l := range listeners {
		l.close() // nothing records any more
	}
	answers := slices.SortedFunc(maps.Values(answered), time.Time.Compare)
	var overviews []*listener
	var ofSeats measurement
	received, counts := map[bool]float64{}, map[bool]float64{}
	for _, l := range listeners {
		received[l.ofASeat] += float64(l.received.Load() - l.whole)
		counts[l.ofASeat]++
		switch {
		case !l.timed:
			continue
		case l.totals[len(l.totals)-1].taken < int64(len(answers)):
			return "", errors.New("a listener was not told of all seats")
		}
		overviews = append(overviews, &listener{notifications: l.totals})
		for id, at := range l.seats {
			if before, isAnswered := answered[id]; isAnswered {
				ofSeats.latencies = append(ofSeats.latencies, max(0, at.Sub(before)))
			}
		}
	}
	heard := notificationDelays(overviews, answers)
	rate := func(ofASeat bool) float64 {
		const kilo = 1000
		return received[ofASeat] / max(1, counts[ofASeat]) / seconds / kilo
	}
	return fmt.Sprintf("notified %.0f ms after the answer, p99 %.0f ms (goal 300), of single seats p99 %.0f ms; "+
		"%.1f kB/s a listener, %.1f kB/s with a section (goal 25); the API has %.0f MiB (goal 400)",
		inMilliseconds(heard.quantile(.5)), inMilliseconds(heard.quantile(.99)), inMilliseconds(ofSeats.quantile(.99)),
		rate(false), rate(true), process.memory), nil
}
