package live

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats"
)

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
	early     []seats.Change // heard before the first state was read
	read      int64          // the Seq of which the state was read
	heard     int64          // the Seq of the last change since
	seq       int64          // of the state
	told      int64          // the last message's
	from      int64          // every message since this Seq is in sent, or was
	sent      []message
	dirty     bool
	timer     *time.Timer
	listeners map[*Listener]bool
	forget    *time.Timer
	ended     bool
}

// begin reads an event's first state; where the stream has not begun yet, begun
// does.
func (t *topic) begin(ctx context.Context) {
	t.hub.mu.Lock()
	since, last := t.hub.since, t.hub.last
	t.hub.mu.Unlock()
	if since > 0 {
		t.look(ctx, last) //nolint:errcheck // who waits for the state is told
	}
}

const readTime = 5 * time.Second

// look reads the state, of seq or later. Changes that are heard meanwhile are kept for
// then: they may be newer.
func (t *topic) look(ctx context.Context, seq int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTime)
	defer cancel()
	event, at, err := t.readSince(ctx, seq)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended:
	case err == nil && t.known() && t.err == nil && seq <= t.read: // it was read from there already
	case err == nil:
		t.settle(event, at)
	case !t.known():
		t.err = err
		close(t.ready)
	case fault.IsAbsent(err):
		t.endLocked()
	}
	return err
}

// readPause is how long a primary has to find out that it is none any more.
const readPause = 50 * time.Millisecond

// readSince reads until what is told is no older than what was heard.
func (t *topic) readSince(ctx context.Context, seq int64) (event seats.Event, at int64, err error) {
	for {
		event, at, err = t.hub.source.EventAt(ctx, t.id)
		if err != nil || at >= seq {
			return event, at, err
		}
		select {
		case <-ctx.Done():
			return event, at, fault.New(mongodb.CodeUnavailable, "The database did not answer in time; ask again.").By(ctx.Err())
		case <-time.After(readPause):
		}
	}
}

func (t *topic) known() bool {
	select {
	case <-t.ready:
		return true
	default:
		return false
	}
}

// settle takes over a state as it was at a Seq; called with the lock held.
func (t *topic) settle(event seats.Event, at int64) {
	t.state, t.read, t.heard, t.seq, t.err = event, at, at, max(at, t.seq), nil
	for _, c := range t.early {
		t.change(c)
	}
	t.early, t.sent = nil, nil
	for l := range t.listeners {
		l.reset, l.seq = true, 0
	}
	t.flush()
	t.from = t.seq
	if !t.known() {
		close(t.ready)
	}
}

// change takes over a change, unless the state has it: by the reading, or because a
// stream that begins anew tells it again. A transaction may have several. Called with
// the lock held.
func (t *topic) change(c seats.Change) (changed bool) {
	if c.Seq <= t.read || c.Seq < t.heard {
		return false
	}
	t.state, t.heard, t.seq = c.To(t.state), c.Seq, max(t.seq, c.Seq)
	return true
}

// apply takes over a change, and tells it when its turn comes.
func (t *topic) apply(c seats.Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended || t.err != nil:
		return
	case c.Gone:
		t.endLocked()
		return
	case !t.known(): // for readTime at most
		t.early = append(t.early, c)
		return
	}
	if !t.change(c) || t.dirty {
		return
	}
	t.dirty = true
	t.timer = time.AfterFunc(t.hub.pace, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.dirty && !t.ended {
			t.flush()
		}
	})
}

// flush makes the state a message and wakes the listeners; called with the lock held.
func (t *topic) flush() {
	t.dirty = false
	t.seq = max(t.seq, t.told+1) // a transaction may change an event twice: seats.Change.Seq leaves room
	t.told = t.seq
	data, err := json.Marshal(State{t.id.String(), t.state.TotalSeats, t.state.AvailableSeats, t.state.Oversold, string(t.state.Status)})
	if err != nil {
		return // numbers and text: it can't be
	}
	m := message{t.seq, fmt.Appendf(nil, "id: %d\nevent: availability\ndata: %s\n\n", t.seq, data)}
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
		t.err = fault.New(mongodb.CodeUnavailable, "This process is stopping; ask again.")
		close(t.ready)
	}
	for l := range t.listeners {
		l.nudge()
	}
}
