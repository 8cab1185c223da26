package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	Watch(ctx context.Context, begun func(seq int64), changed func(seats.Change)) error
	Event(ctx context.Context, id ids.ID) (seats.Event, error)
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

// message is a state under its ID, as it is sent.
type message struct {
	seq  int64
	text []byte
}

// topic is an event that somebody listens to, or did a moment ago.
type topic struct {
	hub   *Hub
	id    ids.ID
	ready chan struct{} // closed once the first state is known
	err   error         // why it could not be

	mu        sync.Mutex
	state     seats.Event
	seq       int64 // of the state
	from      int64 // every message since this Seq is in sent, or was
	sent      []message
	dirty     bool
	timer     *time.Timer
	listeners map[*Listener]bool
	forget    *time.Timer
	ended     bool
}

// Listener hears of one event.
type Listener struct {
	topic *topic
	wake  chan struct{}
	seq   int64 // of the last message that was taken
	reset bool  // to be told first
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
	if t.err != nil {
		h.leave(t, nil)
		return nil, t.err
	}
	l := &Listener{topic: t, wake: make(chan struct{}, 1), seq: last}
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
// not known, so every state is read again.
func (h *Hub) begun(seq int64) {
	h.mu.Lock()
	h.since, h.last = seq, seq
	topics := make([]*topic, 0, len(h.topics))
	for _, t := range h.topics {
		topics = append(topics, t)
	}
	h.mu.Unlock()
	for _, t := range topics {
		t.refresh(seq)
	}
}

func (h *Hub) changed(c seats.Change) {
	h.mu.Lock()
	h.last = max(h.last, c.Seq)
	t := h.topics[c.EventID]
	h.mu.Unlock()
	if t != nil {
		t.apply(c)
	}
}

// begin reads an event's first state; where the stream has not begun yet, begun
// does.
func (t *topic) begin(ctx context.Context) {
	t.hub.mu.Lock()
	since, last := t.hub.since, t.hub.last
	t.hub.mu.Unlock()
	if since == 0 {
		return
	}
	event, err := t.hub.source.Event(context.WithoutCancel(ctx), t.id)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle(event, err, last)
}

const readTime = 5 * time.Second

func (t *topic) refresh(seq int64) {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	event, err := t.hub.source.Event(ctx, t.id)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil && t.known() {
		return // the next change tells
	}
	t.settle(event, err, seq)
}

func (t *topic) known() bool {
	select {
	case <-t.ready:
		return true
	default:
		return false
	}
}

// settle takes over a state that was read after seq; called with the lock held.
func (t *topic) settle(event seats.Event, err error, seq int64) {
	if t.known() && t.err == nil && seq <= t.from {
		return
	}
	t.err = err
	if err == nil {
		t.state, t.seq = event, max(seq, t.seq+1, 1)
		t.from, t.sent = t.seq, nil
		for l := range t.listeners {
			l.reset, l.seq = true, 0
		}
		t.flush()
	}
	if !t.known() {
		close(t.ready)
	}
}

// apply takes over a change, and tells it now or when its turn comes.
func (t *topic) apply(c seats.Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.known() || t.err != nil || c.Seq < t.seq || t.ended {
		return
	}
	if c.Gone {
		t.endLocked()
		return
	}
	t.state, t.seq = c.To(t.state), c.Seq
	if t.dirty {
		return
	}
	t.dirty = true
	t.timer = time.AfterFunc(t.hub.pace, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.dirty {
			t.flush()
		}
	})
}

// flush makes the state a message and wakes the listeners; called with the lock held.
func (t *topic) flush() {
	t.dirty = false
	data, err := json.Marshal(State{t.id.String(), t.state.TotalSeats, t.state.AvailableSeats, t.state.Oversold, string(t.state.Status)})
	if err != nil {
		return // numbers and text: it can't be
	}
	m := message{t.seq, fmt.Appendf(nil, "id: %d\nevent: availability\ndata: %s\n\n", t.seq, data)}
	if n := len(t.sent); n > 0 && t.sent[n-1].seq == m.seq { // two changes of one transaction
		t.sent = t.sent[:n-1]
	}
	if t.sent = append(t.sent, m); len(t.sent) > 2*memory {
		t.sent = append([]message(nil), t.sent[len(t.sent)-memory:]...)
		t.from = t.sent[0].seq
	}
	for l := range t.listeners {
		l.nudge()
	}
}

func (t *topic) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLocked()
}

func (t *topic) endLocked() {
	t.ended = true
	if t.timer != nil {
		t.timer.Stop()
	}
	if !t.known() {
		t.err = errors.New("the hub is closed")
		close(t.ready)
	}
	for l := range t.listeners {
		l.nudge()
	}
}

func (l *Listener) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Close ends the listening.
func (l *Listener) Close() { l.topic.hub.leave(l.topic, l) }

// Woken tells that there may be something to take.
func (l *Listener) Woken() <-chan struct{} { return l.wake }

// resetText says that what is known is to be forgotten; the whole state follows.
var resetText = []byte("event: reset\ndata: {}\n\n")

// few is how far a listener may be behind to get every message.
const few = 16

// Take returns what is to be sent, in the form of server-sent events; ended says
// that nothing follows. Who is far behind gets the newest state only, but for one
// who has just come back with an ID.
func (l *Listener) Take(resuming bool) (text []byte, ended bool) {
	t := l.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.reset {
		text, l.reset = append(text, resetText...), false
	}
	pending := t.sent
	for len(pending) > 0 && pending[0].seq <= l.seq {
		pending = pending[1:]
	}
	if n := len(pending); n > 0 && (l.seq == 0 || (n > few && !resuming)) {
		pending = pending[n-1:]
	}
	for _, m := range pending {
		text, l.seq = append(text, m.text...), m.seq
	}
	return text, t.ended
}
