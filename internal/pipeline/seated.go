package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// This file has the additional steps of a run for seated events: it repairs a wrong map, and holds an event that
// other processes write too.

// maxWrongMaps is how often a map may be wrong: once in the cache, and once in the database.
const maxWrongMaps = 2

// mend handles a map that is damaged, or that shows seats as free which are in a lock, so that the unique index of
// seats has refused a plan. The next attempt reads the map. If this attempt has read it already, mend repairs it
// first. If the map has been repaired already, the seat is in a lock that does not count, and no request can get it;
// mend returns an error if that seat is not known.
func (r *run) mend(ctx context.Context, cause error) error {
	r.wrongMaps++
	isStored := errors.Is(cause, store.ErrMap) || r.conflicts > 0 || r.hold
	if isStored && r.wrongMaps <= maxWrongMaps {
		for _, t := range r.tasks {
			repair := taskOf(ctx, t.Key, inventory.RepairSeats{})
			repair.Commands[0].origin = t.Commands[0].origin
			if err := (&run{pipeline: r.pipeline, tx: r.tx, hold: true, wrongMaps: maxWrongMaps, tasks: []*task{repair}}).do(ctx); err != nil {
				return err
			}
			r.pipeline.logMended(ctx, t.Key, repair.results[0].Corrected)
		}
	}
	if r.wrongMaps <= maxWrongMaps {
		return nil
	}
	seatID, found := store.TakenSeat(cause)
	if !found || slices.Contains(r.unsellable, seatID) {
		return holdfast.Refuse(holdfast.CodeUnavailable,
			"The event's map of seats contradicts its locks. Nothing was changed; report the time to the operator.").By(cause)
	}
	r.unsellable = append(r.unsellable, seatID)
	return nil
}

// contend handles a plan that went stale. If one of its events is seated, it makes the next attempt hold the events:
// any write of another process makes a plan for a seated event stale, because the plan is guarded by the revision.
// So the cached event is of no use.
func (r *run) contend(cause error) error {
	if r.hold {
		r.staleHeld++
	}
	if r.staleHeld >= maxStaleHeld {
		return holdfast.Refuse(holdfast.CodeUnavailable, "The request failed and changed nothing; try again.").
			By(fmt.Errorf("%w: %w", store.ErrUnusable, cause))
	}
	for _, t := range r.tasks {
		if t.decidedOn != nil && !t.decidedOn.Seating.PlanID.IsZero() {
			r.pipeline.memory.contend(t.Key, true)
			r.hold, t.needs.Seats = true, true
		}
	}
	return nil
}

// holdContested makes the first attempt hold an event that other processes write too. The repair of a map holds its
// event already. It must not read the map with that write, because the map may be damaged.
func (r *run) holdContested() {
	if r.hold {
		return
	}
	for _, t := range r.tasks {
		if r.pipeline.memory.isContested(t.Key) {
			r.hold, t.needs.Seats = true, true
		}
	}
}

// holdEvent writes the task's event. If, so far, the decision needs only the map of a seated event, the write
// returns it.
func (r *run) holdEvent(ctx context.Context, t *task) error {
	t.held = nil
	if t.Key.IsZero() { // the commands name no event
		return nil
	}
	if !t.needs.IsMap() {
		return r.pipeline.store.Hold(ctx, t.Key)
	}
	state, exists, err := r.pipeline.store.HoldSeats(ctx, t.Key)
	if exists && err == nil {
		state.Held = true
		t.held = &state
	}
	return err
}

// settleContest removes the mark of a contested event if no other process has written it since the last commit of
// this process.
func (r *run) settleContest(t *task) {
	if !r.hold || t.decidedOn == nil || !r.pipeline.memory.isContested(t.Key) {
		return
	}
	if last, known := r.pipeline.memory.revision(t.Key); known && t.decidedOn.Revision == last {
		r.pipeline.memory.contend(t.Key, false)
	}
}

// wishesSeats reports whether any of the commands asks for seats of a seated event.
func wishesSeats(commands []inventory.Command) bool {
	return slices.ContainsFunc(commands, func(c inventory.Command) bool {
		switch c := c.(type) {
		case inventory.Acquire:
			return !c.Wish.IsZero()
		case inventory.Sell:
			return !c.Wish.IsZero()
		case inventory.ChangeSeats:
			return !c.Wish.IsZero()
		case inventory.ChangeBooking:
			return !c.Wish.IsZero()
		case inventory.Block, inventory.Unblock, inventory.Join:
			return true
		default:
			return false
		}
	})
}
