// Package inventory decides everything that moves seats. It is pure: no database,
// no clock, no context, no I/O.
//
//	Decide(state, commands, rules) → plan, results, needs
//
// A State has the known data of one event: its counter, and the locks, bookings, keys
// and holdings that were read. Decide carries out the commands on a copy of it, in
// order, and answers
//
//   - a plan: the writes, and the guards under which they are right,
//   - a result for each command,
//   - or its needs: the data to read before Decide is called again.
//
// Nothing tells Decide what kind of batch it has. A state that the process remembers from
// its last commit is enough to grant a command, because the plan's guards are checked at
// the write. A refusal writes nothing, so no guard checks it. It needs a state that was
// read after its request arrived (see refuse).
//
// ExpireLocks, ExpireBookings, CancelSale, ChangeEvent, Repair and RepairSeats are decided alone.
// The transaction of the first four writes the event before it reads (State.Held), unless
// ChangeEvent has another plan: that, Repair and RepairSeats are measured at a snapshot
// first, and the plan guards what was read. Acquire.Abandoned marks a caller that has given up;
// package internal/pipeline describes the answer to that caller.
//
// If too few seats are available, a request needs the event's due locks, and ends them, soonest expiry
// first, until there are enough (makeRoom): at most MaxReclaim in a transaction. Then the request goes
// first in the next one. The plan ends each of them only if it is still ACTIVE and due by MongoDB's own
// clock, or in a transaction that holds the event (expire).
//
// A new limit for customers belongs in beyondLimits. It needs a number in Holding, and the read that
// fills in that number (store.Load). Several processes respect it without further code, because a plan with a limit is
// guarded by the event's revision, and every new lock raises that. It leaves out due locks, so beyondLimits
// also ends those of the customer: a transaction that began in time could still extend them.
//
// Each kind of command has a file: acquire.go, change.go (the seats of a lock), block.go,
// release.go (releases and cancellations), claim.go (extend, book, pay), confirm.go, payments.go, parts.go (of payments),
// after_sale.go (changes and transfers of bookings), sell.go (sales at once), expire.go,
// event.go (changes of an event, repairs of its counter and its map), hall.go (changes of its hall).
// wish.go finds the seats of a wish in the hall, and seats.go claims them.
//
// testdata has the rules as transcripts that can be read without Go, one file for each subject; its README.md explains them.
//
// It is part of Holdfast's own programs and may change in any release: see package holdfast.
package inventory
