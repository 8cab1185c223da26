package expiry

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Sweeper expires the due locks and bookings of one database.
type Sweeper struct {
	Pipeline *pipeline.Pipeline
	// Batch is the maximum number of documents in one transaction.
	Batch int

	reported       Reported
	position       position
	locks, pending pagePosition
	quiet          quiet
}

// initiatedPages bounds the batches of INITIATED bookings that one run examines. The next run continues after them,
// so that no run examines all bookings.
const initiatedPages = 20

// position is where the next run continues to examine INITIATED bookings.
type position struct {
	mu    sync.Mutex
	after holdfast.ID // zero at the beginning
}

// Run is one run of a sweep. By selects its log texts.
type Run struct {
	inventory.Run
	Log *slog.Logger // with correlationId and job
	// Initiated makes the booking sweep also end INITIATED bookings whose lock has ended or is due.
	Initiated bool
	// ByLock makes it end bookings whose lock is due, although their payment window is open.
	ByLock bool
}

// SweepLocks ends the due ACTIVE locks, and stops after a page that is not full. Locks that become due meanwhile are
// left for the next run, so that a run ends during a sale. It begins where the previous run was interrupted, or at
// the start if that run was complete.
func (s *Sweeper) SweepLocks(ctx context.Context, run Run) (Report, error) {
	p := &progress{Run: run, sweeper: s, lines: lockLines(run.By)}
	if err := sweepPages(ctx, p, &s.locks, s.Batch, s.Pipeline.Store().DueLocks, s.expireLocks); err != nil {
		return p.report, err
	}
	p.success(ctx)
	return p.report, nil
}

// countNew counts the documents whose event was not set aside before.
func countNew[T document](p *progress, due []T, eventOf func(T) holdfast.ID) (n int) {
	known := map[holdfast.ID]bool{}
	for _, d := range due {
		event := eventOf(d)
		if _, asked := known[event]; !asked {
			known[event] = p.isKnown(event)
		}
		if !known[event] {
			n++
		}
	}
	return n
}

// expireLocks ends a page of due locks, with one transaction for each event. If the page
// is full, each transaction also ends the event's due locks of later pages: locks spread
// over many events would otherwise take one transaction each.
func (s *Sweeper) expireLocks(ctx context.Context, p *progress, due []store.DueLock) error {
	upTo := 0
	if len(due) == s.Batch {
		upTo = s.Batch
	}
	p.found(ctx, countNew(p, due, func(d store.DueLock) holdfast.ID { return d.EventID }))
	groups := groupBy(due, func(d store.DueLock) holdfast.ID { return d.EventID })
	err := eachGroup(ctx, groups, func(ctx context.Context, g group[store.DueLock]) error {
		return endGroup(ctx, p, g.event, g.items, func(ctx context.Context, due []store.DueLock) (int, bool, error) {
			command := inventory.ExpireLocks{Run: p.Run.Run, UpTo: upTo}
			inPage := make(map[holdfast.ID]bool, len(due))
			for _, d := range due {
				command.LockIDs = append(command.LockIDs, d.ID)
				inPage[d.ID] = true
			}
			result, err := s.Pipeline.Sweep(ctx, g.event, command)
			ended := 0
			for _, e := range result.Ended {
				p.ended(ctx, e, g.event)
				if inPage[e.Lock] {
					ended++
				}
			}
			p.extra(len(result.Ended) - ended)
			return ended, result.Busy, err
		})
	})
	p.found(ctx, p.takeExtra())
	return err
}

// SweepBookings ends the PAYMENT_PENDING bookings whose payment window has passed. With Run.Initiated it also ends
// INITIATED bookings. Like SweepLocks it stops after a page that is not full, and begins where the previous run was
// interrupted.
func (s *Sweeper) SweepBookings(ctx context.Context, run Run) (Report, error) {
	p := &progress{Run: run, sweeper: s, lines: bookingLines(run.By)}
	err := sweepPages(ctx, p, &s.pending, pendingBatches*s.Batch, s.Pipeline.Store().DuePending, s.expireBookings)
	if err != nil {
		return p.report, err
	}
	if run.Initiated {
		if err := s.sweepInitiated(ctx, p); err != nil {
			return p.report, err
		}
	}
	p.success(ctx)
	return p.report, nil
}

// pendingBatches is the number of batches of due bookings in one page, so that a transaction ends bookings of one
// event that became due at different times.
const pendingBatches = 10

func (s *Sweeper) sweepInitiated(ctx context.Context, p *progress) error {
	s.position.mu.Lock()
	defer s.position.mu.Unlock()
	for range initiatedPages {
		due, last, err := s.Pipeline.Store().DueInitiated(ctx, s.position.after, s.Batch)
		if err != nil {
			return err
		}
		if err := s.expireBookings(ctx, p, due); err != nil {
			return err
		}
		if s.position.after = last; last.IsZero() {
			break
		}
	}
	return nil
}

func (s *Sweeper) expireBookings(ctx context.Context, p *progress, due []store.DueBooking) error {
	p.found(ctx, countNew(p, due, func(d store.DueBooking) holdfast.ID { return d.EventID }))
	groups := groupBy(due, func(d store.DueBooking) holdfast.ID { return d.EventID })
	return eachGroup(ctx, groups, func(ctx context.Context, g group[store.DueBooking]) error {
		for batch := range slices.Chunk(g.items, s.Batch) { // one after the other, because they write the same event
			err := endGroup(ctx, p, g.event, batch, func(ctx context.Context, due []store.DueBooking) (int, bool, error) {
				command := inventory.ExpireBookings{Run: p.Run.Run, ByLock: p.ByLock}
				for _, d := range due {
					command.Bookings, command.Events = append(command.Bookings, d.BookingRef), append(command.Events, d.Events...)
				}
				result, err := s.Pipeline.Sweep(ctx, g.event, command)
				for _, e := range result.Ended {
					p.ended(ctx, e, g.event)
				}
				return len(result.Ended), result.Busy, err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
