package live

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats"
)

// Source is what the hub hears and reads.
type Source interface {
	Watch(ctx context.Context, begun func(ctx context.Context, seq int64) error, changed func(seats.Change)) error
	EventAt(ctx context.Context, id ids.ID) (e seats.Event, at int64, err error)
}

const (
	// Pace is the time between two messages of one event.
	Pace = 100 * time.Millisecond
	// memory is how many messages of an event are kept for who comes back.
	memory = 256
	// linger is how long an event without listeners is remembered for them.
	linger = time.Minute
	// MaxListeners of one process: some 20 KiB each.
	MaxListeners = 12_000
	// again is the pause before a stream of changes that ended begins anew.
	again = time.Second
)

// Hub has the listeners of one process.
type Hub struct {
	source Source
	log    *slog.Logger
	pace   time.Duration

	mu        sync.Mutex
	topics    map[ids.ID]*topic
	listeners int
	since     int64 // the Seq from which everything was heard; 0 while nothing is
	last      int64 // the Seq that was heard last
	watching  context.CancelFunc
	watchers  sync.WaitGroup
	closed    bool
}

// NewHub returns a hub that nobody listens to yet.
func NewHub(source Source, log *slog.Logger) *Hub {
	return &Hub{source: source, log: log, pace: Pace, topics: map[ids.ID]*topic{}}
}

// Close parts with all listeners.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	if h.watching != nil {
		h.watching()
	}
	for _, t := range h.topics {
		t.end()
	}
	h.mu.Unlock()
	h.watchers.Wait()
}

// Listeners is how many there are.
func (h *Hub) Listeners() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.listeners
}

// State is what a message tells.
type State struct {
	EventID        string `json:"eventId"`
	TotalSeats     int64  `json:"totalSeats"`
	AvailableSeats int64  `json:"availableSeats"`
	Oversold       int64  `json:"oversold,omitempty"`
	Status         string `json:"status" enum:"ON_SALE,CLOSED,CANCELLED"`
}

// Listen begins to hear of an event, or fails with seats.CodeEventNotFound, or
// with CodeUnavailable where there are too many listeners. last is the ID that
// was heard last, 0 for none.
func (h *Hub) Listen(ctx context.Context, id ids.ID, last int64) (*Listener, error) {
	t, fresh, err := h.join(id)
	if err != nil {
		return nil, err
	}
	if fresh {
		t.begin(ctx)
	}
	select {
	case <-t.ready:
	case <-ctx.Done():
		h.leave(t, nil)
		return nil, fault.New(mongodb.CodeUnavailable, "No answer in time; ask again.").By(ctx.Err())
	}
	l := &Listener{topic: t, wake: make(chan struct{}, 1), seq: last}
	t.mu.Lock()
	failure := t.err
	t.mu.Unlock()
	if failure != nil {
		h.leave(t, nil)
		return nil, failure
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if last == 0 || last < t.from || last > t.seq {
		l.reset, l.seq = last != 0, 0
	}
	t.listeners[l] = true
	l.nudge()
	return l, nil
}

// join finds an event's topic or makes one, and counts the listener.
func (h *Hub) join(id ids.ID) (t *topic, fresh bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.listeners >= MaxListeners {
		return nil, false, fault.New(mongodb.CodeUnavailable, "Too many listen; ask again.")
	}
	h.listeners++
	if h.watching == nil {
		h.watch()
	}
	if t = h.topics[id]; t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.forget != nil {
			t.forget.Stop()
			t.forget = nil
		}
		return t, false, nil
	}
	t = &topic{hub: h, id: id, ready: make(chan struct{}), listeners: map[*Listener]bool{}}
	h.topics[id] = t
	return t, true, nil
}

// leave takes a listener off. An event without any is forgotten after a while.
func (h *Hub) leave(t *topic, l *Listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners--
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.listeners, l)
	if len(t.listeners) > 0 || t.forget != nil || h.topics[t.id] != t {
		return
	}
	wait := linger
	if t.err != nil {
		wait = 0
	}
	t.forget = time.AfterFunc(wait, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		t.mu.Lock()
		defer t.mu.Unlock()
		if len(t.listeners) == 0 && t.forget != nil && h.topics[t.id] == t {
			delete(h.topics, t.id)
		}
	})
}

// watch hears the changes until the hub closes. Called with the lock held.
func (h *Hub) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	h.watching = cancel
	h.watchers.Go(func() {
		for ctx.Err() == nil {
			err := h.source.Watch(ctx, h.begun, h.changed)
			if ctx.Err() != nil {
				return
			}
			h.log.WarnContext(ctx, "The stream of changes ended; it begins anew", "error", err)
			h.mu.Lock()
			h.since = 0
			h.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(again):
			}
		}
	})
}

// begun is called when the stream has begun, or begun anew: what was in between is
// not known, so every state is read again. Where that fails, so does the stream.
func (h *Hub) begun(ctx context.Context, seq int64) error {
	h.mu.Lock()
	h.since, h.last = seq, seq
	topics := make([]*topic, 0, len(h.topics))
	for _, t := range h.topics {
		topics = append(topics, t)
	}
	h.mu.Unlock()
	for _, t := range topics {
		if err := t.look(ctx, seq); err != nil && !fault.IsAbsent(err) {
			return err
		}
	}
	return nil
}

func (h *Hub) changed(c seats.Change) {
	h.mu.Lock()
	h.last = max(h.last, c.Seq)
	t := h.topics[c.EventID]
	if c.Gone {
		delete(h.topics, c.EventID)
	}
	h.mu.Unlock()
	if t != nil {
		t.apply(c)
	}
}
