package groupcommit

import "context"

// Go runs f on a goroutine that Close waits for; Commit may start helpers with it. A
// panic in f is not recovered, because Commit might rely on f.
func (q *Queue[K, C, R]) Go(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.start(f)
}

// start runs f on a goroutine that Close waits for. The caller holds q.mu.
func (q *Queue[K, C, R]) start(f func()) {
	q.running++
	go func() {
		defer q.finish()
		f()
	}()
}

func (q *Queue[K, C, R]) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running--; q.running == 0 && q.idle != nil {
		close(q.idle)
		q.idle = nil
	}
}

// Close waits until every command has its answer and every function given to Go has
// returned. If ctx ends first, it returns the error of ctx. A closed queue still accepts
// commands.
func (q *Queue[K, C, R]) Close(ctx context.Context) error {
	idle := q.whenIdle()
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// whenIdle returns a channel that is closed when the last goroutine has ended, or nil if none runs.
func (q *Queue[K, C, R]) whenIdle() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running > 0 && q.idle == nil {
		q.idle = make(chan struct{})
	}
	return q.idle
}

// Waiting returns the number of commands of a key that are not in a batch yet.
func (q *Queue[K, C, R]) Waiting(key K) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.lines[key]; l != nil {
		return len(l.waiting)
	}
	return 0
}

// InFlight returns the number of keys whose commands wait or are being committed.
func (q *Queue[K, C, R]) InFlight() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.lines)
}
