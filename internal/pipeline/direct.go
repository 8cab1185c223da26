package pipeline

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Store returns the store that the commands change.
func (p *Pipeline) Store() *store.Store { return p.store }

// Do carries out a command that does not write the event.
func (p *Pipeline) Do(ctx context.Context, c inventory.Command) (inventory.Result, error) {
	var t *task
	places := func() []mongodb.Place { return placesOfCommand(c, t.seen) }
	return mongodb.ConfirmRefusal(ctx, p.store.DB(), mongodb.IsRefusal, places, func(ctx context.Context) (inventory.Result, error) {
		t = taskOf(ID{}, c)
		return p.carryOut(ctx, t, c, readFirst)
	})
}

// placesOf are the places of what a command in the queue of an event can refuse. They are made
// when they are needed, because every request comes by here.
func placesOf(eventID ID) func() []mongodb.Place {
	return func() []mongodb.Place { return store.PlacesOf(eventID) }
}

// placesOfCommand is placesOf for a command that does not name its event. If there is an event,
// the command has read it.
func placesOfCommand(c inventory.Command, event ID) []mongodb.Place {
	if !event.IsZero() {
		return store.PlacesOf(event)
	}
	switch c := c.(type) {
	case inventory.Book:
		return store.PlacesOf(c.EventID)
	case inventory.Extend:
		return []mongodb.Place{store.PlaceOfLock(c.LockID)}
	case inventory.Pay:
		return []mongodb.Place{store.PlaceOfBooking(c.BookingID)}
	case inventory.Confirm:
		return []mongodb.Place{store.PlaceOfBooking(c.BookingID)}
	case inventory.Cancel:
		return []mongodb.Place{store.PlaceOfBooking(c.BookingID)}
	default:
		return store.PlacesOf(event)
	}
}

// Sweep carries out a command in a transaction that writes the event before it reads, so
// that other writers can't starve it. eventID is zero for bookings whose locks take no
// seats.
func (p *Pipeline) Sweep(ctx context.Context, eventID ID, c inventory.Command) (inventory.Result, error) {
	return p.carryOut(ctx, taskOf(eventID, c), c, holdFirst)
}

// Change changes an event, ahead of the commands in its queue.
func (p *Pipeline) Change(ctx context.Context, eventID ID, c inventory.ChangeEvent) (inventory.Result, error) {
	places := placesOf(eventID)
	return mongodb.ConfirmRefusal(ctx, p.store.DB(), holdfast.IsNotFound, places, func(ctx context.Context) (inventory.Result, error) {
		return p.carryOut(ctx, taskOf(eventID, c), c, holdFirst)
	})
}

// maxRepairs bounds how often a repair is measured, before its transaction holds the event.
const maxRepairs = 3

// Repair compares an event's counter with its locks, and corrects it if it is wrong. The
// correction is nil if it is right.
//
// The locks are added up before the transaction: an event may have more than a transaction has
// time for. If a counter is no number, the event must not change until the write. A transaction
// adds up the locks only if other processes change such an event all the time, or if MongoDB can't
// evaluate a correction.
func (p *Pipeline) Repair(ctx context.Context, eventID ID, runID string) (*inventory.Correction, error) {
	defer p.memory.forget(eventID)
	c := inventory.Repair{RunID: runID}
	db := p.store.DB()
	for range maxRepairs {
		db.LearnUpgrade(ctx)
		shared := db.Shared()
		state, err := p.store.MeasureEvent(ctx, eventID)
		if err != nil {
			return nil, err
		}
		plan, result := p.Preview(state, c)
		if plan.IsEmpty() {
			return result.Correction, result.Err
		}
		if before := plan.Event.IfUnchanged; before != nil && before.Unguarded {
			break
		}
		applied, err := p.store.Apply(ctx, []store.EventPlan{{EventID: eventID, Plan: plan}}, func() error { return nil })
		var rejected store.RejectedEventError
		switch {
		case err == nil:
			inventory.Complete(plan, []inventory.Result{result}, applied[0].Now, applied[0].Event.Event)
			return result.Correction, nil
		case errors.As(err, &rejected) && plan.Event.Drift != nil: // as of a document with repeated fields
			return p.repairHeld(ctx, eventID, c)
		case !errors.Is(err, store.ErrStale) && !db.RefusedAsFormer(ctx, err, shared):
			return nil, mongodb.Translate(err)
		}
	}
	return p.repairHeld(ctx, eventID, c)
}

// repairHeld repairs an event in a transaction that holds it.
func (p *Pipeline) repairHeld(ctx context.Context, eventID ID, c inventory.Repair) (*inventory.Correction, error) {
	result, err := p.carryOut(ctx, taskOf(eventID, c), c, holdFirst)
	return result.Correction, err
}

// RepairSeats compares the map of a seated event with its locks, and corrects it if it is wrong. The
// result has what was found, and how many seats of the map were wrong.
//
// It is compared at a snapshot, and the correction is guarded by the revision. While an event changes all the
// time, a transaction that holds it compares.
func (p *Pipeline) RepairSeats(ctx context.Context, eventID ID, runID string) (result inventory.Result, isCorrected bool, err error) {
	c := inventory.RepairSeats{RunID: runID}
	for range maxRepairs {
		state, err := p.store.MeasureSeats(ctx, eventID)
		if err != nil {
			return result, false, err
		}
		plan, found := p.Preview(state, c)
		if plan.IsEmpty() {
			return found, false, found.Err
		}
		if plan.Event.IfUnchanged.Unguarded {
			break
		}
		_, err = p.store.Apply(ctx, []store.EventPlan{{EventID: eventID, Plan: plan}}, func() error { return nil })
		if !errors.Is(err, store.ErrStale) {
			p.memory.forget(eventID)
			return found, err == nil, mongodb.Translate(err)
		}
	}
	t := taskOf(eventID, c)
	result, err = p.carryOut(ctx, t, c, holdFirst)
	return result, !t.plan.IsEmpty(), err
}

// Preview decides a command on a state that was read, and changes nothing.
func (p *Pipeline) Preview(s inventory.State, c inventory.Command) (inventory.Plan, inventory.Result) {
	plan, results, needs := inventory.Decide(s, []inventory.Command{c}, p.rules)
	if !needs.None() {
		return inventory.Plan{}, inventory.Result{}
	}
	return plan, results[0]
}

// order says whether a command's transaction reads its event first, or writes it first to
// block other writers.
type order bool

const (
	readFirst order = false
	holdFirst order = true
)

// taskOf is the task of one command.
func taskOf(eventID ID, c inventory.Command) *task {
	return &task{eventID: eventID, commands: func() []inventory.Command { return []inventory.Command{c} }}
}

// carryOut runs one command without the queue.
func (p *Pipeline) carryOut(ctx context.Context, t *task, c inventory.Command, o order) (inventory.Result, error) {
	r := &run{pipeline: p, hold: o == holdFirst, tasks: []*task{t}}
	if err := r.do(ctx); err != nil {
		return inventory.Result{}, explain(err, c)
	}
	return t.results[0], t.results[0].Err
}
