package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/live"
	"github.com/holdfast-dev/holdfast/seats"
)

// sse is one message of a stream.
type sse struct {
	id    int64
	event string
	state live.State
}

// listener reads a stream until the test ends.
type listener struct {
	t        *testing.T
	messages chan sse
	leave    context.CancelFunc
}

func (s *site) listen(event, lastID string) *listener {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.server.URL+"/api/events/"+event+"/stream", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if lastID != "" {
		request.Header.Set("Last-Event-ID", lastID)
	}
	response, err := s.client.Do(request) //nolint:bodyclose // by the goroutine below
	if err != nil {
		s.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("%d %s", response.StatusCode, response.Header)
	}
	l := &listener{t: s.t.(*testing.T), messages: make(chan sse, 1000), leave: cancel}
	go func() {
		defer close(l.messages)
		defer response.Body.Close() //nolint:errcheck // read only
		l.read(bufio.NewScanner(response.Body))
	}()
	s.t.Cleanup(cancel)
	return l
}

func (l *listener) read(lines *bufio.Scanner) {
	var m sse
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "id":
			m.id, _ = strconv.ParseInt(value, 10, 64) //nolint:errcheck // 0 fails the test
		case "event":
			m.event = value
		case "data":
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

// next is the next message, or the zero one at the stream's end.
func (l *listener) next() sse {
	l.t.Helper()
	select {
	case m := <-l.messages:
		return m
	case <-time.After(20 * time.Second):
		l.t.Fatal("no message")
		return sse{}
	}
}

// until reads on to the message of so many seats.
func (l *listener) until(available int64) (m sse) {
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

// A listener is told what there is, and then each change, whoever makes it.
func TestStream_TellsOfEachChange(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(100), s.user()
	l := s.listen(event, "")
	first := l.next()
	if first.event != "availability" || first.state != (live.State{EventID: event, TotalSeats: 100, AvailableSeats: 100, Status: "ON_SALE"}) {
		t.Fatalf("first %+v", first)
	}
	lock := s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 3}), 201, "").text("id")
	locked := l.until(97)
	s.want(s.call("DELETE", "/api/locks/"+lock, nil), 200, "")
	released := l.until(100)
	s.want(s.call("PATCH", "/api/events/"+event, fields{"totalSeats": 50, "status": "CLOSED"}), 200, "")
	closed := l.until(50)
	if closed.state.Status != "CLOSED" || closed.state.TotalSeats != 50 || locked.id <= first.id || released.id <= locked.id || closed.id <= released.id {
		t.Errorf("got %+v, %+v, %+v", locked, released, closed)
	}
	s.want(s.call("GET", "/api/events/"+ids.New().String()+"/stream", nil), 404, "EVENT_NOT_FOUND")
	s.want(s.call("GET", "/api/events/nonsense/stream", nil), 422, "VALIDATION_FAILED")
}

// Who comes back with the last ID hears what came since; with one that is too old,
// of the future or made up, a reset and the state.
func TestStream_Resumes(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(100), s.user()
	stays, leaves := s.listen(event, ""), s.listen(event, "")
	first := leaves.next()
	leaves.leave()
	var missed []sse
	for n := range int64(3) {
		s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1}), 201, "")
		missed = append(missed, stays.until(99-n))
	}
	back := s.listen(event, strconv.FormatInt(first.id, 10))
	for _, m := range missed {
		if got := back.next(); got != m {
			t.Errorf("missed %+v, got %+v", m, got)
		}
	}
	for _, id := range []string{"1", "0", "-5", "x", strconv.FormatInt(1<<62, 10), "99999999999999999999"} {
		late := s.listen(event, id)
		if reset, state := late.next(), late.next(); reset.event != "reset" || state.event != "availability" || state.state.AvailableSeats != 97 {
			t.Errorf("Last-Event-ID %s: %+v, %+v", id, reset, state)
		}
	}
}

// One who does not read holds up nobody, and is parted with.
func TestStream_ASlowListenerHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(10_000), s.user()
	for range 20 { // they never read their answers
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/api/events/"+event+"/stream", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := s.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close() //nolint:errcheck // read only
	}
	l := s.listen(event, "")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 1}), 201, "")
			}
		})
	}
	all.Wait()
	l.until(9200)
}

