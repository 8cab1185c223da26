// Package seats is the inventory: events with their counters, and the timed locks of
// customers on seats.
//
// # What it guarantees
//
//   - The invariants of holdfast.Event hold in every committed state: a lock and its
//     event's counter change in one transaction.
//   - A lock leaves ACTIVE once, and its seats come back once.
//   - Whether a lock is due is decided by the database's clock, swept or not.
//
// The rules are in package seats/inventory; package internal/pipeline carries them out.
//
// # How it fails
//
// Refusals carry a code, and change nothing. UNAVAILABLE: nothing was changed.
// OUTCOME_UNKNOWN: the change may have been made; ask again with the same idempotency
// key. A process that dies leaves at most locks that no caller was told of; they
// expire like any other.
package seats
