package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Recovery checks and repairs one database.
type Recovery struct {
	Pipeline *pipeline.Pipeline
	Sweeper  *expiry.Sweeper
	// Corrected is called for each counter that was corrected. It may be nil.
	Corrected func()
	// MissedOffers is called with the number of offers that a pass made although nothing was due. It may be nil.
	MissedOffers func(offers int)
	// OnProgress is called during a long step, every ProgressInterval (5 s if it is zero). It may be nil.
	OnProgress       func(ctx context.Context, log *slog.Logger, p Progress)
	ProgressInterval time.Duration

	reported expiry.Reported
}

func (r *Recovery) store() *store.Store { return r.Pipeline.Store() }

// Report counts the results of a pass. The embedded Report counts everything that was wrong and was repaired:
// expired locks and bookings, sold locks, and counters.
type Report struct {
	expiry.Report
	Consumed    int // ACTIVE locks of CONFIRMED bookings that became CONSUMED
	Corrections int // counters corrected
	Oversold    int // events with seats taken beyond their total
	Reported    int // contradictions that were logged and left as they are
	Checked     int // counters compared with their locks
	Missed      int // offers of waiting lists that earlier transactions should have made
}

// ErrLeftOver is in the error of a pass that was completed, but left documents or events that it could not repair.
var ErrLeftOver = errors.New("could not be repaired; see the log")

// Run is the whole pass. It skips archived events. Its error names the step that failed; the earlier steps are done.
func (r *Recovery) Run(ctx context.Context, runID string, log *slog.Logger) (Report, error) {
	return r.pass(runID, log, store.NotArchived).runSteps(ctx)
}

// RunAll is Run over all events, archived or not.
func (r *Recovery) RunAll(ctx context.Context, runID string, log *slog.Logger) (Report, error) {
	return r.pass(runID, log, store.AllEvents).runSteps(ctx)
}

func (p *pass) runSteps(ctx context.Context) (Report, error) {
	log := p.log
	log.InfoContext(ctx, "[RECOVERY] Starting system recovery from partial failures...")
	p.endOrphans(ctx)
	if err := p.widen(ctx); err != nil {
		return p.report, err
	}
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"mark sold locks", p.consumeSold},
		{"expire stale locks", p.expireLocks},
		{"expire stale bookings", p.expireBookings},
		{"check the counters", p.checkCounters},
		{"check the maps of seats", p.checkMaps},
		{"check the waiting lists", p.checkLists},
		{"count oversold events", p.countOversold},
		{"count INITIATED bookings", p.countInitiated},
	}
	for i, step := range steps {
		if err := step.do(ctx); err != nil {
			return p.report, fmt.Errorf("step %d of %d, %s: %w", i+1, len(steps), step.name, err)
		}
	}
	report := p.report
	if report.Errors > 0 {
		return report, fmt.Errorf("%d documents or events %w", report.Errors, ErrLeftOver)
	}
	log.InfoContext(ctx, "[RECOVERY] System recovery completed successfully",
		slog.Int("found", report.Found), slog.Int("applied", report.Applied), slog.Int("skipped", report.Skipped),
		slog.Int("errors", report.Errors), slog.Int64("seatsRestored", report.SeatsRestored), slog.Int("consumed", report.Consumed),
		slog.Int("corrections", report.Corrections), slog.Int("oversold", report.Oversold), slog.Int("reported", report.Reported),
		slog.Int("missed", report.Missed))
	return report, nil
}

// Reconcile is the audit alone: ACTIVE locks of CONFIRMED bookings become CONSUMED, and every counter is compared
// with its locks and corrected. It skips archived events.
func (r *Recovery) Reconcile(ctx context.Context, runID string, log *slog.Logger) (Report, error) {
	p := r.pass(runID, log, store.NotArchived)
	p.endOrphans(ctx)
	err := p.widen(ctx)
	if err == nil {
		err = p.consumeActive(ctx)
	}
	if err == nil {
		err = p.checkCounters(ctx)
	}
	if err == nil {
		err = p.checkMaps(ctx)
	}
	if err == nil {
		err = p.checkLists(ctx)
	}
	if err == nil {
		err = p.countOversold(ctx)
	}
	if err == nil && p.report.Errors > 0 {
		err = fmt.Errorf("%d events %w", p.report.Errors, ErrLeftOver)
	}
	return p.report, err
}

// pass plans page by page. A pass that repairs has the ID and the log of a run: it applies each page, and counts the
// results.
type pass struct {
	*Recovery

	runID      string
	log        *slog.Logger
	onProgress func(context.Context, Progress) // may be nil

	scope store.Scope // the events that it compares

	mu     sync.Mutex // several pages are applied at a time
	report Report
}

// pass returns a pass that repairs.
func (r *Recovery) pass(runID string, log *slog.Logger, scope store.Scope) *pass {
	p := &pass{Recovery: r, runID: runID, log: log, scope: scope}
	if r.OnProgress != nil {
		p.onProgress = func(ctx context.Context, progress Progress) { r.OnProgress(ctx, log, progress) }
	}
	return p
}

