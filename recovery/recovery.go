package recovery

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats"
)

// Recovery proves and mends one database.
type Recovery struct {
	DB       *mongodb.DB
	Seats    *seats.Service
	Bookings *booking.Service
	Sweeper  *expiry.Sweeper
	Clock    clock.Clock
	// Corrected hears of each counter that was mended; nil is not called.
	Corrected func()
}

// Report counts what a pass did.
type Report struct {
	expiry.Report
	Consumed    int // ACTIVE locks of CONFIRMED bookings that were marked sold
	Corrections int // counters mended
	Oversold    int // events with seats taken beyond their total
	Reported    int // contradictions told of and left alone
}

// words are the log lines of recovery's sweeps, which CONTRACT fixes.
var (
	staleLocks = expiry.Words{
		Found: func(n int) string {
			return fmt.Sprintf("[RECOVERY] Found %d stale ACTIVE locks that should be EXPIRED", n)
		},
		Locks: func(e seats.Ended, _ ids.ID) string {
			return fmt.Sprintf("[RECOVERY] Expired stale lock %s, restored %d seats", e.ID, e.Seats)
		},
	}
	staleBookings = expiry.Words{
		Found: func(n int) string { return fmt.Sprintf("[RECOVERY] Found %d stale PAYMENT_PENDING bookings", n) },
		Booking: func(booking, lock ids.ID, _ int64) string {
			return fmt.Sprintf("[RECOVERY] Expired stale booking %s, released lock %s", booking, lock)
		},
	}
)

// pageSize is how many documents a step looks at in one go.
const pageSize = 1000

// Run is the whole pass. Its error says which step could not end; the ones
// before it are done.
func (r *Recovery) Run(ctx context.Context, runID string, log *slog.Logger) (Report, error) {
	log.InfoContext(ctx, "[RECOVERY] Starting system recovery from partial failures...")
	if _, err := r.DB.EndOrphans(ctx); err != nil {
		log.WarnContext(ctx, "Looking for orphaned transactions failed", "error", err)
	}
	var report Report
	pass := expiry.Pass{RunID: runID, By: seats.ByRecovery, Log: log}
	steps := []struct {
		name string
		do   func() error
	}{
		{"mark sold locks", func() error { return r.markSold(ctx, runID, log, &report) }},
		{"expire stale locks", func() error {
			pass.Words = staleLocks
			swept, err := r.Sweeper.SweepLocks(ctx, pass)
			report.Report = report.Add(swept)
			return err
		}},
		{"expire stale bookings", func() error {
			pass.Words = staleBookings
			swept, err := r.Sweeper.SweepBookings(ctx, pass, false)
			report.Report = report.Add(swept)
			return err
		}},
		{"prove the counters", func() error { return r.reconcile(ctx, runID, log, &report) }},
		{"look at INITIATED bookings", func() error { return r.tellInitiated(ctx, log) }},
	}
	for i, step := range steps {
		if err := step.do(); err != nil {
			return report, fmt.Errorf("step %d of %d, %s: %w", i+1, len(steps), step.name, err)
		}
	}
	if report.Errors > 0 {
		return report, fmt.Errorf("%d documents or events could not be mended; see the log", report.Errors)
	}
	log.InfoContext(ctx, "[RECOVERY] System recovery completed successfully", "found", report.Found,
		"applied", report.Applied, "skipped", report.Skipped, "errors", report.Errors, "seatsRestored", report.SeatsRestored,
		"consumed", report.Consumed, "corrections", report.Corrections, "oversold", report.Oversold, "reported", report.Reported)
	return report, nil
}

// Reconcile is the audit alone: every counter is proved against its locks.
func (r *Recovery) Reconcile(ctx context.Context, runID string, log *slog.Logger) (Report, error) {
	var report Report
	err := r.reconcile(ctx, runID, log, &report)
	if err == nil && report.Errors > 0 {
		err = fmt.Errorf("%d events could not be mended; see the log", report.Errors)
	}
	return report, err
}

