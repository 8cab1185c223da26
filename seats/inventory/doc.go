// Package inventory decides everything that moves seats. It is pure: no database,
// no clock, no context, no I/O.
//
//	Decide(state, commands, rules) → plan, results, needs
//
// A State is what is known of one event: its counter, and the locks, bookings, keys
// and holdings that were read. Decide carries out the commands on a copy of it, in
// order, and answers
//
//   - a plan: what to write, and the conditions under which that is right,
//   - a result for each command,
//   - or what it needs to know besides. It is then called again with that.
//
// Nothing tells Decide where a state comes from. A state that the process remembers
// from its last commit is good for commands that are granted, because the plan's
// guards are checked as it is written. A refusal writes nothing that could be
// checked, so it needs a state that was read after its request came (see refuse).
//
// ExpireLocks, ExpireBookings, ChangeEvent and Repair are decided alone, and the sweeps
// in a transaction that has written the event before it reads (State.Held). A caller that
// gives up is marked by Acquire.Abandoned; package internal/pipeline says what it is told.
//
// Each command has a file that says what it does: acquire.go, release.go (releases
// and cancellations), claim.go (extend, book, pay, confirm), expire.go, event.go
// (changes of an event, repairs of its counter).
package inventory
