// Package pipeline carries every command that changes events, locks or bookings:
//
//	queue → load → decide → apply → deliver
//
//	queue    groupcommit collects the commands that wait for an event
//	load     store.Load reads what the decision needs, if memory is not enough
//	decide   inventory.Decide: a pure function
//	apply    store.Apply: one transaction, guarded by the plan
//	deliver  groupcommit answers each caller
//
// There are two ways back, both in pipeline.go (run.do, run.decide): a decision that needs to know more loads
// it and decides again, and a plan that has gone stale is decided again.
//
// # Ways in
//
//	Submit   commands that move seats: through the event's queue
//	Do       commands that don't write the event (extend, book, pay, confirm): no queue
//	Sweep    ends of due locks and bookings, on an event that others write all the
//	         time: the transaction writes the event before it reads
//	Repair   corrections of a counter
//	Change   changes of an event: before all that waits in its queue
//
// # What happens to a caller that gives up
//
// A command that has not been taken up is dropped: UNAVAILABLE, nothing is done. One
// that is in flight is decided again without it if that is noticed before the commit;
// else a lock that was made with an idempotency key is found by it (OUTCOME_UNKNOWN),
// and one without is released at once (UNAVAILABLE: no seats are kept).
package pipeline
