package chaos_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/live"
)

// subscriber follows the availability of one event while faults are injected. When its stream
// ends or is silent for too long, it reconnects to the other API with the last event ID, as a
// browser behind a load balancer does.
type subscriber struct {
	*clients
	event *eventOnSale
	apis  []string // addresses of the processes, without proxies

	mu       sync.Mutex
	observed map[availability]string // each state that was received, and from which API first
	last     availability
	lastID   int64
	streams  int // that it began to read
	resets   int
}

// silenceTimeout ends a stream that sends nothing. While the workload runs, an event changes
// once or twice a second.
const silenceTimeout = 3 * time.Second

// subscribe subscribes to every event, once at each API first. The result unsubscribes all.
func (c *clients) subscribe(cl *cluster, rng *rand.Rand) (subscribers []*subscriber, unsubscribe func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, event := range c.events {
		for _, first := range apiNames {
			s := &subscriber{clients: c, event: event, observed: map[availability]string{}}
			for _, name := range apiNames {
				s.apis = append(s.apis, cl.nodes[name].addr)
			}
			if first == apiNames[1] {
				slices.Reverse(s.apis)
			}
			subscribers = append(subscribers, s)
			before := randomMillis(rng, 0, 4000) // so that some begin while a fault lasts
			all.Go(func() {
				delay(ctx, before)
				s.run(ctx)
			})
		}
	}
	return subscribers, func() {
		cancel()
		all.Wait()
	}
}

// run reads one stream after the other until ctx ends.
func (s *subscriber) run(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		api := s.apis[n%len(s.apis)]
		if err := s.readStream(ctx, api); err != nil {
			s.violation("subscribers", "event %s at %s: %v", s.event.id, api, err)
			return
		}
		delay(ctx, 100*time.Millisecond)
	}
}

var (
	errNoStream     = errors.New("no stream")
	errIDsNotRising = errors.New("IDs do not rise")
)

// readStream reads one stream to its end. It returns an error only for a violation; a
// connection that fails is none, since the process may be down.
func (s *subscriber) readStream(ctx context.Context, api string) error {
	response, stop := s.connect(ctx, api)
	if response == nil {
		return nil
	}
	defer closeQuietly(response.Body)
	defer stop() // Before the body is closed: a close reads the body to its end.
	if response.StatusCode == http.StatusServiceUnavailable {
		return nil
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: status %d", errNoStream, response.StatusCode)
	}
	var err error
	id, reset := s.currentID(), false
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case field == "event" && value == "reset":
			reset = true
			s.mu.Lock()
			s.resets++
			s.mu.Unlock()
		case field == "id":
			if id, err = strconv.ParseInt(value, 10, 64); err != nil {
				return err
			}
		case field == "data" && strings.HasPrefix(value, `{"eventId"`):
			if err := s.record(message{data: value, id: id, afterReset: reset, api: api}); err != nil {
				return err
			}
			reset = false
		}
	}
	return nil
}

// connect requests a stream with the last event ID. It returns nil if there is no answer.
// stop closes the connection.
func (s *subscriber) connect(ctx context.Context, api string) (response *http.Response, stop func()) {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", api)
	if err != nil {
		return nil, nil
	}
	closeAtEnd := context.AfterFunc(ctx, func() { closeQuietly(conn) })
	stop = func() {
		closeAtEnd()
		closeQuietly(conn)
	}
	s.mu.Lock()
	s.streams++
	s.mu.Unlock()
	request := fmt.Sprintf("GET /api/events/%s/stream HTTP/1.1\r\nHost: %s\r\n", s.event.id, api)
	if lastID := s.currentID(); lastID > 0 {
		request += fmt.Sprintf("Last-Event-ID: %d\r\n", lastID)
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		stop()
		return nil, nil
	}
	response, err = http.ReadResponse(bufio.NewReader(silenceReader{conn}), nil)
	if err != nil {
		stop()
		return nil, nil
	}
	return response, stop
}

func (s *subscriber) currentID() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastID
}

// silenceReader fails if a connection is silent for longer than silenceTimeout.
type silenceReader struct{ net.Conn }

func (r silenceReader) Read(b []byte) (int, error) {
	if err := r.SetReadDeadline(time.Now().Add(silenceTimeout)); err != nil {
		return 0, err
	}
	return r.Conn.Read(b)
}

// message is one message of a stream.
type message struct {
	data       string
	id         int64
	afterReset bool
	api        string
}

// record keeps the state that a message contains, and returns an error if its ID does not rise.
func (s *subscriber) record(m message) error {
	var state live.State
	if err := json.Unmarshal([]byte(m.data), &state); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.id <= s.lastID && !m.afterReset {
		return fmt.Errorf("%w: %d after %d", errIDsNotRising, m.id, s.lastID)
	}
	s.last, s.lastID = availability{Total: state.TotalSeats, Available: state.AvailableSeats, Oversold: state.Oversold}, m.id
	if _, known := s.observed[s.last]; !known {
		s.observed[s.last] = m.api
	}
	return nil
}

// checkSubscribers: every observed state was committed, and in the end every subscriber knows
// the present state.
func (c *clients) checkSubscribers(subscribers []*subscriber, stream *streamChecker, final finalState) {
	for _, s := range subscribers {
		want := final.events[s.event.id]
		poll(expiryTimeout, 50*time.Millisecond, func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.last.Total == want.Total && s.last.Available == want.Available
		})
		s.mu.Lock()
		if s.last.Total != want.Total || s.last.Available != want.Available {
			c.violation("subscribers", "the subscriber of event %s observed %+v last, with the ID %d, but the document is %+v",
				s.event.id, s.last, s.lastID, want)
		}
		for state, api := range s.observed {
			if !stream.wasCommitted(parseID(c.t, s.event.id), state) {
				c.violation("subscribers", "%s sent the state %+v of event %s, which was never committed", api, state, s.event.id)
			}
		}
		s.mu.Unlock()
	}
}
