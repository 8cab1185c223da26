package expiry

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	// maxInFlight is how many events' transactions a sweep has under way at a time, so
	// that MongoDB works on the next one while it commits another.
	maxInFlight = 4
	// maxFailures in a row mean that something is wrong beyond single events.
	maxFailures = 10
	// busyDelay is the pause between two transactions of a sweep on an event that
	// others write: twice as long as one of its transactions of 500 locks lasts, so that
	// a sale goes on at half its rate at least.
	busyDelay = 120 * time.Millisecond
)

type group[T any] struct {
	event holdfast.ID
	items []T
}

// groupBy sorts items by event, in the order in which the events appear.
func groupBy[T any](items []T, eventOf func(T) (holdfast.ID, bool)) []group[T] {
	var groups []group[T]
	at := map[holdfast.ID]int{}
	for _, item := range items {
		event, ok := eventOf(item)
		if !ok {
			continue
		}
		i, known := at[event]
		if !known {
			i = len(groups)
			at[event] = i
			groups = append(groups, group[T]{event: event})
		}
		groups[i].items = append(groups[i].items, item)
	}
	return groups
}

// eachGroup ends up to maxInFlight groups at a time, and returns the first error of a
// run that can't go on.
func eachGroup[T any](ctx context.Context, groups []group[T], end func(context.Context, group[T]) error) error {
	all, within := errgroup.WithContext(ctx)
	all.SetLimit(maxInFlight)
	for _, g := range groups {
		if within.Err() != nil {
			break
		}
		all.Go(func() error { return end(within, g) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	return cutShort(ctx)
}

// cutShort is the error of a run that was ended before its work was done.
func cutShort(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("the run was ended before its work was done: %w", context.Cause(ctx))
}

// endGroup ends the documents of a group. Where MongoDB rejects the whole, it tries the
// halves, so that one document does not hold up its neighbours. The error is for a run
// that can't go on.
func endGroup[T any](
	ctx context.Context, p *progress, event holdfast.ID, items []T,
	end func(context.Context, []T) (ended int, busy bool, err error),
) error {
	ended, busy, err := end(ctx, items)
	switch {
	case err == nil:
		if sameEvent := p.applied(event, ended, len(items)); busy && sameEvent { // another event's transaction is pause enough
			pause(ctx)
		}
		return nil
	case ctx.Err() != nil:
		return cutShort(ctx)
	case holdfast.HasCode(err, holdfast.CodeEventNotFound):
		p.applied(event, 0, 0)
		p.setAside(ctx, len(items), "there is no such event", "eventId", event, "documents", len(items))
		return nil
	case mongodb.RejectedByServer(err) && len(items) > 1:
		half := len(items) / 2
		if err := endGroup(ctx, p, event, items[:half], end); err != nil {
			return err
		}
		return endGroup(ctx, p, event, items[half:], end)
	}
	failures := p.failed(len(items))
	p.Log.ErrorContext(ctx, "Could not expire; the next run tries again", "eventId", event, "documents", len(items), "error", err)
	if failures == maxFailures {
		return fmt.Errorf("%d groups in a row failed, the last one by: %w", maxFailures, err)
	}
	return nil
}

func pause(ctx context.Context) {
	timer := time.NewTimer(busyDelay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
