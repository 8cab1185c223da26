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
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Recovery checks and repairs one database.
type Recovery struct {
	Pipeline *pipeline.Pipeline
	Sweeper  *expiry.Sweeper
	// ForeignUsers returns users that no request can name; nil: users are kept elsewhere.
	ForeignUsers func(ctx context.Context, turn *mongodb.Turn, limit int) ([]string, error)
	// Corrected is called for each counter that was corrected; may be nil.
	Corrected func()
	// OnProgress is called during a long step, every ProgressInterval (5 s if it is zero);
	// may be nil.
	OnProgress       func(ctx context.Context, log *slog.Logger, p Progress)
	ProgressInterval time.Duration

	reported expiry.Reported
	foreign  foreignTurns
	proven   proven
}

func (r *Recovery) store() *store.Store { return r.Pipeline.Store() }

// Report counts the results of a pass. The Report within has everything that was found wrong
// and repaired: locks and bookings that expired, sold locks, and counters.
type Report struct {
	expiry.Report
	Consumed    int // ACTIVE locks of CONFIRMED bookings that became CONSUMED
	Corrections int // counters corrected
	Oversold    int // events with seats taken beyond their total
	Reported    int // contradictions that were logged and left as they are
	Checked     int // counters compared with their locks
	Unsealed    int // events that were sealed, and changed by other software
}

// ErrLeftOver is in the error of a pass that came to its end, but left documents or events
// that it could not repair.
var ErrLeftOver = errors.New("could not be repaired; see the log")

// Run is the whole pass. It skips sealed events, unless they were changed. Its error names the
// step that failed; the earlier steps are done.
func (r *Recovery) Run(ctx context.Context, runID string, log *slog.Logger) (Report, error) {
	return r.pass(runID, log).runSteps(ctx)
}

// RunAll is Run over all events, sealed or not. It removes the seals of those in which it finds
// something.
func (r *Recovery) RunAll(ctx context.Context, runID string, log *slog.Logger) (Report, error) {
	p := r.pass(runID, log)
	p.all = true
	return p.runSteps(ctx)
}

func (p *pass) runSteps(ctx context.Context) (Report, error) {
	log := p.log
	log.InfoContext(ctx, "[RECOVERY] Starting system recovery from partial failures...")
	p.endOrphans(ctx)
	if err := p.unsealBroken(ctx); err != nil {
		return p.report, fmt.Errorf("look for sealed events that were changed: %w", err)
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
		slog.Int("unsealed", report.Unsealed))
	return report, nil
}

// Reconcile is only the audit: ACTIVE locks that other software sold become CONSUMED, and every
// counter is compared with its locks and corrected. It also proves some of the sealed events, in turn.
func (r *Recovery) Reconcile(ctx context.Context, runID string, log *slog.Logger) (Report, error) {
	p := r.pass(runID, log)
	p.proves = true
	p.endOrphans(ctx)
	if err := p.unsealBroken(ctx); err != nil {
		return p.report, err
	}
	err := p.consumeActive(ctx)
	if err == nil {
		err = p.checkCounters(ctx)
	}
	if err == nil {
		err = p.checkMaps(ctx)
	}
	if err == nil {
		err = p.countOversold(ctx)
	}
	if err == nil && p.report.Errors > 0 {
		err = fmt.Errorf("%d events %w", p.report.Errors, ErrLeftOver)
	}
	return p.report, err
}

// pass plans page by page. A pass that repairs has the ID and the log of a run: it applies
// each page, and counts the results.
type pass struct {
	*Recovery

	runID      string
	log        *slog.Logger
	onProgress func(context.Context, Progress) // nil is not called

	all       bool          // it compares all events
	proves    bool          // it proves some of the sealed events
	anySealed bool          // there are sealed events
	scope     store.Scope   // the events that it compares
	broken    []holdfast.ID // sealed events that it compares too

	mu     sync.Mutex // several pages are applied at a time
	report Report
}

// pass is a pass that repairs.
func (r *Recovery) pass(runID string, log *slog.Logger) *pass {
	p := &pass{Recovery: r, runID: runID, log: log}
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
	p.report.Unsealed += r.Unsealed
}

// endOrphans ends transactions of dead processes, which would block events. If that
// fails, the pass goes on: its own transactions search again where they conflict.
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
			what := "CONFIRMED booking whose lock has ended; left as it is"
			if sale.Lock.IsZero() {
				what = "CONFIRMED booking whose seatLockId is no ObjectID, so it keeps no seats; repair it manually"
			}
			p.contradiction(ctx, what, slog.Any("bookingId", sale.Booking))
		}
		for _, lockID := range page.orphans {
			p.contradiction(ctx, "CONSUMED lock without a CONFIRMED booking; left as it is", slog.Any("lockId", lockID))
		}
		for _, lockID := range page.doubles {
			p.contradiction(ctx, "Lock with several CONFIRMED bookings; left as it is", slog.Any("lockId", lockID))
		}
		if err := p.consume(ctx, page.sold); err != nil {
			return err
		}
		if len(page.ended)+len(page.orphans)+len(page.doubles) > 0 {
			return p.keepInSight(ctx, page.page.IDs()...)
		}
		return nil
	})
}

// consumeActive marks the ACTIVE locks of CONFIRMED bookings CONSUMED. Unlike consumeSold it
// reads what is alive, not every sale of the past.
func (p *pass) consumeActive(ctx context.Context) error {
	return p.soldAmong(ctx, func(ctx context.Context, size int, handle func([]holdfast.ID) error) error {
		return p.store().EachLock(ctx, holdfast.LockActive, size, handle)
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

// leave logs and counts a document that could not be repaired. The pass goes on, unless
// the database as a whole does not answer. A document that MongoDB rejects is left to an
// operator.
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

// maxForeign bounds the documents without an ID of ours that a pass reads. The next pass goes on
// behind them.
const maxForeign = 100

type foreignTurns struct{ events, users mongodb.Turn }

// findForeign returns events and users whose _id is no ObjectID.
func (r *Recovery) findForeign(ctx context.Context, turns *foreignTurns) (events, users []string, err error) {
	if events, err = r.store().ForeignEvents(ctx, &turns.events, maxForeign); err != nil || r.ForeignUsers == nil {
		return events, nil, err
	}
	users, err = r.ForeignUsers(ctx, &turns.users, maxForeign)
	return events, users, err
}

func (p *pass) reportForeign(ctx context.Context) error {
	events, users, err := p.findForeign(ctx, &p.foreign)
	for _, id := range events {
		p.contradiction(ctx, "Event whose _id is no ObjectID; no request can name it", slog.String("document", id))
	}
	for _, id := range users {
		p.contradiction(ctx, "User whose _id is no ObjectID; no request can name it", slog.String("document", id))
	}
	return err
}

func (p *pass) countInitiated(ctx context.Context) error {
	n, err := p.store().CountBookings(ctx, holdfast.BookingInitiated, 0)
	if n > 0 {
		p.log.InfoContext(ctx, fmt.Sprintf("[RECOVERY] Found %d bookings in INITIATED state", n))
	}
	return err
}
