package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
)

// Queue commits the commands of many callers for one key together. It is safe for
// concurrent use.
type Queue[K comparable, C, R any] struct {
	options Options[K, C, R]
	slots   chan struct{}  // one for each commit in flight
	jitter  func() float64 // from 0 to 1
	yield   func()         // lets other goroutines run

	mu      sync.Mutex
	lanes   map[K]*lane[K, C, R] // only of keys with work; each has a committer
	running int                  // goroutines that Close waits for
	idle    chan struct{}        // closed once running is 0; nil if no Close waits
}

// lane has the requests of a key. Only its committer uses undecided and pace.
type lane[K comparable, C, R any] struct {
	key       K
	waiting   []*request[C, R] // guarded by Queue.mu
	undecided []*request[C, R] // in flight, and first in the next batch
	pace      pace
}

// New returns a queue. It starts no goroutine.
func New[K comparable, C, R any](o Options[K, C, R]) *Queue[K, C, R] {
	o = o.withDefaults()
	return &Queue[K, C, R]{
		options: o,
		slots:   make(chan struct{}, o.MaxInFlight),
		jitter:  rand.Float64,
		yield:   runtime.Gosched,
		lanes:   map[K]*lane[K, C, R]{},
	}
}

// Submit queues a command and waits for its result, at most until ctx ends. Its error is
// ErrFull, ErrNotStarted, ErrInFlight, ErrUnknown or an error of Commit. The package's
// document says what a caller may infer from each.
func (q *Queue[K, C, R]) Submit(ctx context.Context, key K, command C) (R, error) {
	var none R
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	r := &request[C, R]{command: command, done: make(chan struct{})}
	if !q.enqueue(key, r, q.options.MaxWaiting) {
		return none, ErrFull
	}
	return r.wait(ctx)
}

// Post queues a command and drops its result. It returns false if the queue is full. For
// posted commands the limit is twice as high, so that they are accepted while callers are
// refused.
func (q *Queue[K, C, R]) Post(key K, command C) bool {
	return q.enqueue(key, &request[C, R]{command: command}, 2*q.options.MaxWaiting)
}

// enqueue adds the request and starts the key's committer if there is none; false
// if limit commands wait already.
func (q *Queue[K, C, R]) enqueue(key K, r *request[C, R], limit int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l, found := q.lanes[key]
	if !found {
		l = &lane[K, C, R]{key: key}
		q.lanes[key] = l
		q.start(func() { q.run(l) })
	}
	if len(l.waiting) >= limit {
		return false
	}
	l.waiting = append(l.waiting, r)
	return true
}

// run is a key's committer: it commits batch after batch while there is work. It takes a
// batch up just before the commit, so that callers can join it or give up until then.
func (q *Queue[K, C, R]) run(l *lane[K, C, R]) {
	for q.hasWork(l) {
		if d := l.pace.delay(q.jitter()); d > 0 {
			<-time.After(d)
		}
		q.slots <- struct{}{}
		q.awaitCallers(l)
		if requests := q.takeUp(l); len(requests) > 0 {
			q.commit([]group[K, C, R]{{lane: l, requests: requests}})
		}
		<-q.slots
	}
}

// maxYields bounds how often a committer yields before it takes a batch up.
const maxYields = 16

// awaitCallers lets callers that were just answered submit their next command: it joins this
// batch instead of waiting for it. It yields to other goroutines while requests arrive.
func (q *Queue[K, C, R]) awaitCallers(l *lane[K, C, R]) {
	for before, n := -1, 0; n < maxYields; n++ {
		q.mu.Lock()
		waiting := len(l.waiting)
		q.mu.Unlock()
		if waiting == before || waiting >= q.options.MaxBatch {
			return
		}
		before = waiting
		q.yield()
	}
}

// hasWork removes a lane without work. enqueue uses the same mutex, so the next request
// starts another committer.
func (q *Queue[K, C, R]) hasWork(l *lane[K, C, R]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(l.undecided)+len(l.waiting) > 0 {
		return true
	}
	delete(q.lanes, l.key)
	return false
}

// takeUp returns the next batch: undecided commands, then waiting ones. It leaves out the
// commands of callers that gave up.
func (q *Queue[K, C, R]) takeUp(l *lane[K, C, R]) []*request[C, R] {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := l.undecided
	l.undecided = nil
	n := 0
	for ; n < len(l.waiting) && len(batch) < q.options.MaxBatch; n++ {
		if l.waiting[n].takeUp() {
			batch = append(batch, l.waiting[n])
		}
	}
	clear(l.waiting[:n]) // the array would keep them in memory
	l.waiting = l.waiting[n:]
	return batch
}

// commit commits the groups and answers their callers, except for undecided
// commands, which stay in their lanes.
func (q *Queue[K, C, R]) commit(groups []group[K, C, R]) {
	committed, err := q.attempt(context.Background(), groups, newBatch(groups))
	if err != nil {
		forgetRevisions(groups) // the attempt may have raised them
	}
	switch {
	case err == nil || errors.Is(err, ErrUnknown):
		// There are outcomes, or Commit panicked.
	case q.options.IsUnknown(err):
		committed, err = q.settle(groups, err)
	case q.options.IsRejected(err):
		if parts := split(groups); parts != nil {
			for _, part := range parts {
				q.commit(part)
			}
			return
		}
	}
	if err != nil {
		q.fail(groups, err)
		return
	}
	q.deliver(groups, committed)
}

// settle finds out the outcome of a commit that was not answered, by committing the same
// commands again. Once that succeeds, the earlier commit has happened or can't happen any
// more.
func (q *Queue[K, C, R]) settle(groups []group[K, C, R], cause error) (Committed[R], error) {
	ctx, cancel := context.WithTimeout(context.Background(), q.options.SettleTimeout)
	defer cancel()
	for ctx.Err() == nil {
		batch := newBatch(groups)
		batch.Settling = true
		committed, err := q.attempt(ctx, groups, batch)
		if err == nil || errors.Is(err, ErrUnknown) {
			return committed, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(q.options.SettleInterval):
		}
	}
	return Committed[R]{}, fmt.Errorf("%w: %w", ErrUnknown, cause)
}

// attempt calls Commit once. A panic becomes an ErrUnknown: it must end neither the
// process nor the key's queue.
func (q *Queue[K, C, R]) attempt(ctx context.Context, groups []group[K, C, R], b *Batch[K, C]) (committed Committed[R], err error) {
	defer func() {
		if p := recover(); p != nil {
			q.logPanic("Committing a batch panicked", groups, p)
			cause, ok := p.(error)
			if !ok {
				cause = fmt.Errorf("%v", p)
			}
			err = fmt.Errorf("%w: Commit panicked: %w", ErrUnknown, cause)
		}
	}()
	committed, err = q.options.Commit(ctx, b)
	if err == nil && !fits(groups, committed) {
		panic("groupcommit: Commit did not return one outcome for each command")
	}
	return committed, err
}

// deliver answers the callers of a commit that succeeded.
func (q *Queue[K, C, R]) deliver(groups []group[K, C, R], committed Committed[R]) {
	for i, g := range groups {
		result := committed.Groups[i]
		g.lane.pace.observe(result.Revision, result.Took)
		for j, r := range g.requests {
			switch o := result.Outcomes[j]; {
			case o.Undecided:
				g.lane.undecided = append(g.lane.undecided, r)
			case !r.answer(o.Result, nil):
				q.orphaned(g, r)
			}
		}
	}
}
