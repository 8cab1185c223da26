// Package mongodb has the common code for MongoDB: the connection, transactions, the end
// of orphaned transactions, indexes and validators, decoding, and the translation of the driver's errors.
//
// # Transactions
//
// InTx runs a function in a transaction. It has one of six outcomes:
//
//	done         the function's value; the change is majority-committed
//	refused      the function's own error; nothing was written
//	conflict     CodeUnavailable: attempts or time ran out; nothing was written
//	rejected     CodeUnavailable: the server rejected a command, or a document is corrupt;
//	             nothing was written
//	unavailable  CodeUnavailable: no writable server in time; nothing was written
//	unknown      CodeOutcomeUnknown: the commit was sent, repeated and not answered;
//	             the change may have been made, or may still be made
//
// A commit without an answer is repeated for commitTimeout, even if the caller gives up. An error
// alone proves nothing: the server may have committed and then failed to wait for the majority.
//
// A transaction whose caller gives up is not committed. Its commands in flight have half
// a second to end, so that the abort comes after them.
//
// A transaction that a dead process left open (an orphan) holds its documents until the
// server ends it, by default after 60 s. So a transaction that has met conflicts for
// orphanSearchDelay ends the idle transactions of our application name, which includes
// the database's name.
//
// # Refusals
//
// A primary that was deposed and does not know it answers reads with old data. That can't harm a
// write, because a commit needs the majority. A refusal that writes nothing is confirmed
// (ConfirmRefusal): a linearizable read shows that the primary is still the primary, and the request
// is decided again with reads that name the time of that read (WithReadTime). A primary that was
// deposed before never reaches that time.
//
// # Time
//
// What expires is compared with the database's clock ($$NOW), in the command that reads or writes the
// document (Passed, Ahead). No process's clock decides it.
package mongodb
