package live_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/live"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeSource provides the changes that a test sends. Package httpapi tests the hub
// with MongoDB.
type fakeSource struct {
	changes chan store.Change
	seq     atomic.Int64 // of the last change that publish sent
}

func (s *fakeSource) Watch(ctx context.Context, started func(context.Context, int64) error, changed func(store.Change)) error {
	if err := started(ctx, 1); err != nil {
		return err
	}
	for {
		select {
		case c := <-s.changes:
			changed(c)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *fakeSource) EventAt(_ context.Context, id holdfast.ID) (holdfast.Event, int64, error) {
	return holdfast.Event{ID: id, TotalSeats: 10}, max(1, s.seq.Load()), nil
}

func (s *fakeSource) SeatsAt(context.Context, holdfast.ID) (store.SeatMap, int64, error) {
	return store.SeatMap{}, 0, holdfast.NotFound(holdfast.CodeEventNotFound)
}

// A transaction may change an event twice with one Seq. Each message still has its own
// ID. Otherwise a client that reconnects between the two would miss the second.
func TestHub_IDsRiseWithinATransaction(t *testing.T) {
	t.Parallel()
	source := &fakeSource{changes: make(chan store.Change)}
	hub := live.NewHub(source, slog.New(slog.DiscardHandler))
	defer hub.Close()
	event := mongodb.NewID()
	l, err := hub.Listen(t.Context(), event, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	last := int64(0)
	for _, seq := range []int64{0, 500, 500, 501} {
		if seq > 0 {
			source.changes <- store.Change{EventID: event, Seq: seq}
		}
		<-l.Ready()
		text, _ := l.Receive()
		line, _, _ := strings.Cut(strings.TrimPrefix(string(text), "id: "), "\n")
		id, err := strconv.ParseInt(line, 10, 64)
		if err != nil || id <= last {
			t.Fatalf("after ID %d: %q", last, text)
		}
		last = id
	}
}

// advance moves the fake clock of a synctest bubble.
func advance(d time.Duration) { <-time.NewTimer(d).C }

// publish sends changes that each become a message. It runs in a synctest bubble.
func (s *fakeSource) publish(event holdfast.ID, from, to int64) {
	for seq := from; seq <= to; seq++ {
		s.seq.Store(seq)
		s.changes <- store.Change{EventID: event, Seq: seq}
		advance(2 * live.PublishInterval)
	}
}

// receivedIDs returns the IDs of the messages that a listener receives next.
func receivedIDs(l *live.Listener) (received []string) {
	text, _ := l.Receive()
	for line := range strings.Lines(string(text)) {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			received = append(received, strings.TrimSpace(id))
		}
	}
	return received
}

// An event may have 100,000 entries that wait. Each that joins writes the event, and changes nothing that the stream shows.
func TestHub_ChangesOfTheWaitingListAloneAreNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{changes: make(chan store.Change)}
		hub := live.NewHub(source, slog.New(slog.DiscardHandler))
		defer hub.Close()
		event := mongodb.NewID()
		l, err := hub.Listen(t.Context(), event, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if first := receivedIDs(l); len(first) != 1 {
			t.Fatalf("the first messages are %v", first)
		}
		for seq := range int64(3) {
			source.changes <- store.Change{EventID: event, Seq: 100 + seq, OfList: true}
			advance(2 * live.PublishInterval)
		}
		if more := receivedIDs(l); len(more) != 0 {
			t.Errorf("the list alone has sent %v", more)
		}
		source.publish(event, 200, 200)
		if more := receivedIDs(l); len(more) != 1 {
			t.Errorf("another change has sent %v", more)
		}
	})
}

// A listener that does not read falls behind; a client that reconnects with its
// last ID has missed the same messages. Only the second gets each of them.
func TestListener_BacklogIsSkippedExceptAfterAReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{changes: make(chan store.Change)}
		hub := live.NewHub(source, slog.New(slog.DiscardHandler))
		defer hub.Close()
		event := mongodb.NewID()
		slow, err := hub.Listen(t.Context(), event, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		first := receivedIDs(slow)
		source.publish(event, 101, 130)
		if got := receivedIDs(slow); len(first) != 1 || len(got) != 1 || got[0] != "130" {
			t.Errorf("the slow listener received %v, then %v, want 130 only", first, got)
		}
		resumed, err := hub.Listen(t.Context(), event, 100)
		if err != nil {
			t.Fatal(err)
		}
		defer resumed.Close()
		if got := receivedIDs(resumed); len(got) != 30 || got[0] != "101" || got[29] != "130" {
			t.Errorf("the resumed listener received %v, want 101 to 130", got)
		}
		source.publish(event, 131, 160)
		if got := receivedIDs(resumed); len(got) != 1 || got[0] != "160" {
			t.Errorf("after its first messages, the resumed listener received %v, want 160 only", got)
		}
	})
}

// A reconnecting client finds the replay buffer for a minute, and gets a reset after that.
func TestHub_KeepsAReplayBufferForTheTopicTTL(t *testing.T) {
	for name, c := range map[string]struct {
		away  time.Duration
		reset bool
	}{
		"within the TTL": {away: 59 * time.Second, reset: false},
		"after the TTL":  {away: 61 * time.Second, reset: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := &fakeSource{changes: make(chan store.Change)}
				hub := live.NewHub(source, slog.New(slog.DiscardHandler))
				defer hub.Close()
				event := mongodb.NewID()
				l, err := hub.Listen(t.Context(), event, 0)
				if err != nil {
					t.Fatal(err)
				}
				source.publish(event, 100, 102)
				l.Close()
				advance(c.away)
				l, err = hub.Listen(t.Context(), event, 100)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				if text, _ := l.Receive(); strings.Contains(string(text), "event: reset") != c.reset {
					t.Errorf("received %q", text)
				}
			})
		})
	}
}

// slowSource reads a state only when the test says so.
type slowSource struct {
	*fakeSource
	read chan struct{}
}

func (s slowSource) EventAt(ctx context.Context, id holdfast.ID) (holdfast.Event, int64, error) {
	<-s.read
	return s.fakeSource.EventAt(ctx, id)
}

func (s slowSource) SeatsAt(ctx context.Context, id holdfast.ID) (store.SeatMap, int64, error) {
	<-s.read
	return s.fakeSource.SeatsAt(ctx, id)
}

// Two clients wait for the first state of an event, and the first one leaves. The second gets its
// messages, also after the TTL, and the event is forgotten a TTL after it has left too.
func TestHub_AFirstWaiterThatLeavesEarlyLeaksNoTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := slowSource{&fakeSource{changes: make(chan store.Change)}, make(chan struct{})}
		hub := live.NewHub(source, slog.New(slog.DiscardHandler))
		defer hub.Close()
		event := mongodb.NewID()
		early, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := hub.Listen(early, event, 0)
			left <- err
		}()
		synctest.Wait()
		listening := make(chan *live.Listener)
		go func() {
			l, err := hub.Listen(t.Context(), event, 0)
			if err != nil {
				t.Error(err)
			}
			listening <- l
		}()
		synctest.Wait()
		leave()
		if err := <-left; err == nil {
			t.Error("the first client got a listener, although it left")
		}
		close(source.read)
		l := <-listening
		receivedIDs(l)
		advance(2 * time.Minute)
		source.publish(event, 100, 100)
		if got := receivedIDs(l); len(got) != 1 || got[0] != "100" {
			t.Errorf("the second client received %v, want 100", got)
		}
		l.Close()
		advance(2 * time.Minute)
		if n := hub.Topics(); n != 0 {
			t.Errorf("%d topics remain", n)
		}
	})
}
