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
	"github.com/holdfast-dev/holdfast/seats/seating"
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
		result, err := p.repairSeats(ctx, id)
		if err != nil {
			return p.leave(ctx, err, "[RECOVERY] Could not repair an event's map of seats", slog.Any("eventId", id))
		}
		union := result.Union
		if union == nil {
			return nil
		}
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
		for _, s := range oversoldIn(id, union.Seats) {
			p.contradiction(ctx, "More is taken of general admission than a section has", slog.Any("eventId", id),
				slog.String("section", s.Section), slog.Int64("oversold", s.Seats))
		}
		return nil
	})
}

// repairSeats corrects the map and the counter of one event, if they are wrong. The result has no union if the event is
// unseated, or was deleted.
func (p *pass) repairSeats(ctx context.Context, id holdfast.ID) (inventory.Result, error) {
	result, isCorrected, err := p.Pipeline.RepairSeats(ctx, id, p.runID)
	if holdfast.HasCode(err, holdfast.CodeEventNotFound) {
		return inventory.Result{}, nil
	}
	if isCorrected && result.WrongMap {
		p.count(Report{Corrections: 1, Report: expiry.Report{Found: 1, Applied: 1}})
		p.log.WarnContext(ctx, fmt.Sprintf("[RECOVERY] Corrected the map of event %s: %d seats", id, result.Corrected))
	}
	if isCorrected && result.Correction != nil {
		p.corrected(ctx, *result.Correction)
	}
	return result, err
}

// oversoldIn returns the sections of an event of which more is taken than they have.
func oversoldIn(id holdfast.ID, seats *seating.Occupancy) (oversold []OversoldSection) {
	for n, s := range seats.Hall().Sections() {
		if more := seats.OversoldIn(n); more > 0 {
			oversold = append(oversold, OversoldSection{EventID: id, Section: s.Key, Seats: more})
		}
	}
	return oversold
}

// planMaps adds to the plan what a pass would find in the maps and counters of seated events.
func (p *pass) planMaps(ctx context.Context, plan *Plan) error {
	var mu sync.Mutex
	defer func() {
		byID := func(a, b holdfast.ID) int { return bytes.Compare(a[:], b[:]) }
		slices.SortFunc(plan.WrongMaps, byID)
		slices.SortFunc(plan.WrongTotals, byID)
		slices.SortFunc(plan.Drifts, func(a, b inventory.Correction) int { return byID(a.EventID, b.EventID) })
		slices.SortStableFunc(plan.OversoldSections, func(a, b OversoldSection) int { return byID(a.EventID, b.EventID) })
		slices.SortStableFunc(plan.FirstDoubles, func(a, b DoubleSeat) int { return byID(a.EventID, b.EventID) })
	}()
	seated, lost, err := p.seatedEvents(ctx)
	if err != nil {
		return err
	}
	plan.LostPlans = lost
	return p.eachSeated(ctx, seated, func(ctx context.Context, id holdfast.ID) error {
		state, err := p.store().MeasureSeats(ctx, id, inventory.Needs{})
		if err != nil {
			if errors.Is(err, store.ErrUnusable) {
				mu.Lock()
				defer mu.Unlock()
				plan.UnreadSeats = append(plan.UnreadSeats, id)
			}
			return p.leaveUnread(ctx, err)
		}
		_, result := p.Pipeline.Preview(withoutList(state), inventory.RepairSeats{})
		union := state.Union
		mu.Lock()
		defer mu.Unlock()
		if result.WrongTotal {
			plan.WrongTotals = append(plan.WrongTotals, id)
		}
		if result.Union != nil {
			plan.OversoldSections = append(plan.OversoldSections, oversoldIn(id, union.Seats)...)
		}
		if result.WrongMap {
			plan.WrongMaps = append(plan.WrongMaps, id)
		}
		if result.Correction != nil {
			plan.Drifts = append(plan.Drifts, *result.Correction)
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
