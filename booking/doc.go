// Package booking turns seat locks into sales: a booking is made on a live
// lock, paid for, and confirmed, or it ends unpaid. It is the only code that
// touches the collection bookings, and moves locks only through package seats,
// in the same transaction.
//
// # What it guarantees
//
//   - A CONFIRMED booking's lock is CONSUMED, and the other way round.
//   - A lock has at most one booking that is not EXPIRED or CANCELLED.
//   - No booking is confirmed after its payment window or its lock has passed,
//     by the database's clock, swept or not.
//
// # What it does not
//
// It takes no money and gives none back. A confirmation that is refused although
// it carries a payment reference is logged and counted: money may have been taken.
//
// # How it fails
//
// Refusals carry the codes of rules.go or those of seats, and change nothing.
// mongodb.CodeUnavailable: nothing was changed. mongodb.CodeOutcomeUnknown: the
// same call again finds out, since repeats are answered with the present state.
package booking
