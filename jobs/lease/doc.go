// Package lease provides leases: a process's timed right to lead, or to run a
// job.
//
// A Store keeps leases in Redis, in MongoDB, or in this process alone. A lease
// has one holder until the holder releases it, or until it expires because it
// was not renewed. Then any process may acquire it.
//
// The store's clock decides when a lease expires. A holder computes its own
// deadline on its monotonic clock, from the moment it sent the request. So the
// wall clock of a pod does not matter, and a holder that was paused stops before
// another one starts.
//
// A lease does not give safety. A holder may be paused between the check of its
// deadline and its next write, or Redis may be flushed. Then two processes act
// as the holder at the same time. Transactions in MongoDB guard what jobs write.
//
// Each acquisition writes a new token. A late request of an earlier acquisition,
// even of the same process, can neither renew nor release the new lease.
package lease
