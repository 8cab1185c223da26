package pipeline

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// What a run does for seated events besides: it repairs a map that is wrong, and holds an event that other
// processes write too.

// errNeedsLocks says that a decision needs all locks of an event. They are read in a transaction that holds it.
const errNeedsLocks = mongodb.AbortError("all locks of the event have to be read")

// maxWrongMaps is how often a map may be wrong: once as it is remembered, and once as it is stored.
const maxWrongMaps = 2

// mend handles a map that is damaged, or that has seats as free which are in a lock: the unique index of seats
// has refused a plan. The next attempt reads the map. If that was read already, it is repaired first. If that
// does not help either, mend returns an error.
func (r *run) mend(ctx context.Context, cause error) error {
	r.wrongMaps++
	isStored := errors.Is(cause, store.ErrMap) || r.conflicts > 0 || r.hold
	if isStored && r.wrongMaps <= maxWrongMaps {
		for _, t := range r.tasks {
			repair := taskOf(ctx, t.eventID, inventory.RepairSeats{})
			repair.origin = t.origin
			if err := (&run{pipeline: r.pipeline, hold: true, wrongMaps: maxWrongMaps, tasks: []*task{repair}}).do(ctx); err != nil {
				return err
			}
			r.pipeline.logMended(ctx, t.eventID, repair.results[0].Corrected)
		}
	}
	if r.wrongMaps > maxWrongMaps {
		return holdfast.Refuse(holdfast.CodeUnavailable,
			"The event's map of seats contradicts its locks. Nothing was changed; report the time to the operator.").By(cause)
	}
	return nil
}

// contend makes the next attempt hold its events if one of them is seated: by its revision any write of
// another process makes a plan stale, so that this process remembers in vain.
func (r *run) contend() {
	for _, t := range r.tasks {
		if t.decidedOn != nil && !t.decidedOn.Seating.PlanID.IsZero() {
			r.pipeline.memory.contend(t.eventID, true)
			r.hold, t.needs.Seats = true, true
		}
	}
}

// holdContested makes the first attempt hold an event that other processes write too. The repair of a map holds its
// event already, and must not read the map with it: it may be damaged.
func (r *run) holdContested() {
	if r.hold {
		return
	}
	for _, t := range r.tasks {
		if r.pipeline.memory.isContested(t.eventID) {
			r.hold, t.needs.Seats = true, true
		}
	}
}

// holdEvent writes the task's event. If the decision needs the map of a seated event and nothing else, so far,
// the write returns it.
func (r *run) holdEvent(ctx context.Context, t *task) error {
	t.held = nil
	if !t.needs.IsMap() {
		return r.pipeline.store.Hold(ctx, t.eventID)
	}
	state, exists, err := r.pipeline.store.HoldSeats(ctx, t.eventID)
	if exists && err == nil {
		state.Held, state.Fenced = true, true
		t.held = &state
	}
	return err
}

// settleContest ends the contest of an event that no other process has written since the last commit of this
// one. The transaction itself has raised the revision once before it read.
func (r *run) settleContest(t *task) {
	if !r.hold || t.decidedOn == nil || !r.pipeline.memory.isContested(t.eventID) {
		return
	}
	if last, known := r.pipeline.memory.revision(t.eventID); known && t.decidedOn.Revision == last+1 {
		r.pipeline.memory.contend(t.eventID, false)
	}
}

// isPresumed reports whether an event was not remembered.
func isPresumed(e inventory.Event) bool { return e.TotalSeats == plenty }

// wishesSeats reports whether commands name seats of a seated event: it is not presumed to be unseated.
func wishesSeats(commands []inventory.Command) bool {
	return slices.ContainsFunc(commands, func(c inventory.Command) bool {
		switch c := c.(type) {
		case inventory.Acquire:
			return !c.Wish.IsZero()
		case inventory.ChangeSeats:
			return !c.Wish.IsZero()
		case inventory.Block, inventory.Unblock:
			return true
		default:
			return false
		}
	})
}
