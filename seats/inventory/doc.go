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
// package internal/pipeline says what that caller is told.
//
// Each kind of command has a file: acquire.go, change.go (the seats of a lock), block.go,
// release.go (releases and cancellations), claim.go (extend, book, pay), confirm.go, payments.go, expire.go,
// event.go (changes of an event, repairs of its counter and its map), hall.go (changes of its hall).
// What commands wish for is found in the hall by wish.go, and taken by seats.go; rivals.go is about
// locks of other software that the map did not know.
package inventory
