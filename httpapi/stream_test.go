package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/live"
)

// streamTimeout bounds the wait for a message.
const streamTimeout = 20 * time.Second

// sse is one message of a stream.
type sse struct {
	id    int64
	event string
	data  string
	state live.State // of availability
}

// listener reads a stream until disconnect is called or the test ends.
type listener struct {
	t          testing.TB
	messages   chan sse
	disconnect context.CancelFunc
}

// listen opens the stream of an event's availability.
func (s *site) listen(event, lastID string) *listener {
	s.t.Helper()
	return s.listenTo("/api/events/"+event+"/stream", lastID)
}

func (s *site) listenTo(path, lastID string) *listener {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.server.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if lastID != "" {
		request.Header.Set("Last-Event-ID", lastID)
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("%d %s", response.StatusCode, response.Header)
	}
	l := &listener{t: s.t, messages: make(chan sse, 1000), disconnect: cancel}
	s.t.Cleanup(func() {
		cancel()
		_ = response.Body.Close() // cancelled
	})
	go l.read(bufio.NewScanner(response.Body))
	return l
}

func (l *listener) read(lines *bufio.Scanner) {
	defer close(l.messages)
	var m sse
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "id":
			var err error
			if m.id, err = strconv.ParseInt(value, 10, 64); err != nil {
				l.t.Error(err)
			}
		case "event":
			m.event = value
		case "data":
			m.data = value
			if m.event != "availability" {
				continue
			}
			if err := json.Unmarshal([]byte(value), &m.state); err != nil {
				l.t.Error(err)
			}
		case "":
			if m.event != "" {
				l.messages <- m
			}
			m = sse{}
		}
	}
}

// next returns the next message, or the zero value at the stream's end.
func (l *listener) next() sse {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), streamTimeout)
	defer cancel()
	select {
	case m := <-l.messages:
		return m
	case <-ctx.Done():
		l.t.Fatal("no message in time")
		return sse{}
	}
}

// waitForText receives until a message contains the text.
func waitForText(t *testing.T, l *live.Listener, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), streamTimeout)
	defer cancel()
	received := ""
	for !strings.Contains(received, want) {
		select {
		case <-l.Ready():
			text, _ := l.Receive()
			received += string(text)
		case <-ctx.Done():
			t.Fatalf("no %s in %q", want, received)
		}
	}
}

// waitForSeats reads on to the message with this number of available seats.
func (l *listener) waitForSeats(available int64) (m sse) {
	l.t.Helper()
	for {
		before := m.id
		if m = l.next(); m.event != "availability" || m.id < before {
			l.t.Fatalf("got %+v after %d", m, before)
		}
		if m.state.AvailableSeats == available {
			return m
		}
	}
}

// A listener receives the state, and then each change of it.
func TestStream_SendsTheStateAndEachChange(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(100), s.user()
	l := s.listen(event, "")
	first := l.next()
	if first.event != "availability" || first.state != (live.State{EventID: event, TotalSeats: 100, AvailableSeats: 100, Status: "ON_SALE"}) {
		t.Fatalf("first %+v", first)
	}
	lock := s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 3}), 201, "").text("id")
	locked := l.waitForSeats(97)
	s.want(s.call("DELETE", "/api/locks/"+lock, nil), 200, "")
	released := l.waitForSeats(100)
	s.want(s.call("PATCH", "/api/events/"+event, fields{"totalSeats": 50, "status": "CLOSED"}), 200, "")
	closed := l.waitForSeats(50)
	if closed.state.Status != "CLOSED" || closed.state.TotalSeats != 50 {
		t.Errorf("closed: %+v", closed)
	}
	if locked.id <= first.id || released.id <= locked.id || closed.id <= released.id {
		t.Errorf("the IDs don't rise: %d, %d, %d, %d", first.id, locked.id, released.id, closed.id)
	}
	s.want(s.call("GET", "/api/events/"+mongodb.NewID().String()+"/stream", nil), 404, "EVENT_NOT_FOUND")
	s.want(s.call("GET", "/api/events/nonsense/stream", nil), 422, "VALIDATION_FAILED")
}

