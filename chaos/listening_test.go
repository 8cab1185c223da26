package chaos_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// Listeners hear of a hall's seats through a storm. Each comes back when its stream
// ends or is silent, at the other API, with the ID that it heard last, as a browser
// behind a balancer does.

// listener is one of them.
type listener struct {
	*crowd
	hall *hallOnSale
	apis []string // addresses of the processes themselves

	mu     sync.Mutex
	told   map[counter]string // each state that it was told of, and by whom
	last   counter
	lastID int64
	began  int // streams
	resets int
}

// silence is how long a listener stays with who says nothing: there is a change or
// two each second while the storm lasts.
const silence = 3 * time.Second

// listen begins to listen to every hall, at each of the APIs first. The result ends
// that.
func (cr *crowd) listen(c *cast, dice *rand.Rand) (listeners []*listener, end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, h := range cr.halls {
		for _, first := range []string{"api-0", "api-1"} {
			l := &listener{crowd: cr, hall: h, told: map[counter]string{}}
			for _, name := range []string{"api-0", "api-1"} {
				l.apis = append(l.apis, c.pods[name].addr)
			}
			if first == "api-1" {
				slices.Reverse(l.apis)
			}
			listeners = append(listeners, l)
			late := time.Duration(dice.IntN(4000)) * time.Millisecond // in the midst of faults
			all.Go(func() {
				pause(ctx, late)
				l.listen(ctx)
			})
		}
	}
	return listeners, func() {
		cancel()
		all.Wait()
	}
}

func (l *listener) listen(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		api := l.apis[n%len(l.apis)]
		if err := l.hear(ctx, api); err != nil {
			l.broke("listeners", "hall %s at %s: %v", l.hall.id, api, err)
			return
		}
		pause(ctx, 100*time.Millisecond)
	}
}

var errNoStream = errors.New("no stream")

// hear reads one stream to its end. Its error is something that must not be.
func (l *listener) hear(ctx context.Context, api string) error {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", api)
	if err != nil {
		return nil //nolint:nilerr // the process is away
	}
	defer conn.Close()                                      //nolint:errcheck // it only read
	stop := context.AfterFunc(ctx, func() { conn.Close() }) //nolint:errcheck // it only read
	defer stop()
	l.mu.Lock()
	l.began++
	id := l.lastID
	l.mu.Unlock()
	request := fmt.Sprintf("GET /api/events/%s/stream HTTP/1.1\r\nHost: %s\r\n", l.hall.id, api)
	if id > 0 {
		request += fmt.Sprintf("Last-Event-ID: %d\r\n", id)
	}
	if _, err := conn.Write([]byte(request + "\r\n")); err != nil {
		return nil //nolint:nilerr // the process went away
	}
	conn.SetReadDeadline(time.Now().Add(silence)) //nolint:errcheck // the read fails then
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil //nolint:nilerr // the process went away
	}
	defer response.Body.Close() //nolint:errcheck // it only read
	if response.StatusCode == http.StatusServiceUnavailable {
		return nil
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: status %d", errNoStream, response.StatusCode)
	}
	forgot := false
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		conn.SetReadDeadline(time.Now().Add(silence)) //nolint:errcheck // the read fails then
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case field == "event" && value == "reset":
			forgot = true
			l.mu.Lock()
			l.resets++
			l.mu.Unlock()
		case field == "id":
			if id, err = strconv.ParseInt(value, 10, 64); err != nil {
				return err
			}
		case field == "data" && strings.HasPrefix(value, `{"eventId"`):
			if err := l.note(value, id, forgot, api); err != nil {
				return err
			}
			forgot = false
		}
	}
	return nil
}

var errNotRising = errors.New("IDs do not rise")

func (l *listener) note(data string, id int64, forgot bool, api string) error {
	var s live.State
	if err := json.Unmarshal([]byte(data), &s); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if id <= l.lastID && !forgot {
		return fmt.Errorf("%w: %d after %d", errNotRising, id, l.lastID)
	}
	l.last, l.lastID = counter{s.TotalSeats, s.AvailableSeats, s.Oversold}, id
	if _, known := l.told[l.last]; !known {
		l.told[l.last] = api
	}
	return nil
}

// judgeListeners: all that was told was committed once, and in the end everybody
// knows what there is.
func (cr *crowd) judgeListeners(listeners []*listener, m *mirror, left leftovers) {
	for _, l := range listeners {
		want := left.events[l.hall.id]
		knows := func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.last == counter{want.Total, want.Available, l.last.Oversold}
		}
		for deadline := time.Now().Add(sellableAgain); !knows() && time.Now().Before(deadline); {
			pause(context.Background(), 50*time.Millisecond)
		}
		l.mu.Lock()
		if l.last.Total != want.Total || l.last.Available != want.Available {
			cr.broke("listeners", "who listens to hall %s since %d was told %+v last, there is %+v", l.hall.id, l.lastID, l.last, want)
		}
		for state, api := range l.told {
			if !m.was(parse(cr.t, l.hall.id), state) {
				cr.broke("listeners", "%s told of hall %s as %+v, which it never was", api, l.hall.id, state)
			}
		}
		l.mu.Unlock()
	}
}
