// Package groupcommit commits together what many callers submit for the same key
// at the same time. One transaction then serves hundreds of callers, and callers in
// one process do not conflict with each other.
//
// A key has one committer, a goroutine that runs only while the key has work. It
// takes up the commands that wait, in order of arrival, and hands them to
// Options.Commit as a Batch. Keys do not wait for each other, except that at most
// Options.MaxInFlight commits run together.
//
//	caller ── Submit ──► waiting ──► taken up ──► Commit ──► outcome ──► caller
//	                        │            ▲            │
//	                   caller gives      └─Undecided──┘
//	                   up: dropped
//
// What a caller is told, and what it may infer:
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
// What happens to a batch:
//
//	Commit returns           then
//	outcomes                 each caller gets its result; Undecided commands go first in the next batch
//	error, IsUnknown         settle: Commit is called again with the same commands and Settling set
//	error, IsRejected        split: each group by itself, then each command by itself
//	any other error          each caller gets that error
//
// A caller's context never ends a commit: the transaction serves other callers too.
//
// Several processes may commit to the same key. A committer that sees this by the
// revision yields to the contenders before its next batches; see pace.
//
// The package keeps everything in memory. A process that stops without Close
// leaves its callers without an answer; whether their commands were carried out is
// then as unknown as after ErrInFlight.
package groupcommit
