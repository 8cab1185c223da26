package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Keeper renews a lease.
type Keeper struct {
	Terms LeaseTerms
	Clock mongodb.Clock // only its monotonic reading is used
	// OnRenew is called with the new deadline after each renewal. It may be nil.
	OnRenew func(deadline time.Time)
}

// ErrPaused means that the deadline passed before a renewal was sent: the
// process, or the whole machine, was paused.
var ErrPaused = errors.New("this process was paused for longer than its lease")

// Keep renews the lease until ctx ends or the lease is lost. It returns nil if
// ctx ended, else the cause: a *HeldError, ErrPaused, or the error of the last
// renewal. The first deadline is HolderTTL after the acquisition was sent.
func (k Keeper) Keep(ctx context.Context, l Lease, deadline time.Time) error {
	const retries = 10 // per StoreTTL, while the store does not answer
	delay := k.Terms.RenewInterval()
	var lastErr error // since the last successful renewal
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(delay, deadline.Sub(k.Clock()))):
		}
		sent := k.Clock()
		remaining := deadline.Sub(sent)
		if remaining <= 0 {
			return expiredError(lastErr)
		}
		err := k.renew(ctx, l, remaining)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			deadline, delay, lastErr = sent.Add(k.Terms.HolderTTL()), k.Terms.RenewInterval(), nil
			if k.OnRenew != nil {
				k.OnRenew(deadline)
			}
		default:
			if _, held := IsHeld(err); held {
				return err
			}
			delay, lastErr = k.Terms.StoreTTL()/retries, err
		}
	}
}

func (k Keeper) renew(ctx context.Context, l Lease, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return l.Renew(ctx)
}

func expiredError(lastErr error) error {
	if lastErr == nil {
		return ErrPaused
	}
	return fmt.Errorf("the lease was not renewed in time: %w", lastErr)
}
