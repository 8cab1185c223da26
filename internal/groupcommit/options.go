package groupcommit

import (
	"cmp"
	"context"
	"log/slog"
	"time"
)

const (
	// defaultMaxBatch keeps a transaction as short as some tens of milliseconds.
	defaultMaxBatch = 500
	// defaultMaxWaiting is about as many commands as one key commits in a second.
	defaultMaxWaiting = 20_000
	// defaultLanes was the fastest of 1, 2, 4 and 8 in measurements.
	defaultLanes = 2
	// defaultMaxInFlight leaves connections of the pool for reads.
	defaultMaxInFlight    = 48
	defaultSettleTimeout  = 20 * time.Second
	defaultSettleInterval = 100 * time.Millisecond
)

// Options configure a Queue. Commit and Now are required.
type Options[K comparable, C, R any] struct {
	// Commit decides a batch and commits it in one transaction. It returns an outcome for every command, or an error
	// for the whole batch. Its context has no caller's deadline. Commits of different keys run concurrently.
	// Commit should try a batch of several keys only once, and should not wait for a single key, because the other
	// keys wait too. It should leave out such a key as Apart.
	Commit func(ctx context.Context, b *Batch[K, C]) (Committed[R], error)
	// IsUnknown reports whether, after the error, the transaction may have been
	// committed. The queue then settles: it calls Commit again with the same
	// commands and Batch.Settling set, until it succeeds or SettleTimeout is over.
	IsUnknown func(error) bool
	// Orphaned receives a result whose caller gave up while the commit was in flight. It may be nil. It runs on the
	// key's committer: it may call Post, and must not call Submit, which would wait for that committer.
	Orphaned func(key K, command C, result R)
	// Unsettled receives a command whose caller gave up while it was in flight, and whose outcome stays unknown
	// (ErrUnknown). It may be nil. It runs on the key's committer, as Orphaned does.
	Unsettled func(key K, command C)
	// MayShare reports whether a command may be in a commit with other keys. If it is nil, no command may.
	MayShare func(command C) bool
	// Now is the clock for the delays between batches.
	Now func() time.Time
	// Log receives panics. It is slog.Default() if nil.
	Log *slog.Logger

	MaxBatch       int           // limit of commands in a commit; 500 if zero
	MaxWaiting     int           // limit of commands that wait for one key; 20,000 if zero
	Lanes          int           // limit of concurrent commits while keys share them; 2 if zero
	MaxInFlight    int           // limit of concurrent commits; 48 if zero
	SettleTimeout  time.Duration // for settling one batch; 20 s if zero
	SettleInterval time.Duration // between two attempts to settle; 100 ms if zero
}

func (o Options[K, C, R]) withDefaults() Options[K, C, R] {
	if o.IsUnknown == nil {
		o.IsUnknown = func(error) bool { return false }
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
