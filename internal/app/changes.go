package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/jobs"
)

const (
	// numberInterval is how long consecutive changes wait, so that they are numbered together. After a
	// longer pause the next change is numbered at once.
	numberInterval = 50 * time.Millisecond
	// numberPollInterval is how soon the first change after a pause is noticed, if no change stream reports it.
	numberPollInterval = 200 * time.Millisecond
	// numberRetryDelay passes after a failure.
	numberRetryDelay = time.Second
)

// numberChanges gives committed changes their numbers, as long as its process leads. A manual run ends when all changes
// that waited at its start have one, however many are made during the run.
func (a *App) numberChanges(ctx context.Context, run jobs.Run) (counts jobs.Counts, err error) {
	wait, isWoken := a.Changes.RecordWaker(numberPollInterval), false
	for {
		n, err := a.Changes.Number(ctx)
		counts.Found, counts.Applied = counts.Found+n, counts.Applied+n
		delay := numberInterval
		switch {
		case errors.Is(context.Cause(ctx), jobs.ErrLeaseLost):
			return counts, context.Cause(ctx)
		case ctx.Err() != nil:
			return counts, nil // the next leader goes on
		case err != nil && run.Trigger == jobs.Manual:
			counts.Errors++
			return counts, err
		case err != nil:
			counts.Errors++
			delay = numberRetryDelay
			run.Log.WarnContext(ctx, "[CHANGES JOB] Numbering failed; retrying", slog.Any("error", err))
		case n == changes.MaxNumbered:
			run.Advanced()
			continue
		case run.Trigger == jobs.Manual:
			return counts, nil
		case n == 0 && !isWoken:
			isWoken = wait(ctx)
			continue
		}
		isWoken = false
		select {
		case <-ctx.Done():
			return counts, nil
		case <-time.After(delay):
		}
	}
}

// maxChangesAge is how long a change may wait for its number before it is reported.
const maxChangesAge = 10 * time.Second

// changesState is the state for /readyz: whether changes get their numbers.
func (a *App) changesState(ctx context.Context) (state string, isGood bool) {
	oldest, err := a.Changes.WaitingSince(ctx)
	if err != nil {
		return unknown, false
	}
	if oldest.IsZero() {
		return "ok", true
	}
	now, err := a.DB.Now(ctx)
	if err != nil {
		return unknown, false
	}
	age := now.Sub(oldest)
	if age < maxChangesAge {
		return "ok", true
	}
	return "waiting for " + age.Round(time.Second).String() + ": start a worker or set RUN_JOBS; if one runs, see its log", false
}

// purgeChanges removes records of changes that are too old.
func (a *App) purgeChanges(ctx context.Context, run jobs.Run) (removed int64, err error) {
	keep := a.Config.ChangesRetention.Age
	if keep == 0 {
		return 0, nil
	}
	now, err := a.DB.Now(ctx)
	if err != nil {
		return 0, err
	}
	for ctx.Err() == nil {
		n, err := a.Changes.Purge(ctx, now.Add(-keep))
		removed += n
		if err != nil || n == 0 {
			return removed, err
		}
		run.Advanced()
	}
	return removed, ctx.Err()
}