// markSold is the first step, and looks whether what is sold is told the same
// by bookings and locks.
func (r *Recovery) markSold(ctx context.Context, runID string, log *slog.Logger, report *Report) error {
	err := r.Seats.EachLock(ctx, seats.Active, func(ctx context.Context, lockIDs []ids.ID) error {
		sold, err := r.Bookings.SoldBy(ctx, lockIDs)
		if err != nil {
			return err
		}
		for lockID, bookingID := range sold {
			done, err := r.Bookings.ConsumeSold(ctx, lockID, runID)
			if err != nil {
				return err
			}
			if done {
				report.Consumed++
				log.InfoContext(ctx, "[RECOVERY] Consumed the lock of a CONFIRMED booking", "lockId", lockID, "bookingId", bookingID)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.tellContradictions(ctx, log, report)
}

func (r *Recovery) tellContradictions(ctx context.Context, log *slog.Logger, report *Report) error {
	err := r.Seats.EachLock(ctx, seats.Consumed, func(ctx context.Context, lockIDs []ids.ID) error {
		sold, err := r.Bookings.SoldBy(ctx, lockIDs)
		for _, lockID := range lockIDs {
			if _, ok := sold[lockID]; err == nil && !ok {
				report.Reported++
				log.WarnContext(ctx, "[RECOVERY] CONSUMED lock without a CONFIRMED booking; left as it is", "lockId", lockID)
			}
		}
		return err
	})
	for after := (ids.ID{}); err == nil; {
		var found []ids.ID
		if found, after, err = r.Bookings.SoldWithoutLock(ctx, after, pageSize); err != nil {
			return err
		}
		for _, bookingID := range found {
			report.Reported++
			log.WarnContext(ctx, "[RECOVERY] CONFIRMED booking whose lock has ended; left as it is", "bookingId", bookingID)
		}
		if after.IsZero() {
			return nil
		}
	}
	return err
}

func (r *Recovery) reconcile(ctx context.Context, runID string, log *slog.Logger, report *Report) error {
	start, last := r.Clock(), r.Clock()
	events := 0
	for after := (ids.ID{}); ; {
		page, err := r.Seats.Audit(ctx, after, pageSize)
		if err != nil {
			return err
		}
		if page.Events == 0 {
			return r.tellOversold(ctx, log, report)
		}
		after, events = page.Last, events+page.Events
		for _, p := range page.PoisonLocks {
			report.Reported++
			log.WarnContext(ctx, "[RECOVERY] Locks whose seats are no whole number ≥ 1 count 0; mend them by hand", "eventId", p.EventID, "locks", p.Count)
		}
		for _, suspect := range page.Suspects {
			if err := r.repair(ctx, runID, log, suspect, report); err != nil {
				return err
			}
		}
		const often = 5 * time.Second // between two lines of progress
		if r.Clock.Since(last) > often {
			last = r.Clock()
			log.InfoContext(ctx, "[RECOVERY] Proving counters", "events", events, "perSecond", int(float64(events)/r.Clock.Since(start).Seconds()))
		}
	}
}

// repair measures one suspect. An event that can't be mended is counted and
// holds nobody up.
func (r *Recovery) repair(ctx context.Context, runID string, log *slog.Logger, id ids.ID, report *Report) error {
	c, changed, err := r.Seats.Repair(ctx, id, runID)
	switch {
	case fault.Is(err, seats.CodeEventNotFound): // removed meanwhile
		return nil
	case fault.Is(err, fault.CodeInvalid):
		report.Reported++
		log.WarnContext(ctx, "[RECOVERY] An event's totalSeats is no whole number ≥ 0; mend it by hand", "eventId", id)
		return nil
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		report.Errors++
		log.ErrorContext(ctx, "[RECOVERY] Could not mend an event's counter", "eventId", id, "error", err)
		return nil
	case changed:
		report.Corrections++
		if r.Corrected != nil {
			r.Corrected()
		}
		log.WarnContext(ctx, fmt.Sprintf("[RECOVERY] Corrected available seats for event %s: %d -> %d", id, c.Before, c.After), "oversold", c.Oversold)
	}
	return nil
}

func (r *Recovery) tellOversold(ctx context.Context, log *slog.Logger, report *Report) error {
	n, err := r.Seats.OversoldEvents(ctx)
	if n > 0 {
		report.Oversold = int(n)
		log.WarnContext(ctx, "[RECOVERY] Events with seats taken beyond their total; no seat of theirs is sold until that is paid down", "events", n)
	}
	return err
}

func (r *Recovery) tellInitiated(ctx context.Context, log *slog.Logger) error {
	n, err := r.Bookings.CountInitiated(ctx)
	if n > 0 {
		log.InfoContext(ctx, fmt.Sprintf("[RECOVERY] Found %d bookings in INITIATED state", n))
	}
	return err
}
