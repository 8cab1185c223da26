package live

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/store"
)

// Source provides the changes and the states of events.
type Source interface {
	// Watch calls started once the change stream has started, and again each time
	// it restarts after a gap; then it calls changed for every change. It returns
	// when the stream ends or started fails.
	Watch(ctx context.Context, started func(ctx context.Context, seq int64) error, changed func(store.Change)) error
	// EventAt reads an event, and the Seq of that state.
	EventAt(ctx context.Context, id holdfast.ID) (e holdfast.Event, seq int64, err error)
}

const (
	// PublishInterval is the minimum time between two messages of one event.
	PublishInterval = 100 * time.Millisecond
	// MaxListeners is the limit of one process; a listener needs about 20 KiB.
	MaxListeners = 12_000

	// replayBuffer is the number of messages kept for listeners that reconnect.
	replayBuffer = 256
	// topicTTL is how long an event without listeners keeps its replay buffer.
	topicTTL = time.Minute
	// reconnectDelay is the pause before a change stream that ended is restarted.
	reconnectDelay = time.Second
)

// Hub manages the listeners of one process.
type Hub struct {
	source Source
	log    *slog.Logger

	mu        sync.Mutex
	topics    map[holdfast.ID]*topic
	listeners int
	firstSeq  int64 // every change since this Seq was received; 0 while the stream is down
	lastSeq   int64 // the latest Seq received
	stopWatch context.CancelFunc
	watcher   sync.WaitGroup
	closed    bool
}

// NewHub returns a hub without listeners.
func NewHub(source Source, log *slog.Logger) *Hub {
	return &Hub{source: source, log: log, topics: map[holdfast.ID]*topic{}}
}

// Close ends all listeners and the change stream.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	if h.stopWatch != nil {
		h.stopWatch()
	}
	for _, t := range h.topics {
		t.end()
	}
	h.mu.Unlock()
	h.watcher.Wait()
}

// Listeners returns the number of listeners.
func (h *Hub) Listeners() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.listeners
}

// State is the data of a message.
type State struct {
	EventID        string `json:"eventId"`
	TotalSeats     int64  `json:"totalSeats"`
	AvailableSeats int64  `json:"availableSeats"`
	Oversold       int64  `json:"oversold,omitempty"`
	Status         string `json:"status" enum:"ON_SALE,CLOSED,CANCELLED"`
}

// Listen adds a listener of an event. lastID is the ID of the last message that
// the client received, 0 for none. It fails with holdfast.CodeEventNotFound, or with
// CodeUnavailable if there are too many listeners or the event's state can't be
// read in time. The caller closes the listener.
func (h *Hub) Listen(ctx context.Context, id holdfast.ID, lastID int64) (*Listener, error) {
	t, isNew, err := h.join(id)
	if err != nil {
		return nil, err
	}
	if isNew {
		t.loadFirst(ctx)
	}
	select {
	case <-t.loaded:
	case <-ctx.Done():
		h.leave(t, nil)
		return nil, holdfast.Refuse(holdfast.CodeUnavailable, "The event could not be read in time; retry.").By(ctx.Err())
	}
	l := &Listener{topic: t, ready: make(chan struct{}, 1), lastSeq: lastID, resuming: lastID != 0}
	if err := t.add(l); err != nil {
		h.leave(t, nil)
		return nil, err
	}
	return l, nil
}

// join counts a listener and returns the event's topic, which it creates if
// necessary.
func (h *Hub) join(id holdfast.ID) (t *topic, isNew bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.listeners >= MaxListeners {
		return nil, false, holdfast.Refuse(holdfast.CodeUnavailable, "This server accepts no more listeners; retry.")
	}
	h.listeners++
	if h.stopWatch == nil {
		h.startWatch()
	}
	t = h.topics[id]
	if isNew = t == nil; isNew {
		t = newTopic(h, id)
		h.topics[id] = t
	}
	t.keep()
	return t, isNew, nil
}

// leave removes a listener, nil for one that was not added. A topic without
// callers is removed after topicTTL.
func (h *Hub) leave(t *topic, l *Listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners--
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.listeners, l)
	if t.callers--; t.callers > 0 || h.topics[t.id] != t {
		return
	}
	ttl := topicTTL
	if t.err != nil {
		ttl = 0
	}
	t.removal = time.AfterFunc(ttl, func() { h.remove(t) })
}

func (h *Hub) remove(t *topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.callers == 0 && h.topics[t.id] == t {
		delete(h.topics, t.id)
	}
}

// startWatch runs the change stream until the hub closes. h.mu is held.
func (h *Hub) startWatch() {
	ctx, cancel := context.WithCancel(context.Background())
	h.stopWatch = cancel
	h.watcher.Go(func() {
		for ctx.Err() == nil {
			err := h.source.Watch(ctx, h.started, h.changed)
			if ctx.Err() != nil {
				return
			}
			h.log.WarnContext(ctx, "The change stream ended; reconnecting", slog.Any("error", err))
			h.mu.Lock()
			h.firstSeq = 0
			h.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(reconnectDelay):
			}
		}
	})
}

// started reads every state again, because changes before seq may be missing. An
// error ends the change stream.
func (h *Hub) started(ctx context.Context, seq int64) error {
	h.mu.Lock()
	h.firstSeq, h.lastSeq = seq, seq
	topics := make([]*topic, 0, len(h.topics))
	for _, t := range h.topics {
		topics = append(topics, t)
	}
	h.mu.Unlock()
	for _, t := range topics {
		if err := t.load(ctx, seq); err != nil && !holdfast.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (h *Hub) changed(c store.Change) {
	h.mu.Lock()
	h.lastSeq = max(h.lastSeq, c.Seq)
	t := h.topics[c.EventID]
	if c.Gone {
		delete(h.topics, c.EventID)
	}
	h.mu.Unlock()
	if t != nil {
		t.receive(c)
	}
}