// Where MongoDB's stream of changes breaks off, listeners are told to forget what
// they know, and hear on.
func TestStream_GoesOnAfterTheChangesBreakOff(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "holdfast")
	hub := live.NewHub(w.Seats, slog.New(w.Log))
	defer hub.Close()
	event := w.Event(100)
	l, err := hub.Listen(t.Context(), event, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	hears := func(word string) {
		t.Helper()
		deadline := time.After(20 * time.Second)
		for heard := ""; !strings.Contains(heard, word); {
			select {
			case <-l.Woken():
				text, _ := l.Take(false)
				heard += string(text)
			case <-deadline:
				t.Fatalf("%s was not told, but %q", word, heard)
			}
		}
	}
	hears(`"availableSeats":100`)
	w.Take(event, 1, testenv.Soon())
	hears(`"availableSeats":99`)
	off := w.FailCommands("getMore", bson.D{{Key: "times", Value: 1}}, bson.D{{Key: "errorCode", Value: 280}}) // ChangeStreamFatalError
	hears("event: reset")
	off()
	w.Take(event, 1, testenv.Soon())
	hears(`"availableSeats":98`)
	if hub.Listeners() != 1 {
		t.Errorf("%d listeners", hub.Listeners())
	}
}

// A hub that closes parts with its listeners, and takes no more.
func TestStream_EndsWithTheHub(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	hub := live.NewHub(w.Seats, slog.New(w.Log))
	l, err := hub.Listen(t.Context(), w.Event(1), 0)
	if err != nil {
		t.Fatal(err)
	}
	hub.Close()
	for ended := false; !ended; {
		<-l.Woken()
		_, ended = l.Take(false)
	}
	l.Close()
	if _, err := hub.Listen(t.Context(), w.Event(1), 0); err == nil {
		t.Error("it takes listeners after its end")
	}
}

// slowSource answers reads late: what is committed meanwhile is heard before the
// state that was read.
type slowSource struct {
	*seats.Service
	during func()
}

func (s *slowSource) EventAt(ctx context.Context, id ids.ID) (seats.Event, int64, error) {
	e, at, err := s.Service.EventAt(ctx, id)
	s.during()
	return e, at, err
}

// A change that is heard while the first state is being read is not lost.
func TestStream_HearsWhatChangesDuringTheFirstRead(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	heard := w.Event(10)
	source := &slowSource{w.Seats, func() {}}
	hub := live.NewHub(source, slog.New(w.Log))
	defer hub.Close()
	other, err := hub.Listen(t.Context(), heard, 0) // the stream runs from here on
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	event := w.Event(100)
	source.during = func() {
		w.Take(event, 1, testenv.Soon())
		w.Take(heard, 1, testenv.Soon())
		for told := ""; !strings.Contains(told, `"availableSeats":9,`); { // then the one before it was heard too
			<-other.Woken()
			text, _ := other.Take(false)
			told += string(text)
		}
	}
	l, err := hub.Listen(t.Context(), event, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	<-l.Woken()
	if text, _ := l.Take(false); !strings.Contains(string(text), `"availableSeats":99,`) {
		t.Errorf("told %s", text)
	}
}

// pastSource is asked of a primary that was deposed and does not know it: at first it
// tells what was so before.
type pastSource struct {
	*seats.Service
	past  seats.Event
	at    int64
	reads atomic.Int64
}

func (s *pastSource) EventAt(ctx context.Context, id ids.ID) (seats.Event, int64, error) {
	if s.reads.Add(1) < 3 {
		return s.past, s.at, nil
	}
	return s.Service.EventAt(ctx, id)
}

// What a deposed primary tells is past: it is not told to anybody.
func TestStream_ADeposedPrimaryIsNotHeard(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	past, at, err := w.Seats.EventAt(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	w.Take(event, 1, testenv.Soon())
	source := &pastSource{Service: w.Seats, past: past, at: at}
	hub := live.NewHub(source, slog.New(w.Log))
	defer hub.Close()
	l, err := hub.Listen(t.Context(), event, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	<-l.Woken()
	if text, _ := l.Take(false); !strings.Contains(string(text), `"availableSeats":9,`) || source.reads.Load() != 3 {
		t.Errorf("told %s after %d reads", text, source.reads.Load())
	}
}

// What is taken off an event is heard too: it is no longer oversold.
func TestStream_TellsThatAnEventIsNoLongerOversold(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.w.Event(10)
	s.w.Set("events", event, bson.D{{Key: "availableSeats", Value: 0}, {Key: "oversold", Value: 2}})
	s.w.Insert("seatlocks", bson.D{{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: event}, {Key: "seats", Value: 12}, {Key: "status", Value: "CONSUMED"}})
	l := s.listen(event.String(), "")
	if m := l.next(); m.state.Oversold != 2 {
		t.Errorf("told %+v first", m)
	}
	s.want(s.call("PATCH", "/api/events/"+event.String(), fields{"totalSeats": 14}), 200, "")
	if m := l.until(2); m.state.Oversold != 0 || m.state.TotalSeats != 14 {
		t.Errorf("told %+v", m)
	}
}
