package groupcommit

import (
	"context"
	"errors"
	"time"
)

// laneTimeout is how long a commit may keep its lane. A commit that takes longer continues without a lane, so that a
// slow key does not delay other keys.
const laneTimeout = 50 * time.Millisecond

// openLane starts a lane if the limit allows one more. The caller holds q.mu.
func (q *Queue[K, C, R]) openLane() {
	if len(q.ready) > 0 && q.lanes < q.maxLanes() {
		q.lanes++
		q.start(q.runLane)
	}
}

// maxLanes returns the limit of lanes. While keys don't share commits, only MaxInFlight bounds them. The caller
// holds q.mu.
func (q *Queue[K, C, R]) maxLanes() int {
	if q.sharing.isOff() {
		return q.options.MaxInFlight
	}
	return q.options.Lanes
}

// runLane commits batch after batch of the keys that are ready. It forms a batch just before the commit, so that
// callers can join it or give up until then.
func (q *Queue[K, C, R]) runLane() {
	for q.commitReady() {
	}
}

// commitReady commits a batch. It returns false if the lane is closed.
func (q *Queue[K, C, R]) commitReady() (isOpen bool) {
	q.awaitLongLine()
	q.slots <- struct{}{}
	defer func() { <-q.slots }()
	q.awaitCallers(func() int { return q.waiting })
	groups, isOpen := q.takeUpReady()
	if len(groups) == 0 {
		return isOpen
	}
	leave := q.holdLane()
	if len(groups) == 1 {
		q.commit(groups[0])
		q.release(groups[0].line)
	} else {
		q.share(groups)
	}
	return leave()
}

// longLineTimeout is how long a lane waits for the commit of a long line.
const longLineTimeout = 10 * time.Millisecond

// awaitLongLine lets a lane that has few keys wait until a commit of a long line ends. A commit costs about the same
// for few commands as for many, so it would slow down the many callers of the long line for the benefit of few.
func (q *Queue[K, C, R]) awaitLongLine() {
	q.mu.Lock()
	if q.long == 0 || len(q.ready) >= longLine {
		q.mu.Unlock()
		return
	}
	if q.ended == nil {
		q.ended = make(chan struct{})
	}
	ended := q.ended
	q.mu.Unlock()
	select {
	case <-ended:
	case <-time.After(longLineTimeout):
	}
}

// noteLong counts a commit of a long line, until the function that it returns is called.
func (q *Queue[K, C, R]) noteLong() (end func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.long++
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.long--
		if q.ended != nil {
			close(q.ended)
			q.ended = nil
		}
	}
}

// takeUpReady returns the next batch of the keys that are ready. It closes the lane if no key is ready, or if there
// are more lanes than the limit.
func (q *Queue[K, C, R]) takeUpReady() (groups []group[K, C, R], isOpen bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.ready) == 0 || q.lanes > q.maxLanes() {
		q.lanes--
		return nil, false
	}
	room, most := q.options.MaxBatch, q.sharing.next(len(q.ready))
	for room > 0 && len(groups) < most && len(q.ready) > 0 {
		l := q.ready[0]
		q.ready[0] = nil // the array would keep it in memory
		q.ready = q.ready[1:]
		if l.isApart() {
			q.offer(l) // the line no longer shares its commits
			continue
		}
		requests := q.takeUp(l, room)
		room -= len(requests)
		if len(requests) == 0 {
			q.remove(l) // all callers gave up
			continue
		}
		groups = append(groups, group[K, C, R]{line: l, requests: requests})
	}
	q.openLane() // while keys share no commits, the limit of lanes is higher
	return groups, true
}

// holdLane starts the timeout of a lane. The function that it returns stops it, and reports whether the caller still
// has the lane.
func (q *Queue[K, C, R]) holdLane() (leave func() bool) {
	isOver, isLost := false, false
	timer := time.AfterFunc(laneTimeout, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if !isOver {
			isLost = true
			q.lanes--
			q.openLane()
		}
	})
	return func() bool {
		timer.Stop()
		q.mu.Lock()
		defer q.mu.Unlock()
		isOver = true
		return !isLost
	}
}

// share commits the batches of several keys together, once. If that fails, it commits each key by itself. It also
// commits by itself a key that Commit has left out. So a failure of one key does not fail the others.
func (q *Queue[K, C, R]) share(groups []group[K, C, R]) {
	committed, err := q.attempt(context.Background(), groups, newBatch(groups))
	q.mu.Lock()
	q.sharing.note(err == nil)
	q.mu.Unlock()
	var unknown error
	if err != nil {
		forgetRevisions(groups)
		if errors.Is(err, ErrUnknown) || q.options.IsUnknown(err) {
			unknown = err
		}
	}
	for i, g := range groups {
		if err == nil && !committed.Groups[i].Apart {
			q.deliver(g, committed.Groups[i])
			q.release(g.line)
			continue
		}
		q.Go(func() {
			defer q.release(g.line)
			q.slots <- struct{}{}
			defer func() { <-q.slots }()
			if unknown == nil {
				q.commit(g)
				return
			}
			settled, err := q.settle(g, unknown)
			q.answer(g, settled, err)
		})
	}
}

// sharing decides whether keys share commits. If other processes write the same keys, most shared commits fail by a
// conflict. So after each failure the next batches are of one key each: twice as many as after the previous failure,
// and half as many after a success.
type sharing struct {
	left    int // batches of one key, before keys share again
	backoff int // how many there were after the last failure
}

const maxAloneBatches = 1024

func (s *sharing) isOff() bool { return s.left > 0 }

// next returns how many of the ready keys may be in the next batch.
func (s *sharing) next(ready int) int {
	if s.left == 0 {
		return ready
	}
	s.left--
	return 1
}

func (s *sharing) note(succeeded bool) {
	if succeeded {
		s.backoff /= 2
		return
	}
	s.backoff = min(max(1, 2*s.backoff), maxAloneBatches) //nolint:mnd // see sharing
	s.left = s.backoff
}
