// Package expiry makes unpaid seats available again. The lock sweep expires due ACTIVE
// locks. The booking sweep expires open bookings whose payment window or lock has passed,
// together with their locks. Retention purges locks and bookings that ended long ago.
//
// Sealer seals events that are over, so that recovery skips them.
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
// Other software may leave a document that can't be ended: its _id is no ObjectID, its seats
// are no whole number, there is no such event, or MongoDB rejects the change. Such a document
// is set aside: it is counted by each run, and logged once a day. If MongoDB rejects a change
// of the event itself, all documents of the event are set aside. An event that stays busy
// counts as an error and is retried by the next run. A sweep as a whole fails only if the
// database does not answer. Its commits until then stay.
package expiry
