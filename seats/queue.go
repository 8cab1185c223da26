package seats

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	// maxBatch bounds what one transaction takes up: it then lasts some tens of
	// milliseconds.
	maxBatch = 500
	// maxWaiting bounds an event's queue; about a second's work.
	maxWaiting = 20_000
	// maxInFlight bounds the transactions of all committers together, below the
	// connection pool so that reads get through.
	maxInFlight = 48
	// settleTime bounds how long an unknown outcome is asked for.
	settleTime  = 20 * time.Second
	settlePause = 100 * time.Millisecond
)

// request is one caller's wish at an event's queue: to take seats, or to give
// a lock back.
type request struct {
	take *LockRequest
	give *giveBack

	span     trace.SpanContext // of the caller's trace, if there is one
	lockID   ID                // of the lock to be made, or to be given back
	answer   chan answer       // of size 1: a caller that left holds nobody up
	mu       sync.Mutex
	takenUp  bool // by a committer
	left     bool // the caller gave up
	answered bool
}

// answer is what became of a request.
type answer struct {
	lock     Lock
	replayed bool
	err      error
	// again: the transaction could not decide it; it goes first in the next one.
	again bool
}

type queue struct {
	waiting []*request
	pace    pace
	// readFirst counts the next batches that don't try to be quick; only the
	// committer uses it.
	readFirst int
}

// submit queues a request at its event and waits for the answer, but not
// longer than ctx.
func (s *Service) submit(ctx context.Context, eventID ID, r *request) answer {
	r.answer, r.span = make(chan answer, 1), trace.SpanContextFromContext(ctx)
	if !s.enqueue(eventID, r, maxWaiting) {
		return answer{err: fault.New(mongodb.CodeUnavailable, "Too many requests wait for this event; ask again.")}
	}
	select {
	case a := <-r.answer:
		return a
	case <-ctx.Done():
		return r.leave(ctx.Err())
	}
}

// leave answers a caller that gives up. What was not taken up is dropped; what
// was is found by its key, or given back by the committer.
func (r *request) leave(cause error) answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answered {
		return <-r.answer
	}
	r.left = true
	if !r.takenUp || (r.take != nil && r.take.Key == "") {
		return answer{err: fault.New(mongodb.CodeUnavailable, "No answer in time; no seats are kept.").By(cause)}
	}
	return answer{err: outcomeUnknown(r.lockID).By(cause)}
}

func outcomeUnknown(lockID ID) *fault.Error {
	return fault.New(mongodb.CodeOutcomeUnknown, "No answer in time; ask again with the same key.").With("lockId", lockID.String())
}

// enqueue adds the request and starts the event's committer if there is none;
// false if the queue is full.
func (s *Service) enqueue(eventID ID, r *request, most int) bool {
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	q, running := s.queues.byEvent[eventID]
	if !running {
		q = &queue{}
		s.queues.byEvent[eventID] = q
	}
	if len(q.waiting) >= most {
		return false
	}
	q.waiting = append(q.waiting, r)
	if !running {
		s.queues.committers.Go(func() { s.commitAll(eventID, q) })
	}
	return true
}

// commitAll is an event's committer: it runs while there is work.
func (s *Service) commitAll(eventID ID, q *queue) {
	var carried []*request // undecided by the transaction before
	for {
		batch, more := s.nextBatch(eventID, q, carried)
		if len(batch) == 0 {
			if !more {
				return
			}
			continue
		}
		q.pace.giveWay()
		s.queues.slots <- struct{}{}
		answers := s.commitGuarded(eventID, q, batch)
		<-s.queues.slots
		carried = carried[:0]
		for i, r := range batch {
			if answers[i].again {
				carried = append(carried, r)
				continue
			}
			s.deliver(eventID, r, answers[i])
		}
	}
}

// nextBatch takes up what waits, without those who left. more is false once
// the queue is gone, which happens under the lock that enqueue holds.
func (s *Service) nextBatch(eventID ID, q *queue, carried []*request) (batch []*request, more bool) {
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	batch = append(batch, carried...)
	n := 0
	for ; n < len(q.waiting) && len(batch) < maxBatch; n++ {
		if q.waiting[n].takeUp() {
			batch = append(batch, q.waiting[n])
		}
	}
	q.waiting = append([]*request(nil), q.waiting[n:]...)
	if len(batch) == 0 && len(q.waiting) == 0 {
		delete(s.queues.byEvent, eventID)
		return nil, false
	}
	return batch, true
}

func (r *request) takeUp() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takenUp = !r.left
	return r.takenUp
}

// hasLeft reports whether the caller has given up. What they asked for is not
// begun any more: they may ask again elsewhere, and be told something else.
func (r *request) hasLeft() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left
}

// deliver answers the caller. One who left without a key can never find the
// lock that was made: it is released.
func (s *Service) deliver(eventID ID, r *request, a answer) {
	r.mu.Lock()
	r.answered = true
	r.answer <- a
	forsaken := r.left && r.take != nil && r.take.Key == "" && a.err == nil
	r.mu.Unlock()
	if forsaken {
		back := &request{lockID: a.lock.ID, give: releaseOf(nil, nil), answer: make(chan answer, 1)}
		s.enqueue(eventID, back, 2*maxWaiting) // full: it expires like any other
	}
}

