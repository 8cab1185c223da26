// Package seats is the inventory: events with their counters, and the timed
// locks of customers on seats. It is the only code that touches the collections
// events and seatlocks.
//
// # What it guarantees
//
//   - 0 ≤ availableSeats ≤ totalSeats, in every committed state.
//   - availableSeats − oversold = totalSeats − Σ seats of ACTIVE and CONSUMED
//     locks: every change of a lock's claim on seats and of its event's counter
//     is one transaction, guarded by the lock's status and the counter's value.
//   - A lock leaves ACTIVE once, and its seats come back once.
//   - Whether a lock is due is decided by the database's clock, swept or not.
//
// # What it does not
//
// It knows nothing of bookings. Who ends a lock together with something of
// theirs passes a function that runs in the same transaction. Users are
// identities only; whether one exists is asked of a function that New is given,
// once for a batch (customers.go).
//
// # How locks are taken
//
// All requests that wait for one event are committed together by one committer
// per event and process (queue.go), in one transaction (batch.go), in order of
// arrival by what fits. Requests for other events don't wait for each other.
//
// A batch of new requests that all fit is written without being read first
// (quick.go): a guarded update of the event, and one insert. A batch that is
// refused as a whole for want of seats costs one read (soldout.go). Committers
// of several processes take turns on an event (pace.go).
//
// # How it fails
//
// Refusals carry the codes of rules.go and leave nothing behind. UNAVAILABLE:
// nothing was done. OUTCOME_UNKNOWN: the commit was sent and never answered,
// and later transactions on the event could not tell either; ask again with
// the same idempotency key. A process that dies leaves at most locks of whose
// success nobody was told; they expire like any other.
package seats
