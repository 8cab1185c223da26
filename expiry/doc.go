// Package expiry gives seats back that were not paid for: the lock sweep ends ACTIVE
// locks that are due, the booking sweep ends open bookings whose payment window or lock
// has passed, together with their locks.
//
// # What it guarantees
//
// Each document is ended once and its seats come back once, however often and in how
// many processes a sweep runs at the same time: what is still due is decided again, by
// package seats/inventory, in the transaction that ends it. A sweep ends what is due
// when it starts, several events at a time, and goes on while there is more than a page
// of it. Retention purges what ended long ago, if that is asked for.
//
// # How it fails
//
// A document that can't be ended (no such event, seats not a whole number) is set
// aside, logged and counted, and the others go on. An event that stays busy, or a
// document that MongoDB rejects, counts as an error and is tried again by the next run.
// A sweep fails as a whole only if the database does not answer; what it did until then
// stays.
package expiry
