// Package lease holds leases: a process's timed right to lead, or to run a job.
//
// A Store keeps them, in Redis, in MongoDB, or in this process alone. A lease is
// held by one holder until it gives it back or its term passes without a
// renewal; then anybody may take it. Terms are reckoned by the store's clock, a
// holder's own deadline by its monotonic clock from the moment its request was
// sent, so that no pod's wall clock matters and a holder that was paused stops
// before another one starts.
//
// What a lease does not give: safety. A holder may be paused between its look
// at the deadline and its next write, Redis may be flushed, and there may then
// be two. What jobs write is therefore guarded in MongoDB, by transactions.
//
// Each acquisition writes a token of its own, so that what arrives late, from
// an earlier acquisition of the same process too, neither renews nor frees the
// lease of another.
package lease
