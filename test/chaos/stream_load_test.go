package chaos_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// 5,000 connections subscribe to one event of one process while it sells. A hundred of them
// never read. The rest receive the last change, memory is bounded, and the sale goes on.
//
// The test is not parallel: it needs the whole machine.
func TestStream_FiveThousandSubscribersReceiveTheLastChange(t *testing.T) {
	const subscribers, silent = 5000, 100
	env := testenv.New(t)
	p, c := startAPI(t, env, 64)
	user, event := createUser(t, c), createEvent(t, c, 10_000_000)
	s := &streamLoad{}
	s.last.Store("never sent")
	for i := range subscribers {
		if conn := s.connect(t, strings.TrimPrefix(c.base, "http://"), event); i >= silent {
			s.began.Add(1)
			s.ended.Go(func() { s.read(conn) })
		}
	}
	s.began.Wait()
	var sold load
	rate := sold.run(t, c, lockTarget{event: event, user: user}, 64, 4*time.Second)
	available, _ := env.Available(parseID(t, event))
	s.last.Store(fmt.Sprintf(`"availableSeats":%d,`, available-1))
	mustCreate(t, c, "/api/locks", map[string]any{"eventId": event, "userId": user, "seats": 1}) // the last change
	sent := time.Now()
	ended := make(chan struct{})
	go func() {
		s.ended.Wait()
		close(ended)
	}()
	receive(ended, 30*time.Second)
	if n := s.received.Load(); n != subscribers-silent {
		t.Errorf("%d subscribers received the last change, want %d: %s", n, subscribers-silent, p.log)
	}
	t.Logf("%d subscribers, meanwhile %.0f locks/s, %d messages; %d received the last change within %v; at most %d MiB resident",
		subscribers, rate, s.messages.Load(), s.received.Load(), time.Since(sent).Round(time.Millisecond), residentMiB(t, p))
	if used := residentMiB(t, p); used > maxResidentMiB {
		t.Errorf("%d MiB resident", used)
	}
	for _, conn := range s.connections {
		closeQuietly(conn)
	}
	if err := p.stop(t); err != nil {
		t.Error(err)
	}
	testenv.CheckInvariants(t, env.DB.Database)
}

// streamLoad is many subscribers of one event.
type streamLoad struct {
	connections        []net.Conn
	last               atomic.Value // text of the message that every subscriber must receive
	began, ended       sync.WaitGroup
	messages, received atomic.Int64
}

// connect opens a stream. A request that fails is noticed by read.
func (s *streamLoad) connect(t *testing.T, host, event string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	s.connections = append(s.connections, conn)
	_, _ = fmt.Fprintf(conn, "GET /api/events/%s/stream HTTP/1.1\r\nHost: %s\r\n\r\n", event, host)
	return conn
}

// read reads a stream until it has received the last message, or the connection is closed.
func (s *streamLoad) read(conn net.Conn) {
	begin := sync.OnceFunc(s.began.Done)
	defer begin()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		text := lines.Text()
		if !strings.HasPrefix(text, "data:") {
			continue
		}
		s.messages.Add(1)
		begin()
		if strings.Contains(text, s.last.Load().(string)) {
			s.received.Add(1)
			return
		}
	}
}
