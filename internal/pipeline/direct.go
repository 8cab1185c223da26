package pipeline

import (
	"context"
	"errors"
	"log/slog"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/groupcommit"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Store returns the store that the commands change.
func (p *Pipeline) Store() *store.Store { return p.store }

// Do carries out a command that does not write the event.
func (p *Pipeline) Do(ctx context.Context, c inventory.Command) (inventory.Result, error) {
	var t *task
	// If a refusal has written something, such as a payment that has to be refunded, its commit confirms it.
	isDoubtful := func(err error) bool { return mongodb.IsRefusal(err) && t.plan.IsEmpty() }
	return mongodb.ConfirmRefusal(ctx, p.store.DB(), isDoubtful, func(ctx context.Context) (inventory.Result, error) {
		t = taskOf(ctx, ID{}, c)
		return p.carryOut(ctx, t, c, readFirst)
	})
}

// Sweep carries out a command in a transaction that writes the event before it reads, so that other writers can't
// starve it. eventID is zero for bookings whose locks take no seats.
func (p *Pipeline) Sweep(ctx context.Context, eventID ID, c inventory.Command) (inventory.Result, error) {
	return p.carryOut(ctx, taskOf(ctx, eventID, c), c, holdFirst)
}

// Change changes an event, ahead of the commands in its queue.
func (p *Pipeline) Change(ctx context.Context, eventID ID, c inventory.ChangeEvent) (inventory.Result, error) {
	return mongodb.ConfirmRefusal(ctx, p.store.DB(), holdfast.IsNotFound, func(ctx context.Context) (inventory.Result, error) {
		t := taskOf(ctx, eventID, c)
		t.needs.Seats = c.Sections != nil
		if planID := c.SeatingPlanID; planID != nil {
			t.needs = inventory.Needs{Event: true, Seats: true, Union: true, UnionIn: *planID}
			return p.measureFirst(ctx, t, c, func(ctx context.Context, eventID ID, more inventory.Needs) (inventory.State, error) {
				return p.store.MeasureSeatsIn(ctx, eventID, *planID, more)
			})
		}
		return p.carryOut(ctx, t, c, holdFirst)
	})
}

// Repair compares an event's counter with its locks, and corrects it if it is wrong. The correction is nil if the
// counter is right.
func (p *Pipeline) Repair(ctx context.Context, eventID ID, runID string) (*inventory.Correction, error) {
	c := inventory.Repair{RunID: runID}
	result, err := p.measureFirst(ctx, taskOf(ctx, eventID, c), c, p.store.MeasureEvent)
	return result.Correction, err
}

// RepairSeats compares the map of a seated event with its locks, and corrects it if it is wrong. The result says
// what was found, and how many seats of the map were wrong.
func (p *Pipeline) RepairSeats(ctx context.Context, eventID ID, runID string) (result inventory.Result, isCorrected bool, err error) {
	c := inventory.RepairSeats{RunID: runID}
	t := taskOf(ctx, eventID, c)
	result, err = p.measureFirst(ctx, t, c, p.store.MeasureSeats)
	return result, err == nil && !t.plan.IsEmpty(), err
}

// MendSeats is RepairSeats for a map that can't be read. Otherwise the next command that moves seats would repair
// it.
func (p *Pipeline) MendSeats(ctx context.Context, eventID ID) error {
	result, isCorrected, err := p.RepairSeats(ctx, eventID, "")
	if isCorrected { // otherwise another process has repaired it meanwhile
		p.logMended(ctx, eventID, result.Corrected)
	}
	return err
}

func (p *Pipeline) logMended(ctx context.Context, eventID ID, corrected int64) {
	p.store.DB().Log().WarnContext(ctx, "Repaired the map of an event's seats, which did not agree with its locks",
		slog.Any("eventId", eventID), slog.Int64("seats", corrected))
}

// maxMeasures bounds how often an event is measured before a transaction holds it, unless the decision needs more.
const maxMeasures = 3

// measureFirst carries out a command on a state that measure reads at a snapshot, before the transaction: an event
// may have more locks than a transaction has time for. A guard checks that the event is still as it was read. A
// transaction holds the event and reads only if other processes change the event all the time. What the decision needs
// beyond is measured with the rest.
// A refusal is guarded like a change, and writes nothing that a later read can see.
func (p *Pipeline) measureFirst(
	ctx context.Context, t *task, c inventory.Command, measure func(context.Context, ID, inventory.Needs) (inventory.State, error),
) (inventory.Result, error) {
	defer p.memory.forget(t.Key)
	var more inventory.Needs
	for measures, rounds := 0, 0; measures < maxMeasures && rounds < maxLoads; measures++ {
		state, err := measure(ctx, t.Key, more)
		if errors.Is(err, store.ErrMap) || errors.Is(err, store.ErrTooLarge) {
			break // it is repaired first, or read in a transaction
		}
		if errors.Is(err, store.ErrStale) { // it was corrected meanwhile
			continue
		}
		if err != nil {
			return inventory.Result{}, mongodb.Translate(explain(err, c))
		}
		state.Measured, state.Rounds = true, rounds
		var needs inventory.Needs
		t.plan, t.results, needs = inventory.Decide(state, t.commands(), p.rules)
		if !needs.None() {
			more, t.needs = more.And(needs), t.needs.And(needs)
			measures, rounds = measures-1, rounds+1
			continue
		}
		if t.plan.IsEmpty() {
			return t.results[0], t.results[0].Err
		}
		plans := []store.EventPlan{{EventID: t.Key, Plan: t.plan, Origins: t.origins()}}
		applied, err := p.store.Apply(ctx, mongodb.TxOptions{}, plans, func() error { return nil })
		switch {
		case err == nil:
			inventory.Complete(t.plan, t.results, applied[0].Now, applied[0].Event.Event)
			p.report(t.plan)
			return t.results[0], t.results[0].Err
		case !errors.Is(err, store.ErrStale) && !errors.Is(err, store.ErrClock):
			return inventory.Result{}, mongodb.Translate(explain(err, c))
		}
	}
	return p.carryOut(ctx, t, c, holdFirst)
}

// Preview decides a command on the given state, and changes nothing. If the state is not enough, the result is an
// error.
func (p *Pipeline) Preview(s inventory.State, c inventory.Command) (inventory.Plan, inventory.Result) {
	plan, results, needs := inventory.Decide(s, []inventory.Command{c}, p.rules)
	if !needs.None() {
		return inventory.Plan{}, inventory.Result{Err: errUndecidable()}
	}
	return plan, results[0]
}

// order says whether a command's transaction reads its event first, or writes it first to block other writers.
type order bool

const (
	readFirst order = false
	holdFirst order = true
)

// taskOf returns the task of a single command.
func taskOf(ctx context.Context, eventID ID, c inventory.Command) *task {
	return &task{group: group{groupcommit.Group[ID, queued]{Key: eventID, Commands: []queued{{Command: c, origin: holdfast.OriginOf(ctx)}}}}}
}

// carryOut runs one command without the queue.
func (p *Pipeline) carryOut(ctx context.Context, t *task, c inventory.Command, o order) (inventory.Result, error) {
	r := &run{pipeline: p, hold: o == holdFirst, tasks: []*task{t}}
	if err := r.do(ctx); err != nil {
		return inventory.Result{}, explain(err, c)
	}
	return t.results[0], t.results[0].Err
}
