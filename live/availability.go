package live

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/store"
)

// State is the data of a message.
type State struct {
	EventID        string `json:"eventId"`
	TotalSeats     int64  `json:"totalSeats"`
	AvailableSeats int64  `json:"availableSeats" doc:"Without seats that are kept for the waiting list."`
	Oversold       int64  `json:"oversold,omitempty"`
	Status         string `json:"status" enum:"ON_SALE,CLOSED,CANCELLED"`
	SaleStartsAt   string `json:"saleStartsAt,omitempty" format:"date-time"`
	SaleEndsAt     string `json:"saleEndsAt,omitempty" format:"date-time"`
}

// message is a state in the format of server-sent events, with its ID.
type message struct {
	seq  int64
	text []byte
}

// availability sends the whole state of an event after each change.
//
// A change has a Seq, its position in the change stream. A message's ID is the
// Seq of the last change that it includes, or higher (see publish).
type availability struct {
	*topic

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
}

func (a *availability) add(l *Listener) error {
	l.last = l.lastID
	if last := l.last; last == 0 || last < a.replayFrom || last > a.seq {
		l.resetDue, l.last = last != 0, 0
	}
	return nil
}

// begin reads the first state. If the change stream is not running yet, Hub.started
// reads it.
func (a *availability) begin(ctx context.Context) {
	firstSeq, lastSeq := a.hub.received()
	if firstSeq > 0 {
		_ = a.began(ctx, lastSeq) // Listen returns the error, which is in the topic
	}
}

// began reads the state of seq or later. Changes that arrive during the read may be newer,
// and are kept until the state is known.
func (a *availability) began(ctx context.Context, seq int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	defer cancel()
	event, at, err := readSince(ctx, seq, a.key.event, a.hub.source.EventAt)
	if isGone := a.startAt(event, at, seq, err); isGone {
		a.hub.forget(a.topic, err)
	}
	return err
}

// startAt takes the state that was read for seq, or the error. isGone is set if the event existed and does not any more.
func (a *availability) startAt(event holdfast.Event, at, seq int64, err error) (isGone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ended:
	case err == nil && a.isLoaded() && a.err == nil && seq <= a.readSeq: // another call has read this state
	case err == nil:
		a.setState(event, at)
	case !a.isLoaded():
		a.err = err
		close(a.loaded)
	default:
		return holdfast.IsNotFound(err)
	}
	return false
}

// setState replaces the state by the one of seq, and resets the listeners.
func (a *availability) setState(event holdfast.Event, seq int64) {
	a.state, a.readSeq, a.changeSeq, a.seq, a.err = event, seq, seq, max(seq, a.seq), nil
	for _, c := range a.early {
		a.apply(c)
	}
	a.early = nil
	a.reset()
	a.publish()
	if !a.isLoaded() {
		close(a.loaded)
	}
}

// apply changes the state, unless the state includes the change: it was read
// later, or the change stream restarted and repeats the change. Several changes of
// one transaction have the same Seq.
func (a *availability) apply(c store.Change) (applied bool) {
	if c.Seq <= a.readSeq || c.Seq < a.changeSeq {
		return false
	}
	before := a.state
	a.state, a.changeSeq, a.seq = c.To(a.state), c.Seq, max(a.seq, c.Seq)
	if a.state.Seating.PlanID != before.Seating.PlanID {
		a.reset()
	}
	return !c.OfList || available(a.state) != available(before) // a message for each customer who joins would tell nothing
}

// available is how many seats a customer who is not on the waiting list could get when the event was last written.
func available(e holdfast.Event) int64 { return e.Answer().AvailableToOthers(e.UpdatedAt) }

// reset makes the next message the first one that counts: listeners that have received earlier ones get a reset.
func (a *availability) reset() {
	a.replay, a.replayFrom = nil, math.MaxInt64
	for l := range a.listeners {
		l.resetDue, l.last = true, 0
	}
}

// receive applies a change and schedules the message.
func (a *availability) receive(c store.Change) {
	if c.Other {
		return
	}
	if !a.isLoaded() { // at most for loadTimeout
		a.early = append(a.early, c)
		return
	}
	if !a.apply(c) || a.pending {
		return
	}
	a.pending = true
	a.publishing = time.AfterFunc(PublishInterval, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.pending && !a.ended {
			a.publish()
		}
	})
}

// publish adds the state to the replay buffer and wakes the listeners.
func (a *availability) publish() {
	a.pending = false
	// A transaction may change an event twice with one Seq. IDs must rise
	// even then; store.Change.Seq leaves room between two transactions.
	a.seq = max(a.seq, a.sentSeq+1)
	a.sentSeq = a.seq
	data, err := json.Marshal(State{
		EventID:        a.key.event.String(),
		TotalSeats:     a.state.TotalSeats,
		AvailableSeats: available(a.state),
		Oversold:       a.state.Oversold,
		Status:         string(a.state.Status),
		SaleStartsAt:   timeText(a.state.SaleStartsAt),
		SaleEndsAt:     timeText(a.state.SaleEndsAt),
	})
	if err != nil {
		return // numbers and strings can always be encoded
	}
	if len(a.replay) == 0 {
		a.replayFrom = a.seq
	}
	text := fmt.Appendf(nil, "id: %d\nevent: availability\ndata: %s\n\n", a.seq, data)
	if a.replay = append(a.replay, message{seq: a.seq, text: text}); len(a.replay) > 2*replayBuffer {
		a.replay = slices.Clone(a.replay[len(a.replay)-replayBuffer:])
		a.replayFrom = a.replay[0].seq
	}
	a.wakeListeners()
}

// next returns each message that the listener has not received. A listener that is more than maxBacklog
// messages behind gets the latest one only, except for its first messages after a reconnect.
func (a *availability) next(l *Listener) (text []byte) {
	text = l.dueReset()
	pending := a.replay
	for len(pending) > 0 && pending[0].seq <= l.last {
		pending = pending[1:]
	}
	if n := len(pending); n > 0 && (l.last == 0 || (n > maxBacklog && !l.resuming)) {
		pending = pending[n-1:]
	}
	for _, m := range pending {
		text, l.last = append(text, m.text...), m.seq
	}
	return text
}

func (a *availability) stop() {
	if a.publishing != nil {
		a.publishing.Stop()
	}
}

// timeText is a time as all answers write it, and "" for the zero time.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
