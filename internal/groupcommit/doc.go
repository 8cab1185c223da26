// Package groupcommit commits the commands of many callers for one key together. One
// transaction then serves hundreds of callers, and callers in one process do not
// conflict with each other.
//
// A key has one committer, a goroutine that runs only while the key has work. It
// takes up the waiting commands, in order of arrival, and calls Options.Commit with
// them as a Batch. Keys do not wait for each other, except that at most
// Options.MaxInFlight commits run together.
//
//	caller ── Submit ──► waiting ──► taken up ──► Commit ──► outcome ──► caller
//	                        │            ▲            │
//	                   caller gives      └─Undecided──┘
//	                   up: dropped
//
// The answers, and what a caller may infer from each:
//
//	case                                          answer             is the command carried out?
//	the commit succeeds                           result             as the result says
//	the commit fails                              Commit's error     no
//	MaxWaiting commands wait already              ErrFull            no
//	the caller gives up before it is taken up     ErrNotStarted      no
//	the caller gives up while it is in flight     ErrInFlight        perhaps; see Orphaned
//	the outcome is unknown, settling succeeds     result             as the result says
//	the outcome is unknown, settling times out    ErrUnknown         perhaps
//	Commit panics                                 ErrUnknown         perhaps
//
// The results of Commit, and what the queue does then:
//
//	Commit returns           then
//	outcomes                 each caller gets its result; Undecided commands go first in the next batch
//	error, IsUnknown         settle: Commit is called again with the same commands and Settling set
//	error, IsRejected        split: one half after the other, down to the command at fault
//	any other error          each caller gets that error
//
// A caller's context never ends a commit: the transaction serves other callers too.
//
// Several processes may commit to the same key. A committer that notices contention by
// the revision delays its next batches; see pace.
//
// The package keeps everything in memory. If a process stops without Close, its callers
// get no answer, and their commands may have been carried out, as after ErrInFlight.
package groupcommit
