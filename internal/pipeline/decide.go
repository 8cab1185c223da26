package pipeline

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// decide decides the commands of a task. It loads the state that the decision needs, or nothing if the cached event
// is enough.
func (r *run) decide(ctx context.Context, t *task) error {
	var state inventory.State
	t.seats, t.plan = nil, inventory.Plan{}
	if !r.hold && r.conflicts == 0 {
		t.known = r.pipeline.memory.recall(t.Key)
		if t.known.Event == nil { // the first read of a seated event includes its map
			t.needs.Seats = t.needs.Seats || wishesSeats(t.commands())
		}
		if t.needs.None() {
			state.Event, state.Seats = t.known.Event, t.known.Seats
		}
	}
	for rounds := range maxLoads {
		if !t.needs.None() {
			var err error
			if state, err = r.load(ctx, t); err != nil {
				return err
			}
		}
		state.Unknown, state.Unusable, state.Unsellable, state.Rounds = r.unknown, r.unusable, r.unsellable, rounds
		if known := t.known.Event; known != nil && state.Event != nil && state.Event.Revision == known.Revision {
			state.SomeDue = t.known.Due // no lock has been made since that was due before them
		}
		t.decidedOn, t.seats, t.due = state.Event, state.Seats, state.SomeDue
		if t.needs.Due > 0 { // they are the soonest ones of the event, not those that a sweep has found
			t.due = *state.Due
		}
		var needs inventory.Needs
		t.plan, t.results, needs = inventory.Decide(state, t.commands(), r.pipeline.rules)
		if needs.None() {
			t.read = nil
			if t.plan.IsEmpty() {
				t.read = state.Event
			}
			return nil
		}
		t.needs = t.needs.And(needs)
		t.needs.Seats = t.needs.Seats || state.Seats != nil // it has undone what it did in the map
		if needs.Hold && !r.hold {
			return errNeedsHold
		}
	}
	return errUndecidable()
}

// errUndecidable says that a decision still needs data that was read for it.
func errUndecidable() error {
	return holdfast.Refuse(holdfast.CodeUnavailable, "The request could not be decided; try again.")
}

func (r *run) load(ctx context.Context, t *task) (inventory.State, error) {
	if r.hold {
		if held := t.held; held != nil {
			t.held = nil
			return *held, nil
		}
	}
	state, err := r.pipeline.store.LoadKnowing(ctx, t.Key, t.needs, t.known)
	switch {
	case errors.Is(err, store.ErrTooLarge): // the error has ended the transaction, so there is another one
		t.needs.Apart, err = true, errNeedsHold
	case r.hold:
		state.Held = !t.Key.IsZero() // without an event there is nothing to hold
	case err != nil && holdfast.CodeOf(err) == "" && !errors.Is(err, store.ErrMap) && ctx.Err() == nil:
		err = errNeedsHold // the transaction reads again, and reports an error that lasts
	}
	return state, err
}
