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
	var began, heard sync.WaitGroup
	var messages atomic.Int64
	var last atomic.Value // the line that everybody has to hear
	last.Store("never said")
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
		began.Add(1)
		heard.Add(1)
		go listenTo(conn, &messages, &last, &began, &heard)
	}
	began.Wait()
	var sold load
	rate := sold.run(t, c, sale, user, 64, 4*time.Second)
	available, _ := w.Available(parse(t, sale))
	must(t, c, "/api/locks", map[string]any{"eventId": sale, "userId": user, "seats": 1}) // so that there is a change after that
	last.Store(fmt.Sprintf(`"availableSeats":%d,`, available-1))
	said := time.Now()
	all := make(chan struct{})
	go func() {
		heard.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-time.After(30 * time.Second):
		t.Error("not everybody heard of the last change")
	}
	t.Logf("%d listeners, %.0f locks/s meanwhile, %d messages; all heard of the last change within %v; at most %d MiB resident",
		listeners, rate, messages.Load(), time.Since(said).Round(time.Millisecond), memory(t, p))
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

// listenTo reads a stream until it has heard the last line.
func listenTo(conn net.Conn, messages *atomic.Int64, last *atomic.Value, began, heard *sync.WaitGroup) {
	defer heard.Done()
	first := true
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		text := lines.Text()
		if !strings.HasPrefix(text, "data:") {
			continue
		}
		messages.Add(1)
		if first {
			first = false
			began.Done()
		}
		if strings.Contains(text, last.Load().(string)) {
			return
		}
	}
}
