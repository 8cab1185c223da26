// Package mongodb has the common code for MongoDB: the connection, transactions, the end
// of orphaned transactions, indexes and validators, lenient reading of documents, and the
// translation of the driver's errors.
//
// # Transactions
//
// InTx runs a function in a transaction. It has one of six outcomes:
//
//	done         the function's value; the change is majority-committed
//	refused      the function's own error; nothing was written
//	conflict     CodeUnavailable: attempts or time ran out; nothing was written
//	rejected     CodeUnavailable: the server rejected a command, for example because of a
//	             document of other software; nothing was written
//	unavailable  CodeUnavailable: no writable server in time; nothing was written
//	unknown      CodeOutcomeUnknown: the commit was sent, repeated and not answered;
//	             the change may have been made, or may still be made
//
// A transaction whose caller gives up is not committed. Its commands in flight have half
// a second to end, so that the abort comes after them.
//
// A transaction that a dead process left open (an orphan) holds its documents until the
// server ends it, by default after 60 s. So a transaction that has met conflicts for
// orphanSearchDelay ends the idle transactions of our application name, which includes
// the database's name.
package mongodb
