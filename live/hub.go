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
	// SeatsAt reads the occupancy of a seated event, and the Seq of that state.
	SeatsAt(ctx context.Context, id holdfast.ID) (m store.SeatMap, seq int64, err error)
}

const (
	// PublishInterval is how long the changes of an event's availability are collected for one message.
	PublishInterval = 100 * time.Millisecond
	// SeatsInterval is the minimum time between two messages of changes of an event's seats.
	SeatsInterval = 200 * time.Millisecond
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

	mu         sync.Mutex
	topics     map[topicKey]*topic
	listeners  int
	firstSeq   int64 // every change since this Seq was received; 0 while the stream is down
	lastSeq    int64 // the latest Seq received
	stopWatch  context.CancelFunc
	background sync.WaitGroup
	closed     bool
}

// NewHub returns a hub without listeners.
func NewHub(source Source, log *slog.Logger) *Hub {
	return &Hub{source: source, log: log, topics: map[topicKey]*topic{}}
}

// Close ends all listeners and the change stream.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	if h.stopWatch != nil {
		h.stopWatch()
	}
	for _, t := range h.topics {
		t.end(holdfast.Refuse(holdfast.CodeUnavailable, "This server is stopping; retry."))
	}
	h.mu.Unlock()
	h.background.Wait()
}

// Listeners returns the number of listeners.
func (h *Hub) Listeners() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.listeners
}

// Listen adds a listener of an event's availability. lastID is the ID of the last message that
// the client received, 0 for none. It fails with holdfast.CodeEventNotFound, or with
// CodeUnavailable if there are too many listeners or the event's state can't be
// read in time. The caller closes the listener.
func (h *Hub) Listen(ctx context.Context, id holdfast.ID, lastID int64) (*Listener, error) {
	return h.listen(ctx, topicKey{event: id}, &Listener{lastID: lastID})
}

// ListenToSeats adds a listener of the seats of a seated event: of the availability of all its sections, and
// of each seat of the sections with these keys, at most MaxSections. It fails as Listen does, and with
// CodeInvalid for an event without a plan, or for a section that the plan does not have.
func (h *Hub) ListenToSeats(ctx context.Context, id holdfast.ID, keys []string, lastID int64) (*Listener, error) {
	return h.listen(ctx, topicKey{event: id, seats: true}, &Listener{lastID: lastID, sections: newSections(id, keys)})
}

func (h *Hub) listen(ctx context.Context, key topicKey, l *Listener) (*Listener, error) {
	t, isNew, err := h.join(key)
	if err != nil {
		return nil, err
	}
	if isNew {
		t.content.begin(ctx)
	}
	select {
	case <-t.loaded:
	case <-ctx.Done():
		h.leave(t, nil)
		return nil, holdfast.Refuse(holdfast.CodeUnavailable, "The event could not be read in time; retry.").By(ctx.Err())
	}
	l.topic, l.ready, l.resuming = t, make(chan struct{}, 1), l.lastID != 0
	if err := t.add(l); err != nil {
		h.leave(t, nil)
		return nil, err
	}
	return l, nil
}

// join counts a listener and returns the topic, which it creates if necessary.
func (h *Hub) join(key topicKey) (t *topic, isNew bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.listeners >= MaxListeners {
		return nil, false, holdfast.Refuse(holdfast.CodeUnavailable, "This server accepts no more listeners; retry.")
	}
	h.listeners++
	if h.stopWatch == nil {
		h.startWatch()
	}
	t = h.topics[key]
	if isNew = t == nil; isNew {
		t = newTopic(h, key)
		h.topics[key] = t
	}
	t.keep()
	return t, isNew, nil
}

// received returns the first and the last Seq of the change stream; 0, 0 while it is down.
func (h *Hub) received() (first, last int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.firstSeq == 0 {
		return 0, 0
	}
	return h.firstSeq, h.lastSeq
}

// forget ends a topic whose event does not exist or has no seats any more; the reason is the error for its callers.
func (h *Hub) forget(t *topic, reason error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.topics[t.key] == t {
		delete(h.topics, t.key)
	}
	t.end(reason)
}

// run runs a goroutine of a topic. The function must return when the topic is stopped.
func (h *Hub) run(work func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.background.Go(work)
	}
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
	if t.callers--; t.callers > 0 || h.topics[t.key] != t {
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
	if t.callers == 0 && h.topics[t.key] == t {
		delete(h.topics, t.key)
		t.content.stop()
	}
}

// startWatch runs the change stream until the hub closes. h.mu is held.
func (h *Hub) startWatch() {
	ctx, cancel := context.WithCancel(context.Background())
	h.stopWatch = cancel
	h.background.Go(func() {
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

// started notifies every topic, because changes before seq may be missing. An error ends the change stream.
func (h *Hub) started(ctx context.Context, seq int64) error {
	h.mu.Lock()
	h.firstSeq, h.lastSeq = seq, seq
	topics := make([]*topic, 0, len(h.topics))
	for _, t := range h.topics {
		topics = append(topics, t)
	}
	h.mu.Unlock()
	for _, t := range topics {
		if err := t.content.began(ctx, seq); err != nil && !holdfast.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (h *Hub) changed(c store.Change) {
	h.mu.Lock()
	h.lastSeq = max(h.lastSeq, c.Seq)
	var topics []*topic
	for _, key := range []topicKey{{event: c.EventID}, {event: c.EventID, seats: true}} {
		if t := h.topics[key]; t != nil {
			topics = append(topics, t)
		}
		if c.Gone {
			delete(h.topics, key)
		}
	}
	h.mu.Unlock()
	for _, t := range topics {
		t.receive(c)
	}
}