// A client that reconnects with its last ID receives the messages since then. An ID
// that is too old, in the future or invalid gets a reset and the state.
func TestStream_ResumesAfterTheLastID(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(100), s.user()
	connected, reconnecting := s.listen(event, ""), s.listen(event, "")
	first := reconnecting.next()
	reconnecting.disconnect()
	var missed []sse
	for n := range int64(3) {
		s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1}), 201, "")
		missed = append(missed, connected.waitForSeats(99-n))
	}
	resumed := s.listen(event, strconv.FormatInt(first.id, 10))
	for _, m := range missed {
		if got := resumed.next(); got != m {
			t.Errorf("missed %+v, got %+v", m, got)
		}
	}
	for _, id := range []string{"1", "0", "-5", "x", strconv.FormatInt(1<<62, 10), "99999999999999999999"} {
		t.Run("Last-Event-ID "+id, func(t *testing.T) {
			l := s.in(t).listen(event, id)
			reset, state := l.next(), l.next()
			if reset.event != "reset" || state.event != "availability" || state.state.AvailableSeats != 97 {
				t.Errorf("got %+v, %+v", reset, state)
			}
		})
	}
}

// Clients that do not read their streams delay neither requests nor other listeners.
func TestStream_SlowListenersDelayNoOtherListener(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(10_000), s.user()
	for range 20 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/api/events/"+event+"/stream", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := s.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() }) // unread until here
	}
	l := s.listen(event, "")
	var requests sync.WaitGroup
	for range 8 {
		requests.Go(func() {
			for range 100 {
				s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1}), 201, "")
			}
		})
	}
	requests.Wait()
	l.waitForSeats(9200)
}

// If MongoDB's change stream ends, listeners get a reset and then further changes.
func TestStream_ContinuesAfterTheChangeStreamEnds(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "holdfast")
	hub := live.NewHub(w.Store, slog.New(w.Log))
	defer hub.Close()
	event := w.Event(100)
	ctx, cancel := context.WithTimeout(t.Context(), streamTimeout)
	defer cancel()
	l, err := hub.Listen(ctx, event, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	waitForText(t, l, `"availableSeats":100`)
	w.Acquire(event, 1, testenv.Soon())
	waitForText(t, l, `"availableSeats":99`)
	const changeStreamFatalError = 280
	restore := w.FailCommands("getMore", bson.D{{Key: "times", Value: 1}}, bson.D{{Key: "errorCode", Value: changeStreamFatalError}})
	waitForText(t, l, "event: reset")
	restore()
	w.Acquire(event, 1, testenv.Soon())
	waitForText(t, l, `"availableSeats":98`)
	if hub.Listeners() != 1 {
		t.Errorf("%d listeners", hub.Listeners())
	}
}

// Closing the hub ends its listeners, and it accepts no more.
func TestHub_CloseEndsEveryListener(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	hub := live.NewHub(w.Store, slog.New(w.Log))
	l, err := hub.Listen(t.Context(), w.Event(1), 0)
	if err != nil {
		t.Fatal(err)
	}
	hub.Close()
	for ended := false; !ended; {
		<-l.Ready()
		_, ended = l.Receive()
	}
	l.Close()
	if _, err := hub.Listen(t.Context(), w.Event(1), 0); err == nil {
		t.Error("a closed hub accepted a listener")
	}
}

// slowSource calls afterRead between reading a state and returning it, so that
// later changes arrive before the state.
type slowSource struct {
	*store.Store
	afterRead func()
}

func (s *slowSource) EventAt(ctx context.Context, id holdfast.ID) (holdfast.Event, int64, error) {
	e, at, err := s.Store.EventAt(ctx, id)
	s.afterRead()
	return e, at, err
}

