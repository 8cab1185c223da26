package live

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/store"
)

const (
	// loadTimeout bounds one reading of an event's state.
	loadTimeout = 5 * time.Second
	// rereadDelay gives a deposed primary time to step down.
	rereadDelay = 50 * time.Millisecond
)

// message is a state in the format of server-sent events, with its ID.
type message struct {
	seq  int64
	text []byte
}

// topic is an event that has listeners, or had them less than topicTTL ago.
//
// A change has a Seq, its position in the change stream. A message's ID is the
// Seq of the last change that it includes, or higher (see publish).
type topic struct {
	hub    *Hub
	id     holdfast.ID
	loaded chan struct{} // closed once the first state was read, or could not be

	mu         sync.Mutex
	err        error // why the first state could not be read
	state      holdfast.Event
	early      []store.Change // received before the first state was read
	readSeq    int64          // Seq of the last state that was read
	changeSeq  int64          // Seq of the last change that was applied
	seq        int64          // of the state
	sentSeq    int64          // of the last message
	replayFrom int64          // a listener with this ID or a later one can be resumed from replay
	replay     []message
	pending    bool // the state has changes that no message includes
	publishing *time.Timer
	listeners  map[*Listener]bool
	callers    int         // of Hub.Listen that wait or have a listener
	removal    *time.Timer // set while the topic has no callers
	ended      bool
}

func newTopic(h *Hub, id holdfast.ID) *topic {
	return &topic{hub: h, id: id, loaded: make(chan struct{}), listeners: map[*Listener]bool{}}
}

// keep counts a caller, and stops the removal of the topic.
func (t *topic) keep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.callers++
	if t.removal != nil {
		t.removal.Stop()
		t.removal = nil
	}
}

// add adds a listener, or returns why the topic has no state.
func (t *topic) add(l *Listener) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	if last := l.lastSeq; last == 0 || last < t.replayFrom || last > t.seq {
		l.resetDue, l.lastSeq = last != 0, 0
	}
	t.listeners[l] = true
	l.wake()
	return nil
}

// loadFirst reads the first state. If the change stream is not running yet,
// Hub.started reads it.
func (t *topic) loadFirst(ctx context.Context) {
	t.hub.mu.Lock()
	firstSeq, lastSeq := t.hub.firstSeq, t.hub.lastSeq
	t.hub.mu.Unlock()
	if firstSeq > 0 {
		_ = t.load(ctx, lastSeq) // Listen returns the error, which is in t.err
	}
}

// load reads the state of seq or later. Changes that arrive meanwhile may be newer
// and are kept until the state is known.
func (t *topic) load(ctx context.Context, seq int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	defer cancel()
	event, at, err := t.readSince(ctx, seq)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended:
	case err == nil && t.isLoaded() && t.err == nil && seq <= t.readSeq: // another call has read this state
	case err == nil:
		t.setState(event, at)
	case !t.isLoaded():
		t.err = err
		close(t.loaded)
	case holdfast.IsNotFound(err):
		t.endLocked()
	}
	return err
}

// readSince reads until the state is at least as new as seq: a deposed primary may
// answer with an older one.
func (t *topic) readSince(ctx context.Context, seq int64) (event holdfast.Event, at int64, err error) {
	for {
		event, at, err = t.hub.source.EventAt(ctx, t.id)
		if err != nil || at >= seq {
			return event, at, err
		}
		select {
		case <-ctx.Done():
			return event, at, holdfast.Refuse(holdfast.CodeUnavailable, "The event could not be read in time; retry.").By(ctx.Err())
		case <-time.After(rereadDelay):
		}
	}
}

func (t *topic) isLoaded() bool {
	select {
	case <-t.loaded:
		return true
	default:
		return false
	}
}

// setState replaces the state by the one of seq, and resets the listeners. t.mu is
// held.
func (t *topic) setState(event holdfast.Event, seq int64) {
	t.state, t.readSeq, t.changeSeq, t.seq, t.err = event, seq, seq, max(seq, t.seq), nil
	for _, c := range t.early {
		t.apply(c)
	}
	t.early, t.replay = nil, nil
	for l := range t.listeners {
		l.resetDue, l.lastSeq = true, 0
	}
	t.publish()
	t.replayFrom = t.seq
	if !t.isLoaded() {
		close(t.loaded)
	}
}

// apply changes the state, unless the state includes the change: it was read
// later, or the change stream restarted and repeats the change. Several changes of
// one transaction have the same Seq. t.mu is held.
func (t *topic) apply(c store.Change) (applied bool) {
	if c.Seq <= t.readSeq || c.Seq < t.changeSeq {
		return false
	}
	t.state, t.changeSeq, t.seq = c.To(t.state), c.Seq, max(t.seq, c.Seq)
	return true
}

// receive applies a change and schedules the message.
func (t *topic) receive(c store.Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended || t.err != nil:
		return
	case c.Gone:
		t.endLocked()
		return
	case !t.isLoaded(): // at most for loadTimeout
		t.early = append(t.early, c)
		return
	}
	if !t.apply(c) || t.pending {
		return
	}
	t.pending = true
	t.publishing = time.AfterFunc(PublishInterval, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.pending && !t.ended {
			t.publish()
		}
	})
}

// publish adds the state to the replay buffer and wakes the listeners. t.mu is
// held.
func (t *topic) publish() {
	t.pending = false
	// A transaction may change an event twice with one Seq. IDs must rise all the
	// same; store.Change.Seq leaves room between two transactions.
	t.seq = max(t.seq, t.sentSeq+1)
	t.sentSeq = t.seq
	data, err := json.Marshal(State{
		EventID:        t.id.String(),
		TotalSeats:     t.state.TotalSeats,
		AvailableSeats: t.state.Answer().AvailableSeats,
		Oversold:       t.state.Oversold,
		Status:         string(t.state.Status),
	})
	if err != nil {
		return // numbers and strings can always be encoded
	}
	text := fmt.Appendf(nil, "id: %d\nevent: availability\ndata: %s\n\n", t.seq, data)
	if t.replay = append(t.replay, message{seq: t.seq, text: text}); len(t.replay) > 2*replayBuffer {
		t.replay = slices.Clone(t.replay[len(t.replay)-replayBuffer:])
		t.replayFrom = t.replay[0].seq
	}
	for l := range t.listeners {
		l.wake()
	}
}

func (t *topic) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLocked()
}

func (t *topic) endLocked() {
	t.ended = true
	if t.publishing != nil {
		t.publishing.Stop()
	}
	if !t.isLoaded() {
		t.err = holdfast.Refuse(holdfast.CodeUnavailable, "This server is stopping; retry.")
		close(t.loaded)
	}
	for l := range t.listeners {
		l.wake()
	}
}
