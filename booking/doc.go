// Package booking turns seat locks into sales: a booking is made on a live lock, paid
// for, and confirmed, or it ends unpaid.
//
// # Guarantees
//
//   - A CONFIRMED booking's lock is CONSUMED, and vice versa.
//   - A lock has at most one booking that is not EXPIRED or CANCELLED.
//   - No booking is confirmed after its payment window or its lock has passed, by the
//     database's clock, before and after a sweep.
//
// The rules are in package seats/inventory (claim.go, release.go).
//
// After the sale a booking's seats can change, and it can be given to another customer, each in one transaction
// (after_sale.go): there is no moment in which the seats are on sale.
//
// The package moves no money. Each payment reference that reached a booking is one payment: ACCEPTED while its
// booking is CONFIRMED with it, or REFUND_DUE until the shop has given it back. A part of a payment may have to be given
// back alone.
//
// # Failures
//
// A refusal has a code, and changes nothing. UNAVAILABLE means that nothing was changed.
// After OUTCOME_UNKNOWN the caller should retry: a repeat returns the present state.
package booking
