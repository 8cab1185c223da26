package inventory

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// Command is a request of a caller, a sweep or a repair. Its method decide contains the rules.
type Command interface {
	decide(d *decision) Result
}

// Decide carries out the commands in order of arrival. If needs is not None, plan and results are not valid: the
// caller has to load the needs, and call Decide again.
func Decide(s State, commands []Command, rules Rules) (plan Plan, results []Result, needs Needs) {
	d := &decision{
		state: s, rules: rules, commands: len(commands),
		locks: map[ID]Lock{}, planned: map[ID]int{}, bookings: map[ID]holdfast.Booking{},
	}
	d.openEvent()
	results = make([]Result, len(commands))
	d.decideAll(commands, results)
	d.settleWhatIsFree()
	d.closeList()
	if d.refuses && !d.moves() {
		d.needs.Hold = !s.Held && !s.Measured
		if s.Measured {
			d.plan.Event = &EventWrite{Touch: true}
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
		if n := results[i].booked; n > 0 {
			results[i].Booking = &d.plan.NewBookings[n-1]
		}
		if n := results[i].joined; n > 0 {
			results[i].Entry = &d.plan.NewEntries[n-1].WaitlistEntry
		}
		if results[i].checksList {
			d.checkedList(&results[i])
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
	repaired bool // the counter was not valid, or wrong, and was replaced by the sum of the locks

	locks    map[ID]Lock // working copies of the locks that this batch has changed
	planned  map[ID]int  // the index of a lock in plan.Locks
	bookings map[ID]holdfast.Booking
	holdings map[ID]Holding
	payments map[ID]*holdfast.Payment // that this batch has made or changed
	charged  map[PaymentKey]ID
	acquired map[UserKey]int // keys that this batch has used: 1 + the index in plan.Acquired

	mark int // of State.Seats, at the beginning
	// unsellable are the seats that count as taken in this decision alone. opened is the mark after them.
	unsellable []seating.Place
	opened     int

	command int       // the index of the command that is being decided
	made    []int     // the index of the command, parallel to plan.Acquired
	written []written // parallel to plan.Locks
	moved   []seenBooking
	paid    []seenPayment
	// changesEvent says that a command changed the event itself. eventBy is the index of the last such command.
	changesEvent bool
	eventBy      int
	movesBlocks  bool // the venue's blocks changed, even if their number did not
	countedBy    int  // the last command that moved the counter

	due         []Lock           // the locks that are left to reclaim: of Due, or of SomeDue
	someHolders map[string]*Lock // of SomeDue, by seat ID; nil: not made yet
	// madeDue says that a new lock of this batch is due at once. The next batch can reclaim it.
	madeDue bool
	// deferRest says that a request for seats waits for the next batch. All later ones wait too.
	deferRest bool
	// refuses says that a refusal relies on a write of the event, which may be the plan's own.
	refuses bool
	// ifUnchanged says that the plan is right only if the event is unchanged at the write.
	ifUnchanged bool

	list offers
}

// openEvent makes working copies of what the commands change.
func (d *decision) openEvent() {
	s := &d.state
	if s.Event == nil {
		return
	}
	d.event, d.counter = *s.Event, s.Event.counter()
	d.list.holds = s.Event.List.Holds && s.Event.List.Waiting > 0
	d.holdings = maps.Clone(s.Holdings)
	switch {
	case s.Due != nil:
		d.due = *s.Due
	case !s.Held: // the guards of their writes notice what has changed since
		d.due = s.SomeDue
	}
	if s.Seats != nil {
		d.mark = s.Seats.Mark()
		for _, id := range s.Unsellable {
			if p, found := s.Seats.Hall().Find(id); found && s.Seats.Take(p) {
				d.unsellable = append(d.unsellable, p)
			}
		}
		d.opened = s.Seats.Mark()
	}
	// A guard by the number of available seats does not say which seats are available.
	d.ifUnchanged = d.isSeated()
}

// ensureEvent reports whether the event exists. If the event was not read, it returns false and adds the event to
// the needs.
func (d *decision) ensureEvent() bool {
	if d.state.Event == nil && !d.state.Missing {
		d.needs.Event = true
	}
	return d.state.Event != nil
}

// ofEvents adds the events of a command's locks and bookings to the needs.
func (d *decision) ofEvents(ids ...ID) {
	for _, id := range ids {
		if !id.IsZero() {
			d.needs.Events = append(d.needs.Events, id)
		}
	}
}

// ensureCounter makes sure that the counter can be relied on. It returns false if that requires the sum of the locks
// first. The sum replaces an impossible counter. Every command that moves seats calls ensureCounter first.
func (d *decision) ensureCounter() bool {
	if d.state.Taken == nil {
		available, _ := d.split()
		d.needs.Taken = d.needs.Taken || !d.state.Event.Valid() || available > d.counter.total
		return !d.needs.Taken
	}
	counted, hasMoved := counterOf(d.counter.total, *d.state.Taken), d.counter != d.startCounter()
	if !d.repaired && !hasMoved && (d.counter != counted || !d.state.Event.Valid()) {
		d.counter, d.repaired, d.ifUnchanged = counted, true, true
	}
	return true
}

// split returns how many seats are available and oversold now. A wrong map may make both wrong by as much, until it is
// repaired.
func (d *decision) split() (available, oversold int64) {
	switch {
	case d.state.Seats != nil:
		return split(d.counter.left, d.state.Seats.Oversold())
	case d.isSeated(): // without its map, no command moves the counter
		return split(d.counter.left, d.state.Event.Oversold)
	default:
		return split(d.counter.left, 0)
	}
}

func (d *decision) available() int64 {
	available, _ := d.split()
	return available
}

// refuse answers a command of the event's queue with a refusal.
//
// A refusal has to be true at a moment after its request arrived. So it is not decided on a
// remembered state: what it relies on is read, at one snapshot.
//
// A refused request must not be granted elsewhere afterwards. The client may have given up
// waiting for another process, which still tries to grant the same key, and have sent the
// request here. So a transaction that refuses writes the event, before its commit:
//
//   - A batch that only refuses writes the event first, and reads in the same transaction
//     (Needs.Hold).
//   - A batch that also grants writes the event anyway, under the guard that it is as it was
//     when the state was read (IfUnchanged). All that was granted until then was read.
//
// Of two transactions that write the same event, MongoDB lets one commit, and gives the other
// a conflict. If the other process commits first, this one begins again, and finds the lock by
// its key. If this one commits first, the other one begins again, and checks before its commit
// whether its caller has given up: that was before the request came here. A transaction of the
// other process that begins later makes the same check.
//
// Two requests for seats without a key are never the same request. So a refusal that says
// that others have the seats only has to be true: it is read, and nothing is written.
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
	d.refuses = d.refuses || key.Key != "" || !saysTooFew(err)
	d.ifUnchanged = true
	return Result{Err: err}
}

// refuseFirmly is refuse for a command that a client repeats without a key. Such a refusal always relies on a write
// of the event.
func (d *decision) refuseFirmly(err error) Result {
	d.refuses = d.refuses || d.state.Event != nil
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
	before, write, moves := d.state.Event, d.plan.Event, d.moves()
	for _, p := range d.unsellable {
		d.state.Seats.Free(p)
	}
	if before == nil || !moves {
		return
	}
	if write == nil {
		write = &EventWrite{}
		d.plan.Event = write
	}
	if d.changesList() || d.event.Waitlist.HasBegun && !before.Waitlist.HasBegun {
		write.List = &d.event.List
	}
	d.writeMaps(write)
	if blocked := d.event.Seating.BlockedSeats; d.movesBlocks || blocked != before.Seating.BlockedSeats {
		write.Blocked = &blocked
	}
	available, oversold := d.split()
	switch {
	case write.Drift != nil:
		return
	case d.repaired:
		write.Counter = &Counter{AvailableSeats: available, Oversold: oversold}
	case before.Valid(): // otherwise no command has moved it
		write.Available, write.Oversold = available-before.AvailableSeats, oversold-before.Oversold
	}
	if d.ifUnchanged || d.state.Held {
		write.IfUnchanged = before
		return
	}
	write.AtLeast, write.SaleStartsAt, write.SaleEndsAt = -write.Available, before.SaleStartsAt, before.SaleEndsAt
}

// moves reports whether, so far, the plan writes the event.
func (d *decision) moves() bool {
	changesMap := d.state.Seats != nil && d.state.Seats.Mark() > d.opened
	return d.plan.Event != nil || len(d.plan.Acquired) > 0 || changesMap || d.counter != d.startCounter() || d.ends() || d.changesList()
}

// changesList reports whether the plan changes the state of the waiting list.
func (d *decision) changesList() bool {
	return d.state.Event != nil && !d.event.List.same(d.state.Event.List)
}

func (d *decision) startCounter() counter {
	if d.state.Event == nil {
		return counter{}
	}
	return d.state.Event.counter()
}

// ends reports whether the plan ends a lock. That changes the event, even if the lock has no seats.
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