func (p *pass) count(r Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Report = p.report.Add(r.Report)
	p.report.Consumed += r.Consumed
	p.report.Corrections += r.Corrections
	p.report.Oversold += r.Oversold
	p.report.Reported += r.Reported
	p.report.Checked += r.Checked
	p.report.Missed += r.Missed
}

// widen makes a pass compare all events if none is archived: MongoDB reads a whole collection faster than the
// documents of certain events.
func (p *pass) widen(ctx context.Context) error {
	if p.scope == store.AllEvents {
		return nil
	}
	hasArchived, err := p.store().HasArchived(ctx)
	if err == nil && !hasArchived {
		p.scope = store.AllEvents
	}
	return err
}

// endOrphans ends transactions of dead processes, which would block events. If that fails, the pass continues: its
// own transactions search for orphans when they conflict.
func (p *pass) endOrphans(ctx context.Context) {
	if _, err := p.store().DB().EndOrphans(ctx); err != nil {
		p.log.WarnContext(ctx, "Could not search for orphaned transactions", slog.Any("error", err))
	}
}

// consumeSold marks the ACTIVE locks of CONFIRMED bookings CONSUMED, and reports other
// contradictions between bookings and locks.
func (p *pass) consumeSold(ctx context.Context) error {
	return p.planSales(ctx, func(page salesPlan) error {
		for _, sale := range page.ended {
			p.contradiction(ctx, "CONFIRMED booking whose lock has ended; left as it is", slog.Any("bookingId", sale.Booking))
		}
		for _, lockID := range page.orphans {
			p.contradiction(ctx, "CONSUMED lock without a CONFIRMED booking; left as it is", slog.Any("lockId", lockID))
		}
		for _, lockID := range page.doubles {
			p.contradiction(ctx, "Lock with several CONFIRMED bookings; left as it is", slog.Any("lockId", lockID))
		}
		return p.consume(ctx, page.sold)
	})
}

// consumeActive marks the ACTIVE locks of CONFIRMED bookings CONSUMED. Unlike consumeSold it reads the ACTIVE locks
// only, not every past sale.
func (p *pass) consumeActive(ctx context.Context) error {
	return p.soldAmong(ctx, func(ctx context.Context, size int, handle func([]holdfast.ID) error) error {
		return p.store().EachLock(ctx, nil, holdfast.LockActive, size, handle)
	}, func(sold []holdfast.ID) error { return p.consume(ctx, sold) })
}

// consume marks locks CONSUMED, if they are ACTIVE and sold.
func (p *pass) consume(ctx context.Context, lockIDs []holdfast.ID) error {
	for _, id := range lockIDs {
		result, err := p.Pipeline.Do(ctx, inventory.ConsumeSold{LockID: id, RunID: p.runID})
		if err != nil {
			err = p.leave(ctx, err, "[RECOVERY] Could not mark the lock of a CONFIRMED booking CONSUMED", slog.Any("lockId", id))
			if err != nil {
				return err
			}
			continue
		}
		if result.Replayed {
			continue
		}
		p.count(Report{Consumed: 1, Report: expiry.Report{Found: 1, Applied: 1}})
		p.log.InfoContext(ctx, "[RECOVERY] Consumed the lock of a CONFIRMED booking", slog.Any("lockId", id))
	}
	return nil
}

// leave logs and counts a document that could not be repaired. The pass continues, unless the database as a whole
// does not answer. A document that MongoDB rejects is left to an operator.
func (p *pass) leave(ctx context.Context, cause error, what string, document ...slog.Attr) error {
	rejected := pipeline.IsRejected(cause)
	if ctx.Err() != nil || !rejected && p.store().DB().Ping(ctx) != nil {
		return cause
	}
	if rejected {
		p.contradiction(ctx, strings.TrimPrefix(what, "[RECOVERY] ")+"; repair it manually", document...)
		return nil
	}
	p.count(Report{Report: expiry.Report{Errors: 1}})
	p.log.LogAttrs(ctx, slog.LevelError, what, append(document, slog.Any("error", cause))...)
	return nil
}

func (p *pass) run() expiry.Run {
	return expiry.Run{Run: inventory.Run{By: holdfast.EndedByRecovery, ID: p.runID}, Log: p.log}
}

func (p *pass) expireLocks(ctx context.Context) error {
	swept, err := p.Sweeper.SweepLocks(ctx, p.run())
	p.count(Report{Report: swept})
	return err
}

func (p *pass) expireBookings(ctx context.Context) error {
	swept, err := p.Sweeper.SweepBookings(ctx, p.run())
	p.count(Report{Report: swept})
	return err
}

func (p *pass) countInitiated(ctx context.Context) error {
	n, err := p.store().CountBookings(ctx, holdfast.BookingInitiated, 0)
	if n > 0 {
		p.log.InfoContext(ctx, fmt.Sprintf("[RECOVERY] Found %d bookings in INITIATED state", n))
	}
	return err
}
