package groupcommit

import (
	"cmp"
	"context"
	"log/slog"
	"time"
)

const (
	// defaultMaxBatch keeps a transaction down to some tens of milliseconds.
	defaultMaxBatch = 500
	// defaultMaxWaiting is about one second's work for one key.
	defaultMaxWaiting = 20_000
	// defaultLanes was the fastest of 1, 2, 4 and 8.
	defaultLanes = 2
	// defaultMaxInFlight leaves connections of the pool for reads.
	defaultMaxInFlight    = 48
	defaultSettleTimeout  = 20 * time.Second
	defaultSettleInterval = 100 * time.Millisecond
)

// Options configure a Queue. Commit and Now are required.
type Options[K comparable, C, R any] struct {
	// Commit decides a batch and commits it in one transaction. It returns an
	// outcome for every command, or an error for the whole batch. Its context has
	// no caller's deadline. Commits of different keys run concurrently.
	//
	// A batch of several keys is tried once. Commit should not repeat it, should not wait for
	// what one key needs, and leaves out such keys as Apart: the others wait for it.
	Commit func(ctx context.Context, b *Batch[K, C]) (Committed[R], error)
	// IsUnknown reports whether, after the error, the transaction may have been
	// committed. The queue then settles: it calls Commit again with the same
	// commands and Batch.Settling set, until it succeeds or SettleTimeout is over.
	IsUnknown func(error) bool
	// IsRejected reports whether the batch was rejected as a whole and nothing was
	// written, and whether a part of it may succeed. One command may be at fault, so the
	// queue then commits the halves, and the halves of a half that is rejected too.
	IsRejected func(error) bool
	// Orphaned receives a result whose caller had given up while the commit was in
	// flight; nil is not called. It runs on the key's committer: it may call Post,
	// and must not call Submit, which would wait for that committer.
	Orphaned func(key K, command C, result R)
	// Unsettled receives a command whose caller had given up while it was in flight, and
	// whose outcome stays unknown (ErrUnknown); nil is not called. It runs on the key's
	// committer, as Orphaned does.
	Unsettled func(key K, command C)
	// MayShare reports whether a command may be in a commit with other keys; never if nil.
	MayShare func(command C) bool
	// Now is the clock of the pauses between batches.
	Now func() time.Time
	// Log receives panics; slog.Default() if nil.
	Log *slog.Logger

	MaxBatch       int           // commands in a commit; 500 if zero
	MaxWaiting     int           // commands that wait for one key; 20,000 if zero
	Lanes          int           // commits that run together while keys share them; 2 if zero
	MaxInFlight    int           // commits that run together at most; 48 if zero
	SettleTimeout  time.Duration // for settling one batch; 20 s if zero
	SettleInterval time.Duration // between two attempts to settle; 100 ms if zero
}

func (o Options[K, C, R]) withDefaults() Options[K, C, R] {
	never := func(error) bool { return false }
	if o.IsUnknown == nil {
		o.IsUnknown = never
	}
	if o.IsRejected == nil {
		o.IsRejected = never
	}
	if o.Orphaned == nil {
		o.Orphaned = func(K, C, R) {}
	}
	if o.Unsettled == nil {
		o.Unsettled = func(K, C) {}
	}
	if o.MayShare == nil {
		o.MayShare = func(C) bool { return false }
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	o.MaxBatch = cmp.Or(o.MaxBatch, defaultMaxBatch)
	o.MaxWaiting = cmp.Or(o.MaxWaiting, defaultMaxWaiting)
	o.Lanes = cmp.Or(o.Lanes, defaultLanes)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, defaultMaxInFlight)
	o.SettleTimeout = cmp.Or(o.SettleTimeout, defaultSettleTimeout)
	o.SettleInterval = cmp.Or(o.SettleInterval, defaultSettleInterval)
	return o
}
