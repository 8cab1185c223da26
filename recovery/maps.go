package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// maxMapsAtOnce is how many maps of seats are compared at a time.
const maxMapsAtOnce = 4

// checkMaps corrects the maps and counters of seated events that do not agree with their locks, and reports
// contradictions.
func (p *pass) checkMaps(ctx context.Context) error {
	seated, lost, err := p.seatedEvents(ctx)
	if err != nil {
		return err
	}
	for _, id := range lost {
		p.contradiction(ctx, "An event without a seating plan has locks of seats of one, and sells as an unseated event; "+
			"set its seatingPlanId to the plan that it was sold with", slog.Any("eventId", id))
	}
	return p.eachSeated(ctx, seated, func(ctx context.Context, id holdfast.ID) error {
		result, isCorrected, err := p.Pipeline.RepairSeats(ctx, id, p.runID)
		if holdfast.HasCode(err, holdfast.CodeEventNotFound) { // it was deleted meanwhile
			return nil
		}
		if err != nil || result.Union == nil || result.IsSuspect {
			if err := p.planCounter(ctx, id, func(c counterPlan) error { return p.settle(ctx, c) }); err != nil {
				return err
			}
		}
		switch {
		case err != nil:
			return p.leave(ctx, err, "[RECOVERY] Could not repair an event's map of seats", slog.Any("eventId", id))
		case result.Union == nil: // it has no plan any more
			return nil
		case isCorrected:
			p.count(Report{Corrections: 1, Report: expiry.Report{Found: 1, Applied: 1}})
			p.log.WarnContext(ctx, fmt.Sprintf("[RECOVERY] Corrected the map of event %s: %d seats", id, result.Corrected))
		}
		union := result.Union
		if len(union.Doubles) > 0 {
			p.contradiction(ctx, "Seats that several locks have; left as they are", slog.Any("eventId", id),
				slog.Int("seats", len(union.Doubles)), slog.Any("first", few(union.Doubles)))
		}
		if len(union.Unplaced) > 0 {
			p.contradiction(ctx, "Locks whose seats are in no place of the plan; they count in the event alone", slog.Any("eventId", id),
				slog.Int("locks", len(union.Unplaced)), slog.Any("first", few(union.Unplaced)))
		}
		if result.WrongTotal {
			p.contradiction(ctx, "A totalSeats that is not what the seating plan and the capacities have; left as it is", slog.Any("eventId", id),
				slog.Int64("has", union.Seats.Total()))
		}
		if result.Overfull {
			p.contradiction(ctx, "More is taken of general admission than a section has", slog.Any("eventId", id))
		}
		return nil
	})
}

// planMaps adds to the plan what a pass would find in the maps of seated events, and calls addCounters with what it
// would find in their counters.
func (p *pass) planMaps(ctx context.Context, plan *Plan, addCounters func(counterPlan) error) error {
	var mu sync.Mutex
	defer func() {
		slices.SortStableFunc(plan.FirstDoubles, func(a, b DoubleSeat) int { return bytes.Compare(a.EventID[:], b.EventID[:]) })
	}()
	seated, lost, err := p.seatedEvents(ctx)
	if err != nil {
		return err
	}
	plan.LostPlans = lost
	return p.eachSeated(ctx, seated, func(ctx context.Context, id holdfast.ID) error {
		state, err := p.store().MeasureSeats(ctx, id)
		repair, result := inventory.Plan{}, inventory.Result{IsSuspect: true}
		if err == nil {
			repair, result = p.Pipeline.Preview(state, inventory.RepairSeats{})
		}
		if result.Union == nil || result.IsSuspect {
			if err := p.planCounter(ctx, id, addCounters); err != nil {
				return err
			}
		}
		if err != nil {
			if errors.Is(err, store.ErrUnusable) {
				mu.Lock()
				defer mu.Unlock()
				plan.UnreadSeats = append(plan.UnreadSeats, id)
			}
			return p.leaveUnread(ctx, err)
		}
		union := state.Union
		mu.Lock()
		defer mu.Unlock()
		if result.WrongTotal {
			plan.WrongTotals = append(plan.WrongTotals, id)
		}
		if result.Overfull {
			plan.Overfull = append(plan.Overfull, id)
		}
		if !repair.IsEmpty() {
			plan.WrongMaps = append(plan.WrongMaps, id)
		}
		plan.DoubleSeats += int64(len(union.Doubles))
		for _, seatID := range union.Doubles[:min(len(union.Doubles), maxNamed+1)] {
			plan.FirstDoubles = append(plan.FirstDoubles, DoubleSeat{EventID: id, SeatID: seatID})
		}
		plan.UnplacedLocks += int64(len(union.Unplaced))
		return nil
	})
}

// leaveUnread skips an event that can't be read. It returns the error if the database does not answer.
func (p *pass) leaveUnread(ctx context.Context, err error) error {
	if ctx.Err() != nil || p.store().DB().Ping(ctx) != nil {
		return err
	}
	return nil
}

// seatedEvents returns the seated events of the pass. lost are the events that have lost their plan, but have locks
// of its seats.
func (p *pass) seatedEvents(ctx context.Context) (seated, lost []holdfast.ID, err error) {
	seated, lost, err = p.store().SeatedEvents(ctx, p.scope)
	if err == nil && len(lost) > 0 {
		lost, err = p.store().WithSeatLocks(ctx, lost)
	}
	return seated, lost, err
}

// eachSeated calls handle with the seated events, several at a time.
func (p *pass) eachSeated(ctx context.Context, events []holdfast.ID, handle func(context.Context, holdfast.ID) error) error {
	if len(events) == 0 {
		return nil
	}
	done := p.progress("Checking maps of seats", int64(len(events)))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxMapsAtOnce)
	for _, id := range events {
		group.Go(func() error {
			defer done(ctx, 1)
			return handle(ctx, id)
		})
	}
	return group.Wait()
}

// few returns the first items of a list, for a log line.
func few[T any](all []T) []T {
	const most = 10
	return slices.Clone(all[:min(len(all), most)])
}
