package groupcommit

import (
	"context"
	"fmt"
	"sync/atomic"
)

// The states of a ticket. The caller and the committer each move it by
// compare-and-swap, so that exactly one of them wins each transition:
//
//	from        to          by
//	waiting     inFlight    committer, takeUp
//	waiting     dropped     caller, giveUp
//	inFlight    answered    committer, answer
//	inFlight    abandoned   caller, giveUp
const (
	waiting int32 = iota
	inFlight
	dropped
	abandoned
	answered
)

// ticket is the state of a request. It has no type parameters, so that Group can hold it.
type ticket struct {
	state atomic.Int32
}

// takeUp adds the command to a batch. It returns false if its caller has given up.
func (t *ticket) takeUp() bool { return t.state.CompareAndSwap(waiting, inFlight) }

// giveUp ends the caller's wait. It returns ErrNotStarted or ErrInFlight, or nil if the
// request is answered already.
func (t *ticket) giveUp() error {
	switch {
	case t.state.CompareAndSwap(waiting, dropped):
		return ErrNotStarted
	case t.state.CompareAndSwap(inFlight, abandoned):
		return ErrInFlight
	default:
		return nil
	}
}

// request is a command that has no outcome yet.
type request[C, R any] struct {
	ticket
	command C
	apart   bool // it can't share a commit with other keys
	// result and err are set before the state becomes answered.
	result R
	err    error
	done   chan struct{} // closed when the request is answered; nil if no caller waits
}

// wait returns the outcome, or gives up when ctx ends. If the request is answered by then, it returns the outcome.
func (r *request[C, R]) wait(ctx context.Context) (result R, err error) {
	select {
	case <-r.done:
	case <-ctx.Done():
		if err := r.giveUp(); err != nil {
			return result, fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
	return r.result, r.err
}

// answer gives the caller its outcome. It returns false if the caller has given up.
func (r *request[C, R]) answer(result R, err error) bool {
	r.result, r.err = result, err
	if !r.state.CompareAndSwap(inFlight, answered) {
		return false
	}
	if r.done != nil {
		close(r.done)
	}
	return true
}
