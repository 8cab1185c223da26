package pipeline

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// mayShare reports whether a command may be in a transaction with commands of other events. That is for commands
// that the cached event usually decides. It does not decide refusals and repeated requests.
func (p *Pipeline) mayShare(c queued) bool {
	acquire, acquires := c.Command.(inventory.Acquire)
	if acquires && acquire.Key != "" && p.repeats.note(acquire.UserID, acquire.Key) {
		return false
	}
	return acquires && p.memory.sells(acquire.EventID)
}

// share carries out tasks of several events in one transaction, each decided on its cached event. It leaves out a
// task that needs more. If the transaction fails for any reason, share returns the error: the queue then commits
// each event by itself, with do, which handles the failure.
func (r *run) share(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	err := r.readForgotten(ctx)
	if err == nil {
		err = r.attemptShared(ctx)
	}
	if errors.Is(err, errDecideAgain) { // the commands of unknown users are refused in the next attempt
		for _, t := range r.tasks {
			r.undo(t)
		}
		err = r.attemptShared(ctx)
	}
	if err != nil {
		r.forget()
		return mongodb.Translate(err)
	}
	r.remember()
	return nil
}

// readForgotten reads the events that are not cached.
func (r *run) readForgotten(ctx context.Context) error {
	var forgotten []ID
	for _, t := range r.tasks {
		if _, known := r.pipeline.memory.revision(t.Key); !known && !r.pipeline.memory.off {
			forgotten = append(forgotten, t.Key)
		}
	}
	if len(forgotten) == 0 {
		return nil
	}
	events, err := r.pipeline.store.EventsForDecision(ctx, forgotten)
	for _, e := range events {
		r.pipeline.memory.keep(e, nil, nil)
	}
	return err
}

// attemptShared decides and applies once. If only one task is left, it leaves out that one too: Apply waits for what
// a single event needs, and the other events would wait for it.
func (r *run) attemptShared(ctx context.Context) error {
	shared := 0
	for _, t := range r.tasks {
		t.applied = store.Applied{}
		if t.isApart = !r.decideRemembered(t); t.isApart {
			r.undo(t)
		} else {
			shared++
		}
	}
	if shared > 1 {
		return r.apply(ctx)
	}
	for _, t := range r.tasks {
		t.isApart = true
		r.undo(t)
	}
	return nil
}

// decideRemembered decides a task's commands on the cached event. It returns false if that is not enough.
func (r *run) decideRemembered(t *task) bool {
	t.known = r.pipeline.memory.recall(t.Key)
	if t.known.Event == nil || r.pipeline.memory.isContested(t.Key) {
		return false
	}
	t.decidedOn, t.seats, t.due, t.read = t.known.Event, t.known.Seats, t.known.Due, nil
	var needs inventory.Needs
	t.plan, t.results, needs = inventory.Decide(
		inventory.State{Event: t.known.Event, Seats: t.known.Seats, SomeDue: t.known.Due, Unknown: r.unknown}, t.commands(), r.pipeline.rules)
	return needs.None() && t.plan.Event != nil
}

// undo undoes a decision, and puts the event back into the cache.
func (r *run) undo(t *task) {
	if t.known.Seats != nil {
		t.known.Seats.Undo(0)
		r.pipeline.memory.keep(*t.known.Event, t.known.Seats, t.known.Due)
	}
	t.known, t.seats, t.plan, t.results = store.Known{}, nil, inventory.Plan{}, nil
}
