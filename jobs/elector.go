package jobs

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// elector campaigns for the leader's lease in the background and answers gocron
// from memory.
type elector struct {
	runner   *Runner
	until    atomic.Pointer[time.Time] // leader until then, by the monotonic clock
	storeErr atomic.Pointer[error]     // why the store was unavailable at the last attempt; nil if it was available
	noLeases atomic.Bool               // there is no election: this process always schedules
}

// ErrNotLeader means that another process schedules, or that none can.
var ErrNotLeader = errors.New("this process does not lead")

// IsLeader returns nil if this process schedules. It makes no query.
func (e *elector) IsLeader(context.Context) error {
	if e.holdsLease() || e.noLeases.Load() || (e.storeErr.Load() != nil && e.runner.RunWithoutStore) {
		return nil
	}
	return ErrNotLeader
}

func (e *elector) holdsLease() bool {
	until := e.until.Load()
	return until != nil && e.runner.Clock().Before(*until)
}

// Delays between two attempts of a process that does not lead.
const (
	minCampaignDelay       = 20 * time.Millisecond
	maxUnavailableDelay    = time.Second // while the store does not answer
	unavailableShare       = 6           // of StoreTTL
	unavailableLogInterval = time.Minute // between two log lines about it
)

// run campaigns until ctx ends, and then releases the lease.
func (e *elector) run(ctx context.Context) {
	var logged loggedState
	for ctx.Err() == nil {
		l, deadline, delay := e.campaign(ctx, &logged)
		if l != nil {
			e.lead(ctx, l, deadline)
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		}
	}
}

// loggedState is what was logged last, so that not every attempt logs a line.
type loggedState struct {
	leader        string
	unavailableAt time.Time
}

// campaign tries once to acquire the leader's lease. If it fails, l is nil and
// delay is the time to the next attempt.
func (e *elector) campaign(ctx context.Context, logged *loggedState) (l Lease, deadline time.Time, delay time.Duration) {
	r, sent := e.runner, e.runner.Clock()
	l, err := r.Leases.Acquire(ctx, r.Leader, r.Holder)
	took := r.Clock.Since(sent)
	if ctx.Err() != nil && err != nil {
		return nil, time.Time{}, 0
	}
	r.Metrics.acquired(r.Leader, err, took)
	var storeErr *error
	if _, unavailable := IsUnavailable(err); unavailable {
		storeErr = &err
	}
	if e.storeErr.Swap(storeErr) != nil && storeErr == nil {
		r.Log.InfoContext(ctx, "The lease store is available again", slog.String("lockKey", r.Leader))
	}
	line := leaseLine{key: r.Leader, acquired: err == nil, duration: took}
	if err == nil {
		*logged = loggedState{}
		r.logLease(ctx, r.Log, slog.LevelInfo, "Lease acquired", line, holderAttr(r.Holder))
		return l, sent.Add(r.Terms.HolderTTL()), 0
	}
	if held, ok := IsHeld(err); ok {
		if held.Holder != logged.leader {
			*logged = loggedState{leader: held.Holder}
			r.logLease(ctx, r.Log, slog.LevelInfo, "Lease contention", line, holderAttr(held.Holder), reasonAttr(err))
		}
		return nil, time.Time{}, e.contentionDelay(held.Remaining)
	}
	if logged.unavailableAt.IsZero() || r.Clock.Since(logged.unavailableAt) >= unavailableLogInterval {
		*logged = loggedState{unavailableAt: r.Clock()}
		fallback := fallbackDisable
		if r.RunWithoutStore {
			fallback, line.acquired = fallbackSingleInstance, true
		}
		r.logLease(ctx, r.Log, slog.LevelWarn, "Lease unavailable", line, reasonAttr(err), fallback, errorAttr(err))
	}
	return nil, time.Time{}, jitter(min(maxUnavailableDelay, r.Terms.StoreTTL()/unavailableShare))
}

// contentionDelay ends when the present lease expires, and after RenewInterval
// at the latest, so that a lease which is released early does not stay free.
func (e *elector) contentionDelay(remaining time.Duration) time.Duration {
	delay := jitter(e.runner.Terms.RenewInterval())
	if remaining > 0 {
		delay = min(delay, remaining+jitter(minCampaignDelay))
	}
	return max(minCampaignDelay, delay)
}

// jitter returns between half of d and d, so that processes do not ask all at
// the same time.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2)
}

// lead renews the lease until it is lost or ctx ends, and then releases it.
func (e *elector) lead(ctx context.Context, l Lease, deadline time.Time) {
	r, since := e.runner, e.runner.Clock()
	e.until.Store(&deadline)
	keeper := Keeper{Terms: r.Terms, Clock: r.Clock, OnRenew: func(deadline time.Time) { e.until.Store(&deadline) }}
	lost := keeper.Keep(ctx, l, deadline)
	e.until.Store(nil)
	line := leaseLine{key: r.Leader, duration: r.Clock.Since(since)}
	if lost != nil {
		r.logLease(ctx, r.Log, slog.LevelWarn, "Lease lost", line, holderAttr(r.Holder), reasonAttr(lost), errorAttr(lost))
	}
	// A lease that seems lost may still be stored under this holder.
	if err := l.Release(ctx); err != nil {
		r.logLease(ctx, r.Log, slog.LevelWarn, releaseFailed, line, holderAttr(r.Holder), reasonAttr(err), errorAttr(err))
	} else if lost == nil {
		r.logLease(ctx, r.Log, slog.LevelInfo, "Lease released", line, holderAttr(r.Holder))
	}
}

const releaseFailed = "Could not release the lease; it expires by itself"
