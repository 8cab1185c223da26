// Package jobs schedules work that has to be done again and again: a job is a
// name, an interval and a function. The package knows nothing of what jobs do.
//
// Many processes schedule the same jobs. Of them one leads, by the elector, and
// gocron asks it at each tick whether to run:
//
//	tick ── IsLeader, from memory ──no──▶ skipped: no query is made
//	            │ yes
//	        lease of the job ──held──▶ skipped: somebody runs it
//	            │ acquired          └─unavailable──▶ waits, or runs as a single instance
//	        run ── its context ends with the lease, its time, or the process
//	            │
//	        history, lease given back, whatever became of the run
//
// RunExclusive is the part below the tick. Runs by hand, recovery at the boot
// and migrations go the same way, on processes that do not lead too.
//
// Ticks are multiples of the interval on the wall clock, the same ones in every
// process, so that one is not run twice when the leadership changes hands.
//
// What is guaranteed: a run ends with its own lease at the latest, and a run
// that panics, fails or hangs harms no other. What is not: that no two runs of
// a job are ever under way at once. A process can be paused between a look at
// its lease and its next write. Jobs are written so that this changes nothing
// twice; see package lease.
package jobs
