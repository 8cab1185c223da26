// Package expiry gives seats back that nobody paid for: the lock sweep ends
// ACTIVE locks whose time has passed, the booking sweep ends open bookings whose
// payment window or lock has passed, together with their locks.
//
// # What it guarantees
//
// Each document is ended once and its seats come back once, however often and
// in how many processes a sweep runs at the same time: every change is a
// transaction of one event, guarded by status. A sweep ends what is due when it
// comes by, several events at a time, and goes on while there is more than a
// page of it. Retention removes what ended long ago, if that is asked for.
//
// # How it fails
//
// A document that can't be ended (no such event, seats not a whole number) is
// set aside, logged and counted, and the others go on. An event that stays
// busy, or a document that MongoDB refuses, counts as an error and is tried
// again by the next run. A sweep fails as a whole only if the database does not
// answer; what it did until then stays.
package expiry
