package inventory

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Command is a request of a caller, a sweep or a repair. Its method decide has the rules.
type Command interface {
	decide(d *decision) Result
}

// Decide carries out the commands in order of arrival. If needs is not None, plan and
// results are not valid: load the needs, and call Decide again. The plan's Unproven is read
// while the plan is written or, if there is nothing to write, before the results are used.
func Decide(s State, commands []Command, rules Rules) (plan Plan, results []Result, needs Needs) {
	d := &decision{
		state: s, rules: rules, commands: len(commands),
		sales: maps.Clone(s.Sold),
		locks: map[ID]Lock{}, planned: map[ID]int{}, bookings: map[ID]holdfast.Booking{},
	}
	d.openEvent()
	if s.Union != nil && !slices.ContainsFunc(commands, measures) {
		d.followLocks()
	}
	results = make([]Result, len(commands))
	for i, c := range commands {
		d.command = i
		results[i] = c.decide(d)
	}
	d.needs.Fence = d.fence && !d.isFence()
	if d.canProveLater() {
		d.plan.Unproven, d.needs, d.plan.UnprovenAt = d.needs, Needs{}, s.Event.Revision
		if s.Held { // the transaction has raised it
			d.plan.UnprovenAt--
		}
		if !d.moves() {
			d.plan.UnprovenOn = s.Event
		}
	}
	if !d.needs.None() {
		if s.Seats != nil {
			s.Seats.Undo(d.mark)
		}
		return Plan{}, nil, d.needs
	}
	d.closeEvent()
	d.closeChanges()
	for i := range results {
		if n := results[i].acquired; n > 0 {
			results[i].Lock = &d.plan.Acquired[n-1]
		}
	}
	return d.plan, results, Needs{}
}

// decision is the working state of one call of Decide.
type decision struct {
	state    State
	rules    Rules
	commands int // their number
	plan     Plan
	needs    Needs

	event    Event // a working copy, if there is one
	counter  counter
	repaired bool // the counter was wrong, and was replaced by the sum of the locks

	locks    map[ID]Lock // working copies of the locks that this batch has changed
	planned  map[ID]int  // a lock's index in plan.Locks
	bookings map[ID]holdfast.Booking
	holdings map[ID]Holding
	sales    map[ID]int               // State.Sold, as this batch has left it
	payments map[ID]*holdfast.Payment // that this batch has made or changed
	charged  map[PaymentKey]ID
	acquired map[UserKey]int // keys that this batch has used: 1 + the index in plan.Acquired

	mark int // of State.Seats, at the beginning
	// rivals is how many locks have a seat that several have, as far as that was read.
	rivals map[string]int

	command int       // the index of the command that is decided
	made    []int     // parallel to plan.Acquired: the command
	written []written // parallel to plan.Locks
	moved   []seenBooking
	paid    []seenPayment
	// changesEvent: a command changed the event itself; the last one has the index eventBy.
	changesEvent bool
	eventBy      int
	movesBlocks  bool // the venue's blocks changed, even if their number did not
	countedBy    int  // the last command that moved the counter

	due []DueLock // the locks that are left to reclaim
	// madeDue: a new lock of this batch is due at once. The next batch can reclaim it.
	madeDue bool
	// deferRest: a request for seats waits for the next batch, and so do all later ones.
	deferRest bool
	// fence: a refusal relies on a write of the event, be it the plan's.
	fence bool
	// needsTime: a refusal depends on the database's clock.
	needsTime bool
	// ifUnchanged: the plan is right only if the event is unchanged at the write.
	ifUnchanged bool
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
	if s.Seats != nil {
		d.mark = s.Seats.Mark()
	}
	// A guard by the number of available seats says nothing of which ones.
	d.ifUnchanged = d.isSeated()
}

// ensureEvent reports whether the event exists. If the event was not read, it is needed,
// and the result is false.
func (d *decision) ensureEvent() bool {
	if d.state.Event == nil && !d.state.Missing {
		d.needs.Event = true
	}
	return d.state.Event != nil
}

// ofEvents says which events the locks and bookings of a command have.
func (d *decision) ofEvents(ids ...ID) {
	for _, id := range ids {
		if !id.IsZero() {
			d.needs.Events = append(d.needs.Events, id)
		}
	}
}

// ensureCounter makes sure that the counter can be relied on. It returns false if that
// needs the sum of the locks first. Other software may leave an impossible counter: it is
// replaced by that sum. Every command that moves seats calls this first.
func (d *decision) ensureCounter() bool {
	isNumber := d.event.HasTotal && d.event.Countable
	if d.state.Taken == nil {
		d.needs.Taken = d.needs.Taken || !isNumber || !d.counter.valid()
		return !d.needs.Taken
	}
	counted, hasMoved := counterOf(d.counter.total, *d.state.Taken), d.counter != d.startCounter()
	if !d.repaired && !hasMoved && (!isNumber || d.counter != counted) {
		d.counter, d.repaired, d.ifUnchanged = counted, true, true
	}
	return true
}

