// Package jobs schedules recurring work. A job is a name, an interval and a
// function; the package does not know what a job does.
//
// Many processes schedule the same jobs. An elector makes one of them the
// leader, and gocron asks the elector at each tick whether to run:
//
//	tick ── IsLeader, from memory ──no──▶ skipped, without a query
//	            │ yes
//	        lease of the job ──held──▶ skipped: another process runs it
//	            │ acquired          └─unavailable──▶ waits, or runs as a single instance
//	        run ── its context ends with the lease, its time limit, or the process
//	            │
//	        run record written, lease released, whatever the outcome
//
// RunExclusive is the part below the tick. Manual runs, recovery at startup and
// migrations use it too, also on processes that do not lead.
//
// Ticks are multiples of the interval on the wall clock, the same in every
// process. So a tick does not run twice when the leader changes.
//
// The package guarantees that a run ends with its own lease at the latest, and
// that a run which panics, fails or hangs does not harm another. It does not
// guarantee that two runs of a job never overlap: a process can be paused
// between the check of its lease and its next write. Jobs are written so that an
// overlap changes nothing twice.
//
// # Leases
//
// A lease is a process's timed right to lead, or to run a job. A LeaseStore keeps leases in Redis, in
// MongoDB, or in this process alone. A lease has one holder until the holder releases it, or until it
// expires because it was not renewed. Then any process may acquire it.
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
//
// It is part of Holdfast's own programs and may change in any release: see package holdfast.
package jobs
