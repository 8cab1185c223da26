// Package booking turns seat locks into sales: a booking is made on a live lock, paid
// for, and confirmed, or it ends unpaid.
//
// # What it guarantees
//
//   - A CONFIRMED booking's lock is CONSUMED, and the other way round.
//   - A lock has at most one booking that is not EXPIRED or CANCELLED.
//   - No booking is confirmed after its payment window or its lock has passed, by the
//     database's clock, swept or not.
//
// The rules are in package seats/inventory (claim.go, release.go).
//
// # What it does not
//
// It moves no money. A confirmation that is refused although it carries a payment
// reference is logged and counted: the customer may have paid.
//
// # How it fails
//
// Refusals carry a code, and change nothing. UNAVAILABLE: nothing was changed.
// OUTCOME_UNKNOWN: the same call again finds out, because a repeat is answered with the
// present state.
package booking
