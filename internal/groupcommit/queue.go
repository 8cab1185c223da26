package groupcommit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Queue commits together what many callers submit for the same key at the same
// time. Its methods are safe for concurrent use.
type Queue[K comparable, C, R any] struct {
	options Options[K, C, R]
	slots   chan struct{}  // one for each commit in flight
	jitter  func() float64 // from 0 to 1

	mu      sync.Mutex
	lanes   map[K]*lane[K, C, R] // only of keys with work; each has a committer
	running int                  // goroutines that Close waits for
	idle    chan struct{}        // closed once running is 0; nil if no Close waits
}

// lane is what is queued for a key. Its committer alone uses undecided and pace.
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
		lanes:   map[K]*lane[K, C, R]{},
	}
}

// Submit queues a command and waits for its result, but not longer than ctx. Its
// error is ErrFull, ErrNotStarted, ErrInFlight, ErrUnknown or what Commit returned;
// the package's document says what a caller may infer from each.
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

// Post queues a command without waiting for its result, which is dropped. It
// returns false if the queue is full; for posted commands it is twice as long, so
// that they are accepted while callers are refused.
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

// run is a key's committer: it commits batch after batch while there is work. A
// batch is taken up last, so that callers can join it or give up until it starts.
func (q *Queue[K, C, R]) run(l *lane[K, C, R]) {
	for q.hasWork(l) {
		if d := l.pace.delay(q.jitter()); d > 0 {
			<-time.After(d)
		}
		q.slots <- struct{}{}
		if requests := q.takeUp(l); len(requests) > 0 {
			q.commit([]group[K, C, R]{{lane: l, requests: requests}})
		}
		<-q.slots
	}
}

// hasWork removes a lane without work, under the lock that enqueue holds: the next
// request starts another committer.
func (q *Queue[K, C, R]) hasWork(l *lane[K, C, R]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(l.undecided)+len(l.waiting) > 0 {
		return true
	}
	delete(q.lanes, l.key)
	return false
}

// takeUp returns the next batch: undecided commands, then those that wait, without
// those whose callers gave up.
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
	clear(l.waiting[:n]) // else the array behind would keep them in memory
	l.waiting = l.waiting[n:]
	return batch
}

// Waiting returns how many commands wait for a key and are not taken up yet.
func (q *Queue[K, C, R]) Waiting(key K) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.lanes[key]; l != nil {
		return len(l.waiting)
	}
	return 0
}

// InFlight returns how many keys have commands that wait or are being committed.
func (q *Queue[K, C, R]) InFlight() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.lanes)
}
