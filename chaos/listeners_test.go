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

// Five thousand listen to one event on one process while it sells; a hundred of
// them never read. The others hear of the last change, memory stays bounded, and
// the sale goes on. It has the machine to itself.
func TestStream_FiveThousandListeners(t *testing.T) {
	w := testenv.New(t)
	p, c := apiOf(t, w, 64)
	user := must(t, c, "/api/users", map[string]any{"name": "A", "email": "a@example.com"})
	sale := event(t, c, 10_000_000)
	host := strings.TrimPrefix(c.base, "http://")
	const listeners, asleep = 5000, 100
	a := &audience{}
	a.last.Store("never said")
	var open []net.Conn
	for i := range listeners {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
		fmt.Fprintf(conn, "GET /api/events/%s/stream HTTP/1.1\r\nHost: %s\r\n\r\n", sale, host) //nolint:errcheck // it fails below
		if i < asleep {
			continue
		}
		a.began.Add(1)
		a.left.Go(func() { a.listen(conn) })
	}
	a.began.Wait()
	var sold load
	rate := sold.run(t, c, sale, user, 64, 4*time.Second)
	available, _ := w.Available(parse(t, sale))
	a.last.Store(fmt.Sprintf(`"availableSeats":%d,`, available-1))
	must(t, c, "/api/locks", map[string]any{"eventId": sale, "userId": user, "seats": 1}) // so that there is that change
	said := time.Now()
	all := make(chan struct{})
	go func() {
		a.left.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-time.After(30 * time.Second):
	}
	if n := a.heard.Load(); n != listeners-asleep {
		t.Errorf("%d heard of the last change, want %d: %s", n, listeners-asleep, p.log)
	}
	t.Logf("%d listeners, %.0f locks/s meanwhile, %d messages; %d heard of the last change within %v; at most %d MiB resident",
		listeners, rate, a.messages.Load(), a.heard.Load(), time.Since(said).Round(time.Millisecond), memory(t, p))
	if used := memory(t, p); used > 1024 {
		t.Errorf("%d MiB resident", used)
	}
	for _, conn := range open {
		conn.Close() //nolint:errcheck // the test is over
	}
	if err := p.stop(t); err != nil {
		t.Error(err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// audience is those who listen.
type audience struct {
	last            atomic.Value // the line that everybody has to hear
	began, left     sync.WaitGroup
	messages, heard atomic.Int64
}

// listen reads a stream until it has heard the last line, or is cut off.
func (a *audience) listen(conn net.Conn) {
	begin := sync.OnceFunc(a.began.Done)
	defer begin()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		text := lines.Text()
		if !strings.HasPrefix(text, "data:") {
			continue
		}
		a.messages.Add(1)
		begin()
		if strings.Contains(text, a.last.Load().(string)) {
			a.heard.Add(1)
			return
		}
	}
}
