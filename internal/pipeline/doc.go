// Package pipeline carries every command that changes events, locks or bookings:
//
//	queue → load → decide → apply → deliver
//
//	queue    groupcommit collects the commands that wait for one event or several
//	load     store.Load reads what the decision needs, if the cached event is not enough
//	decide   inventory.Decide: a pure function
//	apply    store.Apply: one transaction, guarded by the plan
//	deliver  groupcommit answers each caller
//
// Two steps are repeated. A decision that needs more of the state loads it and decides
// again (decide.go). A plan that has gone stale is decided again (run.do).
//
// Several events share a transaction (run.share) if the cached events decide their
// commands. That is tried once; whatever fails, each event is then carried out by itself.
//
// # Entry points
//
//	Submit       commands that move seats: through the event's queue
//	Do           commands that don't write the event (extend, book, pay, confirm, refund): no queue
//	Sweep        the expiry of due locks and bookings, the end of a cancelled sale: the transaction
//	             writes the event before it reads, so other writers can't starve it
//	Repair       corrections of a counter
//	RepairSeats  corrections of a map of seats
//	Change       changes of an event: ahead of its queue, because an operator must be able to
//	             close a sale that is in great demand
//
// Repair, RepairSeats and a change of the seating plan read an event's locks at a snapshot
// before their transaction: an event may have more locks than a transaction has time for. The
// plan guards what was read (measureFirst).
//
// Do guards the lock by its revision and the database's clock, but not the event. So a
// confirmation that read the event before its cancellation may commit after the operator was
// answered. A refusal because the event is cancelled or the lock is due raises the lock's
// revision, so no claim that began earlier on that lock commits after it.
//
// A confirmation that turns out to be a late payment (Result.IsLate) is submitted to the queue,
// because it takes seats.
//
// # The cache of events
//
// A process caches each event as its last commit or read left it, the map of a seated event, and
// the due locks that a batch has read and left; no other locks, keys or users (memory.go). What is
// out of date can make a plan stale. It can't make a sale wrong:
//
//   - The plan's guard is checked in the transaction. New locks alone need an unseated event that
//     is on sale, has no limit per user, and has as many seats as the batch takes. All other plans
//     need the event as it was when they were decided (IfUnchanged of inventory.EventWrite).
//   - A cached due lock is ended only if its status and revision have not changed, and it is due.
//   - A unique index refuses a key that was used before. The next attempt looks it up.
//   - A refusal writes nothing that a guard could check, so it is never decided from the cache.
//
// # Why a refusal is correct
//
// Three cases could make a refusal false:
//
//   - It was decided on an old state. A refusal needs a state that was read after its request came
//     (refuse in seats/inventory).
//   - Another process grants the same request afterwards: a customer whose API hangs retries with
//     the same key at another API. So a transaction that refuses writes the event. A batch that only
//     refuses holds the event: it writes internal.fence, which no cached event depends on, before it reads.
//     A batch that also grants is guarded by its own write. Of two transactions that write the same event, one
//     starts again, and then finds the lock by its key, or notices that its caller has given up.
//   - The primary was deposed and does not know it. A commit needs the majority, so what was
//     written is certain. Refusals of Do that wrote nothing, and those that say that something does
//     not exist, are confirmed and then decided again (mongodb.ConfirmRefusal).
//
// SEATS_UNAVAILABLE without a key is read, and neither held nor confirmed: no other answer can
// contradict it. During an election it can rest on a state that is a moment too old.
//
// # A caller that gives up
//
//	the caller gives up              the command                            the answer
//	while it is in the queue         is dropped                             UNAVAILABLE: nothing was done
//	in flight, acquire with a key    is decided again without the caller,   OUTCOME_UNKNOWN: the key
//	                                 if the last check before the commit    finds the lock
//	                                 notices; otherwise the lock is made
//	in flight, acquire without one   the same; a lock that was made is      UNAVAILABLE: no seats
//	                                 released at once                       are kept
//	in flight, a sale at once, a     is decided again without the caller,   OUTCOME_UNKNOWN
//	change or a transfer of a        if the last check before the commit
//	booking                          notices; otherwise it is carried out
//	in flight, any other             is carried out                         OUTCOME_UNKNOWN
//
// A caller never cancels a batch, because the batch serves other callers too. A command without a
// queue ends with its caller, unless its commit was sent.
//
// # Failures
//
// A run ends with UNAVAILABLE after runTimeout. If a commit gets no answer, the queue settles: it
// commits the same commands with the same IDs again, in a transaction that writes the same event. A change of a booking is
// found by its ID in Booking.Done, even if others have changed the booking since.
// Once that succeeds, the earlier commit is in place, and its locks are found by their IDs, or it
// can't arrive any more.
//
// If MongoDB rejects a batch, the batch fails with UNAVAILABLE, unless one document is the cause. If a
// unique index refuses a key that is not in a lock that counts, only the request with that key fails
// (readKeys). A seat that the index refuses although the map was repaired is not sold (mend).
package pipeline
