package expiry

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/seats"
)

// Retention removes locks that have ended, with their ended bookings and
// idempotency keys, once they are old.
type Retention struct {
	Seats    *seats.Service
	Bookings *booking.Service
	Batch    int // locks in one transaction
	// Now is the database's clock.
	Now   func(context.Context) (time.Time, error)
	Clock clock.Clock
}

// Run removes what ended longer ago than age; 0 removes nothing. Report counts
// locks: found old, removed, and left because a live booking names them.
func (r *Retention) Run(ctx context.Context, age time.Duration, log *slog.Logger) (Report, error) {
	if age == 0 {
		log.InfoContext(ctx, "[RETENTION JOB] ENDED_RETENTION is off; nothing is removed")
		return Report{}, nil
	}
	now, err := r.Now(ctx)
	if err != nil {
		return Report{}, err
	}
	var report Report
	bookings, told := 0, r.Clock()
	err = r.Seats.Forgettable(ctx, now.Add(-age), r.Batch, func(ctx context.Context, lockIDs []ids.ID) error {
		if ctx.Err() != nil {
			return fmt.Errorf("the run was ended before its work: %w", context.Cause(ctx))
		}
		gone, err := r.Bookings.Forget(ctx, lockIDs)
		if err != nil {
			return err
		}
		report.Found += len(lockIDs)
		report.Applied += gone.Locks
		report.Skipped += len(lockIDs) - gone.Locks
		bookings += gone.Bookings
		const often = 5 * time.Second // between two lines of progress
		if r.Clock.Since(told) > often {
			told = r.Clock()
			log.InfoContext(ctx, "[RETENTION JOB] Removing ended locks", "applied", report.Applied, "bookings", bookings)
		}
		return nil
	})
	if report.Found > 0 {
		log.InfoContext(ctx, fmt.Sprintf("[RETENTION JOB] Removed %d ended locks and %d ended bookings", report.Applied, bookings),
			"found", report.Found, "applied", report.Applied, "skipped", report.Skipped, "bookings", bookings)
	}
	return report, err
}
