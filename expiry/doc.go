// Package expiry makes unpaid seats available again. The lock sweep expires due ACTIVE
// locks. The booking sweep expires open bookings whose payment window or lock has passed,
// together with their locks. Retention purges locks and bookings that ended long ago.
//
// # Guarantees
//
// Each document is ended once and its seats become available once, even if sweeps run in
// many processes at the same time. The reason is that package seats/inventory decides
// again, in the transaction that ends a document, whether it is due. A sweep works on
// several events at a time, and goes on as long as it finds full pages.
//
// # Failures
//
// A document that can't be ended (no such event, seats not a whole number) is set
// aside, logged and counted, and the sweep goes on. An event that stays busy, or a
// document that MongoDB rejects, counts as an error and is retried by the next run. A sweep
// as a whole fails only if the database does not answer. Its commits until then stay.
package expiry
