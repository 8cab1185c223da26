// Package mongodb is what Holdfast's packages share of MongoDB: the connection, the one
// transaction runner, the end of orphaned transactions, indexes and validators, lenient
// reading of documents, and the translation of the driver's errors.
//
// # Transactions
//
// InTx runs a function in a transaction. It has one of five outcomes:
//
//	done         the function's value; the change is majority-committed
//	refused      the function's own error; nothing was written
//	conflict     CodeUnavailable: attempts or time ran out; nothing was written
//	unavailable  CodeUnavailable: no writable server in time; nothing was written
//	unknown      CodeOutcomeUnknown: the commit was sent, repeated and not answered;
//	             it may or may not be there, now or in a moment
//
// A transaction whose caller gives up is not committed. Its commands in flight have half
// a second to end, so that the abort comes after them.
//
// A transaction that a dead process left open holds its documents for as long as the
// server keeps it (60 s by default). A transaction that has lost to conflicts for
// orphanSearchDelay looks for idle transactions of our application name, which carries
// the database's name, and ends them.
package mongodb
