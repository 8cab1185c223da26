package seats

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// readTimeout bounds a read that several callers wait for.
const readTimeout = 10 * time.Second

// reads lets concurrent callers share reads. A caller never gets a read that began before the call: it may
// already know of a later change. So at most one read of a key is in flight, and at most one waits.
type reads[K comparable, V any] struct {
	mu      sync.Mutex
	waiting map[K]*read[V] // reads that have not begun; nil if a read is in flight and none waits
}

type read[V any] struct {
	find  func() (V, error) // has the context values of the first caller
	done  chan struct{}
	value V
	err   error
}

// get returns the value of a read that begins now or later. The value is shared, so it must not be changed. If ctx
// ends first, get fails with UNAVAILABLE. A panic of find is an error of its read.
func (r *reads[K, V]) get(ctx context.Context, key K, find func(context.Context) (V, error)) (V, error) {
	r.mu.Lock()
	if r.waiting == nil {
		r.waiting = map[K]*read[V]{}
	}
	own, inFlight := r.waiting[key]
	if own == nil {
		own = &read[V]{find: func() (V, error) { return findShared(ctx, find) }, done: make(chan struct{})}
		r.waiting[key] = own
	}
	r.mu.Unlock()
	if !inFlight {
		go r.run(key)
	}
	select {
	case <-own.done:
		return own.value, own.err
	case <-ctx.Done():
		var none V
		return none, holdfast.Refuse(holdfast.CodeUnavailable, "The event could not be read in time; retry.").By(ctx.Err())
	}
}

// run reads until no caller waits.
func (r *reads[K, V]) run(key K) {
	for {
		r.mu.Lock()
		next := r.waiting[key]
		if next == nil {
			delete(r.waiting, key)
			r.mu.Unlock()
			return
		}
		r.waiting[key] = nil
		r.mu.Unlock()
		next.value, next.err = next.find()
		close(next.done)
	}
}

// findShared reads for the caller of ctx and for others, so the end of ctx does not end it. It recovers a panic, which would
// end the process, because it does not run in a caller's goroutine.
func findShared[V any](ctx context.Context, find func(context.Context) (V, error)) (value V, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a shared read panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return find(ctx)
}
