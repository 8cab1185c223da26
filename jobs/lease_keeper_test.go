package jobs_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// If the store stops to answer, the keeper ends at the deadline and not before it.
func TestKeeper_EndsAtTheDeadlineWhenRedisStops(t *testing.T) {
	t.Parallel()
	r := testenv.OwnRedis(t)
	s := openRedis(t, r.URL, leaseTerms)
	l, deadline := acquire(t, s, "run", "a"), time.Now().Add(leaseTerms.HolderTTL())
	renewed := make(chan time.Time, 100)
	ended := make(chan error, 1)
	go func() {
		keeper := jobs.Keeper{Terms: leaseTerms, Clock: mongodb.SystemTime, OnRenew: func(d time.Time) { renewed <- d }}
		ended <- keeper.Keep(t.Context(), l, deadline)
	}()
	deadline = <-renewed
	r.Stop()
	err := <-ended
	for len(renewed) > 0 {
		deadline = <-renewed
	}
	if _, unavailable := jobs.IsUnavailable(err); !unavailable {
		t.Errorf("it ended with %v", err)
	}
	if early := time.Until(deadline); early > 0 {
		t.Errorf("it ended %v before the deadline", early)
	}
}

// fakeLease renews after a delay, by the fake clock, and counts the renewals.
type fakeLease struct {
	delay    time.Duration
	renewals int
}

func (l *fakeLease) Renew(ctx context.Context) error {
	l.renewals++
	timer := time.NewTimer(l.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return &jobs.UnavailableError{Reason: jobs.RedisUnavailable, Cause: ctx.Err()}
	}
}

func (l *fakeLease) Release(context.Context) error { return nil }

// A process that was paused for longer than its lease does not send a renewal: by
// its clock the deadline has passed.
func TestKeeper_PausedHolderStopsWithoutARenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		afterPause := mongodb.Clock(func() time.Time { return time.Now().Add(leaseTerms.TTL) })
		l := &fakeLease{}
		err := jobs.Keeper{Terms: leaseTerms, Clock: afterPause}.Keep(t.Context(), l, time.Now().Add(leaseTerms.HolderTTL()))
		if !errors.Is(err, jobs.ErrPaused) || l.renewals != 0 {
			t.Errorf("%v after %d renewals", err, l.renewals)
		}
	})
}

// The deadline counts from the moment the renewal was sent, because the store's TTL
// begins before the answer arrives.
func TestKeeper_DeadlineCountsFromTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		start := time.Now()
		var deadline time.Time
		keeper := jobs.Keeper{Terms: leaseTerms, Clock: time.Now, OnRenew: func(d time.Time) {
			deadline = d
			stop()
		}}
		l := &fakeLease{delay: leaseTerms.HolderTTL() / 2}
		if err := keeper.Keep(ctx, l, start.Add(leaseTerms.HolderTTL())); err != nil {
			t.Fatal(err)
		}
		if want := start.Add(leaseTerms.RenewInterval() + leaseTerms.HolderTTL()); !deadline.Equal(want) {
			t.Errorf("the deadline is %v after the start, want %v", deadline.Sub(start), want.Sub(start))
		}
		if l.renewals != 1 {
			t.Errorf("the store was asked for %d renewals, want 1", l.renewals)
		}
	})
}

// A store that never answers ends the keeper exactly at the deadline.
func TestKeeper_EndsAtTheDeadlineWhenNoRenewalIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		l := &fakeLease{delay: time.Hour}
		err := jobs.Keeper{Terms: leaseTerms, Clock: time.Now}.Keep(t.Context(), l, start.Add(leaseTerms.HolderTTL()))
		if _, unavailable := jobs.IsUnavailable(err); !unavailable || time.Since(start) != leaseTerms.HolderTTL() {
			t.Errorf("it ended after %v with %v", time.Since(start), err)
		}
	})
}