// A change that arrives while the first state is read is not lost.
func TestHub_AppliesChangesDuringTheFirstRead(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	watched := w.Event(10)
	source := &slowSource{Store: w.Store, afterRead: func() {}}
	hub := live.NewHub(source, slog.New(w.Log))
	defer hub.Close()
	other, err := hub.Listen(t.Context(), watched, 0) // starts the change stream
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	event := w.Event(100)
	source.afterRead = func() {
		w.Acquire(event, 1, testenv.Soon())
		w.Acquire(watched, 1, testenv.Soon())
		waitForText(t, other, `"availableSeats":9,`) // the earlier change has arrived too
	}
	l, err := hub.Listen(t.Context(), event, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	<-l.Ready()
	if text, _ := l.Receive(); !strings.Contains(string(text), `"availableSeats":99,`) {
		t.Errorf("got %s", text)
	}
}

// staleSource answers the first two reads with an old state, like a primary that
// was deposed and does not know it yet.
type staleSource struct {
	*store.Store
	event holdfast.Event
	seq   int64
	reads atomic.Int64
}

func (s *staleSource) EventAt(ctx context.Context, id holdfast.ID) (holdfast.Event, int64, error) {
	if s.reads.Add(1) < 3 {
		return s.event, s.seq, nil
	}
	return s.Store.EventAt(ctx, id)
}

func TestHub_IgnoresTheStateOfADeposedPrimary(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	stale, seq, err := w.Store.EventAt(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	w.Acquire(event, 1, testenv.Soon())
	source := &staleSource{Store: w.Store, event: stale, seq: seq}
	hub := live.NewHub(source, slog.New(w.Log))
	defer hub.Close()
	l, err := hub.Listen(t.Context(), event, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	<-l.Ready()
	if text, _ := l.Receive(); !strings.Contains(string(text), `"availableSeats":9,`) || source.reads.Load() != 3 {
		t.Errorf("got %s after %d reads", text, source.reads.Load())
	}
}

// Removing the field oversold is a change too.
func TestStream_ShowsThatAnEventIsNoLongerOversold(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.w.Event(10)
	s.w.Set("events", event, bson.D{{Key: "availableSeats", Value: 0}, {Key: "oversold", Value: 2}})
	s.w.Insert("seatlocks", bson.D{
		{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: event}, {Key: "seats", Value: 12}, {Key: "status", Value: "CONSUMED"},
	})
	l := s.listen(event.String(), "")
	if m := l.next(); m.state.Oversold != 2 {
		t.Errorf("the first message is %+v", m)
	}
	s.want(s.call("PATCH", "/api/events/"+event.String(), fields{"totalSeats": 14}), 200, "")
	if m := l.waitForSeats(2); m.state.Oversold != 0 || m.state.TotalSeats != 14 {
		t.Errorf("got %+v", m)
	}
}

// A repair removes the field oversold, which is a change too.
func TestStream_ShowsThatARepairRemovedOversold(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.w.Event(10)
	s.w.Set("events", event, bson.D{{Key: "availableSeats", Value: 0}, {Key: "oversold", Value: 2}})
	s.w.Insert("seatlocks", bson.D{
		{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: event}, {Key: "seats", Value: 9}, {Key: "status", Value: "CONSUMED"},
	})
	l := s.listen(event.String(), "")
	if m := l.next(); m.state.Oversold != 2 {
		t.Errorf("the first message is %+v", m)
	}
	s.w.Recover()
	if m := l.waitForSeats(1); m.state.Oversold != 0 {
		t.Errorf("got %+v", m)
	}
}

// HEAD of a stream has its headers and ends.
func TestStream_HeadEnds(t *testing.T) {
	t.Parallel()
	s := open(t)
	a := s.call("HEAD", "/api/events/"+s.event(1)+"/stream", nil)
	if a.status != 200 || a.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%d %v", a.status, a.header)
	}
	conn := s.begin(t, "HEAD /api/events/"+s.event(1)+"/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").conn
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(conn); err != nil { // until the server closes the connection
		t.Errorf("%v after %q", err, text)
	}
}
