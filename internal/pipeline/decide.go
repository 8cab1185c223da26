package pipeline

import (
	"context"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// decide decides a task's commands. It loads what the decision needs: nothing, if the
// remembered event is enough.
func (r *run) decide(ctx context.Context, t *task) error {
	var state inventory.State
	t.seats, t.plan = nil, inventory.Plan{}
	if !r.hold && r.conflicts == 0 {
		t.known.Event, t.known.Seats = r.pipeline.memory.recall(t.eventID)
		if t.needs.None() && t.known.Event != nil {
			t.needs.Seats = isPresumed(*t.known.Event) && wishesSeats(t.commands())
		}
		if t.needs.None() {
			state.Event, state.Seats = t.known.Event, t.known.Seats
		}
	}
	for range maxLoads {
		if !t.needs.None() {
			var err error
			if state, err = r.load(ctx, t); err != nil {
				return err
			}
			if t.refusesUnproven() && t.plan.IsProven(state) {
				t.plan.Unproven, t.read = inventory.Needs{}, state.Event
				return nil
			}
		}
		state.Unknown = r.unknown
		if state.Event != nil {
			t.seen = state.Event.ID
		}
		t.decidedOn, t.seats = state.Event, state.Seats
		var needs inventory.Needs
		t.plan, t.results, needs = inventory.Decide(state, t.commands(), r.pipeline.rules)
		if needs.None() {
			if w := t.plan.Event; w != nil && w.IfUnchanged != nil && w.IfUnchanged.Unguarded && !r.hold {
				return errUnguarded
			}
			if t.refusesUnproven() {
				t.needs = t.needs.And(t.plan.Unproven)
				t.needs.Seats = true
				continue
			}
			t.read = nil
			if t.plan.IsEmpty() {
				t.read = state.Event
			}
			return nil
		}
		t.needs = t.needs.And(needs)
		t.needs.Seats = t.needs.Seats || state.Seats != nil // it has undone what it did in the map
		if needs.Union && !r.hold {
			return errNeedsLocks
		}
	}
	return errUndecidable()
}

// refusesUnproven reports whether the plan has nothing to write, and refusals that are not proved: what proves them is
// read at once, and what it has is decided on if it does not.
func (t *task) refusesUnproven() bool { return t.plan.IsEmpty() && !t.plan.Unproven.None() }

// errUndecidable says that a decision still needs what was read for it.
func errUndecidable() error {
	return holdfast.Refuse(holdfast.CodeUnavailable, "The request could not be decided; try again.")
}

func (r *run) load(ctx context.Context, t *task) (inventory.State, error) {
	if r.hold {
		if held := t.held; held != nil {
			t.held = nil
			return *held, nil
		}
		state, err := r.pipeline.store.Load(ctx, t.eventID, t.needs)
		held := !t.eventID.IsZero() // without an event there is nothing to hold
		state.Held, state.Fenced = held, held
		return state, err
	}
	if t.needs.Fence {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, fenceTimeout)
		defer cancel()
	}
	state, err := r.pipeline.store.LoadKnowing(ctx, t.eventID, t.needs, t.known)
	if err != nil && holdfast.CodeOf(err) == "" {
		err = readError{err}
	}
	return state, err
}
