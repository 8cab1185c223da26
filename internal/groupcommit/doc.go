// Package groupcommit commits the commands of many callers for one key together. One
// transaction then serves hundreds of callers, and callers in one process do not
// conflict with each other.
//
// The commands of a key wait in its line. A few lanes take up all lines that are ready, and
// call Options.Commit with a Batch that has a Group for each key: a thousand keys with a
// command each share some transactions. A key is in one commit at a time; the goroutine that
// runs it is the key's committer.
//
//	caller ── Submit ──► waiting ──► taken up ──► Commit ──► outcome ──► caller
//	                        │            ▲            │
//	                   caller gives      └─Undecided──┘
//	                   up: dropped
//
// A failure of one key does not fail or delay other keys:
//
//	in a commit of several keys          then
//	the commit fails, for any reason     each key is committed by itself, at the same time;
//	                                     settled, if the outcome is unknown or Commit panicked
//	Commit leaves a key out (Apart)      it is committed by itself
//	the commit takes over 50 ms          its lane serves other keys meanwhile
//	the commit waits to be tried again   another key commits meanwhile (Batch.Rest)
//
// A commit costs about as much for few commands as for many. So while a key with many commands commits, a lane with few
// keys waits for the end of that, for 10 ms at most: one commit of the few for each of the many.
//
// Commands that can't share a commit (Options.MayShare), keys with many commands, and keys that
// yield to other processes need no lane. If shared commits keep failing, because other processes write the same keys,
// keys share fewer of them (sharing).
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
// The results of a commit of one key, and what the queue does then:
//
//	Commit returns           then
//	outcomes                 each caller gets its result; Undecided commands go first in the next batch
//	error, IsUnknown         settle: Commit is called again with the same commands and Settling set
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
