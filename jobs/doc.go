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
// overlap changes nothing twice; see package lease.
package jobs
