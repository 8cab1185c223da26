package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/clock"
)

// Keeper renews a lease.
type Keeper struct {
	Terms Terms
	Clock clock.Clock // its monotonic reading counts
	// Renewed hears of the new deadline; nil is not called.
	Renewed func(deadline time.Time)
}

// ErrPaused means that the deadline passed before a renewal was sent: the process, or the
// whole machine, stood still.
var ErrPaused = errors.New("this process stood still for longer than its lease")

// Keep renews until ctx ends, which gives nil, or the lease is lost, which
// gives why. deadline is the present one: Valid after the acquisition was sent.
func (k Keeper) Keep(ctx context.Context, l Lease, deadline time.Time) error {
	const again = 10 // tries in a term while the store does not answer
	next := k.Terms.Every()
	var last error // of the renewals since the last good one
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(next, deadline.Sub(k.Clock()))):
		}
		sent := k.Clock()
		left := deadline.Sub(sent)
		if left <= 0 {
			return k.passed(last)
		}
		err := k.renew(ctx, l, left)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			deadline, next, last = sent.Add(k.Terms.Valid()), k.Terms.Every(), nil
			if k.Renewed != nil {
				k.Renewed(deadline)
			}
		default:
			if _, held := IsHeld(err); held {
				return err
			}
			next, last = k.Terms.Term()/again, err
		}
	}
}

func (k Keeper) renew(ctx context.Context, l Lease, left time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	return l.Renew(ctx)
}

func (k Keeper) passed(last error) error {
	if last == nil {
		return ErrPaused
	}
	return fmt.Errorf("not renewed in time: %w", last)
}
