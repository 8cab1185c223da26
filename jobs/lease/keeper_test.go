package lease_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

// A store that goes away ends a keeper at the deadline, not before.
func TestKeeper_EndsAtTheDeadlineWhenRenewalsFail(t *testing.T) {
	t.Parallel()
	r := testenv.OwnRedis(t)
	s := redisAt(t, r.URL, terms)
	l, deadline := acquire(t, s, "run", "a"), time.Now().Add(terms.Valid())
	renewed := make(chan time.Time, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- lease.Keeper{Terms: terms, Clock: clock.System, Renewed: func(d time.Time) { renewed <- d }}.Keep(t.Context(), l, deadline)
	}()
	deadline = <-renewed
	r.Stop()
	err := <-ended
	for len(renewed) > 0 {
		deadline = <-renewed
	}
	if _, away := lease.IsUnavailable(err); !away {
		t.Errorf("it ended by %v", err)
	}
	if early := time.Until(deadline); early > 0 {
		t.Errorf("it ended %v before the deadline", early)
	}
}

// The clock jumps: what counts is the monotonic time that has passed. One that
// stood still for longer than its lease asks nobody.
func TestKeeper_APausedHolderStops(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	now := clock.Clock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	l := &counting{}
	ahead.Store(int64(terms.TTL))
	err := lease.Keeper{Terms: terms, Clock: now}.Keep(t.Context(), l, time.Now().Add(terms.Valid()))
	if !errors.Is(err, lease.ErrPaused) || l.renewals != 0 {
		t.Errorf("%v after %d renewals", err, l.renewals)
	}
}

// A renewal counts from when it was sent: its answer may have been long on the
// way, and the store's term began before it.
func TestKeeper_ReckonsFromTheSending(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l := &slow{terms.Valid() / 2, make(chan time.Time, 10)}
	renewed := make(chan time.Time, 10)
	go lease.Keeper{Terms: terms, Clock: clock.System, Renewed: func(d time.Time) { renewed <- d }}.Keep(ctx, l, time.Now().Add(terms.Valid())) //nolint:errcheck // it is stopped
	sent, deadline := <-l.sent, <-renewed
	if late := deadline.Sub(sent.Add(terms.Valid())); late > 0 {
		t.Errorf("the deadline is %v later than a term after the renewal was sent", late)
	}
}

// slow answers after a while.
type slow struct {
	wait time.Duration
	sent chan time.Time
}

func (s *slow) Renew(context.Context) error {
	s.sent <- time.Now()
	<-time.After(s.wait)
	return nil
}

func (s *slow) Release(context.Context) error { return nil }

type counting struct{ renewals int }

func (c *counting) Renew(context.Context) error { c.renewals++; return nil }

func (c *counting) Release(context.Context) error { return nil }
