package expiry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
)

const (
	// maxInFlight is how many transactions of a sweep, each on another event, run at a time: MongoDB works on one
	// while it commits another.
	maxInFlight = 4
	// maxFailures is how many groups in a row may fail before the run checks whether the database answers at all.
	maxFailures = 10
	// busyDelay is the pause between two transactions of a sweep on one event that is on
	// sale. A transaction of 500 locks takes half as long, so the sale keeps at least half
	// its rate.
	busyDelay = 120 * time.Millisecond
)

// document is a document that a run can end.
type document interface {
	Position() store.After
}

type group[T any] struct {
	event holdfast.ID
	items []T
}

// groupBy groups items by event, in the order in which the events appear.
func groupBy[T any](items []T, eventOf func(T) holdfast.ID) []group[T] {
	var groups []group[T]
	at := map[holdfast.ID]int{}
	for _, item := range items {
		event := eventOf(item)
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

// eachGroup ends groups, up to maxInFlight at a time. It returns the first error that stops the run.
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
	return interrupted(ctx)
}

// interrupted is the error of a run whose context has ended.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("the run was ended before its work was done: %w", context.Cause(ctx))
}

// endGroup ends the documents of a group. If the event is corrupt, the run sets all of its documents aside. An error
// stops the run.
func endGroup[T document](
	ctx context.Context, p *progress, event holdfast.ID, items []T,
	end func(context.Context, []T) (ended int, busy bool, err error),
) (stop error) {
	defer func() {
		if stop == nil {
			setTried(p, items)
		}
	}()
	if p.skip(event, len(items)) {
		return nil
	}
	again := 0
	if p.isKnown(event) {
		again = len(items)
	}
	ended, busy, err := end(ctx, items)
	switch {
	case err == nil:
		// Documents that were set aside before, and end now, were repaired.
		p.found(ctx, again)
		if sameEvent := p.applied(event, ended, len(items)); busy && sameEvent { // after a transaction on another event no pause is needed
			pause(ctx)
		}
		return nil
	case ctx.Err() != nil:
		return interrupted(ctx)
	case holdfast.HasCode(err, holdfast.CodeEventNotFound):
		p.applied(event, 0, 0)
		p.setAside(ctx, len(items), whyMissing, eventCause(event), slog.Int("documents", len(items)))
		return nil
	case errors.Is(err, store.ErrUnusable), mongodb.RejectedForDocument(err):
		p.setEventAside(event)
		p.setAside(ctx, len(items), whyRejected, eventCause(event), slog.Any("error", err))
		return nil
	}
	failures := p.failed(len(items))
	p.Log.ErrorContext(ctx, "Could not expire; the next run tries again",
		slog.Any("eventId", event), slog.Int("documents", len(items)), slog.Any("error", err))
	if failures%maxFailures == 0 && p.sweeper.Pipeline.Store().DB().Ping(ctx) != nil {
		return fmt.Errorf("%d groups in a row failed, the last one by: %w", failures, err)
	}
	return nil
}

func pause(ctx context.Context) { sleep(ctx, busyDelay) }

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
