// Package expiry makes unpaid seats available again. The lock sweep expires due ACTIVE
// locks. The booking sweep expires open bookings whose payment window or lock has passed,
// together with their locks. Retention purges locks and bookings that ended long ago.
//
// Archiver marks events that are past and settled, so that recovery skips them. Canceller cancels
// an event with its locks and bookings. Eraser erases a customer.
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
// A run sets a document aside that can't be ended, because its event does not exist, its event is corrupt,
// or MongoDB rejects the change: each run counts the document, and one run a day logs it. If MongoDB
// rejects a change of the event itself, all documents of the event are set aside. An event that
// stays busy counts as an error, and the next run retries it. A sweep as a whole fails only if the
// database does not answer. Its earlier commits stay.
//
// But for the reports that package engine returns, it is part of Holdfast's own programs and
// may change in any release: see package holdfast.
package expiry
