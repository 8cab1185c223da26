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
	lines   map[K]*line[K, C, R] // only keys with work have a line
	paces   map[K]pace           // the paces of keys without work, as far as they are kept
	ready   []*line[K, C, R]     // the lines that wait for a lane
	waiting int                  // the number of commands in all lines that are not in a batch
	lanes   int                  // the number of running lanes
	long    int                  // the number of commits of long lines in flight
	ended   chan struct{}        // closed when a commit of a long line ends; nil if no lane waits for that
	sharing sharing
	running int           // the number of goroutines that Close waits for
	idle    chan struct{} // closed when running becomes 0; nil if no Close waits
}

// line contains the requests of a key. A line is ready, or one goroutine owns it. Only the owner uses undecided and
// pace.
type line[K comparable, C, R any] struct {
	key       K
	waiting   []*request[C, R] // guarded by Queue.mu
	apart     int              // how many of them can't share a commit with other keys; guarded by Queue.mu
	undecided []*request[C, R] // commands in flight, which go first in the next batch
	ready     time.Time        // since when there is a command for the next batch
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
		lines:   map[K]*line[K, C, R]{},
		paces:   map[K]pace{},
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

// Post queues a command and drops its result. It returns false if the queue is full. The limit for posted commands
// is twice as high, so that the queue accepts them while it refuses callers.
func (q *Queue[K, C, R]) Post(key K, command C) bool {
	return q.enqueue(key, &request[C, R]{command: command}, 2*q.options.MaxWaiting)
}

// enqueue adds the request, and makes the key's line ready if it is new. It returns false if limit commands wait
// already.
func (q *Queue[K, C, R]) enqueue(key K, r *request[C, R], limit int) bool {
	r.apart = !q.options.MayShare(r.command)
	q.mu.Lock()
	defer q.mu.Unlock()
	l, found := q.lines[key]
	if !found {
		l = &line[K, C, R]{key: key, pace: q.paces[key]}
		delete(q.paces, key)
		q.lines[key] = l
	}
	if len(l.waiting) >= limit {
		return false
	}
	l.waiting = append(l.waiting, r)
	q.waiting++
	if r.apart {
		l.apart++
	}
	if !found {
		q.offer(l)
	}
	return true
}

// offer makes a line with work ready for a lane. A line that yields to other processes, or does not share its
// commit, gets a goroutine of its own. The caller holds q.mu.
func (q *Queue[K, C, R]) offer(l *line[K, C, R]) {
	l.ready = q.options.Now()
	if delay := l.pace.delay(q.jitter(), l.ready); delay > 0 || l.isApart() {
		q.start(func() { q.runApart(l, delay) })
		return
	}
	q.ready = append(q.ready, l)
	q.openLane()
}

// longLine is the number of waiting commands from which a key has a commit of its own. It would gain little by
// sharing one, and would wait for the other keys.
const longLine = 32

// isApart reports whether the next batch of a line does not share its commit. The caller holds Queue.mu.
func (l *line[K, C, R]) isApart() bool {
	return l.apart+len(l.undecided) > 0 || len(l.waiting) >= longLine
}

// release offers the line again if it has work, and removes it if it has none. It holds the mutex of enqueue, so the
// next request makes a new line.
func (q *Queue[K, C, R]) release(l *line[K, C, R]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(l.undecided)+len(l.waiting) > 0 {
		q.offer(l)
	} else {
		q.remove(l)
	}
}

// remove removes a line without work, and keeps its pace. If there are too many paces, it drops all of them. For
// each dropped pace, one batch does not know of contention. The caller holds q.mu.
func (q *Queue[K, C, R]) remove(l *line[K, C, R]) {
	delete(q.lines, l.key)
	if l.pace.revision == 0 {
		return
	}
	if len(q.paces) >= maxPaces {
		clear(q.paces)
	}
	q.paces[l.key] = l.pace
}

// runApart commits a batch of one key, after a delay.
func (q *Queue[K, C, R]) runApart(l *line[K, C, R], delay time.Duration) {
	defer q.release(l)
	if delay > 0 {
		<-time.After(delay)
	}
	q.slots <- struct{}{}
	defer func() { <-q.slots }()
	q.awaitCallers(func() int { return len(l.waiting) })
	q.mu.Lock()
	requests := q.takeUp(l, q.options.MaxBatch)
	q.mu.Unlock()
	if len(requests) >= longLine {
		defer q.noteLong()()
	}
	if len(requests) > 0 {
		q.commit(group[K, C, R]{line: l, requests: requests})
	}
}

// maxYields bounds how often a committer yields before it forms a batch.
const maxYields = 16

// awaitCallers lets callers that have just got their answers submit their next commands: those join this batch
// instead of waiting for it. It yields to other goroutines while requests arrive. waiting is called with q.mu held.
func (q *Queue[K, C, R]) awaitCallers(waiting func() int) {
	for before, n := -1, 0; n < maxYields; n++ {
		q.mu.Lock()
		now := waiting()
		q.mu.Unlock()
		if now == before || now >= q.options.MaxBatch {
			return
		}
		before = now
		q.yield()
	}
}

// takeUp returns the next batch of a key, of at most limit commands: undecided ones, then
// waiting ones. It leaves out the commands of callers that gave up. The caller holds q.mu.
func (q *Queue[K, C, R]) takeUp(l *line[K, C, R], limit int) []*request[C, R] {
	batch := l.undecided
	l.undecided = nil
	n := 0
	for ; n < len(l.waiting) && len(batch) < limit; n++ {
		if l.waiting[n].apart {
			l.apart--
		}
		if l.waiting[n].takeUp() {
			batch = append(batch, l.waiting[n])
		}
	}
	clear(l.waiting[:n]) // the array would keep them in memory
	l.waiting = l.waiting[n:]
	q.waiting -= n
	return batch
}

// commit commits the commands of one key and answers their callers, except for undecided
// commands, which stay in their line.
func (q *Queue[K, C, R]) commit(g group[K, C, R]) {
	committed, err := q.attempt(context.Background(), one(g), newBatch(one(g)))
	if err != nil {
		g.line.pace.forget() // the attempt may have raised the revision
	}
	if err != nil && !errors.Is(err, ErrUnknown) && q.options.IsUnknown(err) { // after a panic the error is ErrUnknown already
		committed, err = q.settle(g, err)
	}
	q.answer(g, committed, err)
}

// answer answers the callers of a commit of one key.
func (q *Queue[K, C, R]) answer(g group[K, C, R], committed Committed[R], err error) {
	if err != nil {
		q.fail(g, err)
		return
	}
	q.deliver(g, committed.Groups[0])
}

// settle finds out the outcome of a commit that was not answered, by committing the same commands again. Once that
// succeeds, the earlier commit has happened, or can't happen any more.
func (q *Queue[K, C, R]) settle(g group[K, C, R], cause error) (Committed[R], error) {
	ctx, cancel := context.WithTimeout(context.Background(), q.options.SettleTimeout)
	defer cancel()
	for ctx.Err() == nil {
		batch := newBatch(one(g))
		batch.Settling = true
		committed, err := q.attempt(ctx, one(g), batch)
		if err == nil || errors.Is(err, ErrUnknown) {
			return committed, err
		}
		q.rest(func() {
			select {
			case <-ctx.Done():
			case <-time.After(q.options.SettleInterval):
			}
		})
	}
	return Committed[R]{}, fmt.Errorf("%w: %w", ErrUnknown, cause)
}

// rest lets another key commit while a commit waits for its next attempt. So keys that wait for a long time, such as
// for the transaction of a dead process, do not delay other keys.
func (q *Queue[K, C, R]) rest(wait func()) {
	<-q.slots
	defer func() { q.slots <- struct{}{} }()
	wait()
}

// attempt calls Commit once. It turns a panic into ErrUnknown, so that a panic ends neither the process nor the
// key's queue.
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
	b.Rest = q.rest
	committed, err = q.options.Commit(ctx, b)
	if err == nil && !isComplete(groups, committed) {
		panic("groupcommit: Commit did not return one outcome for each command")
	}
	return committed, err
}

// deliver answers the callers of a commit that succeeded.
func (q *Queue[K, C, R]) deliver(g group[K, C, R], result GroupResult[R]) {
	g.line.pace.observe(result.Written, g.line.ready, q.options.Now())
	for i, r := range g.requests {
		switch o := result.Outcomes[i]; {
		case o.Undecided:
			g.line.undecided = append(g.line.undecided, r)
		case !r.answer(o.Result, nil):
			q.orphaned(g, r)
		}
	}
}
