package groupcommit

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
)

// orphaned calls Options.Orphaned. If that panics, the other callers still get their results.
func (q *Queue[K, C, R]) orphaned(g group[K, C, R], r *request[C, R]) {
	defer func() {
		if p := recover(); p != nil {
			q.logPanic("Handling an orphaned result panicked", []group[K, C, R]{g}, p)
		}
	}()
	q.options.Orphaned(g.line.key, r.command, r.result)
}

func (q *Queue[K, C, R]) logPanic(message string, groups []group[K, C, R], p any) {
	keys := make([]K, len(groups))
	for i, g := range groups {
		keys[i] = g.line.key
	}
	q.options.Log.LogAttrs(context.Background(), slog.LevelError, message,
		slog.Any("keys", keys), slog.Any("error", p), slog.String("stack", string(debug.Stack())))
}

// fail answers all callers of the group with an error.
func (q *Queue[K, C, R]) fail(g group[K, C, R], err error) {
	var none R
	for _, r := range g.requests {
		if !r.answer(none, err) && errors.Is(err, ErrUnknown) {
			q.unsettled(g, r)
		}
	}
}

// unsettled calls Options.Unsettled.
func (q *Queue[K, C, R]) unsettled(g group[K, C, R], r *request[C, R]) {
	defer func() {
		if p := recover(); p != nil {
			q.logPanic("Handling an unsettled command panicked", []group[K, C, R]{g}, p)
		}
	}()
	q.options.Unsettled(g.line.key, r.command)
}

func forgetRevisions[K comparable, C, R any](groups []group[K, C, R]) {
	for _, g := range groups {
		g.line.pace.forget()
	}
}
