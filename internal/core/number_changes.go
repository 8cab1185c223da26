package core

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
func (s *Jobs) numberChanges(ctx context.Context, run jobs.Run) (counts jobs.Counts, err error) {
	wait, isWoken := s.Changes.RecordWaker(numberPollInterval), false
	for {
		n, err := s.Changes.Number(ctx)
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

// purgeChanges removes records of changes that are too old.
func (s *Jobs) purgeChanges(ctx context.Context, run jobs.Run) (removed int64, err error) {
	keep := s.ChangesRetention
	if keep == 0 {
		return 0, nil
	}
	now, err := s.DB.Now(ctx)
	if err != nil {
		return 0, err
	}
	for ctx.Err() == nil {
		n, err := s.Changes.Purge(ctx, now.Add(-keep))
		removed += n
		if err != nil || n == 0 {
			return removed, err
		}
		run.Advanced()
	}
	return removed, ctx.Err()
}

// purgeDeliveries removes the deliveries of changes that are removed.
func (s *Jobs) purgeDeliveries(ctx context.Context, run jobs.Run) error {
	keep := s.ChangesRetention
	if keep == 0 {
		return nil
	}
	now, err := s.DB.Now(ctx)
	for err == nil && ctx.Err() == nil {
		var n int64
		if n, err = s.Webhooks.Purge(ctx, now.Add(-keep)); n == 0 {
			break
		}
		run.Advanced()
	}
	return errors.Join(err, ctx.Err())
}
