package recovery

import (
	"context"
	"fmt"
	"log/slog"

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
	// Bar draws how far a long step is, for people at a terminal.
	Bar bool
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

const (
	// pageSize is how many events are proved in one go, idPage how many sales or
	// locks, of which only IDs are read.
	pageSize = 1000
	idPage   = 5000
	// inFlight is how many pages are worked on at a time: MongoDB uses a core
	// for each.
	inFlight = 4
)

// Run is the whole pass. Its error says which step could not end; the ones
// before it are done.
func (r *Recovery) Run(ctx context.Context, runID string, log *slog.Logger) (Report, error) {
	log.InfoContext(ctx, "[RECOVERY] Starting system recovery from partial failures...")
	if _, err := r.DB.EndOrphans(ctx); err != nil {
		log.WarnContext(ctx, "Looking for orphaned transactions failed", "error", err)
	}
	var report tally
	pass := expiry.Pass{RunID: runID, By: seats.ByRecovery, Log: log}
	steps := []struct {
		name string
		do   func() error
	}{
		{"mark sold locks", func() error { return r.markSold(ctx, runID, log, &report) }},
		{"expire stale locks", func() error {
			pass.Words = staleLocks
			swept, err := r.Sweeper.SweepLocks(ctx, pass)
			report.add(Report{Report: swept})
			return err
		}},
		{"expire stale bookings", func() error {
			pass.Words = staleBookings
			swept, err := r.Sweeper.SweepBookings(ctx, pass, false)
			report.add(Report{Report: swept})
			return err
		}},
		{"prove the counters", func() error { return r.reconcile(ctx, runID, log, &report) }},
		{"look at INITIATED bookings", func() error { return r.tellInitiated(ctx, log) }},
	}
	for i, step := range steps {
		if err := step.do(); err != nil {
			return report.Report, fmt.Errorf("step %d of %d, %s: %w", i+1, len(steps), step.name, err)
		}
	}
	if report.Errors > 0 {
		return report.Report, fmt.Errorf("%d documents or events could not be mended; see the log", report.Errors)
	}
	log.InfoContext(ctx, "[RECOVERY] System recovery completed successfully", "found", report.Found,
		"applied", report.Applied, "skipped", report.Skipped, "errors", report.Errors, "seatsRestored", report.SeatsRestored,
		"consumed", report.Consumed, "corrections", report.Corrections, "oversold", report.Oversold, "reported", report.Reported)
	return report.Report, nil
}

// Reconcile is the audit alone: every counter is proved against its locks.
func (r *Recovery) Reconcile(ctx context.Context, runID string, log *slog.Logger) (Report, error) {
	var report tally
	err := r.reconcile(ctx, runID, log, &report)
	if err == nil && report.Errors > 0 {
		err = fmt.Errorf("%d events could not be mended; see the log", report.Errors)
	}
	return report.Report, err
}

// markSold is the first step: it marks locks sold that a CONFIRMED booking has,
// and looks whether bookings and locks tell the same else.
func (r *Recovery) markSold(ctx context.Context, runID string, log *slog.Logger, report *tally) error {
	done := r.progress(log, "Comparing CONFIRMED bookings with their locks", 0)
	err := eachPage(ctx, func(ctx context.Context, work func(func() error)) error {
		return r.Bookings.EachSale(ctx, idPage, func(sales []booking.Sale) error {
			work(func() error {
				defer done(ctx, len(sales))
				return r.markPage(ctx, runID, log, sales, report)
			})
			return ctx.Err()
		})
	})
	if err != nil {
		return err
	}
	done = r.progress(log, "Comparing CONSUMED locks with their bookings", 0)
	return eachPage(ctx, func(ctx context.Context, work func(func() error)) error {
		return r.Seats.EachConsumed(ctx, idPage, func(lockIDs []ids.ID) error {
			work(func() error {
				defer done(ctx, len(lockIDs))
				unsold, err := r.Bookings.Unsold(ctx, lockIDs)
				for _, lockID := range unsold {
					report.add(Report{Reported: 1})
					log.WarnContext(ctx, "[RECOVERY] CONSUMED lock without a CONFIRMED booking; left as it is", "lockId", lockID)
				}
				return err
			})
			return ctx.Err()
		})
	})
}

func (r *Recovery) markPage(ctx context.Context, runID string, log *slog.Logger, sales []booking.Sale, report *tally) error {
	active, ended, err := r.Bookings.Unmarked(ctx, sales)
	for _, sale := range ended {
		report.add(Report{Reported: 1})
		log.WarnContext(ctx, "[RECOVERY] CONFIRMED booking whose lock has ended; left as it is", "bookingId", sale.ID)
	}
	for _, sale := range active {
		done, err := r.Bookings.ConsumeSold(ctx, sale.LockID, runID)
		if err != nil {
			return err
		}
		if done {
			report.add(Report{Consumed: 1})
			log.InfoContext(ctx, "[RECOVERY] Consumed the lock of a CONFIRMED booking", "lockId", sale.LockID, "bookingId", sale.ID)
		}
	}
	return err
}

func (r *Recovery) reconcile(ctx context.Context, runID string, log *slog.Logger, report *tally) error {
	total, err := r.Seats.EventCount(ctx)
	if err != nil {
		return err
	}
	done := r.progress(log, "Proving counters", total)
	err = eachPage(ctx, func(ctx context.Context, work func(func() error)) error {
		for after := (ids.ID{}); ; {
			page, err := r.Seats.Counters(ctx, after, pageSize)
			if err != nil || page.Len() == 0 {
				return err
			}
			after = page.Last()
			work(func() error {
				defer done(ctx, page.Len())
				return r.prove(ctx, runID, log, page, report)
			})
		}
	})
	if err != nil {
		return err
	}
	return r.tellOversold(ctx, log, report)
}

// prove compares a page of counters with their locks, and mends the wrong ones.
func (r *Recovery) prove(ctx context.Context, runID string, log *slog.Logger, page seats.Counters, report *tally) error {
	found, err := r.Seats.Audit(ctx, page)
	if err != nil {
		return err
	}
	for _, p := range found.PoisonLocks {
		report.add(Report{Reported: 1})
		log.WarnContext(ctx, "[RECOVERY] Locks whose seats are no whole number ≥ 1 count 0; mend them by hand", "eventId", p.EventID, "locks", p.Count)
	}
	if len(found.Suspects) == 0 {
		return nil
	}
	done, left, err := r.Seats.RepairAll(ctx, found.Suspects, runID)
	for _, c := range done {
		r.corrected(ctx, log, c, report)
	}
	if err != nil && ctx.Err() != nil {
		return err
	}
	for _, suspect := range left {
		if err := r.repair(ctx, runID, log, suspect, report); err != nil {
			return err
		}
	}
	return nil
}

// repair measures one suspect. An event that can't be mended is counted and
// holds nobody up.
func (r *Recovery) repair(ctx context.Context, runID string, log *slog.Logger, id ids.ID, report *tally) error {
	c, changed, err := r.Seats.Repair(ctx, id, runID)
	switch {
	case fault.Is(err, seats.CodeEventNotFound): // removed meanwhile
		return nil
	case fault.Is(err, fault.CodeInvalid):
		report.add(Report{Reported: 1})
		log.WarnContext(ctx, "[RECOVERY] An event's totalSeats is no whole number ≥ 0; mend it by hand", "eventId", id)
		return nil
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		report.add(Report{Report: expiry.Report{Errors: 1}})
		log.ErrorContext(ctx, "[RECOVERY] Could not mend an event's counter", "eventId", id, "error", err)
		return nil
	case changed:
		r.corrected(ctx, log, c, report)
	}
	return nil
}

func (r *Recovery) corrected(ctx context.Context, log *slog.Logger, c seats.Correction, report *tally) {
	report.add(Report{Corrections: 1})
	if r.Corrected != nil {
		r.Corrected()
	}
	log.WarnContext(ctx, fmt.Sprintf("[RECOVERY] Corrected available seats for event %s: %d -> %d", c.EventID, c.Before, c.After), "oversold", c.Oversold)
}

func (r *Recovery) tellOversold(ctx context.Context, log *slog.Logger, report *tally) error {
	n, err := r.Seats.OversoldEvents(ctx)
	if n > 0 {
		report.add(Report{Oversold: int(n)})
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
