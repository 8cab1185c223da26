// Package pipeline carries every command that changes events, locks or bookings:
//
//	queue → load → decide → apply → deliver
//
//	queue    groupcommit collects the commands that wait for one event or several
//	load     store.Load reads what the decision needs, if memory is not enough
//	decide   inventory.Decide: a pure function
//	apply    store.Apply: one transaction, guarded by the plan
//	deliver  groupcommit answers each caller
//
// Two steps are repeated, both in run.go. A decision that needs more of the state
// loads it and decides again (run.decide). A plan that has gone stale is decided again
// (run.do).
//
// Several events share a transaction (run.share) if what is remembered of them decides their
// commands. That is tried once; whatever fails, each event is then carried out by itself.
//
// # Entry points
//
//	Submit       commands that move seats: through the event's queue
//	Do           commands that don't write the event (extend, book, pay, confirm): no queue
//	Sweep        the expiry of due locks and bookings, the end of a cancelled sale: the transaction
//	             writes the event before it reads, so other writers can't starve it
//	Repair       corrections of a counter
//	RepairSeats  corrections of a map of seats
//	Change       changes of an event: ahead of its queue
//
// # A caller that gives up
//
// A command that is still in the queue is dropped: UNAVAILABLE, nothing is done. A batch
// in flight is decided again without the command, if the last check before the commit
// notices. After that check the lock is made. With an idempotency key the caller finds
// it again (OUTCOME_UNKNOWN). Without one it is released at once (UNAVAILABLE: no seats
// are kept).
package pipeline
