package live

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/store"
)

// maxAhead is how far the IDs of another process may be ahead of those of this one: a minute, in units of the 37 bits of an ID
// that rise.
const maxAhead = 60 << 28 >> prefixShift

// seatRetryDelay is the pause after a map could not be read.
const seatRetryDelay = time.Second

// seatChanges sends the changes of an event's seats.
//
// A change of the change stream only says that there is something to read. The map is read at most once
// per SeatsInterval, whatever the number of changes and listeners, and compared with the one before. So
// it is not necessary to see every change: a gap in the change stream costs no reset.
type seatChanges struct {
	*topic

	woken   chan struct{}
	context context.Context //nolint:containedctx // ends with the topic, and run with it
	cancel  context.CancelFunc

	wantSeq int64 // Seq of the last change that is known
	readSeq int64 // Seq of the last map that was read
	state   *state
	batches []*batch // the last one led to the state, the first one is the oldest that a listener can follow
	seats   int      // number of seats in the batches

	texts, wholeTexts texts // of the last batch, and of the whole state after it
}

func newSeatChanges(t *topic) *seatChanges {
	ctx, cancel := context.WithCancel(context.Background())
	return &seatChanges{topic: t, woken: make(chan struct{}, 1), context: ctx, cancel: cancel}
}

// begin starts the reads. They need no change stream: began is called when it starts.
func (s *seatChanges) begin(context.Context) {
	_, last := s.hub.received()
	s.mu.Lock()
	s.want(last)
	s.mu.Unlock()
	s.hub.run(s.run)
}

func (s *seatChanges) began(_ context.Context, seq int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.want(seq)
	return nil
}

func (s *seatChanges) receive(c store.Change) { s.want(c.Seq) }

// want asks for a map that is as new as seq.
func (s *seatChanges) want(seq int64) {
	s.wantSeq = max(s.wantSeq, seq)
	if s.wantSeq > s.readSeq {
		select {
		case s.woken <- struct{}{}:
		default:
		}
	}
}

func (s *seatChanges) stop() { s.cancel() }

// run reads the map after changes, until the topic is stopped or its first map can't be read.
func (s *seatChanges) run() {
	ctx, failures := s.context, 0
	for {
		delay, err := SeatsInterval, s.read(ctx)
		switch {
		case err == nil:
			failures = 0
		case !s.isLoaded() || ctx.Err() != nil:
			s.fail(err)
			return
		case holdfast.IsNotFound(err), holdfast.HasCode(err, holdfast.CodeInvalid): // or it has no seats any more
			s.hub.forget(s.topic, err)
			return
		default:
			if failures++; failures == 1 {
				s.hub.log.WarnContext(ctx, "The seats of an event can't be read; their streams wait",
					slog.String("eventId", s.key.event.String()), slog.Any("error", err))
			}
			delay = seatRetryDelay
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(delay):
		}
		if failures > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-s.woken:
		}
	}
}

// read reads the map if there is something new, and publishes what has changed.
func (s *seatChanges) read(ctx context.Context) error {
	s.mu.Lock()
	seq := s.wantSeq
	isCurrent := s.isLoaded() && seq <= s.readSeq
	s.mu.Unlock()
	if isCurrent {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	seats, at, err := readSince(ctx, seq, s.key.event, s.hub.source.SeatsAt)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	s.readSeq = at
	s.publish(seats, at)
	return nil
}

// fail returns to the callers that wait for the first map the reason why it can't be read.
func (s *seatChanges) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isLoaded() {
		s.err = err
		close(s.loaded)
	}
}

// publish replaces the state and wakes the listeners. If the plan is another one, they are reset.
func (s *seatChanges) publish(seats store.SeatMap, seq int64) {
	before := s.state
	s.state = &state{SeatMap: seats}
	switch {
	case before == nil:
		s.push(&batch{seq: seq})
		close(s.loaded)
		return
	case !isSamePlan(before.SeatMap, seats):
		s.batches, s.seats = s.batches[len(s.batches)-1:], 0 // its number and its IDs go on
		s.push(&batch{seq: seq})
		s.batches = s.batches[1:]
	default:
		b := newBatch(before.SeatMap, seats, seq)
		if b.isEmpty() {
			return
		}
		s.push(b)
	}
	s.wakeListeners()
}

// push adds a batch, and forgets the oldest ones.
func (s *seatChanges) push(b *batch) {
	b.number, b.prefix = 1, b.seq>>prefixShift
	if n := len(s.batches); n > 0 {
		last := s.batches[n-1]
		b.number, b.prefix = last.number+1, max(b.prefix, last.prefix+1)
	}
	s.batches, s.seats = append(s.batches, b), s.seats+b.seats
	for len(s.batches) > replayBuffer || len(s.batches) > 1 && s.seats > maxReplaySeats {
		// Listeners that get the second batch have the state of the oldest one.
		s.batches[0] = nil
		s.batches = s.batches[1:]
		s.seats -= s.batches[0].seats
	}
	s.texts, s.wholeTexts = texts{}, texts{}
}

// add finds the batch that the client has received last. If there is none, because it is too old, was not
// received completely, is of other sections or of another server, then the listener is reset.
func (s *seatChanges) add(l *Listener) error {
	// A client that reconnects may not know the new plan yet, so it is reset like a client that stayed.
	if err := l.sections.check(s.state.Seats.Hall()); err != nil && l.lastID == 0 {
		return err
	}
	for _, b := range s.batches {
		if b.id(l.sections, lastFrame) == l.lastID {
			l.last = b.number
		}
	}
	l.resetDue = l.last == 0 && l.lastID != 0
	if l.resetDue {
		s.outrun(l.lastID >> prefixBits)
	}
	return nil
}

// outrun makes the next IDs higher than that of a client which can't be resumed, such as one from another process: IDs rise for it
// too. An ID with a time in the future is not from this service, and is ignored.
func (s *seatChanges) outrun(prefix int64) {
	last := s.batches[len(s.batches)-1]
	if prefix < last.prefix || prefix > last.seq>>prefixShift+maxAhead {
		return
	}
	if !last.isEmpty() {
		last = &batch{seq: last.seq, revision: last.revision, hall: last.hall}
		s.push(last)
	}
	last.prefix = prefix + 1
	s.texts, s.wholeTexts = texts{}, texts{}
}

// next returns the batches that the listener has not received, or everything if it has received nothing,
// or is too far behind: then it is reset.
func (s *seatChanges) next(l *Listener) []byte {
	first, last := s.batches[0], s.batches[len(s.batches)-1]
	missed := last.number - l.last
	if l.last != 0 && (l.last < first.number || missed > maxBacklog && !l.resuming || missed > maxResumed) {
		l.resetDue, l.last = true, 0
	}
	received := l.last
	l.last = last.number
	switch {
	case received == 0:
		text := s.wholeTexts.of(l.sections, func() []byte { return last.numbered(l.sections, s.state.messages(l.sections)) })
		if reset := l.dueReset(); reset != nil {
			return append(reset, text...)
		}
		return text
	case missed == 0:
		return nil
	case missed == 1:
		return s.texts.of(l.sections, func() []byte { return last.text(l.sections) })
	}
	var text []byte
	for _, b := range s.batches[received-first.number+1:] {
		text = append(text, b.text(l.sections)...)
	}
	return text
}