// commitGuarded answers everybody even if deciding panics, which then ends
// neither the process nor the event's queue.
func (s *Service) commitGuarded(eventID ID, q *queue, batch []*request) (answers []answer) {
	defer func() {
		if p := recover(); p != nil {
			s.db.Log().Error("Committing a batch panicked", "eventId", eventID, "error", p, "stack", string(debug.Stack()))
			answers = sameAnswer(batch, func(r *request) error { return outcomeUnknown(r.lockID) })
		}
	}()
	return s.commit(eventID, q, batch)
}

// commit decides a batch in one transaction and returns an answer for each
// request. It runs on its own time: a caller that leaves ends nobody's commit.
func (s *Service) commit(eventID ID, q *queue, batch []*request) []answer {
	ctx, ended := traced(mongodb.Brisk(context.Background()), eventID, batch)
	defer ended()
	users := s.ask(ctx, batch)
	answers, err := s.commitFirst(ctx, eventID, q, batch, users)
	switch {
	case err == nil:
		return answers
	case errors.Is(err, errStrangers):
		return s.commitWithout(eventID, q, batch, users)
	case fault.Is(err, mongodb.CodeOutcomeUnknown):
		return s.settle(ctx, eventID, batch)
	case len(batch) > 1 && mongodb.RejectedByServer(err):
		// One request's document may be at fault: each gets its own transaction.
		answers = answers[:0]
		for _, r := range batch {
			answers = append(answers, s.commit(eventID, q, []*request{r})...)
		}
		return answers
	default:
		return sameAnswer(batch, func(*request) error { return err })
	}
}

// commitWithout refuses the requests of unknown users and commits the others.
func (s *Service) commitWithout(eventID ID, q *queue, batch []*request, users *lookUp) []answer {
	others, refusals := users.without(batch)
	var committed []answer
	if len(others) > 0 {
		committed = s.commit(eventID, q, others)
	}
	answers := make([]answer, 0, len(batch))
	for _, refusal := range refusals {
		if refusal != nil {
			answers = append(answers, answer{err: refusal})
			continue
		}
		answers, committed = append(answers, committed[0]), committed[1:]
	}
	return answers
}

// settle learns what became of a batch whose commit was never answered, by
// deciding it again with the same IDs in a transaction that writes the same
// event: once that commits, the earlier one is either there or can't come any more.
func (s *Service) settle(ctx context.Context, eventID ID, batch []*request) []answer {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for ctx.Err() == nil {
		if answers, err := s.commitOnce(ctx, eventID, batch, nil, true); err == nil {
			return answers
		}
		select {
		case <-ctx.Done():
		case <-time.After(settlePause):
		}
	}
	return sameAnswer(batch, func(r *request) error { return outcomeUnknown(r.lockID) })
}

func sameAnswer(batch []*request, errOf func(*request) error) []answer {
	answers := make([]answer, len(batch))
	for i, r := range batch {
		answers[i] = answer{err: errOf(r)}
	}
	return answers
}

// commitFirst decides a batch in the cheapest way that may do: refused by one
// read, written without one, or by reading.
func (s *Service) commitFirst(ctx context.Context, eventID ID, q *queue, batch []*request, users *lookUp) ([]answer, error) {
	total, plain := mayBeQuick(batch, s.limits)
	if plain && s.queues.looksSoldOut(eventID) {
		if answers, ok, err := s.refuse(ctx, eventID, batch, users); ok {
			return answers, err
		}
		s.queues.noteSoldOut(eventID, false)
	}
	if !plain || q.readFirst > 0 {
		q.readFirst = max(0, q.readFirst-1)
		q.pace.lostCount()
		return s.commitOnce(ctx, eventID, batch, users, false)
	}
	answers, err := s.commitQuick(ctx, eventID, q, batch, users, total)
	switch {
	case errors.Is(err, errNotFitting):
		if answers, ok, err := s.refuse(ctx, eventID, batch, users); ok {
			s.queues.noteSoldOut(eventID, true)
			return answers, err
		}
		q.readFirst = readOn
		return s.commitOnce(ctx, eventID, batch, users, false)
	case errors.Is(err, errNotQuick):
		return s.commitOnce(ctx, eventID, batch, users, false)
	default:
		return answers, err
	}
}

func (s *Service) commitQuick(ctx context.Context, eventID ID, q *queue, batch []*request, users *lookUp, total int64) ([]answer, error) {
	var b *batchTx
	var began time.Time // of the attempt that got through
	answers, err := mongodb.InTx(ctx, s.db, func(ctx context.Context) ([]answer, error) {
		began = s.db.Clock()()
		b = &batchTx{s: s, eventID: eventID, requests: batch, users: users}
		return b.quick(ctx, total)
	})
	if err != nil {
		q.pace.lostCount()
		return nil, err
	}
	q.pace.saw(b.event.Rev.N, s.db.Clock().Since(began))
	return answers, nil
}

// mayLose is how often a batch that is decided by reading may lose the event to who
// writes it before it does. Reading first keeps the event for a shorter time, which
// several processes that sell it gain from; but beside somebody who writes it all the
// time, as a shop does that counts visits in it, it might lose for ever. So it then
// writes the event first.
const mayLose = 5

func (s *Service) commitOnce(ctx context.Context, eventID ID, batch []*request, users *lookUp, settling bool) ([]answer, error) {
	tried := 0
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) ([]answer, error) {
		if tried++; tried > mayLose {
			if _, _, err := s.touch(ctx, eventID); err != nil {
				return nil, err
			}
		}
		b := &batchTx{s: s, eventID: eventID, requests: batch, users: users, settling: settling}
		return b.decide(ctx)
	})
}
