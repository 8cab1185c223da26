package jobs

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// elector campaigns for the leadership in the background and answers gocron
// from memory.
type elector struct {
	runner *Runner
	until  atomic.Pointer[time.Time] // leader until then, by the monotonic clock
	away   atomic.Bool               // the last campaign found the store unavailable
	sole   atomic.Bool               // no campaign: there are no leases, and this process schedules
}

// ErrNotLeader says that another process schedules, or none can.
var ErrNotLeader = errors.New("this process does not lead")

// IsLeader returns nil if this process schedules. It makes no query.
func (e *elector) IsLeader(context.Context) error {
	if e.leads() || e.sole.Load() || (e.away.Load() && e.runner.AloneWhenDown) {
		return nil
	}
	return ErrNotLeader
}

func (e *elector) leads() bool {
	until := e.until.Load()
	return until != nil && e.runner.Clock().Before(*until)
}

// Between two tries of one who does not lead.
const (
	leastPause = 20 * time.Millisecond
	awayPause  = time.Second // while the store does not answer, at most
	awayShare  = 6           // of a term
	awayLog    = time.Minute // between two lines about that
)

// run campaigns until ctx ends, and then gives the leadership back.
func (e *elector) run(ctx context.Context) {
	var state campaign
	for ctx.Err() == nil {
		l, deadline, pause := e.try(ctx, &state)
		if l != nil {
			e.lead(ctx, l, deadline)
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// campaign is what was logged, so that it is not said at each try.
type campaign struct {
	leader string    // who was seen to lead
	told   time.Time // that the store is away
}

// try asks for the leadership once. Without it, pause is the time to the next try.
func (e *elector) try(ctx context.Context, seen *campaign) (l lease.Lease, deadline time.Time, pause time.Duration) {
	r, sent := e.runner, e.runner.Clock()
	l, err := r.Leases.Acquire(ctx, lease.Leader, r.Holder)
	took := r.Clock.Since(sent)
	if ctx.Err() != nil && err != nil {
		return nil, time.Time{}, 0
	}
	r.Metrics.acquired(lease.Leader, err, took)
	line := []any{"lockKey", lease.Leader, "acquired", err == nil, "ttlMs", ms(r.Terms.Term()), "durationMs", ms(took)}
	_, away := lease.IsUnavailable(err)
	if e.away.Swap(away) && !away {
		r.Log.InfoContext(ctx, "Leases are available again", "lockKey", lease.Leader)
	}
	if err == nil {
		*seen = campaign{}
		r.Log.InfoContext(ctx, "Lease acquired", append(line, "holder", r.Holder)...)
		return l, sent.Add(r.Terms.Valid()), 0
	}
	if held, ok := lease.IsHeld(err); ok {
		if held.Holder != seen.leader {
			*seen = campaign{leader: held.Holder}
			r.Log.InfoContext(ctx, "Lease contention", append(line, "holder", held.Holder, "reason", "contention")...)
		}
		return nil, time.Time{}, e.untilFree(held.Left)
	}
	if seen.told.IsZero() || r.Clock.Since(seen.told) >= awayLog {
		*seen = campaign{told: r.Clock()}
		mode := "disable"
		if r.AloneWhenDown {
			mode, line[3] = "single-instance", true
		}
		r.Log.WarnContext(ctx, "Lease unavailable", append(line, "reason", reasonOf(err), "fallbackMode", mode, "error", err)...)
	}
	return nil, time.Time{}, jitter(min(awayPause, r.Terms.Term()/awayShare))
}

// untilFree is the pause of one who waits for a lease: to the end of its term,
// and not so long that a lease given back early stays free.
func (e *elector) untilFree(left time.Duration) time.Duration {
	every := jitter(e.runner.Terms.Every())
	if left > 0 {
		every = min(every, left+jitter(leastPause))
	}
	return max(leastPause, every)
}

// jitter keeps processes from asking all at once.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2) //nolint:gosec // a pause is no secret
}

// lead keeps the leadership until it is lost or ctx ends.
func (e *elector) lead(ctx context.Context, l lease.Lease, deadline time.Time) {
	r, since := e.runner, e.runner.Clock()
	e.until.Store(&deadline)
	keeper := lease.Keeper{Terms: r.Terms, Clock: r.Clock, Renewed: func(deadline time.Time) { e.until.Store(&deadline) }}
	err := keeper.Keep(ctx, l, deadline)
	e.until.Store(nil)
	line := []any{"lockKey", lease.Leader, "acquired", false, "ttlMs", ms(r.Terms.Term()), "durationMs", ms(r.Clock.Since(since)), "holder", r.Holder}
	if err != nil {
		r.Log.WarnContext(ctx, "Lease lost", append(line, "reason", reasonOf(err), "error", err)...)
	}
	if gone := l.Release(ctx); gone != nil { // also after a loss that was only feared
		r.Log.WarnContext(ctx, "Lease not given back; it ends with its term", append(line, "reason", reasonOf(gone), "error", gone)...)
	} else if err == nil {
		r.Log.InfoContext(ctx, "Lease released", line...)
	}
}
