package inventory_test

import (
	"errors"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// Bounds of a batch: the decision asks for more at most maxLoads times, as
// internal/pipeline allows it, and its plan goes stale at most maxAttempts times in a row.
const (
	maxLoads    = 16
	maxAttempts = 10
)

// pipeline carries commands through load, decide and apply, as internal/pipeline does.
type pipeline struct {
	store   *store
	rules   inventory.Rules
	unknown map[ID]*holdfast.Error
	// hold: the event is written before it is read, as a sweep does.
	hold bool

	// settling: an earlier commit of the same commands got no answer. Implies hold.
	settling bool
	// remember: an event is remembered from the last commit or read.
	remember   bool
	remembered *inventory.Event
	// seats is the map of the remembered event; nil: it is not remembered.
	seats *seating.Occupancy
	// someDue are due locks that were read, and that no plan has written until this revision of the event; due are
	// those that this batch knew.
	someDue, due []inventory.Lock
	someDueAt    int64
	// beforeApply runs between the decision and the write: another process.
	beforeApply func(inventory.Plan)

	plan  inventory.Plan    // the last one
	loads int               // of the last attempt
	needs []inventory.Needs // in the order in which the decisions of a batch had them
}

// batch decides and applies until no guard fails. The store's invariants hold after it.
func (p *pipeline) batch(t rapid.TB, commands ...inventory.Command) []reply {
	t.Helper()
	var needs inventory.Needs
	p.needs = nil
	if p.settling {
		needs = inventory.RepeatNeeds(commands)
	}
	for attempt := range maxAttempts {
		recall := p.remember && attempt == 0 && !p.hold
		results := p.decide(t, &needs, recall, commands)
		if p.beforeApply != nil && !p.hold && !needs.Hold {
			p.beforeApply(p.plan)
		}
		before := p.store.clone()
		err := p.store.apply(p.plan)
		switch {
		case err == nil:
			p.store.checkCommit(t, before)
			p.store.checkRefused(t, before, results)
			p.settle(t)
			p.someDue = p.plan.StillDue(p.due)
			if p.store.event != nil {
				p.someDueAt = p.store.event.Revision
			}
			if p.plan.Event != nil {
				inventory.Complete(p.plan, results, p.store.now, p.store.event.Event)
				p.remembered = p.store.seen()
			}
			return repliesOf(results)
		case errors.Is(err, errKeyInUse):
			needs = needs.And(inventory.RepeatNeeds(commands))
		case !errors.Is(err, errStale):
			t.Fatalf("%v\nby the plan %+v", err, p.plan)
		}
		p.remembered, p.seats, p.someDue = nil, nil, nil
	}
	t.Fatalf("the plan goes stale again and again: %+v", p.plan)
	return nil
}

// settle keeps the map after a commit. A batch that wrote nothing may have relied on an old one.
func (p *pipeline) settle(t rapid.TB) {
	t.Helper()
	if p.seats == nil || p.plan.Event == nil {
		p.seats = nil
		return
	}
	if p.plan.Event.Fields.SeatingPlanID != nil { // the map is of another hall
		p.seats = nil
		return
	}
	p.store.checkDecided(t, p.seats)
	p.seats.Settle()
}

// decide loads what the decision needs until it needs no more.
func (p *pipeline) decide(t rapid.TB, needs *inventory.Needs, recall bool, commands []inventory.Command,
) (results []inventory.Result) {
	t.Helper()
	state := inventory.State{}
	if recall {
		state.Event, state.Seats = copyOf(p.remembered), p.seats
	}
	for p.loads = 0; p.loads <= maxLoads; p.loads++ {
		if !needs.None() {
			state = p.store.load(*needs)
			state.Held = p.hold || needs.Hold
		}
		state.Unknown, state.Rounds = p.unknown, p.loads
		if p.remember && state.Event != nil && state.Event.Revision == p.someDueAt {
			state.SomeDue = p.someDue
		}
		if p.due = state.SomeDue; needs.Due > 0 {
			p.due = *state.Due
		}
		var more inventory.Needs
		before := cloneOf(state.Seats)
		p.plan, results, more = inventory.Decide(state, commands, p.rules)
		p.seats = state.Seats
		if more.None() {
			if state.Event != nil && p.plan.IsEmpty() {
				p.remembered = copyOf(state.Event)
			}
			return results
		}
		wantSame(t, state.Seats, before)
		if !p.plan.IsEmpty() || results != nil {
			t.Errorf("there are needs, and yet %+v, %+v", p.plan, results)
		}
		*needs, p.needs = needs.And(more), append(p.needs, more)
	}
	t.Fatalf("the decision still needs %+v", *needs)
	return nil
}
