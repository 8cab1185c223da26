package expiry

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/store"
)

// Retention removes old ended locks, with their ended bookings and idempotency keys, and entries of waiting lists.
type Retention struct {
	Store *store.Store
	Batch int // locks in one transaction
}

// progressInterval is the time between two progress lines in the log.
const progressInterval = 5 * time.Second

// Run removes the locks that ended longer ago than age; 0 removes nothing. The report counts old locks: all of them,
// the removed ones, and those that stay because a live booking names them.
func (r *Retention) Run(ctx context.Context, age time.Duration, log *slog.Logger) (Report, error) {
	if age == 0 {
		log.InfoContext(ctx, "[RETENTION JOB] ENDED_RETENTION is off; nothing is removed")
		return Report{}, nil
	}
	now, err := r.Store.DB().Now(ctx)
	if err != nil {
		return Report{}, err
	}
	clock := r.Store.DB().Clock()
	var report Report
	bookings, logged := 0, clock()
	before := now.Add(-age)
	err = r.Store.EachPurgeable(ctx, before, r.Batch, func(ctx context.Context, lockIDs []holdfast.ID) error {
		if err := interrupted(ctx); err != nil {
			return err
		}
		purged, err := r.Store.Purge(ctx, lockIDs, before, now)
		if err != nil {
			return err
		}
		report.Found += len(lockIDs)
		report.Applied += purged.Locks
		report.Skipped += len(lockIDs) - purged.Locks
		bookings += purged.Bookings
		if clock.Since(logged) > progressInterval {
			logged = clock()
			log.InfoContext(ctx, "[RETENTION JOB] Removing ended locks",
				slog.Int("applied", report.Applied), slog.Int("bookings", bookings))
		}
		return nil
	})
	entries := 0
	if err == nil {
		entries, err = r.Store.PurgeEntries(ctx, before, r.Batch)
	}
	if report.Found+entries > 0 {
		log.InfoContext(ctx, fmt.Sprintf("[RETENTION JOB] Removed %d ended locks and %d ended bookings", report.Applied, bookings),
			slog.Int("found", report.Found), slog.Int("applied", report.Applied),
			slog.Int("skipped", report.Skipped), slog.Int("bookings", bookings), slog.Int("entries", entries))
	}
	return report, err
}
