package inventory_test

import (
	"maps"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Another process changes the store between the decision and the write, and time
// passes. No plan that is written breaks an invariant. Each answer is the model's in one
// of the states between the request and the commit.
func TestDecide_BesideASecondWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGenerator(t, false)
		r := &race{
			generator: g,
			pipeline:  &pipeline{store: g.store, rules: g.rules, remember: draw(g, "remember", false, true)},
			other:     &pipeline{store: g.store, rules: g.rules, remember: draw(g, "other process remembers", false, true)},
		}
		r.pipeline.beforeApply = func(inventory.Plan) { r.interfere() }
		for range g.number("batches", 1, 5) {
			r.step()
		}
	})
}

type race struct {
	*generator
	pipeline, other *pipeline
	turns           int      // of the other process before the write
	states          []*model // of the store since the request
}

func (r *race) record() {
	r.states = append(r.states, modelOf(r.store, r.rules, nil))
}

// interfere lets the other process carry out a batch.
func (r *race) interfere() {
	if r.turns == 0 {
		return
	}
	r.turns--
	r.store.now = r.store.now.Add(minutes(draw(r.generator, "minutes pass between", 0, 0, 1, 10)))
	r.record()
	r.other.batch(r.T, r.command(r.other)...)
	r.record()
}

// command draws a batch, and sets p up to carry it out.
func (r *race) command(p *pipeline) []inventory.Command {
	p.hold = false
	switch draw(r.generator, "kind", "queue", "queue", "claim", "sweep") {
	case "claim":
		return []inventory.Command{r.claim()}
	case "sweep":
		p.hold = true
		return []inventory.Command{r.swept()}
	default:
		var batch []inventory.Command
		for range r.number("commands", 1, 4) {
			batch = append(batch, r.queued())
		}
		return batch
	}
}

func (r *race) step() {
	r.store.now = r.store.now.Add(minutes(draw(r.generator, "minutes pass", 0, 0, 1, 12)))
	r.known = r.last
	commands := r.command(r.pipeline)
	r.turns, r.states = r.number("turns", 0, 3), nil
	r.record()
	results := r.pipeline.batch(r.T, commands...)
	for i, c := range commands {
		if results[i].Undecided {
			continue
		}
		if !r.isRightInSomeState(commands, results, i) {
			r.Fatalf("%T%+v was answered with %v (%v), which is right in none of %d states; in the last one it is %v",
				c, c, withoutClock(c, results[i]), results[i].Err, len(r.states), r.outcome(r.states[len(r.states)-1], commands, results, i))
		}
		if makesLock(results[i]) && !reflect.DeepEqual(r.store.locks[results[i].Lock.ID].Lock, results[i].Lock) {
			r.Fatalf("answered %+v, stored %+v", results[i].Lock, r.store.locks[results[i].Lock.ID])
		}
	}
	r.checkNothingElse(commands, results)
}

func (r *race) isRightInSomeState(commands []inventory.Command, results []reply, i int) bool {
	for _, m := range r.states {
		if equal(withoutClock(commands[i], results[i]), r.outcome(m, commands, results, i)) {
			return true
		}
	}
	return false
}

// outcome is the model's answer to command i of a batch that is carried out in a state.
func (r *race) outcome(state *model, commands []inventory.Command, results []reply, i int) outcome {
	m := state.clone()
	waits := false
	for j, c := range commands[:i] {
		if !results[j].Undecided {
			m.do(c)
		} else if seats, wants := m.wanted(c); wants && !waits {
			waits = true
			m.reclaimFor(seats)
		}
	}
	o := m.do(commands[i])
	switch commands[i].(type) {
	case inventory.Acquire, inventory.Sell:
		if !o.replayed {
			o.withoutClock()
		}
	}
	return o
}

// withoutClock leaves out the times of a new lock and of a sale's booking: they depend on the time of the write.
func withoutClock(c inventory.Command, r reply) outcome {
	o := outcomeOf(c, r)
	if makesLock(r) {
		o.withoutClock()
	}
	return o
}

func (o *outcome) withoutClock() {
	o.lock.ExpiresAt, o.lock.CreatedAt, o.booking.PaymentExpiresAt, o.booking.CreatedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
}

// makesLock reports whether a command that is answered with a lock has made it.
func makesLock(r reply) bool { return r.Grants() && r.Result.Lock != nil }

// checkNothingElse: the batch made no lock and no booking beyond its answers.
func (r *race) checkNothingElse(commands []inventory.Command, results []reply) {
	last := r.states[len(r.states)-1]
	locks, bookings := len(last.locks), len(last.bookings)
	for i, result := range results {
		if makesLock(result) {
			locks++
		}
		var next ID // a new lock of the booking
		switch c := commands[i].(type) {
		case inventory.Book, inventory.Sell:
			if result.Err == nil && !result.Replayed && !result.Undecided {
				bookings++
			}
		case inventory.Confirm:
			next = c.LockID
		case inventory.Transfer:
			next = c.NewLockID
		}
		if result.Err == nil && result.Result.Booking != nil && !next.IsZero() && last.locks[next] == nil && r.store.locks[next] != nil {
			locks++
		}
	}
	if len(r.store.locks) != locks || len(r.store.bookings) != bookings {
		r.Fatalf("there are %d locks and %d bookings, want %d and %d", len(r.store.locks), len(r.store.bookings), locks, bookings)
	}
}

func (m *model) clone() *model {
	c := *m
	c.locks, c.bookings, c.event, c.fresh = copies(m.locks), copies(m.bookings), copyOf(m.event), nil
	c.payments = map[inventory.PaymentKey]*holdfast.Payment{}
	for key, paid := range m.payments {
		c.payments[key] = pointer(*paid)
	}
	c.claimAgain, c.wishes, c.done = func(l holdfast.Lock) bool { return c.reclaimFor(l.Seats) }, &c, maps.Clone(m.done)
	c.begin()
	return &c
}
