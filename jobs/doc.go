// Package jobs schedules work that has to be done again and again: a job is a
// name, an interval and a function. The package knows nothing of what jobs do.
//
// Each execution is a run with its own correlation ID, which every log line and
// document of the run carries. A run that outlasts its maximum duration is
// cancelled and counts as failed; one that panics counts as failed and harms
// nobody. The next tick of a job that still runs is dropped.
//
// Scheduling is gocron's. Every process that schedules runs every job: jobs are
// written so that two runs at once change nothing twice. Which process leads is
// where an elector comes in: Options.Scheduler takes gocron's options.
package jobs
