package pipeline

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// mayShare reports whether a command may be in a transaction with commands of other events: one that is usually decided on
// what is remembered, which a refusal and a repeated request are not. Behind mongos events may be on several shards, and a
// transaction on several shards costs more than several transactions.
func (p *Pipeline) mayShare(c queued) bool {
	acquire, acquires := c.Command.(inventory.Acquire)
	if acquires && acquire.Key != "" && p.repeats.note(acquire.UserID, acquire.Key) {
		return false
	}
	return acquires && !c.lost && !p.store.DB().Sharded() && p.memory.sells(acquire.EventID)
}

// share carries out tasks of several events in one transaction, each decided on the event as it is remembered. A
// task that needs more is left apart. If the transaction fails, by a guard or by anything else, share returns the
// error: the queue then commits each event by itself, by do, which knows what helps.
func (r *run) share(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	r.pipeline.store.DB().LearnUpgrade(ctx)
	err := r.readForgotten(ctx)
	if err == nil {
		err = r.attemptShared(ctx)
	}
	if errors.Is(err, errUnknownUsers) || errors.Is(err, errAbandoned) { // they are refused when they are decided again
		r.unknown = r.lookup.unknownUsers()
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

// readForgotten reads the events that are not remembered.
func (r *run) readForgotten(ctx context.Context) error {
	var forgotten []ID
	for _, t := range r.tasks {
		if _, known := r.pipeline.memory.revision(t.eventID); !known && !r.pipeline.memory.off {
			forgotten = append(forgotten, t.eventID)
		}
	}
	if len(forgotten) == 0 {
		return nil
	}
	events, err := r.pipeline.store.EventsForDecision(ctx, forgotten)
	for _, e := range events {
		r.pipeline.memory.keep(e, nil)
	}
	return err
}

// attemptShared decides and applies once. It leaves all tasks apart if only one is left: Apply waits for what a single
// event needs, and the others would wait for it too.
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

// decideRemembered decides a task's commands on the remembered event; false: that is not enough.
func (r *run) decideRemembered(t *task) bool {
	t.known.Event, t.known.Seats = r.pipeline.memory.recall(t.eventID)
	if t.known.Event == nil || isPresumed(*t.known.Event) || r.pipeline.memory.isContested(t.eventID) {
		return false
	}
	t.decidedOn, t.seats, t.read = t.known.Event, t.known.Seats, nil
	var needs inventory.Needs
	t.plan, t.results, needs = inventory.Decide(
		inventory.State{Event: t.known.Event, Seats: t.known.Seats, Unknown: r.unknown}, t.commands(), r.pipeline.rules)
	w := t.plan.Event
	return needs.None() && t.plan.Unproven.None() && w != nil && (w.IfUnchanged == nil || !w.IfUnchanged.Unguarded)
}

// undo undoes a decision, and puts the event back into the memory.
func (r *run) undo(t *task) {
	if t.known.Seats != nil {
		t.known.Seats.Undo(0)
		r.pipeline.memory.keep(*t.known.Event, t.known.Seats)
	}
	t.known, t.seats, t.plan, t.results = store.Known{}, nil, inventory.Plan{}, nil
}
