package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// commit commits the groups and answers their callers, except for undecided
// commands, which stay in their lanes.
func (q *Queue[K, C, R]) commit(groups []group[K, C, R]) {
	committed, err := q.attempt(context.Background(), groups, false)
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
		fail(groups, err)
		return
	}
	q.deliver(groups, committed)
}

// settle finds out what became of a batch whose commit was not answered, by
// committing the same commands again. Once that succeeds, the earlier commit is
// either in place or cannot arrive any more.
func (q *Queue[K, C, R]) settle(groups []group[K, C, R], cause error) (Committed[R], error) {
	ctx, cancel := context.WithTimeout(context.Background(), q.options.SettleTimeout)
	defer cancel()
	for ctx.Err() == nil {
		committed, err := q.attempt(ctx, groups, true)
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
func (q *Queue[K, C, R]) attempt(ctx context.Context, groups []group[K, C, R], settling bool) (committed Committed[R], err error) {
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
	committed, err = q.options.Commit(ctx, newBatch(groups, settling))
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
			case o.Again:
				g.lane.undecided = append(g.lane.undecided, r)
			case !r.answer(o.Result, nil):
				q.orphaned(g, r)
			}
		}
	}
}

// orphaned hands on a result that no caller waits for. A panic must not keep the
// results of the other callers from them.
func (q *Queue[K, C, R]) orphaned(g group[K, C, R], r *request[C, R]) {
	defer func() {
		if p := recover(); p != nil {
			q.logPanic("Handling an orphaned result panicked", []group[K, C, R]{g}, p)
		}
	}()
	q.options.Orphaned(g.lane.key, r.command, r.result)
}

func (q *Queue[K, C, R]) logPanic(message string, groups []group[K, C, R], p any) {
	keys := make([]K, len(groups))
	for i, g := range groups {
		keys[i] = g.lane.key
	}
	q.options.Log.LogAttrs(context.Background(), slog.LevelError, message,
		slog.Any("keys", keys), slog.Any("error", p), slog.String("stack", string(debug.Stack())))
}

// fail answers all callers of the groups with an error.
func fail[K comparable, C, R any](groups []group[K, C, R], err error) {
	var none R
	for _, g := range groups {
		for _, r := range g.requests {
			r.answer(none, err)
		}
	}
}

func forgetRevisions[K comparable, C, R any](groups []group[K, C, R]) {
	for _, g := range groups {
		g.lane.pace.forget()
	}
}
