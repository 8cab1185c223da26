package live

import (
	"context"
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

// topicKey names a topic: an event's availability, or its seats.
type topicKey struct {
	event holdfast.ID
	seats bool
}

// topic is what its listeners listen to. It is kept for topicTTL after the last of them.
type topic struct {
	hub     *Hub
	key     topicKey
	content content
	loaded  chan struct{} // closed once the first state was read, or could not be

	mu        sync.Mutex // held when the methods of content are called, except begin and began
	err       error      // why the first state could not be read
	listeners map[*Listener]bool
	callers   int         // of Hub.Listen that wait or have a listener
	removal   *time.Timer // set while the topic has no callers
	ended     bool
}

// content is what a topic sends.
type content interface {
	// begin reads the first state, or begins to.
	begin(ctx context.Context)
	// began is called when the change stream has started at a Seq: changes before it may be missing. An
	// error ends the change stream.
	began(ctx context.Context, seq int64) error
	// receive takes a change.
	receive(c store.Change)
	// add decides what a new listener receives first. It may refuse the listener.
	add(l *Listener) error
	// next returns the messages that a listener has not received. The caller must not change them.
	next(l *Listener) []byte
	// stop ends what runs in the background.
	stop()
}

func newTopic(h *Hub, key topicKey) *topic {
	t := &topic{hub: h, key: key, loaded: make(chan struct{}), listeners: map[*Listener]bool{}}
	if key.seats {
		t.content = newSeatChanges(t)
	} else {
		t.content = &availability{topic: t}
	}
	return t
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
	if err := t.content.add(l); err != nil {
		return err
	}
	t.listeners[l] = true
	l.wake()
	return nil
}

// receive takes a change of the event.
func (t *topic) receive(c store.Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended || t.err != nil:
	case c.Gone:
		t.endLocked(holdfast.NotFound(holdfast.CodeEventNotFound))
	default:
		t.content.receive(c)
	}
}

// readSince reads until the state is at least as new as seq: a deposed primary may
// answer with an older one.
func readSince[S any](
	ctx context.Context, seq int64, id holdfast.ID, read func(context.Context, holdfast.ID) (S, int64, error),
) (state S, at int64, err error) {
	for {
		state, at, err = read(ctx, id)
		if err != nil || at >= seq {
			return state, at, err
		}
		select {
		case <-ctx.Done():
			return state, at, holdfast.Refuse(holdfast.CodeUnavailable, "The event could not be read in time; retry.").By(ctx.Err())
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

// wakeListeners wakes the listeners for new messages. The caller holds t.mu.
func (t *topic) wakeListeners() {
	for l := range t.listeners {
		l.wake()
	}
}

// end ends the topic. Callers that wait for its first state get the reason.
func (t *topic) end(reason error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLocked(reason)
}

func (t *topic) endLocked(reason error) {
	t.ended = true
	t.content.stop()
	if !t.isLoaded() {
		t.err = reason
		close(t.loaded)
	}
	t.wakeListeners()
}
