// Package seats is the inventory: events with their counters, and customers' timed locks
// on seats.
//
// # Guarantees
//
//   - The invariants of holdfast.Event hold in every committed state: a lock and its
//     event's counter change in one transaction.
//   - A lock leaves ACTIVE once, and its seats become available once.
//   - The database's clock decides whether a lock is due, before and after a sweep.
//
// The rules are in package seats/inventory; package internal/pipeline carries them out.
//
// # Failures
//
// A refusal has a code, and changes nothing. UNAVAILABLE: nothing was changed.
// OUTCOME_UNKNOWN: the change may have been made; ask again with the same idempotency
// key. A process that dies may leave locks that no caller knows; they expire like
// any other lock.
package seats
