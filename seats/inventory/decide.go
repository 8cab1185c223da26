package inventory

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Command is what a caller, a sweep or a repair wants of an event. Its method has the
// rules for it.
type Command interface {
	decide(d *decision) Result
}

// Decide carries out the commands in order of arrival. Where needs is not None, plan
// and results count nothing: call it again with a state that has what is needed.
func Decide(s State, commands []Command, rules Rules) (plan Plan, results []Result, needs Needs) {
	d := &decision{
		state: s, rules: rules, commands: len(commands),
		locks: map[ID]Lock{}, moved: map[ID]int{}, bookings: map[ID]holdfast.Booking{},
	}
	d.openEvent()
	results = make([]Result, len(commands))
	for i, c := range commands {
		results[i] = c.decide(d)
	}
	if !d.needs.None() {
		return Plan{}, nil, d.needs
	}
	d.closeEvent()
	for i := range results {
		if n := results[i].acquired; n > 0 {
			results[i].Lock = &d.plan.Acquired[n-1]
		}
	}
	return d.plan, results, Needs{}
}

// decision is a state while commands are carried out on it.
type decision struct {
	state    State
	rules    Rules
	commands int // how many there are
	plan     Plan
	needs    Needs

	event    Event // a working copy, if there is one
	counter  counter
	repaired bool // the counter was wrong; it is set to what the locks say

	locks    map[ID]Lock // working copies of the ones that have changed
	moved    map[ID]int  // where a lock stands in plan.Locks
	bookings map[ID]holdfast.Booking
	holdings map[ID]Holding
	acquired map[UserKey]int // keys that this batch has used

	due []DueLock // what is left to reclaim
	// madeDue: a lock of this batch is due at once. It can be reclaimed by the next.
	madeDue bool
	// full: a command waits for the next batch, and so do those that came after it.
	full bool
	// asRead: something was decided that another change of the event would make wrong.
	asRead bool
}

// openEvent makes working copies of what the commands change.
func (d *decision) openEvent() {
	s := &d.state
	if s.Event == nil {
		return
	}
	d.event, d.counter = *s.Event, s.Event.counter()
	d.holdings = maps.Clone(s.Holdings)
	if s.Due != nil {
		d.due = *s.Due
	}
}

// ensureEvent reports whether the event exists; false also where it is needed first.
func (d *decision) ensureEvent() bool {
	if d.state.Event == nil && !d.state.Missing {
		d.needs.Event = true
	}
	return d.state.Event != nil
}

// ensureCounter makes the counter one that can be relied on; false: that needs the sum
// of the locks first. Other software may leave a counter that can't be: it is set to what
// the locks say. Whatever moves seats asks this first.
func (d *decision) ensureCounter() bool {
	isNumber := d.event.HasTotal && d.event.Countable
	if d.state.Taken == nil {
		d.needs.Taken = d.needs.Taken || !isNumber || !d.counter.valid()
		return !d.needs.Taken
	}
	counted, hasMoved := counterOf(d.counter.total, *d.state.Taken), d.counter != d.startCounter()
	if !d.repaired && !hasMoved && (!isNumber || d.counter != counted) {
		d.counter, d.repaired, d.asRead = counted, true, true
	}
	return true
}

// restore gives seats back to the event, if it exists.
func (d *decision) restore(seats int64) {
	if d.state.Event == nil || !d.ensureCounter() {
		return
	}
	d.asRead = true
	d.counter.restore(seats)
	d.ensureCounter() // more came back than were taken: the counter was wrong before
}

// refuse answers a command of the event's queue with a refusal. It has to be true at
// a moment after the request came, so a remembered state will not do. And it must not
// be granted elsewhere afterwards: a request with a key may have been sent to another
// process before, which still tries to grant it. The fence, a write of the event, waits
// for that process's transaction, or makes it conflict and look again whether its
// caller is still there. A request for seats without a key is never the same request
// twice; any other refusal is fenced.
func (d *decision) refuse(err error, key UserKey) Result {
	if d.state.Event == nil { // there is none to fence, or it is to be read first
		return Result{Err: err}
	}
	if d.state.Now.IsZero() {
		d.needs.Event = true
	}
	if _, read := d.state.Keys[key]; key.Key != "" && !read {
		d.needs.Keys = append(d.needs.Keys, key)
	}
	if !d.state.Fenced && (key.Key != "" || !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable)) {
		d.needs.Fence = true
	}
	d.asRead = true
	return Result{Err: err}
}

// closeEvent plans the write of the event, where the plan moves its seats.
func (d *decision) closeEvent() {
	before, write := d.state.Event, d.plan.Event
	moves := d.state.Settling || write != nil || len(d.plan.Acquired) > 0 || d.counter != d.startCounter() || d.ends()
	if before == nil || !moves {
		return
	}
	if write == nil {
		write = &EventWrite{}
		d.plan.Event = write
	}
	switch {
	case write.Drift != nil:
		return
	case d.repaired && d.event.HasTotal:
		write.Counter = &Counter{AvailableSeats: d.counter.available, Oversold: d.counter.oversold}
	case d.repaired: // its capacity says nothing: nothing is counted until that is repaired manually
	default:
		write.Available, write.Oversold = d.counter.available-before.AvailableSeats, d.counter.oversold-before.Oversold
	}
	if d.asRead || d.state.Held || d.event.Odd {
		write.AsRead = before
		return
	}
	write.AtLeast = -write.Available
}

func (d *decision) startCounter() counter {
	if d.state.Event == nil {
		return counter{}
	}
	return d.state.Event.counter()
}

// ends reports whether a lock ends: it may have had no seats, and is a change all the same.
func (d *decision) ends() bool {
	return slices.ContainsFunc(d.plan.Locks, func(w LockWrite) bool { return w.From != w.To && w.To != holdfast.LockConsumed })
}

// later is the later one of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