// restore returns seats to the event, if the event exists.
func (d *decision) restore(seats int64) {
	if d.state.Event == nil || !d.ensureCounter() {
		return
	}
	d.countedBy = d.command
	d.ifUnchanged = true
	d.counter.restore(seats)
	d.ensureCounter() // if more seats come back than were taken, the counter was wrong before
}

// refuse answers a command of the event's queue with a refusal.
//
// A refusal has to be true at a moment after its request arrived. So it is not decided on a
// remembered state, unless what it relies on is read before its answer (Plan.Unproven).
//
// A refused request must not be granted elsewhere afterwards. The client may have sent it,
// with the same key, to another process that still tries to grant it. So the event is
// written before the refusal is decided: the fence. It waits for the other process's
// transaction, or makes it conflict. That process then checks again whether its caller has
// given up. Two requests for seats without a key are never the same request, so they need
// no fence if too few seats are available. Every other refusal is fenced.
func (d *decision) refuse(err error, key UserKey) Result {
	if d.state.Event == nil { // the event does not exist, or has to be read first
		return Result{Err: err}
	}
	if d.state.Now.IsZero() {
		d.needs.Event = true
	}
	if _, read := d.state.Keys[key]; key.Key != "" && !read {
		d.needs.Keys = append(d.needs.Keys, key)
	}
	if !d.state.Fenced && (key.Key != "" || !saysTooFew(err)) {
		d.fence = true
	}
	d.ifUnchanged = true
	return Result{Err: err}
}

// refuseFirmly is refuse for a command that a client repeats without a key. It is always fenced.
func (d *decision) refuseFirmly(err error) Result {
	if d.state.Event != nil && !d.state.Fenced {
		d.fence = true
	}
	return d.refuse(err, UserKey{})
}

// saysTooFew reports whether an error refuses seats because others have them.
func saysTooFew(err error) bool {
	switch holdfast.CodeOf(err) {
	case holdfast.CodeSeatsUnavailable, holdfast.CodeSeatsNotAdjacent, holdfast.CodeSeatOrphaned:
		return true
	default:
		return false
	}
}

// closeEvent plans the write of the event, if the event has to be written.
func (d *decision) closeEvent() {
	before, write := d.state.Event, d.plan.Event
	if before == nil || !d.moves() {
		return
	}
	if write == nil {
		write = &EventWrite{}
		d.plan.Event = write
	}
	d.writeMaps(write)
	if blocked := d.event.Seating.BlockedSeats; d.movesBlocks || blocked != before.Seating.BlockedSeats {
		write.Blocked = &blocked
	}
	switch {
	case write.Drift != nil:
		return
	case d.repaired && d.event.HasTotal:
		write.Counter = &Counter{AvailableSeats: d.counter.available, Oversold: d.counter.oversold}
	case d.repaired: // without totalSeats the counter has no meaning, so it stays as it is
	default:
		write.Available, write.Oversold = d.counter.available-before.AvailableSeats, d.counter.oversold-before.Oversold
	}
	if d.ifUnchanged || d.state.Held || d.event.Incomparable {
		write.IfUnchanged = before
		return
	}
	write.AtLeast = -write.Available
}

// moves reports whether the plan writes the event, so far.
func (d *decision) moves() bool {
	changesMap := d.state.Seats != nil && d.state.Seats.Mark() > d.mark
	return d.plan.Event != nil || len(d.plan.Acquired) > 0 || changesMap || d.counter != d.startCounter() || d.ends()
}

// isFence reports whether the plan's own write is the fence of its refusals.
func (d *decision) isFence() bool { return d.isSeated() && d.moves() }

// canProveLater reports whether nothing is missing but what proves refusals of named seats, on an event that is
// remembered or held, and whose plan is guarded by its revision. What was granted does not depend on it: the proof
// is that nothing is found. A plan that writes nothing can be proved if none of its refusals needs a fence.
func (d *decision) canProveLater() bool {
	rest := d.needs
	rest.Event, rest.Keys, rest.Holders = false, nil, nil
	isRemembered := d.state.Now.IsZero()
	return rest.None() && !d.needsTime && len(d.needs.Holders) > 0 &&
		(d.isFence() && (isRemembered || d.state.Held) || !d.moves() && isRemembered)
}

func (d *decision) startCounter() counter {
	if d.state.Event == nil {
		return counter{}
	}
	return d.state.Event.counter()
}

// ends reports whether the plan ends a lock. Even a lock without seats then changes the event.
func (d *decision) ends() bool {
	return slices.ContainsFunc(d.plan.Locks, func(w LockWrite) bool { return w.From != w.To && w.To != holdfast.LockConsumed })
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
